#!/usr/bin/env python3
"""Puts an exchange beside MPI's own all-reduce: dense in one process against shared memory, and top-k over TCP against dense.

usage: bench/exchange.py [--n 2^24] [--ranks 2] [--rounds 9] [--build build]

Over TCP the all-reduce is measured twice: as Open MPI chooses it, and with the ring forced."""
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--n", default="2^24")
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--build", default="build")
wanted = parser.parse_args()
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
mpirun = os.environ.get("MPIRUN", "mpirun")
program = f"{wanted.build}/tests/bench_exchange_mpi"
if not shutil.which(mpirun) or not os.path.exists(program):
    print(f"exchange: {mpirun} or {program} is missing, so there is nothing to compare with.")
    sys.exit(0)

TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
RING = [*TCP, "--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", "4"]


def over_mpi(how, *options):
    done = subprocess.run([mpirun, "--oversubscribe", "-n", str(wanted.ranks), *options, program, how, str(n), str(wanted.rounds)],
                          capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"exchange: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return found["median"], found["fastest"]


def here(row):
    done = subprocess.run([f"{wanted.build}/tithe", "bench", "exchange", "--n", str(n), "--rows", row, "--data", "gaussian",
                           "--threads", "1", "--rounds", str(wanted.rounds), "--json", "-"], capture_output=True, text=True, check=True)
    found = [r for r in json.loads(done.stdout)["results"] if r["name"] == row][0]
    return found["seconds"], found["fastest"]


def show(name, times, beside=None):
    ratio = f"{beside[0] / times[0]:8.2f} x" if beside else ""
    print(f"  {name:<44}{1e3 * times[0]:9.1f} ms{1e3 * times[1]:9.1f} ms{ratio}")


print(f"{n} numbers, {wanted.ranks} ranks, median and fastest of {wanted.rounds}\n")
shared = over_mpi("allreduce")
show("MPI_Allreduce, shared memory", shared)
if wanted.ranks in (2, 4):
    show("ring in one process, one thread", here(f"allreduce.ring@{wanted.ranks}"), shared)
print()
default, ring = over_mpi("allreduce", *TCP), over_mpi("allreduce", *RING)
show("MPI_Allreduce over TCP, as it comes", default)
show("MPI_Allreduce over TCP, ring", ring, default)
for codec in ("raw", "topk:keep=0.01", "topk:keep=0.01|natural"):
    times = over_mpi(f"codec={codec};feedback={'none' if codec == 'raw' else 'ec'}", *TCP)
    show(f"Tithe over TCP, {codec}", times, default)
    print(f"  {'':<44}{'':>24}{ring[0] / times[0]:8.2f} x the ring's")
