#!/usr/bin/env python3
"""Encodes and decodes through the command, and compares with the definitions, computed here from scratch."""
import json
import math
import os
import random
import struct
import subprocess
import tempfile

from support import check, finish

tithe = os.path.abspath(os.environ["TITHE"])


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def run(*arguments):
    done = subprocess.run([tithe, *arguments], capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise SystemExit(f"FAIL: tithe {' '.join(arguments)}: exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def round_trip(spec, x, *options, kind="f", decode=()):
    """Returns the decoded vector and what encode said, after the checks that hold for every codec."""
    with open("in", "wb") as file:
        file.write(struct.pack(f"<{len(x)}{kind}", *x))
    said = run("encode", spec, "in", "frame", *options, "--json", "-")
    read = run("decode", "frame", "back", *decode, "--json", "-")
    size = os.path.getsize("frame")
    sections = said["header_bytes"] + -(-said["index_bits"] // 8) + -(-said["value_bits"] // 8) + 4
    check(said["bytes"] == size == sections, f"{spec}: file of {size} bytes, said {said}")
    check(said["n"] == read["n"] == len(x), f"{spec}: n")
    check(said["dense_bytes"] == len(x) * struct.calcsize(kind), f"{spec}: dense_bytes")
    for key in ("bytes", "entries", "index_bits", "value_bits"):
        check(said[key] == read[key], f"{spec}: decode says another {key}")
    check(read["type"] == ("f64" if kind == "d" else "f32"), f"{spec}: type")
    with open("back", "rb") as file:
        y = struct.unpack(f"<{len(x)}{kind}", file.read())
    return list(y), said


def close(a, b, slack=1e-6):
    return abs(a - b) <= slack * max(abs(a), abs(b))


def norm(x, p=2):
    return max(map(abs, x)) if p == math.inf else math.fsum(abs(v) ** p for v in x) ** (1 / p)


def top(x, k):
    """The k largest magnitudes; of equals the lowest index."""
    return set(sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k])


def is_selection(y, x, chosen):
    return all(v == (x[i] if i in chosen else 0) for i, v in enumerate(y))


def is_neighbour(v, t, levels):
    """Is v one of the two entries of the ascending list `levels` around t >= 0 (or t itself)?"""
    below = max(level for level in levels if level <= t * (1 + 1e-6))
    above = min(level for level in levels if level >= t * (1 - 1e-6))
    return close(v, below) or close(v, above) or v == below == 0


def selectors(x):
    n = len(x)
    for k in (1, 37, n // 2, n, n + 5, 4000000000):
        y, said = round_trip(f"topk:k={k}", x)
        check(is_selection(y, x, top(x, k)), f"topk:k={k}: other coordinates than the largest")
        check(said["entries"] == min(k, n), f"topk:k={k}: entries {said['entries']}")
    for keep in (0.0001, 0.01, 0.33, 1):
        y, said = round_trip(f"topk:keep={keep}", x)
        k = max(1, round(keep * n))
        check(said["entries"] == k and is_selection(y, x, top(x, k)), f"topk:keep={keep}")

    # The smallest set of largest coordinates whose l1 norm reaches the l2 norm of the whole.
    y, said = round_trip("topk:rule=l2", x)
    order = sorted(range(n), key=lambda i: (-abs(x[i]), i))
    k = next(k for k in range(1, n + 1) if math.fsum(abs(x[i]) for i in order[:k]) >= norm(x))
    check(said["entries"] == k and is_selection(y, x, top(x, k)), f"topk:rule=l2: {said['entries']}, not {k}")

    lengths = [n // 4, n // 2, n - n // 4 - n // 2]
    y, said = round_trip("topk:keep=0.1,per=layer", x, "--segments", ",".join(map(str, lengths)))
    chosen, start = set(), 0
    for length in lengths:
        chosen |= {start + i for i in top(x[start:start + length], max(1, round(0.1 * length)))}
        start += length
    check(is_selection(y, x, chosen), "topk:per=layer: not the largest of each layer")

    for level in (0.5, abs(x[5]), 1e9):
        y, said = round_trip(f"threshold:lambda={level!r}", x)
        chosen = {i for i in range(n) if abs(x[i]) >= level}
        check(is_selection(y, x, chosen) and said["entries"] == len(chosen), f"threshold:lambda={level}")

    y, said = round_trip("mstopk:k=100", x)
    chosen = {i for i in range(n) if y[i]}
    least = min(abs(x[i]) for i in chosen)
    check(is_selection(y, x, chosen) and 0 < len(chosen) <= 100, "mstopk: not a selection of at most k")
    check(all(abs(x[i]) <= least for i in range(n) if i not in chosen), "mstopk: left out a larger coordinate")

    seeds = ("--seed", "4", "--rank", "2", "--tensor", "1")
    y, said = round_trip("randk:k=100,scale=contractive", x, *seeds, decode=seeds)
    chosen = {i for i in range(n) if y[i]}
    check(said["entries"] == 100 and is_selection(y, x, chosen), "randk: not 100 coordinates as they are")
    check(90 <= len(chosen) <= 100, "randk: far fewer than 100 coordinates, though few are zero")
    check(said["index_bits"] == 0, "randk: sends indices")
    y, said = round_trip("randk:k=100", x, *seeds, decode=seeds)
    check({i for i in range(n) if y[i]} == chosen, "randk: scale changes the indices")
    check(all(close(y[i], x[i] * n / 100) for i in chosen), "randk: values are not x n/k")

    y, said = round_trip("stochastic:k=100", x, *seeds)
    chosen = {i for i in range(n) if y[i]}
    check(40 < len(chosen) == said["entries"] < 180, f"stochastic:k=100 sends {len(chosen)}")
    check(all(y[i] * x[i] > 0 and abs(y[i]) >= abs(x[i]) * (1 - 1e-6) for i in chosen), "stochastic: values are not x/p")

    chosen = random.sample(range(n), 50)
    with open("text", "w") as file:
        file.write("\n".join(f"{i}," for i in chosen))
    with open("binary", "wb") as file:
        file.write(struct.pack("<50I", *chosen))
    for name in ("text", "binary"):
        y, said = round_trip("given", x, "--indices", name, decode=("--indices", name))
        check(is_selection(y, x, set(chosen)) and said["index_bits"] == 0, f"given: indices as {name}")
    open("none", "w").close()
    y, said = round_trip("given", x, "--indices", "none", decode=("--indices", "none"))
    check(said["entries"] == 0 and not any(y), "given: no indices")


def quantizers(x):
    n = len(x)
    y, said = round_trip("raw", x)
    check(y == x and said["value_bits"] == 32 * n, "raw")
    y, said = round_trip("f16", x)
    check(all(v == struct.unpack("<e", struct.pack("<e", t))[0] for v, t in zip(y, x)), "f16: not the nearest half")

    def bf16(t):
        bits = struct.unpack("<I", struct.pack("<f", t))[0]
        bits += 0x7fff + (bits >> 16 & 1)
        return struct.unpack("<f", struct.pack("<I", bits & 0xffff0000))[0]
    y, said = round_trip("bf16", x)
    check(y == [bf16(t) for t in x] and said["value_bits"] == 16 * n, "bf16: not rounded to even")

    for spec, width, factor in (("natural", 9, 1), ("natural:bits=8", 8, 1), ("natural:scale=contractive", 9, 8 / 9)):
        y, said = round_trip(spec, x, "--seed", "3")
        check(said["value_bits"] == width * n, f"{spec}: {said['value_bits']} bits")
        good = ups = 0
        for v, t in zip(y, x):
            if t == 0:
                good += v == 0
                continue
            low = 2.0 ** (math.frexp(abs(t))[1] - 1)
            w = abs(v) / factor
            exact = low == abs(t)
            good += v * t > 0 and (close(w, low) or (close(w, 2 * low) and not exact))
            ups += close(w, 2 * low)
        check(good == n, f"{spec}: {n - good} values are not a neighbouring power of two")
        check(0.2 * n < ups < 0.6 * n, f"{spec}: {ups} of {n} went up")

    y, said = round_trip("sign", x)
    mean = math.fsum(map(abs, x)) / n
    check(all(close(abs(v), mean) and (v * t > 0 or t == 0) for v, t in zip(y, x)), "sign: not mean|x| x sign")
    check(n <= said["value_bits"] <= n + 32, "sign: more than a bit each")
    k = top(x, 20)
    mean = math.fsum(abs(x[i]) for i in k) / 20
    y, said = round_trip("topk:k=20|sign", x)
    check(all(close(abs(y[i]), mean) and y[i] * x[i] > 0 for i in k), "topk|sign: not the mean of the survivors")
    y, said = round_trip("topk:k=20|sign:scale=norm", x)
    check(all(close(abs(y[i]), norm(x)) for i in k), "sign:scale=norm: not the norm of the whole")

    for spec, p, bucket in (("dither:s=7", 2, n), ("dither:s=7,p=inf", math.inf, n), ("dither:s=3,p=1", 1, n),
                            ("dither:s=7,bucket=64,code=elias", 2, 64)):
        y, said = round_trip(spec, x, "--seed", "3")
        bad = 0
        for start in range(0, n, bucket):
            size = norm(x[start:start + bucket], p)
            s = int(spec.split("s=")[1][0])
            levels = [size * j / s for j in range(s + 1)]
            bad += sum(not is_neighbour(abs(v), abs(t), levels) or v * t < 0
                       for v, t in zip(y[start:start + bucket], x[start:start + bucket]))
        check(bad == 0, f"{spec}: {bad} values are not a neighbouring level")
    for spec in ("natdither:s=7", "natdither:s=7,p=inf"):
        y, said = round_trip(spec, x, "--seed", "3")
        size = norm(x, math.inf if "inf" in spec else 2)
        levels = [0] + [size * 2.0 ** (j - 6) for j in range(7)]
        bad = sum(not is_neighbour(abs(v), abs(t), levels) or v * t < 0 for v, t in zip(y, x))
        check(bad == 0, f"{spec}: {bad} values are not a neighbouring level")
        check(4 * n <= said["value_bits"] <= 4 * n + 64, f"{spec}: sign, zero and seven levels take 4 bits")


def pairs_and_corners(x):
    y, said = round_trip("topk:k=64|natural", x, "--seed", "8")
    chosen = top(x, 64)
    check({i for i in range(len(x)) if y[i]} == chosen, "topk|natural: other coordinates")
    check(all(1 / 2 <= y[i] / x[i] <= 2 and math.frexp(abs(y[i]))[0] == 0.5 for i in chosen), "topk|natural: values")
    y, said = round_trip("randk:k=64|natural", x)
    factor = len(x) / 64
    check(all(1 / 2 <= v / (t * factor) <= 2 for v, t in zip(y, x) if v), "randk|natural: values")

    doubles = [random.gauss(0, 1) * 10.0 ** random.randint(-200, 200) for _ in range(500)]
    y, said = round_trip("raw", doubles, "--type", "f64", kind="d")
    check(y == doubles, "raw f64 by --type")
    y, said = round_trip("raw:type=f64", doubles, kind="d")
    check(y == doubles, "raw f64 by the spec")
    y, said = round_trip("topk:k=10|raw", doubles, "--type", "f64", kind="d")
    check(is_selection(y, doubles, top(doubles, 10)), "topk f64")
    y, said = round_trip("natural", doubles, "--type", "f64", kind="d")
    check(all(1 / 2 <= v / t <= 2 and math.frexp(abs(v))[0] == 0.5 for v, t in zip(y, doubles)), "natural f64")

    open("none", "w").close()
    for spec in ("all|raw", "f16", "natural", "sign", "dither:s=7", "natdither:s=7", "topk:k=5|natural", "topk:rule=l2",
                 "threshold:lambda=1", "mstopk:k=5", "randk:k=5", "stochastic:k=5"):
        y, said = round_trip(spec, [])
        check(said["entries"] == 0, f"{spec}: n = 0")
        y, said = round_trip(spec, [0.0] * 100)
        check(not any(y), f"{spec}: zeros")
        y, said = round_trip(spec, [-1.0])
        check(said["n"] == 1 and y[0] <= 0, f"{spec}: n = 1")


def main():
    random.seed(20)
    # Heavy-tailed, with zeros, ties and exact powers of two in it; nothing that f16 could not hold.
    x = [f32(max(-60000, min(60000, random.gauss(0, 1) * math.exp(2 * random.gauss(0, 1))))) for _ in range(2000)]
    for i in range(0, 2000, 50):
        x[i] = random.choice([0.0, 1.0, -1.0, 0.25, -4.0, 7.5])
    selectors(x)
    quantizers(x)
    pairs_and_corners(x)


with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    main()
    os.chdir("/")
finish()
