"""What goes wrong in the middle of training: a rank that is killed, a gradient with a NaN, a State that some rank never makes. The others
raise an exception that names the rank, within the deadline."""

import os
import signal

from kit import answers, digest, need, need_library, run
from support import check, finish

need_library("ZMQ")
need("torch", "numpy")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import tithe  # noqa: E402
import tithe.torch  # noqa: E402


def start(timeout, codec="topk:keep=0.1", feedback="ec", **ddp):
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(50, 40), nn.ReLU(), nn.Linear(40, 5)), **ddp)
    state = tithe.torch.State(model, codec, feedback, timeout=timeout)
    model.register_comm_hook(state, tithe.torch.hook)
    return model, state


def killed(rank, workers, who, ddp):
    model, _ = start(3.0, **ddp)
    for step in range(6):  # in the first ones DDP itself talks over gloo, about its buckets
        if rank == who and step == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        model(torch.randn(8, 50)).square().mean().backward()
    return "nobody was missed"


def spoilt(rank, workers, where, codec="topk:keep=0.1", feedback="ec"):
    model, _ = start(60.0, codec, feedback)
    for step in range(4):
        x = torch.randn(8, 50)
        if rank == where and step == 2:
            x[0, 0] = float("nan")
        model(x).square().mean().backward()
    return "nothing was noticed"


def skipped(rank, workers, options):
    """A NaN on rank 1 in step 2 of 4: what every rank sees of each step, and the bits at the end. A step that is not finite is left out by
    everybody, as GradScaler does."""
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(50, 40), nn.ReLU(), nn.Linear(40, 5)))
    state = tithe.torch.State(model, "topk:keep=0.1", "ec", on_nonfinite="skip", **options)
    model.register_comm_hook(state, tithe.torch.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for step in range(4):
        x = torch.randn(8, 50, generator=torch.Generator().manual_seed(10 * rank + step))
        if rank == 1 and step == 2:
            x[0, 0] = float("nan")
        before = digest(state.state_dict()["residual"].values())
        optimizer.zero_grad()
        model(x).square().mean().backward()
        finite = [bool(torch.isfinite(p.grad).all()) for p in model.parameters()]
        if all(finite):
            optimizer.step()
        seen.append((any(finite), before == digest(state.state_dict()["residual"].values())))
    return seen, digest(model.parameters()), state.totals()["skipped"] if rank == 0 else 1


def absent(rank, workers):
    if rank == 1:
        return "absent"
    start_alone = nn.Linear(3, 3)
    tithe.torch.State(start_alone, "topk:keep=0.1", "ec", timeout=2.0)
    return "nobody was missed"


def no_group():
    try:
        tithe.torch.State(nn.Linear(2, 2))
        check(False, "a State without a process group")
    except tithe.SpecError as why:
        check("init_process_group" in str(why), str(why))


def without_a_codec(rank, workers):
    """Options that need a codec, or a number; then a state of one choice for another."""
    said = []
    for options in ({"feedback": "none"}, {"warmup": 5}, {"momentum": "0.9"}, {"momentum": 1.0}, {"scheme": "artopk"}):
        try:
            tithe.torch.State(nn.Linear(3, 3), timeout=20.0, **options)
            said.append("nothing")
        except tithe.Error as why:
            said.append(f"{type(why).__name__}: {why}")
    chosen, fixed = tithe.torch.State(nn.Linear(3, 3)), tithe.torch.State(nn.Linear(3, 3), "natural", scheme="shards")
    for state, saved in ((chosen, fixed.state_dict()), (fixed, chosen.state_dict())):
        try:
            state.load_state_dict(saved)
            said.append("nothing")
        except tithe.Error as why:
            said.append(f"{type(why).__name__}: {why}")
    return said


def closed(rank, workers):
    """Several, one after the other and at the same time, each with connections of its own."""
    firsts = []
    for turn in range(3):
        model, state = start(60.0)
        model(torch.ones(2, 50)).mean().backward()
        firsts.append([state.totals()["uplink_bytes"] > 0, state])
        if turn != 1:
            state.close()
            state.close()
    return [fine for fine, _ in firsts]


if __name__ == "__main__":
    for ddp in ({}, {"static_graph": True}):
        for workers, who in ((2, 1), (3, 0)):
            others = [rank for rank in range(workers) if rank != who]
            told = run(killed, workers, who, ddp, expected=others)
            for rank in others:
                kind, value = told[rank]
                check(kind == "PeerError" and f"rank {who}" in str(value).split("\n")[0], f"rank {who} of {workers} is killed, {ddp}: {kind}: {value}")
    for where in (0, 1):
        told = run(spoilt, 2, where)
        for rank in (0, 1):  # in the answer to its own message, or from the other one, who had it sooner and left
            kind, value = told[rank]
            check(kind in ("NonfiniteError", "PeerError") and f"Rank {where} has a gradient that is not finite" in value,
                  f"a NaN on rank {where}, rank {rank} hears: {kind}: {value}")
    for rank, (kind, value) in enumerate(run(spoilt, 2, 1, "all|raw", None)):
        check(kind == "NonfiniteError" and "not finite" in value, f"a NaN under the group's own all-reduce, rank {rank}: {kind}: {value}")
    for options in ({}, {"bucket": "2KiB"}, {"scheme": "shards"}, {"scheme": "artopk"}):
        told = answers(skipped, 2, options)
        right = [(True, False), (True, False), (False, True), (True, False)]
        check(told[0] == told[1] and told[0][0] == right and told[0][2] == 1, f"{options}: a NaN that is skipped: {told}")
    kind, value = run(absent, 2)[0]
    check(kind == "PeerError" and "Rank 1 did not come" in value, f"a rank without a State: {kind}: {value}")
    no_group()
    for said in answers(without_a_codec, 2):
        words = ["feedback is of a codec", "warmup is of a codec", "a number from 0", "a number from 0", "no way to send", "that it was saved with", "that it was saved with"]
        check(len(said) == len(words) and all(word in one for word, one in zip(words, said)), f"without a codec: {said}")
    check(answers(closed, 2) == [[True] * 3] * 2, "three States")
    finish()
