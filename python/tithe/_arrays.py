"""Vectors of numpy, of torch, or of anything that has a buffer: where their numbers lie, without a copy."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from ._library import SpecError


class View(NamedTuple):
    """Memory of somebody else's, who is kept alive by `owner`."""
    address: int
    count: int
    type: str  # "f32" or "f64"
    owner: Any


_FORMATS = {"f": "f32", "d": "f64"}


def _of_tensor(x: Any) -> View:
    if x.device.type != "cpu" or not x.is_contiguous():
        raise SpecError("A tensor has to be on the CPU and contiguous: pass x.cpu().contiguous().")
    kind = {"torch.float32": "f32", "torch.float64": "f64"}.get(str(x.dtype))
    if kind is None:
        raise SpecError(f"A tensor of {x.dtype} is neither float32 nor float64: convert it first.")
    return View(x.data_ptr(), x.numel(), kind, x)


def view(x: Any, writable: bool = False, wanted: str | None = None) -> View:
    """The numbers of x, all of them in one row. `wanted`: f32 or f64 and nothing else."""
    if hasattr(x, "data_ptr") and hasattr(x, "is_contiguous"):
        seen = _of_tensor(x)
    else:
        try:
            memory = memoryview(x)
        except TypeError:
            raise SpecError(f"A numpy array, a tensor or a buffer of floats is needed, not {type(x).__name__}.") from None
        if memory.format not in _FORMATS or not memory.c_contiguous:
            raise SpecError(f"The numbers have to be float32 or float64, one after the other: not format '{memory.format}'.")
        if writable and memory.readonly:
            raise SpecError("The array is read-only, and the result would go there: pass a copy.")
        count = memory.nbytes // memory.itemsize
        address = _address(memory) if count else 0
        seen = View(address, count, _FORMATS[memory.format], memory)
    if wanted and seen.type != wanted:
        raise SpecError(f"Numbers of type {wanted} are needed, not {seen.type}.")
    return seen


def _address(memory: memoryview) -> int:
    owner = memory.obj
    if hasattr(owner, "__array_interface__"):
        return int(owner.__array_interface__["data"][0])
    if memory.readonly:  # ctypes takes no buffer that it may not write to
        raise SpecError("The buffer is read-only: pass a numpy array, a tensor, or an array that can be written.")
    return ctypes.addressof(ctypes.c_char.from_buffer(memory.cast("B")))


def zeros(count: int, kind: str) -> Any:
    """A numpy array; without numpy, an array of the standard library."""
    try:
        import numpy
        return numpy.zeros(count, "float32" if kind == "f32" else "float64")
    except ImportError:
        import array
        letter = "f" if kind == "f32" else "d"
        return array.array(letter, bytes(count * array.array(letter).itemsize))


def at(address: int | None, count: int) -> Any:
    """A numpy array over float32 numbers of the library's; None where there are none."""
    if not address:
        return None
    import numpy
    return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (count,))
