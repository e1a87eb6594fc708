#!/usr/bin/env python3
"""Puts compressed parts (the scheme shards) beside our own dense ring and MPI's all-reduce, on networks that tools/netlab makes.

usage: bench/shards.py [--hosts 4,8] [--rates 100mbit,1000mbit] [--transports mpi,zmq] [--n 2^22] [--steps 5] [--build build] [--json FILE]

A row is the median of a few steps (bench/exchange_steps.c), each from its start on all hosts to its end on the last one, and what
that is of the dense ring on the same network and transport. Needs root, as namespaces do."""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROWS = [("dense", "ring", "raw"), ("dense", "native", "raw"), ("shards", "auto", "natural"), ("shards", "auto", "bf16"),
        ("shards", "auto", "dither:s=7"), ("shards", "auto", "dither:s=127,p=inf")]
# as in bench/netlab.py
SETTINGS = ["net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_notsent_lowat=131072", "net.ipv4.tcp_slow_start_after_idle=0"]

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
if os.geteuid() != 0:
    sys.exit("shards: needs root, since it makes network namespaces: sudo bench/shards.py")
program = os.path.abspath(os.path.join(wanted.build, "tests/bench_exchange_steps"))
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)
os.setpriority(os.PRIO_PROCESS, 0, -15)  # ahead of what else runs here


def measure(rate, hosts, transport, scheme, collective, codec):
    lab = [os.path.join(here, "../tools/netlab"), "--hosts", str(hosts), "--rate", rate]
    for setting in SETTINGS:
        lab += ["--sysctl", setting]
    command = [program, transport, scheme, collective, codec, str(n), str(wanted.steps), "--workers", str(hosts)]
    done = subprocess.run([*lab, transport, *command], capture_output=True, text=True, timeout=900)
    start = done.stdout.find("{")
    if done.returncode or start < 0:
        sys.exit(f"shards: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return statistics.median(json.loads(done.stdout[start:])["seconds"])


answers = []
print(f"{n} numbers, median of {wanted.steps} steps")
for rate in wanted.rates.split(","):
    for hosts in map(int, wanted.hosts.split(",")):
        for transport in wanted.transports.split(","):
            dense = None
            for scheme, collective, codec in ROWS:
                if collective == "native" and transport != "mpi":
                    continue
                seconds = measure(rate, hosts, transport, scheme, collective, codec)
                dense = dense or seconds
                answers.append({"rate": rate, "hosts": hosts, "transport": transport, "scheme": scheme, "collective": collective,
                                "codec": codec, "seconds": seconds, "of_dense": seconds / dense})
                print(f"{rate:>9} {hosts} {transport}  {scheme + ' ' + collective:13} {codec:20} {seconds * 1e3:9.1f} ms  "
                      f"{seconds / dense:5.2f} of dense, {dense / seconds:5.2f} times as fast", flush=True)
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1)
