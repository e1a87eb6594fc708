"""Codecs: a vector to packed bytes and back."""
from __future__ import annotations

import ctypes
from typing import Any

from ._arrays import View, view, zeros
from ._library import call, library, options, taken

_TYPES = ("f32", "f64")


class Codec:
    """A selector and a quantizer, such as ``Codec("topk:keep=0.01|natural")``.

    ``type`` is "f32" or "f64"; ``seed`` and ``rank`` are those of all that is random, and have to be the same when a frame is
    decoded; ``threads`` share the work on long vectors, and change no bit. One call at a time.
    """

    def __init__(self, spec: str, *, type: str = "f32", contractive: bool = False, seed: int = 1, rank: int = 0,
                 threads: int = 1) -> None:
        self._handle = ctypes.c_void_p()
        text = options("", {"codec": spec, "type": type, "contractive": contractive, "seed": seed, "rank": rank, "threads": threads})
        call("tithe_coder_open", text, ctypes.byref(self._handle))

    @classmethod
    def of_frame(cls, frame: bytes, *, seed: int = 1, rank: int = 0, threads: int = 1) -> tuple[Codec, int]:
        """The codec that a frame names, good for decoding it, and how many numbers the frame is of."""
        codec = cls.__new__(cls)
        codec._handle = ctypes.c_void_p()
        n = ctypes.c_size_t()
        text = options("", {"seed": seed, "rank": rank, "threads": threads})
        call("tithe_coder_of_frame", ctypes.cast(ctypes.c_char_p(frame), ctypes.c_void_p), len(frame), text,
             ctypes.byref(codec._handle), ctypes.byref(n))
        return codec, n.value

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library().tithe_coder_free(self._handle)
            self._handle = ctypes.c_void_p()

    def __repr__(self) -> str:
        return f"tithe.Codec({self.spec!r})"

    @property
    def _codec(self) -> Any:
        return library().tithe_coder_codec(self._handle)

    @property
    def spec(self) -> str:
        """With every parameter that differs from its default, in one canonical spelling."""
        return library().tithe_codec_spec(self._codec).decode()

    @property
    def type(self) -> str:
        return _TYPES[library().tithe_codec_type(self._codec)]

    def bound(self, n: int) -> int:
        """No frame of n numbers is longer than so many bytes."""
        return library().tithe_codec_bound(self._codec, n)

    def length(self, n: int, entries: int) -> int:
        """Nor is one with so many entries longer than this; known before anything is encoded."""
        return library().tithe_codec_length(self._codec, n, entries, 0)

    def claims(self, n: int) -> dict[str, Any]:
        """What it promises of vectors of n numbers: omega, delta, Delta (codec.h), and its traits."""
        return taken(library().tithe_coder_claims(self._handle, n))

    def encode(self, x: Any, step: int = 0) -> bytes:
        """A self-contained frame of x: a numpy array, a CPU tensor, or another buffer of floats."""
        seen = view(x, wanted=self.type)
        room = ctypes.create_string_buffer(self.bound(seen.count))
        length = ctypes.c_size_t()
        call("tithe_coder_encode", self._handle, step, seen.address, seen.count, ctypes.addressof(room), len(room), ctypes.byref(length))
        return room.raw[:length.value]

    def decode(self, frame: bytes, out: Any = None, n: int | None = None, scale: float = 1.0) -> Any:
        """out += scale * what was sent. Without ``out``: a new array of n numbers, of as many as the frame is of."""
        if out is None:
            if n is None:
                n = Codec.of_frame(frame)[1]
            out = zeros(n, self.type)
        seen: View = view(out, writable=True, wanted=self.type)
        call("tithe_coder_decode_add", self._handle, ctypes.cast(ctypes.c_char_p(frame), ctypes.c_void_p), len(frame), scale,
             seen.address, seen.count)
        return out


def decode(frame: bytes, *, seed: int = 1, rank: int = 0) -> Any:
    """The vector of a self-contained frame, whose codec the frame itself names."""
    codec, n = Codec.of_frame(frame, seed=seed, rank=rank)
    return codec.decode(frame, n=n)
