#!/usr/bin/env python3
"""Does what `tithe advise` recommends hold in full? A table in Markdown.

    TITHE_DATA=folder bench/advise.py [--tithe build/tithe] [--only a9a,w8a] [--minutes M]

For each data set and each link: advise, then every candidate's own command on the whole data, on a clock of that link (--network,
with the gradient as advise measured it), until it has the loss that advise names. What the recommended one takes is compared with the
best of them and with dense. Encoding and decoding, which the computed clock does not know, are added as the plan has them."""
import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import time

SETS = {"a9a": ["--data", "a9a"], "w8a": ["--data", "w8a"], "mushrooms": ["--data", "mushrooms"], "rcv1-1k": ["--data", "rcv1-1k", "--l2", "1e-4"],
        "mnist 4, 9": None, "gisette-like, a fifth": ["--data", "gisette-like:scale=0.2"]}
LINKS = (("10us", "10Gbit"), ("100us", "1Gbit"), ("1ms", "1Gbit"), ("1ms", "100Mbit"), ("1ms", "10Mbit"), ("1ms", "1Mbit"),
         ("50ms", "10Mbit"), ("50ms", "100kbit"))
WORKERS = 4


def call(a, *words):
    done = subprocess.run([os.path.abspath(a.tithe), *words, "--json", "-"], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": a.room})
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{words}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def seconds(a, answer, row):
    """Of a candidate, run in full; infinite if it does not get there in 20 times the steps of the trial's dense run."""
    network = f"latency={answer['latency_s']!r}s,bandwidth={answer['bandwidth_Bps']!r}B,compute={answer['compute_seconds']!r}s"
    steps = 20 * answer["rows"][0]["steps"]
    run = call(a, *shlex.split(row["command"])[1:], "--network", network, "--steps", str(steps), "--no-optimum")
    return run["seconds"] + row["codec_seconds"] / row["steps"] * run["steps"] if run["target_reached"] else math.inf


def digits(room):
    import hindsight
    hindsight.ROWS = 12000
    path = os.path.join(room, "mnist-4-9.svm")
    hindsight.digits(path)
    return ["--data", path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--only", default=";".join(SETS))
    parser.add_argument("--minutes", type=float, default=math.inf)
    a = parser.parse_args()
    end, worst, slowest = time.monotonic() + 60 * a.minutes, 0, 0
    print("| data | link | recommended | trial says, of dense | in full: of dense | of the best |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as a.room:
        for name in a.only.split(";"):
            options = SETS[name] or digits(a.room)
            for latency, bandwidth in LINKS:
                if time.monotonic() > end:
                    sys.exit(f"Time is up. So far: {worst:.2f} of the best, {slowest:.2f} of dense")
                answer = call(a, "advise", *options, "--workers", str(WORKERS), "--latency", latency, "--bandwidth", bandwidth)
                rows = {row["name"]: row for row in answer["rows"]}
                took = {n: seconds(a, answer, row) for n, row in rows.items() if row["reached"]}
                taken = answer["recommended"]["name"]
                of_best, of_dense = took[taken] / min(took.values()), took[taken] / took["dense"]
                worst, slowest = max(worst, of_best), max(slowest, of_dense)
                print(f"| {name} | {latency}, {bandwidth} | {taken} | {rows[taken]['seconds'] / rows['dense']['seconds']:.2f} | {of_dense:.2f} | "
                      f"{of_best:.2f} |", flush=True)
    print(f"\nThe worst: {worst:.2f} of the best candidate, {slowest:.2f} of dense")


if __name__ == "__main__":
    main()
