"""tithe probe: what it measures between processes of this machine, the file that it writes and plan reads, and peers that are not there,
die or never were."""

import json
import math
import os
import shutil
import signal
import subprocess
import tempfile

from support import HANG, NEVER, check, connections, finish, free_port, happens, has_mpirun, mpirun

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp(prefix="p", dir="/tmp")  # a short path: a socket lives in it
environment = dict(os.environ, XDG_CACHE_HOME=folder + "/cache", TMPDIR=folder)


def start(*arguments, before=()):
    return subprocess.Popen([*before, tithe, "probe", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def end(process):
    try:
        return process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{process.args} did not end")
        return process.communicate()


def complains(process, what, *words, code=2):
    out, error = end(process)
    lines = [line for line in error.splitlines() if line.startswith("tithe")]
    check(process.returncode == code and not out, f"{what}: exit {process.returncode}: {out!r} {error!r}")
    check(len(lines) == 1 and any(word in error for word in words), f"{what}: {error!r}")


def is_link(answer, what):
    points = answer["points"]
    check(all(isinstance(answer[key], float) and 0 < answer[key] < math.inf for key in ("latency_s", "bandwidth_Bps")), f"{what}: {answer}")
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

    port = free_port()
    endpoint = f"tcp://127.0.0.1:{port}"
    both = ["--transport", "zmq", "--workers", "2", "--deadline", "1"]
    complains(start(*both, "--role", "server", "--listen", endpoint), "nobody comes", "0 of 2 workers came")
    complains(start(*both, "--role", "worker", "--connect", endpoint), "no server", "did not answer within 1 seconds")
    # Those whose turn has not come wait longer than one wait may take, and hear that they are not forgotten.
    done = start("--transport", "zmq", "--local", "8", "--seconds", "60", "--deadline", "5", "--json", "-")
    out, error = end(done)
    check(done.returncode == 0, f"a probe that takes longer than its deadline: {error!r}")
    is_link(json.loads(out or "{}"), "eight workers")
    # Both come, and one dies in the middle of it: the other one, and the server, say so.
    both[-1] = "12"
    server = start(*both, "--role", "server", "--listen", endpoint)
    workers = [start(*both, "--role", "worker", "--connect", endpoint, "--seconds", "60") for _ in range(2)]
    happens(lambda: len(connections(port)) == 4, "both have come")
    workers[1].send_signal(signal.SIGKILL)
    end(workers[1])
    check(workers[1].returncode == -signal.SIGKILL, "a worker dies: it was over before it began")
    complains(workers[0], "a worker dies", "within 12 seconds", "gave up", "no connection", "says")
    complains(server, "a worker dies, the server", "within 9 seconds", "gave up", "1 of 2 workers came")
    # A signal ends it with a sentence, too.
    for number in (signal.SIGINT, signal.SIGTERM):
        server = start("--transport", "zmq", "--workers", "2", "--deadline", NEVER, "--role", "server", "--listen", endpoint)
        worker = start("--transport", "zmq", "--workers", "2", "--deadline", NEVER, "--role", "worker", "--connect", endpoint)
        happens(lambda: len(connections(port)) == 2, "one has come")
        for process in (worker, server):  # a server that ends first would end its worker, too
            process.send_signal(number)
            complains(process, f"signal {number}", "stopped by hand", code=128 + number)


def mpi():
    if not has_mpirun():
        return print("no mpirun here: that part is left out")
    done = start("--transport", "mpi", "--seconds", "0.5", "--json", "-", before=mpirun(2))
    out, error = end(done)
    if "built without" in error:
        return print("no MPI here: that part is left out")
    check(done.returncode == 0, f"mpi: {error!r}")
    is_link(json.loads(out), "mpi")
    complains(start("--transport", "mpi", before=mpirun(1)), "mpi with one rank", "two ranks")


def alone():
    complains(start(), "one process", "another process")
    complains(start("--transport", "pigeon"), "no such transport", "pigeon")
    complains(start("--seconds", "0"), "no time", "seconds")
    for option in (["--checkpoint", "x"], ["--every", "3"], ["--resume", "x"]):
        complains(start("--transport", "zmq", "--local", "2", *option), "a probe has no parts", f"no option '{option[0]}'")
    complains(start("--transport", "zmq", "--local", "2", "--out", os.path.join(folder, "no/where.csv")), "no such folder", "no/where.csv")


try:
    zmq()
    mpi()
    alone()
finally:
    shutil.rmtree(folder, ignore_errors=True)
finish()
