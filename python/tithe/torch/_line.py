"""One thread that makes the exchanges of a State, one after the other and in one order, with the GIL free while C is at work."""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable

import torch

from .._library import Error


def future(device: torch.device) -> tuple[torch.futures.Future, torch.futures.Future]:
    """One to be completed here with a tensor of this device, and one to be handed out. DDP reads futures in C++, which sees an exception
    only if a callback raised it: so what is set may be one."""
    inner: torch.futures.Future = torch.futures.Future(devices=[device] if device.type != "cpu" else None)
    return inner, inner.then(_unwrap)


def _unwrap(done: torch.futures.Future) -> Any:
    value = done.value()
    if isinstance(value, BaseException):
        raise value
    return value


class Line:
    """Runs jobs in the order in which they were given, on a thread that starts with the first. A job that fails is handed to
    ``failed``."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._failed = failed
        self._thread: threading.Thread | None = None

    def give(self, job: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tithe-exchange", daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as why:  # noqa: B902  whatever it is, somebody waits for it
                self._failed(why if isinstance(why, Error) else Error(f"{type(why).__name__}: {why}"))

    def close(self) -> None:
        """After what was given."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._jobs.put(None)
            self._thread.join()
        self._thread = None
