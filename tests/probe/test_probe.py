"""tithe probe: what it measures between processes of this machine, the file that it writes and plan reads, and peers that are not there,
die or never were."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp(prefix="p", dir="/tmp")  # a short path: a socket lives in it
environment = dict(os.environ, XDG_CACHE_HOME=folder + "/cache", TMPDIR=folder, OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL " + what)


def start(*arguments, before=()):
    return subprocess.Popen([*before, tithe, "probe", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def end(process, timeout=60):
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{process.args} did not end")
        return process.communicate()


def complains(process, what, *words):
    out, error = end(process)
    lines = [line for line in error.splitlines() if line.startswith("tithe")]
    check(process.returncode == 2 and not out, f"{what}: exit {process.returncode}: {out!r} {error!r}")
    check(len(lines) == 1 and any(word in error for word in words), f"{what}: {error!r}")


def is_link(answer, what):
    points = answer["points"]
    check(0 < answer["latency_s"] < 1 and 1e5 < answer["bandwidth_Bps"] < 1e12, f"{what}: {answer}")
    check(len(points) >= 8 and all(a["bytes"] < b["bytes"] and a["seconds"] <= b["seconds"] for a, b in zip(points, points[1:])),
          f"{what}: points are sorted, and longer messages take no less: {points}")


def zmq():
    table, page = os.path.join(folder, "link.csv"), os.path.join(folder, "link.json")
    done = start("--transport", "zmq", "--local", "2", "--seconds", "0.5", "--out", table, "--json", page)
    out, error = end(done)
    if "built without" in error:
        return print("no ZeroMQ here: that part is left out")
    check(done.returncode == 0 and "latency" in out, f"zmq: {out!r} {error!r}")
    with open(page, encoding="utf-8") as file:
        is_link(json.load(file), "zmq")
    for cost in (table, page):
        planned = subprocess.run([tithe, "plan", "--params", "1e6", "--no-codec", "--no-map", "--cost", cost], capture_output=True, text=True)
        check(planned.returncode == 0 and "as measured" in planned.stdout, f"plan reads {cost}: {planned.stderr}")

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{s.getsockname()[1]}"
    both = ["--transport", "zmq", "--workers", "2", "--deadline", "1"]
    complains(start(*both, "--role", "server", "--listen", endpoint), "nobody comes", "0 of 2 workers came")
    complains(start(*both, "--role", "worker", "--connect", endpoint), "no server", "did not answer within 1 seconds")
    # Those whose turn has not come wait longer than one wait may take, and hear that they are not forgotten.
    done = start("--transport", "zmq", "--local", "4", "--seconds", "60", "--deadline", "1", "--json", "-")
    out, error = end(done)
    check(done.returncode == 0, f"a probe that takes longer than its deadline: {error!r}")
    is_link(json.loads(out or "{}"), "four workers")
    # Both come, and one dies in the middle of it: the other one, and the server, say so.
    for moment in (0.5, 0.3, 0.2, 0.1):
        server = start(*both, "--role", "server", "--listen", endpoint)
        workers = [start(*both, "--role", "worker", "--connect", endpoint) for _ in range(2)]
        time.sleep(moment)
        workers[1].send_signal(signal.SIGKILL)
        end(workers[1])
        if workers[1].returncode == -signal.SIGKILL:
            break
        end(workers[0])
        end(server)
    complains(workers[0], "a worker dies", "within 1 seconds", "gave up", "no connection", "says")
    complains(server, "a worker dies, the server", "within 0.75 seconds", "gave up", "1 of 2 workers came")


def mpi():
    mpirun = shutil.which("mpirun")
    if not mpirun:
        return print("no mpirun here: that part is left out")
    run = [mpirun, "--oversubscribe", "-n"]
    done = start("--transport", "mpi", "--seconds", "0.5", "--json", "-", before=[*run, "2"])
    out, error = end(done)
    if "built without" in error:
        return print("no MPI here: that part is left out")
    check(done.returncode == 0, f"mpi: {error!r}")
    is_link(json.loads(out), "mpi")
    complains(start("--transport", "mpi", before=[*run, "1"]), "mpi with one rank", "two ranks")


def alone():
    complains(start(), "one process", "another process")
    complains(start("--transport", "pigeon"), "no such transport", "pigeon")
    complains(start("--seconds", "0"), "no time", "seconds")
    complains(start("--transport", "zmq", "--local", "2", "--out", os.path.join(folder, "no/where.csv")), "no such folder", "no/where.csv")


try:
    zmq()
    mpi()
    alone()
finally:
    shutil.rmtree(folder, ignore_errors=True)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
