"""Local steps: every rank trains for itself, and every H steps all exchange what their models have moved (DiLoCo, SparseLoCo)."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Sequence

import torch
import torch.distributed as dist

from .._exchange import Exchange
from .._library import Error, MismatchError, SkippedError, SpecError
from .._outer import Outer
from . import _group, _model, _options
from ._line import Line

DEFAULT_CODEC = "topk:keep=0.05|sign"


class LocalSteps:
    """An outer loop around any model and any optimizer. All ranks of the group make it together; DDP is not needed.

    >>> outer = tithe.torch.LocalSteps(model, every=50, codec="topk:keep=0.05|sign", decay=0.95, lr=1.0)
    >>> for batch in data:
    ...     loss(batch).backward(); optimizer.step(); optimizer.zero_grad()
    ...     outer.step()                    # every 50th call exchanges what the model moved
    >>> outer.finish()                      # steps of a round that is not over count as well

    Rank 0's parameters and buffers are everybody's at the start. A round: e <- decay e + (shared - model), C(e) is sent,
    e <- e - what was sent, shared <- shared - lr * mean of what was sent; then every rank goes on from the shared model, which has the same
    bits everywhere. What the inner optimizer keeps, such as its momentum, is this rank's own.

    every
        steps of a rank between two exchanges.
    codec, decay
        how differences are compressed, and how fast what was not sent is forgotten. "all|raw" is dense, and keeps nothing.
    lr, momentum, nesterov
        the outer step. Without momentum the residual stands for it. DiLoCo is codec="all|raw", lr=0.7, momentum=0.9, nesterov=True.
    overlap
        a round's exchange runs beside the computing of the next round: nobody waits, and what a rank moved reaches the others one round
        later. Until then each rank has its own last round on top of the shared model, so ranks are alike after ``finish`` only.
    buffers
        those of rank 0 (running means and the like) become everybody's with each exchange.
    on_nonfinite
        "raise": a model that is not finite on one rank is a NonfiniteError on all. "skip": all go back to the shared model (where the
        optimizer of that rank keeps a NaN, too, its next model will have one again: ``skipped`` counts).
    options
        whatever else an exchange has (exchange.h): feedback, scheme, collective, tuner, bucket, seed, threads, ...
    """

    def __init__(self, model: torch.nn.Module, every: int = 50, codec: str = DEFAULT_CODEC, *, decay: float = 0.95, lr: float = 1.0,
                 momentum: float = 0.0, nesterov: bool = False, overlap: bool = False, buffers: bool = True, on_nonfinite: str = "raise",
                 timeout: float = 300.0, process_group: Any = None, **options: Any) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise SpecError("There is no process group yet: call torch.distributed.init_process_group first.")
        self._group = process_group or dist.group.WORLD
        self._model, self._overlap, self._buffers = model, overlap, buffers
        self.every, self.calls, self.rounds, self.skipped = every, 0, 0, 0
        meeting = _group.Meeting(self._group, timeout)
        try:
            text = self._settle(codec, decay, on_nonfinite, options)
            self._layers = _model.Layers(model)
            rows = dict(text, every=every, lr=lr, momentum=momentum, nesterov=nesterov, overlap=overlap)
            meeting.agree(_options.describe(rows, self._layers))
        except MismatchError:
            raise
        except Error as why:  # the others must not wait for this one
            meeting.agree_on_failure(str(why))
            raise
        self._open(meeting, text, {"lr": lr, "momentum": momentum, "nesterov": nesterov or None})

    # ---- how it is made -----------------------------------------------------------------------------------------------

    def _settle(self, codec: str, decay: float, on_nonfinite: str, options: dict[str, Any]) -> dict[str, Any]:
        """The options of the exchange; checked as far as they can be before anybody else is asked."""
        if not isinstance(self.every, int) or self.every < 1:
            raise SpecError(f"every is a number of steps, at least 1, not {self.every!r}.")
        text = dict(options, codec=codec)
        if not _options.is_dense(codec):
            text.setdefault("feedback", f"ec:decay={decay:.9g}" if decay != 1 else "ec")
        return _options.settle(text, on_nonfinite, dist.get_world_size(self._group))

    def _open(self, meeting: _group.Meeting, text: dict[str, Any], outer: dict[str, Any]) -> None:
        comm = _group.connect(meeting)
        try:
            self.exchange = Exchange(comm, self._layers.lengths, **text)
            self.outer = Outer(self.exchange, **outer)
        except BaseException:
            comm.close()
            raise
        self._failure: Error | None = None
        self._arrived = threading.Event()  # nothing is under way
        self._arrived.set()
        self._line = Line(self._fail)
        self._end = weakref.finalize(self, _end, self._line, self.outer, self.exchange)
        with torch.no_grad():
            for p in self._layers.parameters:
                dist.broadcast(p.data, self._root(), group=self._group)
        self._share_buffers()
        self.outer.begin(self._numbers())

    def _root(self) -> int:
        return _group._global_rank(self._group, 0)

    def close(self) -> None:
        """Ends the exchange and its connections; without, that happens when the process ends."""
        self._end()

    # ---- rounds -------------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """After each step of the optimizer, on all ranks. True: this one ended a round."""
        self.calls += 1
        if self.calls % self.every:
            return False
        self._end_round(self._overlap)
        return True

    def finish(self) -> None:
        """Waits for what is under way, exchanges the steps since, and leaves the shared model on all ranks, the same bits everywhere."""
        if self.calls % self.every:
            self._end_round(False)
            self.calls = 0
        elif self._overlap:
            self._wait()
            self._get()

    def _numbers(self) -> list[torch.Tensor]:
        """The parameters as the library reads them: float32 on the CPU, in their own memory where they are that."""
        return [p.detach().to("cpu", torch.float32).contiguous() for p in self._layers.parameters]

    def _set(self, numbers: list[torch.Tensor]) -> None:
        """Into parameters that do not lie where the library wrote."""
        with torch.no_grad():
            for p, written in zip(self._layers.parameters, numbers):
                if p.data_ptr() != written.data_ptr():
                    p.copy_(written)

    def _end_round(self, overlap: bool) -> None:
        self._wait()
        numbers = self._numbers()
        self.outer.put(numbers)
        if overlap:
            self.outer.go_on(numbers)
            self._set(numbers)
            self._share_buffers()
            self._arrived.clear()
            self._line.give(self._exchange)
        else:
            self._exchange_here()
            self._get()
            self._share_buffers()  # after the exchange, which names a rank that is gone

    def _get(self) -> None:
        numbers = self._numbers()
        self.outer.get(numbers)
        self._set(numbers)

    def _exchange_here(self) -> None:
        try:
            self.outer.exchange()
            self.rounds += 1
        except SkippedError:
            self.skipped += 1
        except Error as why:
            self._fail(why)
            raise

    def _exchange(self) -> None:
        try:
            self._exchange_here()
        finally:
            self._arrived.set()

    def _fail(self, why: Error) -> None:
        if not self._failure:
            self._failure = why
            self.exchange.comm.give_up(str(why))

    def _wait(self) -> None:
        self._arrived.wait()
        if self._failure:
            raise self._failure

    def _share_buffers(self) -> None:
        """Rank 0's, over the process group: they are few, and need not be numbers that can be averaged."""
        if self._buffers:
            for buffer in self._model.buffers():
                dist.broadcast(buffer.data, self._root(), group=self._group)

    # ---- what it says -------------------------------------------------------------------------------------------------

    def totals(self) -> dict[str, float]:
        """Bytes and seconds so far, of this rank, by the names of the library's counters."""
        self._wait()
        return dict(self.exchange.describe()["totals"])

    def summary(self) -> str:
        """What is sent, and how much less that is than a dense all-reduce in each step."""
        self._wait()
        seen = self.exchange.describe()
        rounds, totals, dense = seen["steps"], seen["totals"], 4 * seen["n"]
        lines = [f"tithe: {seen['codec']}, feedback {seen['feedback']}, every {self.every} steps{', overlapped' if self._overlap else ''}",
                 f"  {seen['scheme']} over {seen['collective']}, {seen['ranks']} ranks over {seen['transport']}, {seen['n']:,} parameters"]
        if rounds and totals["uplink_bytes"]:
            frame = totals["uplink_bytes"] / rounds
            lines += [f"  {rounds} rounds: a frame has {frame:,.0f} bytes, {dense / frame:,.0f} times fewer than the model, and "
                      f"{dense * self.every / frame:,.0f} times fewer than a gradient in each step",
                      "  milliseconds a round: " + ", ".join(f"{name} {1000 * totals[name] / rounds:.2f}"
                                                              for name in ("encode", "wait", "transfer", "decode"))]
        return "\n".join(lines)

    # ---- checkpoints --------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What this rank keeps, by the names of the parameters; the model is not in it. Every rank saves its own, at any call of step."""
        self._wait()
        start, vectors = self.outer.start(), self._kept()
        if start is not None:
            vectors["start"] = torch.from_numpy(start)
        return {"rank": dist.get_rank(self._group), "world_size": dist.get_world_size(self._group), "calls": self.calls,
                **_model.save(self._layers, self.exchange, vectors)}

    def load_state_dict(self, saved: dict[str, Any] | Sequence[dict[str, Any]]) -> None:
        """Goes on where ``state_dict`` was, after the model has been loaded: with what this rank has saved, or with a list of what all
        ranks have. From a list another number of ranks goes on, too, each with the mean of what was kept, from the shared model."""
        self._wait()
        own, states = _model.whose(saved, self._group)
        start = {"start": torch.zeros(self.exchange.n)} if own and "start" in own else {}
        _model.load(self._layers, self.exchange, own, states, {**self._kept(), **start})
        if start:
            self.outer.start_at(start["start"])
        if not own:
            self._get()
        self.calls = own["calls"] if own else 0

    def _kept(self) -> dict[str, torch.Tensor]:
        """Beside what the exchange keeps."""
        vectors = {"shared": self.outer.shared(), "outer_momentum": self.outer.momentum()}
        return {kind: torch.from_numpy(vector) for kind, vector in vectors.items() if vector is not None}


def _end(line: Line, outer: Outer, exchange: Exchange) -> None:
    line.close()
    outer.close()
    exchange.close()
    exchange.comm.close()
