"""PyTorch: compressed gradients for DistributedDataParallel."""
# No annotations from the future here: DDP compares those of a hook with types.
import torch as _torch
import torch.distributed as _dist

from ._state import State

__all__ = ["State", "hook"]


def hook(state: State, bucket: _dist.GradBucket) -> _torch.futures.Future[_torch.Tensor]:
    """A communication hook of DDP: ``model.register_comm_hook(state, tithe.torch.hook)``."""
    return state.accept(bucket)
