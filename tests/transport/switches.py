"""A switch for the tests of this folder, and a way to it that can be cut for one rank alone."""

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading

from support import HANG, check, happens, mpirun

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=folder)
DATA = ["--data", "w8a-like:scale=0.05", "--no-optimum"]
WORKERS = 3


def path(name):
    return os.path.join(folder, name)


class Switch:
    """A process that listens; ended by SIGINT, after which it has counted."""

    def __init__(self, *options, workers=WORKERS):
        self.json = path(f"switch-{os.urandom(4).hex()}.json")
        self.log = path(f"switch-{os.urandom(4).hex()}.log")
        self.out = open(self.log, "w", encoding="utf-8")
        self.process = subprocess.Popen([tithe, "switch", "--workers", str(workers), "--listen", "127.0.0.1:0", "--json", self.json,
                                         *options], stdout=self.out, stderr=subprocess.STDOUT, env=environment)
        happens(lambda: "listens at" in self.text() or self.process.poll() is not None, "the switch listens")
        self.address = self.text().split("listens at ")[-1].split()[0]

    def text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        status = self.process.wait(HANG)
        self.out.close()
        check(status == 0, f"the switch ended with {status}: {self.text()}")
        with open(self.json, encoding="utf-8") as file:
            return json.load(file)


class Relay:
    """Between one rank and its switch. When it is cut, what the rank sends still gets there, so that the others have their sum; the rank's
    own does not come back, and from then on nobody listens. Scales, which ranks agree on before, still pass."""

    KIND, SUM, OPERATION, MAX = 3, 0x82, 15, 0  # of a packet that comes back: where they stand, and what they are (docs/format.md)

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.connect((host, int(port)))
        self.address = f"127.0.0.1:{self.near.getsockname()[1]}"
        self.cut = threading.Event()
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def carry(self):
        rank = None
        while True:
            for end in select.select([self.near, self.far], [], [])[0]:
                packet, sender = end.recvfrom(65536)
                if end is self.near:
                    rank = sender
                    self.far.send(packet)
                elif self.cut.is_set() and packet[self.KIND] == self.SUM and packet[self.OPERATION] != self.MAX:
                    self.near.close()
                    return
                elif rank:
                    self.near.sendto(packet, rank)


def command(transport, options, workers=WORKERS):
    start = {"inproc": ["--workers", str(workers)], "mpi": ["--transport", "mpi", "--workers", str(workers)],
             "zmq": ["--transport", "zmq", "--local", str(workers)]}[transport]
    return [*(mpirun(workers) if transport == "mpi" else []), tithe, "train", *start, *DATA, "--scheme", "switch", *options]


def says(trace, what):
    """Is there such a line in it by now?"""
    if not os.path.exists(trace):
        return False
    with open(trace, encoding="utf-8") as lines:
        return any(what(line) for line in lines)


def loses(line):
    """The rank that writes the trace may hear of it from another one."""
    return ("The switch at" in line or "Another rank has lost the switch" in line) and "go on without it" in line
