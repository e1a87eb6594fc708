#!/usr/bin/env python3
"""CAT against the best fixed level in hindsight, as a table in Markdown.

    TITHE_DATA=folder bench/hindsight.py [--tithe build/tithe] [--data rcv1-1k] [--workers 1] [--feedback none,ec]

For every cost, codec and target loss: what CAT paid, what the cheapest of the fixed levels T = 1, 2, 4, ... paid, and
their quotient. Nobody knows that T before the run; CAT has to be told nothing. Both sides have the same step size, the
same feedback, and pay for the same frames. A fixed level is given up when it has paid three times what CAT did."""
import argparse
import json
import math
import os
import subprocess
import tempfile

COSTS = ("bits", "affine:c0=432,c1=1", "802.15.4", "802.15.4-127", "ethernet-udp",
         "alphabeta:latency=1ms,bandwidth=10Mbit", "alphabeta:latency=50ms,bandwidth=10Mbit")
CODECS = (("SG", "topk{}|raw"), ("S+Q", "topk{}|sign"))
GIVE_UP = 3  # times what CAT paid
MOST_STEPS = 20000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--data", default="rcv1-1k")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--l2", default="1e-4")
    parser.add_argument("--losses", default="0.4,0.3")
    parser.add_argument("--feedback", default="none,ec")
    parser.add_argument("--costs", default=";".join(COSTS), help="with semicolons between them")
    parser.add_argument("--count", default="frame")
    return parser.parse_args()


def train(a, feedback, cost, codec, *options):
    """The answer of one run; None: it did not get there."""
    words = [os.path.abspath(a.tithe), "train", "--data", a.data, "--workers", a.workers, "--l2", a.l2, "--no-optimum",
             "--count", a.count, "--feedback", feedback, "--cost", cost, "--codec", codec, *options, "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    return answer if answer["target_reached"] is not False else None


def powers(a):
    """1, 2, 4, ... up to the number of features, which the raw frame of one step tells."""
    with tempfile.NamedTemporaryFile("r", suffix=".json"):
        one = train(a, "none", "bits", "all|raw", "--steps", "1")
    features = one["uplink_bytes"] // int(a.workers) // 4
    return [2 ** i for i in range(int(math.log2(features)) + 1)]


def best_fixed(a, levels, feedback, cost, codec, loss, most):
    best = (math.inf, None, None)
    for level in levels:
        spec = codec.format(f":k={level}")
        message = train(a, feedback, cost, spec, "--tuner", "fixed", "--steps", "1")["cost"]
        steps = min(MOST_STEPS, math.ceil(min(GIVE_UP * most, best[0]) / message))
        run = train(a, feedback, cost, spec, "--tuner", "fixed", "--steps", str(steps), "--target-loss", loss)
        if run and run["cost"] < best[0]:
            best = (run["cost"], level, run["steps"])
    return best


def show(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main():
    a = arguments()
    levels = powers(a)
    worst = {}
    for feedback in a.feedback.split(","):
        print(f"\nFeedback `{feedback}`, {a.workers} worker(s):\n")
        print("| cost | codec | loss | CAT pays (steps) | best fixed T pays (T, steps) | CAT / best fixed |")
        print("|---|---|---|---|---|---|")
        for cost in a.costs.split(";"):
            for name, codec in CODECS:
                for loss in a.losses.split(","):
                    cat = train(a, feedback, cost, codec.format(""), "--tuner", "cat", "--steps", str(MOST_STEPS),
                                "--target-loss", loss)
                    if not cat:
                        print(f"| `{cost}` | {name} | {loss} | not reached | | |")
                        continue
                    price, level, steps = best_fixed(a, levels, feedback, cost, codec, loss, cat["cost"])
                    share = cat["cost"] / price
                    worst[feedback] = max(worst.get(feedback, 0), share)
                    print(f"| `{cost}` | {name} | {loss} | {show(cat['cost'])} {cat['cost_unit']} ({cat['steps']}) | "
                          f"{show(price)} {cat['cost_unit']} ({level}, {steps}) | {share:.2f} |", flush=True)
    for feedback, share in worst.items():
        print(f"\nThe worst of feedback `{feedback}`: {share:.2f}")


if __name__ == "__main__":
    main()
