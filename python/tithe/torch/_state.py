"""What stands behind the hook: the exchange of a model's gradients, whatever the buckets in which DDP brings them.

The exchange is over the whole model, in an order of parameters that never changes: a bucket of DDP's is a list of layers for it, and
where DDP puts a parameter into another bucket nothing happens to what is kept. Hooks only hand over; one thread does the rest.
"""
from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
import torch.distributed as dist

from .. import _library
from .._codec import Codec
from .._exchange import Comm, Exchange
from .._library import Error, SpecError
from . import _group
from ._line import Line, future

DEFAULT_CODEC = "topk:keep=0.01|natural"
WHOLE_MODEL = "1000000GB"  # a bucket that every model fits into


class _Job:
    """A bucket of this step: its numbers, the layers that they are, and who waits for them."""

    def __init__(self, buffer: torch.Tensor, places: Any, done: torch.futures.Future) -> None:
        self.buffer, self.places, self.done = buffer, places, done
        plain = buffer.dtype == torch.float32 and buffer.device.type == "cpu" and buffer.is_contiguous()
        self.numbers = buffer if plain else buffer.detach().to("cpu", torch.float32).contiguous()

    def complete(self) -> None:
        if self.numbers is not self.buffer:
            self.buffer.copy_(self.numbers)
        self.done.set_result(self.buffer)


class State:
    """The state of ``tithe.torch.hook``.

    >>> state = tithe.torch.State(model, codec="topk:keep=0.01|natural", feedback="ec")
    >>> model.register_comm_hook(state, tithe.torch.hook)
    """

    def __init__(self, model: torch.nn.Module, codec: str | None = None, feedback: str | None = None, *,
                 bucket: str = "25MiB", process_group: Any = None, timeout: float = 300.0, **options: Any) -> None:
        self._group = process_group or getattr(model, "process_group", None) or dist.group.WORLD
        self._codec = codec or DEFAULT_CODEC
        names = {p: name for name, p in getattr(model, "module", model).named_parameters() if p.requires_grad}
        # gradients become ready from the last layer to the first
        self._layers = {p: place for place, p in enumerate(reversed(names))}
        self.names = tuple(names[p] for p in self._layers)
        self._lengths = [p.numel() for p in self._layers]
        self._failure: Error | None = None
        self._step_done = threading.Event()
        self._jobs: list[_Job] = []
        self._put = 0
        self._accepted = 0
        self._line = Line(self._fail)
        named = dict(options, codec=self._codec, feedback=feedback, bucket=WHOLE_MODEL if bucket == "model" else bucket)
        self.dense = Codec(self._codec).spec == "all|raw" and not feedback and not options
        self.exchange: Exchange | None = None
        if self.dense:
            return
        self._open(named, timeout)

    def _open(self, named: dict[str, Any], timeout: float) -> None:
        meeting = _group.Meeting(self._group, timeout)
        rows = {"tithe": _library.library().tithe_version().decode()}
        rows.update({f"parameter {name}": str(tuple(p.shape)) for p, name in zip(self._layers, self.names)})
        meeting.agree(rows)
        comm: Comm = _group.connect(meeting)
        self.exchange = Exchange(comm, self._lengths, **named)
        self._update = torch.zeros(self.exchange.n)
        self._end = weakref.finalize(self, _end, self._line, self.exchange)

    # ---- gradients in -----------------------------------------------------------------------------------------------

    def accept(self, bucket: Any) -> torch.futures.Future:
        """What the hook does with a bucket: hand it over."""
        if self._failure:
            raise self._failure
        if self.dense:
            return self._all_reduce(bucket)
        try:
            places = Exchange.places([self._layers[p] for p in bucket.parameters()])
        except KeyError:
            raise SpecError("This bucket has a parameter that the State does not know: make the State of the model that DDP trains.") from None
        done, handed_out = future()
        job = _Job(bucket.buffer(), places, done)
        if self._accepted == 0:
            self._step_done.clear()
            self._raise_at_the_end()
        self._accepted = (self._accepted + len(places)) % len(self._lengths)
        self._line.give(lambda: self._exchange_bucket(job))
        return handed_out

    def _all_reduce(self, bucket: Any) -> torch.futures.Future:
        """Dense, by the group's own all-reduce, which nothing here could beat."""
        buffer = bucket.buffer()
        buffer.div_(dist.get_world_size(self._group))
        work = dist.all_reduce(buffer, group=self._group, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])

    def _raise_at_the_end(self) -> None:
        """DDP knows an error of ours as a text only. So where a backward pass runs, it looks here before DDP does, and raises the
        exception itself."""
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self._look)
        except RuntimeError:
            pass  # somebody else has called the hook

    def _look(self) -> None:
        self._step_done.wait()
        if self._failure:
            raise self._failure

    # ---- on the thread ------------------------------------------------------------------------------------------------

    def _exchange_bucket(self, job: _Job) -> None:
        self._jobs.append(job)
        if self._failure:
            raise self._failure
        self.exchange.put_layers(job.places, job.numbers.data_ptr())
        self._put += len(job.places)
        if self._put < len(self._lengths):
            return
        self.exchange.finish(self._update)
        jobs, self._jobs, self._put = self._jobs, [], 0
        for done in jobs:
            self.exchange.copy_layers(self._update.data_ptr(), done.places, done.numbers.data_ptr())
            done.complete()
        self._step_done.set()

    def _fail(self, why: Error) -> None:
        if not self._failure:
            self._failure = why
            self.exchange.comm.give_up(str(why))
        for job in self._jobs:
            job.done.set_result(self._failure)
        self._jobs = []
        self._step_done.set()

    def summary(self) -> str:
        return repr(self.exchange.describe()) if self.exchange else "dense"


def _end(line: Line, exchange: Exchange) -> None:
    line.close()
    exchange.close()
    exchange.comm.close()

