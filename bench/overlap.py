#!/usr/bin/env python3
"""How much of sending is hidden behind a backward pass, on networks that tools/netlab makes: with --overlap a layer is sent while the
next one is made, so all but the last one could be.

usage: bench/overlap.py [--hosts 2,4] [--rates 100mbit] [--transports mpi,zmq] [--codec topk:keep=0.1] [--n 2^22] [--layers 8] [--steps 7]
                        [--build build]

Steps of bench/exchange_steps.c, whose backward pass takes twice as long as sending all layers one by one does. What shows of sending
is what a step takes beyond that pass. Medians. Needs root, as namespaces do."""
import argparse
import os
import statistics

from lab import in_lab, take_precedence

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--hosts", default="2,4")
parser.add_argument("--rates", default="100mbit")
parser.add_argument("--transports", default="mpi,zmq")
parser.add_argument("--codec", default="topk:keep=0.1")
parser.add_argument("--n", default="2^22")
parser.add_argument("--layers", type=int, default=8)
parser.add_argument("--steps", type=int, default=7)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
wanted = parser.parse_args()
take_precedence()
program = os.path.abspath(os.path.join(wanted.build, "tests/bench_exchange_steps"))
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)


def step(rate, hosts, transport, backward, overlap):
    command = [program, transport, "gather", "allgather", wanted.codec, str(n), str(wanted.steps), "--workers", str(hosts),
               "--layers", str(wanted.layers), "--backward", f"{backward:.6f}", "--overlap", overlap]
    return statistics.median(in_lab(rate, hosts, transport, command)["seconds"])


print(f"{n} numbers in {wanted.layers} layers, {wanted.codec}, median of {wanted.steps} steps; all but the last layer are "
      f"{100 - 100 / wanted.layers:.0f} %")
for rate in wanted.rates.split(","):
    for hosts in map(int, wanted.hosts.split(",")):
        for transport in wanted.transports.split(","):
            alone = step(rate, hosts, transport, 0, "off")
            backward = 2 * alone
            after, beside = (step(rate, hosts, transport, backward, overlap) - backward for overlap in ("off", "on"))
            print(f"{rate:>9} {hosts} {transport}  backward {backward * 1e3:7.1f} ms, sending adds {after * 1e3:7.1f} ms after it and "
                  f"{beside * 1e3:6.1f} ms beside it: {100 * (1 - beside / after):3.0f} % hidden", flush=True)
