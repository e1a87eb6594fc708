"""What a running job finds out about its link, where the link is known: two hosts of tools/netlab, at 100 Mbit/s without and
with 10 ms one way, over ZeroMQ and MPI, and with a rate that changes in the middle of the run.

The payload of TCP gets 95.6 % of the rate. Other programs may be at work here, so 25 % are allowed, and 1 ms."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

from support import HANG, check, finish, no_lab

tithe, source = os.environ["TITHE"], os.environ["TITHE_SOURCE"]
netlab = os.path.join(source, "tools", "netlab")
room = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=room)


def skip(reason):
    print("SKIP: " + reason)
    shutil.rmtree(room, ignore_errors=True)
    sys.exit(77)


def has(transport):
    done = subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.03", "--transport", transport, "--steps", "1", "--no-optimum"],
                          capture_output=True, text=True, env=environment, check=False)
    return "built without" not in done.stderr


# After a change of its rate, tbf may sleep on until the next packet comes, while TCP waits for the packets that it has. So
# somebody sends one now and then.
kick = os.path.join(room, "kick")
with open(kick, "w", encoding="ascii") as file:
    file.write("""#!/bin/sh
ping -q -i 0.2 10.77.0.1 > /dev/null 2>&1 & one=$!
ping -q -i 0.2 10.77.0.2 > /dev/null 2>&1 & two=$!
"$@"
status=$?
kill $one $two
exit $status
""")
os.chmod(kick, 0o755)


def train(how, delay, hidden, steps, lab=(), more=()):
    """Messages of 10 kB times `hidden`, over a ring."""
    command = [netlab, "--rate", "100mbit", "--delay", delay, *lab, how, kick, tithe, "train", "--transport", how, "--workers", "2",
               "--data", "gisette-like:scale=0.05", "--model", f"mlp:hidden={hidden}", "--estimator", "minibatch", "--batch", "4",
               "--step-size", "0.001", "--steps", str(steps), "--tuner", "fixed", "--no-optimum", "--json", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, env=environment, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        print(f"FAIL {how}, {delay}: exit {done.returncode}, {done.stdout[:300]!r} {done.stderr[:600]!r}")
        return None


def is_right(what, found, delay, rate):
    """delay None: not asked for."""
    if not found:
        return False
    link = found["link"]
    latency, bandwidth = link["latency_s"] or 0, 8 * (link["bandwidth_Bps"] or 0)
    print(f"{what}: {1e3 * latency:.2f} ms, {1e-6 * bandwidth:.1f} Mbit/s, probes {100 * link['probe_bytes'] / found['sent_bytes']:.3f} %"
          " of the traffic")
    check(link["probe_bytes"] <= 0.01 * found["sent_bytes"], f"{what}: probes")
    return (delay is None or abs(latency - delay) < 1e-3) and 0.75 * rate < bandwidth < 1.25 * rate


def judge(what, attempt, delay, rate):
    """A second time, if need be: somebody else may have been busy here."""
    check(is_right(what, attempt(), delay, rate) or is_right(f"{what}, again", attempt(), delay, rate), what)


def follow():
    """From 100 to 50 Mbit/s after four seconds."""
    schedule, trace = os.path.join(room, "schedule"), os.path.join(room, "trace.csv")
    with open(schedule, "w", encoding="ascii") as rates:
        rates.write("4 50mbit\n")
    judge("a change to 50 Mbit/s", lambda: train("zmq", "0", 64, 55, ["--schedule", schedule], ["--trace", trace]), None, 47.8e6)
    with open(trace, encoding="utf-8") as lines:
        records = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    known = [8 * float(r["bandwidth"]) for r in records if r["bandwidth"]]
    check(known and 0.75 * 95.6e6 < max(known) < 1.25 * 95.6e6, f"before the change: {known}")


if no_lab():
    skip(no_lab())
try:
    missing = [transport for transport in ("zmq", "mpi") if not has(transport)]
    if "zmq" not in missing:
        judge("zmq", lambda: train("zmq", "0", 64, 25), 0, 95.6e6)
        judge("zmq, star by probes", lambda: train("zmq", "10ms", 64, 25, (), ["--scheme", "star"]), 10e-3, 95.6e6)
        follow()
    if "mpi" not in missing and shutil.which("mpirun"):
        # MPI asks before it sends a long message, which takes two more latencies: it must be long beside them
        judge("mpi, 10 ms", lambda: train("mpi", "10ms", 256, 10), 10e-3, 95.6e6)
    if len(missing) == 2:
        skip("built without ZeroMQ and MPI")
finally:
    shutil.rmtree(room, ignore_errors=True)
finish()
