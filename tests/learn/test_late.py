#!/usr/bin/env python3
"""cat:late=on through the command: the levels of whole runs against the same runs computed here, in plain Python by the formulas of
src/tuner/late.h; the same bits over every transport, with any number of threads and after a checkpoint; and what it must not spoil."""
import csv
import json
import math
import os
import random
import struct
import subprocess
import tempfile

from support import check, finish, mpirun, transports_here

tithe = os.path.abspath(os.environ["TITHE"])
data = os.environ.get("TITHE_DATA", "")


def run(*options, before=()):
    words = [*before, tithe, "train", "--no-optimum", *options, "--trace", "trace.csv", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": os.getcwd()})
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"FAIL: {' '.join(words)}: {done.stderr}")
    answer = json.loads(done.stdout)
    with open("trace.csv", encoding="utf-8") as file:
        answer["trace"] = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return answer


# ---- the same run, computed here -----------------------------------------------------------------------------------

def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


class Worker:
    """The rule of one rank, by the book."""

    def __init__(self, features):
        self.e, self.g, self.before, self.gained, self.expected = [0.0] * features, None, 0, 0, 0
        self.waits = 1  # the share of the first gradient that was not sent yet

    def look(self, g, gamma, moved, sign):
        """What a message of so many entries keeps, and what is known of waiting."""
        self.e = [f32(e + f32(gamma * v)) for e, v in zip(self.e, g)]
        self.lost, self.pace, self.known = 1, 0, 0
        if self.g and any(moved):
            fresh = 0.2 if self.expected else 1
            self.gained += fresh * (dot(self.g, moved) - self.gained)
            self.expected += fresh * ((1 - self.waits) * gamma * dot(self.g, self.g) - self.expected)
            share = min(1, max(1e-9, self.gained / self.expected))
            rho = min(1, max(1e-6, gamma * (dot(self.g, moved) - dot(g, moved)) / dot(moved, moved))) / share ** 0.25
            self.lost = min(1, rho * math.hypot(*self.e) / (gamma * math.hypot(*g)))
            self.pace, self.known = 1.5 * rho, self.before
        self.g = g
        self.order = sorted(range(len(g)), key=lambda i: -abs(self.e[i]))
        s1, self.s2, self.kept = 0.0, 0.0, []
        for t, i in enumerate(self.order, 1):
            s1, self.s2 = s1 + abs(self.e[i]), self.s2 + self.e[i] ** 2
            self.kept.append(s1 * s1 / t if sign else self.s2)

    def send(self, level, sign):
        mean = math.fsum(abs(self.e[i]) for i in self.order[:level]) / level
        self.sent = [0.0] * len(self.e)
        for i in self.order[:level]:
            self.sent[i] = math.copysign(f32(mean), self.e[i]) if sign else self.e[i]
        self.before = level
        self.waits *= 1 - self.kept[level - 1] / self.s2
        self.e = [f32(e - q) for e, q in zip(self.e, self.sent)]


def choose(ranks, bits):
    """Entries that go, and that CAT would have sent; of one rank, or the same of several."""
    kept = [math.fsum(at) for at in zip(*(r.kept for r in ranks))]
    costs = [len(ranks) * bits(t + 1) for t in range(len(kept))]
    energy = math.fsum(r.s2 for r in ranks)
    lost = math.fsum(r.s2 * r.lost for r in ranks) / energy
    least_kept = math.fsum(r.s2 * r.pace for r in ranks)
    before = math.fsum(r.known for r in ranks) / len(ranks)
    best = max(range(len(kept)), key=lambda t: (kept[t] / costs[t] * (1 + 1e-13), -t))
    rate, late = kept[best] / costs[best], best
    if before:
        limit = min(best + 1, max(before + 1, math.floor(1.2 * before)))
        least = min(limit, max(1, math.floor(before / 1.5)))
        allowed = [t for t in range(int(least) - 1, int(limit)) if kept[t] >= least_kept or t + 1 == limit]
        late = max(allowed, key=lambda t: lost * kept[t] - rate * costs[t])
    return late + 1, best + 1


def make_data(rows, features, seed):
    rng = random.Random(seed)
    planted = [rng.gauss(0, 1) for _ in range(features)]
    made = []
    for _ in range(rows):
        row = {i: f32(rng.gauss(0, 1) / (1 + i)) for i in range(features) if rng.random() < 0.6}
        made.append((1 if sum(planted[i] * v for i, v in row.items()) + 0.3 * rng.gauss(0, 1) > 0 else -1, row))
    with open("small.svm", "w", encoding="ascii") as out:
        for label, row in made:
            out.write(f"{label:+d} " + " ".join(f"{i + 1}:{v!r}" for i, v in row.items()) + "\n")
    return made


def slope(rows, x, l2, share):
    g = [l2 * v for v in x]
    for label, row in rows:
        factor = -share * label / (1 + math.exp(label * sum(v * x[i] for i, v in row.items())))
        for i, v in row.items():
            g[i] += factor * v
    return [f32(v) for v in g]


def compute(rows, features, workers, shared, gamma, l2, steps, bits, sign):
    """Levels of each step: least and most of the ranks, and how often waiting made a difference."""
    x, ranks, moved = [0.0] * features, [Worker(features) for _ in range(workers)], [0.0] * features
    parts = [rows[len(rows) * w // workers:len(rows) * (w + 1) // workers] for w in range(workers)]
    levels, waited = [], 0
    for _ in range(steps):
        for r, part in zip(ranks, parts):
            r.look(slope(part, x, l2, workers / len(rows)), gamma, moved, sign)
        own = [choose(ranks if shared else [r], bits) for r in ranks]
        for r, (late, _) in zip(ranks, own):
            r.send(late, sign)
        moved = [f32(math.fsum(r.sent[i] for r in ranks) / workers) for i in range(features)]
        x = [a - b for a, b in zip(x, moved)]
        levels.append((min(o[0] for o in own), max(o[0] for o in own)))
        waited += sum(late < cat for late, cat in own)
    return levels, waited


def known_answers():
    rows, features, l2, steps, waited = make_data(60, 24, 1), 24, 0.01, 25, 0
    index = math.ceil(math.log2(features))
    for workers, level in ((1, "local"), (3, "local"), (3, "shared")):  # of so few entries all levels can be shared
        for name, sign, entry, once in (("topk|raw", False, 32 + index, 0), ("topk|sign", True, 1 + index, 32)):
            for overhead in (8, 200):
                answer = run("--data", "small.svm", "--features", str(features), "--l2", str(l2), "--workers", str(workers), "--split",
                             "contiguous", "--codec", name, "--tuner", "cat:late=on", "--count", "paper", "--cost",
                             f"affine:c0={overhead},c1=1", "--steps", str(steps), "--level", level)
                seen = [(int(float(r["level_least"])), int(float(r["level_most"]))) for r in answer["trace"][1:]]
                gamma = f32(float(answer["trace"][1]["step_size"]))
                levels, more = compute(rows, features, workers, level == "shared", gamma, l2, steps, lambda t: overhead + once + t * entry, sign)
                waited += more
                check(seen == levels, f"{name}, {workers} workers, {level} level, overhead {overhead}: levels {seen} instead of {levels}")
    print(f"known answers: waiting made a difference {waited} times")
    check(waited > 50, f"nothing waits: {waited}")


# ---- the same bits ---------------------------------------------------------------------------------------------------

def same_bits(transports):
    for codec, workers, more in (("topk|sign", 3, []), ("topk|raw", 2, ["--level", "shared"]), ("topk|natural", 4, ["--bucket", "4kB"]),
                                 ("threshold|sign", 7, ["--downlink", "topk|sign", "--downlink-feedback", "ec"])):
        options = ["--data", "rcv1-like:scale=0.02", "--workers", str(workers), "--codec", codec, "--tuner", "cat:late=on", "--cost", "bits",
                   "--l2", "1e-3", *more]
        whole = run(*options, "--steps", "9")
        run(*options, "--steps", "4", "--checkpoint", "part")
        others = {"after a checkpoint": run("--resume", "part", "--steps", "9"),
                  "on two threads": run(*options, "--steps", "9", "--threads", "2")}
        if "zmq" in transports:
            others["over zmq"] = run(*options, "--steps", "9", "--transport", "zmq", "--local", str(workers))
            run(*options, "--steps", "5", "--transport", "zmq", "--local", str(workers), "--checkpoint", "part")
            others["from zmq to one process"] = run("--resume", "part", "--steps", "9", "--transport", "inproc")
        if "mpi" in transports:
            others["over mpi"] = run(*options, "--steps", "9", "--transport", "mpi", before=mpirun(workers))
        for what, other in others.items():
            for key in ("model_hash", "uplink_bytes", "cost"):
                check(other[key] == whole[key], f"{codec}, {workers} workers, {more}, {what}: {key} is {other[key]} instead of {whole[key]}")


# ---- what it must not spoil --------------------------------------------------------------------------------------------

def goals():
    """Noise makes it careful, so a run with mini-batches is as good as CAT's; and the target where a more daring rule ends far away."""
    options = ["--data", "w8a-like:scale=0.05", "--workers", "4", "--codec", "topk|sign", "--estimator", "minibatch", "--batch", "32",
               "--steps", "300", "--cost", "bits"]
    late, plain = (run(*options, "--tuner", tuner) for tuner in ("cat:late=on", "cat"))
    check(late["loss"] <= 1.02 * plain["loss"], f"mini-batches: loss {late['loss']} instead of {plain['loss']}")
    goal = ["--data", "rcv1-like:scale=0.05", "--workers", "4", "--split", "sorted", "--codec", "topk|sign", "--l2", "1e-4", "--cost", "bits",
            "--target-loss", "0.3", "--steps", "3000"]
    late, plain = (run(*goal, "--tuner", tuner) for tuner in ("cat:late=on", "cat"))
    check(late["target_reached"] and late["cost"] <= 1.15 * plain["cost"], f"sorted: {late['cost']} for {late['loss']}, CAT {plain['cost']}")
    if data:
        answer = run("--data", "rcv1-1k", "--codec", "topk|sign", "--l2", "1e-4", "--cost", "bits", "--target-loss", "0.3", "--tuner",
                     "cat:late=on")
        check(answer["target_reached"] and answer["cost"] < 0.85 * 21664, f"rcv1-1k: {answer['cost']} bits, CAT pays 21,664")


def main():
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        known_answers()
        same_bits(transports_here())
        goals()
        os.chdir("/")
    finish()


main()
