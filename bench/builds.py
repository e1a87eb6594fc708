#!/usr/bin/env python3
"""Compares the speed of two builds of the command: every row of `tithe bench`, and training, in runs that take turns.

usage: bench/builds.py BEFORE AFTER [--rounds 9] [--n 47236,2^20] [--limit 1.05] [--rows PATTERN]

BEFORE and AFTER are two `tithe` programs. A row's figure is the median over the rounds of AFTER's seconds by BEFORE's
in the same round; for a row of the bench, of the fastest call in each. Rows above the limit are measured again with
twice the rounds, and only what is above it twice is reported. Exit status 1 if a row is slower by more than
the limit.
"""
import argparse
import json
import statistics
import subprocess
import sys

KINDS = ("kernels", "codecs", "exchange", "tuner")
TRAIN = {
    "dense": "--scheme dense --steps 200",
    "top-k": "--codec topk:keep=0.01 --steps 200",
    "top-k, server": "--codec topk:keep=0.01|natural --scheme star --steps 200",
    "artopk": "--codec topk:keep=0.01 --scheme artopk --steps 200",
    "cat": "--codec topk --tuner cat --cost packet:c1=128,payload=64 --steps 200",
    "natural": "--codec natural --steps 200",
    "EC-LSVRG": "--codec threshold:lambda=0.001 --estimator lsvrg --steps 1000",
    "buckets": "--codec topk:keep=0.05 --bucket 64KiB --steps 200",
}


def bench(program, kind, args, pattern):
    """Seconds of each row: the fastest call, which a busy machine disturbs least."""
    rows = ["--rows", pattern] if pattern else []
    line = [program, "bench", kind, "--n", args.n, *rows, "--threads", "1", "--data", "gaussian,lognormal"]
    run = subprocess.run([*line, "--json", "-"], capture_output=True, check=not pattern)
    if run.returncode:
        return {}  # no row of this kind has such a name
    answer, seconds = json.loads(run.stdout), {}
    for row in answer["results"]:
        key = " ".join(str(row[name]) for name in ("name", "n", "data", "isa") if row.get(name) is not None)
        seconds[f"{kind} {key}"] = row.get("fastest") or row["seconds"]
    return seconds


def train(program, name):
    line = [program, "train", "--data", "rcv1-like:scale=0.2", "--workers", "4", *TRAIN[name].split(), "--no-optimum"]
    answer = json.loads(subprocess.run([*line, "--json", "-"], capture_output=True, check=True).stdout)
    return {f"train {name}": answer["seconds"]}


def one_round(program, args, pattern):
    rows = {}
    for kind in KINDS:
        rows.update(bench(program, kind, args, pattern))
    if not pattern:
        for name in TRAIN:
            rows.update(train(program, name))
    return rows


def ratios(args, rounds, pattern):
    measured = {}
    for index in range(rounds):
        order = (args.before, args.after) if index % 2 == 0 else (args.after, args.before)
        rows = {program: one_round(program, args, pattern) for program in order}
        for name in rows[args.before].keys() & rows[args.after].keys():
            if rows[args.before][name]:
                measured.setdefault(name, []).append(rows[args.after][name] / rows[args.before][name])
        print(f"round {index + 1} of {rounds}", file=sys.stderr)
    return {name: statistics.median(values) for name, values in measured.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--n", default="47236,2^20")
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--rows")
    args = parser.parse_args()
    first = ratios(args, args.rounds, args.rows)
    slow = sorted(name for name, ratio in first.items() if ratio > args.limit)
    again = {}
    if slow:
        print(f"{len(slow)} rows above {args.limit}: measured again", file=sys.stderr)
        again = ratios(args, 2 * args.rounds, args.rows)
    values = sorted(first.values())
    print(f"{len(first)} rows, after by before: median {statistics.median(values):.3f}, "
          f"min {values[0]:.3f}, max {values[-1]:.3f}")
    for name in sorted(name for name in first if name.startswith("train")):
        print(f"  {first[name]:.3f}  {name}")
    for name in slow:
        print(f"  {first[name]:.3f} then {again[name]:.3f}  {name}")
    still = [name for name in slow if again[name] > args.limit]
    print(f"slower by more than the limit twice: {len(still)} of {len(first)} rows")
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
