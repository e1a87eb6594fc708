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

CASES = [("topk:keep=0.05|natural", "ec", {"momentum": 0.9}), ("topk:keep=0.05", "ef21", {"bucket": "4KiB"}), ("randk:keep=0.1|natural", "ec", {"seed": 5}),
         ("topk:keep=0.02", "ec", {"warmup": 12}), ("topk:keep=0.1", "ec", {"scheme": "artopk", "leader": "auto"}),
         ("topk:keep=0.1|natural", "ec", {"scheme": "shards"}),
         ("topk|natural", "ec", {"scheme": "gather", "tuner": "cat:late=on", "bucket": "4KiB"})]
STEERED = (None, None, {"tuner": "auto:high=0.1"})


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
    again, own = state.state_dict(), saved[rank]["tithe"]
    check(again.keys() == own.keys(), f"other kinds: {again.keys()}")
    check(all(digest(again[kind].values()) == digest(own[kind].values()) for kind in own if isinstance(own[kind], dict)), "other vectors")
    steps(rank, model, optimizer, 4, 8)
    dist.barrier()
    return digest(model.parameters())


def mean_kept(states):
    """By all ranks, and by the owners of parts; and their momentum."""
    moving = {f"momentum of {name}": torch.stack([one["momentum"][name] for one in states]).mean(0) for name in states[0].get("momentum", {})}
    return {**moving, **{name: torch.stack([one["residual"][name] + one.get("server_residual", {}).get(name, 0) for one in states]).mean(0)
            for name in states[0]["residual"]}}


def grown(rank, workers, case, folder, before):
    """Another number of ranks: the mean of what was kept is what it was, for each parameter, and all go on with the same bits."""
    model, state, optimizer = start(*case)
    saved = [torch.load(f"{folder}/{r}")["tithe"] for r in range(before)]
    state.load_state_dict(saved)
    states = [None] * workers
    dist.all_gather_object(states, state.state_dict())
    own, right = mean_kept(states), mean_kept(saved)
    check(any(right[name].any() for name in right), "nothing was kept")
    steps(rank, model, optimizer, 4, 8)
    dist.barrier()
    return all(torch.allclose(own[name], right[name], atol=1e-7) for name in own), digest(model.parameters())


def steered(rank, workers, case, folder):
    """After a checkpoint has been loaded: the setting, and what is kept, are those of the checkpoint; and ranks have the same bits."""
    model, state, optimizer = start(*case)
    saved = torch.load(f"{folder}/{rank}")
    model.module.load_state_dict(saved["model"])
    state.load_state_dict(saved["tithe"])
    again = state.state_dict()
    before, link = saved["tithe"], slice(2, 4)  # the link is measured anew; some of the numbers are NaN
    for one in (again, before):
        one["steered"] = [str(number) for place, number in enumerate(one["steered"]) if not link.start <= place < link.stop]
    other = [kind for kind in ("step", "codec", "feedback", "steered") if again[kind] != before[kind]]
    other += [kind for kind in ("residual", "before") if digest(again[kind].values()) != digest(before[kind].values())]
    steps(rank, model, optimizer, 4, 8)
    dist.barrier()
    return other, state.exchange.describe()["steps"], digest(model.parameters())


def wrong(rank, workers, folder, what):
    options = {"scheme": "star", "downlink": "topk:keep=0.1", "downlink_feedback": "ec"} if what == "server" else {}
    _, state, _ = start("topk:keep=0.05|natural", "ef21" if what == "feedback" else "ec", {"momentum": 0.5 if what == "momentum" else 0.9, **options})
    state.state_dict()
    saved = torch.load(f"{folder}/0")["tithe"]
    if what == "model":
        saved["residual"]["2.weight"] = saved["residual"]["2.weight"][:3]
    if what == "world":
        saved["world_size"] = 3
    if what in ("step", "steered"):  # as of a dense State, or an older one
        saved = {key: value for key, value in saved.items() if key in ("rank", "world_size") or what == "steered" and key != what}
    if what == "twice":
        saved["rank"] = 1
        return state.load_state_dict([saved, saved])
    state.load_state_dict(saved if what == "rank" else [saved] if what == "world" else [saved, dict(saved, rank=1)])


if __name__ == "__main__":
    for workers, case in zip((2, 2, 3, 2, 3, 3, 2), CASES):
        with tempfile.TemporaryDirectory() as folder:
            at_once = answers(whole, workers, case, folder)
            check(len(set(at_once)) == 1, f"{case}: ranks differ")
            for as_list in (False, True):
                check(answers(resumed, workers, case, folder, as_list) == at_once, f"{case}: resumed, other bits")
            check(case != CASES[6] or any(part.any() for part in torch.load(f"{folder}/0")["tithe"]["moved"].values()), "late=on: no update")
            names = set(torch.load(f"{folder}/0")["tithe"]["residual"])
            check(names == {"0.weight", "0.bias", "2.weight", "2.bias"}, f"by name: {names}")
            saved, momentum = torch.load(f"{folder}/0")["tithe"], case[2].get("momentum", 0)
            check(saved["factor"] == momentum, f"{case}: momentum {saved['factor']}")
            check(not momentum or all(saved[kind]["0.weight"].any() for kind in ("momentum", "direction")), f"{case}: no momentum")
            if case in (CASES[0], CASES[2], CASES[5]):
                for other in {1, 2, 4} - {workers}:
                    told = answers(grown, other, case, folder, workers)
                    check(all(one and one[0] for one in told) and len(set(told)) == 1, f"{case}: from {workers} ranks to {other}: {told}")
    with tempfile.TemporaryDirectory() as folder:
        answers(whole, 2, CASES[0], folder)
        for what, ranks, words in (("rank", [1], "rank 0"), ("model", [0, 1], "2.weight"), ("world", [0, 1], "list"), ("feedback", [0, 1], "feedback"),
                                   ("server", [0, 1], "downlink_feedback"), ("step", [0, 1], "'step'"), ("steered", [0, 1], "'steered'"),
                                   ("twice", [0], "rank 1"), ("momentum", [0, 1], "momentum 0.9")):
            told = run(wrong, 2, folder, what)
            for rank in ranks:
                check(told[rank][0] == "SpecError" and words in told[rank][1], f"{what}: {told[rank]}")
        check(os.path.exists(f"{folder}/1"), "every rank has saved its own")
    with tempfile.TemporaryDirectory() as folder:  # what is chosen goes by the clock, so only ranks can be compared
        check(len(set(answers(whole, 2, STEERED, folder))) == 1, "a tuner that steers: ranks differ")
        told = answers(steered, 2, STEERED, folder)
        check(told[0] == told[1] and told[0][:2] == ([], 8), f"a tuner that steers goes on: {told}")
    finish()
