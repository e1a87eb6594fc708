"""What a run says about its link, over MPI and ZeroMQ on one machine: it is told in JSON and in the trace, takes less than 1 % of
the traffic, and changes neither the model nor what is counted, although it depends on the clock."""

import csv
import json
import os
import shutil
import subprocess
import tempfile

from support import HANG, check, finish, mpirun, transports_here

tithe = os.environ["TITHE"]
room = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=room)
COMMON = ["--data", "a9a-like:scale=0.1", "--model", "mlp:hidden=64", "--estimator", "minibatch", "--batch", "8", "--step-size", "0.01",
          "--no-optimum"]  # messages of 32 kB
METHODS = {
    "dense": ["--tuner", "fixed"],
    "dense over a tree": ["--collective", "tree"],
    "dense by owners": ["--collective", "direct"],
    "top-k": ["--codec", "topk:keep=0.2"],
    "AR-Top-k": ["--codec", "topk:keep=0.2", "--scheme", "artopk"],
    "both ways": ["--codec", "natural", "--downlink", "natural"],
    "buckets": ["--codec", "topk:keep=0.2", "--bucket", "layer"],
}


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, env=environment, check=False)


def command(transport, workers):
    if transport == "zmq":
        return [tithe, "train", "--transport", "zmq", "--local", str(workers)]
    return [*mpirun(workers), tithe, "train", "--transport", "mpi", "--workers", str(workers)]


def answer(words, what):
    done = run(words)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{what}: exit {done.returncode}, {done.stdout[:200]!r} {done.stderr[:300]!r}")
        return None


def judge(what, here, there, again):
    """Two runs take other times, and so look at the link after other steps."""
    link = there["link"]
    check(link["latency_s"] and link["latency_s"] > 0, f"{what}: latency {link['latency_s']}")
    check(link["bandwidth_Bps"] is None or link["bandwidth_Bps"] > 0, f"{what}: bandwidth {link['bandwidth_Bps']}")
    check(0 < link["probe_bytes"] <= 0.01 * there["sent_bytes"], f"{what}: {link['probe_bytes']} of {there['sent_bytes']} bytes")
    check(there["model_hash"] == here["model_hash"], f"{what}: another model than in one process")
    check(there["sent_bytes"] == again["sent_bytes"], f"{what}: sent {there['sent_bytes']}, then {again['sent_bytes']}")


def in_trace(transport):
    trace = os.path.join(room, "trace.csv")
    done = run([*command(transport, 2), *COMMON, "--steps", "60", "--trace", trace])
    check(done.returncode == 0, f"trace over {transport}: {done.stderr[:200]}")
    with open(trace, encoding="utf-8") as lines:
        records = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    check(records[0]["latency"] == "" and float(records[-1]["latency"]) > 0, f"trace over {transport}: latency")
    check("latency" in run([tithe, "inspect", trace]).stdout, "inspect tells of the latency")


def old_trace():
    """One that was written before these columns existed reads as ever."""
    old = os.path.join(room, "old.csv")
    with open(old, "w", encoding="utf-8") as file:
        file.write("# name: old\nstep,loss,other,scheme\n0,1,0,dense\n1,0.5,0.1,dense\n")
    said = run([tithe, "inspect", old]).stdout
    check("loss" in said and "latency" not in said, f"an old trace: {said[:200]!r}")


transports = transports_here()
try:
    for name, options in METHODS.items():
        local = answer([tithe, "train", "--workers", "4", *COMMON, *options, "--steps", "150", "--json", "-"], f"{name} in one process")
        if local:
            check(local["link"] == {"latency_s": None, "bandwidth_Bps": None, "probe_bytes": 0}, f"{name} in one process: {local['link']}")
        for transport in transports:
            runs = [answer([*command(transport, 4), *COMMON, *options, "--steps", "150", "--json", "-"], f"{name} over {transport}")
                    for _ in range(2)]
            if local and all(runs):
                judge(f"{name} over {transport}", local, *runs)
    for transport in transports:
        in_trace(transport)
    old_trace()
finally:
    shutil.rmtree(room, ignore_errors=True)
finish(skipped=not transports, more=f", over {' and '.join(transports) or 'nothing'}")
