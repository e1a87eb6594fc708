"""What a step will cost on a link, and whether compression pays."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable

from ._library import call, options, taken


def plan(params: float, workers: int, *, latency: str | float = "1ms", bandwidth: str | float = "1Gbit", link: str | None = None,
         keep: Iterable[float] = (0.1, 0.01, 0.001), codecs: Iterable[str] = (), count: str = "frame",
         speed: bool = True) -> dict[str, Any]:
    """Which scheme, collective and level is fastest for a gradient of ``params`` numbers.

    ``latency`` (one way) and ``bandwidth`` (bytes a second, or with a unit) describe the link, or ``link`` does, such as
    "table:link.csv" as ``tithe probe --out`` writes it. ``speed`` measures for about a second what encoding and decoding take
    here, and counts it. The answer has "rows", of which "winner" and "dense" are two; "pays"; and "break_even", the bytes per
    second below which compression is faster than dense. ``winner["options"]`` is what Exchange takes.
    """
    text = ctypes.c_void_p()
    call("tithe_plan_ask", options("", {
        "params": f"{float(params):.17g}", "workers": workers, "link": link or f"alphabeta:latency={latency},bandwidth={bandwidth}",
        "keep": ",".join(f"{share:.17g}" for share in keep), "codecs": " ".join(codecs) or None, "count": count,
        "speed": "on" if speed else "off"}), ctypes.byref(text))
    return taken(text.value)
