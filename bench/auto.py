#!/usr/bin/env python3
"""`--tuner auto` against every fixed setting in hindsight, on computed networks: the tables of docs/auto.md.

    nice bench/auto.py [--tithe build/tithe] [--workers 2,8,64] [--seeds 3] [--problems rcv1,gisette,mlp] [--splits shuffled,sorted]
                       [--keep FILE] [--json FILE] [--svg FILE]
    bench/auto.py --show a.json,b.json --svg auto.svg
    nice bench/auto.py --schedules experiments/c1.txt,experiments/c2.txt,experiments/alternating.txt
    nice bench/auto.py --tensors --seeds 3

A fixed setting's steps do not depend on the network, so each is run once, and priced for all networks: a step takes its compute
time, its rounds times the latency, and its bytes over the bandwidth, all three as `tithe train --network` itself counts them. Dense and every
fixed setting are priced over their cheapest collective. `auto` is run on each network, with its check-ins charged. --keep holds the fixed
runs from one call to the next. With --schedules, networks that change: every fixed setting over each of its collectives, moo and auto are run with the
first line of these files, until the loss that dense ends with. With --tensors, whether it pays to send short layers whole, or a share of each layer,
in place of the largest numbers of all layers. Nothing here takes the time of anything."""
import argparse
import csv
import io
import json
import math
import os
import subprocess
import sys

LATENCIES = (1e-4, 1e-3, 1e-2, 5e-2)
BANDWIDTHS = (1e6, 1e7, 1e8, 1e9, 1e10, 2.5e10)  # bit/s
NETWORKS = [(latency, bandwidth) for bandwidth in BANDWIDTHS for latency in LATENCIES]
# name: options, and steps that dense is given. `text` is held out: nothing was fitted on it.
PROBLEMS = {
    "rcv1": ("--data rcv1-like:scale=0.02 --no-optimum", 120),
    "gisette": ("--data gisette-like:scale=0.05 --no-optimum", 120),
    "mlp": ("--data a9a-like:scale=0.1 --model mlp:hidden=32 --estimator minibatch --batch {batch} --step-size 0.2", 400),
    "text": ("--data rcv1-1k --no-optimum", 120),
}
COMPUTE = 1e-8  # seconds of a step for each number of the model
BATCH = 128  # of all workers together
COLLECTIVES = {"dense": ("ring", "tree", "star", "direct"), "gather": ("allgather", "tree"), "artopk": ("ring", "tree", "star", "direct"),
               "shards": ("ring", "direct"), "star": ("star",)}
LATE = 4    # times the steps of dense: then a fixed setting is given up,
LATEST = 8  # and auto


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--problems", default="rcv1,gisette,mlp")
    parser.add_argument("--splits", default="shuffled,sorted")
    parser.add_argument("--tuner", default="auto")
    parser.add_argument("--factor", type=float, default=2, help="from one fixed level to the next")
    parser.add_argument("--schedules", help="files of tithe compare, with commas between them")
    parser.add_argument("--tensors", action="store_true", help="levels by layer")
    parser.add_argument("--keep", help="a file for the fixed runs")
    parser.add_argument("--json", help="all figures")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--show", help="what earlier calls wrote with --json, with commas between them: nothing is run")
    parser.add_argument("--svg", help="a picture")
    return parser.parse_args()


def settings(workers, factor):
    """What auto chooses from, without collectives: options of each."""
    found = [("dense", "--tuner fixed --scheme dense")]
    for codec in ("all|natural", "all|dither:s=127,p=inf,bucket=512", "all|dither:s=7,p=inf,bucket=512"):
        scheme = "shards" if workers > 2 else "gather"
        found.append((f"{codec} {scheme}", f"--codec {codec} --feedback ec --scheme {scheme}"))
    for quantizer in ("raw", "natural", "sign"):
        keep = 0.25
        while keep >= 1e-5:
            if quantizer != "sign" or keep <= 0.02:
                codec = f"topk:keep={keep:.3g}|{quantizer}"
                found.append((f"{codec} gather", f"--codec {codec} --feedback ec --scheme gather"))
                if quantizer != "sign":
                    found.append((f"{codec} artopk", f"--codec {codec} --feedback ec --scheme artopk"))
                found.append((f"{codec} star", f"--codec {codec} --feedback ec --scheme star --downlink {codec} --downlink-feedback ec"))
            keep /= factor
    return found


class Bench:
    def __init__(self, a):
        self.a = a
        self.kept = {}
        self.runs = 0
        if a.keep and os.path.exists(a.keep):
            with open(a.keep) as file:
                self.kept = json.load(file)

    def save(self):
        if self.a.keep:
            with open(self.a.keep + ".part", "w") as file:
                json.dump(self.kept, file)
            os.replace(self.a.keep + ".part", self.a.keep)

    def records(self, options):
        """Those of a run, by the names of their columns."""
        words = [os.path.abspath(self.a.tithe), "train", *options.split(), "--trace", "/dev/stdout", "--json", "/dev/null"]
        done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, TITHE_THREADS="1"))
        self.runs += 1
        lines = [line for line in done.stdout.splitlines() if line[:1].isdigit() or line.startswith("step,")]
        if done.returncode not in (0, 1) or len(lines) < 2:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        return csv.DictReader(io.StringIO("\n".join(lines)))

    def train(self, options):
        """Records (step, loss, seconds) of a run."""
        return [(int(row["step"]), float(row["loss"]), float(row["seconds"])) for row in self.records(options) if row["loss"]]

    def numbers(self, base):
        """Of the model, which knows: all of them go in a dense step."""
        key = f"{base} --tuner fixed --scheme dense --steps 1"
        if key not in self.kept:
            self.kept[key] = int(list(self.records(key))[-1]["level"])
        return self.kept[key]

    def fixed(self, options):
        """Steps and losses of a fixed setting, once."""
        if options not in self.kept:
            self.kept[options] = [(s, l) for s, l, _ in self.train(options)]
            if self.runs % 200 == 0:
                self.save()
        return self.kept[options]

    def fixed_seconds(self, options):
        """Records of a fixed setting on a network that changes."""
        if options not in self.kept:
            self.kept[options] = self.train(options)
        return self.kept[options]

    def price(self, base, options, scheme):
        """(rounds, bytes) of a step over each collective; two networks tell them apart."""
        found = []
        for collective in COLLECTIVES[scheme]:
            if scheme == "artopk" and "|raw" not in options and collective != "direct":
                continue
            pair = []
            for network in ("latency=1s,bandwidth=1000000Gbit", "latency=0,bandwidth=8bit"):
                key = f"{base} {options} --collective {collective} --steps 2 --network {network}"
                if key not in self.kept:
                    self.kept[key] = self.train(key)[-1][2] / 2
                pair.append(self.kept[key])
            found.append((round(pair[0]), pair[1]))
        return found


def first(records, target):
    """Where the loss reaches the target, between two records: (step, loss, seconds), or (step, loss) for want of seconds. None: it does not."""
    target *= 1 + 1e-6  # another collective adds in another order
    for before, here in zip([None, *records], records):
        if here[1] > target:
            continue
        share = (before[1] - target) / (before[1] - here[1]) if before else 1
        return tuple(a + share * (b - a) for a, b in zip(before or here, here))
    return None


def seconds_of(prices, compute, network):
    latency, bandwidth = network
    return min(compute + rounds * latency + size * 8 / bandwidth for rounds, size in prices)


def cell(bench, problem, split, workers, seed):
    """All networks and two targets of one run: rows of what dense, the best fixed setting and auto take."""
    options, steps = PROBLEMS[problem]
    base = f"{options.format(batch=BATCH // workers)} --split {split} --workers {workers}"
    numbers = bench.numbers(base)
    compute = COMPUTE * numbers
    dense_run = bench.fixed(f"{base} --seed {seed} --tuner fixed --scheme dense --steps {steps}")
    targets = {"near": first_at(dense_run, steps // 4), "far": first_at(dense_run, steps)}
    fixed = []
    for name, setting in settings(workers, bench.a.factor):
        if "topk" in name and float(name.split("keep=")[1].split("|")[0]) * numbers < 1:
            continue  # less than one number
        run = dense_run if name == "dense" else bench.fixed(f"{base} --seed {seed} {setting} --steps {LATE * steps} --target-loss {targets['far']!r}")
        fixed.append((name, run, bench.price(base, setting, name.split()[-1])))
    rows = []
    for network in NETWORKS:
        words = f"latency={network[0]}s,bandwidth={network[1]:.0f}bit,compute={compute:.6g}s"
        run = bench.train(f"{base} --seed {seed} --tuner {bench.a.tuner} --network {words} --steps {LATEST * steps} "
                          f"--target-loss {targets['far']!r}")
        for which, target in targets.items():
            times = []
            for name, records, prices in fixed:
                there = first(records, target)
                if there:
                    times.append((there[0] * seconds_of(prices, compute, network), name))
            dense = next(time for time, name in times if name == "dense")
            there = first(run, target)
            rows.append({"problem": problem, "split": split, "workers": workers, "seed": seed, "target": which, "latency": network[0],
                         "bandwidth": network[1], "dense": dense, "best": min(times)[0], "setting": min(times)[1],
                         "auto": there[2] if there else None,
                         "rank": sum(time < (there[2] if there else math.inf) for time, _ in times) / len(fixed)})
    return rows


def first_at(records, step):
    return next(record[1] for record in records if record[0] >= step)


# ---- networks that change ------------------------------------------------------------------------------------------------


def last_accuracy(bench, options):
    words = [os.path.abspath(bench.a.tithe), "train", *options.split(), "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, TITHE_THREADS="1"))
    return json.loads(done.stdout)["accuracy"]


def schedule(bench, path):
    """Seconds to the loss that dense ends with, of everything."""
    with open(path) as file:
        base = next(text[4:].strip() for text in file if text.startswith("all:"))
    workers = int(base.split("--workers ")[1].split()[0])
    fixed = lambda options: bench.fixed_seconds(f"{base} {options}")
    target = fixed("--tuner fixed --scheme dense --collective ring")[-1][1]
    longer = base.replace("--epochs 50", "--epochs 100").replace("--steps 400", "--steps 800")
    times = []
    for name, setting in settings(workers, bench.a.factor):
        scheme = name.split()[-1]
        for collective in COLLECTIVES[scheme]:
            if scheme == "artopk" and "|raw" not in setting and collective != "direct":
                continue
            there = first(bench.fixed_seconds(f"{longer} {setting} --collective {collective} --target-loss {target!r}"), target)
            times.append((there[2] if there else math.inf, f"{name} over {collective}"))
    print(f"\n{path}: to loss {target:.5g}, which dense has at its end\n\n| what | seconds | over the best fixed | better than |\n|---|---|---|---|")
    best = min(times)
    shown = [min(t for t in times if t[1].startswith("dense")), best]
    for tuner in ("moo", "auto"):
        there = first(bench.train(f"{longer} --tuner {tuner} --target-loss {target!r}"), target)
        shown.append((there[2] if there else math.inf, tuner))
    for seconds, name in shown:
        print(f"| {name.replace('|', chr(92) + '|')} | {seconds:.4g} | {seconds / best[0]:.3f} | {sum(seconds < t for t, _ in times) / len(times):.1%} of {len(times)} |")
    accuracies = [last_accuracy(bench, f"{base} {options}") for options in ("--tuner fixed --scheme dense", "--tuner auto", "--tuner moo")]
    print("\nAccuracy at the end: " + ", ".join(f"{name} {100 * a:.2f} %" for name, a in zip(("dense", "auto", "moo"), accuracies)) + ".")
    bench.save()


# ---- levels by layer ----------------------------------------------------------------------------------------------------------


def tensors(bench):
    """Steps to both targets over those of dense, for as many entries in a message."""
    long, short = 3936, 98  # numbers of the longest layer, and of the others together
    ways = {"of all layers": "topk:k={0}|natural", "a share of each": "topk:per=layer,keep={1:.5g}|natural",
            "short ones whole": "topk:per=layer,whole=200,keep={2:.5g}|natural"}
    print("| split | entries | " + " | ".join(f"{way}: near, far" for way in ways) + " |\n|---|---|" + "---|" * len(ways))
    for split in bench.a.splits.split(","):
        for entries in (125, 250, 500):
            cells = []
            for codec in ways.values():
                near, far = [], []
                for seed in range(bench.a.first_seed, bench.a.first_seed + bench.a.seeds):
                    options, steps = PROBLEMS["mlp"]
                    base = f"{options.format(batch=BATCH // 8)} --split {split} --workers 8 --seed {seed}"
                    dense = bench.fixed(f"{base} --tuner fixed --scheme dense --steps {steps}")
                    text = codec.format(entries, entries / (long + short), (entries - short) / long)
                    run = bench.fixed(f"{base} --codec {text} --feedback ec --scheme gather --steps {LATE * steps} --target-loss {first_at(dense, steps)!r}")
                    for found, step in ((near, steps // 4), (far, steps)):
                        target = first_at(dense, step)
                        there = first(run, target)
                        found.append(there[0] / first(dense, target)[0] if there else math.inf)
                cells.append(f"{sum(near) / len(near):.2f}, {sum(far) / len(far):.2f}")
            print(f"| {split} | {entries} | " + " | ".join(cells) + " |", flush=True)
    bench.save()


# ---- what is printed ---------------------------------------------------------------------------------------------------


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def over_seeds(rows):
    """Of mini-batches the mean over seeds counts: one row for all of them. A seed that misses a target misses it for all."""
    groups = {}
    for row in rows:
        seed = None if "minibatch" in PROBLEMS[row["problem"]][0] else row["seed"]
        groups.setdefault((row["problem"], row["split"], row["workers"], row["target"], row["latency"], row["bandwidth"], seed), []).append(row)
    merged = []
    for group in groups.values():
        row = dict(group[0])
        row["auto"] = None if any(r["auto"] is None for r in group) else sum(r["auto"] for r in group) / len(group)
        for key in ("dense", "best", "rank"):
            row[key] = sum(r[key] for r in group) / len(group)
        merged.append(row)
    return merged


def line(name, rows):
    reached = [r for r in rows if r["auto"]]
    over = [r["auto"] / r["best"] for r in reached]
    dense = [r["auto"] / r["dense"] for r in reached]
    if not reached:
        return f"| {name} | {len(rows)} | – | – | – | – | {len(rows)} |"
    return (f"| {name} | {len(rows)} | {mean(r['dense'] / r['best'] for r in reached):.3g} | {mean(over):.3f} | {max(over):.2f} | {max(dense):.3f} "
            f"| {len(rows) - len(reached)} |")


def bandwidth_text(bits):
    return f"{bits / 1e9:g} Gbit" if bits >= 1e9 else f"{bits / 1e6:g} Mbit"


def show(rows):
    head = "| {} | cells | dense / best fixed | auto / best fixed, mean | worst | auto / dense, worst | missed |\n|---|---|---|---|---|---|---|"
    print(head.format("network"))
    for latency, bandwidth in NETWORKS:
        some = [r for r in rows if (r["latency"], r["bandwidth"]) == (latency, bandwidth)]
        print(line(f"{bandwidth_text(bandwidth)}, {1e3 * latency:g} ms", some))
    print(line("**all**", rows))
    for key in ("problem", "split", "workers", "target"):
        print()
        print(head.format(key))
        for value in dict.fromkeys(r[key] for r in rows):
            print(line(value, [r for r in rows if r[key] == value]))
    print("\nThe worst rows:\n\n| problem | split | N | target | network | dense | best fixed | auto | auto / best |\n|---|---|---|---|---|---|---|---|---|")
    for r in sorted((r for r in rows if r["auto"]), key=lambda r: -r["auto"] / r["best"])[:12]:
        print(f"| {r['problem']} | {r['split']} | {r['workers']} | {r['target']} | {bandwidth_text(r['bandwidth'])}, {1e3 * r['latency']:g} ms | "
              f"{r['dense']:.3g} s | {r['best']:.3g} s, {r['setting'].replace('|', chr(92) + '|')} | {r['auto']:.3g} s | {r['auto'] / r['best']:.2f} |")


def picture(rows, path):
    """Each cell a dot: how much dense takes over the best, and how much auto does."""
    width, height, left, top, bottom = 640, 400, 60, 20, 50
    rows = [r for r in rows if r["auto"]]
    most = max(r["dense"] / r["best"] for r in rows)
    low, high = 0.95 * min(r["auto"] / r["best"] for r in rows), 1.1 * max(2, *(r["auto"] / r["best"] for r in rows))
    x = lambda v: left + (width - left - 20) * math.log(v) / math.log(most * 1.1)
    y = lambda v: top + (height - top - bottom) * math.log(high / v) / math.log(high / low)
    problems = list(dict.fromkeys(r["problem"] for r in rows))
    colour = dict(zip(problems, ("#0072b2", "#d55e00", "#009e73", "#cc79a7")))
    marks = [f'<path d="M{left} {y(v):.1f}H{width - 20}" stroke="#ccc"/><text x="{left - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text>'
             for v in (0.5, 0.7, 1, 1.2, 1.5, 2, 3, 5) if low < v < high]
    marks += [f'<circle cx="{x(r["dense"] / r["best"]):.1f}" cy="{y(r["auto"] / r["best"]):.1f}" r="2" fill="{colour[r["problem"]]}" fill-opacity="0.5"/>'
              for r in rows]
    marks += [f'<text x="{x(10 ** i):.1f}" y="{height - 30}" text-anchor="middle">{10 ** i}</text>' for i in range(8) if 10 ** i < most]
    marks += [f'<circle cx="{width - 90}" cy="{top + 16 * i + 10}" r="4" fill="{colour[p]}"/><text x="{width - 80}" y="{top + 16 * i + 14}">{p}</text>'
              for i, p in enumerate(problems)]
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
                   f'<rect width="{width}" height="{height}" fill="white"/>{"".join(marks)}'
                   f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">time of dense over the best fixed setting</text>'
                   f'<text x="14" y="{height / 2}" text-anchor="middle" transform="rotate(-90 14 {height / 2})">time of auto over it</text></svg>\n')


def main():
    a = arguments()
    bench = Bench(a)
    if a.tensors:
        tensors(bench)
        return
    if a.schedules:
        for path in a.schedules.split(","):
            schedule(bench, path)
        return
    rows = []
    for path in a.show.split(",") if a.show else ():
        with open(path) as file:
            rows += json.load(file)
    for problem in () if a.show else a.problems.split(","):
        for split in a.splits.split(","):
            for workers in map(int, a.workers.split(",")):
                for seed in range(a.first_seed, a.first_seed + a.seeds):
                    rows += cell(bench, problem, split, workers, seed)
                    bench.save()
                    print(f"{problem}, {split}, {workers} workers, seed {seed}: {bench.runs} runs", file=sys.stderr, flush=True)
    if a.json:
        with open(a.json, "w") as file:
            json.dump(rows, file)
    rows = over_seeds(rows)
    show(rows)
    if a.svg:
        picture(rows, a.svg)


if __name__ == "__main__":
    main()
