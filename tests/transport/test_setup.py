"""Set-up over real processes, with nothing in the cache: on every data set that has a name, and on a file, the numbers of one process, to the
last bit, and bytes for numbers alone."""

import functools
import json
import os
import random
import subprocess
import tempfile

from support import HANG, check, finish, mpirun, transports_here

tithe = os.environ["TITHE"]
RANKS = (2, 3, 4, 6)
# The smallest of a kind that can still go wrong. A set that is added to the table has to be added here, too.
SMALL = {"gen:sparse": ["gen:sparse:rows=300,features=2000,density=0.01", "gen:sparse:rows=90,features=7,density=0.5"],
         "gen:dense": ["gen:dense:rows=200,features=30"], "a9a-like": ["a9a-like:scale=0.05"], "w8a-like": ["w8a-like:scale=0.02"],
         "gisette-like": ["gisette-like:scale=0.01"], "rcv1-like": ["rcv1-like:scale=0.02"], "url-like": ["url-like:scale=0.001"],
         "mnist-test": ["mnist-test"], "fashion-mnist-test": ["fashion-mnist-test"], "mnist": [], "fashion-mnist": []}  # as their tests
LARGE = ("url-like",)  # three million features: no minimum, and not over every transport
IMAGES = ("mnist-test", "fashion-mnist-test")
NUMBERS = ["L", "L_US", "L_IS", "gap", "loss", "sigma_star_squared", "zeta_star_squared", "model_hash"]
PER_RANK = 8000  # bytes: options in words, and numbers. A vector of the smallest set would do no harm, one of the others does


def train(data, ranks, transport, *more):
    """An answer; each with a cache of its own."""
    if data in IMAGES:
        more = ("--model", "mlp:hidden=4", *more)
    start = {"inproc": [tithe, "train", "--workers", str(ranks)], "mpi": [*mpirun(ranks), tithe, "train", "--transport", "mpi"],
             "zmq": [tithe, "train", "--transport", "zmq", "--local", str(ranks)]}[transport]
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=cache)
        done = subprocess.run([*start, "--data", data, "--steps", "2", "--codec", "natural", *more, "--json", "-"], capture_output=True,
                              text=True, timeout=HANG, env=environment, check=False)
    check(done.returncode == 0, f"{data}, {ranks} over {transport}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def is_here(data):
    return subprocess.run([tithe, "train", "--data", data, "--model", "mlp:hidden=4", "--steps", "1"], capture_output=True, check=False).returncode == 0


def own_file(folder):
    """Rows of very different length, a feature that nobody has, one that all have, and the labels 1 and 2, sorted."""
    path = os.path.join(folder, "own.svm")
    dice = random.Random(3)
    with open(path, "w", encoding="ascii") as out:
        for row in range(140):
            columns = sorted(dice.sample(range(2, 60), dice.choice((0, 1, 3, 40))))
            values = " ".join(f"{c}:{dice.gauss(0, 2):.4g}" for c in columns if c != 17)
            out.write(f"{1 if row < 50 else 2} 1:1 {values}".strip() + "\n")
    return path


@functools.cache
def in_one_process(data, ranks, exact):
    return train(data, ranks, "inproc", *([] if exact else ["--no-optimum"]))


def compare(data, transport, ranks, exact):
    what = f"{data}, {ranks} over {transport}"
    here, there = in_one_process(data, ranks, exact), train(data, ranks, transport, *(["--exact"] if exact else []))
    if not here or not there:
        return
    for key in NUMBERS:
        check(here[key] == there[key], f"{what}: {key} is {there[key]}, but {here[key]} in one process")
    one = in_one_process(data, 1, exact)
    check(one and one["L"] == there["L"], f"{what}: L is {there['L']}, and another one with one worker")
    check(0 < there["setup_bytes"] < PER_RANK * ranks, f"{what}: {there['setup_bytes']} bytes of set-up")
    check(there["setup_bytes"] < there["sent_bytes"], f"{what}: set-up is a part of what was sent")


transports = transports_here()
named = [row["name"] for row in json.loads(subprocess.run([tithe, "list", "data", "--json", "-"], capture_output=True, text=True, check=True).stdout)]
check(sorted(named) == sorted(SMALL), f"every data set is tried: {sorted(set(named) ^ set(SMALL))}")
with tempfile.TemporaryDirectory() as folder:
    for name, sets in [*SMALL.items(), ("a file", [own_file(folder)])]:
        for data in sets:
            if data in IMAGES and not is_here(data):
                print(f"SKIP: {data}: it is not on this machine")
                continue
            exact = name not in LARGE and data not in IMAGES
            for transport in transports if name not in LARGE else transports[:1]:
                for ranks in RANKS:
                    compare(data, transport, ranks, exact)
for transport in transports:
    plain = train("a9a-like:scale=0.05", 2, transport)
    check(plain and plain["gap"] is None and plain["L"] > 0, f"{transport}: nobody asked for the minimum")
    given = train("a9a-like:scale=0.05", 2, transport, "--step-size", "0.1", "--l2", "1e-3")
    check(given and given["L"] is None, f"{transport}: nothing to find out, so nothing was")
finish(skipped=not transports)
