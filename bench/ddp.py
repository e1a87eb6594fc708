#!/usr/bin/env python3
"""Time to 85 % on Fashion-MNIST with DistributedDataParallel on slow networks: dense, fp16, PowerSGD and Tithe
(its default, and top-k 1 %), ratios of one run.

    sudo bench/ddp.py --workers 2,4 --networks 10mbit,100mbit,1gbit,100mbit+20ms,none --out build/ddp.json     # + is the delay, one way
    sudo bench/ddp.py --only seconds --networks 100mbit --codec 'natural' --options '{"scheme": "shards"}'     # options of the example, for Tithe
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
import sys

from lab import in_lab, take_precedence

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "examples", "ddp_fashion_mnist.py")
HOOKS = ("dense", "fp16", "powersgd", "tithe", "topk")
SPARSE = ["--codec", "topk:keep=0.01|natural", "--feedback", "ec"]  # Tithe on a slow link: the hook called topk
WARM = 10  # dense steps of PowerSGD
PYTHON = "/usr/bin/python3"


def of_example(hook):
    return ["--hook", "tithe", *SPARSE] if hook == "topk" else ["--hook", hook]


def steps_for(hook, network):
    """How many steps a measurement takes: enough for a median where they are long, more where they are short."""
    slow = network.startswith("10mbit") and hook in ("dense", "fp16")
    return 5 if slow else 15 if network.startswith("100mbit") and hook in ("dense", "fp16") else WARM + 30


def steps_to(hook, workers, seed, extra):
    """Of a run to the target on this machine."""
    command = [PYTHON, EXAMPLE, "--workers", str(workers), *of_example(hook), "--seed", str(seed), "--json", "--epochs", "2", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])["reached"]


def step_seconds(hook, workers, network, extra):
    """Median step on a network, and bytes that the first host sent in one."""
    steps = steps_for(hook, network)
    environment = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "e0", "WORKER_RANK": "NETLAB_HOST"}
    command = ["env", *(f"{key}={value}" for key, value in environment.items()), PYTHON, EXAMPLE, "--workers", str(workers), *of_example(hook), "--json",
               "--steps", str(steps), "--every", "100000", "--target", "2", "--drop", str(WARM + 2 if hook == "powersgd" else 2), *extra]
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
        for hook in HOOKS:
            cells = []
            for network in networks:
                all_of_it, dense = seconds_to(found, hook, workers, network), seconds_to(found, "dense", workers, network)
                step = found["seconds"].get(f"{hook} {workers} {network}")
                cells.append("" if step is None else f"{statistics.median(step):.3f} s" +
                             ("" if all_of_it is None else f", {all_of_it:.1f} s" + (f" ({dense / all_of_it:.1f})" if dense and hook != "dense" else "")))
            steps = found["steps"].get(f"{hook} {workers}", [])
            print(f"| {hook} | {workers} | {', '.join(map(str, steps))} | " + " | ".join(cells) + " |")


def plot(found, path):
    """Bars by network, as SVG: seconds to the target, on a logarithmic scale."""
    import math
    networks = list(dict.fromkeys(key.split()[2] for key in found["seconds"]))
    colours = {"dense": "#9a9a9a", "fp16": "#c9b458", "powersgd": "#5b8db8", "tithe": "#c0392b", "topk": "#7d3c98"}
    parts, x0, height = [], 60, 260
    def y(value):
        return height - (math.log10(value) - 0.5) * height / 3.2
    for power in (10, 100, 1000):
        parts.append(f'<line x1="{x0}" x2="860" y1="{y(power):.1f}" y2="{y(power):.1f}" stroke="#ddd"/>'
                     f'<text x="{x0 - 6}" y="{y(power) + 4:.1f}" text-anchor="end">{power} s</text>')
    x = x0 + 10
    for network in networks:
        for workers in (2, 4):
            for hook in HOOKS:
                value = seconds_to(found, hook, workers, network)
                if value:
                    parts.append(f'<rect x="{x}" width="13" y="{y(value):.1f}" height="{height - y(value):.1f}" fill="{colours[hook]}">'
                                 f'<title>{hook}, {workers} workers, {network}: {value:.1f} s</title></rect>')
                x += 14
            x += 8
        parts.append(f'<text x="{x - 88}" y="{height + 18}" text-anchor="middle">{network}</text>')
        x += 10
    legend = "".join(f'<rect x="{620 + 65 * i}" y="6" width="12" height="12" fill="{colours[hook]}"/><text x="{636 + 65 * i}" y="16">{hook}</text>'
                     for i, hook in enumerate(HOOKS))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height + 30}" font-family="sans-serif" font-size="12">'
                   f'<rect width="900" height="{height + 30}" fill="#fff"/>{"".join(parts)}{legend}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--networks", default="10mbit,100mbit,1gbit,100mbit+20ms,none")
    parser.add_argument("--hooks", default=",".join(HOOKS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each step time, by turns")
    parser.add_argument("--out", help="what was found is added to this file, after each measurement")
    parser.add_argument("--only", choices=("steps", "seconds"))
    parser.add_argument("--table", help="of such a file")
    parser.add_argument("--plot", help="the same as SVG")
    wanted, rest = parser.parse_known_args()
    path = wanted.table or wanted.out
    found = {"steps": {}, "seconds": {}, "bytes": {}}
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
                found["steps"][f"{hook} {workers}"] = [steps_to(hook, workers, int(seed), extra) for seed in wanted.seeds.split(",")]
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
