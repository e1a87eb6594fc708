"""Set-up over real processes, with nothing in the cache: on every kind of data the numbers of one process, to the last bit, and bytes
for numbers alone."""

import json
import os
import subprocess
import tempfile

from support import HANG, check, finish, mpirun, transports_here

tithe = os.environ["TITHE"]
DATA = ["a9a-like:scale=0.05", "w8a-like:scale=0.02", "rcv1-like:scale=0.02", "gen:sparse:rows=300,features=2000,density=0.01",
        "gen:dense:rows=200,features=30", "gen:sparse:rows=90,features=7,density=0.5"]
RANKS = {"mpi": (2, 3, 4, 6), "zmq": (2, 3)}
NUMBERS = ["L", "L_US", "L_IS", "gap", "loss", "sigma_star_squared", "zeta_star_squared", "model_hash"]
PER_RANK = 8000  # bytes: options in words, and numbers. A vector of the smallest set would do no harm, one of the others does


def train(data, ranks, transport, *more):
    """An answer; each with a cache of its own."""
    start = {"inproc": [tithe, "train", "--workers", str(ranks)], "mpi": [*mpirun(ranks), tithe, "train", "--transport", "mpi"],
             "zmq": [tithe, "train", "--transport", "zmq", "--local", str(ranks)]}[transport]
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TITHE_THREADS="1", XDG_CACHE_HOME=cache)
        done = subprocess.run([*start, "--data", data, "--steps", "2", "--codec", "natural", *more, "--json", "-"], capture_output=True,
                              text=True, timeout=HANG, env=environment, check=False)
    check(done.returncode == 0, f"{data}, {ranks} over {transport}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.returncode == 0 else None


transports = transports_here()
for data in DATA:
    one = train(data, 1, "inproc")
    for transport in transports:
        for ranks in RANKS[transport]:
            what = f"{data}, {ranks} over {transport}"
            here, there = train(data, ranks, "inproc"), train(data, ranks, transport, "--exact")
            if not one or not here or not there:
                continue
            for key in NUMBERS:
                check(here[key] == there[key], f"{what}: {key} is {there[key]}, but {here[key]} in one process")
            check(one["L"] == there["L"], f"{what}: L is {there['L']}, but {one['L']} with one worker")
            check(0 < there["setup_bytes"] < PER_RANK * ranks, f"{what}: {there['setup_bytes']} bytes of set-up")
            check(there["setup_bytes"] < there["sent_bytes"], f"{what}: set-up is a part of what was sent")
for transport in transports:
    plain = train(DATA[0], 2, transport)
    check(plain and plain["gap"] is None and plain["L"] > 0, f"{transport}: nobody asked for the minimum")
    given = train(DATA[0], 2, transport, "--step-size", "0.1", "--l2", "1e-3")
    check(given and given["L"] is None, f"{transport}: nothing to find out, so nothing was")
finish(skipped=not transports)
