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
from tithe import _library  # noqa: E402

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


def train_all(rank, workers, cases):
    """One after the other in the same processes, since starting them is what takes long."""
    return [train(rank, workers, **case) for case in cases]


def trained(workers, cases):
    """For each case the parameters as one vector, the totals and the summary of rank 0; all ranks have to hold the same bits."""
    told = answers(train_all, workers, cases)
    if None in told:
        return [(torch.zeros(1), {}, "")] * len(cases)
    for i, case in enumerate(cases):
        check(len({of_rank[i][0] for of_rank in told}) == 1, f"{workers} workers, {case}: ranks differ")
    return [(torch.tensor(vector), totals, summary) for _, vector, totals, summary in told[0]]


def dense_is_ddp(workers):
    ways = [{}, {"scheme": "dense"}, {"scheme": "dense", "bucket": "4KiB"}, {"scheme": "dense", "momentum": 0.9}]
    plain, *mine = trained(workers, [dict(codec="plain", steps=50), *(dict(codec="all|raw", options=way, steps=50) for way in ways)])
    for way, (vector, _, _) in zip(ways, mine):
        check(torch.allclose(plain[0], vector, rtol=1e-4, atol=1e-5), f"{workers} workers, all|raw {way}: "
              f"{(plain[0] - vector).abs().max()} away from plain DDP after 50 steps")


CODECS = {
    2: [(None, None, {}), ("randk:keep=0.1", "ec", {"bucket": "layer"}), ("f16", None, {}), ("topk:keep=0.05,per=layer", "ec", {"bucket": "model"}),
        ("topk:keep=0.05,per=layer,whole=300|natural", "ec:decay=0.9", {}),
        ("topk|sign", "ec", {"tuner": "cat"}), (None, None, {"momentum": 0.9}), ("threshold:lambda=0.001", "ec", {}), ("stochastic:k=40", "ec", {})],
    3: [("topk:keep=0.05|natural", "ec", {"bucket": "model", "momentum": 0.9}), ("natural", None, {"scheme": "shards"}), (None, None, {}), ("topk:keep=0.1", "ec", {"scheme": "artopk"}),
        ("topk:keep=0.1|sign", "ec", {"scheme": "star", "downlink": "topk:keep=0.2"}), ("bf16", None, {}), ("topk:keep=0.05", "ec", {"warmup": 4})],
    4: [("topk:keep=0.05", "ef21", {"bucket": "4KiB"}), ("topk|natural", None, {"tuner": "auto", "bucket": "4KiB", "momentum": 0.9}), ("all|dither:s=3", None, {"scheme": "shards"}),
        ("topk:keep=0.1", "ec", {"scheme": "artopk", "leader": "variance"})],
}


def every_codec(workers):
    cases = [dict(codec=codec, feedback=feedback, options=options) for codec, feedback, options in CODECS[workers]]
    for case, (_, totals, summary) in zip(cases, trained(workers, cases)):
        check(totals.get("uplink_bytes", 0) > 0 and "bytes" in summary, f"{case}: {summary}")
        steered = case["codec"] is None or case["options"].get("tuner") == "auto"
        check(("settings; " in summary and "ms a step" in summary) == steered, f"what was chosen, and why: {summary}")


def alone():
    """One worker has nobody to send to."""
    (_, totals, summary), = trained(1, [dict(codec=None)])
    check(totals.get("sent_bytes") == 0 and f"{STEPS} steps" in summary, f"one worker: {summary}")


def every_ddp():
    """Buckets of any number, views, static graphs, parameters without a gradient: the exchange sees the same gradients."""
    small = {"bucket_cap_mb": 0.002}
    ways = [{}, {"gradient_as_bucket_view": True}, {"static_graph": True}, small, {**small, "gradient_as_bucket_view": True},
            {**small, "static_graph": True, "gradient_as_bucket_view": True}]
    unused = dict(codec="topk:keep=0.05", feedback="ec", ddp={"find_unused_parameters": True}, spare=False)
    told = trained(2, [*(dict(codec="topk:keep=0.05", feedback="ec", ddp=way) for way in ways), unused])
    for way, (vector, totals, _) in zip(ways, told):
        check(torch.equal(told[0][0], vector), f"{way}: {(told[0][0] - vector).abs().max()} away")
        check("bucket_cap_mb" not in way or totals["buckets"] > 2 * STEPS, f"{way}: {totals.get('buckets')} buckets")


def lacking(rank, workers):
    """The second step has no gradient for some parameters, of which DDP was not told."""
    model, _, _ = make("topk:keep=0.05", {"bucket_cap_mb": 0.002}, {}, "ec")
    for step in range(3):
        loss_of(model, data(rank, step), spare=step == 0).backward()


def unused():
    """DDP says so before the third step: the second one, which never ends, keeps nobody waiting."""
    for rank, (kind, value) in enumerate(run(lacking, 2)):
        check(kind == "RuntimeError" and "find_unused_parameters" in value, f"rank {rank}, parameters without a gradient: {kind}: {value}")


def accumulation():
    """What is kept moves on only in steps that exchange."""
    plain, dense, compressed = trained(2, [dict(codec="plain", accumulate=3), dict(codec="all|raw", options={"scheme": "dense"}, accumulate=3),
                                           dict(codec="topk:keep=0.05", feedback="ec", accumulate=3)])
    check(torch.allclose(plain[0], dense[0], rtol=1e-4, atol=1e-6), "accumulated gradients")
    check(f"{STEPS} steps" in compressed[2], f"as many exchanges as steps of the optimizer: {compressed[2]}")


def images(rank, workers, codec, feedback):
    """A CNN with batch normalisation, whose buffers DDP itself sends over gloo in each forward pass, on two kinds of images."""
    torch.manual_seed(5)
    model = DistributedDataParallel(nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(),
                                                  nn.Linear(8 * 36, 2)))
    state = tithe.torch.State(model, codec, feedback)
    model.register_comm_hook(state, tithe.torch.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(40):
        draw = torch.Generator().manual_seed(1000 * rank + step)
        kinds = torch.randint(2, (16,), generator=draw)
        x = torch.randn(16, 1, 10, 10, generator=draw)
        x[:, :, :5] += kinds.view(-1, 1, 1, 1) - 0.5
        loss = nn.functional.cross_entropy(model(x), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    dist.barrier()
    return digest(model.parameters()), sum(losses[-5:]) / 5


def convolutions():
    for codec, feedback in ((None, None), ("topk:keep=0.05|natural", "ec")):
        told = answers(images, 2, codec, feedback)
        check(None not in told and told[0][0] == told[1][0], f"a CNN, {codec}: ranks differ")
        check(all(one and one[1] < 0.2 for one in told), f"a CNN, {codec}: it learns little: {told}")


def one_rate(rank, workers, last):
    """Three steps, the last with another learning rate: what was kept, and how far that step went."""
    torch.manual_seed(3)
    model = DistributedDataParallel(Tied())
    state = tithe.torch.State(model, "topk:keep=0.05", "ec")
    model.register_comm_hook(state, tithe.torch.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(3):
        optimizer.param_groups[0]["lr"] = last if step == 2 else 0.05
        before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
        optimizer.zero_grad()
        loss_of(model, data(rank, step)).backward()
        optimizer.step()
    moved = torch.cat([p.detach().flatten() for p in model.parameters()]) - before
    return digest(state.state_dict()["residual"].values()), moved.abs().sum().item()


def learning_rates():
    """What is kept is in units of the gradient, so the learning rate is not in it."""
    for usual, smaller in zip(answers(one_rate, 2, 0.05), answers(one_rate, 2, 0.005)):
        check(usual[0] == smaller[0], "the residual depends on the learning rate")
        check(abs(usual[1] / smaller[1] - 10) < 0.1, f"a step goes {usual[1] / smaller[1]} times as far, not 10 times")


class Bucket:
    """What a hook sees of a bucket."""

    def __init__(self, buffer, parameters):
        self._buffer, self._parameters = buffer, parameters

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters


def halves(rank, workers, kind, options):
    """Buckets of 16-bit numbers, by calling the hook on them."""
    model = nn.Linear(30, 20).to(getattr(torch, kind))
    state = tithe.torch.State(model, "all|raw", **options)
    parameters = list(model.parameters())[::-1]
    numbers = torch.arange(620).div(8).add(rank).to(getattr(torch, kind))
    done = tithe.torch.hook(state, Bucket(numbers.clone(), parameters)).wait()
    wanted = torch.arange(620).div(8).to(getattr(torch, kind))
    mean = torch.stack([torch.arange(620).div(8).add(r).to(getattr(torch, kind)).float() for r in range(workers)]).mean(0)
    dist.barrier()
    return str(done.dtype), bool(torch.equal(done, mean.to(wanted.dtype)))


def sixteen_bits():
    for kind in ("float16", "bfloat16", "float32"):
        for options in ({"scheme": "dense"}, {}):  # Tithe's ring, and the group's own all-reduce
            for value in answers(halves, 2, kind, options):
                check(value == (f"torch.{kind}", True), f"{kind}, {options}: {value}")


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
    if what == "version" and rank == 1:
        _library.library().tithe_version = lambda: b"0.0.1"
    if what == "library" and rank == 1:
        load = _library._load
        _library._load = lambda name: load("tithe_missing" if name == "tithe_zmq" else name)
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
    refused(run(differ, 2, "version"), ["tithe 0.0.1", "rank 1"], "another version")
    refused(run(differ, 2, "library"), ["libtithe_missing", "TITHE_LIBRARIES"], "a library that one rank lacks", ("MismatchError", "MissingLibrary"))
    refused(run(bad_models, 2, "fsdp"), ["FSDP", "DistributedDataParallel"], "FSDP", ("SpecError", "MismatchError"))
    refused(run(bad_models, 2, "frozen"), ["no parameter"], "no gradients", ("SpecError", "MismatchError"))


if __name__ == "__main__":
    for count in (2, 3, 4):
        dense_is_ddp(count)
        every_codec(count)
    alone()
    every_ddp()
    unused()
    convolutions()
    accumulation()
    learning_rates()
    sixteen_bits()
    mismatches()
    finish()
