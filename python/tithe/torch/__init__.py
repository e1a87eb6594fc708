"""PyTorch: compressed gradients for DistributedDataParallel, and local steps with compressed differences."""
# No annotations from the future here: DDP compares those of a hook with types.
import torch as _torch
import torch.distributed as _dist

from ._local import LocalSteps
from ._state import State

__all__ = ["LocalSteps", "State", "hook"]


def hook(state: State, bucket: _dist.GradBucket) -> _torch.futures.Future[_torch.Tensor]:
    """A communication hook of DDP: ``model.register_comm_hook(state, tithe.torch.hook)``."""
    return state.accept(bucket)
