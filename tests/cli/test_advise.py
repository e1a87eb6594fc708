#!/usr/bin/env python3
"""tithe advise: its answer in words and in JSON, the command that it recommends, what it says of input that makes no sense, and that
nothing of it is left behind when it is stopped."""
import json
import os
import shlex
import signal
import subprocess
import tempfile

from support import HANG, check, finish, happens

tithe = os.path.abspath(os.environ["TITHE"])


def call(*words, **more):
    env = {**os.environ, "XDG_CACHE_HOME": os.getcwd(), "TMPDIR": os.path.abspath("tmp")}
    return subprocess.run([tithe, *words], capture_output=True, text=True, env=env, timeout=10 * HANG, **more)


def advise(*options):
    done = call("advise", *options, "--json", "-")
    check(done.returncode == 0, f"{options}: status {done.returncode}, {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def follow(answer, what):
    """What was recommended is a command that runs, and gets there."""
    words = shlex.split(answer["recommended"]["command"])
    check(words[:2] == ["tithe", "train"], f"{what}: the command is {words}")
    done = call(*words[1:], "--no-optimum", "--steps", "20000", "--json", "-")
    check(done.returncode == 0, f"{what}: {words} ends with {done.returncode}: {done.stderr}")
    check(json.loads(done.stdout)["target_reached"], f"{what}: {words} does not reach its target")


def answers():
    """On a slow link something beats dense, on a fast one nothing does; and a price needs no clock."""
    small = ["--data", "a9a-like:scale=0.05", "--workers", "4"]
    slow = advise(*small, "--latency", "1us", "--bandwidth", "100kbit")
    fast = advise(*small, "--latency", "10ms", "--bandwidth", "10Gbit")
    paid = advise(*small, "--cost", "802.15.4")
    for answer, what in ((slow, "a slow link"), (fast, "a fast link"), (paid, "a price")):
        names = [row["name"] for row in answer["rows"]]
        check(names[0] == "dense" and len(set(names)) == len(names) >= 8, f"{what}: rows {names}")
        for row in answer["rows"]:
            check(set(row) >= {"codec", "scheme", "bytes", "seconds", "steps", "reached", "accuracy", "cost", "command"}, f"{what}: keys {set(row)}")
            check(row["steps"] > 0 and row["bytes"] > 0 and row["scheme"] != "switch", f"{what}: {row}")  # nobody said that there is one
        check(answer["rows"][0]["reached"], f"{what}: dense does not get there")
        check(set(answer["recommended"]) >= {"command", "reason", "codec", "beats_dense"}, f"{what}: {answer['recommended']}")
        check(answer["recommended"]["reason"].count(". ") == 0, f"{what}: more than a sentence: {answer['recommended']['reason']}")
        measure = "cost" if what == "a price" else "seconds"
        best = min(row[measure] for row in answer["rows"] if row["reached"])
        taken = next(row for row in answer["rows"] if row["name"] == answer["recommended"]["name"])
        check(taken[measure] <= best / 0.95, f"{what}: {taken['name']} takes {taken[measure]}, the best {best}")
        follow(answer, what)
    check(slow["recommended"]["beats_dense"] and slow["recommended"]["codec"] != "all|raw", f"a slow link: {slow['recommended']}")
    check(not fast["recommended"]["beats_dense"] and "Nothing beats dense" in fast["recommended"]["reason"], f"a fast link: {fast['recommended']}")
    check(paid["recommended"]["beats_dense"] and paid["cost_unit"] == "B", f"a price: {paid['recommended']}")
    check(all(row["seconds"] is None for row in paid["rows"]), "a price has no seconds")


def words_and_page():
    done = call("advise", "--data", "a9a-like:scale=0.02", "--workers", "2", "--bandwidth", "1Mbit", "--report", "page.html")
    check(done.returncode == 0 and "  tithe train --data a9a-like:scale=0.02 --workers 2" in done.stdout, f"words: {done.stdout} {done.stderr}")
    check("top 10 %" in done.stdout and "right" in done.stdout, f"the table: {done.stdout}")
    check(os.path.getsize("page.html") > 10000, "the page is empty")
    check(done.stderr == "", f"progress in a pipe: {done.stderr}")


def complaints():
    with open("one.svm", "w", encoding="ascii") as out:
        out.write("+1 1:1 2:3\n")
    with open("equal.svm", "w", encoding="ascii") as out:
        out.write("+1 1:1\n+1 2:1\n+1 1:2 2:1\n")
    sane = ["--data", "a9a-like:scale=0.02"]
    for options, says in ((["--data", "one.svm"], "label"), (["--data", "equal.svm"], "label"), ([*sane, "--bandwidth", "0"], "--bandwidth"),
                          ([*sane, "--latency", "-1ms"], "--latency"), ([*sane, "--cost", "bits", "--latency", "1ms"], "leave one"),
                          ([*sane, "--cost", "nonsense"], "nonsense"), ([], "--data"), (["--data", "not-there.svm"], "not-there"),
                          ([*sane, "--workers", "100000"], "row"), ([*sane, "--target-loss", "5"], "before the first step"),
                          ([*sane, "--target-loss", "1e-9"], "do not reach")):
        done = call("advise", *options)
        check(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and says in done.stderr,
              f"{options}: status {done.returncode}, {done.stderr}")


def stopped():
    """Long data is tried in part, in a file that goes away with the command."""
    env = {**os.environ, "XDG_CACHE_HOME": os.getcwd(), "TMPDIR": os.path.abspath("tmp")}
    long = ["--data", "gen:sparse:rows=30000,features=3000,density=0.05", "--workers", "4"]
    process = subprocess.Popen([tithe, "advise", *long], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    happens(lambda: os.listdir("tmp") or process.poll() is not None, "a part of the data is written")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=HANG)[1]
    check(process.returncode == 130, f"stopped: status {process.returncode}, {said}")
    check(os.listdir("tmp") == [], f"left behind: {os.listdir('tmp')}")


def main():
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        os.mkdir("tmp")
        answers()
        words_and_page()
        complaints()
        stopped()
        check(os.listdir("tmp") == [], f"left behind: {os.listdir('tmp')}")
        os.chdir("/")
    finish()


main()
