#!/usr/bin/env python3
"""AR-Top-k with the automatic step under each rule for the leader, beside gather: the last loss of each run.

    [TITHE_DATA=folder] bench/leaders.py [--tithe build/tithe] [--steps 300] [--workers 2,4,7,20] [--keep 0.1,0.01,0.001] [DATA ...]

Without names of data: the sets of own_data.py and two that are generated. `!` diverged; a figure in brackets is how often the run went
back to its lowest loss. At the end: how the rules compare over all runs."""
import argparse
import json
import math
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import own_data

RULES = ("round-robin", "variance", "auto")
GENERATED = ("gen:dense:rows=1000,features=400", "gen:dense:rows=1000,features=400,heterogeneity=5")


def train(a, data, split, workers, keep, scheme):
    words = [a.tithe, "train", "--data", data, "--split", split, "--workers", workers, "--codec", f"topk:keep={keep}", *scheme,
             "--steps", a.steps, "--no-optimum", "--threads", "1", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 1, json.loads(done.stdout)


def cell(run):
    diverged, answer = run
    return f"{'!' if diverged else ''}{answer['loss']:.4f}" + (f" ({answer['restarts']})" if answer["restarts"] else "")


def mean(quotients):
    return math.exp(sum(map(math.log, quotients)) / len(quotients))


def judge(rows):
    """Rows of losses: round-robin, variance, auto."""
    print(f"\n{len(rows)} settings. Geometric means of the last loss: variance {mean([v / r for r, v, _ in rows]):.3f} and auto "
          f"{mean([a / r for r, _, a in rows]):.3f} of round-robin's; auto {mean([a / v for _, v, a in rows]):.3f} of variance's.")
    for more in (0.01, 0.1):
        better = sum(a < min(r, v) * (1 - more) for r, v, a in rows)
        worse = sum(a > max(r, v) * (1 + more) for r, v, a in rows)
        print(f"auto is better than both by more than {100 * more:.0f} % in {better}, worse than both in {worse}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--steps", default="300")
    parser.add_argument("--workers", default="2,4,7,20")
    parser.add_argument("--keep", default="0.1,0.01,0.001")
    parser.add_argument("data", nargs="*")
    a = parser.parse_args()
    a.tithe = os.path.abspath(a.tithe)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        names = {name: name for name in a.data} or {**own_data.write(folder), **{name: name for name in GENERATED}}
        rows, diverged = [], 0
        print("| data | split | workers | keep | gather | " + " | ".join(RULES) + " |\n|" + "---|" * 8)
        for name, path in names.items():
            for split in ("sorted", "shuffled"):
                for workers in a.workers.split(","):
                    for keep in a.keep.split(","):
                        schemes = [["--scheme", "gather"], *(["--scheme", "artopk", "--leader", rule] for rule in RULES)]
                        runs = list(pool.map(lambda s: train(a, path, split, workers, keep, s), schemes))
                        rows.append([answer["loss"] for _, answer in runs[1:]])
                        diverged += sum(bad for bad, _ in runs[1:])
                        print(f"| {name} | {split} | {workers} | {keep} | " + " | ".join(map(cell, runs)) + " |", flush=True)
        judge(rows)
        print(f"{diverged} of {3 * len(rows)} runs of AR-Top-k diverged.")


if __name__ == "__main__":
    main()
