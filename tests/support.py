"""What the tests in Python share: checks that are counted, and what is said at the end."""

import os
import shutil
import socket
import subprocess
import sys

MPIRUN = os.environ.get("MPIRUN", "mpirun")  # of the MPI that the build was made with
counts = {True: 0, False: 0}


def check(ok, what):
    """Goes on after a failure, so that one run shows all of them."""
    counts[bool(ok)] += 1
    if not ok:
        print("FAIL " + what)


def finish(skipped=False, more=""):
    """`skipped`: nothing could be tried, and why was said."""
    print(f"{counts[True]} passed, {counts[False]} failed{more}")
    sys.exit(1 if counts[False] else 77 if skipped else 0)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def has_mpirun():
    return shutil.which(MPIRUN) is not None


def mpirun(ranks):
    """The start of a command that runs as so many processes, however few the cores."""
    allowed = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, env=allowed).stdout
    # What an MPI that had to give up leaves behind in libraries of its own, which it has unloaded by then, is no leak of ours.
    quiet = ["env", "ASAN_OPTIONS=" + os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"] if "ASAN_OPTIONS" in os.environ else []
    return [MPIRUN, *(["--oversubscribe"] if "Open MPI" in version else []), "-n", str(ranks), *quiet]
