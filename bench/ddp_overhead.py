#!/usr/bin/env python3
"""What the hook costs where the network is free: a step of plain DDP beside one with all|raw (the group's own all-reduce) and with
the default, by turns in the same processes; and what Python costs for each bucket.

Where its memory lies makes a model faster or slower by some percent, for as long as its process lives: hence several starts.

    bench/ddp_overhead.py --workers 2 --starts 5 --pairs 3"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "examples"), os.path.join(HERE, "..", "python")]
BLOCK = 20  # steps that take turns


def make(kind):
    import torch

    import ddp_fashion_mnist as problem
    import tithe.torch
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(problem.make_model())
    if kind != "plain":
        state = tithe.torch.State(model, "all|raw") if kind == "raw" else tithe.torch.State(model)
        model.register_comm_hook(state, tithe.torch.hook)
    return model, torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)


def block(model, optimizer, x, y):
    import torch
    times = []
    for _ in range(BLOCK):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def bucket_overhead():
    """Seconds from handing a bucket of ten numbers to the hook until its future is done, in a backward pass, as DDP does it: all of it is
    overhead. One rank, in a group of its own."""
    import torch
    import torch.distributed as dist

    import tithe.torch

    class Bucket:
        def __init__(self, parameters):
            self.numbers, self.all = torch.ones(10), parameters

        def buffer(self):
            return self.numbers

        def parameters(self):
            return self.all

    class Timed(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x

        @staticmethod
        def backward(_, slope):
            begin = time.perf_counter()
            tithe.torch.hook(state, bucket).wait()
            times.append(time.perf_counter() - begin)
            return slope
    model = torch.nn.Linear(9, 1)
    groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    state = tithe.torch.State(model, "topk:k=2", "ec", process_group=groups[dist.get_rank()])
    bucket, times = Bucket(list(model.parameters())[::-1]), []
    for _ in range(2000):
        Timed.apply(torch.ones(1, requires_grad=True)).backward()
    return statistics.median(times)


def work(wanted, rank):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=wanted.workers)
    kinds = {kind: make(kind) for kind in ("plain", "raw", "tithe")}
    x, y = torch.randn(128 // wanted.workers, 784), torch.randint(10, (128 // wanted.workers,))
    found = {kind: [] for kind in kinds}
    for pair in range(wanted.pairs + 1):
        for kind in kinds if pair % 2 else reversed(kinds):
            seconds = block(*kinds[kind], x, y)
            if pair:
                found[kind].append(seconds)
    found["bucket"] = [bucket_overhead()]
    dist.barrier()
    if rank == 0:
        print(json.dumps(found), flush=True)


def start(workers):
    """One start of all workers: what rank 0 has found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environments = [dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORKER_RANK=str(rank)) for rank in range(workers)]
    started = [subprocess.Popen([sys.executable, *sys.argv], env=environment, stdout=subprocess.PIPE) for environment in environments]
    answers = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        sys.exit("A worker failed.")
    return json.loads(answers[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=3, help="turns in each start")
    wanted = parser.parse_args()
    if "WORKER_RANK" in os.environ:
        return work(wanted, int(os.environ["WORKER_RANK"]))
    starts = [start(wanted.workers) for _ in range(wanted.starts)]
    found = {kind: [seconds for one in starts for seconds in one[kind]] for kind in starts[0]}
    answer = {"workers": wanted.workers, **{f"{kind}_ms": round(1000 * statistics.median(times), 3) for kind, times in found.items()}}
    for kind in ("raw", "tithe"):
        ratios = [a / b for a, b in zip(found[kind], found["plain"])]
        answer[f"{kind}_of_plain"] = round(statistics.median(ratios), 3)
        answer[f"{kind}_by_start"] = [round(statistics.median(ratios[i:i + wanted.pairs]), 3) for i in range(0, len(ratios), wanted.pairs)]
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
