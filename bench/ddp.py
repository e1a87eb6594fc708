#!/usr/bin/env python3
"""Time to 85 % on Fashion-MNIST with DistributedDataParallel on slow networks: dense, fp16, PowerSGD and Tithe
(natural over shards, and top-k 1 %), ratios of one run.

    sudo bench/ddp.py --workers 2,4 --networks 10mbit,100mbit,1gbit,100mbit+20ms,none --out build/ddp.json     # + is the delay, one way
    sudo bench/ddp.py --only seconds --networks 100mbit --hooks dense,tithe --codec 'bf16' --options '{"scheme": "shards"}'    # options of the example
    bench/ddp.py --table build/ddp.json [--plot docs/pytorch.svg]

Two measurements. Steps to the target do not depend on the network, so they come from runs without one (three seeds, median). The seconds of
a step come from the lab (tools/netlab), medians after the first two steps; the hooks take turns. Seconds to the target are the product;
PowerSGD's first ten steps count as dense ones, which they are. Hosts share the cores of this machine, so a step with four workers computes
longer than on four machines: that is against us, since compression makes up for waiting only."""
import argparse
import json
import os
import statistics
import subprocess

from lab import in_lab, take_precedence

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "examples", "ddp_fashion_mnist.py")
HOOKS = {  # and the options of the example that they are
    "dense": ["--hook", "dense"], "fp16": ["--hook", "fp16"], "powersgd": ["--hook", "powersgd"],
    "natural": ["--hook", "tithe", "--codec", "natural", "--options", '{"scheme": "shards", "momentum": null}'],
    "topk": ["--hook", "tithe", "--codec", "topk:keep=0.01|natural", "--feedback", "ec"],
    "tithe": ["--hook", "tithe"],  # with the options of the command line. What a tuner steers has steps of its own on each network: the example counts them
}
WARM = 10  # dense steps of PowerSGD
DROPPED = 3  # first steps that are in no median: there DDP settles on its buckets, and PowerSGD is dense where seconds are taken
TARGET, LOWEST = 0.85, 0.65  # of the accuracy: where a run ends, and where a picture begins
COLOURS = {"dense": "#9a9a9a", "fp16": "#c9a227", "powersgd": "#3f78a8", "natural": "#c0392b", "topk": "#7d3c98"}
NAMES = {"dense": "dense", "fp16": "fp16", "powersgd": "PowerSGD, rank 4", "natural": "Tithe, natural", "topk": "Tithe, top-k 1 %"}
PYTHON = "/usr/bin/python3"


def steps_for(hook, network):
    """How many steps a measurement takes: enough for a median where they are long, more where they are short."""
    long = {"10mbit": {"dense": 4, "fp16": 4, "natural": 8}, "100mbit": {"dense": 10, "fp16": 10, "natural": 20}}
    return DROPPED + long.get(network.partition("+")[0], {}).get(hook, 30)


def run_to(hook, workers, seed, extra):
    """A run to the target on this machine: steps, and the accuracy on the way there."""
    command = [PYTHON, EXAMPLE, "--workers", str(workers), *HOOKS[hook], "--seed", str(seed), "--json", "--epochs", "2", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return answer["reached"], [(step, accuracy) for step, _, accuracy in answer["curve"]]


def step_seconds(hook, workers, network, extra):
    """Median step on a network, and bytes that the first host sent in one."""
    environment = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "e0", "WORKER_RANK": "NETLAB_HOST"}
    command = ["env", *(f"{key}={value}" for key, value in environment.items()), PYTHON, EXAMPLE, "--workers", str(workers), *HOOKS[hook], "--json",
               "--steps", str(steps_for(hook, network)), "--every", "100000", "--target", "2", "--drop", str(DROPPED), "--dense-steps", str(DROPPED - 1),
               *extra]
    answer = in_lab(network, workers, "each", command)
    return answer["median_step"], answer["sent_bytes_per_step"]


def seconds_to(found, hook, workers, network):
    """Steps times seconds; None: not measured, or not reached."""
    steps = found["steps"].get(f"{hook} {workers}")
    step = found["seconds"].get(f"{hook} {workers} {network}")
    dense = found["seconds"].get(f"dense {workers} {network}")
    if not steps or any(one is None for one in steps) or step is None:
        return None
    count, median = statistics.median(steps), statistics.median(step)
    if hook == "powersgd":
        return None if dense is None else WARM * statistics.median(dense) + (count - WARM) * median
    return count * median


def table(found):
    networks = list(dict.fromkeys(key.split()[2] for key in found["seconds"]))
    print("| | workers | steps | " + " | ".join(networks) + " |\n|---|---:|---:|" + "---:|" * len(networks))
    for workers in sorted({int(key.split()[1]) for key in found["seconds"]}):
        for hook in NAMES:
            cells = []
            for network in networks:
                all_of_it, dense = seconds_to(found, hook, workers, network), seconds_to(found, "dense", workers, network)
                step = found["seconds"].get(f"{hook} {workers} {network}")
                cells.append("" if step is None else f"{statistics.median(step):.3f} s" +
                             ("" if all_of_it is None else f", {all_of_it:.1f} s" + (f" ({dense / all_of_it:.1f})" if dense and hook != "dense" else "")))
            steps = found["steps"].get(f"{hook} {workers}", [])
            print(f"| {hook} | {workers} | {', '.join(map(str, steps))} | " + " | ".join(cells) + " |")


def seconds_at(found, hook, workers, network, step):
    """When a step is over."""
    one = statistics.median(found["seconds"][f"{hook} {workers} {network}"])
    if hook != "powersgd":
        return step * one
    return min(step, WARM) * statistics.median(found["seconds"][f"dense {workers} {network}"]) + max(0, step - WARM) * one


def title(network):
    """100mbit+20ms as people write it."""
    rate, _, delay = network.partition("+")
    return rate.replace("mbit", " Mbit/s").replace("gbit", " Gbit/s") + (f", {delay.replace('ms', ' ms')}" if delay else "")


def panel(found, workers, network, left, top):
    """Accuracy against seconds, which are on a logarithmic scale."""
    import math
    width, height, first, last = 190, 150, -0.5, 3.6

    def x(seconds):
        return left + (math.log10(max(seconds, 10 ** first)) - first) * width / (last - first)

    def y(accuracy):
        return top + height - (accuracy - LOWEST) * height / (0.87 - LOWEST)
    parts = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>',
             f'<text x="{left + width / 2}" y="{top - 6}" text-anchor="middle">{title(network)}, {workers} workers</text>',
             f'<line x1="{left}" x2="{left + width}" y1="{y(TARGET):.1f}" y2="{y(TARGET):.1f}" stroke="#999" stroke-dasharray="3 3"/>']
    for power in range(4):
        parts.append(f'<line x1="{x(10 ** power):.1f}" x2="{x(10 ** power):.1f}" y1="{top}" y2="{top + height}" stroke="#eee"/>'
                     f'<text x="{x(10 ** power):.1f}" y="{top + height + 14}" text-anchor="middle">{10 ** power} s</text>')
    for percent in (70, 75, 80, 85):
        parts.append(f'<text x="{left - 4}" y="{y(percent / 100) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for hook in NAMES:
        curve = found["curves"].get(f"{hook} {workers}")
        if curve and f"{hook} {workers} {network}" in found["seconds"]:
            points = " ".join(f"{x(seconds_at(found, hook, workers, network, step)):.1f},{y(accuracy):.1f}" for step, accuracy in curve if accuracy > LOWEST)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[hook]}" stroke-width="1.6"/>')
    return "".join(parts)


def plot(found, path):
    """A panel for each network and number of workers, as SVG."""
    networks = [one for one in dict.fromkeys(key.split()[2] for key in found["seconds"]) if one != "none"]
    counts = sorted({int(key.split()[1]) for key in found["seconds"]})
    panels = "".join(panel(found, workers, network, 50 + 240 * column, 50 + 200 * row)
                     for row, workers in enumerate(counts) for column, network in enumerate(networks))
    legend = "".join(f'<rect x="{50 + 150 * i}" y="8" width="14" height="10" fill="{COLOURS[hook]}"/><text x="{70 + 150 * i}" y="17">{NAMES[hook]}</text>'
                     for i, hook in enumerate(NAMES))
    width, height = 50 + 240 * len(networks), 40 + 200 * len(counts)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
                   f'<rect width="{width}" height="{height}" fill="#fff"/>{legend}{panels}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--networks", default="10mbit,100mbit,1gbit,100mbit+20ms,none")
    parser.add_argument("--hooks", default=",".join(NAMES))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each step time, by turns")
    parser.add_argument("--out", help="what was found is added to this file, after each measurement")
    parser.add_argument("--only", choices=("steps", "seconds"))
    parser.add_argument("--table", help="of such a file")
    parser.add_argument("--plot", help="the same as SVG")
    wanted, rest = parser.parse_known_args()
    path = wanted.table or wanted.out
    found = {"steps": {}, "curves": {}, "seconds": {}, "bytes": {}}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    if wanted.table:
        table(found)
        if wanted.plot:
            plot(found, wanted.plot)
        return
    take_precedence()

    def note():
        if wanted.out:
            with open(wanted.out, "w", encoding="utf-8") as file:
                json.dump(found, file, indent=1)
    for workers in map(int, wanted.workers.split(",")):
        for hook in wanted.hooks.split(","):
            extra = rest if hook == "tithe" else []
            if wanted.only != "seconds":
                runs = [run_to(hook, workers, int(seed), extra) for seed in wanted.seeds.split(",")]
                found["steps"][f"{hook} {workers}"] = [steps for steps, _ in runs]
                found["curves"][f"{hook} {workers}"] = runs[0][1]
                print(hook, workers, found["steps"][f"{hook} {workers}"], flush=True)
                note()
    for _ in range(wanted.rounds if wanted.only != "steps" else 0):
        for network in wanted.networks.split(","):
            for workers in map(int, wanted.workers.split(",")):
                for hook in wanted.hooks.split(","):
                    seconds, sent = step_seconds(hook, workers, network, rest if hook == "tithe" else [])
                    key = f"{hook} {workers} {network}"
                    found["seconds"].setdefault(key, []).append(seconds)
                    found["bytes"][key] = sent
                    print(f"{key}: {seconds:.4f} s, {sent or 0:,.0f} bytes", flush=True)
                    note()
    table(found)


if __name__ == "__main__":
    main()
