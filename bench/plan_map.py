#!/usr/bin/env python3
"""Draws who wins where, over latency and bandwidth: one map by the paper's formulas, one by what this library sends.

usage: bench/plan_map.py [--params 25557032] [--workers 8] [--keep 0.01] [--build build] [--out docs/plan.svg]

Every cell is one answer of `tithe plan --json`, codec included as measured on this machine."""
import argparse
import json
import os
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--params", default="25557032")
parser.add_argument("--workers", default="8")
parser.add_argument("--keep", default="0.01")
parser.add_argument("--build", default="build")
parser.add_argument("--out", default="docs/plan.svg")
wanted = parser.parse_args()

NAMES = {("dense", "star"): ("dense, star", "#7d8590"), ("dense", "ring"): ("dense, ring", "#57606a"), ("dense", "tree"): ("dense, tree", "#8c959f"),
         ("dense", "direct"): ("dense, direct", "#afb8c1"), ("gather", "allgather"): ("gather", "#d55e00"), ("gather", "tree"): ("gather, tree", "#e69f00"),
         ("star", "star"): ("star, both ways", "#009e73"), ("artopk", "ring"): ("AR-Top-k, ring", "#0072b2"), ("artopk", "tree"): ("AR-Top-k, tree", "#56b4e9"),
         ("artopk", "direct"): ("AR-Top-k, direct", "#cc79a7"), ("artopk", "star"): ("AR-Top-k, star", "#f0e442")}
PER_DECADE, CELL, LEFT, TOP, GAP = 4, 17, 74, 64, 40
LATENCIES = [1e-5 * 10 ** (i / PER_DECADE) for i in range(4 * PER_DECADE + 1)]       # 10 us to 100 ms
BANDWIDTHS = [1e6 / 8 * 10 ** (i / PER_DECADE) for i in range(5 * PER_DECADE + 1)]    # 1 Mbit/s to 100 Gbit/s
WIDTH, HEIGHT = CELL * len(BANDWIDTHS), CELL * len(LATENCIES)


def winner(count, latency, bandwidth):
    command = [os.path.join(wanted.build, "tithe"), "plan", "--params", wanted.params, "--workers", wanted.workers, "--keep", wanted.keep,
               "--latency", f"{latency:.6g}", "--bandwidth", f"{bandwidth:.6g}", "--count", count, "--json", "-"]
    row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["winner"]
    return row["scheme"], row["collective"]


def draw(count, title, left):
    seen, out = [], [f'<text class="title" x="{left}" y="{TOP - 14}">{title}</text>']
    for i, latency in enumerate(LATENCIES):
        for j, bandwidth in enumerate(BANDWIDTHS):
            won = winner(count, latency, bandwidth)
            seen += [won] if won not in seen else []
            out.append(f'<rect x="{left + CELL * j}" y="{TOP + CELL * i}" width="{CELL - 1}" height="{CELL - 1}" fill="{NAMES[won][1]}"/>')
    for j, text in enumerate(("1 Mbit/s", "10", "100", "1 Gbit/s", "10", "100")):
        out.append(f'<text text-anchor="middle" x="{left + CELL * (j * PER_DECADE) + CELL / 2}" y="{TOP + HEIGHT + 18}">{text}</text>')
    for row, won in enumerate(sorted(seen, key=list(NAMES).index)):
        x, y = left + 200 * (row % 2), TOP + HEIGHT + 50 + 22 * (row // 2)
        out.append(f'<rect x="{x}" y="{y - 11}" width="13" height="13" fill="{NAMES[won][1]}"/><text x="{x + 20}" y="{y}">{NAMES[won][0]}</text>')
    return out, (len(seen) + 1) // 2


parts = []
for i, text in enumerate(("10 µs", "100 µs", "1 ms", "10 ms", "100 ms")):
    parts.append(f'<text text-anchor="end" x="{LEFT - 8}" y="{TOP + CELL * i * PER_DECADE + CELL - 5}">{text}</text>')
paper, some = draw("paper", "as the paper counts", LEFT)
own, more = draw("frame", "as this library sends", LEFT + WIDTH + GAP)
whole = (LEFT + 2 * WIDTH + GAP + 24, TOP + HEIGHT + 50 + 22 * max(some, more))
head = f"Fastest way for {int(float(wanted.params)):,} numbers and {wanted.workers} workers at keep {wanted.keep}: latency down, bandwidth across"
with open(wanted.out, "w", encoding="utf-8") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" width="{whole[0]}" height="{whole[1]}">\n'
               '<style>text{font:13px sans-serif;fill:#24292f}.title{font-weight:bold}.head{font-size:15px}</style>\n'
               f'<rect width="100%" height="100%" fill="#ffffff"/>\n<text class="head" x="12" y="24">{head}</text>\n' + "\n".join(parts + paper + own) + "\n</svg>\n")
