"""Checkpoints of the hook's state: a run that is resumed has the bits of one that was not; another number of ranks keeps the mean; and
what is kept goes by the name of the parameter, whatever the buckets."""

import os
import tempfile

from kit import answers, digest, need, need_library, run
from support import check, finish

need_library("ZMQ")
need("torch", "numpy")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import tithe  # noqa: E402
import tithe.torch  # noqa: E402

CASES = [("topk:keep=0.05|natural", "ec", {}), ("topk:keep=0.05", "ef21", {"bucket": "4KiB"}), ("randk:keep=0.1|natural", "ec", {"seed": 5}),
         ("topk:keep=0.02", "ec", {"warmup": 12}), ("topk:keep=0.1", "ec", {"scheme": "artopk", "leader": "auto"}),
         ("topk:keep=0.1|natural", "ec", {"scheme": "shards"})]


def start(codec, feedback, options, ddp=None):
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(50, 60), nn.ReLU(), nn.Linear(60, 7)), **(ddp or {}))
    state = tithe.torch.State(model, codec, feedback, **options)
    model.register_comm_hook(state, tithe.torch.hook)
    return model, state, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def steps(rank, model, optimizer, begin, end):
    for step in range(begin, end):
        x = torch.randn(8, 50, generator=torch.Generator().manual_seed(100 * rank + step))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def whole(rank, workers, case, folder):
    """Eight steps at once, with a checkpoint after four."""
    model, state, optimizer = start(*case)
    steps(rank, model, optimizer, 0, 4)
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "tithe": state.state_dict()}, f"{folder}/{rank}")
    steps(rank, model, optimizer, 4, 8)
    dist.barrier()
    return digest(model.parameters())


def resumed(rank, workers, case, folder, as_list):
    """The last four, in other processes and other buckets."""
    model, state, optimizer = start(*case, {"gradient_as_bucket_view": True})
    saved = [torch.load(f"{folder}/{r}") for r in range(workers)]
    model.module.load_state_dict(saved[rank]["model"])
    optimizer.load_state_dict(saved[rank]["optimizer"])
    state.load_state_dict([one["tithe"] for one in saved] if as_list else saved[rank]["tithe"])
    steps(rank, model, optimizer, 4, 8)
    dist.barrier()
    return digest(model.parameters())


def grown(rank, workers, case, folder, before):
    """Another number of ranks: the mean of what was kept is what it was, for each parameter."""
    _, state, _ = start(*case)
    saved = [torch.load(f"{folder}/{r}")["tithe"] for r in range(before)]
    state.load_state_dict(saved)
    own = state.state_dict()["residual"]
    return all(torch.allclose(own[name], torch.stack([one["residual"][name] for one in saved]).mean(0)) for name in own)


def wrong(rank, workers, folder, what):
    _, state, _ = start("topk:keep=0.05|natural", "ef21" if what == "feedback" else "ec", {})
    saved = torch.load(f"{folder}/0")["tithe"]
    if what == "model":
        saved["residual"]["2.weight"] = saved["residual"]["2.weight"][:3]
    if what == "world":
        saved["world_size"] = 3
    state.load_state_dict(saved if what == "rank" else [saved] if what == "world" else [saved, dict(saved, rank=1)])


if __name__ == "__main__":
    for workers, case in zip((2, 2, 3, 2, 3, 3), CASES):
        with tempfile.TemporaryDirectory() as folder:
            at_once = answers(whole, workers, case, folder)
            check(len(set(at_once)) == 1, f"{case}: ranks differ")
            for as_list in (False, True):
                check(answers(resumed, workers, case, folder, as_list) == at_once, f"{case}: resumed, other bits")
            names = set(torch.load(f"{folder}/0")["tithe"]["residual"])
            check(names == {"0.weight", "0.bias", "2.weight", "2.bias"}, f"by name: {names}")
            if case[1] == "ec" and "scheme" not in case[2]:
                for other in {1, 2, 3} - {workers}:
                    check(all(answers(grown, other, case, folder, workers)), f"{case}: from {workers} ranks to {other}")
    with tempfile.TemporaryDirectory() as folder:
        answers(whole, 2, CASES[0], folder)
        for what, ranks, words in (("rank", [1], "rank 0"), ("model", [0, 1], "2.weight"), ("world", [0, 1], "list"), ("feedback", [0, 1], "feedback")):
            told = run(wrong, 2, folder, what)
            for rank in ranks:
                check(told[rank][0] == "SpecError" and words in told[rank][1], f"{what}: {told[rank]}")
        check(os.path.exists(f"{folder}/1"), "every rank has saved its own")
    finish()
