"""A rank whose gradient is not finite, over mpirun and over ZeroMQ: every process hears of it in the same step and in the same words, and a
step that is skipped is skipped by all, to the same bits as with all ranks in one process. By a program of somebody's own, and by
`tithe train` on a data set of which one row has a gradient that is too large for a float."""

import json
import os
import random
import re
import subprocess
import tempfile

from support import HANG, NEVER, check, finish, free_port, mpirun, run_together, transports_here

tithe = os.environ["TITHE"]
program = os.path.join(os.environ["TITHE_BUILD"], "tests", "nonfinite_steps")
transports = transports_here()
SKIPPED, NONFINITE = "15", "3"


def outputs(commands):
    """What each of these processes printed."""
    answers = run_together(commands, os.environ)
    for command, (status, _, errors) in zip(commands, answers):
        check(status == 0, f"{command}: exit {status}, {errors}")
    return [out for _, out, _ in answers]


# ---- a program of somebody's own ---------------------------------------------------------------------------------------

def steps_of(transport, ranks, options, n, who):
    """The lines of all ranks, one list for each."""
    words = [options, str(n), str(who)]
    if transport == "here":
        return [outputs([[program, f"here:{ranks}", *words]])[0].splitlines()]
    if transport == "mpi":
        lines = outputs([[*mpirun(ranks), program, "mpi", *words]])[0].splitlines()
        return [sorted(lines)[i::ranks] for i in range(ranks)]  # lines of the same step are the same, or the test fails
    where = f"tcp://127.0.0.1:{free_port()};workers={ranks};timeout={NEVER}"
    commands = [[program, "listen=" + where, *words]] + [[program, "connect=" + where, *words] for _ in range(ranks)]
    return [out.splitlines() for out in outputs(commands)[1:]]


STEPS = [("codec=all|raw", 300), ("codec=all|raw;collective=direct", 400000), ("codec=all|raw", 400000),  # in pieces
         ("codec=topk:keep=0.01;feedback=ec", 5000), ("codec=natural;feedback=ec;scheme=shards", 5000),
         ("codec=topk:keep=0.01;feedback=ec;scheme=artopk;leader=auto", 5000),
         ("codec=topk:keep=0.01;feedback=ec;downlink=topk:keep=0.02;downlink-feedback=ec", 5000),
         ("codec=topk:keep=0.01;feedback=ec;bucket=4kB;overlap=on", 5000), ("codec=all|raw;bucket=4kB;overlap=on", 5000),
         ("codec=topk|sign;feedback=ec;level=shared;scheme=star;bucket=4kB", 5000)]
for number, (options, n) in enumerate(STEPS):
    for ranks in (2, 3, 4) if n < 10000 else (3,):
        who = number % ranks
        here = steps_of("here", ranks, options + ";on-nonfinite=skip", n, who)[0]
        check(len(here) == 4 and here[1].startswith(f"1: {SKIPPED} nan Rank {who} has a gradient that is not finite at position {n - 1},")
              and all(re.fullmatch(f"{k}: 0 [0-9a-f]{{8}} ", here[k]) for k in (0, 2, 3)), f"{options}, {ranks} ranks: {here}")
        for transport in transports:
            apart = steps_of(transport, ranks, options + ";on-nonfinite=skip", n, who)
            check(apart == [here] * ranks, f"{options}, {ranks} ranks over {transport}: {apart}, and in one process {here}")
            failed = steps_of(transport, ranks, options, n, who)
            check(all(len(lines) == 2 and lines[0] == here[0] and lines[1] == failed[0][1] and f"1: {NONFINITE} " in lines[1]
                      and f"Rank {who} has a gradient that is not finite at position {n - 1}, so no rank" in lines[1] for lines in failed),
                  f"{options}, {ranks} ranks over {transport}: {failed}")
if "mpi" in transports:  # no promise of bits, but of who is told
    failed = steps_of("mpi", 3, "codec=all|raw;collective=native", 5000, 2)
    check(all(f"1: {NONFINITE} " in lines[1] and "Rank 2 has" in lines[1] for lines in failed), f"native: {failed}")


# ---- tithe train -------------------------------------------------------------------------------------------------------

room = tempfile.TemporaryDirectory()
data = os.path.join(room.name, "own.svm")
random.seed(5)
with open(data, "w", encoding="ascii") as file:
    for row in range(60):
        values = [random.gauss(0, 1) for _ in range(30)]
        label = 0.1 * sum(values)
        if row == 57:  # of the last rank: its gradient is 1e40
            values[4], label = 1e10, 1e30
        file.write(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(values)) + "\n")


def train(transport, ranks, *more):
    """Exit status, JSON and the sentences on standard error, each once."""
    words = ["train", "--data", data, "--model", "least-squares", "--estimator", "sgd", "--split", "contiguous", "--l2", "0.001", "--step-size",
             "0.005", "--no-optimum", "--json", "-", *more]
    start = {"inproc": [tithe, *words, "--workers", str(ranks)], "mpi": [*mpirun(ranks), tithe, *words, "--transport", "mpi"],
             "zmq": [tithe, *words, "--transport", "zmq", "--local", str(ranks)]}[transport]
    done = subprocess.run(start, capture_output=True, text=True, env=dict(os.environ, XDG_CACHE_HOME=room.name), timeout=HANG, check=False)
    said = {line for line in done.stderr.splitlines() if line.startswith("tithe train: ")}
    return done.returncode, json.loads(done.stdout or "{}"), said


SAME = ["model_hash", "steps", "skipped", "uplink_bytes", "downlink_bytes", "paper_bits", "cost"]
RUNS = [["--codec", "all|raw"], ["--codec", "topk:keep=0.2", "--momentum", "0.5"], ["--codec", "natural", "--scheme", "shards"],
        ["--codec", "topk:keep=0.2", "--scheme", "artopk", "--leader", "auto", "--bucket", "64"],
        ["--codec", "topk:keep=0.2", "--downlink", "topk:keep=0.3", "--downlink-feedback", "ec", "--momentum", "0.5", "--clients", "2/round"]]
for number, words in enumerate(RUNS):
    ranks = 2 + number % 3
    length = ["--steps", "150"]
    code, here, said = train("inproc", ranks, *words, *length, "--on-nonfinite", "skip")
    check(code == 0 and here["steps"] == 150 and 0 < here["skipped"] < 40 and not said, f"{words}: exit {code}, {here.get('skipped')}, {said}")
    for transport in transports:
        code, there, said = train(transport, ranks, *words, *length, "--on-nonfinite", "skip")
        check(code == 0 and not said and all(there[key] == here[key] for key in SAME),
              f"{words} over {transport}: exit {code}, {said}, {[(key, there.get(key), here[key]) for key in SAME]}")
        code, there, said = train(transport, ranks, *words, *length)
        check(code == 1 and len(said) == 1 and re.search(rf"diverged in step \d+ \(the gradient of rank {ranks - 1} is not finite at position 4\)",
                                                        said.pop()), f"{words} over {transport}: exit {code}, {said}")
    # a run in two parts, the second on another transport: the same model, and the steps that were skipped in both are counted
    state = os.path.join(room.name, f"{number}.tithe")
    train("inproc", ranks, *words, "--steps", "80", "--on-nonfinite", "skip", "--checkpoint", state)
    transport = transports[0] if transports else "inproc"
    code, there, _ = train(transport, ranks, *words, *length, "--on-nonfinite", "skip", "--resume", state)
    check(code == 0 and there["model_hash"] == here["model_hash"] and there["skipped"] == here["skipped"],
          f"{words} in two parts: {there.get('skipped')}, and at once {here['skipped']}")
finish(skipped=not transports)
