#!/usr/bin/env python3
"""The claims of docs/cat.md and of the experiments with absolute compression, on the sets of own_data.py. Prints; judges nothing.

    bench/own_claims.py [--tithe build/tithe] [--only cat|absolute] [text|long-text|correlated ...]

CAT: cost in bytes of 802.15.4 packets until half, and three quarters, of the way to the minimum is behind (steps).
Absolute compression: gaps of EC-SGD and EC-LSVRG with a hard threshold, 20 workers, the same step, and top-k at an equal budget."""
import argparse
import csv
import json
import math
import os
import subprocess
import tempfile

import own_data

CODECS = {
    "GD (`all|raw`)": ["--codec", "all|raw", "--tuner", "fixed", "--feedback", "none"],
    "Alistarh's S+Q, optimal step": ["--codec", "topk:rule=l2|sign", "--tuner", "fixed", "--feedback", "none"],
    "CAT `topk|raw`": ["--codec", "topk|raw", "--feedback", "none"],
    "CAT `topk|sign`": ["--codec", "topk|sign", "--feedback", "none"],
    "CAT `topk|raw`, ec": ["--codec", "topk|raw", "--feedback", "ec"],
    "CAT `topk|sign`, ec": ["--codec", "topk|sign", "--feedback", "ec"],
    "CAT `topk|raw`, AR-Top-k": ["--codec", "topk|raw", "--scheme", "artopk"],
}


class Tithe:
    def __init__(self, command, room):
        self.command, self.room = os.path.abspath(command), room

    def train(self, *options):
        """The answer, with gaps of its records; a missed target and a diverged run are answers."""
        trace = os.path.join(self.room, "trace.csv")
        words = [self.command, "train", "--threads", "2", *options, "--trace", trace, "--json", "-"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": self.room})
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        with open(trace, encoding="utf-8") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            return {**json.loads(done.stdout), "gaps": [float(row["gap"]) for row in rows if row["gap"]]}


def packets(tithe, name, path):
    start = tithe.train("--data", path, "--codec", "all|raw", "--steps", "1")
    first, minimum = start["loss"] - start["gaps"][-1] + start["gaps"][0], start["loss"] - start["gaps"][-1]
    targets = [minimum + share * (first - minimum) for share in (0.5, 0.25)]
    print(f"\n{name}: first loss {first:.4f}, minimum {minimum:.4f}; to {targets[0]:.4f} and {targets[1]:.4f}\n")
    print("| method | 1 worker, half | three quarters | 4 workers, half | three quarters | 4 sorted, three quarters |\n|" + "---|" * 6)
    for method, options in CODECS.items():
        cells = []
        for workers, split, target in (("1", "shuffled", 0), ("1", "shuffled", 1), ("4", "shuffled", 0), ("4", "shuffled", 1), ("4", "sorted", 1)):
            run = tithe.train("--data", path, "--workers", workers, "--split", split, "--cost", "802.15.4", *options, "--no-optimum",
                              "--target-loss", f"{targets[target]:.9g}", "--steps", "3000")
            cells.append(f"{run['cost']:,.0f} ({run['steps']})" if run["target_reached"] else f"never: {run['loss']:.3f}")
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def floor(run):
    tail = run["gaps"][-max(1, len(run["gaps"]) // 5):]
    return sum(tail) / len(tail)


def absolute(tithe, name, path):
    """Thresholds in units of the rms entry of a drawn gradient at the minimum, so that they mean the same for every set."""
    facts = tithe.train("--data", path, "--workers", "20", "--estimator", "sgd", "--steps", "1")
    features = tithe.train("--data", path, "--codec", "all|raw", "--steps", "1")["uplink_bytes"] // 4
    penalty, step = facts["L"] / 100, 0.5 / (facts["L_US"] + facts["L"])
    common = ["--data", path, "--workers", "20", "--l2", f"{penalty:.9g}", "--step-size", f"{step:.9g}"]
    steps = ["--steps", str(math.ceil(12 / (step * penalty)))]  # the start has come down to exp(-12): what is left is the floor
    unit = math.sqrt(tithe.train(*common, "--estimator", "sgd", "--steps", "1")["sigma_star_squared"] / features)
    runs = {}
    for scale in (1, 4):
        for estimator in ("sgd", "lsvrg"):
            codec = f"threshold:lambda={scale * unit:.6g}"
            runs[estimator, scale] = tithe.train(*common, "--estimator", estimator, "--codec", codec, *steps)
    sgd, low, high = floor(runs["sgd", 1]), floor(runs["lsvrg", 1]), floor(runs["lsvrg", 4])
    print(f"{name}: l2 {penalty:.3g}, step {step:.3g}, {steps[1]} steps, lambda {unit:.3g}: EC-SGD ends at {sgd:.2g}, EC-LSVRG at {low:.2g} "
          f"({sgd / low:.3g} times lower); at 4 lambda {floor(runs['sgd', 4]):.2g} and {high:.2g}; the floor of the latter falls as "
          f"lambda^{math.log(high / low) / math.log(4):.2f}; |e|^2 at most {max(r['residual_share'] for r in runs.values()):.3g} of its bound")
    for split in ("shuffled", "sorted"):
        entries = []
        hard = tithe.train(*common, "--estimator", "lsvrg", "--split", split, "--codec", f"threshold:lambda={unit:.6g}", *steps)
        bits = 32 + math.ceil(math.log2(features))
        entries.append(hard["paper_bits"] / (bits * 20 * hard["steps"]))
        top = tithe.train(*common, "--estimator", "lsvrg", "--split", split, "--codec", f"topk:k={max(1, round(entries[0]))}", *steps)
        print(f"{name}, {split}: threshold {entries[0]:.1f} values a step, gap {hard['gaps'][-1]:.2g}; top-{max(1, round(entries[0]))} "
              f"gap {top['gaps'][-1]:.2g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--only", choices=("cat", "absolute"))
    parser.add_argument("sets", nargs="*", help="of own_data.py; all of them without a name")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        tithe = Tithe(a.tithe, room)
        sets = own_data.write(os.path.join(room, "sets"))
        for name, path in sets.items():
            if not a.sets or name in a.sets:
                for part, run in (("cat", packets), ("absolute", absolute)):
                    if a.only in (None, part):
                        run(tithe, name, path)


if __name__ == "__main__":
    main()
