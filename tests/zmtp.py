"""What is said over a connection of ZeroMQ, byte by byte, by the rules of ZMTP 3: for strangers, who need not be polite."""

import os
import struct

from support import HANG

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


def hello(version=5, magic=0x7469, workers=2, length=140):
    return struct.pack("<III", magic << 16 | version, workers, 0).ljust(length, b"\0")


POLITE = greeting() + ready()


def say(s, saying):
    """After the greeting one waits for the other's; the rest may come at once."""
    polite = greeting()
    try:
        s.sendall(saying[:64])
        if saying.startswith(polite):
            s.settimeout(HANG)
            got = b""
            while len(got) < 64:
                more = s.recv(64 - len(got))
                if not more:
                    return
                got += more
        s.sendall(saying[64:])
    except OSError:
        pass  # it was thrown out


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
