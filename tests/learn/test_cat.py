#!/usr/bin/env python3
"""CAT through the command: what it saves, the options around it, and its edge cases.

On `rcv1-like` always, and on the real `rcv1-1k` where TITHE_DATA has it. Every figure is printed."""
import csv
import json
import math
import os
import subprocess
import tempfile

from support import check, finish

tithe = os.path.abspath(os.environ["TITHE"])
data = os.environ.get("TITHE_DATA", "")
PLAIN = ["--codec", "all|raw", "--tuner", "fixed", "--feedback", "none"]
SQ = ["--codec", "topk|sign", "--tuner", "cat"]


def run(*options):
    """Exit status, the answer as a dictionary (None: there is none), and what was said about mistakes."""
    words = [tithe, "train", "--no-optimum", *options, "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": os.getcwd()})
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def train(*options):
    """A run that has to go well; the rows of its trace under `trace`. A missed target is an answer."""
    status, answer, said = run(*options, "--trace", "trace.csv")
    if status not in (0, 1) or not answer:
        raise SystemExit(f"FAIL: {' '.join(options)}: exit status {status}: {said}")
    with open("trace.csv", encoding="utf-8") as file:
        answer["trace"] = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return answer


def column(answer, name):
    return [row[name] for row in answer["trace"] if row["step"] != "0"]


def price(name, *options):
    answer = train("--data", name, "--l2", "1e-4", "--cost", "802.15.4", *options)
    check(answer["target_reached"], f"{name}: {' '.join(options)} is at {answer['loss']:.4f} after {answer['steps']} steps")
    return answer["cost"]


# ---- what it saves ------------------------------------------------------------------------------------------------


def one_worker(name, loss, over_plain, over_alistarh):
    goal = ["--target-loss", str(loss), "--steps", "4000"]
    plain = price(name, *PLAIN, *goal)
    theory = alistarh_step(name)
    print(f"{name}, one worker, loss {loss}: GD {plain} B")
    for count in ("frame", "paper"):
        cat = price(name, *SQ, "--feedback", "none", "--count", count, *goal)
        fed = price(name, *SQ, "--feedback", "ec", "--count", count, *goal)
        rule = ["--tuner", "fixed", "--feedback", "none", "--count", count, *goal]
        alistarh = price(name, "--codec", "topk:rule=l2|sign", *rule)
        slow = price(name, "--codec", "topk:rule=l2|sign:scale=norm", "--step-size", theory, *rule)
        print(f"  {count}: CAT S+Q {cat} B ({plain / cat:.0f} x cheaper), with ec {fed} B ({plain / fed:.0f} x); Alistarh's S+Q "
              f"{alistarh} B with the optimal step ({alistarh / cat:.1f} x dearer than CAT), {slow} B with its theory's")
        check(plain / cat >= over_plain, f"{name}, {count}: only {plain / cat:.0f} times cheaper than GD")
        check(alistarh / cat >= over_alistarh, f"{name}, {count}: only {alistarh / cat:.1f} times cheaper than Alistarh's")
        check(slow > alistarh, f"{name}, {count}: the step of the theory is the better one")
        check(fed <= cat, f"{name}, {count}: error compensation does not pay for one worker")


def alistarh_step(name):
    """1/(L sqrt(d)), which the theory of Alistarh's S+Q wants for messages of the length |g| (`scale=norm`)."""
    answer = train("--data", name, "--l2", "1e-4", "--codec", "all|raw", "--steps", "1")
    return f"{1 / ((answer['L'] + 1e-4) * math.sqrt(answer['uplink_bytes'] // 4)):.9g}"


def four_workers(name, loss, low, over_plain, stalls):
    """Without error compensation a worker's small entries never go, and the run ends above `low`."""
    goal = ["--workers", "4", "--target-loss", str(loss), "--steps", "2000"]
    plain = price(name, *PLAIN, *goal)
    cat = price(name, *SQ, "--feedback", "ec", *goal)
    print(f"{name}, four workers, loss {loss}: GD {plain} B, CAT S+Q with ec {cat} B: {plain / cat:.0f} x cheaper")
    check(plain / cat >= over_plain, f"{name}: only {plain / cat:.0f} times cheaper than GD")
    for split in stalls:
        goal = ["--data", name, "--l2", "1e-4", "--cost", "802.15.4", "--workers", "4", "--split", split, "--target-loss", str(low),
                "--steps", "2000"]
        without = train(*goal, *SQ, "--feedback", "none")
        fed = train(*goal, *SQ, "--feedback", "ec")
        middle = float(without["trace"][len(without["trace"]) // 2]["loss"])
        print(f"{name}, four workers, {split}: loss {low} after {fed['steps']} steps and {fed['cost']} B with ec; without, "
              f"{middle:.4f} after half of {without['steps']} steps, {without['loss']:.4f} after all")
        check(fed["target_reached"] and fed["steps"] < 200, f"{name}, {split}: with ec, {fed['loss']} is all")
        check(not without["target_reached"], f"{name}, {split}: CAT without error compensation does not stall")
        check(middle - without["loss"] < 0.02, f"{name}, {split}: without ec it is on its way yet")


# ---- the options around it ----------------------------------------------------------------------------------------


def levels(name):
    """A level for each worker, and one for all: both get there; the latter is one."""
    for codec in ("topk|sign", "topk|raw", "stochastic|raw"):
        goal = ["--data", name, "--l2", "1e-4", "--workers", "4", "--split", "sorted", "--cost", "802.15.4", "--codec", codec,
                "--feedback", "ec", "--target-loss", "0.45", "--steps", "500"]
        local, shared = train(*goal, "--level", "local"), train(*goal, "--level", "shared")
        print(f"{name}, {codec}: {local['cost']} B with local levels, {shared['cost']} B with a shared one")
        check(local["target_reached"] and shared["target_reached"], f"{codec}: {local['loss']}, {shared['loss']}")
        if not codec.startswith("stochastic"): # which draws how many go
            check(column(shared, "level_least") == column(shared, "level_most"), f"{codec}: a shared level is one level")
        check(set(column(shared, "reason")) == {"shared level"}, f"{codec}: the trace says {set(column(shared, 'reason'))}")


def both_ways(name):
    """The server tunes its own message: the way back gets cheap too, and the run still gets there."""
    goal = ["--data", name, "--l2", "1e-4", "--workers", "4", "--cost", "802.15.4", *SQ, "--feedback", "ec", "--target-loss", "0.45",
            "--steps", "500"]
    one, both = train(*goal, "--scheme", "star"), train(*goal, "--downlink", "topk|sign", "--downlink-feedback", "ec")
    print(f"{name}: {one['cost']} B up and {one['downlink_cost']} B back; both ways tuned {both['cost']} and {both['downlink_cost']} B")
    check(one["target_reached"] and both["target_reached"], "both ways get there")
    check(100 * both["downlink_cost"] < one["downlink_cost"], "the way back is tuned")


def clients(name):
    """Sampled clients, every second one on a slow link with much overhead: it sends more at once, and less often is no option."""
    fast, slow = "affine:c0=100,c1=1", "affine:c0=100000,c1=1"
    options = ["--data", name, "--l2", "1e-4", "--workers", "8", "--codec", "topk|raw", "--feedback", "ec", "--steps", "40"]
    mixed = train(*options, "--clients", "4/round", "--cost", f"{fast};{slow}")
    least, most = (sum(map(float, column(mixed, c))) / mixed["steps"] for c in ("level_least", "level_most"))
    print(f"{name}: of 4 clients in 8, one with little overhead sends {least:.0f} entries, one with much {most:.0f}; loss "
          f"{mixed['loss']:.4f}")
    check(most > 4 * least, "a fast and a slow client send different amounts")
    check(mixed["loss"] < 0.6 and mixed["uplink_bytes"] > 0, f"sampled clients learn: {mixed['loss']}")
    alike = train(*options, "--cost", slow, "--steps", "1")
    check(float(alike["trace"][-1]["level_least"]) > most / 10, "with one cost they all send alike")


def trace_says_why(name):
    answer = train("--data", name, "--l2", "1e-4", "--cost", "802.15.4", *SQ, "--feedback", "none", "--steps", "20")
    reasons = set(column(answer, "reason"))
    check(reasons & {"full packet", "best efficiency"}, f"the trace says {reasons}")
    check(all(0 < float(kept) <= 1 for kept in column(answer, "kept")), "the share that got through is in the trace")
    check(answer["speedup_mean"] >= answer["speedup_least"] >= 1, f"SpeedUp {answer['speedup_mean']}, {answer['speedup_least']}")


# ---- edge cases ---------------------------------------------------------------------------------------------------


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def edges(name):
    free = train("--data", name, "--codec", "topk|raw", "--feedback", "none", "--cost", "affine:c0=0,c1=1", "--count", "paper", "--steps", "5")
    check(set(column(free, "level")) == {"1"}, f"without overhead one entry is the best bargain, not {column(free, 'level')}")
    check(set(column(free, "reason")) == {"one entry"}, f"reasons {set(column(free, 'reason'))}")
    large = train("--data", name, "--codec", "topk|raw", "--feedback", "none", "--cost", "packet:c1=1e6,payload=1000000", "--steps", "2")
    check(set(column(large, "reason")) == {"everything fits"}, f"a packet larger than the gradient: {set(column(large, 'reason'))}")
    check(min(map(float, column(large, "kept"))) > 0.999999, "all that is not zero goes")
    one = write("one.svm", "".join(f"{'+1' if i % 3 else '-1'} 1:{1 + i % 2}\n" for i in range(12)))
    for cost in ("bits", "802.15.4"):
        for codec in ("topk|raw", "topk|sign", "stochastic|raw", "threshold"):
            answer = train("--data", one, "--codec", codec, "--cost", cost, "--steps", "5")
            check(column(answer, "level") == ["1"] * 5 and answer["loss"] < math.log(2), f"d = 1, {codec}: {column(answer, 'level')}")
    zero = write("zero.svm", "+1 3:1\n-1 3:1\n+1 5:0\n-1 5:0\n") # the gradient at 0 is 0
    for codec in ("topk|raw", "topk|sign", "stochastic|raw", "threshold"):
        answer = train("--data", zero, "--codec", codec, "--cost", "802.15.4", "--steps", "3", "--l2", "0.1")
        check(set(column(answer, "reason")) == {"nothing to send"}, f"zero gradient, {codec}: {set(column(answer, 'reason'))}")
        check(abs(answer["loss"] - math.log(2)) < 1e-12, f"zero gradient, {codec}: loss {answer['loss']}")
    ties = write("ties.svm", "".join(f"{'+1' if i % 2 else '-1'} " + " ".join(f"{j}:{1 if i % 2 else -1}" for j in range(1, 65)) + "\n"
                                     for i in range(8)))
    for codec in ("topk|raw", "topk|sign"):
        few = train("--data", ties, "--codec", codec, "--feedback", "none", "--cost", "affine:c0=0,c1=1", "--count", "paper", "--steps", "1")
        all_of_them = train("--data", ties, "--codec", codec, "--feedback", "none", "--cost", "affine:c0=1e6,c1=1", "--steps", "1")
        print(f"64 equal entries, {codec}: {column(few, 'level')} go without overhead, {column(all_of_them, 'level')} with much")
        check(column(all_of_them, "level") == ["64"], f"ties, {codec}: {column(all_of_them, 'level')}")
        again = train("--data", ties, "--codec", codec, "--feedback", "none", "--cost", "affine:c0=1e6,c1=1", "--steps", "1")
        check(again["model_hash"] == all_of_them["model_hash"], "ties are broken the same way every time")
    check(column(train("--data", ties, "--codec", "topk|raw", "--feedback", "none", "--cost", "affine:c0=0,c1=1", "--count", "paper",
                       "--steps", "1"), "level") == ["1"], "of equal bargains the smallest is taken")


def refused():
    """What cannot be a cost: exit status 2, and one sentence that names the place."""
    files = {"one.csv": ("100,1\n", "one.csv, line"), "unsorted.csv": ("100,1\n50,2\n", "unsorted.csv, line 2"),
             "garbage.csv": ("100,1\nabc,2\n", "garbage.csv, line 2"), "falling.csv": ("100,2\n200,1\n", "falling.csv, line 2"),
             "negative.csv": ("100,-2\n200,1\n", "negative.csv, line 1"), "empty.csv": ("", "empty.csv, line 1"),
             "binary.csv": ("100,1\n\0\0\n", "binary.csv, line 2"), "one.json": ('{"points":[{"bytes":1,"seconds":2}]}', "one.json, line 1")}
    bad = [(f"table:{write(path, text)}", says) for path, (text, says) in files.items()]
    bad += [("affine:c0=-5", "-5"), ("affine:c0=nan", "nan"), ("affine:c0=inf", "inf"), ("affine:c0=0,c1=0", "0 for every message"),
            ("packet:c1=1,payload=0", "payload"), ("table:missing.csv", "missing.csv"), ("dog", "802.15.4"),
            ("bits;802.15.4", "same unit"), ("alphabeta:latency=-1ms,bandwidth=10Mbit", "latency")]
    for cost, says in bad:
        status, _, said = run("--data", "rcv1-like:scale=0.05", "--codec", "topk|raw", "--steps", "2", "--cost", cost)
        check(status == 2 and says in said and said.count("\n") == 1, f"--cost {cost}: exit status {status}: {said}")
    for options, says in ((["--level", "both"], "local|shared"), (["--clients", "9/round", "--workers", "4"], "4 workers"),
                          (["--tuner", "dog"], "cat"), (["--codec", "threshold", "--level", "shared"], "--level local"),
                          (["--codec", "all|raw", "--tuner", "cat"], "no level"), (["--count", "papers"], "frame|paper")):
        status, _, said = run("--data", "rcv1-like:scale=0.05", "--codec", "topk|raw", "--steps", "2", *options)
        check(status == 2 and says in said, f"{' '.join(options)}: exit status {status}: {said}")


with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    small = "rcv1-like:scale=0.05"
    one_worker(small, 0.45, over_plain=60, over_alistarh=4)
    four_workers(small, 0.45, 0.3, over_plain=150, stalls=("sorted",))
    levels(small)
    both_ways(small)
    clients(small)
    trace_says_why(small)
    edges(small)
    refused()
    if any(os.path.exists(os.path.join(data, "rcv1-1k" + end)) for end in ("", ".gz", ".bz2", ".xz")):
        one_worker("rcv1-1k", 0.4, over_plain=100, over_alistarh=6)
        four_workers("rcv1-1k", 0.4, 0.22, over_plain=200, stalls=("shuffled", "sorted"))
    else:
        print("SKIP: the real rcv1-1k was not asked: TITHE_DATA has none")
    os.chdir("/")
finish()
