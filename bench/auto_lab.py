#!/usr/bin/env python3
"""`--tuner auto` over real TCP while the network changes: seconds to a loss beside fixed settings and moo, and how soon it settles.

usage: bench/auto_lab.py [--networks c1,c2,drop,rise,flapping,stop] [--hosts 4] [--transport zmq] [--build build] [--only auto,moo,...] [--tuner auto:low=1] [--json FILE]

tools/netlab changes the rate of all links while the command runs. c1 and c2 are those of experiments/: their epochs and rates, and the latency of the
lab. The trace of the run says in which epoch it is. Dense, other fixed settings, moo and auto each run to the loss that dense has after 50 epochs.
On the others auto runs alone for a number of steps: drop and rise change the rate once, flapping each second, stop leaves nothing of a link for three
seconds. What is told of them comes from the trace: the settings with their reasons, what steps took, and how many steps and seconds after a change of
the rate the last change of the setting came. Needs root, as namespaces do."""
import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile
import threading

from lab import in_lab, take_precedence

PROBLEM = "--data a9a-like:scale=0.3 --model mlp:hidden=512 --estimator minibatch --batch 128"
DATA = PROBLEM + " --step-size 0.2"
SLOWER = PROBLEM + " --step-size 0.02"  # whose loss still falls after 50 epochs
EPOCHS, LONGEST = 50, 70  # of dense, whose loss then is the target; and of all others
FIXED = {
    "dense": "--tuner fixed --scheme dense", "natural": "--codec natural --feedback ec --scheme shards",
    "8 bits": "--codec all|dither:s=127,p=inf,bucket=512 --feedback ec --scheme shards",
    "4 bits": "--codec all|dither:p=inf,bucket=512 --feedback ec --scheme shards", "top-k 0.1": "--codec topk:keep=0.1 --feedback ec --scheme gather",
    **{f"top-k {keep} {values}": f"--codec topk:keep={keep}|{values} --feedback ec --scheme gather"
       for keep in (0.1, 0.01, 0.001, 0.0001) for values in ("natural", "sign")},
    **{f"AR-Top-k {keep}": f"--codec topk:keep={keep} --feedback ec --scheme artopk" for keep in (0.1, 0.01, 0.001, 0.0001)},
    **{f"top-k {keep} natural star": f"--codec topk:keep={keep}|natural --feedback ec --scheme star --downlink topk:keep={keep}|natural --downlink-feedback ec"
       for keep in (0.01, 0.001)},
}

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--networks", default="c1,c2,drop,rise,flapping,stop")
parser.add_argument("--hosts", type=int, default=4)
parser.add_argument("--transport", default="zmq")
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--only", help="of what runs on c1 and c2")
parser.add_argument("--tuner", default="auto", help="auto, and whatever else it is told")
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
chosen = wanted.only.split(",") if wanted.only else []
unknown = [what for what in chosen if what not in (*FIXED, "moo", "auto")]
if unknown:
    parser.error(f"there is no '{unknown[0]}' on c1 and c2: take some of {', '.join(FIXED)}, moo, auto")
tithe = os.path.abspath(os.path.join(wanted.build, "tithe"))
folder = tempfile.mkdtemp()
os.environ["TITHE_THREADS"] = "1"


def rows_of(trace):
    if not os.path.exists(trace):
        return []
    with open(trace, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if line.endswith("\n") and not line.startswith("#")))


def last_row(trace):
    """The last row there is, each time that it is asked; the file is read once."""
    names, row, rest, place = None, None, "", 0
    while True:
        if os.path.exists(trace):
            with open(trace, encoding="utf-8") as file:
                file.seek(place)
                text = file.read()
                place = file.tell()
            *lines, rest = (rest + text).split("\n")
            for values in csv.reader(line for line in lines if line and not line.startswith("#")):
                names, row = (names, dict(zip(names, values))) if names else (values, None)
        yield row


def phases_of(name):
    """(first epoch, seconds, rate) of each phase, from a schedule of experiments/."""
    with open(os.path.join(here, "..", "experiments", f"{name}.schedule"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [(float(epochs.rstrip("+").split("-")[0]), 0, rate.lower()) for epochs, _, rate in lines]


def run(phases, column, options):
    """The JSON of a run, the rows of its trace, and by those the step and the seconds at which the rate changed. A phase is a number in a column of the
    trace, seconds after that is there, and a rate; netlab reads them from a pipe while the trace grows."""
    pipe, trace, ended, changed = os.path.join(folder, "pipe"), os.path.join(folder, "trace.csv"), threading.Event(), []
    for path in (pipe, trace):
        if os.path.exists(path):
            os.unlink(path)
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)

    def follow():
        newest = last_row(trace)
        for first, seconds, rate in phases[1:]:
            while not (last := next(newest)) or float(last[column]) < first:
                if ended.wait(0.02):
                    return
            if ended.wait(seconds):
                return
            os.write(writer, f"0 {rate}\n".encode())
            last = next(newest)
            changed.append((int(last["step"]), float(last["seconds"])))

    thread = threading.Thread(target=follow)
    thread.start()
    command = [tithe, "train", "--transport", wanted.transport, "--workers", str(wanted.hosts), *options.split(), "--trace", trace, "--json", "-"]
    try:
        answer = in_lab(phases[0][2], wanted.hosts, wanted.transport, command, schedule=pipe, tries=1)
    finally:
        ended.set()
        thread.join()
        os.close(writer)
    return answer, rows_of(trace), changed


def settings_of(rows):
    return [(int(row["step"]), float(row["seconds"]), row["setting"], row["reason"]) for row in rows if row["setting"]]


def short(setting):
    words = dict(word.split("=", 1) for word in setting.split(";"))
    return f"{words['codec']} {words['scheme']}/{words['collective']}"


def race(name):
    """Everything on the same schedule, to the same loss."""
    alone = subprocess.run([tithe, "train", "--workers", str(wanted.hosts), *SLOWER.split(), "--tuner", "fixed", "--codec", "all|raw", "--epochs", str(EPOCHS),
                            "--json", "-"], capture_output=True, text=True, check=True)
    target = json.loads(alone.stdout)["loss"]
    phases = phases_of(name)
    print(f"\n{name}: " + ", ".join(f"{rate} from epoch {first:g}" for first, _, rate in phases) + f"; {wanted.hosts} hosts, {wanted.transport}, to loss {target:.5g}\n")
    print("| what | seconds | steps | reached |\n|---|---|---|---|")
    found = []
    everything_here = {**FIXED, "moo": "--tuner moo", "auto": f"--tuner {wanted.tuner}"}
    for what in chosen or everything_here:
        answer, rows, _ = run(phases, "epochs", f"{SLOWER} {everything_here[what]} --epochs {LONGEST} --target-loss {target!r}")
        found.append({"network": name, "what": what, "seconds": answer["seconds"], "steps": answer["steps"], "reached": answer["target_reached"],
                      "settings": settings_of(rows)})
        print(f"| {what} | {answer['seconds']:.2f} | {answer['steps']} | {'yes' if answer['target_reached'] else 'no'} |", flush=True)
        for step, seconds, setting, reason in found[-1]["settings"] if what == "auto" else []:
            print(f"    step {step}, {seconds:.2f} s: {short(setting)}: {reason}")
    fixed = [f["seconds"] if f["reached"] else float("inf") for f in found if f["what"] in FIXED]
    for f in found:
        if min(fixed, default=float("inf")) < float("inf") and f["what"] not in FIXED:
            slower = sum(f["seconds"] < one for one in fixed)
            print(f"{f['what']} over the best fixed setting: {f['seconds'] / min(fixed):.2f}, better than {slower} of {len(fixed)}")
    return found


def steps_between(rows):
    """(step, seconds, seconds of a step) from one record to the next."""
    records = [(int(row["step"]), float(row["seconds"])) for row in rows if row["loss"]]
    return [(b[0], b[1], (b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(records, records[1:]) if b[0] > a[0]]


SHAPES = {  # steps, seconds after them, and the rate then
    "drop": [(0, 0, "100mbit"), (500, 0, "2mbit")], "rise": [(0, 0, "2mbit"), (500, 0, "100mbit")],
    "flapping": [(0, 0, "100mbit")] + [(200, 1, "100mbit" if i % 2 else "20mbit") for i in range(20)],
    "stop": [(0, 0, "100mbit"), (500, 0, "8kbit"), (500, 3, "100mbit")],
}


def watch(name):
    """auto alone."""
    phases = SHAPES[name]
    answer, rows, changed = run(phases, "step", f"{DATA} --tuner {wanted.tuner} --steps {4000 if name == 'flapping' else 1500}")
    found, speeds = settings_of(rows), steps_between(rows)
    print(f"\n{name}: {phases[0][2]}, then " + ", ".join(f"{phase[2]} at step {at[0]}, {at[1]:.1f} s" for phase, at in list(zip(phases[1:], changed))[:3])
          + (f" and so on, {len(changed)} times in all" if len(changed) > 3 else "") + f"; {answer['steps']} steps in {answer['seconds']:.1f} s")
    for step, at, setting, reason in found:
        print(f"    step {step}, {at:.2f} s: {short(setting)}: {reason}")
    print(f"    {len(found) - 1} changes; milliseconds of a step from record to record: " + ", ".join(f"{1e3 * s[2]:.1f}" for s in speeds))
    if name != "flapping" and len(changed) == len(phases) - 1:
        step, seconds = changed[-1]
        later, after = [f for f in found if f[0] > step], [s for s in speeds if s[0] > step]
        if later:
            print(f"    the last change of the setting came {later[-1][0] - step} steps and {later[-1][1] - seconds:.1f} s after that of the rate")
        usual = statistics.median(s[2] for s in after[len(after) // 2:])
        slow = [s for s in after if s[2] > 1.5 * usual]
        print(f"    a step takes {1e3 * usual:.1f} ms in the end; records of more than half as much again: "
              + (", ".join(f"{s[0] - step} steps and {s[1] - seconds:.1f} s after it {1e3 * s[2]:.1f} ms" for s in slow) or "none"))
    return [{"network": name, "steps": answer["steps"], "seconds": answer["seconds"], "changed": changed, "settings": found}]


everything = []
for network in wanted.networks.split(","):
    everything += watch(network) if network in SHAPES else race(network)
    if wanted.json:
        with open(wanted.json, "w", encoding="utf-8") as out:
            json.dump(everything, out, indent=1)
