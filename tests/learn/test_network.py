"""--network: the clock advances exactly by the rounds of the collective, for 1 to 64 workers; schedules; mistakes."""

import json
import math
import os
import subprocess
import tempfile

from support import check, finish

tithe = os.environ["TITHE"]
LATENCY, BANDWIDTH, COMPUTE = 1.5e-3, 2e6 / 8, 4e-3
NETWORK = "latency=1.5ms,bandwidth=2Mbit,compute=4ms"
FEATURES = 123


def train(*options):
    command = [tithe, "train", "--data", "a9a-like:scale=0.01", "--no-optimum", "--tuner", "fixed", *options, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-15)


STEPS = 3
for n in (1, 2, 3, 4, 7, 8, 16, 33, 64):
    dense, part, levels = 4 * FEATURES, 4 * math.ceil(FEATURES / n), math.ceil(math.log2(n))
    formulas = {
        "ring": 2 * (n - 1) * (LATENCY + part / BANDWIDTH),
        "tree": 2 * levels * (LATENCY + dense / BANDWIDTH),
        "star": (2 if n > 1 else 0) * LATENCY + 2 * (n - 1) * dense / BANDWIDTH,
        "direct": (2 if n > 1 else 0) * LATENCY + 2 * (n - 1) * part / BANDWIDTH,
    }
    common = ["--workers", str(n), "--steps", str(STEPS), "--network", NETWORK]
    for collective, seconds in formulas.items():
        answer = train(*common, "--collective", collective)
        check(near(answer["seconds"], STEPS * (COMPUTE + seconds)), f"dense, {collective}, {n} workers: {answer['seconds']}")
    answer = train(*common, "--codec", "randk:k=5", "--feedback", "none", "--scheme", "gather")  # frames of one length
    frame = answer["uplink_bytes"] / STEPS / n
    gather = (n - 1) * (LATENCY + 8 / BANDWIDTH) + (n - 1) * (LATENCY + frame / BANDWIDTH)
    check(near(answer["seconds"], STEPS * (COMPUTE + gather)), f"gather, {n} workers: {answer['seconds']}, {STEPS * (COMPUTE + gather)}")
    answer = train(*common, "--codec", "natural", "--downlink", "natural")
    up, down = answer["uplink_bytes"] / STEPS / n, answer["downlink_bytes"] / STEPS / n
    star = 2 * LATENCY + (n - 1) * (16 + up + 8 + down) / BANDWIDTH if n > 1 else 0
    check(near(answer["seconds"], STEPS * (COMPUTE + star)), f"star, {n} workers: {answer['seconds']}")
    answer = train(*common, "--codec", "natural", "--scheme", "shards")  # so short that there are two parts, of 64 numbers and 59
    longest = 7 + 9 * 64 / 8  # bytes: a header, and nine bits for each number
    shards = 2 * LATENCY + 2 * (n - 1) * longest / BANDWIDTH if n > 1 else 0
    check(near(answer["seconds"], STEPS * (COMPUTE + shards)), f"shards, {n} workers: {answer['seconds']}")
    # AR-Top-k: energies around a ring where they choose, the broadcast of the leader's frame with its length, a ring of values.
    for leader, energies in (("round-robin", 0), ("variance", 8)):
        answer = train(*common, "--codec", "topk:k=20", "--scheme", "artopk", "--leader", leader)
        statistics = (n - 1) * n * energies
        frame = answer["sent_bytes"] / STEPS / (n - 1) - 8 * 20 - statistics / (n - 1) if n > 1 else 0  # mean, and its length
        artopk = (n - 1) * (LATENCY + energies / BANDWIDTH) if energies else 0
        artopk += levels * (LATENCY + frame / BANDWIDTH) + 2 * (n - 1) * (LATENCY + 4 * math.ceil(20 / n) / BANDWIDTH)
        check(n == 1 or 20 < frame < 40, f"artopk, {n} workers: {frame} bytes of indices")
        check(near(answer["seconds"], STEPS * (COMPUTE + artopk)), f"artopk, {leader}, {n} workers: {answer['seconds']}")
    check(train("--workers", str(n), "--steps", str(STEPS))["model_hash"] ==
          train(*common)["model_hash"], f"{n} workers: a clock changes no model")

with tempfile.TemporaryDirectory() as folder:
    def schedule(text):
        path = os.path.join(folder, "schedule")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    half = 4 * math.ceil(FEATURES / 2)
    slow, fast = 2 * (LATENCY + half / BANDWIDTH), 2 * (1e-3 + half / 1.25e8)
    path = schedule("# a comment\n0-2 1.5ms 2Mbit\n\n2+ 1ms 1Gbit\n")
    answer = train("--workers", "2", "--steps", "5", "--network", path)
    check(near(answer["seconds"], 2 * slow + 3 * fast), f"schedule: {answer['seconds']}, not {2 * slow + 3 * fast}")
    answer = train("--workers", "2", "--steps", "5", "--network", path + ",compute=1s")
    check(near(answer["seconds"], 5 + 2 * slow + 3 * fast), "schedule with compute")
    answer = train("--workers", "2", "--steps", "37", "--network", "C1")
    expected = sum(2 * (a * 1e-3 + half / (b * 1.25e8)) * k for a, b, k in ((1, 25, 12), (1, 1, 12), (50, 1, 12), (50, 25, 1)))
    check(near(answer["seconds"], expected), f"C1: {answer['seconds']}, not {expected}")
    # C2, epoch by epoch: milliseconds and Gbit/s go up and down again, four epochs each, eight in the middle.
    steps = [(1, 25), (2, 20), (4, 15), (8, 10), (16, 5)]
    drift = [phase for phase in steps for _ in range(4)] + 8 * [(32, 1)] + [phase for phase in steps[::-1] for _ in range(4)]
    answer = train("--workers", "2", "--steps", "46", "--network", "C2", "--trace", os.path.join(folder, "c2.csv"))
    with open(os.path.join(folder, "c2.csv"), encoding="utf-8") as file:
        head, *lines = [line.rstrip("\n").split(",") for line in file if not line.startswith("#")]
    clock = [float(line[head.index("seconds")]) for line in lines]
    check(len(clock) == 47, f"C2: {len(clock)} records")
    for epoch in range(46):
        latency, rate = drift[min(epoch, 44)]
        taken, expected = clock[epoch + 1] - clock[epoch], 2 * (latency * 1e-3 + half / (rate * 1.25e8))
        check(abs(taken - expected) < 1e-12, f"C2, epoch {epoch}: {taken} s, not {expected}")

    for wrong, word in ((schedule("0-2 1ms 1Gbit\n3+ 1ms 1Gbit\n"), "gap"), ("latency=1ms", "bandwidth"), ("latency=1ms,bandwidth=0", "bandwidth"),
                        ("latency=-1ms,bandwidth=1Gbit", "latency"), ("nowhere", "nowhere"), ("latency=1ms,speed=3", "speed")):
        done = subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.01", "--network", wrong], capture_output=True, text=True)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and word in done.stderr, f"{wrong}: {done.stderr!r}")
    for text in ("0-2 1ms\n", "2-1 1ms 1Gbit\n", "soon 1ms 1Gbit\n", "", "0+ 1ms 1Gbit 7\n", "0+ fast 1Gbit\n"):
        done = subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.01", "--network", schedule(text)], capture_output=True, text=True)
        check(done.returncode == 2 and done.stderr.count("\n") == 1, f"{text!r}: {done.stderr!r}")

finish()
