"""--tuner auto and moo on a computed network: the same run twice is the same run; in two parts, and replayed, too; what cannot be is
said in one sentence; and a skipped step confuses nobody."""

import csv
import json
import os
import subprocess
import tempfile

from support import HANG, check, finish

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, XDG_CACHE_HOME=folder, TITHE_THREADS="2")
SLOW = "latency=10ms,bandwidth=1Mbit,compute=1ms"
FAST = "latency=0.1ms,bandwidth=10Gbit,compute=1ms"
# Ranks that want different things, and many numbers of which few matter: settings change in these.
CONVEX = "--data gen:sparse:rows=300,features=4000,density=0.02 --no-optimum --workers 4"
NOISY = "--data a9a-like:scale=0.05 --no-optimum --workers 7 --estimator minibatch --batch 4 --split sorted"


def path(name):
    return os.path.join(folder, name)


def run(*words):
    return subprocess.run([tithe, "train", *words], capture_output=True, text=True, timeout=HANG, env=environment)


def train(options, *more):
    done = run(*options.split(), *more, "--json", "-")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{options} {more}: exit {done.returncode}, {done.stderr[:300]!r}")
        return {}


def changes(trace):
    with open(trace) as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(row["step"]), row["setting"], row["reason"]) for row in rows if row["setting"]]


def same(a, b, keys, what):
    for key in keys:
        check(a.get(key) == b.get(key), f"{what}: {key} is {a.get(key)} and {b.get(key)}")


SCHEDULE = path("schedule")
with open(SCHEDULE, "w") as file:
    file.write("0-20 0.1ms 10Gbit\n20-40 10ms 1Mbit\n40-60 0.1ms 10Gbit\n60+ 1ms 10Mbit\n")
RESULT = ("model_hash", "steps", "loss", "uplink_bytes", "downlink_bytes", "cost")
RUNS = {
    "slow": f"{CONVEX} --network {SLOW} --steps 80 --tuner auto",
    "changing": f"{CONVEX} --network {SCHEDULE},compute=1ms --steps 80 --tuner auto",
    "noisy": f"{NOISY} --network {SLOW} --steps 120",
    "momentum, in buckets": f"{CONVEX} --network {SCHEDULE},compute=1ms --steps 80 --momentum 0.5 --bucket 4kB",
    "moo": f"{CONVEX} --network {SCHEDULE},compute=1ms --steps 80 --tuner moo:trial=4,warmup=6",
    "moo, noisy": f"{NOISY} --network {SLOW} --steps 60 --tuner moo:warmup=0,low=0.01 --momentum 0.5",
    "levels of one codec": f"{CONVEX} --network {SLOW} --steps 60 --codec topk|natural",
}
seen = {}
for name, options in RUNS.items():
    trace = path("trace.csv")
    one = train(options, "--trace", trace)
    seen[name] = changes(trace)
    check(one.get("tuner", "").startswith("moo" if "moo" in name else "auto"), f"{name}: the tuner is {one.get('tuner')}")
    check(seen[name] and seen[name][0][0] == 0, f"{name}: the trace does not begin with a setting")
    check(all(reason for _, _, reason in seen[name]), f"{name}: a change without a reason in {seen[name]}")
    check(len(seen[name]) == one.get("steering", {}).get("changes", -1) + 1, f"{name}: {len(seen[name])} lines, {one.get('steering')}")
    same(one, train(options), (*RESULT, "sent_bytes", "seconds"), f"{name}, twice")
    # trials are not repeated, so moo sends less then
    same(one, train(options, "--replay", trace), RESULT[:3] if "moo" in name else RESULT, f"{name}, replayed")
    # In two parts: everything that the controller knew is in the file.
    for half in (2, 6, 20, 32, one.get("steps", 2) // 2 + 3):  # "moo, noisy" is about to begin with trials after 2 and 32 steps
        file = path("half.tithe")
        train(" ".join(w for w in options.split("--steps")[0].split()), *options.split("--steps")[1].split()[1:], "--steps", str(half), "--checkpoint", file)
        two = json.loads(run("--resume", file, "--steps", str(one["steps"]), "--json", "-").stdout or "{}")
        same(one, two, RESULT, f"{name}, in two parts, {half} steps first")
        third = path("third.tithe")  # nothing is done in between
        run("--resume", file, "--steps", str(half), "--checkpoint", third)
        three = json.loads(run("--resume", third, "--steps", str(one["steps"]), "--json", "-").stdout or "{}")
        same(two, three, (*RESULT, "steering"), f"{name}, in three parts, {half} steps first")
        os.unlink(third)
        check(one.get("steering") == two.get("steering"), f"{name}, in two parts, {half} steps first: {one.get('steering')} and {two.get('steering')}")
        os.unlink(file)
check(len(seen["changing"]) >= 3, f"a network that changes: {seen['changing']}")
check("dense" in seen["changing"][0][1] and "dense" not in seen["changing"][1][1], f"dense where it is fast, not where it is slow: {seen['changing']}")
check("another link" in seen["changing"][1][2], f"the reason of {seen['changing'][1]}")
check(changes(path("trace.csv"))[0][1].count("topk") >= 1, "levels of one codec: another codec")

# Moo tries each candidate from the same place: a trial of all changes nothing.
trials = [reason for step, _, reason in seen["moo"] if reason.startswith("trial") and step == seen["moo"][1][0]]
check(len(trials) >= 5, f"moo tried {trials}")
check("dense" in seen["moo"][0][1] and "dense" not in seen["moo"][-1][1], f"moo: {seen['moo']}")

# Hindsight is a setting that the exchange takes, as a command line that can be pasted.
done = run(*RUNS["slow"].split())
line = next((line for line in done.stdout.splitlines() if line.startswith("from the start it would have taken: ")), "")
pasted = subprocess.run(line.partition(": ")[2].replace("tithe", tithe, 1), shell=True, capture_output=True, text=True, env=environment)
check(pasted.returncode == 0 and "model" in pasted.stdout, f"{line!r}: {pasted.stderr}")

# Defaults: auto where there is a link and nothing was said of messages.
for options, tuner in (("", "fixed"), ("--codec topk", "cat"), (f"--network {FAST}", "auto"), (f"--network {FAST} --codec topk", "auto"),
                       (f"--network {FAST} --codec topk:keep=0.1", "fixed"), (f"--network {FAST} --codec all|raw", "fixed"),
                       (f"--network {FAST} --scheme dense", "fixed"), (f"--network {FAST} --cost 802.15.4 --codec topk", "cat")):
    answer = train("--data a9a-like:scale=0.01 --no-optimum --workers 2 --steps 2", *options.split())
    check(answer.get("tuner") == tuner, f"{options}: {answer.get('tuner')} in place of {tuner}")

for options, tuner in ((f"--network {FAST} --codec topk --scheme artopk --leader variance", "cat"), (f"--network {FAST} --codec topk --feedback none", "cat")):
    answer = train("--data a9a-like:scale=0.01 --no-optimum --workers 2 --steps 2", *options.split())
    check(answer.get("tuner") == tuner, f"{options}: {answer.get('tuner')} in place of {tuner}")

# What cannot be.
trace = path("dense.csv")
train("--data a9a-like:scale=0.01 --no-optimum --workers 2 --steps 2", "--trace", trace)
train(RUNS["changing"], "--trace", path("slow.csv"))
with open(path("late.csv"), "w") as file, open(path("slow.csv")) as source:
    file.writelines(line for line in source if not line.startswith("0,"))
FIVE = f"--data a9a-like:scale=0.01 --no-optimum --workers 2 --steps 5 --network {FAST}"
for options, word in ((f"{FIVE} --tuner auto:low=0.5,high=0.1", "low"), (f"{FIVE} --tuner auto:high=2", "high"),
                      (f"{FIVE} --tuner auto:low=0", "low"),
                      (f"{FIVE} --tuner moo:low=0.5", "low"), (f"{FIVE} --tuner moo --average tail", "average"),
                      (f"{FIVE} --tuner moo:factor=1", "factor"), (f"{FIVE} --tuner moo --codec natural", "topk"), (f"{FIVE} --tuner auto --codec threshold:lambda=0.1", "topk"),
                      (f"{FIVE} --tuner auto --codec topk:keep=0.1", "keep"), (f"{FIVE} --tuner auto --feedback ef21", "feedback"), (f"{FIVE} --tuner auto --feedback ec:decay=0.9", "fade"),
                      (f"{FIVE} --tuner auto --feedback none", "keeps what is late"), (f"{FIVE} --tuner auto --leader variance", "chooses the leader"),
                      (f"{FIVE} --tuner auto --scheme artopk:leader=variance", "alone"), (f"{FIVE} --tuner auto --scheme nonsense", "nonsense"),
                      (f"{FIVE} --tuner auto --downlink natural", "downlink"), (f"{FIVE} --tuner auto --level shared", "level"),
                      (f"{FIVE} --tuner auto --clients 1/round", "clients"),
                      (f"{FIVE} --replay {trace}", "setting"), (f"{FIVE} --replay {path('none.csv')}", "none.csv"),
                      (f"{FIVE} --tuner fixed --replay {path('slow.csv')}", "tuner"),
                      (f"{FIVE} --codec mstopk --replay {path('slow.csv')}", "setting"), (f"{FIVE} --replay {path('late.csv')}", "0 on")):
    done = run(*options.split())
    lines = done.stderr.strip().splitlines()
    check(done.returncode == 2 and len(lines) == 1 and word in lines[0], f"{options}: exit {done.returncode}, {done.stderr!r}")
for options, word in ((f"{FIVE} --target-loss -1", "out of reach"), (f"{FIVE} --target-loss 0.0001".replace(" --no-optimum", ""), "out of reach")):
    done = run(*options.split())
    lines = done.stderr.strip().splitlines()
    check(done.returncode == 2 and len(lines) == 1 and word in lines[0], f"{options}: exit {done.returncode}, {done.stderr!r}")
missed = run(*f"{FIVE} --target-loss 0.0001".split())
check(missed.returncode == 1 and "not reached" in missed.stdout, f"a target out of reach: exit {missed.returncode}")

# The files of experiments/ are what tithe compare takes; a few steps of each.
source = os.environ["TITHE_SOURCE"]
for name in ("c1", "c2", "alternating"):
    with open(os.path.join(source, "experiments", name + ".txt")) as file:
        text = file.read().replace("--epochs 50", "--steps 3").replace("--steps 400", "--steps 3").replace("moo", "moo:warmup=0,trial=1")
    with open(path(name + ".txt"), "w") as file:
        file.write(text)
    done = subprocess.run([tithe, "compare", path(name + ".txt"), "--json", "-"], capture_output=True, text=True, timeout=HANG, env=environment,
                          cwd=source)
    runs = json.loads(done.stdout or '{"runs": []}')["runs"]
    check(done.returncode == 0 and runs and runs[-1]["tuner"] == "auto", f"experiments/{name}.txt: exit {done.returncode}, {done.stderr[:300]!r}")

finish()
