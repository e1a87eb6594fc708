"""From a process group of torch to a group of ranks of Tithe's own: same ranks, bytes over Tithe's transport.

Ranks meet by way of the process group's store: what each was started with is compared first, and then rank 0 says where it listens.
Nobody waits for somebody who cannot come: whoever fails says so in the store, and all raise the same sentence.
"""
from __future__ import annotations

import hashlib
import os
import socket
import threading
from datetime import timedelta
from typing import Any, Callable

import torch
import torch.distributed as dist

from .._exchange import Comm
from .._library import Error, MismatchError, NonfiniteError, PeerError, Status, call

_meetings: dict[str, int] = {}  # of each group in this process: all ranks count alike


class Meeting:
    """A place in the store where the ranks of a group leave texts for each other."""

    def __init__(self, group: Any, timeout: float) -> None:
        self.rank, self.size, self.timeout = dist.get_rank(group), dist.get_world_size(group), timeout
        members = [_global_rank(group, rank) for rank in range(self.size)]
        name = hashlib.sha256(repr(members).encode()).hexdigest()[:16]
        number = _meetings[name] = _meetings.get(name, 0) + 1
        self._store = dist.PrefixStore(f"tithe/{name}/{number}", dist.distributed_c10d._get_default_store())

    def leave(self, what: str, text: str) -> None:
        self._store.set(f"{what}/{self.rank}", text)

    def find(self, what: str, rank: int) -> str:
        key = f"{what}/{rank}"
        try:
            self._store.wait([key], timedelta(seconds=self.timeout))
            return self._store.get(key).decode()
        except RuntimeError:
            raise PeerError(f"Rank {rank} did not come to open an exchange within {self.timeout:g} seconds: make the State on all "
                            "ranks.", Status.TIMEOUT) from None

    def agree(self, rows: dict[str, str]) -> None:
        """All ranks have to say the same; the first difference is named, on all of them alike."""
        text = "\n".join(f"{key}: {value}" for key, value in rows.items())
        self.leave("text", text)
        self.leave("hash", hashlib.sha256(text.encode()).hexdigest())
        hashes = [self.find("hash", rank) for rank in range(self.size)]
        failed = [rank for rank in range(self.size) if hashes[rank] == "failure"]
        if failed:
            why = self._rows(failed[0])["failure"]
            raise MismatchError(f"Rank {failed[0]}: {why}", Status.MISMATCH)
        other = next((rank for rank in range(self.size) if hashes[rank] != hashes[0]), None)
        if other is not None:
            raise MismatchError(_difference(self._rows(0), self._rows(other), other), Status.MISMATCH)

    def agree_on_failure(self, why: str) -> None:
        """In place of ``agree``, by a rank that cannot go on: all others raise its sentence."""
        self.leave("text", f"failure: {why}")
        self.leave("hash", "failure")

    def _rows(self, rank: int) -> dict[str, str]:
        return dict(line.split(": ", 1) for line in self.find("text", rank).split("\n"))


def _difference(first: dict[str, str], theirs: dict[str, str], rank: int) -> str:
    for key in [*first, *(key for key in theirs if key not in first)]:
        if first.get(key) != theirs.get(key):
            has = [f"{key} {value}" if value is not None else f"no {key}" for value in (first.get(key), theirs.get(key))]
            return f"Rank 0 has {has[0]}, but rank {rank} has {has[1]}: start all with the same model and options."
    return f"Rank 0 and rank {rank} have the same rows in another order: start all with the same model."


def _global_rank(group: Any, rank: int) -> int:
    if group is None or group is dist.group.WORLD:
        return rank
    return dist.get_global_rank(group, rank) if hasattr(dist, "get_global_rank") else dist.distributed_c10d._get_global_rank(group, rank)


def mean(buffer: torch.Tensor, group: Any, nonfinite: Callable[[], None]) -> torch.futures.Future:
    """The mean over the ranks, by the group's own all-reduce, in the buffer. Floats in the memory of the host are divided and looked at in one pass
    of the library's, which calls ``nonfinite``: all ranks have the same numbers, so all of them do or none. Whoever has other numbers looks
    for himself."""
    size = dist.get_world_size(group)
    numbers = buffer.float() if buffer.dtype == torch.bfloat16 else buffer  # gloo cannot add these
    ours = is_ours(buffer)
    if not ours:
        numbers.div_(size)  # before: half floats overflow soon

    def divided(done: torch.futures.Future) -> torch.Tensor:
        done.value()  # or the group's own error
        try:
            if ours:
                call("tithe_mean", numbers.data_ptr(), numbers.numel(), size)
        except NonfiniteError:
            nonfinite()
        return numbers if numbers is buffer else buffer.copy_(numbers)
    return dist.all_reduce(numbers, group=group, async_op=True).get_future().then(divided)


def is_ours(buffer: torch.Tensor) -> bool:
    return buffer.dtype == torch.float32 and buffer.device.type == "cpu"


# ---- where rank 0 listens -------------------------------------------------------------------------------------------

def own_address() -> str:
    """The address of this host by which others reach it: TITHE_ADDRESS, or that of the way to MASTER_ADDR, or of the host's name."""
    named = os.environ.get("TITHE_ADDRESS")
    if named:
        return named
    master = os.environ.get("MASTER_ADDR", socket.gethostname())
    port = int(os.environ.get("MASTER_PORT", "1") or 1)
    for family, kind, _, _, there in socket.getaddrinfo(master, port, type=socket.SOCK_DGRAM):
        with socket.socket(family, kind) as probe:  # a datagram socket knows the way, and sends nothing
            try:
                probe.connect(there)
                return probe.getsockname()[0]
            except OSError:
                continue
    return "127.0.0.1"


def _listen() -> tuple[str, int]:
    """A socket that listens, as an endpoint and as the number of a file."""
    address = own_address()
    v6 = ":" in address
    listener = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET)
    try:
        listener.bind((address, 0))
        listener.listen(1024)
    except OSError as why:
        listener.close()
        raise PeerError(f"Cannot listen at {address}: {why}: set TITHE_ADDRESS to an address of this host that the others reach.",
                        Status.PEER) from None
    port = listener.getsockname()[1]
    return f"tcp://{f'[{address}]' if v6 else address}:{port}", listener.detach()


def _serve(endpoint: str, file: int, size: int, timeout: float) -> None:
    """The server, which has no rank, on a thread of rank 0's process. What it has to say its workers hear."""
    try:
        server = Comm.zmq(listen=endpoint, file=file, workers=size, timeout=timeout)
    except Error:
        return
    try:
        server.set_timeout(1e9)  # it waits for a run to go on, however long that takes; the workers watch each other
        server.serve()
    except Error:
        pass
    finally:
        server.close()


def connect(meeting: Meeting) -> Comm:
    """The same ranks over ZeroMQ."""
    if meeting.size == 1:
        return Comm.local(1)
    if meeting.rank == 0:
        try:
            endpoint, file = _listen()
        except Error as why:
            meeting.leave("endpoint", f"failure: {why}")
            raise
        threading.Thread(target=_serve, args=(endpoint, file, meeting.size, meeting.timeout), name="tithe-server", daemon=True).start()
        meeting.leave("endpoint", endpoint)
    endpoint = meeting.find("endpoint", 0)
    if endpoint.startswith("failure: "):
        raise PeerError(f"Rank 0: {endpoint[9:]}", Status.PEER)
    return Comm.zmq(connect=endpoint, workers=meeting.size, rank=meeting.rank, timeout=meeting.timeout)
