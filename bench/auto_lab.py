#!/usr/bin/env python3
"""`--tuner auto` over real TCP while the network changes: seconds to a loss beside fixed settings and moo, and how soon it settles.

usage: bench/auto_lab.py [--networks c1,c2,drop,rise,flapping,stop] [--hosts 4] [--transport zmq] [--build build] [--phase 0.5] [--json FILE]

tools/netlab changes the rate of all links while the command runs. c1 and c2 are those of experiments/ with their rates, less than a second for each of
their phases, and the latency of the lab: dense, a handful of fixed settings, moo and auto each run to the loss that dense has after 300 steps. On the
others auto runs alone for a number of steps: drop and rise change the rate once, flapping each second, stop leaves nothing of a link for three seconds.
What is told of them comes from the trace: the settings with their reasons, what steps took, and how many steps and seconds after a change of the rate
the last change of the setting came. Needs root, as namespaces do."""
import argparse
import csv
import json
import os
import subprocess
import tempfile

from lab import in_lab, take_precedence

DATA = "--data a9a-like:scale=0.3 --model mlp:hidden=512 --estimator minibatch --batch 128 --step-size 0.2"
START = 0.3  # seconds that a run takes to begin
STEPS = 300  # of dense, whose loss then is the target
FIXED = {
    "dense": "--tuner fixed --scheme dense", "natural": "--codec natural --feedback ec --scheme shards",
    "8 bits": "--codec all|dither:s=127,p=inf,bucket=512 --feedback ec --scheme shards",
    "top-k 0.1": "--codec topk:keep=0.1 --feedback ec --scheme gather", "top-k 0.01 natural": "--codec topk:keep=0.01|natural --feedback ec --scheme gather",
    "top-k 0.001 natural": "--codec topk:keep=0.001|natural --feedback ec --scheme gather", "AR-Top-k 0.01": "--codec topk:keep=0.01 --feedback ec --scheme artopk",
}
MILLIONS = {"c1": (100, 4, 4, 100), "c2": (100, 80, 60, 40, 20, 4, 20, 40, 60, 80, 100)}

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--networks", default="c1,c2,drop,rise,flapping,stop")
parser.add_argument("--hosts", type=int, default=4)
parser.add_argument("--transport", default="zmq")
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--phase", type=float, default=0.5, help="seconds of a phase of c1; c2 has them shorter")
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
tithe = os.path.abspath(os.path.join(wanted.build, "tithe"))
folder = tempfile.mkdtemp()
os.environ["TITHE_THREADS"] = "1"


def run(first, changes, options):
    """The JSON of a run and the rows of its trace, on links that begin with a rate and change at some seconds."""
    schedule, trace = os.path.join(folder, "schedule"), os.path.join(folder, "trace.csv")
    with open(schedule, "w", encoding="utf-8") as file:
        file.writelines(f"{seconds} {rate}\n" for seconds, rate in changes)
    command = [tithe, "train", "--transport", wanted.transport, "--workers", str(wanted.hosts), *DATA.split(), *options.split(), "--trace", trace, "--json", "-"]
    answer = in_lab(first, wanted.hosts, wanted.transport, command, schedule=schedule)
    with open(trace, encoding="utf-8") as file:
        return answer, list(csv.DictReader(line for line in file if not line.startswith("#")))


def settings_of(rows):
    return [(int(row["step"]), float(row["seconds"]), row["setting"], row["reason"]) for row in rows if row["setting"]]


def short(setting):
    words = dict(word.split("=", 1) for word in setting.split(";"))
    return f"{words['codec']} {words['scheme']}/{words['collective']}"


def race(name):
    """Everything on the same schedule, to the same loss."""
    alone = subprocess.run([tithe, "train", "--workers", str(wanted.hosts), *DATA.split(), "--steps", str(STEPS), "--json", "-"], capture_output=True, text=True,
                           check=True)
    target = json.loads(alone.stdout)["loss"]
    rates = MILLIONS[name]
    phase = wanted.phase * 4 / len(rates) if name == "c2" else wanted.phase
    changes = [(round(START + phase * (i - 0.5), 2), f"{rate}mbit") for i, rate in enumerate(rates) if i]
    print(f"\n{name}: {', '.join(map(str, rates))} Mbit, {phase:.3g} s each, {wanted.hosts} hosts, {wanted.transport}, to loss {target:.5g}\n")
    print("| what | seconds | steps | reached |\n|---|---|---|---|")
    found = []
    for what, options in (*FIXED.items(), ("moo", "--tuner moo"), ("auto", "--tuner auto")):
        answer, rows = run(f"{rates[0]}mbit", changes, f"{options} --steps 900 --target-loss {target!r}")
        found.append({"network": name, "what": what, "seconds": answer["seconds"], "steps": answer["steps"], "reached": answer["target_reached"],
                      "settings": settings_of(rows)})
        print(f"| {what} | {answer['seconds']:.2f} | {answer['steps']} | {'yes' if answer['target_reached'] else 'no'} |", flush=True)
    for step, seconds, setting, reason in found[-1]["settings"]:
        print(f"    auto, step {step}, {seconds:.2f} s: {short(setting)}: {reason}")
    best = min(f["seconds"] for f in found[: len(FIXED)] if f["reached"])
    print(f"auto over the best fixed setting: {found[-1]['seconds'] / best:.2f}, moo: {found[-2]['seconds'] / best:.2f}")
    return found


def steps_between(rows):
    """(step, seconds, seconds of a step) from one record to the next."""
    records = [(int(row["step"]), float(row["seconds"])) for row in rows if row["loss"]]
    return [(b[0], b[1], (b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(records, records[1:]) if b[0] > a[0]]


SHAPES = {  # the first rate, what changes when, and what is to be seen
    "drop": ("100mbit", [(6, "2mbit")]), "rise": ("2mbit", [(6, "100mbit")]),
    "flapping": ("100mbit", [(2 + i, "20mbit" if i % 2 else "100mbit") for i in range(1, 20)]),
    "stop": ("100mbit", [(6, "8kbit"), (9, "100mbit")]),
}


def watch(name):
    """auto alone."""
    first, changes = SHAPES[name]
    answer, rows = run(first, changes, f"--tuner auto --steps {1200 if name == 'flapping' else 1000}")
    found, speeds = settings_of(rows), steps_between(rows)
    print(f"\n{name}: {first}, then " + ", ".join(f"{rate} at {at} s" for at, rate in changes[:3]) + (", ..." if len(changes) > 3 else "")
          + f"; {answer['steps']} steps in {answer['seconds']:.1f} s, set-up {answer['setup_seconds']:.1f} s")
    for step, at, setting, reason in found:
        print(f"    step {step}, {at:.2f} s: {short(setting)}: {reason}")
    print(f"    {len(found) - 1} changes; milliseconds of a step from record to record: " + ", ".join(f"{1e3 * s[2]:.1f}" for s in speeds))
    if name in ("drop", "rise"):
        when = changes[0][0] - answer["setup_seconds"]
        later = [f for f in found if f[1] > when - 1]
        if later:
            step = max((s[0] for s in speeds if s[1] <= when), default=0)
            print(f"    the rate changed at about {when:.1f} s (step {step}); the last change of the setting came {later[-1][0] - step} steps and {later[-1][1] - when:.1f} s later")
    return [{"network": name, "steps": answer["steps"], "seconds": answer["seconds"], "settings": found}]


everything = []
for network in wanted.networks.split(","):
    everything += race(network) if network in MILLIONS else watch(network)
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as out:
        json.dump(everything, out, indent=1)
