#!/usr/bin/env python3
"""Puts our dense ring beside MPI's own all-reduce, on this machine's loopback and on networks that tools/netlab makes.

usage: bench/dense.py [--ranks 2,4] [--networks loopback,none,1000mbit,100mbit] [--n 2^24] [--slow 2^22] [--series 3] [--rounds 9]
                      [--build build] [--json FILE]

The network none is one of hosts with links as fast as they go; at up to 100 Mbit the vector has --slow numbers. MPI_Allreduce is measured
over TCP as Open MPI chooses its algorithm and with the ring forced, and the faster of the two is 1.0. The rows take turns in a
few series, so that a machine that is slower for a while is so for all of them; a time is the median of all rounds of all
series, beside it the fastest, and a ratio the median over the series of the ratio of their medians. Needs root, as namespaces do."""
import argparse
import json
import os
import statistics

from lab import run, take_precedence

RING = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "4"}
here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--ranks", default="2,4")
parser.add_argument("--networks", default="loopback,none,1000mbit,100mbit")
parser.add_argument("--n", default="2^24")
parser.add_argument("--slow", default="2^22")
parser.add_argument("--series", type=int, default=3)
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
over_mpi, steps = (os.path.abspath(os.path.join(wanted.build, "tests", name)) for name in ("bench_exchange_mpi", "bench_exchange_steps"))


def measure(network, ranks, n, row):
    """Seconds of some all-reduces."""
    if row == "zmq":
        command = [steps, "zmq", "dense", "ring", "raw", str(n), str(wanted.rounds), "--workers", str(ranks)]
        return run(network, ranks, "zmq", command)["seconds"]
    how = {"MPI, ring forced": RING, "mpi": {}, "MPI": {}, "mpi, native": {}}[row]
    options = {"mpi": "codec=raw;feedback=none;collective=ring", "mpi, native": "codec=raw;feedback=none;collective=native"}
    os.environ.update(how)
    try:
        return run(network, ranks, "mpi", [over_mpi, options.get(row, "allreduce"), str(n), str(wanted.rounds)])["seconds"]
    finally:
        for key in how:
            del os.environ[key]


def numbers(text):
    return 1 << int(text[2:]) if text.startswith("2^") else int(text)


ROWS = ("MPI", "MPI, ring forced", "mpi", "mpi, native", "zmq")
answers = []
for network in wanted.networks.split(","):
    for ranks in map(int, wanted.ranks.split(",")):
        slow = network.endswith("mbit") and int(network[:-4]) <= 100
        n = numbers(wanted.slow if slow else wanted.n)
        times = {row: [] for row in ROWS}
        for _ in range(wanted.series):
            for row in ROWS:
                times[row].append(measure(network, ranks, n, row))
        medians = {row: [statistics.median(rounds) for rounds in times[row]] for row in ROWS}
        best = [min(pair) for pair in zip(*(medians[row] for row in ROWS if row.startswith("MPI")))]
        for row in ROWS:
            ratio = statistics.median(own / other for own, other in zip(medians[row], best))
            rounds = [seconds for series in times[row] for seconds in series]
            answers.append({"network": network, "ranks": ranks, "n": n, "row": row, "ratio": ratio, "series": times[row]})
            print(f"{network:>9} {ranks} ranks, {n} numbers  {row:17}{statistics.median(rounds) * 1e3:10.1f} ms "
                  f"({min(rounds) * 1e3:.1f}) {ratio:6.2f}", flush=True)
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1)
