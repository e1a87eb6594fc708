"""Workers and a server that one command has started complain with one voice: whatever goes wrong in however many of them, there is one
sentence, and it is the one of who has the reason."""

import os
import subprocess
import tempfile

from support import HANG, NEVER, check, finish, skip, transports_here

tithe = os.environ["TITHE"]
DATA = ["--data", "gen:dense:rows=40,features=30,heterogeneity=5"]
# What is wrong, with how many workers, the exit status, and words of the sentence.
WRONG = [
    (["--data", "./three.svm"], 4, 2, "3 rows are not enough for 4 workers"),
    (["--data", "nothing"], 3, 2, "No data"),
    (["--data", "./none.svm"], 3, 2, "is it there, and may you read it?"),
    (["--data", "./three.svm", "--positive", "label>5"], 3, 2, "three.svm"),
    ([*DATA, "--codec", "nope"], 3, 2, "There is no selector"),
    ([*DATA, "--codec", "all|raw", "--step-size", "1e300"], 3, 1, "The run diverged"),
    ([*DATA, "--trace", "no/such/folder"], 3, 2, "Cannot write the trace"),
    ([*DATA, "--resume", "three.svm"], 3, 2, "three.svm"),
]

if "zmq" not in transports_here():
    skip("there is no zmq")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("three.svm", "w", encoding="ascii") as file:
        file.write("1 1:1 2:0.5\n0 2:2\n1 3:1\n")
    for wrong, workers, status, words in WRONG:
        done = subprocess.run([tithe, "train", *wrong, "--steps", "30", "--transport", "zmq", "--local", str(workers), "--deadline", NEVER],
                              capture_output=True, text=True, timeout=HANG, check=False)
        lines = done.stderr.splitlines()
        check(done.returncode == status and len(lines) == 1 and words in lines[0] and lines[0][-1] in ".?" and lines[0][-2] not in ".?" and "gave up" not in done.stderr,
              f"{wrong}: exit {done.returncode} {done.stderr!r}")
    os.chdir("/")
finish()
