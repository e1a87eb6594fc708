#!/usr/bin/env python3
"""How many steps a level costs: steps to 85 % on Fashion-MNIST, the ranks of an exchange simulated in one process.

    bench/ddp_levels.py --workers 2,4 --seeds 1,2,3 'codec=topk:keep=0.01|natural;feedback=ec' 'codec=natural;scheme=shards'

The problem of examples/ddp_fashion_mnist.py: what is exchanged has the bits that the hook would bring, only that nothing travels. Dense is
always there. Prints one line of JSON for each run, and a table at the end: steps, as a multiple of dense of the same seed (geometric
mean), and the bytes of a frame."""
import argparse
import json
import math
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "examples"), os.path.join(HERE, "..", "python")]
import torch  # noqa: E402

import ddp_fashion_mnist as problem  # noqa: E402
import tithe  # noqa: E402

DENSE = "codec=all|raw"


def accuracy(model, tests):
    with torch.no_grad():
        return (model(tests[0]).argmax(1) == tests[1]).float().mean().item()


def run(options, workers, seed, wanted, data, tests):
    """Steps until the target, or None; bytes of a rank's frames in a step, in the mean."""
    torch.manual_seed(seed)
    model = problem.make_model()
    parameters = list(reversed(list(model.parameters())))  # as the hook has them
    rows = [problem.batches(len(data[1]), seed, rank, workers) for rank in range(workers)]
    exchange = tithe.Exchange(tithe.Comm.local(workers), [p.numel() for p in parameters], options)
    optimizer = torch.optim.SGD(model.parameters(), lr=wanted.lr, momentum=problem.MOMENTUM)
    update = torch.zeros(exchange.n)
    reached, found = None, 0.0
    for step in range(1, wanted.steps + 1):
        for rank in range(workers):
            mine = next(rows[rank])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data[0][mine]), data[1][mine]).backward()
            exchange.put(torch.cat([p.grad.view(-1) for p in parameters]), rank)
        exchange.finish(update)
        for p, part in zip(parameters, torch.split(update, exchange.layers)):
            p.grad.copy_(part.view_as(p))
        optimizer.step()
        if step % 10 == 0 and step >= wanted.look:
            found = accuracy(model, tests)
            if found >= wanted.target:
                reached = step
                break
    sent = exchange.describe()["totals"]["uplink_bytes"] / step / workers
    return {"options": options, "workers": workers, "seed": seed, "reached": reached, "accuracy": round(found, 4), "frame_bytes": round(sent)}


def table(runs):
    dense = {(r["workers"], r["seed"]): r["reached"] for r in runs if r["options"] == DENSE}
    print(f"{'options':60} {'workers':>7} {'steps':>20} {'of dense':>9} {'frame bytes':>12}")
    for options, workers in dict.fromkeys((r["options"], r["workers"]) for r in runs):
        here = [r for r in runs if (r["options"], r["workers"]) == (options, workers)]
        ratios = [r["reached"] / dense[workers, r["seed"]] for r in here if r["reached"] and dense[workers, r["seed"]]]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if len(ratios) == len(here) else math.nan
        print(f"{options:60} {workers:7} {', '.join(str(r['reached']) for r in here):>20} {mean:9.2f} {max(r['frame_bytes'] for r in here):12,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("options", nargs="*", help="of an exchange")
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--target", type=float, default=0.85)
    parser.add_argument("--steps", type=int, default=900, help="at most")
    parser.add_argument("--look", type=int, default=150, help="the first step at which the test set is asked")
    parser.add_argument("--lr", type=float, default=problem.RATE)
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    data, tests = problem.read("train"), problem.read("t10k")
    runs = []
    for seed in map(int, wanted.seeds.split(",")):
        for workers in map(int, wanted.workers.split(",")):
            for options in [DENSE, *wanted.options]:
                runs.append(run(options, workers, seed, wanted, data, tests))
                print(json.dumps(runs[-1]), flush=True)
    table(runs)


if __name__ == "__main__":
    main()
