"""Whoever comes to an open port: another protocol, garbage, enormous lengths, other versions, impostors, silence, workers too
many. Each ends in one sentence or is not heeded at all, and the run goes on. And what is left when a run is stopped: nothing.

Sockets and signals are real. What strangers say is written here byte by byte, so that nothing polite stands between."""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from support import MPIRUN, check, finish, free_port, has_mpirun, mpirun

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp(prefix="s", dir="/tmp")  # a short path: a socket lives in it
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=folder + "/cache", TMPDIR=folder + "/t",
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
os.mkdir(environment["TMPDIR"])
SHORT = ["--data", "a9a-like:scale=0.03", "--steps", "30"]
LONG = ["--data", "a9a-like:scale=0.1", "--no-optimum", "--estimator", "sgd", "--epochs", "100000"]
GATHER = ["--codec", "topk:keep=0.1"]
STAR = ["--codec", "natural", "--scheme", "star"]


def start(*arguments, **more):
    return subprocess.Popen([tithe, "train", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, **more)


def role_server(endpoint, workers, *arguments):
    return start("--transport", "zmq", "--role", "server", "--listen", endpoint, "--workers", str(workers), *arguments)


def role_worker(endpoint, workers, *arguments):
    return start("--transport", "zmq", "--role", "worker", "--connect", endpoint, "--workers", str(workers), *arguments)


def end(process, timeout=60):
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{process.args} did not end")
        return process.communicate()


def one_sentence(process, words, what, within):
    begun = time.time()
    _, error = end(process)
    lines = [line for line in error.splitlines() if line.strip()]
    check(process.returncode == 2, f"{what}: exit {process.returncode}: {error!r}")
    check(len(lines) == 1 and all(word in error for word in words), f"{what}: {error!r}")
    check(time.time() - begun < within, f"{what}: it took {time.time() - begun:.1f} s")


# ---- what strangers say --------------------------------------------------------------------------------------------

HELLO, WELCOME, I_AM, MESSAGE, GIVE_UP, WAITING = range(6)


def greeting(mechanism=b"NULL", major=3):
    return b"\xff" + bytes(8) + b"\x7f" + bytes([major, 0]) + mechanism.ljust(20, b"\0") + bytes(32)


def ready(kind=b"DEALER", identity=b""):
    body = b"\x05READY"
    for name, value in ((b"Socket-Type", kind), (b"Identity", identity)):
        body += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
    return bytes([4, len(body)]) + body


def frames(*parts):
    out = b""
    for i, part in enumerate(parts):
        more = i + 1 < len(parts)
        out += bytes([more | 2]) + struct.pack(">Q", len(part)) + part
    return out


def head(kind, sender=0, to=0):
    return struct.pack("<III", kind, sender, to)


def hello(version=2, magic=0x7469, workers=2, peers=1, length=140):
    return struct.pack("<III", magic << 16 | version, workers, peers).ljust(length, b"\0")


POLITE = greeting() + ready()
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


def say(s, saying):
    """After the greeting one waits for the other's; the rest may come at once."""
    polite = greeting()
    try:
        s.sendall(saying[:64])
        if saying.startswith(polite):
            s.settimeout(1)
            got = b""
            while len(got) < 64:
                more = s.recv(64 - len(got))
                if not more:
                    return
                got += more
        s.sendall(saying[64:])
    except OSError:
        pass  # it was thrown out


def visit(port):
    """All of them, at the same time; the connections stay open."""
    visitors = []
    for saying in SAYINGS.values():
        s = socket.create_connection(("127.0.0.1", port), timeout=10)
        say(s, saying)
        visitors.append(s)
    return visitors


def heard(port, saying, seconds=5):
    """Everything that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as s:
        say(s, saying)
        got = b""
        s.settimeout(0.3)
        until = time.time() + seconds
        while time.time() < until and b"." not in got:
            try:
                more = s.recv(65536)
            except socket.timeout:
                continue
            if not more:
                break
            got += more
        return got


def listening(pid):
    """(address, port) of the sockets of a process that listen."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}") as lines:
            for line in list(lines)[1:]:
                words = line.split()
                if words[3] == "0A" and words[9] in inodes:
                    address, port = words[1].split(":")
                    found.append((address, int(port, 16)))
    return found


# ---- a run among strangers -----------------------------------------------------------------------------------------

def answer(outputs, what):
    texts = [out for out, _ in outputs if out.strip()]
    check(len(texts) == 1, f"{what}: one worker speaks for all, not {len(texts)}: {outputs}")
    return json.loads(texts[0]) if len(texts) == 1 else {}


def strangers_at_the_start(how):
    port = free_port()
    endpoint = f"tcp://127.0.0.1:{port}"
    server = role_server(endpoint, 2, *SHORT, *how)
    while True:
        try:
            visitors = visit(port)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    old = heard(port, POLITE + frames(head(HELLO), hello(version=1)))
    check(b"version 2" in old and b"version 1" in old, f"an old version is told: {old!r}")
    other = heard(port, POLITE + frames(head(HELLO), hello(workers=7, peers="star" not in how)))
    check(b"waits for 2 workers" in other and b"7" in other, f"another number of workers is told: {other!r}")
    workers = [role_worker(endpoint, 2, *SHORT, *how, "--json", "-") for _ in range(2)]
    outputs = [end(worker) for worker in workers]
    _, error = end(server)
    check(server.returncode == 0 and all(worker.returncode == 0 for worker in workers), f"strangers: {error!r} {outputs}")
    there = answer(outputs, "strangers")
    here, _ = end(start("--workers", "2", *SHORT, *how, "--json", "-"))
    check(json.loads(here)["model_hash"] == there.get("model_hash"), "strangers change the model")
    for s in visitors:
        s.close()


def strangers_on_the_way(how):
    port = free_port()
    endpoint = f"tcp://127.0.0.1:{port}"
    until = ["--step-size", "0.01", "--seed", "3"]
    server = role_server(endpoint, 2, *LONG, *how, *until, "--deadline", "15")
    workers = [role_worker(endpoint, 2, *LONG, *how, *until, "--deadline", "15", "--json", "-") for _ in range(2)]
    time.sleep(2)
    everybody = [server, *workers]
    check(all(p.poll() is None for p in everybody), "strangers on the way: it was over before it began")
    visitors = []
    for process in everybody:
        for address, at in listening(process.pid):
            check(address == "0100007F", f"{address}:{at} is open to more than this machine")
            visitors += visit(at)
    check(len(visitors) == len(SAYINGS) * (1 if "star" in how else 3), "who listens: the server, and workers only among themselves")
    late = [role_worker(endpoint, 2, *LONG, *how, *until, "--deadline", "15") for _ in range(2)]
    for worker in late:
        one_sentence(worker, ["has all of its 2 workers"], "a worker too many", 10)
    time.sleep(1)
    check(all(p.poll() is None for p in everybody), "strangers on the way: they ended the run")
    for worker in workers:
        worker.send_signal(signal.SIGINT)
    outputs = [end(worker) for worker in workers]
    _, error = end(server)
    check([p.returncode for p in everybody] == [0, 0, 0], f"stopped by hand: {[p.returncode for p in everybody]} {outputs} {error!r}")
    check(answer(outputs, "stopped by hand").get("stopped") is True, "stopped by hand: it says so")
    for s in visitors:
        s.close()


# ---- nobody there, or somebody else --------------------------------------------------------------------------------

def nobody():
    one_sentence(role_worker(f"tcp://127.0.0.1:{free_port()}", 2, *SHORT, "--deadline", "1"), ["did not answer within 1 seconds"],
                 "no server", 8)
    port = free_port()
    one_sentence(role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT, "--deadline", "1"), ["Only 0 of 2 workers came", "within 1"],
                 "no worker", 8)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        one_sentence(role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT), ["Cannot listen at", "in use"], "a port in use", 8)
    for wrong in ("nonsense", "tcp://", "tcp://here", "tcp://here:", "tcp://:5555", "tcp://here:port", "udp://127.0.0.1:5555", "ipc://"):
        one_sentence(role_worker(wrong, 2, *SHORT), ["tcp://"], f"worker at '{wrong}'", 8)
        one_sentence(role_server(wrong, 2, *SHORT), ["tcp://"], f"server at '{wrong}'", 8)
    one_sentence(role_worker("tcp://no-such-host.invalid:5555", 2, *SHORT, "--deadline", "2"), ["no-such-host.invalid"],
                 "an unknown host", 30)
    one_sentence(role_server("tcp://192.0.2.1:5555", 2, *SHORT), ["Cannot listen at"], "somebody else's address", 8)
    one_sentence(role_server("ipc:///no/such/folder/s", 2, *SHORT), ["Cannot listen at"], "no such folder", 8)


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
            one_sentence(role_worker(f"tcp://127.0.0.1:{listener.getsockname()[1]}", 2, *SHORT, "--deadline", "1.5"), [words],
                         f"a server that is {name}", 10)
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
    for _ in range(40):
        if not left_behind(process.pid):
            break
        time.sleep(0.05)
    check(not left_behind(process.pid), f"{what}: a process is left")
    check(os.listdir(environment["TMPDIR"]) == [], f"{what}: files are left: {os.listdir(environment['TMPDIR'])}")


def local(how, *more):
    process = start("--transport", "zmq", "--local", "3", *LONG, *how, *more, start_new_session=True)
    time.sleep(1.5)
    check(process.poll() is None and len(children(process.pid)) == 4, "local: a server and three workers")
    return process


def stopped_local():
    for how in (GATHER, STAR):
        process = local(how, "--json", "-")
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        out, error = end(process)
        check(process.returncode == 0 and json.loads(out)["stopped"], f"Ctrl-C: {process.returncode} {error!r}")
        nothing_is_left(process, "Ctrl-C")
    process = local(GATHER)
    process.send_signal(signal.SIGTERM)
    out, error = end(process)
    check(process.returncode == 0 and "stopped by hand" in out, f"SIGTERM: {process.returncode} {out!r} {error!r}")
    nothing_is_left(process, "SIGTERM")
    process = local(GATHER)
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    begun = time.time()
    end(process)
    check(time.time() - begun < 5, "twice Ctrl-C: at once")
    nothing_is_left(process, "twice Ctrl-C")
    process = local(GATHER)
    process.kill()
    end(process)
    for _ in range(40):
        time.sleep(0.05)
        if not left_behind(process.pid):
            break
    check(not left_behind(process.pid), "a parent that is killed leaves nobody")
    shutil.rmtree(environment["TMPDIR"])
    os.mkdir(environment["TMPDIR"])


def stopped_roles():
    """Ctrl-C on one of those that were started by hand: it says so and ends, and the others know."""
    by_hand = ["stopped by hand"]

    def stop(process, words, what):
        process.send_signal(signal.SIGINT)
        one_sentence(process, words, what, 1.5)

    port = free_port()
    alone = role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT)
    time.sleep(0.5)
    stop(alone, by_hand, "Ctrl-C on a server without workers")
    nobody = role_worker(f"tcp://127.0.0.1:{free_port()}", 2, *SHORT)
    time.sleep(0.5)
    stop(nobody, by_hand, "Ctrl-C on a worker without a server")

    for how in (GATHER, STAR):
        port = free_port()
        endpoint = f"tcp://127.0.0.1:{port}"
        server = role_server(endpoint, 2, *LONG, *how)
        early = role_worker(endpoint, 2, *LONG, *how)
        time.sleep(1)
        stop(early, by_hand, "Ctrl-C on a worker that waits for others")  # and two more make the run whole
        workers = [role_worker(endpoint, 2, *LONG, *how) for _ in range(2)]
        time.sleep(2)
        check(all(p.poll() is None for p in (server, *workers)), "Ctrl-C on the server: it was over before it began")
        stop(server, by_hand, "Ctrl-C on the server")
        for worker in workers:
            one_sentence(worker, ["gave up", "stopped by hand"], "a worker whose server was stopped", 5)

    port = free_port()
    server = role_server(f"tcp://127.0.0.1:{port}", 2, *SHORT)
    waiting = role_worker(f"tcp://127.0.0.1:{port}", 2, *SHORT)
    time.sleep(1)
    stop(server, by_hand, "Ctrl-C on a server that waits for workers")
    one_sentence(waiting, ["says", "stopped by hand"], "a worker that came to a server that was stopped", 5)


def killed_local():
    for which in (0, 2):  # the server, a worker
        process = local(GATHER)
        begun = time.time()
        os.kill(children(process.pid)[which], signal.SIGKILL)
        _, error = end(process)
        check(process.returncode == 2 and "killed by signal 9" in error, f"killed: {process.returncode} {error!r}")
        check(time.time() - begun < 5, "killed: the others do not wait for a deadline")
        nothing_is_left(process, "killed")


# ---- stuck -----------------------------------------------------------------------------------------------------------

def names_it(processes, stuck, rank, what, deadline):
    begun = time.time()
    for process in processes:
        if process is stuck:
            continue
        _, error = end(process)
        check(process.returncode == 2, f"{what}: exit {process.returncode}: {error!r}")
        words = error.lower()
        named = f"from rank {rank} " in words or f"to rank {rank} " in words
        check(named and ", while " in words, f"{what}: rank and phase are named: {error!r}")
    check(time.time() - begun < deadline + 3, f"{what}: within the deadline, not {time.time() - begun:.1f} s")


def ranks_of(endpoint, how):
    """Workers get their ranks in the order of arrival, so they come one by one."""
    server = role_server(endpoint, 3, *LONG, *how, "--deadline", "3")
    workers = []
    for _ in range(3):
        workers.append(role_worker(endpoint, 3, *LONG, *how, "--deadline", "3"))
        time.sleep(0.4)
    return [*workers, server]


def stuck_zmq():
    for how, rank in ((GATHER, 0), (GATHER, 2), (STAR, 1), (["--codec", "raw", "--collective", "tree"], 2)):
        processes = ranks_of(f"tcp://127.0.0.1:{free_port()}", how)
        time.sleep(1)
        check(all(p.poll() is None for p in processes), f"stuck rank {rank}: the run was over before it began")
        os.kill(processes[rank].pid, signal.SIGSTOP)
        names_it(processes, processes[rank], rank, f"stuck rank {rank} of {how}", 3)
        processes[rank].kill()
        end(processes[rank])
    process = local(GATHER, "--deadline", "2")
    os.kill(children(process.pid)[1], signal.SIGSTOP)
    _, error = end(process)
    check(process.returncode == 2 and "while" in error, f"stuck in --local: {process.returncode} {error!r}")
    nothing_is_left(process, "stuck in --local")


def stuck_mpi():
    if not has_mpirun():
        print(f"SKIP: no {MPIRUN}")
        return
    for how in (GATHER, STAR, ["--codec", "raw"]):
        process = subprocess.Popen([*mpirun(3), tithe, "train", "--transport", "mpi", *LONG, *how, "--deadline", "3"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
        time.sleep(3)
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
        check(sorted(ranks) == [0, 1, 2], f"stuck over MPI: the ranks are {ranks}")
        if len(ranks) < 3:
            process.kill()
            continue
        os.kill(ranks[1], signal.SIGSTOP)
        begun = time.time()
        _, error = end(process)
        told = [line for line in error.splitlines() if "while" in line and "rank 1 " in line.lower()]
        check(process.returncode != 0 and len(told) >= 2, f"stuck over MPI, {how}: {process.returncode} {error!r}")
        check(time.time() - begun < 9, f"stuck over MPI: within the deadline, not {time.time() - begun:.1f} s")
        for _ in range(60):
            if not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()):
                break
            time.sleep(0.05)
        check(not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()), "stuck over MPI: a process is left")


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


def built_with(transport):
    _, error = end(start(*SHORT, "--transport", transport, "--steps", "1", "--no-optimum"))
    return "built without" not in error


zmq, mpi = built_with("zmq"), built_with("mpi")
if zmq:
    for how in (GATHER, STAR):
        strangers_at_the_start(how)
        strangers_on_the_way(how)
    nobody()
    somebody_else()
    stopped_local()
    stopped_roles()
    killed_local()
    stuck_zmq()
else:
    print("SKIP: no zmq in this build")
if mpi:
    stuck_mpi()
else:
    print("SKIP: no mpi in this build")
shutil.rmtree(folder, ignore_errors=True)
finish(skipped=not zmq and not mpi)
