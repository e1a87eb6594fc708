#!/usr/bin/env python3
"""What compressed differences cost with local steps: the loss of the transformer of examples/local_steps.py after the same number of samples,
the ranks of the outer loop simulated in one process.

    bench/local_steps.py --workers 2,4 --every 20,50 --rounds 40

Each side has the best of three outer learning rates. Dense is DiLoCo: differences as they are, Nesterov with momentum 0.9. Prints one line of
JSON for each run, and a table at the end."""
import argparse
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "examples"), os.path.join(HERE, "..", "python")]
import torch  # noqa: E402

import local_steps as problem  # noqa: E402
import tithe  # noqa: E402

SIDES = {
    "dense": ("codec=all|raw", "momentum=0.9;nesterov=yes", (0.3, 0.5, 0.7)),
    "tithe": ("codec=topk:keep=0.05|sign;feedback=ec:decay=0.95", "", (1.0, 1.5, 2.0)),
}


def run(side, rate, workers, every, rounds, text, seed=1, inner=3e-3):
    exchange_options, outer_options, _ = SIDES[side]
    numbers, tests, letters = text
    torch.manual_seed(seed)
    models = [problem.make_model(letters) for _ in range(workers)]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())
    layers = [[p.data for p in model.parameters()] for model in models]
    exchange = tithe.Exchange(tithe.Comm.local(workers), [p.numel() for p in layers[0]], exchange_options)
    outer = tithe.Outer(exchange, f"lr={rate}" + (f";{outer_options}" if outer_options else ""))
    outer.begin(layers[0])
    optimizers = [torch.optim.AdamW(model.parameters(), lr=inner) for model in models]
    draws = [torch.Generator().manual_seed(1000 * seed + rank) for rank in range(workers)]
    for _ in range(rounds):
        for rank in range(workers):
            for _ in range(every):
                optimizers[rank].zero_grad()
                problem.loss_of(models[rank], *problem.batch(numbers, draws[rank])).backward()
                optimizers[rank].step()
            outer.put(layers[rank], rank)
        outer.exchange()
        for rank in range(workers):
            outer.get(layers[rank], rank)
    frame = exchange.describe()["totals"]["uplink_bytes"] / rounds / workers
    return {"side": side, "outer_lr": rate, "workers": workers, "every": every, "rounds": rounds, "loss": round(problem.test_loss(models[0], tests), 4),
            "frame_bytes": round(frame), "parameters": exchange.n}


def table(runs):
    print("| workers | H | dense: loss, rate | Tithe: loss, rate | loss, Tithe / dense | bytes, dense / Tithe | bytes, DDP / Tithe |\n|---:|---:|---|---|---:|---:|---:|")
    for workers, every in dict.fromkeys((r["workers"], r["every"]) for r in runs):
        best = {side: min((r for r in runs if (r["side"], r["workers"], r["every"]) == (side, workers, every)), key=lambda r: r["loss"], default=None)
                for side in SIDES}
        dense, mine = best["dense"], best["tithe"]
        if dense and mine:
            print(f"| {workers} | {every} | {dense['loss']}, {dense['outer_lr']} | {mine['loss']}, {mine['outer_lr']} | {mine['loss'] / dense['loss']:.3f} | "
                  f"{dense['frame_bytes'] / mine['frame_bytes']:.0f} | {4 * mine['parameters'] * every / mine['frame_bytes']:,.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--every", default="20,50")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--codec", help="of Tithe's side, in place of its own: all options of the exchange")
    parser.add_argument("--rates", help="outer learning rates, in place of the three")
    parser.add_argument("--out", help="runs are added to this file, and the table is of all that is in it")
    wanted = parser.parse_args()
    if wanted.codec:
        SIDES["tithe"] = (wanted.codec, *SIDES["tithe"][1:])
    torch.set_num_threads(1)
    text, runs = problem.read(None), []
    if wanted.out and os.path.exists(wanted.out):
        with open(wanted.out, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
    for every in map(int, wanted.every.split(",")):
        for workers in map(int, wanted.workers.split(",")):
            for side in wanted.sides.split(","):
                for rate in [float(r) for r in wanted.rates.split(",")] if wanted.rates else SIDES[side][2]:
                    runs.append(run(side, rate, workers, every, wanted.rounds, text))
                    print(json.dumps(runs[-1]), flush=True)
                    if wanted.out:
                        with open(wanted.out, "a", encoding="utf-8") as file:
                            file.write(json.dumps(runs[-1]) + "\n")
    table(runs)


if __name__ == "__main__":
    main()
