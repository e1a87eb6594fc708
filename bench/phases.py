#!/usr/bin/env python3
"""Do the phases of a run say where its time went? Runs of `tithe train` on networks that tools/netlab makes; the named phases are compute,
encode, wait, transfer, decode and record.

usage: bench/phases.py [--rates 10mbit,100mbit] [--transports mpi,zmq] [--hosts 2] [--data rcv1-like:scale=0.25] [--seconds 4] [--build build]

Two shares: of the time from the first step to the end (`seconds` and `record_seconds`), and of all that a watch beside the first host's
process shows after its set-up (`setup_seconds`), with starting, reading the data and ending. Exits with 1 where the first is below 95 %.
Needs root, as namespaces do."""
import argparse
import csv
import os
import sys
import tempfile

from lab import in_lab, take_precedence

CALIBRATION = 20  # steps of a first run, which says how many to take
NAMED = ("compute", "encode", "wait", "transfer", "decode", "record")
RUNS = {"dense": ["--codec", "all|raw", "--scheme", "dense"], "gather": ["--codec", "topk:keep=0.01", "--scheme", "gather"],
        "star": ["--codec", "topk:keep=0.01", "--downlink", "natural"], "shards": ["--codec", "natural", "--scheme", "shards"],
        "artopk": ["--codec", "topk:keep=0.01", "--scheme", "artopk"]}
# A watch: the command's own seconds into the file $WATCH, from the host that has rank 0 or comes last to it.
WATCH = 'import os, subprocess, sys, time; t = time.monotonic(); r = subprocess.call(sys.argv[1:]); open(os.environ["WATCH"], "a").write(f"{time.monotonic() - t}\\n"); sys.exit(r)'

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--rates", default="10mbit,100mbit")
parser.add_argument("--transports", default="mpi,zmq")
parser.add_argument("--hosts", type=int, default=2)
parser.add_argument("--data", default="rcv1-like:scale=0.25")
parser.add_argument("--schemes", default=",".join(RUNS))
parser.add_argument("--seconds", type=float, default=4, help="of a run, about")
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
wanted = parser.parse_args()
take_precedence()
tithe = os.path.abspath(os.path.join(wanted.build, "tithe"))
room = tempfile.TemporaryDirectory()
trace, watch = os.path.join(room.name, "trace.csv"), os.path.join(room.name, "watch")
os.environ.update(WATCH=watch, XDG_CACHE_HOME=room.name, TITHE_THREADS="1")


def run(rate, transport, scheme, steps):
    for path in (trace, watch):
        if os.path.exists(path):
            os.remove(path)
    # Only --step-size and --l2: then set-up computes nothing, and what is watched is the run.
    command = [sys.executable, "-c", WATCH, tithe, "train", "--transport", transport, "--workers", str(wanted.hosts), "--data", wanted.data,
               "--step-size", "1", "--l2", "1e-4", "--steps", str(steps), *RUNS[scheme], "--trace", trace, "--json", "-"]
    answer = in_lab(rate, wanted.hosts, transport, command)
    with open(trace, encoding="utf-8") as lines:
        last = list(csv.DictReader(line for line in lines if not line.startswith("#")))[-1]
    with open(watch, encoding="ascii") as lines:
        whole = max(map(float, lines))
    return answer, {phase: float(last[phase]) for phase in (*NAMED, "other")}, whole


worst = 1
for rate in wanted.rates.split(","):
    for transport in wanted.transports.split(","):
        for scheme in wanted.schemes.split(","):
            few, _, _ = run(rate, transport, scheme, CALIBRATION)
            steps = max(10, int(CALIBRATION * wanted.seconds / (few["seconds"] + few["record_seconds"])))
            answer, phases, whole = run(rate, transport, scheme, min(steps, 5000))
            took, named = answer["seconds"] + answer["record_seconds"], sum(phases[p] for p in NAMED)
            worst = min(worst, named / took)
            parts = ", ".join(f"{p} {1e3 * phases[p] / answer['steps']:.2f}" for p in (*NAMED, "other"))
            print(f"{rate:>8} {transport} {scheme:7} {answer['steps']:5} steps, {1e3 * answer['seconds'] / answer['steps']:7.2f} ms each ({parts}): "
                  f"{100 * named / took:5.1f} % of {took:.2f} s, {100 * named / (whole - answer['setup_seconds']):5.1f} % of the watch's {whole:.2f} s", flush=True)
print(f"the least: {100 * worst:.1f} % (95 % are wanted)")
sys.exit(worst < 0.95)
