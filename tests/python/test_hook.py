"""The hook under real DDP over gloo, with 2, 3 and 4 workers: all|raw is plain DDP, and with every codec all ranks hold the same bits."""

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

STEPS = 6


class Tied(nn.Module):
    """Layers of very different lengths, a convolution, a weight that is used twice, and one that may stay unused."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.convolve = nn.Conv1d(12, 12, 3, padding=1)
        self.norm = nn.LayerNorm(12)
        self.wide = nn.Linear(12, 300)
        self.back = nn.Linear(300, 12)
        self.spare = nn.Linear(12, 12)

    def forward(self, tokens, spare=False):
        x = self.embed(tokens)
        x = x + self.convolve(x.transpose(1, 2)).transpose(1, 2)
        x = self.norm(x + self.back(torch.relu(self.wide(x))))
        if spare:
            x = self.spare(x)
        return x @ self.embed.weight.t()


def data(rank, step):
    draw = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randint(0, 40, (4, 9), generator=draw)


def loss_of(model, tokens, spare=True):
    out = model(tokens[:, :-1], spare)
    return nn.functional.cross_entropy(out.reshape(-1, 40), tokens[:, 1:].reshape(-1))


def make(codec, ddp, options, feedback=None):
    torch.manual_seed(3)
    if "bucket_cap_mb" in ddp:
        dist._DEFAULT_FIRST_BUCKET_BYTES = 2048  # otherwise 1 MiB, whatever the cap is
    model = DistributedDataParallel(Tied(), **ddp)
    state = None
    if codec != "plain":
        state = tithe.torch.State(model, codec, feedback, **options)
        model.register_comm_hook(state, tithe.torch.hook)
    return model, state, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)


def train(rank, workers, codec, ddp=None, options=None, feedback=None, accumulate=1, steps=STEPS, spare=True):
    model, state, optimizer = make(codec, ddp or {}, options or {}, feedback)
    for step in range(steps):
        for part in range(accumulate - 1):
            with model.no_sync():
                loss_of(model, data(rank, 100 * step + part), spare).backward()
        loss_of(model, data(rank, 100 * step + 99), spare).backward()
        optimizer.step()
        optimizer.zero_grad()
    vector = torch.cat([p.detach().flatten() for p in model.parameters()])
    totals = state.totals() if state else {}
    dist.barrier()
    return digest(model.parameters()), vector.tolist(), totals, state.summary() if state else ""


def same_bits(what, told):
    check(len({value[0] for value in told if value}) == 1, f"{what}: ranks differ")
    return torch.tensor(told[0][1]) if told[0] else torch.zeros(1)


def dense_is_ddp():
    for workers in (2, 3, 4):
        plain = same_bits("plain", answers(train, workers, "plain", None, None, None, 1, 50))
        for options in ({}, {"scheme": "dense"}, {"scheme": "dense", "bucket": "4KiB"}):
            mine = same_bits(f"all|raw {options}", answers(train, workers, "all|raw", None, options, None, 1, 50))
            check(torch.allclose(plain, mine, rtol=1e-4, atol=1e-5), f"{workers} workers, all|raw {options}: "
                  f"{(plain - mine).abs().max()} away from plain DDP after 50 steps")


def every_codec():
    cases = [(2, None, None, {}), (3, "topk:keep=0.05|natural", "ec", {"bucket": "model"}), (4, "topk:keep=0.05", "ef21", {"bucket": "4KiB"}),
             (3, "natural", None, {}), (4, "all|dither:s=3", None, {"scheme": "shards"}), (3, "topk:keep=0.1", "ec", {"scheme": "artopk"}),
             (4, "topk:keep=0.1", "ec", {"scheme": "artopk", "leader": "variance"}), (2, "randk:keep=0.1", "ec", {"bucket": "layer"}),
             (3, "topk:keep=0.1|sign", "ec", {"scheme": "star", "downlink": "topk:keep=0.2"}), (2, "f16", None, {}), (3, "bf16", None, {}),
             (2, "topk:keep=0.05,per=layer", "ec", {"bucket": "model"}), (2, "topk|sign", "ec", {"tuner": "cat"}),
             (3, "topk:keep=0.05", "ec", {"warmup": 4}), (2, "threshold:lambda=0.001", "ec", {}), (2, "stochastic:k=40", "ec", {})]
    for workers, codec, feedback, options in cases:
        told = answers(train, workers, codec, None, options, feedback)
        same_bits(f"{workers} workers, {codec} {feedback} {options}", told)
        if told[0]:
            check(told[0][2]["uplink_bytes"] > 0 and "bytes" in told[0][3], f"{codec}: {told[0][3]}")


def every_ddp():
    """Buckets of any number, views, static graphs, parameters without a gradient: the exchange sees the same gradients."""
    small = {"bucket_cap_mb": 0.002}
    reference = same_bits("reference", answers(train, 2, "topk:keep=0.05", None, None, "ec"))
    for ddp in (small, {"gradient_as_bucket_view": True}, {**small, "gradient_as_bucket_view": True}, {"static_graph": True},
                {**small, "static_graph": True, "gradient_as_bucket_view": True}):
        told = answers(train, 2, "topk:keep=0.05", ddp, None, "ec")
        mine = same_bits(f"{ddp}", told)
        check(torch.equal(reference, mine), f"{ddp}: {(reference - mine).abs().max()} away")
        if ddp is small and told[0]:
            check(told[0][2]["buckets"] > 2 * STEPS, f"many buckets: {told[0][2]['buckets']}")
    unused = answers(train, 2, "topk:keep=0.05", {"find_unused_parameters": True}, None, "ec", 1, STEPS, False)
    same_bits("unused parameters", unused)


def accumulation():
    """What is kept moves on only in steps that exchange."""
    plain = same_bits("plain, accumulated", answers(train, 2, "plain", None, None, None, 3))
    told = answers(train, 2, "all|raw", None, {"scheme": "dense"}, None, 3)
    check(torch.allclose(plain, same_bits("accumulated", told), rtol=1e-4, atol=1e-6), "accumulated gradients")
    told = answers(train, 2, "topk:keep=0.05", None, None, "ec", 3)
    same_bits("accumulated and compressed", told)
    if told[0]:
        check(f"{STEPS} steps" in told[0][3], f"as many exchanges as steps of the optimizer: {told[0][3]}")


class Bucket:
    """What a hook sees of a bucket."""

    def __init__(self, buffer, parameters):
        self._buffer, self._parameters = buffer, parameters

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters


def halves(rank, workers, kind):
    """Buckets of 16-bit numbers, by calling the hook on them."""
    model = nn.Linear(30, 20).to(getattr(torch, kind))
    state = tithe.torch.State(model, "all|raw", scheme="dense")
    parameters = list(model.parameters())[::-1]
    numbers = torch.arange(620).div(8).add(rank).to(getattr(torch, kind))
    done = tithe.torch.hook(state, Bucket(numbers.clone(), parameters)).wait()
    wanted = torch.arange(620).div(8).to(getattr(torch, kind))
    mean = torch.stack([torch.arange(620).div(8).add(r).to(getattr(torch, kind)).float() for r in range(workers)]).mean(0)
    dist.barrier()
    return str(done.dtype), bool(torch.equal(done, mean.to(wanted.dtype)))


def sixteen_bits():
    for kind in ("float16", "bfloat16", "float32"):
        for value in answers(halves, 2, kind):
            check(value == (f"torch.{kind}", True), f"{kind}: {value}")


def refused(told, words, what, kinds=("MismatchError",)):
    for rank, (kind, value) in enumerate(told):
        check(kind in kinds, f"{what}: rank {rank}: {kind}: {value}")
        check(all(word in str(value).split("\n")[0] for word in words), f"{what}: {words} are not in: {value}")


def differ(rank, workers, what):
    codec, options, module = "topk:keep=0.05", {}, Tied()
    if what == "codec" and rank == 1:
        codec = "topk:keep=0.06"
    if what == "spec" and rank == 1:
        codec = "topk:keeep=0.06"
    if what == "scheme" and rank == 1:
        options = {"scheme": "nonsense"}
    if what == "shape" and rank == 1:
        module.spare = nn.Linear(13, 12)
    if what == "order" and rank == 1:
        module.spare, module.zzz = module.wide, module.spare
    if what == "option" and rank == 0:
        options = {"colour": "red"}
    tithe.torch.State(module, codec, "ec", **options)


class FullyShardedDataParallel(nn.Module):
    pass


def bad_models(rank, workers, what):
    module = nn.Sequential(nn.Linear(2, 2), FullyShardedDataParallel()) if what == "fsdp" else nn.Linear(2, 2).requires_grad_(False)
    tithe.torch.State(module)


def mismatches():
    refused(run(differ, 3, "codec"), ["codec topk:keep=0.05", "rank 1", "keep=0.06"], "another codec")
    refused(run(differ, 2, "spec"), ["keeep"], "a wrong spec", ("MismatchError", "SpecError"))
    refused(run(differ, 2, "scheme"), ["nonsense"], "a wrong scheme", ("MismatchError", "SpecError"))
    refused(run(differ, 2, "shape"), ["parameter", "rank 1", "spare.weight", "13"], "another shape")
    refused(run(differ, 2, "order"), ["parameter", "rank 1"], "another order")
    refused(run(differ, 2, "option"), ["colour"], "no such option", ("MismatchError", "SpecError"))
    refused(run(bad_models, 2, "fsdp"), ["FSDP", "DistributedDataParallel"], "FSDP", ("SpecError", "MismatchError"))
    refused(run(bad_models, 2, "frozen"), ["no parameter"], "no gradients", ("SpecError", "MismatchError"))


if __name__ == "__main__":
    dense_is_ddp()
    every_codec()
    every_ddp()
    accumulation()
    sixteen_bits()
    mismatches()
    finish()
