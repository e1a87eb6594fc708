#!/usr/bin/env python3
"""Puts sums inside the network (the scheme switch, with `tithe switch` in the middle of tools/netlab) beside star, shards and the dense ring.

usage: bench/in_network.py [--hosts 2,4,8] [--rates 100mbit] [--n 2^20] [--steps 5] [--build build] [--json FILE]

A row is the median of a few steps (bench/exchange_steps.c), each from its start on all hosts to its end on the last one, what that is of the dense
ring on the same network, and the bytes of a step over the busiest link, up and down, as the kernel counts them, heads and
acknowledgements included. Ranks are those of MPI; the switch is reached over UDP. Needs root, as namespaces do."""
import argparse
import json
import os
import statistics

from lab import in_lab, take_precedence

#       scheme, collective, codec, backend of the switch
ROWS = [("dense", "ring", "raw", None), ("star", "star", "natural", None), ("shards", "auto", "natural", None),
        ("switch", "star", "natural", "udp"), ("switch", "star", "natural", "bpf"), ("switch", "star", "int32", "udp"),
        ("switch", "star", "int32", "bpf"), ("switch", "star", "dither:s=7", "udp")]

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--hosts", default="2,4,8")
parser.add_argument("--rates", default="100mbit")
parser.add_argument("--n", default="2^20")
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
build = os.path.abspath(wanted.build)
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)


def measure(rate, hosts, scheme, collective, codec, backend):
    command = [f"{build}/tests/bench_exchange_steps", "mpi", scheme, collective, codec, str(n), str(wanted.steps), "--workers", str(hosts)]
    inside = None
    if backend:
        command += ["--switch", "10.77.0.254:5555"]
        inside = [f"{build}/tithe", "switch", "--workers", str(hosts), "--listen", "10.77.0.254:5555", "--trusted", "--backend", backend]
    return in_lab(rate, hosts, "mpi", command, inside=inside)


answers = []
print(f"{n} numbers, median of {wanted.steps} steps")
for rate in wanted.rates.split(","):
    for hosts in map(int, wanted.hosts.split(",")):
        dense = None
        for scheme, collective, codec, backend in ROWS:
            done = measure(rate, hosts, scheme, collective, codec, backend)
            seconds = statistics.median(done["seconds"])
            dense = dense or seconds
            answers.append({"rate": rate, "hosts": hosts, "scheme": scheme, "collective": collective, "codec": codec, "backend": backend,
                            "seconds": seconds, "of_dense": seconds / dense, "link_up": done["link_up"], "link_down": done["link_down"]})
            print(f"{rate:>9} {hosts}  {scheme + (' ' + backend if backend else ''):12} {codec:11} {seconds * 1e3:8.1f} ms  "
                  f"{dense / seconds:5.2f} times as fast as dense  {done['link_up'] / 1e6:6.2f} MB up  {done['link_down'] / 1e6:6.2f} MB down", flush=True)
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1)
