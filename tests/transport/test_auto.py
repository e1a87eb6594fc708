"""--tuner auto over mpirun and over sockets with 2, 3, 4 and 7 workers: all ranks choose the same at the same step (they would stop if
not), and what they chose, replayed in one process, gives the same model to the last bit. So does a replay that goes through all
kinds of settings, on every transport."""

import csv
import json
import os
import subprocess
import tempfile

from support import HANG, check, finish, mpirun, transports_here

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=folder)
DATA = "--data gen:sparse:rows=420,features=3000,density=0.02 --no-optimum --steps 40".split()
COUNTS = (2, 3, 4, 7)


def path(name):
    return os.path.join(folder, name)


def train(transport, workers, *options):
    start = {"inproc": ["--workers", str(workers)], "mpi": ["--transport", "mpi", "--workers", str(workers)],
             "zmq": ["--transport", "zmq", "--local", str(workers)]}[transport]
    words = [*(mpirun(workers) if transport == "mpi" else []), tithe, "train", *start, *DATA, *options, "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG, env=environment)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{transport}, {workers}: exit {done.returncode}, {done.stdout[:200]!r} {done.stderr[:400]!r}")
        return {}


def settings(trace):
    with open(trace) as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(row["step"]), row["setting"]) for row in rows if row["setting"]]


# Settings that differ in all that they can differ in; a server without ranks cannot follow to a star, so there is none.
TOUR = ["codec=all|raw;feedback=none;scheme=dense;collective=ring", "codec=topk:keep=0.0625|natural;feedback=ec;scheme=gather;collective=allgather",
        "codec=all|raw;feedback=none;scheme=dense;collective=tree", "codec=all|natural;feedback=ec;scheme=shards;collective=direct",
        "codec=topk:keep=0.00391|raw;feedback=ec;scheme=artopk;collective=ring",
        "codec=all|dither:p=inf,bucket=512;feedback=ec;scheme=shards;collective=ring", "codec=all|raw;feedback=none;scheme=dense;collective=direct"]
remote = transports_here()
tour = path("tour.csv")
with open(tour, "w") as file:
    file.write("# name: tour\n# tuner: auto\nstep,setting\n" + "".join(f'{5 * i},"{s}"\n' for i, s in enumerate(TOUR)))
for transport in [t for t in ("mpi", "zmq") if t in remote]:
    for workers in COUNTS:
        trace = path(f"{transport}{workers}.csv")
        live = train(transport, workers, "--tuner", "auto", "--trace", trace)
        if not live:
            continue
        again = train("inproc", workers, "--replay", trace)
        check(live["model_hash"] == again.get("model_hash"),
              f"{transport}, {workers}: {live['model_hash']} live, {again.get('model_hash')} replayed, {settings(trace)}")
        check(live["tuner"] == "auto" and settings(trace)[0][0] == 0, f"{transport}, {workers}: {live['tuner']}, {settings(trace)}")
for workers in (3, 4):
    here = train("inproc", workers, "--replay", tour)
    check(here.get("steering", {}).get("changes") == len(TOUR) - 1, f"{workers}: {here.get('steering')}")
    for transport in [t for t in ("mpi", "zmq") if t in remote]:
        there = train(transport, workers, "--replay", tour)
        for key in ("model_hash", "uplink_bytes", "downlink_bytes", "cost"):
            check(here.get(key) == there.get(key), f"{transport}, {workers}, the tour: {key} is {there.get(key)}, {here.get(key)} in one process")

finish(skipped=len(remote) < 2)
