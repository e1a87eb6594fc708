"""Every option that names an output takes - for standard output, which then holds nothing else; two that want the same place are refused
before any work."""

import json
import os
import re
import socket
import subprocess
import tempfile

from support import HANG, check, finish, mpirun, transports_here

tithe = os.environ["TITHE"]
DATA = ["--data", "gen:dense:rows=40,features=5"]
RUN = ["train", *DATA, "--steps", "3", "--tuner", "fixed"]
PLAN = ["plan", "--params", "1000", "--no-codec"]
PROBE = ["probe", "--transport", "zmq", "--local", "2", "--seconds", "0.1"]
# What a verb writes, and its options for it. encode and decode write OUT.
OUTPUTS = {
    "train": (RUN, {"--trace": "trace", "--report": "page", "--json": "json"}),
    "compare": (["compare", "runs.txt"], {"--report": "page", "--json": "json"}),
    "plan": (PLAN, {"--report": "page", "--json": "json"}),
    "report": (["report", "run.csv"], {"--out": "page", "--json": "json"}),
    "advise": (["advise", *DATA, "--workers", "2"], {"--report": "page", "--json": "json"}),
    "probe": (PROBE, {"--out": "table", "--json": "json"}),
    "encode": (["encode", "natural", "x.f32"], {"--json": "json"}),
    "decode": (["decode", "x.frame"], {"--json": "json"}),
}
INPUTS = {"--cost", "--data", "--indices", "--key", "--resume", "--sampling", "--replay", "--test"}  # files that are read
NOT_HERE = {"--checkpoint"}  # replaced while a run goes on


def run(*words):
    return subprocess.run([*words], capture_output=True, text=True, timeout=HANG, check=False)


def is_one(kind, text):
    """Is the text one whole output of that kind, and nothing else?"""
    if kind == "json":
        try:
            return bool(json.loads(text))
        except ValueError:
            return False
    if kind == "page":
        return text.lower().startswith("<!doctype html>") and text.rstrip().endswith("</html>") and text.count("<html") == 1
    if kind == "trace":
        read = subprocess.run([tithe, "inspect", "-", "--json", "-"], input=text, capture_output=True, text=True, check=False)
        return text.startswith("# name: ") and read.returncode == 0 and json.loads(read.stdout)["records"] == 4
    return kind == "table" and re.fullmatch(r"# tithe probe: .*\nbytes,seconds\n([\d.]+,[\d.e+-]+\n)+", text) is not None


def one_output(verb, words, option, kind):
    before = set(os.listdir())
    done = run(tithe, *words, option, "-")
    check(done.returncode == 0 and not done.stderr and is_one(kind, done.stdout),
          f"{verb} {option} -: exit {done.returncode} {done.stdout[:80]!r} {done.stderr[:200]!r}")
    check(set(os.listdir()) - before <= {"report.html"}, f"{verb} {option} - leaves {set(os.listdir()) - before}")


def two_outputs(verb, words, first, second):
    for place, name in (("-", "standard output"), ("both", "both")):
        done = run(tithe, *words, first, place, second, place)
        check(done.returncode == 2 and f"{first} and {second} cannot both be {name}" in done.stderr and not done.stdout,
              f"{verb} {first} {place} {second} {place}: exit {done.returncode} {done.stderr[:200]!r}")
    check(not os.path.exists("both"), f"{verb}: nothing was written")
    for other in ("./both", os.path.abspath("both"), "../" + os.path.basename(os.getcwd()) + "/both"):
        done = run(tithe, *words, first, "both", second, other)
        check(done.returncode == 2 and f"{first} and {second} cannot both be {other}" in done.stderr, f"{verb} {other}: {done.stderr[:200]!r}")


def out_and_json(verb, words):
    for place, name in (("-", "standard output"), ("both", "both")):
        done = run(tithe, *words, place, "--json", place)
        check(done.returncode == 2 and f"OUT and --json cannot both be {name}" in done.stderr and not done.stdout, f"{verb}: {done.stderr!r}")


def all_verbs():
    verbs = [verb for verb in re.findall(r"^  ([a-z]+) ", run(tithe, "--help").stdout, re.M) if verb != "tithe"]  # examples
    check(set(OUTPUTS) < set(verbs), f"verbs: {verbs}")
    for verb in verbs:
        named = set(re.findall(r"^  (--[a-z-]+) (?:[A-Z|]*FILE|TRACE)\b", run(tithe, verb, "--help").stdout, re.M))
        words, outputs = OUTPUTS.get(verb, (None, {"--json": "json"}))
        check(named - INPUTS - NOT_HERE == set(outputs), f"{verb}: outputs are {sorted(named - INPUTS)}")
        if verb in ("encode", "decode"):
            out_and_json(verb, words)
        if words is None or verb in ("encode", "decode") or (verb == "probe" and "zmq" not in here):
            continue
        for option, kind in outputs.items():
            one_output(verb, words, option, kind)
        names = list(outputs)
        for i, second in enumerate(names):
            for first in names[:i]:
                two_outputs(verb, words, first, second)


def what_is_left_alone():
    done = run(tithe, *RUN, "--checkpoint", "-")
    check(done.returncode == 2 and "A checkpoint goes to a file" in done.stderr and not os.path.exists("-"), f"--checkpoint -: {done.stderr!r}")
    with open("there.csv", "w", encoding="ascii"):
        os.symlink("there.csv", "link.csv")
    done = run(tithe, *RUN, "--trace", "there.csv", "--report", "link.csv")
    check(done.returncode == 2 and "cannot both be" in done.stderr and os.path.getsize("there.csv") == 0, f"a link to it: {done.stderr!r}")
    done = run(tithe, *RUN, "--trace", "-", "--json", "/dev/stdout")
    check(done.returncode == 2 and "cannot both be" in done.stderr and not done.stdout, f"/dev/stdout: {done.stderr!r}")
    done = run(tithe, *RUN, "--json", "/dev/stdout")
    check(done.returncode == 0 and is_one("json", done.stdout), f"--json /dev/stdout: {done.stdout[:200]!r}")
    done = run(tithe, *RUN, "--trace", "/dev/null", "--json", "/dev/null")
    check(done.returncode == 0 and "loss" in done.stdout, f"a device takes two: {done.stderr!r}")
    with open("longer.txt", "w", encoding="ascii") as file:
        file.write("kept\n")
    with open("longer.txt", "a", encoding="ascii") as file:
        code = subprocess.run([tithe, *RUN, "--trace", "-"], stdout=file, timeout=HANG, check=False).returncode
    with open("longer.txt", encoding="ascii") as file:
        check(code == 0 and file.read().startswith("kept\n# name: run\n"), "what was in the file stays")
    with open("/dev/full", "w", encoding="ascii") as full:
        for option in ("--trace", "--report", "--json"):
            done = subprocess.run([tithe, *RUN, option, "-"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG, check=False)
            check(done.returncode == 2 and "standard output" in done.stderr and "No space left" in done.stderr, f"{option} -, full: {done.stderr!r}")


def leftovers():
    """What a process that was killed had written beside an output goes with the next one; that of a process that lives stays."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    for words in (["encode", "natural", "x.f32", "swept"], ["decode", "x.frame", "swept"], [*PLAN, "--report", "swept"],
                  [*RUN, "--report", "swept"], [*RUN, "--json", "swept"]):
        gone, stays = (f"swept.{pid}-0@{socket.gethostname()}.part" for pid in (dead.pid, os.getpid()))
        for part in (gone, stays):
            with open(part, "w", encoding="ascii") as file:
                file.write("half")
        done = run(tithe, *words)
        check(done.returncode == 0 and os.path.getsize("swept") > 0, f"{words}: exit {done.returncode} {done.stderr!r}")
        check(not os.path.exists(gone) and os.path.exists(stays), f"{words} leaves {[f for f in os.listdir() if f.endswith('.part')]}")
        os.remove(stays)
    check(not [f for f in os.listdir() if f.endswith(".part")], "no parts are left")


def several_processes():
    """Rank 0 speaks for all."""
    started = {"mpi": [*mpirun(3), tithe, *RUN, "--transport", "mpi"], "zmq": [tithe, *RUN, "--transport", "zmq", "--local", "3"]}
    for transport in here:
        for option, kind in OUTPUTS["train"][1].items():
            done = run(*started[transport], option, "-")
            check(done.returncode == 0 and is_one(kind, done.stdout), f"{transport}: {option} -: {done.returncode} {done.stdout[:80]!r}")


here = transports_here()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("runs.txt", "w", encoding="ascii") as file:
        file.write("all: --data gen:dense:rows=40,features=5 --steps 3\none: --codec all|raw\ntwo: --codec natural\n")
    with open("x.f32", "wb") as file:
        file.write(bytes(40))
    run(tithe, "encode", "natural", "x.f32", "x.frame")
    run(tithe, *RUN, "--trace", "run.csv")
    all_verbs()
    what_is_left_alone()
    leftovers()
    several_processes()
    os.chdir("/")
finish()
