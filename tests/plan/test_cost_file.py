"""tithe plan --cost: a file as tithe probe writes it stands in place of latency and bandwidth; what is no such file is refused in one
sentence, and so is everything else that no link does."""

import json
import math
import os
import subprocess
import tempfile

from support import check, finish

tithe = os.environ["TITHE"]
LATENCY, BANDWIDTH = 2e-3, 1.25e7


def plan(*options):
    command = [tithe, "plan", "--params", "1e6", "--workers", "4", "--keep", "0.01", "--no-codec", *options]
    return subprocess.run(command, capture_output=True, text=True)


def rows(*options):
    done = plan(*options, "--json", "-")
    check(done.returncode == 0, f"{options}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def refused(what, *options, word=""):
    done = plan(*options)
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout and word in done.stderr,
          f"{what}: exit {done.returncode}, {done.stderr!r}")


with tempfile.TemporaryDirectory() as folder:
    def file(name, text, mode="w"):
        path = os.path.join(folder, name)
        with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as out:
            out.write(text)
        return path

    lengths = [1, 64, 1024, 8192, 65536, 1 << 18, 1 << 20, 1 << 22, 1 << 24]
    points = [(b, LATENCY + b / BANDWIDTH) for b in lengths]
    table = file("link.csv", "# tithe probe: latency 0.002 s\nbytes,seconds\n" + "".join(f"{b},{s:.12g}\n" for b, s in points))
    as_json = file("link.json", json.dumps({"latency_s": LATENCY, "bandwidth_Bps": BANDWIDTH,
                                            "points": [{"bytes": b, "seconds": s} for b, s in points]}))
    said = rows("--latency", "2ms", "--bandwidth", "100Mbit")
    for spec in (table, "table:" + table, as_json, "alphabeta:latency=2ms,bandwidth=12500000"):
        answer = rows("--cost", spec)
        check(math.isclose(answer["latency_s"], LATENCY, rel_tol=0.01) and math.isclose(answer["bandwidth_Bps"], BANDWIDTH, rel_tol=1e-3),
              f"{spec}: {answer['latency_s']} s, {answer['bandwidth_Bps']} B/s")
        for one, other in zip(said["rows"], answer["rows"]):
            check(math.isclose(one["network_seconds"], other["network_seconds"], rel_tol=1e-6), f"{spec}: {one}, {other}")
        check(answer["winner"]["collective"] == said["winner"]["collective"], f"{spec}: {answer['winner']}")
    # A table knows more than two numbers: long messages that cost a handshake are charged for it.
    knee = file("knee.csv", "".join(f"{b},{s + (2 * LATENCY if b > 65536 else 0):.12g}\n" for b, s in points))
    ring = [r for r in rows("--cost", knee)["rows"] if r["collective"] == "ring" and r["scheme"] == "dense"][0]
    check(math.isclose(ring["network_seconds"], 6 * (3 * LATENCY + 1e6 / BANDWIDTH), rel_tol=1e-3), f"a knee: {ring}")
    check("as measured" in plan("--cost", table, "--no-map").stdout, "the page says where the times come from")

    for text, word in (("", "no point"), ("bytes,seconds\n", "no point"), ("100,1\n", "one point"), ("100,1\n200,0.5\n", "more bytes cannot cost less"),
                       ("200,1\n100,2\n", "sort"), ("100,1\n100,2\n", "each once"), ("100,1\n200,nan\n", "not a point"),
                       ("100,-1\n200,1\n", "not negative"), ("100,0\n200,1\n", "takes no time"), ("100,0\n200,0\n", "is 0 for every message"),
                       ("1,0.5\n1000000,0.5\n", "no bandwidth"), ("dear diary\nit rained\n", "not a point"), ("{\"steps\": 3}", "points"),
                       ("100,inf\n200,inf\n", "not a point")):
        refused(repr(text), "--cost", file("bad.csv", text), word=word)
    refused("a trace", "--cost", file("trace.csv", "# name: run\nstep,epochs,loss\n0,0,0.69\n1,1,0.61\n"), word="trace.csv")
    refused("no text", "--cost", file("frame", bytes(range(256)) * 8, "wb"), word="frame")
    refused("no file", "--cost", os.path.join(folder, "nowhere.csv"), word="cannot be read")
    refused("a folder", "--cost", folder, word=folder)
    refused("another unit", "--cost", "802.15.4", word="seconds")
    refused("both", "--cost", table, "--latency", "1ms", word="--latency")
    refused("both", "--cost", table, "--bandwidth", "1Gbit", word="--bandwidth")
    refused("nothing", "--cost", "")
    for wrong in ("0", "-1Gbit", "nan", "inf", "fast", ""):
        refused(f"bandwidth {wrong}", "--bandwidth", wrong, word="bandwidth")
    for wrong in ("-1ms", "nan", "inf", "soon", ""):
        refused(f"latency {wrong}", "--latency", wrong, word="latency")

finish()
