"""The examples for PyTorch, as their first lines say to start them, but shorter."""

import json
import os
import subprocess
import sys

from kit import SOURCE, need, need_library
from support import check, finish

need_library("ZMQ")
need("torch", "numpy")


def run(name, *arguments):
    done = subprocess.run([sys.executable, f"{SOURCE}/examples/{name}", *arguments, "--json"], capture_output=True, text=True, check=False, timeout=600)
    check(done.returncode == 0, f"{name} {arguments}: {done.stderr[-800:]}")
    lines = done.stdout.strip().splitlines()
    check(len(lines) == 1, f"{name}: one line of JSON: {lines[:3]}")
    return json.loads(lines[-1]) if lines else {}


if os.path.isdir("/usr/share/common-licenses"):
    short = ["--workers", "2", "--rounds", "3", "--every", "3"]
    for more in ([], ["--overlap"], ["--codec", "all|raw", "--momentum", "0.9", "--nesterov"], ["--ddp"]):
        found = run("local_steps.py", *short, *more)
        check(0 < found.get("loss", 0) < 8, f"{more}: {found}")
        small = found["frame_bytes"] * 50 < 4 * found["parameters"]
        check(small == (more in ([], ["--overlap"])), f"{more}: a frame has {found['frame_bytes']} bytes")
if os.path.isdir("/usr/share/datasets/fashion-mnist"):
    for hook in ("tithe", "powersgd"):
        found = run("ddp_fashion_mnist.py", "--workers", "2", "--hook", hook, "--steps", "12")
        check(found["steps"] == 12 and 0.2 < found["accuracy"] < 1, f"{hook}: {found}")
finish()
