"""Local steps: ranks train for themselves, and now and then exchange what their models have moved."""
from __future__ import annotations

import ctypes
from typing import Any, Sequence

from ._arrays import View, at, view
from ._exchange import Exchange
from ._library import SpecError, call, library, options


class Outer:
    """The outer loop around an exchange (outer.h). Layers are arrays or tensors of float32, one for each layer of the exchange.

    >>> outer = tithe.Outer(tithe.Exchange(comm, lengths, codec="topk:keep=0.05|sign", feedback="ec:decay=0.95"), lr=0.7)
    >>> outer.begin(layers)                                             # the shared model, the same on all ranks
    >>> outer.put(layers); outer.exchange(); outer.get(layers)          # after some steps of one's own

    ``go_on`` after ``put`` lets this rank go on, while another thread calls ``exchange``.
    """

    def __init__(self, exchange: Exchange, text: str = "", **named: Any) -> None:
        self._handle = ctypes.c_void_p()
        self.inner = exchange
        call("tithe_outer_open", exchange._handle, options(text, named), ctypes.byref(self._handle))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, before its exchange."""
        if getattr(self, "_handle", None) and self.inner._handle:
            library().tithe_outer_free(self._handle)
        self._handle = ctypes.c_void_p()

    def _places(self, layers: Sequence[Any], writable: bool = False) -> Any:
        seen: list[View] = [view(layer, writable, "f32") for layer in layers]
        lengths = tuple(one.count for one in seen)
        if lengths != self.inner.layers:
            raise SpecError(f"Layers with {self.inner.layers} numbers are needed, not {lengths}.")
        return (ctypes.c_void_p * len(seen))(*(one.address for one in seen))

    def _rank(self, rank: int | None) -> int:
        return self.inner.comm.rank if rank is None else rank

    def begin(self, layers: Sequence[Any]) -> None:
        """This is the shared model."""
        call("tithe_outer_begin", self._handle, self._places(layers))

    def put(self, layers: Sequence[Any], rank: int | None = None) -> None:
        """What the model of a rank has moved since it was set."""
        call("tithe_outer_put", self._handle, self._rank(rank), self._places(layers))

    def exchange(self) -> None:
        """When all ranks of this process were put: the shared model makes its step."""
        call("tithe_outer_exchange", self._handle)

    def get(self, layers: Sequence[Any], rank: int | None = None) -> None:
        """The shared model into the layers."""
        call("tithe_outer_get", self._handle, self._rank(rank), self._places(layers, True))

    def go_on(self, layers: Sequence[Any], rank: int | None = None) -> None:
        """The shared model, with what this rank has put on top of it."""
        call("tithe_outer_go_on", self._handle, self._rank(rank), self._places(layers, True))

    # ---- what it keeps ------------------------------------------------------------------------------------------------

    def shared(self) -> Any:
        """A view of the shared model (numpy)."""
        return at(library().tithe_outer_shared(self._handle), self.inner.n)

    def momentum(self) -> Any:
        """A view of the outer momentum; None where there is none."""
        return at(library().tithe_outer_momentum(self._handle), self.inner.n)

    def start(self, rank: int | None = None) -> Any:
        """A view of where a rank began its round; None where that is the shared model."""
        return at(library().tithe_outer_start(self._handle, self._rank(rank)), self.inner.n)

    def start_at(self, numbers: Any, rank: int | None = None) -> None:
        """As if a rank had begun its round there."""
        seen = self.inner._vector(numbers)
        call("tithe_outer_start_at", self._handle, self._rank(rank), seen.address)
