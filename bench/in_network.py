#!/usr/bin/env python3
"""Puts sums inside the network (the scheme switch, with `tithe switch` in the middle of tools/netlab) beside star, shards and the dense ring.

usage: bench/in_network.py [--hosts 2,4,8] [--rates 100mbit] [--n 2^20] [--steps 5] [--build build] [--json FILE] [--svg FILE] [--show FILE]

A row is the median of a few steps (bench/exchange_steps.c), each from its start on all hosts to its end on the last one, what that is of the dense
ring on the same network, and the bytes of a step over the busiest link, up and down, as the kernel counts them, heads and
acknowledgements included. Ranks are those of MPI; the switch is reached over UDP. Needs root, as namespaces do."""
import argparse
import json
import math
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
parser.add_argument("--svg", help="a picture of the first rate")
parser.add_argument("--show", help="what an earlier call wrote with --json: nothing is measured")
wanted = parser.parse_args()
build = os.path.abspath(wanted.build)
n = 1 << int(wanted.n[2:]) if wanted.n.startswith("2^") else int(wanted.n)


def measure(rate, hosts, scheme, collective, codec, backend):
    command = [f"{build}/tests/bench_exchange_steps", "mpi", scheme, collective, codec, str(n), str(wanted.steps), "--workers", str(hosts)]
    inside = None
    if backend:
        command += ["--switch", "10.77.0.254:5555"]
        inside = [f"{build}/tithe", "switch", "--workers", str(hosts), "--listen", "10.77.0.254:5555", "--trusted", "--backend", backend]
    return in_lab(rate, hosts, "mpi", command, inside=inside)


def tick_of(most):
    """The distance of round numbers, 1, 2 or 5 times a power of ten, of which at least four fit below `most`."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    return max(step * power for step in (1, 2, 5) if 4 * step * power <= most)


def picture(rows, path):
    """Two panels by the number of hosts, a line for each row: milliseconds of a step, and megabytes over the busiest link."""
    width, height, left = 380, 260, 60
    hosts = sorted({row["hosts"] for row in rows})
    names = list(dict.fromkeys(name_of(row) for row in rows))
    colours = ["#333333", "#7a7a7a", "#5b8db8", "#c0392b", "#e59a8f", "#2e7d32", "#9ccc9c", "#7d3c98"]
    parts = []
    for panel, (head, value) in enumerate((("ms of a step", lambda row: 1e3 * row["seconds"]),
                                           ("MB over the busiest link", lambda row: (row["link_up"] + row["link_down"]) / 2e6))):
        begin, most = left + panel * (width + left), max(map(value, rows))
        tick = tick_of(most)
        count = math.ceil(most / tick)
        top = count * tick
        x = {h: begin + width * i / max(1, len(hosts) - 1) for i, h in enumerate(hosts)}
        parts.append(f'<text x="{begin}" y="16" font-weight="bold">{head}</text><path d="M{begin} 30V{30 + height}H{begin + width}" fill="none" stroke="#999"/>')
        parts += [f'<text x="{x[h]:.0f}" y="{height + 48}" text-anchor="middle">{h} hosts</text>' for h in hosts]
        for i in range(1, count + 1):
            y = 30 + height * (1 - i / count)
            parts.append(f'<path d="M{begin} {y:.0f}h{width}" stroke="#eee"/><text x="{begin - 6}" y="{y + 4:.0f}" text-anchor="end">{i * tick:g}</text>')
        for colour, name in zip(colours, names):
            points = [(x[row["hosts"]], 30 + height * (1 - value(row) / top)) for row in rows if name_of(row) == name]
            parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"><title>{name}</title></circle>' for a, b in points]
    for i, (colour, name) in enumerate(zip(colours, names)):
        a, b = left + i % 4 * 210, height + 72 + i // 4 * 20
        parts.append(f'<rect x="{a}" y="{b - 10}" width="12" height="12" fill="{colour}"/><text x="{a + 18}" y="{b}">{name}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (width + left) + 40} {height + 110}" font-family="sans-serif" font-size="12">'
                   f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')


def name_of(row):
    return " ".join(filter(None, (row["scheme"], row["backend"], row["codec"])))


def measure_all():
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
                      f"{dense / seconds:5.2f} times as fast as dense  {done['link_up'] / 1e6:6.2f} MB up  {done['link_down'] / 1e6:6.2f} MB down",
                      flush=True)
    return answers


if wanted.show:
    with open(wanted.show, encoding="utf-8") as file:
        found = json.load(file)
else:
    take_precedence()
    found = measure_all()
if wanted.json:
    with open(wanted.json, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
if wanted.svg:
    picture([row for row in found if row["rate"] == found[0]["rate"]], wanted.svg)
