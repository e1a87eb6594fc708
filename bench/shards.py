#!/usr/bin/env python3
"""Puts compressed parts (the scheme shards) beside our own dense ring and MPI's all-reduce, on networks that tools/netlab makes.

usage: bench/shards.py [--hosts 4,8] [--rates 100mbit,1000mbit] [--transports mpi,zmq] [--n 2^22] [--steps 5] [--build build] [--json FILE]

A rate may also be none, links as fast as they go, or loopback, without hosts. A row is the median of a few steps
(bench/exchange_steps.c), each from its start on all hosts to its end on the last one, and what that is of the dense ring on the
same network and transport. Needs root, as namespaces do."""
import argparse
import json
import os
import statistics

from lab import run, take_precedence

ROWS = [("dense", "ring", "raw"), ("shards", "auto", "natural"), ("shards", "auto", "bf16"),
        ("shards", "auto", "dither:s=7,p=inf,bucket=128"), ("shards", "auto", "dither:s=127,p=inf,bucket=128"),
        ("shards", "auto", "dither:s=127,p=inf,bucket=512")]

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--hosts", default="4,8")
parser.add_argument("--rates", default="100mbit,1000mbit")
parser.add_argument("--transports", default="mpi,zmq")
parser.add_argument("--n", default="2^22")
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
program = os.path.abspath(os.path.join(wanted.build, "tests/bench_exchange_steps"))
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)


def measure(rate, hosts, transport, scheme, collective, codec):
    command = [program, transport, scheme, collective, codec, str(n), str(wanted.steps), "--workers", str(hosts)]
    return statistics.median(run(rate, hosts, transport, command)["seconds"])


answers = []
print(f"{n} numbers, median of {wanted.steps} steps")
for rate in wanted.rates.split(","):
    for hosts in map(int, wanted.hosts.split(",")):
        for transport in wanted.transports.split(","):
            dense = None
            for scheme, collective, codec in ROWS:
                seconds = measure(rate, hosts, transport, scheme, collective, codec)
                dense = dense or seconds
                answers.append({"rate": rate, "hosts": hosts, "transport": transport, "scheme": scheme, "collective": collective,
                                "codec": codec, "seconds": seconds, "of_dense": seconds / dense})
                print(f"{rate:>9} {hosts} {transport}  {scheme + ' ' + collective:13} {codec:28} {seconds * 1e3:9.1f} ms  "
                      f"{seconds / dense:5.2f} of dense, {dense / seconds:5.2f} times as fast", flush=True)
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1)
