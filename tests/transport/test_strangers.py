"""Whoever comes to an open port: another protocol, garbage, enormous lengths, other versions, impostors, silence, workers too
many. Each ends in one sentence or is not heeded at all, and the run goes on. And what is left when a run is stopped: nothing.

Sockets and signals are real. What strangers say is written here byte by byte, so that nothing polite stands between."""

import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading

from support import (HANG, NEVER, begins, catches, check, finish, free_port, happens, has_signal, mpirun, settles, status, transports_here)
from zmtp import GIVE_UP, HELLO, I_AM, MESSAGE, POLITE, WAITING, WELCOME, frames, greeting, head, hello, listening, ready, say

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp(prefix="s", dir="/tmp")  # a short path: a socket lives in it
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=folder + "/cache", TMPDIR=folder + "/t")
os.mkdir(environment["TMPDIR"])
SHORT = ["--data", "a9a-like:scale=0.03", "--steps", "30"]
LONG = ["--data", "a9a-like:scale=0.1", "--no-optimum", "--estimator", "sgd", "--epochs", "100000"]
GATHER = ["--codec", "topk:keep=0.1"]
STAR = ["--codec", "natural", "--scheme", "star"]
OWNERS = ["--data", "gen:sparse:rows=400,features=3000,density=0.01", "--codec", "natural", "--feedback", "ec"]  # shards, three parts
STUCK = "30"  # seconds: a --deadline that passes; long enough for a busy machine to start processes in
files = 0


def start(*arguments, **more):
    return subprocess.Popen([tithe, "train", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, **more)


def new_file():
    global files
    files += 1
    return f"{folder}/file-{files}"


def role_server(endpoint, workers, *arguments):
    return start("--transport", "zmq", "--role", "server", "--listen", endpoint, "--workers", str(workers), *arguments)


def role_worker(endpoint, workers, *arguments):
    return start("--transport", "zmq", "--role", "worker", "--connect", endpoint, "--workers", str(workers), *arguments)


def end(process):
    try:
        return process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{process.args} did not end")
        return process.communicate()


def one_sentence(process, words, what, code=2):
    _, error = end(process)
    lines = [line for line in error.splitlines() if line.strip()]
    check(process.returncode == code, f"{what}: exit {process.returncode}: {error!r}")
    check(len(lines) == 1 and all(word in error for word in words), f"{what}: {error!r}")


# ---- what strangers say --------------------------------------------------------------------------------------------

SAYINGS = {
    "another protocol": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "garbage": random.Random(1).randbytes(1 << 16),
    "nothing": b"",
    "half a greeting": greeting()[:20],
    "another mechanism": greeting(b"CURVE"),
    "a version from the future": greeting(major=9),
    "an enormous length": POLITE + bytes([2]) + struct.pack(">Q", 1 << 62),
    "a large length": POLITE + bytes([2]) + struct.pack(">Q", 1 << 33),
    "garbage after the greeting": POLITE + random.Random(2).randbytes(4096),
    "one part": POLITE + frames(b"x"),
    "an empty part": POLITE + frames(b""),
    "seven parts": POLITE + frames(*[b"part"] * 7) + frames(head(HELLO), hello()[:3]),
    "a long name": greeting() + ready(identity=b"i" * 200) + frames(head(MESSAGE), b"x"),
    "no hello at all": POLITE + frames(head(HELLO), b"") + frames(head(HELLO), b"12345"),
    "a hello of something else": POLITE + frames(head(HELLO), hello(magic=0x4242)),
    "a kind that there is not": POLITE + frames(head(4000000000), b"x"),
    "a rank that there is not": POLITE + frames(head(MESSAGE, 4000000000), b"x") + frames(head(I_AM, 77), b"x" * 16),
    "an impostor's message": POLITE + b"".join(frames(head(MESSAGE, rank), b"nonsense") for rank in range(3)),
    "an impostor who gives up": POLITE + b"".join(frames(head(GIVE_UP, rank), b"I give up.") for rank in range(3)),
    "an impostor who waits": POLITE + b"".join(frames(head(WAITING, rank), struct.pack("<I", 1)) for rank in range(3)),
    "an impostor who is": POLITE + b"".join(frames(head(I_AM, rank), b"0" * 16) for rank in range(3)),
    "a welcome": POLITE + frames(head(WELCOME, 2, 0), bytes(16 + 2 * 128)),
}


def visit(port):
    """All of them, at the same time; the connections stay open."""
    visitors = []
    for saying in SAYINGS.values():
        s = socket.create_connection(("127.0.0.1", port), timeout=HANG)
        say(s, saying)
        visitors.append(s)
    return visitors


def heard(port, saying):
    """What comes back, to the end of the first sentence."""
    with socket.create_connection(("127.0.0.1", port), timeout=HANG) as s:
        say(s, saying)
        got = b""
        s.settimeout(HANG)
        while b"." not in got:
            try:
                more = s.recv(65536)
            except socket.timeout:
                break
            if not more:
                break
            got += more
        return got


# ---- a run among strangers -----------------------------------------------------------------------------------------

def answer(outputs, what):
    texts = [out for out, _ in outputs if out.strip()]
    check(len(texts) == 1, f"{what}: one worker speaks for all, not {len(texts)}: {outputs}")
    return json.loads(texts[0]) if len(texts) == 1 else {}


def strangers_at_the_start(how):
    port = free_port()
    endpoint = f"tcp://127.0.0.1:{port}"
    server = role_server(endpoint, 2, *SHORT, *how, "--deadline", NEVER)
    happens(lambda: port in [at for _, at in listening(server.pid)], "the server listens")
    visitors = visit(port)
    old = heard(port, POLITE + frames(head(HELLO), hello(version=1)))
    check(b"version 5" in old and b"version 1" in old, f"an old version is told: {old!r}")
    other = heard(port, POLITE + frames(head(HELLO), hello(workers=7)))
    check(b"waits for 2 workers" in other and b"7" in other, f"another number of workers is told: {other!r}")
    workers = [role_worker(endpoint, 2, *SHORT, *how, "--deadline", NEVER, "--json", "-") for _ in range(2)]
    outputs = [end(worker) for worker in workers]
    _, error = end(server)
    check(server.returncode == 0 and all(worker.returncode == 0 for worker in workers), f"strangers: {error!r} {outputs}")
    there = answer(outputs, "strangers")
    here, _ = end(start("--workers", "2", *SHORT, *how, "--json", "-"))
    check(json.loads(here)["model_hash"] == there.get("model_hash"), "strangers change the model")
    for s in visitors:
        s.close()


def goes_on(checkpoint, processes, what):
    """The run writes a checkpoint every few steps."""
    def is_new():
        if any(p.poll() is not None for p in processes):
            return True
        return os.path.exists(checkpoint) and os.stat(checkpoint).st_mtime_ns != before

    before = os.stat(checkpoint).st_mtime_ns if os.path.exists(checkpoint) else 0
    happens(is_new, what)
    check(all(p.poll() is None for p in processes), what)


def strangers_on_the_way(how):
    port = free_port()
    endpoint = f"tcp://127.0.0.1:{port}"
    checkpoint, traces = new_file(), [new_file(), new_file()]
    options = [*LONG, *how, "--step-size", "0.01", "--seed", "3", "--deadline", NEVER, "--checkpoint", checkpoint, "--every", "20"]
    server = role_server(endpoint, 2, *options)
    workers = [role_worker(endpoint, 2, *options, "--json", "-", "--trace", trace) for trace in traces]
    begins(*traces)
    everybody = [server, *workers]
    check(all(p.poll() is None for p in everybody), "strangers on the way: it was over before it began")
    visitors = []
    for process in everybody:
        for address, at in listening(process.pid):
            check(address == "0100007F", f"{address}:{at} is open to more than this machine")
            visitors += visit(at)
    check(len(visitors) == len(SAYINGS) * (1 if "star" in how else 3), "who listens: the server, and workers only among themselves")
    late = [role_worker(endpoint, 2, *options) for _ in range(2)]
    for worker in late:
        one_sentence(worker, ["has all of its 2 workers"], "a worker too many")
    for _ in range(2):  # what is written now may have been under way; the next one is not
        goes_on(checkpoint, everybody, "strangers on the way: they ended the run")
    for worker in workers:
        worker.send_signal(signal.SIGINT)
    outputs = [end(worker) for worker in workers]
    _, error = end(server)
    check([p.returncode for p in everybody] == [0, 130, 130], f"stopped by hand: {[p.returncode for p in everybody]} {outputs} {error!r}")
    check(answer(outputs, "stopped by hand").get("stopped") is True, "stopped by hand: it says so")
    for s in visitors:
        s.close()


# ---- nobody there, or somebody else --------------------------------------------------------------------------------

def nobody():
    one_sentence(role_worker(f"tcp://127.0.0.1:{free_port()}", 2, *SHORT, "--deadline", "1"), ["did not answer within 1 seconds"],
                 "no server")
    port = free_port()
    one_sentence(role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT, "--deadline", "1"), ["Only 0 of 2 workers came", "within 1"],
                 "no worker")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        one_sentence(role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT), ["Cannot listen at", "in use"], "a port in use")
    for wrong in ("nonsense", "tcp://", "tcp://here", "tcp://here:", "tcp://:5555", "tcp://here:port", "udp://127.0.0.1:5555", "ipc://"):
        one_sentence(role_worker(wrong, 2, *SHORT), ["tcp://"], f"worker at '{wrong}'")
        one_sentence(role_server(wrong, 2, *SHORT), ["tcp://"], f"server at '{wrong}'")
    one_sentence(role_worker("tcp://no-such-host.invalid:5555", 2, *SHORT, "--deadline", "2"), ["no-such-host.invalid"],
                 "an unknown host")
    one_sentence(role_server("tcp://192.0.2.1:5555", 2, *SHORT), ["Cannot listen at"], "somebody else's address")
    one_sentence(role_server("ipc:///no/such/folder/s", 2, *SHORT), ["Cannot listen at"], "no such folder")


def somebody_else():
    """A worker that comes to what is no server of ours."""
    makes_no_sense = frames(head(WELCOME, 2, 99), bytes(272)), frames(head(WELCOME, 2, 0), b"short")
    answers = {"a web server": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "did not answer"),
               "garbage": (random.Random(3).randbytes(5000), "did not answer"),
               "silence": (b"", "did not answer"),
               "other messages": (greeting() + ready(b"ROUTER") + frames(b"a", b"b", b"c") * 50, "did not answer"),
               "a rank that there is not": (greeting() + ready(b"ROUTER") + makes_no_sense[0], "makes no sense"),
               "a short welcome": (greeting() + ready(b"ROUTER") + makes_no_sense[1], "makes no sense"),
               "no": (greeting() + ready(b"ROUTER") + frames(head(GIVE_UP, 2, 0), b"Not today."), "Not today.")}
    for name, (saying, words) in answers.items():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            open_ones = []

            def serve():
                try:
                    while True:
                        s, _ = listener.accept()
                        say(s, saying)
                        open_ones.append(s)
                except OSError:
                    pass

            threading.Thread(target=serve, daemon=True).start()
            deadline = "1.5" if words == "did not answer" else NEVER
            one_sentence(role_worker(f"tcp://127.0.0.1:{listener.getsockname()[1]}", 2, *SHORT, "--deadline", deadline), [words],
                         f"a server that is {name}")
            for s in open_ones:
                s.close()


# ---- what is left --------------------------------------------------------------------------------------------------

def left_behind(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


def nothing_is_left(process, what):
    happens(lambda: not left_behind(process.pid), f"{what}: no process is left")
    check(os.listdir(environment["TMPDIR"]) == [], f"{what}: files are left: {os.listdir(environment['TMPDIR'])}")


def local(how, *more):
    trace = new_file()
    process = start("--transport", "zmq", "--local", "3", *LONG, *how, "--trace", trace, *(more or ["--deadline", NEVER]), start_new_session=True)
    begins(trace)
    check(process.poll() is None and len(children(process.pid)) == 4, "local: a server and three workers")
    return process


def stopped_local():
    for how in (GATHER, STAR):
        process = local(how, "--json", "-", "--deadline", NEVER)
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        out, error = end(process)
        check(process.returncode == 130 and json.loads(out)["stopped"], f"Ctrl-C: {process.returncode} {error!r}")
        nothing_is_left(process, "Ctrl-C")
    process = local(GATHER)
    process.send_signal(signal.SIGTERM)
    out, error = end(process)
    check(process.returncode == 143 and "stopped by hand" in out, f"SIGTERM: {process.returncode} {out!r} {error!r}")
    nothing_is_left(process, "SIGTERM")
    process = local(GATHER)
    worker = children(process.pid)[1]
    os.kill(worker, signal.SIGSTOP)  # so that it cannot end in good order
    happens(lambda: status(worker).get("State", "T").startswith("T"), "a worker stops")
    process.send_signal(signal.SIGINT)
    happens(lambda: has_signal(worker, "ShdPnd", signal.SIGTERM), "the parent tells its workers of Ctrl-C")
    happens(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None, "twice Ctrl-C: it ends")
    _, error = end(process)
    check(process.returncode == 130 and "stopped once more" in error, f"twice Ctrl-C: {process.returncode} {error!r}")
    nothing_is_left(process, "twice Ctrl-C")
    process = local(GATHER)
    process.kill()
    end(process)
    happens(lambda: not left_behind(process.pid), "a parent that is killed leaves nobody")
    shutil.rmtree(environment["TMPDIR"])
    os.mkdir(environment["TMPDIR"])


def stopped_early():
    """SIGTERM before there is a run, as early as it is caught, and while processes are started one by one: it ends in good order."""
    def early(what, arguments, is_time):
        for how in (GATHER, STAR):
            process = start(*arguments, *LONG, *how, "--deadline", NEVER, start_new_session=True)
            happens(lambda: is_time(process.pid) or process.poll() is not None, what)
            os.killpg(process.pid, signal.SIGTERM)
            out, error = end(process)
            check(process.returncode == 143 and "stopped by hand" in out, f"SIGTERM, {what}: {process.returncode} {out!r} {error!r}")
            nothing_is_left(process, f"SIGTERM, {what}")

    def is_caught(pid):
        return has_signal(pid, "SigCgt", signal.SIGTERM)

    zmq = ["--transport", "zmq", "--local", "3"]
    early("in one process", ["--workers", "3"], is_caught)
    early("as soon as it is caught", zmq, is_caught)
    for count in (1, 2, 4):
        early(f"with {count} started", zmq, lambda pid: is_caught(pid) and len(children(pid)) >= count)


def stopped_roles():
    """Ctrl-C on one of those that were started by hand: it says so and ends, and the others know."""
    by_hand = ["stopped by hand"]

    def stop(process, words, what):
        process.send_signal(signal.SIGINT)
        one_sentence(process, words, what, 130)

    port = free_port()
    alone = role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT, "--deadline", NEVER, "--json", new_file())
    catches(alone)
    stop(alone, by_hand, "Ctrl-C on a server without workers")
    nobody = role_worker(f"tcp://127.0.0.1:{free_port()}", 2, *SHORT, "--deadline", NEVER)
    catches(nobody)
    stop(nobody, by_hand, "Ctrl-C on a worker without a server")

    for how in (GATHER, STAR):
        port = free_port()
        endpoint = f"tcp://127.0.0.1:{port}"
        options = [*LONG, *how, "--deadline", NEVER]
        traces = [new_file(), new_file()]
        server = role_server(endpoint, 2, *options)
        early = role_worker(endpoint, 2, *options)
        settles(port, 1, server, early)
        stop(early, by_hand, "Ctrl-C on a worker that waits for others")  # and two more make the run whole
        workers = [role_worker(endpoint, 2, *options, "--trace", trace) for trace in traces]
        begins(*traces)
        check(all(p.poll() is None for p in (server, *workers)), "Ctrl-C on the server: it was over before it began")
        stop(server, by_hand, "Ctrl-C on the server")
        for worker in workers:
            one_sentence(worker, ["gave up", "stopped by hand"], "a worker whose server was stopped")

    port = free_port()
    server = role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT, "--deadline", NEVER)
    waiting = role_worker(f"tcp://127.0.0.1:{port}", 2, *SHORT, "--deadline", NEVER)
    settles(port, 1, server, waiting)
    stop(server, by_hand, "Ctrl-C on a server that waits for workers")
    one_sentence(waiting, ["says", "stopped by hand"], "a worker that came to a server that was stopped")


def killed_local():
    for how, which in ((GATHER, 0), (GATHER, 2), (OWNERS, 0), (OWNERS, 2)):  # the server, a worker
        process = local(how)
        os.kill(children(process.pid)[which], signal.SIGKILL)
        _, error = end(process)
        check(process.returncode == 2 and "killed by signal 9" in error, f"killed: {process.returncode} {error!r}")
        nothing_is_left(process, "killed")


# ---- stuck -----------------------------------------------------------------------------------------------------------

def named(error):
    """The rank that somebody waited for, by his own account: nothing came from it, or nothing could be sent to it."""
    found = re.search(r"(?:from|to) rank (\d+) ", error.lower())
    return {int(found.group(1))} if found else set()


def roles(how):
    """Of three workers and their server; with a trace, which the worker that gets rank 0 writes."""
    endpoint, traces = f"tcp://127.0.0.1:{free_port()}", [new_file() for _ in range(3)]
    server = role_server(endpoint, 3, *LONG, *how, "--deadline", STUCK)
    return server, [(role_worker(endpoint, 3, *LONG, *how, "--deadline", STUCK, "--trace", trace), trace) for trace in traces]


def stuck_zmq():
    """All runs at the same time, since all take as long as the deadline."""
    runs = [(f"stuck, {how}, {'rank 0' if first else 'another rank'}", first, *roles(how))
            for how, first in ((GATHER, True), (GATHER, False), (STAR, False), (["--codec", "raw", "--collective", "tree"], False),
                               (OWNERS, True), ([*OWNERS, "--collective", "ring"], False))]
    parent = local(GATHER, "--deadline", STUCK)
    stopped = []
    for what, first, server, workers in runs:
        begins(*(trace for _, trace in workers))
        check(all(p.poll() is None for p in (server, *(worker for worker, _ in workers))), f"{what}: the run was over before it began")
        stopped.append(next(worker for worker, trace in workers if os.path.exists(trace) == first))
        stopped[-1].send_signal(signal.SIGSTOP)
    os.kill(children(parent.pid)[1], signal.SIGSTOP)
    for (what, first, server, workers), stuck in zip(runs, stopped):
        blamed = {0, 1, 2}
        for process in (server, *(worker for worker, _ in workers)):
            if process is not stuck:
                _, error = end(process)
                check(process.returncode == 2 and ", while " in error, f"{what}: exit {process.returncode}: {error!r}")
                blamed &= named(error)
        # Nobody waits for himself, so the one whom all of them name is the one who is stuck.
        check(len(blamed) == 1 and (blamed == {0}) == first, f"{what}: all name rank {blamed}")
        stuck.kill()
        end(stuck)
    _, error = end(parent)
    check(parent.returncode == 2 and "while" in error, f"stuck in --local: {parent.returncode} {error!r}")
    nothing_is_left(parent, "stuck in --local")


def ranks_under(process):
    """The processes that mpirun has started."""
    ranks = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                words = dict(w.split(b"=", 1) for w in f.read().split(b"\0") if b"=" in w)
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                ours = f.read().split(b"\0")[0] == tithe.encode()
        except OSError:
            continue
        rank = words.get(b"OMPI_COMM_WORLD_RANK", words.get(b"PMI_RANK"))
        if ours and rank is not None and descends(pid, process.pid):
            ranks[int(rank)] = pid
    return ranks


def stuck_mpi():
    runs = []
    for how in (GATHER, STAR, OWNERS, ["--codec", "raw"]):
        trace = new_file()
        command = [*mpirun(3), tithe, "train", "--transport", "mpi", *LONG, *how, "--deadline", STUCK, "--trace", trace]
        runs.append((how, trace, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                                                  start_new_session=True)))
    for how, trace, process in runs:
        begins(trace)
        ranks = ranks_under(process)
        check(sorted(ranks) == [0, 1, 2], f"stuck over MPI: the ranks are {ranks}")
        if 1 in ranks:
            os.kill(ranks[1], signal.SIGSTOP)
    for how, _, process in runs:
        ranks = ranks_under(process)
        _, error = end(process)
        told = [line for line in error.splitlines() if "while" in line and "rank 1 " in line.lower()]
        check(process.returncode != 0 and len(told) >= 2, f"stuck over MPI, {how}: {process.returncode} {error!r}")
        happens(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()), "stuck over MPI: no process is left")


def killed_mpi():
    """An owner of a part: mpirun ends the others, which wait for it."""
    trace = new_file()
    process = subprocess.Popen([*mpirun(3), tithe, "train", "--transport", "mpi", *LONG, *OWNERS, "--deadline", NEVER, "--trace", trace],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    begins(trace)
    ranks = ranks_under(process)
    check(sorted(ranks) == [0, 1, 2], f"killed over MPI: the ranks are {ranks}")
    if 1 in ranks:
        os.kill(ranks[1], signal.SIGKILL)
    out, error = end(process)  # MPICH says so on standard output
    check(process.returncode != 0 and (out or error), f"killed over MPI: {process.returncode} {out!r} {error!r}")
    happens(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()), "killed over MPI: no process is left")


def descends(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            with open(f"/proc/{pid}/stat") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


transports = transports_here()
if "zmq" in transports:
    for how in (GATHER, STAR):
        strangers_at_the_start(how)
        strangers_on_the_way(how)
    nobody()
    somebody_else()
    stopped_local()
    stopped_early()
    stopped_roles()
    killed_local()
    stuck_zmq()
if "mpi" in transports:
    stuck_mpi()
    killed_mpi()
shutil.rmtree(folder, ignore_errors=True)
finish(skipped=not transports)
