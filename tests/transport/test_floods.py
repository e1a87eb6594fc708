"""A stranger who never stops talking: a message of endless parts, short or long, or one endless part, at the ports of a server and
of workers. It is cut off, their memory does not grow, and the run ends as if nobody had come. And a rank that sends what nobody
asked for."""

import json
import os
import socket
import struct
import subprocess
import tempfile

from support import HANG, NEVER, begins, check, finish, free_port, happens, is_sanitized, skip, status, transports_here
from zmtp import HELLO, MESSAGE, POLITE, frames, head, hello, listening, say

tithe = os.environ["TITHE"]
RUN = ["--data", "a9a-like:scale=0.1", "--no-optimum", "--estimator", "sgd", "--codec", "topk:keep=0.1", "--deadline", NEVER]
# Bytes that are said over and over, and for how long; ZeroMQ needs 64 bytes for a part of none. Each would take 1 GiB if it was not cut off. How much
# it takes until then is a matter of who gets a processor: a fourth is left for a machine that is busy.
FLOODS = {"endless parts of nothing": (b"\1\0", 32 << 20),
          "endless parts of 8 kB": (b"\3" + struct.pack(">Q", 8192) + bytes(8192), 1 << 30),
          "a part without end": (b"", 1 << 30)}
MAX_GROWTH = 256 << 10  # kB


def start(*arguments):
    return subprocess.Popen([tithe, "train", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, TITHE_THREADS="1"))


def flood(port, part, most):
    """Until it is cut off, or has said enough and all was read."""
    with socket.create_connection(("127.0.0.1", port), timeout=HANG) as s:
        say(s, POLITE + (b"" if part else bytes([2]) + struct.pack(">Q", 1 << 33)))
        piece = part * ((1 << 16) // len(part)) if part else bytes(1 << 16)
        here = s.getsockname()[1]
        try:
            for _ in range(most // len(piece)):
                s.sendall(piece)
        except OSError:
            return True
        happens(lambda: not unread(here), "all was read")
        return False


def unread(port):
    """Bytes that were sent from that port and are still on their way, or not yet read at the other end."""
    with open("/proc/net/tcp", encoding="ascii") as lines:
        ends = [line.split() for line in list(lines)[1:]]
    return sum(int(words[4].split(":")[i], 16) for words in ends for i in range(2) if words[1 + i].endswith(f":{port:04X}"))


def peak(process):
    return int(status(process.pid).get("VmHWM", "0").split()[0])


def drown(processes, when):
    for what, (part, most) in FLOODS.items():
        for process in processes:
            for _, port in listening(process.pid):
                before = peak(process)
                cut = flood(port, part, most)
                growth = peak(process) - before
                check(cut, f"{what}, {when}: nobody cuts it off")
                check(growth < MAX_GROWTH or sanitized, f"{what}, {when}: {growth >> 10} MB more")
                check(process.poll() is None, f"{what}, {when}: it ended the run")


def a_run_that_is_flooded():
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        traces = [f"{folder}/{i}" for i in range(2)]
        more = ["--epochs", "100000", "--workers", "2", "--transport", "zmq"]
        server = start(*RUN, *more, "--role", "server", "--listen", endpoint)
        happens(lambda: listening(server.pid), "the server listens")
        drown([server], "before the run")
        workers = [start(*RUN, *more, "--role", "worker", "--connect", endpoint, "--trace", trace, "--json", "-") for trace in traces]
        begins(*traces)
        drown([server, *workers], "on the way")
        for worker in workers:
            worker.terminate()
        said = [worker.communicate(timeout=HANG) for worker in workers]
        _, error = server.communicate(timeout=HANG)
        answers = [json.loads(out) for out, _ in said if out.strip()]
        check(len(answers) == 1 and answers[0]["stopped"], f"the run goes on until it is stopped: {said} {error!r}")


def a_rank_that_says_too_much():
    """It is known, so its connection stays; the server, which waits for another, ends with a sentence when the queue is full."""
    port = free_port()
    server = start(*RUN, "--steps", "3", "--workers", "2", "--transport", "zmq", "--role", "server", "--listen", f"tcp://127.0.0.1:{port}")
    happens(lambda: listening(server.pid), "the server listens")
    ranks = []
    for _ in range(2):
        ranks.append(socket.create_connection(("127.0.0.1", port), timeout=HANG))
        say(ranks[-1], POLITE + frames(head(HELLO), hello()))
        got = b""
        while len(ranks) == 2 and len(got) < 2 * 128:  # both are welcome
            got += ranks[1].recv(65536)
    try:
        for s in ranks:  # one of them is rank 1, for whom nobody waits yet
            for _ in range(100):
                s.sendall(frames(head(MESSAGE, 1), b"x") * 1000)
    except OSError:
        pass
    _, error = server.communicate(timeout=HANG)
    check(server.returncode == 2 and "nobody has asked for" in error and len(error.strip().splitlines()) == 1,
          f"too much: exit {server.returncode} {error!r}")
    for s in ranks:
        s.close()


if "zmq" not in transports_here():
    skip("there is no zmq")
sanitized = is_sanitized()
if sanitized:
    print("SKIP: how much memory grows: a sanitizer takes memory of its own")
a_run_that_is_flooded()
a_rank_that_says_too_much()
finish()
