#!/usr/bin/env python3
"""Puts what `tithe probe` and `tithe plan` say beside what is measured, on networks that tools/netlab makes.

usage: bench/netlab.py [--hosts 2,4] [--networks 10mbit,10mbit+10ms,...] [--transports mpi,zmq] [--rows PATTERN,...]
                       [--steps 9] [--link FILE] [--build build] [--sysctl KEY=VALUE]... [--json FILE|-]

On every network the probe is judged first: bandwidth within 10 % of the payload's share of the rate (TCP carries 1448 bytes in a
frame of 1514), latency within 0.5 ms of what was set. Then each scheme over each collective makes a few exchanges
(bench/exchange_steps.c), and the median is put beside `tithe plan --cost FILE` with what the probe measured: transfer, and codec
as measured on this CPU; hosts that share a core have their share of it. Judged is |predicted - measured| <= 20 % of the measured; `native` is shown, not judged. What is off is
measured once more, and says so.

--link takes the file of an earlier probe in place of one: for many hosts, whose links are alike.

Needs root, as namespaces do. Takes about half an hour; exit status 1 if anything is off."""
import argparse
import fnmatch
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

from lab import SETTINGS, in_lab, take_precedence

PAYLOAD = 1448 / 1514  # of an Ethernet frame, under TCP with time stamps
KEEP = 0.1
NETWORKS = "10mbit,10mbit+10ms,100mbit,100mbit+10ms,1000mbit"
ROWS = [("dense", "ring"), ("dense", "tree"), ("dense", "star"), ("dense", "direct"), ("dense", "native"), ("gather", "allgather"),
        ("gather", "tree"), ("star", "star"), ("artopk", "ring"), ("artopk", "tree"), ("artopk", "direct")]

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__)
parser.add_argument("--hosts", default="2,4")
parser.add_argument("--networks", default=NETWORKS)
parser.add_argument("--transports", default="mpi,zmq")
parser.add_argument("--rows", default="*")
parser.add_argument("--steps", type=int, default=9)
parser.add_argument("--link")
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--sysctl", action="append", default=[])
parser.add_argument("--json")
wanted = parser.parse_args()
take_precedence()
tithe, steps_program = (os.path.abspath(os.path.join(wanted.build, name)) for name in ("tithe", "tests/bench_exchange_steps"))
for program in (tithe, steps_program):
    if not os.path.exists(program):
        sys.exit(f"netlab: {program} is missing: build with -DTITHE_TESTS=ON, or say --build")
talk = sys.stderr if wanted.json == "-" else sys.stdout
settings = SETTINGS | dict(s.split("=", 1) for s in wanted.sysctl)


def say(text):
    print(text, file=talk, flush=True)


def expected_link(network):
    rate, _, delay = network.partition("+")
    return float(rate.replace("mbit", "")) * 1e6 / 8 * PAYLOAD, float(delay.replace("ms", "") or 0) / 1e3


def numbers(network, scheme):
    """Enough that a step takes longer than the 4 ms of its rate that a link lets pass at once, and not so many that it takes forever."""
    megabits = expected_link(network)[0] * 8 / PAYLOAD / 1e6
    return (1 << 18 if megabits < 50 else 1 << 20 if megabits < 500 else 1 << 22) * (1 if scheme == "dense" else 2)


def probe(network, hosts, transport, table):
    command = [tithe, "probe", "--transport", transport, "--workers", str(hosts), "--out", table, "--json", "-"]
    bandwidth, latency = expected_link(network)
    for again in (False, True):
        found = in_lab(network, hosts, transport, command, settings)
        row = {"network": network, "hosts": hosts, "transport": transport, "latency_s": found["latency_s"],
               "bandwidth_Bps": found["bandwidth_Bps"], "set_latency_s": latency, "set_bandwidth_Bps": bandwidth, "again": again}
        row["holds"] = abs(row["bandwidth_Bps"] / bandwidth - 1) <= 0.1 and abs(row["latency_s"] - latency) <= 0.5e-3
        if row["holds"]:
            break
    say(f"{network:>12} {hosts} {transport}  probe  {row['bandwidth_Bps'] * 8e-6:7.1f} of {bandwidth * 8e-6:6.1f} Mbit/s, "
        f"{row['latency_s'] * 1e3:6.2f} of {latency * 1e3:.0f} ms  {verdict(row)}")
    return row


def predict(hosts, n, table, scheme, collective):
    """The row of `tithe plan`. It counts on a core for each worker, and where there are fewer the codec takes that much longer."""
    command = [tithe, "plan", "--params", str(n), "--workers", str(hosts), "--keep", str(KEEP), "--cost", table, "--json", "-"]
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.dirname(table))  # the codec is measured here and now
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    wanted_row = (scheme, "ring" if collective == "native" else collective)
    row = next(r for r in answer["rows"] if (r["scheme"], r["collective"]) == wanted_row)
    crowd = max(1, hosts / os.cpu_count())
    if scheme == "star":  # about half of it is the server's own, while the others wait
        crowd = (1 + crowd) / 2
    return row["network_seconds"], row["codec_seconds"] * crowd


def measure(network, hosts, transport, table, scheme, collective):
    n = numbers(network, scheme)
    codec = "raw" if scheme == "dense" else f"topk:keep={KEEP}"
    command = [steps_program, transport, scheme, collective, codec, str(n), str(wanted.steps), "--workers", str(hosts)]
    network_s, codec_s = predict(hosts, n, table, scheme, collective)
    predicted = network_s + codec_s
    for again in (False, True):
        found = in_lab(network, hosts, transport, command, settings)
        measured = statistics.median(found["seconds"])
        row = {"network": network, "hosts": hosts, "transport": transport, "scheme": scheme, "collective": collective, "n": n,
               "predicted_s": predicted, "network_s": network_s, "codec_s": codec_s, "measured_s": measured,
               "steps": found["seconds"], "off": predicted / measured - 1, "judged": collective != "native", "again": again}
        row["holds"] = abs(row["off"]) <= 0.2
        if row["holds"] or not row["judged"]:
            break
    say(f"{network:>12} {hosts} {transport}  {scheme + ' ' + collective:17} predicted {row['predicted_s'] * 1e3:8.1f} ms, "
        f"measured {measured * 1e3:8.1f} ms {100 * row['off']:+6.1f} %  {verdict(row)}")
    return row


def verdict(row):
    if not row.get("judged", True):
        return "not judged"
    return ("" if row["holds"] else "OFF") + (" (measured again)" if row["again"] else "")


def matrix(probes, steps):
    """One line for each network, hosts and transport, as docs/plan.md has it: what the probe found, and predicted against measured."""
    rows = [r for r in ROWS if any((s["scheme"], s["collective"]) == r for s in steps)]
    lines = ["| network | hosts | over | Mbit/s | ms | " + " | ".join(f"{scheme} {collective}" for scheme, collective in rows) + " |",
             "|---|---|---|" + "---:|" * (2 + len(rows))]
    for p in probes:
        key = ("network", "hosts", "transport")
        off = {(s["scheme"], s["collective"]): s["off"] for s in steps if all(s[k] == p[k] for k in key)}
        cells = [f"{100 * off[r]:+.0f} %" if r in off else "" for r in rows]
        lines.append(f"| {p['network']} | {p['hosts']} | {p['transport']} | {p['bandwidth_Bps'] * 8e-6:.1f} | {p['latency_s'] * 1e3:.2f} | " +
                     " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    probes, steps = [], []
    with tempfile.TemporaryDirectory() as folder:
        for network in wanted.networks.split(","):
            for hosts in map(int, wanted.hosts.split(",")):
                for transport in wanted.transports.split(","):
                    table = os.path.join(folder, "link.csv")
                    if wanted.link:
                        shutil.copy(wanted.link, table)
                    else:
                        probes.append(probe(network, hosts, transport, table))
                    for scheme, collective in ROWS:
                        chosen = any(fnmatch.fnmatch(f"{scheme} {collective}", pattern) for pattern in wanted.rows.split(","))
                        if chosen and (collective != "native" or transport == "mpi"):
                            steps.append(measure(network, hosts, transport, table, scheme, collective))
    judged = [s for s in steps if s["judged"]]
    off = [r for r in probes + judged if not r["holds"]]
    worst = max((abs(s["off"]) for s in judged), default=0)
    if probes:
        say("\n" + matrix(probes, steps))
    say(f"\n{len(probes)} probes and {len(judged)} step times judged, {len(off)} off; the farthest step time is {100 * worst:.0f} % off")
    if wanted.json:
        answer = {"settings": settings, "kernel": platform.release(), "cores": os.cpu_count(), "keep": KEEP, "probes": probes,
                  "steps": steps, "off": len(off), "worst": worst}
        text = json.dumps(answer, indent=1) + "\n"
        if wanted.json == "-":
            sys.stdout.write(text)
        else:
            with open(wanted.json, "w", encoding="utf-8") as file:
                file.write(text)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
