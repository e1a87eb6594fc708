"""Groups of ranks, and exchanges over them: gradients in, one update out, the same for every rank."""
from __future__ import annotations

import ctypes
from typing import Any, Sequence

from ._arrays import at, view
from ._library import SpecError, call, library, options, taken


class Comm:
    """A group of ranks: ``Comm.local``, ``Comm.zmq`` or ``Comm.mpi``. One thread at a time."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle

    @classmethod
    def local(cls, size: int = 1) -> Comm:
        """All ranks in this process: nothing has to move, and messages are only counted."""
        handle = ctypes.c_void_p()
        call("tithe_comm_local", size, ctypes.byref(handle))
        return cls(handle)

    @classmethod
    def zmq(cls, text: str = "", **named: Any) -> Comm:
        """``Comm.zmq(connect="tcp://10.0.0.1:5555", workers=3)`` is a worker, with ``listen`` in place of ``connect`` the server,
        which then calls ``serve``. Returns when all are there. docs/transports.md has the other keys."""
        handle = ctypes.c_void_p()
        call("tithe_comm_zmq_open", options(text, named), ctypes.byref(handle), of="tithe_zmq")
        return cls(handle)

    @classmethod
    def mpi(cls, comm: Any = None) -> Comm:
        """Over MPI, a rank in each process: of a communicator of mpi4py, or of all of ``mpirun``. Where nobody has started MPI this
        does, and closing the group ends it."""
        handle = ctypes.c_void_p()
        if comm is None:
            call("tithe_comm_mpi", None, ctypes.byref(handle), of="tithe_mpi")
        else:
            call("tithe_comm_mpi_fortran", ctypes.byref(ctypes.c_int(comm.py2f())), ctypes.byref(handle), of="tithe_mpi")
        return cls(handle)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, after the exchanges over it; whoever still waits for this process hears why."""
        if getattr(self, "_handle", None):
            library().tithe_comm_free(self._handle)
            self._handle = ctypes.c_void_p()

    @property
    def size(self) -> int:
        return library().tithe_comm_size(self._handle)

    @property
    def rank(self) -> int:
        """The first rank of this process."""
        return library().tithe_comm_rank(self._handle)

    @property
    def local_ranks(self) -> int:
        """How many live here; 0: it is a server."""
        return library().tithe_comm_local_ranks(self._handle)

    @property
    def transport(self) -> str:
        return library().tithe_comm_transport(self._handle).decode()

    @property
    def sent_bytes(self) -> int:
        """All that the ranks of this process have sent so far."""
        return library().tithe_comm_sent_bytes(self._handle)

    @property
    def sent_messages(self) -> int:
        return library().tithe_comm_sent_messages(self._handle)

    def set_timeout(self, seconds: float) -> None:
        """That any one wait may take."""
        library().tithe_comm_set_timeout(self._handle, seconds)

    def give_up(self, why: str) -> None:
        """Tells the others that this process cannot go on."""
        library().tithe_comm_give_up(self._handle, why.encode())

    def serve(self) -> None:
        """The work of a server, until the workers are done."""
        call("tithe_serve", self._handle)


class Exchange:
    """Stands in place of an all-reduce: every rank hands in a gradient, all get the same update.

    >>> ex = tithe.Exchange(tithe.Comm.mpi(), len(g), codec="topk:keep=0.01|natural", feedback="ec")
    >>> ex.step(g, gamma=0.1)       # g is now the update: 0.1 times the mean of what was sent
    >>> x -= g

    ``layers`` is the length of the vector, or the lengths of its layers. Options are those of exchange.h, as keywords or as text
    ("codec=topk:keep=0.01;feedback=ec"). All processes of the group open it together, and hear of it when they do not agree.
    """

    def __init__(self, comm: Comm, layers: int | Sequence[int], text: str = "", **named: Any) -> None:
        lengths = [layers] if isinstance(layers, int) else [int(length) for length in layers]
        if any(length < 0 for length in lengths):
            raise SpecError("A layer cannot have a negative length.")
        self._handle = ctypes.c_void_p()
        self.comm = comm
        self.layers = tuple(lengths)
        self.n = sum(lengths)
        call("tithe_exchange_open_layers", comm._handle, options(text, named), self.places(lengths), len(lengths),
             ctypes.byref(self._handle))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; its group stays."""
        if getattr(self, "_handle", None) and self.comm._handle:
            library().tithe_exchange_free(self._handle)
        self._handle = ctypes.c_void_p()

    @staticmethod
    def places(numbers: Sequence[int]) -> Any:
        """Numbers of layers as the library takes them; whoever asks often keeps the result."""
        return (ctypes.c_size_t * max(1, len(numbers)))(*numbers)

    # ---- steps ----------------------------------------------------------------------------------------------------

    def step(self, g: Any, gamma: float = 1.0) -> None:
        """All of it, in place: g becomes the update."""
        seen = self._vector(g, writable=True)
        call("tithe_exchange_step", self._handle, seen.address, gamma)

    def put(self, g: Any, rank: int | None = None, gamma: float = 1.0) -> None:
        """The gradient of one rank; then ``finish`` brings the update."""
        seen = self._vector(g)
        call("tithe_exchange_put", self._handle, self.comm.rank if rank is None else rank, 0, seen.address, gamma)

    def put_layers(self, places: Any, address: int, gamma: float = 1.0) -> None:
        """Layers of this process's first rank, which lie one after the other at an address. Needs ``bucket``."""
        call("tithe_exchange_put_layers", self._handle, self.comm.rank, 0, places, len(places), address, gamma)

    def copy_layers(self, vector: int, places: Any, address: int) -> None:
        """Layers of a vector of n numbers to an address, one after the other."""
        call("tithe_exchange_copy_layers", self._handle, vector, places, len(places), address)

    def finish(self, update: Any) -> None:
        """Moves what was put, and fills ``update``."""
        seen = self._vector(update, writable=True)
        call("tithe_exchange_finish", self._handle, seen.address)

    def _vector(self, x: Any, writable: bool = False) -> Any:
        seen = view(x, writable, "f32")
        if seen.count != self.n:
            raise SpecError(f"A vector of {self.n} numbers is needed, not of {seen.count}.")
        return seen

    def switch(self, scheme: str, collective: str | None = None) -> None:
        """Another scheme from the next step on, on all ranks; what was kept stays."""
        call("tithe_exchange_switch_scheme", self._handle, scheme.encode(), collective.encode() if collective else None)

    # ---- what it says and keeps -------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What it is, what it has counted ("totals") and what the last step was like ("last")."""
        return taken(library().tithe_exchange_describe(self._handle))

    def residual(self, rank: int | None = None) -> Any:
        """A view of what a rank keeps from step to step (numpy); None: nothing."""
        return at(library().tithe_exchange_residual(self._handle, self.comm.rank if rank is None else rank), self.n)

    def aggregate(self) -> Any:
        """A view of the mean of all that was sent, where the feedback keeps one (EF21)."""
        return at(library().tithe_exchange_aggregate(self._handle), self.n)

    def server_residual(self) -> Any:
        """A view of what the server, or the owner of a part, keeps."""
        return at(library().tithe_exchange_server_residual(self._handle), self.n)

    def momentum(self) -> Any:
        """A view of the momentum of this process's first rank, where the host's is known (``momentum``). Good until the next step."""
        return at(library().tithe_exchange_momentum(self._handle, self.comm.rank), self.n)

    def direction(self) -> Any:
        """A view of the mean of what was sent in the last step, which the host's momentum is then, the same on all ranks."""
        return at(library().tithe_exchange_direction(self._handle), self.n)

    def before(self) -> Any:
        """A view of the last update, where a tuner that steers remembers it."""
        return at(library().tithe_exchange_before(self._handle), self.n)

    def moved(self) -> list[Any]:
        """Views of the update that this process's first rank remembers where a tuner asks what waiting costs (cat:late=on), of each bucket;
        empty: it remembers none."""
        count, found = ctypes.c_size_t(), []
        for bucket in range(library().tithe_exchange_buckets(self._handle)):
            part = at(library().tithe_exchange_moved(self._handle, self.comm.rank, bucket, ctypes.byref(count)), count.value)
            found += [part] if part is not None else []
        return found

    def owned(self) -> list[slice]:
        """What this process's first rank owns of the vector, under a scheme whose ranks own parts."""
        begin, found = ctypes.c_size_t(), []
        for bucket in range(library().tithe_exchange_buckets(self._handle)):
            count = library().tithe_exchange_owned(self._handle, self.comm.rank, bucket, ctypes.byref(begin))
            found += [slice(begin.value, begin.value + count)] if count else []
        return found

    def learned(self) -> list[float]:
        """Numbers that scheme and tuner have learned: the same on all ranks, but each rank's own under cat:late=on."""
        return self._numbers("tithe_exchange_learned")

    def steered(self) -> list[float]:
        """What a tuner that steers knows in this process."""
        return self._numbers("tithe_exchange_steered")

    def _numbers(self, function: str) -> list[float]:
        count = getattr(library(), function)(self._handle, None)
        numbers = (ctypes.c_double * max(1, count))()
        getattr(library(), function)(self._handle, numbers)
        return list(numbers)[:count]

    def steer_on(self, step: int, steered: Sequence[float]) -> None:
        """With what the tuner knew after so many steps. Before the vectors above are filled: which there are, the setting says."""
        call("tithe_exchange_steer_on", self._handle, (ctypes.c_double * max(1, len(steered)))(*steered), len(steered), step)

    def go_on(self, step: int, learned: Sequence[float] = ()) -> None:
        """As after so many steps, with what was learned until then; the vectors above are the caller's to fill."""
        known = library().tithe_exchange_learned(self._handle, None)
        if len(learned) not in (0, known):
            raise SpecError(f"This exchange learns {known} numbers, and {len(learned)} were given: open it with the same options.")
        if learned:
            library().tithe_exchange_relearn(self._handle, (ctypes.c_double * known)(*learned))
        library().tithe_exchange_continue(self._handle, step, None, None)
