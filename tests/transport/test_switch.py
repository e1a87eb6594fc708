"""tithe switch and tithe train --scheme switch: the same model on every transport as with a simulated switch, also in parts and beside
another run; what the switch counts; what happens when it, or its key, is not there; and what natural compression through it
learns."""

import json
import math
import os
import random
import signal
import socket
import statistics
import subprocess

from support import HANG, NEVER, check, finish, free_port, happens, mpirun, run_together, transports_here
from switches import DATA, WORKERS, Switch, command, environment, loses, path, says, tithe

METHODS = {"natural": ["--codec", "all|natural"],
           "natural with ec": ["--codec", "all|natural", "--feedback", "ec", "--momentum", "0.5"],
           "int32 in buckets": ["--codec", "all|int32:block=256", "--bucket", "400B"],
           "dither with ec": ["--codec", "all|dither:s=7", "--feedback", "ec"]}


def run(words):
    return subprocess.run(words, capture_output=True, text=True, timeout=HANG, env=environment)


def answer(words, what):
    done = run([*words, "--json", "-"])
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{what}: exit {done.returncode}, {done.stdout[:200]!r} {done.stderr[:300]!r}")
        return {"model_hash": None, "sent_bytes": 0, "uplink_bytes": 0, "loss": math.nan}


key = path("key")
with open(key, "wb") as file:
    file.write(os.urandom(32))

# ---- the same model everywhere -----------------------------------------------------------------------------------------

switch = Switch("--key", key)
at = ["--switch", switch.address, "--key", key, "--deadline", NEVER]
for name, method in METHODS.items():
    options = [*method, "--steps", "12"]
    simulated = answer(command("inproc", options), name)
    for transport in transports_here():
        there = answer(command(transport, [*options, *at]), f"{name} over {transport}")
        check(there["model_hash"] == simulated["model_hash"], f"{name} over {transport}: another model")
        check(there.get("scheme") == "switch", f"{name} over {transport}: {there.get('scheme')}")
    # half of it, and the other half, wherever that is
    halves = [*method, *at, "--checkpoint", path("half")]
    answer(command("inproc", [*halves, "--steps", "6"]), f"{name}, the first half")
    for transport in transports_here():
        rest = answer([*(mpirun(WORKERS) if transport == "mpi" else []), tithe, "train",
                       *({"inproc": [], "mpi": ["--transport", "mpi"], "zmq": ["--transport", "zmq", "--local", str(WORKERS)]}[transport]),
                       "--resume", path("half"), "--steps", "12", *at], f"{name}, the rest over {transport}")
        check(rest["model_hash"] == simulated["model_hash"], f"{name}: half over {transport} is another model")
counts = switch.end()
check(counts["aggregated"] > 0 and counts["dropped"] == 0, f"counted {counts}")
check(counts["packets"] >= WORKERS * counts["aggregated"], f"counted {counts}")
check(counts["dropped"] == sum(counts["dropped_as"].values()), f"reasons do not add up: {counts}")

# ---- the same inside the kernel ----------------------------------------------------------------------------------------

probe = subprocess.Popen([tithe, "switch", "--workers", "2", "--listen", "127.0.0.1:0", "--backend", "bpf"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, env=environment)
if "listens at" in probe.stdout.readline():
    probe.send_signal(signal.SIGINT)
    check(probe.wait(HANG) == 0, "a switch in the kernel that is stopped")
    switch = Switch("--backend", "bpf", "--key", key)
    for name, method in METHODS.items():
        options = [*method, "--steps", "12"]
        simulated = answer(command("inproc", options), name)
        for transport in transports_here():
            there = answer(command(transport, [*options, "--switch", switch.address, "--key", key, "--deadline", NEVER]), f"{name} in the kernel")
            check(there["model_hash"] == simulated["model_hash"], f"{name} in the kernel, over {transport}: another model")
    counts = switch.end()
    check(counts["aggregated"] > 0 and counts["dropped"] == 0 and counts["packets"] >= WORKERS * counts["aggregated"], f"counted {counts}")
else:
    said = probe.communicate(timeout=HANG)[1]
    print(f"the switch inside the kernel was not tried: {said.strip()}")
    check(probe.returncode == 2 and "--backend udp" in said and said.count("\n") == 1, f"exit {probe.returncode}, {said!r}")

# ---- what is counted ---------------------------------------------------------------------------------------------------

switch = Switch("--datagram", "1472")
steps = 10
train = answer(command("inproc", ["--codec", "all|natural", "--steps", str(steps), "--switch", switch.address]), "counting")
counts = switch.end(signal.SIGTERM)
check(counts["aggregated"] == 2 * steps, f"{steps} steps of two packets are {counts['aggregated']} sums")
# 300 numbers in a byte each, two exponents, and two heads
check(train["uplink_bytes"] == train["downlink_bytes"] == WORKERS * steps * (300 + 2 + 2 * 36), f"up {train['uplink_bytes']}")

# ---- a gradient that is not finite -------------------------------------------------------------------------------------

# One row of the last rank has a gradient of 1e40: that step is skipped by all, and no sum is begun that nobody ends.
bad = path("own.svm")
dice = random.Random(5)
with open(bad, "w", encoding="ascii") as file:
    for row in range(60):
        values = [dice.gauss(0, 1) for _ in range(30)]
        label = 0.1 * sum(values)
        if row == 57:
            values[4], label = 1e10, 1e30
        file.write(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(values)) + "\n")
switch = Switch()
for number, method in enumerate((["--codec", "all|natural"], ["--codec", "all|int32", "--feedback", "ec", "--bucket", "64B"],
                                 ["--codec", "all|dither:s=7", "--feedback", "ec", "--momentum", "0.5"])):
    words = ["--data", bad, "--model", "least-squares", "--estimator", "sgd", "--split", "contiguous", "--l2", "0.001", "--step-size", "0.005",
             *method, "--steps", "60"]
    skips = [*words, "--on-nonfinite", "skip"]
    simulated = answer(command("inproc", skips), f"{method}, simulated")
    check(0 < simulated.get("skipped", 0) < 30, f"{method}: {simulated.get('skipped')} steps skipped")
    for transport in transports_here():
        at = ["--switch", switch.address, "--deadline", NEVER]
        there = answer(command(transport, [*skips, *at]), f"{method} skips over {transport}")
        check(all(there.get(key) == simulated[key] for key in ("model_hash", "skipped", "uplink_bytes", "downlink_bytes")),
              f"{method} over {transport}: {there.get('skipped')} steps skipped, simulated {simulated['skipped']}")
        done = run([*command(transport, [*words, *at]), "--json", path("failed.json")])
        check(done.returncode == 1 and f"the gradient of rank {WORKERS - 1} is not finite" in done.stderr,
              f"{method} over {transport}: exit {done.returncode}, {done.stderr!r}")
counts = switch.end()
check(counts["dropped"] == 0, f"after refused gradients: {counts}")

# ---- bad input, by anybody ---------------------------------------------------------------------------------------------

switch = Switch()
host, port = switch.address.rsplit(":", 1)
stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for packet in (b"", b"x", b"x" * 36, b"TS\x01\x02" + bytes(32), b"TS\x02\x02" + bytes(32), b"TS\x01\x63" + bytes(32), bytes(60000)):
    stranger.sendto(packet, (host, int(port)))
beside = answer(command("inproc", ["--codec", "all|natural", "--steps", "5", "--switch", switch.address]), "beside a stranger")
check(beside["model_hash"] == answer(command("inproc", ["--codec", "all|natural", "--steps", "5"]), "alone")["model_hash"],
      "a stranger has changed the sum")
counts = switch.end()
check(counts["dropped"] == 7 and all(counts["dropped_as"][why] for why in ("short", "foreign", "job", "version", "kind")), f"{counts}")


def refused(words, text, what):
    done = run(words)
    check(done.returncode == 2 and text in done.stderr and done.stderr.count("\n") >= 1, f"{what}: exit {done.returncode}, {done.stderr!r}")


switch = Switch("--key", key)
natural = ["--codec", "all|natural", "--steps", "3", "--deadline", "1", "--switch", switch.address]
refused(command("inproc", natural), "with the same key", "without a key")
refused(command("inproc", [*natural, "--key", key], workers=2), "adds for 3 workers", "another number of workers")
refused(command("inproc", ["--codec", "topk:keep=0.1", "--switch", switch.address]), "whole numbers", "top-k")
refused(command("inproc", ["--codec", "all|natural", "--key", key]), "--switch HOST:PORT", "a key without a switch")
refused([tithe, "switch", "--workers", "2", "--listen", switch.address], "Nobody can listen", "an address that is taken")
switch.end()
refused(command("inproc", [*natural, "--key", key]), "start `tithe switch` there", "nobody is there")
if "zmq" in transports_here():  # the server, which has no way to a switch, says it, too
    nowhere = ["--codec", "all|natural", "--steps", "3", "--deadline", "12", "--switch", switch.address]
    common = [tithe, "train", *DATA, "--scheme", "switch", *nowhere, "--transport", "zmq", "--workers", "2"]
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    roles = [[*common, "--role", "server", "--listen", endpoint]] + [[*common, "--role", "worker", "--connect", endpoint]] * 2
    for code, _, said in [*run_together(roles, environment), *run_together([command("zmq", nowhere)], environment)]:
        check(code == 2 and "start `tithe switch` there" in said and said.count("\n") == 1, f"nobody is there, over zmq: exit {code}, {said!r}")
for transport in set(transports_here()) - {"inproc"}:
    refused(command(transport, ["--codec", "all|natural", "--steps", "3", "--deadline", "20"]), "--switch HOST:PORT",
            f"no address over {transport}")
for words, text in ((["--workers", "2", "--listen", "nowhere"], "HOST:PORT"), (["--listen", "127.0.0.1:0"], "--workers"),
                    (["--workers", "2", "--listen", "0.0.0.0:0"], "--key FILE"), (["--workers", "2", "--slots", "3"], "power of two"),
                    (["--workers", "2", "--backend", "smoke"], "udp"), (["--workers", "2", "--key", path("no")], "cannot be read")):
    refused([tithe, "switch", *words], text, f"tithe switch {words}")

# ---- a switch that disappears ------------------------------------------------------------------------------------------

for transport in transports_here():
    switch = Switch()
    trace = path(f"gone-{transport}.csv")
    running = subprocess.Popen(command(transport, ["--codec", "all|natural", "--steps", "1000000000", "--switch", switch.address, "--deadline",
                                                   "3", "--trace", trace]), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=environment)
    happens(lambda: says(trace, lambda line: line.startswith("8,")), "some steps go through the switch")  # before, ranks wait for it
    switch.process.kill()
    switch.process.wait()
    switch.out.close()
    try:
        said = running.communicate(timeout=HANG)[1]
        check(running.returncode != 0 and "The switch at" in said, f"{transport}: exit {running.returncode}, {said!r}")
    except subprocess.TimeoutExpired:
        running.kill()
        check(False, f"{transport}: it waits for a switch that is gone")

# Under auto all ranks give that step up, keep what they would have sent, and go on with something else.
for transport in transports_here():
    switch = Switch()
    trace = path(f"lost-{transport}.csv")
    running = subprocess.Popen([*command(transport, ["--codec", "all|natural", "--tuner", "auto", "--steps", "1000000000", "--switch",
                                                     switch.address, "--deadline", "60", "--trace", trace]), "--json", path("lost.json")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    happens(lambda: says(trace, lambda line: line.startswith("8,")), "some steps go through the switch")
    switch.process.kill()
    switch.process.wait()
    switch.out.close()
    happens(lambda: says(trace, lambda line: loses(line) and "scheme=switch" not in line) or running.poll() is not None,
            "all go on without the switch")
    at = len(open(trace, encoding="utf-8").read())
    happens(lambda: os.path.getsize(trace) > at + 200 or running.poll() is not None, "steps go on")
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=HANG)[1]
    check(says(trace, loses), f"auto over {transport}: exit {running.returncode}, {said!r}")
    again = run(command("inproc", ["--codec", "all|natural", "--steps", "10", "--replay", trace]))
    check(again.returncode != 0 and "lost its switch" in again.stderr, f"replayed: exit {again.returncode}, {again.stderr!r}")
    with open(path("lost.json"), encoding="utf-8") as file:
        lost = json.load(file)
    check(lost["loss"] < 0.3 and lost["steering"]["changes"] >= 1 and "scheme=switch" not in lost["steering"]["setting"],
          f"auto over {transport}: {lost['loss']}, {lost['steering']}")

# ---- what is learned ---------------------------------------------------------------------------------------------------

# Bidirectional natural SGD: the switch as C_M, beside a server that compresses the sum the same way. As many steps, many seeds.
losses = {"switch": [], "star": []}
for seed in range(1, 13):
    for scheme in losses:
        words = [tithe, "train", "--data", "w8a-like:scale=0.1", "--no-optimum", "--workers", "4", "--estimator", "minibatch", "--batch", "8",
                 "--codec", "all|natural", "--scheme", scheme, "--steps", "300", "--seed", str(seed)]
        losses[scheme].append(answer(words + (["--downlink", "natural"] if scheme == "star" else []), f"{scheme}, seed {seed}")["loss"])
means = {scheme: statistics.mean(values) for scheme, values in losses.items()}
error = math.sqrt(sum(statistics.variance(values) / len(values) for values in losses.values()))
check(abs(means["switch"] - means["star"]) <= 4 * error, f"loss {means['switch']:.6g} through the switch, {means['star']:.6g} with a star, "
      f"give or take {error:.2g}")
finish(more=f"; loss {means['switch']:.5g} through the switch, {means['star']:.5g} with a star, give or take {error:.2g}")
