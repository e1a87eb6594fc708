"""The options of an exchange as a State and as LocalSteps give them."""
from __future__ import annotations

from typing import Any

from .. import _library
from .._codec import Codec
from .._library import SpecError
from . import _model


def is_dense(codec: str) -> bool:
    return codec.replace(" ", "") in ("all|raw", "all", "raw")


def settle(text: dict[str, Any], on_nonfinite: str, size: int) -> dict[str, Any]:
    """All of them, checked as far as they can be before anybody else is asked; so is what so many ranks need."""
    if on_nonfinite not in ("raise", "skip"):
        raise SpecError(f"on_nonfinite is 'raise' or 'skip', not {on_nonfinite!r}.")
    text = dict(text, on_nonfinite="skip" if on_nonfinite == "skip" else "fail")
    _library.options("", text)
    _library.library("tithe_zmq" if size > 1 else "tithe")
    if "tuner" not in text:
        Codec(text["codec"])  # a wrong spec is told before anybody is waited for
    return text


def describe(text: dict[str, Any], layers: _model.Layers) -> dict[str, str]:
    """What all ranks must have alike."""
    rows = {"tithe": _library.library().tithe_version().decode()}
    rows.update({str(key): str(value) for key, value in sorted(text.items()) if value is not None and key != "threads"})
    return dict(rows, **layers.describe())
