"""Tithe makes distributed learning cheap to communicate.

>>> import tithe
>>> frame = tithe.Codec("topk:keep=0.01|natural").encode(gradient)     # numpy array or CPU tensor; packed bytes
>>> tithe.decode(frame)
>>> tithe.plan(params=25_557_032, workers=8, bandwidth="100Mbit")["winner"]
>>> ex = tithe.Exchange(tithe.Comm.mpi(), n, codec="topk:keep=0.01|natural", feedback="ec")

``tithe.torch`` has the two lines for PyTorch. All arithmetic is the C library's; what it refuses is raised as ``tithe.Error``
with its own sentence.
"""
from ._codec import Codec, decode
from ._exchange import Comm, Exchange
from ._library import (Error, MismatchError, MissingLibrary, NonfiniteError, PeerError, SkippedError, SpecError,
                       Status, library)
from ._outer import Outer
from ._plan import plan

__all__ = ["Codec", "Comm", "Error", "Exchange", "MismatchError", "MissingLibrary", "NonfiniteError", "Outer", "PeerError",
           "SkippedError", "SpecError", "Status", "decode", "plan", "version"]


def version() -> str:
    """Of the library that is loaded."""
    return library().tithe_version().decode()
