#!/usr/bin/env python3
"""What the papers saw, seen again: on data that is generated, and on a9a and w8a where TITHE_DATA has them.

Every figure is printed, so that a run of this script is also a report. Where a comparison has no settled winner it is
printed and nothing is asserted about who wins."""
import csv
import json
import math
import os
import subprocess
import tempfile

from support import check, finish

tithe = os.path.abspath(os.environ["TITHE"])
data = os.environ.get("TITHE_DATA", "")


def train(*options):
    """The result of a run as a dictionary, with the rows of its trace under `trace`."""
    words = [tithe, "train", *options, "--trace", "trace.csv", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": os.getcwd()})
    if done.returncode:
        raise SystemExit(f"FAIL: {' '.join(words)}: exit status {done.returncode}: {done.stderr}")
    result = json.loads(done.stdout)
    with open("trace.csv", encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    result["trace"] = [{key: float(value) for key, value in row.items() if value and key not in ("scheme", "collective", "reason")}
                       for row in csv.DictReader(lines)]
    return result


def floor(result):
    """The mean gap over the last fifth of a run."""
    gaps = [row["gap"] for row in result["trace"]]
    tail = gaps[-max(1, len(gaps) // 5):]
    return sum(tail) / len(tail)


def variance_reduction(name):
    """EC-LSVRG and EC-SGD with a hard threshold and the same step; the floor of the former falls as lambda^2."""
    options = ["--data", name, "--workers", "20", "--l2", "1e-3", "--step-size", "0.3"]
    sgd = train(*options, "--estimator", "sgd", "--codec", "threshold:lambda=0.05", "--epochs", "6")
    floors = {}
    for threshold in (0.05, 0.2, 0.5):
        run = train(*options, "--estimator", "lsvrg", "--codec", f"threshold:lambda={threshold}", "--epochs", "30")
        floors[threshold] = floor(run)
        check(0 < run["residual_share"] <= 1 + 1e-5, f"{name}: |e|^2 is {run['residual_share']} of its bound")
    print(f"{name}: gap of EC-SGD {floor(sgd):.2g}; of EC-LSVRG " +
          ", ".join(f"{gap:.2g} at lambda {threshold}" for threshold, gap in floors.items()))
    check(floor(sgd) >= 100 * floors[0.05], f"{name}: EC-LSVRG is not 100 times lower")
    for low, high in ((0.05, 0.2), (0.2, 0.5)):
        power = math.log(floors[high] / floors[low]) / math.log(high / low)
        print(f"{name}: the floor falls as lambda^{power:.2f} from {high} to {low}")
        check(1.5 <= power <= 2.5, f"{name}: the floor falls as lambda^{power:.2f}")


def importance(name, seeds, ahead):
    """EC-SGD, top-3, each sampling with its own auto step. `ahead`: by that factor; None: within noise."""
    for epochs in (1, 3):
        gaps = {}
        for sampling in ("uniform", "importance"):
            gaps[sampling] = [train("--data", name, "--workers", "20", "--estimator", "sgd", "--sampling", sampling, "--codec",
                                    "topk:k=3", "--epochs", str(epochs), "--seed", str(seed))["gap"] for seed in seeds]
        mean = {key: sum(value) / len(value) for key, value in gaps.items()}
        factor = mean["uniform"] / mean["importance"]
        print(f"{name}, {epochs} epochs: gap {mean['uniform']:.3g} uniform, {mean['importance']:.3g} importance: {factor:.2f} x")
        if ahead:
            check(factor >= ahead, f"{name}: importance sampling is ahead by {factor:.2f} only after {epochs} epochs")
            continue
        spread = max(math.sqrt(sum((g - mean[key]) ** 2 for g in value) / (len(value) - 1)) for key, value in gaps.items())
        distance = abs(mean["uniform"] - mean["importance"])
        check(distance <= 4 * spread / math.sqrt(len(seeds)) + 0.1 * mean["uniform"],
              f"{name}: {distance:.2g} apart, with a spread of {spread:.2g}")


def both_ways(estimator, *options):
    """Natural compression up and down reaches the loss of uncompressed SGD in few more steps and far fewer bytes."""
    steps = 400
    options = ["--data", "a9a-like:scale=0.2", "--workers", "8", "--estimator", estimator, *options]
    dense = train(*options, "--steps", str(steps))
    cheap = train(*options, "--steps", str(int(1.3 * steps)), "--codec", "natural", "--downlink", "natural")
    there = next((row for row in cheap["trace"] if row["loss"] <= dense["loss"]), None)
    check(there, f"{estimator}: natural compression both ways does not reach {dense['loss']:.5f} in {1.3 * steps} steps")
    if not there:
        return
    sent = (there["uplink_bytes"] + there["downlink_bytes"]) / (dense["uplink_bytes"] + dense["downlink_bytes"])
    print(f"{estimator}: natural both ways has the loss {dense['loss']:.5f} in {there['step'] / steps:.2f} of the steps "
          f"and {sent:.3f} of the bytes")
    check(sent <= 0.37, f"{estimator}: {sent:.3f} of the bytes")


def entries(run):
    """Values that a worker sent in a step, on average: the paper's bits count 32 and 9 for each of d <= 512."""
    return run["paper_bits"] / ((32 + 9) * 20 * run["steps"])


def budgets(split):
    """Top-T and threshold with equal budgets. Nobody is declared the winner."""
    options = ["--data", "w8a-like:scale=0.1", "--workers", "20", "--l2", "1e-2", "--step-size", "0.1", "--estimator", "lsvrg",
               "--split", split, "--epochs", "60"]
    top = train(*options, "--codec", "topk:k=5")
    low, high = 1e-4, 10
    for _ in range(12): # the budget falls as lambda grows
        middle = math.sqrt(low * high)
        hard = train(*options, "--codec", f"threshold:lambda={middle:.6g}")
        if abs(entries(hard) / entries(top) - 1) <= 0.05:
            break
        low, high = (middle, high) if entries(hard) > entries(top) else (low, middle)
    print(f"{split}: top-5 sends {entries(top):.2f} values, gap {top['gap']:.2g}, not sent in all {top['unsent']:.3g}; "
          f"threshold {middle:.3g} sends {entries(hard):.2f}, gap {hard['gap']:.2g}, not sent in all {hard['unsent']:.3g}")
    check(abs(entries(hard) / entries(top) - 1) <= 0.1, f"{split}: budgets of {entries(top)} and {entries(hard)}")
    check(top["unsent"] > 0 and hard["unsent"] > 0 and top["gap"] < 0.1 and hard["gap"] < 0.1, f"{split}: both ran")


def published():
    """Smoothness of the real sets, l2 not counted, as the slides print it."""
    for name, largest, least, most in (("a9a", 3.5, 3.46, 3.48), ("w8a", 28.5, 2.95, 3.15)):
        for seed in (1, 2, 3):
            run = train("--data", name, "--workers", "20", "--steps", "1", "--no-optimum", "--seed", str(seed))
            print(f"{name}, seed {seed}: L {run['L']:.6g}, L_US {run['L_US']:.6g}, L_IS {run['L_IS']:.5g}")
            check(abs(run["L_US"] - largest) <= 1e-6 * largest, f"{name}: L_US")
            check(least <= run["L_IS"] <= most, f"{name}: L_IS is {run['L_IS']}")


def has(name):
    return any(os.path.exists(os.path.join(data, name + end)) for end in ("", ".gz", ".bz2", ".xz"))


def sanitized():
    """Was the command built to find mistakes? It then takes ten times as long."""
    try:
        with open(os.path.join(os.environ.get("TITHE_BUILD", ""), "CMakeCache.txt"), encoding="utf-8") as file:
            return any(line.startswith("TITHE_SANITIZE:") and line.strip().partition("=")[2] for line in file)
    except OSError:
        return False


with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    both_ways("sgd")
    both_ways("minibatch", "--batch", "8")
    importance("a9a-like:scale=0.3", (1, 2, 3, 4), ahead=None)
    if sanitized():
        print("SKIP: experiments of the papers' size are left to builds without sanitizers")
    else:
        variance_reduction("w8a-like")
        importance("w8a-like", (1, 2), ahead=1.5)
        budgets("shuffled")
        budgets("sorted")
    if sanitized():
        pass
    elif data and has("a9a") and has("w8a"):
        published()
        variance_reduction("w8a")
        importance("w8a", (1,), ahead=1.5)
        importance("a9a", (1, 2), ahead=None)
    else:
        print("SKIP: the real sets a9a and w8a were not asked: TITHE_DATA has none")
    os.chdir("/")
finish()
