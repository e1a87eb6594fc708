"""Local steps under real process groups: with one dense step a round it is plain data parallelism; whatever is sent, ranks have the same
bits after a round; checkpoints go on with the same bits; and what goes wrong is an exception on every rank."""

import os
import signal
import tempfile

from kit import answers, digest, need, need_library, run
from support import check, finish

need_library("ZMQ")
need("torch", "numpy")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

import tithe  # noqa: E402
import tithe.torch  # noqa: E402

CASES = {
    "dense": {"codec": "all|raw"}, "DiLoCo": {"codec": "all|raw", "momentum": 0.9, "nesterov": True}, "as it is": {},
    "natural over shards": {"codec": "natural", "scheme": "shards", "decay": 1.0}, "leader": {"codec": "topk:keep=0.1", "scheme": "artopk"},
    "by layer": {"codec": "topk:keep=0.1,per=layer,whole=30|natural", "momentum": 0.5}, "buckets": {"codec": "topk:keep=0.1", "bucket": "1KiB"},
    "EF21": {"codec": "topk:keep=0.2", "feedback": "ef21"}, "overlap": {"overlap": True}, "dense overlap": {"codec": "all|raw", "overlap": True},
}


class Small(nn.Module):
    """Tied weights, buffers of two types, and layers that lie in memory in another order than they are named."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(23, 16)
        self.norm = nn.BatchNorm1d(16)
        self.inner = nn.Linear(16, 16)
        self.out = nn.Linear(16, 23, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(torch.relu(self.inner(self.norm(self.embed(x)))))


def begin(rank, seed=1, **options):
    torch.manual_seed(seed + rank)  # ranks begin with different models: rank 0's is everybody's
    model = Small()
    outer = tithe.torch.LocalSteps(model, options.pop("every", 3), **options)
    return model, outer, torch.optim.Adam(model.parameters(), lr=0.01)


def steps(rank, model, outer, optimizer, first, last):
    for step in range(first, last):
        x = torch.randint(23, (8,), generator=torch.Generator().manual_seed(100 * rank + step))
        nn.functional.cross_entropy(model(x), (x + 1) % 23).backward()
        optimizer.step()
        optimizer.zero_grad()
        outer.step()


def all_cases(rank, workers):
    """Bits of parameters and buffers after 2 rounds and a third that is not over."""
    found = {}
    for name, options in CASES.items():
        model, outer, optimizer = begin(rank, **options)
        steps(rank, model, outer, optimizer, 0, 7)
        outer.finish()
        if name == "as it is":
            check("every 3 steps" in outer.summary() and outer.rounds == 3, outer.summary())
        check(all(torch.isfinite(p).all() for p in model.parameters()), f"{name}: not finite")
        found[name] = (digest(model.parameters()), digest(model.buffers()), outer.totals()["sent_bytes"] > 0 or workers == 1)
        dist.barrier()
        outer.close()
    return found


def as_ddp(rank, workers):
    """One step a round, dense, the outer rate 1: the mean of the models is the model after the mean gradient."""
    torch.manual_seed(1)
    first, second = nn.Linear(20, 5), nn.Linear(20, 5)
    second.load_state_dict(first.state_dict())
    ddp = nn.parallel.DistributedDataParallel(second)
    outer = tithe.torch.LocalSteps(first, 1, "all|raw", lr=1.0)
    ones = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, ddp)]
    for step in range(20):
        x = torch.randn(8, 20, generator=torch.Generator().manual_seed(100 * rank + step))
        for model, optimizer in zip((first, ddp), ones):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        outer.step()
    return max((a - b).abs().max().item() for a, b in zip(first.parameters(), second.parameters()))


def whole(rank, workers, options, folder):
    """Eleven steps at once, with a checkpoint after seven: in the middle of a round."""
    model, outer, optimizer = begin(rank, **options)
    steps(rank, model, outer, optimizer, 0, 7)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "tithe": outer.state_dict()}, f"{folder}/{rank}")
    steps(rank, model, outer, optimizer, 7, 11)
    outer.finish()
    dist.barrier()
    return digest(model.parameters())


def resumed(rank, workers, options, folder):
    model, outer, optimizer = begin(rank, seed=9, **options)
    saved = torch.load(f"{folder}/{rank}")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    outer.load_state_dict(saved["tithe"])
    steps(rank, model, outer, optimizer, 7, 11)
    outer.finish()
    dist.barrier()
    return digest(model.parameters())


def grown(rank, workers, folder, before):
    """Another number of ranks: from the shared model, with the mean of what was kept."""
    model, outer, _ = begin(rank)
    saved = [torch.load(f"{folder}/{r}")["tithe"] for r in range(before)]
    outer.load_state_dict(saved)
    own = outer.state_dict()
    check(all(torch.equal(own["shared"][name], saved[0]["shared"][name]) for name in own["shared"]), "another shared model")
    check(all(torch.equal(p, own["shared"][name]) for name, p in model.named_parameters()), "the model is not the shared one")
    return all(torch.allclose(own["residual"][name], torch.stack([one["residual"][name] for one in saved]).mean(0)) for name in own["residual"])


def goes_wrong(rank, workers, what):
    if what == "mismatch":
        begin(rank, every=3 + rank)
    if what == "spec" and rank == 1:
        begin(rank, codec="topk:kept=3")
    model, outer, optimizer = begin(rank, on_nonfinite="skip" if what == "skip" else "raise", overlap=what == "late", timeout=20.0)
    steps(rank, model, outer, optimizer, 0, 5)
    if rank == 1 and what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 1:
        model.inner.weight.data[0, 0] = float("nan")
    outer.step()
    steps(rank, model, outer, optimizer, 6, 12)
    outer.finish()
    return outer.skipped, all(bool(torch.isfinite(p).all()) for p in model.parameters()), digest(model.parameters())


if __name__ == "__main__":
    for workers in (2, 4):
        told = answers(all_cases, workers)
        for name in CASES:
            check(len({one[name] for one in told}) == 1, f"{name}, {workers} ranks: other bits, or nothing was sent: {[one[name] for one in told]}")
        check(len({told[0][name][0] for name in CASES}) == len(CASES), "cases are different")
    check(max(answers(as_ddp, 2)) < 1e-5, "one dense step a round is not DDP")
    for options in (CASES["as it is"], CASES["by layer"], CASES["overlap"]):
        with tempfile.TemporaryDirectory() as folder:
            at_once = answers(whole, 2, options, folder)
            check(len(set(at_once)) == 1, f"{options}: ranks differ")
            check(answers(resumed, 2, options, folder) == at_once, f"{options}: resumed, other bits")
            if options == CASES["as it is"]:
                check(all(answers(grown, 3, folder, 2)), "from 2 ranks to 3")
    for what, kind, words in (("mismatch", "MismatchError", "every"), ("spec", None, "kept"), ("raise", "NonfiniteError", "ank 1"),
                              ("late", "NonfiniteError", "ank 1")):
        for rank, told in enumerate(run(goes_wrong, 2, what)):
            check(told[0] in ((kind, "PeerError") if kind else ("MismatchError", "SpecError")) and words in told[1], f"{what}, rank {rank}: {told}")
    told = run(goes_wrong, 2, "killed", expected=[0])[0]
    check(told[0] == "PeerError" and "ank 1" in told[1], f"a rank that was killed: {told}")
    told = answers(goes_wrong, 2, "skip")
    check(told[0] == told[1] and told[0][0] == 1 and told[0][1], f"a round that is skipped: {told}")
    finish()
