"""What lies where a run writes: links that somebody has planted are not followed, what dead processes have left goes away at the
next start, and what is no file is refused at once."""

import os
import signal
import socket
import subprocess
import tempfile

from support import HANG, NEVER, begins, check, finish, happens, transports_here

tithe = os.environ["TITHE"]
RUN = [tithe, "train", "--data", "gen:dense:rows=20,features=3", "--steps", "3", "--no-optimum"]


def train(*more, **options):
    return subprocess.run([*RUN, *more], capture_output=True, text=True, timeout=HANG, check=False, **options)


def part(folder, process):
    """What the first file is called that a process writes beside its checkpoint."""
    return f"{folder}/run.tithe.{process}-0@{socket.gethostname()}.part"


def planted(folder):
    precious = f"{folder}/precious"
    with open(precious, "w", encoding="ascii") as file:
        file.write("precious")
    done = train("--checkpoint", f"{folder}/run.tithe", preexec_fn=lambda: os.symlink(precious, part(folder, os.getpid())))
    with open(precious, encoding="ascii") as file:
        check(file.read() == "precious", "a planted link is followed")
    check(done.returncode == 0 and os.path.isfile(f"{folder}/run.tithe") and not os.path.islink(f"{folder}/run.tithe"),
          f"a planted link: exit {done.returncode} {done.stderr!r}")


def linked(folder):
    """The checkpoint's own name is a link: one of our own is a way to a file, one of somebody else's a trap."""
    behind, path = f"{folder}/behind", f"{folder}/run.tithe"
    with open(behind, "w", encoding="ascii") as file:
        file.write("precious")
    os.symlink(behind, path)
    done = train("--checkpoint", path)
    with open(behind, "rb") as file:
        check(done.returncode == 0 and os.path.islink(path) and file.read(8) == b"TITHECKP", f"a link of our own: {done.stderr!r}")
    if os.geteuid() != 0:
        print("SKIP: a link of somebody else's: only root can make one")
        return
    with open(behind, "w", encoding="ascii") as file:
        file.write("precious")
    os.lchown(path, 65534, 65534)
    done = train("--checkpoint", path)
    with open(behind, encoding="ascii") as file:
        check(file.read() == "precious", "a link of somebody else's is followed")
    check(done.returncode == 2 and "a link of somebody else's" in done.stderr, f"a link of somebody else's: exit {done.returncode} {done.stderr!r}")


def stale(folder):
    dead = subprocess.Popen(["true"])
    dead.wait()
    gone, here = (part(folder, pid) for pid in (dead.pid, os.getpid()))
    for path in (gone, here):
        with open(path, "w", encoding="ascii") as file:
            file.write("half")
    done = train("--checkpoint", f"{folder}/run.tithe")
    check(done.returncode == 0 and not os.path.exists(gone) and os.path.exists(here), f"leftovers: {os.listdir(folder)} {done.stderr!r}")


def no_file(folder):
    os.mkfifo(f"{folder}/pipe")
    for path in (f"{folder}/pipe", folder, "/dev/null"):
        done = train("--resume", path)
        check(done.returncode == 2 and "has to be a file" in done.stderr and len(done.stderr.splitlines()) == 1,
              f"--resume {path}: exit {done.returncode} {done.stderr!r}")


def folders(folder):
    """A run that was killed leaves the folder in which its workers met; the next one takes it away, and no other."""
    environment = dict(os.environ, TMPDIR=folder)
    others = [f"{folder}/tithe-others", f"{folder}/tithe-abcdef"]
    for path in others:
        os.mkdir(path)
        with open(f"{path}/file", "w", encoding="ascii"):
            pass
    more = ["--transport", "zmq", "--local", "2", "--deadline", NEVER]
    endless = [*RUN[:-3], "--steps", "1000000000", "--no-optimum", *more, "--step-size", "1e-9"]

    def begin(name):
        process = subprocess.Popen([*endless, "--trace", f"{folder}/{name}"], env=environment, stdout=subprocess.DEVNULL)
        begins(f"{folder}/{name}")
        return process

    def met():
        return {name for name in os.listdir(folder) if name.startswith("tithe-")} - {os.path.basename(path) for path in others}

    killed = begin("first")
    left = met()
    check(len(left) == 1, f"a run has a folder: {left}")
    killed.kill()
    killed.wait()
    other = begin("second")
    living = met() - left
    # Its workers may live a moment longer than it.
    happens(lambda: train(*more, env=environment).returncode == 0 and not left & met(), "the folder of a run that was killed goes away")
    check(met() == living and len(living) == 1, f"of {left} and {living} there is {met()}")
    check(all(os.path.exists(f"{path}/file") for path in others), "others' folders stay")
    other.send_signal(signal.SIGTERM)
    other.wait(timeout=HANG)
    check(not met(), f"nothing is left: {met()}")


for test in (planted, linked, stale, no_file):
    with tempfile.TemporaryDirectory() as folder:
        test(folder)
if "zmq" in transports_here():
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        folders(folder)
finish()
