#!/usr/bin/env python3
"""CAT, and its variants, against the best fixed level in hindsight, over a grid of problems; tables in Markdown.

    TITHE_DATA=folder bench/hindsight.py [--tithe build/tithe] [--rules cat,cat:late=on] [--feedback ec,none]
                                         [--only rcv1-1k,a9a] [--workers 1,4,20] [--minutes M] FILE

A cell is a data set, workers, a split, a codec (SG: topk|raw, S+Q: topk|sign), a cost and a target: half, and nine tenths, of the
way from the first loss to the minimum. In each of them a rule pays what its run has paid when the loss is there, and so does
each fixed level T = 1, 2, 4, ...; the cheapest of these, which nobody knows before the run, is what the rule is measured by. Both
sides have the same step size, the same feedback, and pay for the same frames.

A fixed level takes the same steps whatever they cost, so one run of it is priced for all costs: by the mean length of the messages
of a step, and where that is not exact (packets, several workers) the winner is run again. A level is given up when it has paid three times
what CAT did under every cost, or after 5,000 steps. FILE takes what every run has given, a line of JSON each, and a run that is in it is not
run again: the script can be stopped, with --minutes too, and goes on where it was. It ends with the tables."""
import argparse
import csv
import json
import lzma
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import own_data

COSTS = {
    "bits": lambda bytes: 8 * bytes,
    "affine:c0=432,c1=1": lambda bytes: 432 + 8 * bytes,
    "802.15.4": lambda bytes: 64 + 576 * math.ceil(bytes / 512),
    "alphabeta:latency=1ms,bandwidth=10Mbit": lambda bytes: 1e-3 + 8 * bytes / 1e7,
    "alphabeta:latency=50ms,bandwidth=10Mbit": lambda bytes: 50e-3 + 8 * bytes / 1e7,
}
CODECS = {"SG": "topk{}|raw", "S+Q": "topk{}|sign"}
TARGETS = {"half": 0.5, "nine tenths": 0.9}
SETS = ("mushrooms", "text", "rcv1-1k", "a9a", "w8a", "mnist-4-9")
ROWS = 2000  # of a9a, w8a, mushrooms and MNIST's digits 4 and 9: the first ones
GIVE_UP, MOST_STEPS = 3, 5000
L2 = "1e-4"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--rules", default="cat,cat:late=on")
    parser.add_argument("--feedback", default="ec,none")
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--workers", default="1,4,20")
    parser.add_argument("--splits", default="shuffled,sorted")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("file")
    return parser.parse_args()


# ---- data ------------------------------------------------------------------------------------------------------------

def first_rows(name, path):
    with lzma.open(os.path.join(os.environ["TITHE_DATA"], name + ".xz"), "rt") as source, open(path, "w") as out:
        for _, line in zip(range(ROWS), source):
            out.write(line)


def digits(path):
    folder = os.environ["TITHE_DATA"]
    images = lzma.open(os.path.join(folder, "mnist-train-images-idx3-ubyte.xz")).read()[16:]
    labels = lzma.open(os.path.join(folder, "mnist-train-labels-idx1-ubyte.xz")).read()[8:]
    with open(path, "w") as out:
        for row in [i for i, label in enumerate(labels) if label in (4, 9)][:ROWS]:
            pixels = images[784 * row:784 * (row + 1)]
            out.write(" ".join([str(labels[row])] + [f"{i + 1}:{p / 255:.5g}" for i, p in enumerate(pixels) if p]) + "\n")


def make_data(name, folder):
    path = os.path.join(folder, name + ".svm")
    if name == "rcv1-1k":
        return name
    if name == "mnist-4-9":
        digits(path)
    elif name == "text":
        return own_data.write(folder)["text"]
    else:
        first_rows(name, path)
    return path


# ---- runs ------------------------------------------------------------------------------------------------------------

class Runs:
    """What runs have given, kept in a file."""

    def __init__(self, a, room):
        self.a, self.room, self.end = a, room, time.monotonic() + 60 * a.minutes
        self.known, self.data = {}, {}
        if os.path.exists(a.file):
            with open(a.file, encoding="utf-8") as lines:
                for line in lines:
                    entry = json.loads(line)
                    self.known[entry["run"]] = entry["gave"]

    def keep(self, run, gave):
        self.known[run] = gave
        with open(self.a.file, "a", encoding="utf-8") as out:
            print(json.dumps({"run": run, "gave": gave}), file=out)
        return gave

    def call(self, name, *options):
        """Rows of the trace: steps, loss, bytes of the uplink, cost."""
        if time.monotonic() > self.end:
            raise TimeoutError
        if name not in self.data:
            self.data[name] = make_data(name, self.room)
        trace = os.path.join(self.room, "trace.csv")
        words = [os.path.abspath(self.a.tithe), "train", "--data", self.data[name], "--l2", L2, "--threads", "1", *options,
                 "--trace", trace, "--json", "-"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": self.room})
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        with open(trace, encoding="utf-8") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            return json.loads(done.stdout), [(int(r["step"]), float(r["loss"]), float(r["uplink_bytes"]), float(r["cost"])) for r in rows]

    def problem(self, name):
        """Loss at the start and at the minimum, and the number of features."""
        key = f"{name} problem"
        if key not in self.known:
            answer, rows = self.call(name, "--codec", "all|raw", "--steps", "1", "--exact")
            self.keep(key, [rows[0][1], answer["loss"] - answer["gap"], rows[-1][2] // 4])
        return self.known[key]

    def where(self, name, workers, split, codec, feedback):
        return f"{name} {workers} {split} {codec} {feedback}"

    def train(self, name, workers, split, feedback, spec, *options):
        first, last, _ = self.problem(name)
        goal = first - max(TARGETS.values()) * (first - last)
        return self.call(name, "--workers", str(workers), "--split", split, "--feedback", feedback, "--codec", spec, "--no-optimum",
                         "--target-loss", repr(goal), *options)[1]

    def losses(self, name):
        first, last, _ = self.problem(name)
        return {target: first - share * (first - last) for target, share in TARGETS.items()}

    def rule(self, place, rule, cost):
        """What it paid to each target (None: never), and how many steps."""
        key = f"{self.where(*place)} {rule} {cost}"
        if key not in self.known:
            name, workers, split, codec, feedback = place
            rows = self.train(name, workers, split, feedback, CODECS[codec].format(""), "--tuner", rule, "--cost", cost, "--steps",
                              str(MOST_STEPS))
            self.keep(key, {t: next(((r[3], r[0]) for r in rows if r[1] <= loss), None) for t, loss in self.losses(name).items()})
        return self.known[key]

    def fixed(self, place, level, most):
        """What a fixed level paid to each target under each cost, where the run may cost `most`."""
        key = f"{self.where(*place)} k={level}"
        name, workers, split, codec, feedback = place
        if key not in self.known:
            spec = CODECS[codec].format(f":k={level}")
            length = self.train(name, workers, split, feedback, spec, "--tuner", "fixed", "--steps", "1")[-1][2] / workers
            steps = max(min(MOST_STEPS, 1 + most[cost] / workers / price(length)) for cost, price in COSTS.items())
            rows = self.train(name, workers, split, feedback, spec, "--tuner", "fixed", "--steps", str(int(steps)))
            self.keep(key, {t: self.prices(rows, loss, workers) for t, loss in self.losses(name).items()})
        return self.known[key]

    @staticmethod
    def prices(rows, loss, workers):
        sums, before = dict.fromkeys(COSTS, 0.0), 0
        for step, now, bytes, _ in rows:
            for cost, price in COSTS.items() if step else ():
                sums[cost] += workers * price((bytes - before) / workers)
            before = bytes
            if now <= loss:
                return sums
        return None

    def best(self, place, cost, target):
        """(price, level) of the cheapest fixed level."""
        name, workers, split, codec, feedback = place
        levels = [2 ** i for i in range(int(math.log2(self.problem(name)[2])) + 1)]
        most = {}
        for c in COSTS:
            paid = [v[0] for v in self.rule(place, "cat", c).values() if v]
            most[c] = GIVE_UP * max(paid) if paid else math.inf
        prices = [(self.fixed(place, level, most)[target], level) for level in levels]
        found = min(((p[cost], level) for p, level in prices if p), default=None)
        if not found or workers == 1 or cost != "802.15.4":
            return found
        key = f"{self.where(*place)} k={found[1]} {cost} {target}"
        if key not in self.known:
            rows = self.train(name, workers, split, feedback, CODECS[codec].format(f":k={found[1]}"), "--tuner", "fixed", "--cost", cost,
                              "--steps", str(MOST_STEPS))
            self.keep(key, next(r[3] for r in rows if r[1] <= self.losses(name)[target]))
        return self.known[key], found[1]


# ---- the grid --------------------------------------------------------------------------------------------------------

def places(a, feedback):
    for name in a.only.split(","):
        for workers in map(int, a.workers.split(",")):
            for split in a.splits.split(","):
                if workers == 1 and split == "sorted":
                    continue  # it is the same
                for codec in CODECS:
                    yield name, workers, split, codec, feedback


def measure(runs, rules, place):
    """(cost, target, rule) -> (quotient, quotient to CAT): infinite where the rule did not get there and a fixed level did; None: nobody did."""
    found = {}
    for cost in COSTS:
        for target in TARGETS:
            best = runs.best(place, cost, target)
            plain = runs.rule(place, "cat", cost)[target]
            for rule in rules:
                own = runs.rule(place, rule, cost)[target]
                price = best[0] if best else None
                quotient = own[0] / price if own and price else math.inf if price else None
                to_cat = own[0] / plain[0] if own and plain else math.inf if plain else None
                found[cost, target, rule] = quotient, to_cat
    return found


def summary(values):
    reached = [v for v in values if v is not None and math.isfinite(v)]
    missed = sum(v == math.inf for v in values)
    mean = math.exp(statistics.fmean(map(math.log, reached))) if reached else math.nan
    return f"{max(reached, default=math.nan):.2f} | {mean:.3f} | {sum(v > 1.15 for v in reached)} | {missed} | {len(reached) + missed}"


def write(title, groups):
    print(f"\n| {title} | worst | geometric mean | above 1.15 | targets missed | cells |\n|---|---|---|---|---|---|")
    for name, values in groups:
        print(f"| {name} | {summary(values)} |")


def tables(cells, rules, feedback):
    print(f"\nFeedback `{feedback}`, cost over that of the best fixed T:")
    of = lambda rule, keep=lambda c: True, which=0: [v[which] for c, v in cells.items() if c[-1] == rule and keep(c)]
    write("rule", [(f"`{rule}`", of(rule)) for rule in rules])
    write("rule, cost", [(f"`{rule}`, `{cost}`", of(rule, lambda c: c[5] == cost)) for rule in rules for cost in COSTS])
    write("rule, data", [(f"`{rule}`, {name}", of(rule, lambda c: c[0] == name)) for rule in rules for name in SETS])
    if len(rules) > 1:
        write("against `cat`", [(f"`{rule}`", of(rule, which=1)) for rule in rules[1:]])


def main():
    a = arguments()
    rules = a.rules.split(",")
    with tempfile.TemporaryDirectory() as room:
        runs = Runs(a, room)
        for feedback in a.feedback.split(","):
            cells, own = {}, [r for r in rules if feedback == "ec" or r == "cat"]
            try:
                for place in places(a, feedback):
                    print(runs.where(*place), file=sys.stderr, flush=True)
                    cells.update({(*place, *key): value for key, value in measure(runs, own, place).items()})
            except TimeoutError:
                print("Time is up: the tables are of what was run.", file=sys.stderr)
            tables(cells, own, feedback)


if __name__ == "__main__":
    main()
