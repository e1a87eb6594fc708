"""What the tests in Python share: checks that are counted, events that are waited for, and what is said at the end.

No test asserts a time: on a busy machine everything may take long. What must not wait for a deadline is given one that is longer
than HANG, after which a test says that something hangs."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MPIRUN = os.environ.get("MPIRUN", "mpirun")  # of the MPI that the build was made with
HANG = 180  # seconds: only what hangs gets there
NEVER = "3600"  # a --deadline that nobody lives to see
SHOWN = 40  # failures that are told; the rest are only counted
counts = {True: 0, False: 0}


def check(ok, what):
    """Goes on after a failure, so that one run shows all of them."""
    counts[bool(ok)] += 1
    if not ok and counts[False] <= SHOWN:
        print(f"FAIL {what}")


def finish(skipped=False, more=""):
    """`skipped`: nothing could be tried, and why was said."""
    if counts[False] > SHOWN:
        print(f"... and {counts[False] - SHOWN} failures more")
    print(f"{counts[True]} passed, {counts[False]} failed{more}")
    sys.exit(1 if counts[False] else 77 if skipped else 0)


# ---- events --------------------------------------------------------------------------------------------------------

def happens(condition, what):
    """Waits for an event; a test that sleeps and hopes fails on a busy machine."""
    end = time.monotonic() + HANG
    while not condition():
        if time.monotonic() > end:
            check(False, f"it never happens: {what}")
            return False
        time.sleep(0.01)
    return True


def begins(*traces):
    """The run has: one of its processes, that of rank 0, has written the record of the start."""
    def has_record(path):
        if not os.path.exists(path):
            return False
        with open(path, encoding="utf-8") as lines:
            return any(line.startswith("0,") and line.endswith("\n") for line in lines)
    return happens(lambda: any(has_record(path) for path in traces), f"the run begins, says {traces}")


def status(pid):
    """What /proc says of a process; nothing, if it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
            return dict((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    except OSError:
        return {}


def has_signal(pid, field, number):
    """field SigCgt: it catches it; ShdPnd: it has got it and not yet looked."""
    return bool(int(status(pid).get(field, "0"), 16) >> (number - 1) & 1)


def catches(process, number=signal.SIGINT):
    return happens(lambda: has_signal(process.pid, "SigCgt", number) or process.poll() is not None, f"signal {number} is caught")


def connections(port):
    """Of this machine to that port, both ends: the bytes that wait to be sent or read."""
    waiting = []
    with open("/proc/net/tcp", encoding="ascii") as lines:
        for line in list(lines)[1:]:
            words = line.split()
            if words[3] == "01" and any(word.endswith(f":{port:04X}") for word in words[1:3]):
                waiting.append(sum(int(bytes, 16) for bytes in words[4].split(":")))
    return waiting


def settles(port, peers, *processes):
    """So many are connected to the port, everything that was sent was read, and everybody waits for something else to come."""
    def sleeps(process):
        try:
            threads = os.listdir(f"/proc/{process.pid}/task")
        except OSError:
            return False
        return all(status(f"{process.pid}/task/{thread}").get("State", "").startswith("S") for thread in threads)

    def is_quiet():
        return connections(port) == [0] * (2 * peers) and all(sleeps(process) for process in processes)

    def stays_quiet():  # one look at several threads could miss what goes from one to the other
        for _ in range(10):
            if not is_quiet():
                return False
            time.sleep(0.01)
        return True

    what = f"{peers} peers at port {port} are settled"
    return happens(lambda: stays_quiet() or any(p.poll() is not None for p in processes), what)


# ---- what there is on this machine -------------------------------------------------------------------------------------

def no_lab():
    """Why tools/netlab cannot run here; None: it can."""
    if not os.environ["TITHE"]:
        return "no command was built"
    if os.geteuid() != 0:
        return "not root, and namespaces need root"
    for tool in ("ip", "tc", "ethtool", "ping"):
        if not shutil.which(tool):
            return "no " + tool
    name = f"tithe-try-{os.getpid()}"  # others may try, too
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


def run_together(commands, environment):
    """Processes that talk to each other: exit status, output and errors of each. Nobody lives to see a timeout of its own, so whoever waits
    for one is found out."""
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for command in commands]
    answers = []
    for process in processes:
        try:
            out, errors = process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            for each in processes:
                each.kill()
            out, errors = process.communicate()
            errors += " (it waits)"
        answers.append((process.returncode, out, errors))
    return answers


def free_port():
    """Not one of those that the system gives to whoever connects: that might be somebody else before we are there."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        least = min(int(file.read().split()[0]), 65536)
    while True:
        port = random.randrange(least // 2, least)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def has_mpirun():
    return shutil.which(MPIRUN) is not None


def is_sanitized():
    """Then memory is that of the sanitizer, too: what was freed and is held back, and an eighth of what was asked for and never touched."""
    with open(os.path.join(os.environ["TITHE_BUILD"], "CMakeCache.txt"), encoding="utf-8") as file:
        return re.search(r"^TITHE_SANITIZE:[A-Z]*=.", file.read(), re.M) is not None


def skip(why):
    """Ends a test that cannot run here."""
    print("SKIP: " + why)
    sys.exit(77)


def transports_here():
    """Those between processes that this build has and this machine can start; what is missing is said."""
    found = []
    for name in ("mpi", "zmq"):
        built = "built without" not in subprocess.run([os.environ["TITHE"], "train", "--data", "gen:dense:rows=4,features=2", "--transport",
                                                       name, "--steps", "1", "--no-optimum"], capture_output=True, text=True).stderr
        if built and (name != "mpi" or has_mpirun()):
            found.append(name)
        else:
            print(f"SKIP: {name}: " + (f"there is no {MPIRUN}" if built else "it is not in this build"))
    return found


def mpirun(ranks):
    """The start of a command that runs as so many processes, however few the cores."""
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout
    # What an MPI that had to give up leaves behind in libraries of its own, which it has unloaded by then, is no leak of ours.
    quiet = ["env", "ASAN_OPTIONS=" + os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"] if "ASAN_OPTIONS" in os.environ else []
    # Two that begin and end at once would fight over the usual folder of Open MPI.
    ours = ["--oversubscribe", "--mca", "orte_tmpdir_base", session_folder()] if "Open MPI" in version else []
    return [MPIRUN, *ours, "-n", str(ranks), *quiet]


def session_folder():
    """A folder for each command, gone when the test ends."""
    if not hasattr(session_folder, "room"):
        session_folder.room = tempfile.TemporaryDirectory(prefix="m", ignore_cleanup_errors=True)
    return tempfile.mkdtemp(dir=session_folder.room.name)
