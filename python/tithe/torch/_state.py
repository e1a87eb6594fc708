"""What stands behind the hook: the exchange of a model's gradients, whatever the buckets in which DDP brings them.

The exchange is over the whole model, in an order of parameters that never changes: a bucket of DDP's is a list of layers for it, and
where DDP puts a parameter into another bucket nothing happens to what is kept. Hooks only hand over; one thread does the rest.
"""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from .._exchange import Exchange
from .._library import Error, MismatchError, NonfiniteError, SkippedError, SpecError, Status
from . import _group, _model, _options
from ._line import Line, future

# Tuners where nothing was said of a codec; the second sends all numbers in every step.
ANY, EVERY_NUMBER = "auto", "auto:low=1,high=1"
WHOLE_MODEL = "1000000GB"  # a bucket that every model fits into


class _Job:
    """A bucket of this step: its numbers, the layers that they are, and who waits for them."""

    def __init__(self, buffer: torch.Tensor, places: Any) -> None:
        self.buffer, self.places = buffer, places
        self.done, self.handed_out = future(buffer.device)
        away = buffer.device.type != "cpu"
        if away or buffer.dtype != torch.float32 or not buffer.is_contiguous():
            self.numbers = torch.empty(buffer.shape, dtype=torch.float32, pin_memory=away)
            self.numbers.copy_(buffer.detach())
        else:
            self.numbers = buffer

    def complete(self) -> None:
        if self.numbers is not self.buffer:
            self.buffer.copy_(self.numbers)
            if self.buffer.device.type == "cuda":  # this thread's stream is none that DDP waits for
                torch.cuda.synchronize(self.buffer.device)
        self.done.set_result(self.buffer)


class State:
    """The state of ``tithe.torch.hook``, for one model. All ranks of the group make it together.

    >>> model = torch.nn.parallel.DistributedDataParallel(model)
    >>> state = tithe.torch.State(model, codec="topk:keep=0.01|natural", feedback="ec")
    >>> model.register_comm_hook(state, tithe.torch.hook)

    codec, feedback
        how gradients are compressed, and what becomes of what was not sent. Without a codec the tuner auto chooses, by the link and
        what it measures, again and again: if momentum is given among all it knows, otherwise among those that send every number in
        every step, with 32, 9, 8 or 4 bits. "all|raw" alone takes the group's own all-reduce.
    momentum
        that of the optimizer (SGD), 0 if it has none; the optimizer stays as it is. What waits to be sent then takes its momentum along, and
        a sparse codec needs fewer steps. The gradients that come back are no longer gradients, so they must not be clipped. Leave it out
        for Adam and its like.
    warmup
        steps in which the level falls from 10 % to the codec's own.
    bucket
        "25MiB": parameters are fused to messages of that size, each with a selection of its own, and sent while the backward pass
        goes on; "model": one message, one selection over the whole model; "layer": a message for each parameter. A selection for
        each layer in one message is a codec's (topk:keep=0.01,per=layer).
    on_nonfinite
        "raise": a NaN or an infinity in the gradient of one rank is a NonfiniteError on all. "skip": all gradients of that step come back
        as NaN on all ranks, so that GradScaler and its like skip the step together; residuals are as before it.
    timeout
        seconds that a rank waits for another one, which includes what that one computes.
    process_group
        the ranks; without, those of the model, or all.
    options
        whatever else an exchange has (exchange.h): scheme, collective, tuner, seed, threads, ...
    """

    def __init__(self, model: torch.nn.Module, codec: str | None = None, feedback: str | None = None, *, momentum: float | None = None, warmup: int | None = None,
                 bucket: str = "25MiB", on_nonfinite: str = "raise", timeout: float = 300.0, process_group: Any = None,
                 **options: Any) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise SpecError("There is no process group yet: call torch.distributed.init_process_group first.")
        self._group = process_group or getattr(model, "process_group", None) or dist.group.WORLD
        self._failure: Error | None = None
        self._step_done = threading.Event()
        self._jobs: list[_Job] = []
        self._means: list[torch.futures.Future] = []  # of a dense step
        self._nonfinite = False  # one of them
        self._put = self._accepted = 0
        self._buckets = 0  # of DDP's, handed over so far
        self._line = Line(self._fail)
        self.exchange: Exchange | None = None
        meeting = _group.Meeting(self._group, timeout)
        try:
            self._layers = _model.Layers(model)
            self.names, self._lengths = self._layers.names, self._layers.lengths
            text = self._settle(codec, feedback, momentum, warmup, bucket, on_nonfinite, options)
            meeting.agree(_options.describe(text, self._layers))
        except MismatchError:
            raise
        except Error as why:  # the others must not wait for this one
            meeting.agree_on_failure(str(why))
            raise
        if not self.dense:
            self._open(meeting, text)

    # ---- how it is made -----------------------------------------------------------------------------------------------

    def _settle(self, codec: str | None, feedback: str | None, momentum: float | None, warmup: int | None, bucket: str, on_nonfinite: str,
                options: dict[str, Any]) -> dict[str, Any]:
        """The options of the exchange, with what nobody said; checked as far as they can be before anybody else is asked."""
        self._checks = on_nonfinite == "raise"
        if momentum is not None and not (isinstance(momentum, (int, float)) and 0 <= momentum < 1):
            raise SpecError(f"momentum is that of the optimizer, a number from 0 to below 1, not {momentum!r}.")
        if codec is None:
            if warmup or feedback not in (None, "ec"):
                raise SpecError(f"{'warmup' if warmup else 'feedback'} is of a codec: state a codec, too, or leave it out.")
            options = {"tuner": EVERY_NUMBER if momentum is None else ANY, **options}
            codec = "all|raw"  # for a tuner: any
        if warmup:
            if "tuner" in options:
                raise SpecError("warmup is a tuner of its own: leave warmup or tuner out.")
            options = dict(options, tuner=f"warmup:steps={warmup}")
        self.dense = feedback in (None, "none") and not options and _options.is_dense(codec)
        if momentum and not self.dense:
            options = dict(options, momentum=momentum)
        text = dict(options, codec=codec, feedback=feedback, bucket=WHOLE_MODEL if bucket == "model" else bucket)
        return _options.settle(text, on_nonfinite, dist.get_world_size(self._group))

    def _open(self, meeting: _group.Meeting, text: dict[str, Any]) -> None:
        comm = _group.connect(meeting)
        try:
            self.exchange = Exchange(comm, self._lengths, **text)
        except BaseException:
            comm.close()
            raise
        self._update = torch.zeros(self.exchange.n)
        self._end = weakref.finalize(self, _end, self._line, self.exchange)

    def close(self) -> None:
        """Ends the exchange and its connections, after the steps that were begun; without, that happens when the process ends."""
        if self.exchange is not None:
            self._end()

    # ---- gradients in -----------------------------------------------------------------------------------------------

    def accept(self, bucket: Any) -> torch.futures.Future:
        """What the hook does with a bucket: hand it over."""
        if self._failure:
            raise self._failure
        try:
            places = [self._layers.places[p] for p in bucket.parameters()]
        except KeyError:
            raise SpecError("A bucket has a parameter that the State does not know: make the State of the model that DDP trains, and "
                            "freeze parameters before.") from None
        self._buckets += 1
        self._accepted = (self._accepted + len(places)) % len(self._lengths)
        last = self._accepted == 0  # a step that lacks a bucket is never over, and DDP says so before the next
        if self.dense:
            return self._all_reduce(bucket.buffer(), last)
        job = _Job(bucket.buffer(), Exchange.places(places))
        if last:
            self._step_done.clear()
            self._raise_at_the_end(self._look)
        self._line.give(lambda: self._exchange_bucket(job))
        return job.handed_out

    def _all_reduce(self, buffer: torch.Tensor, last: bool) -> torch.futures.Future:
        """Dense, by the group's own all-reduce."""
        mean = _group.mean(buffer, self._group, self._found_nonfinite)
        if self._checks:
            self._means.append(mean)
            if last:
                self._raise_at_the_end(self._look_at_means)
        return mean

    def _found_nonfinite(self) -> None:
        self._nonfinite = True

    def _look_at_means(self) -> None:
        means, self._means = self._means, []
        for numbers in torch.futures.wait_all(means):
            self._nonfinite = self._nonfinite or not (_group.is_ours(numbers) or bool(torch.isfinite(numbers).all()))
        if self._nonfinite:
            self._nonfinite = False
            raise NonfiniteError("The mean of the gradients is not finite, since one of them is not or their sum is too large: lower the learning "
                                 "rate, or take on_nonfinite='skip' and leave out the step.", Status.NONFINITE)

    def _raise_at_the_end(self, look: Callable[[], None]) -> None:
        """DDP knows an error of ours as a text only. So where a backward pass runs, it looks here before DDP does, and raises the
        exception itself."""
        try:
            torch.autograd.Variable._execution_engine.queue_callback(look)
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
        assert self.exchange is not None
        self.exchange.put_layers(job.places, job.numbers.data_ptr())
        self._put += len(job.places)
        if self._put < len(self._lengths):
            return
        try:
            self.exchange.finish(self._update)
        except SkippedError:  # the update is NaN, on all ranks
            pass
        jobs, self._jobs, self._put = self._jobs, [], 0
        for done in jobs:
            self.exchange.copy_layers(self._update.data_ptr(), done.places, done.numbers.data_ptr())
            done.complete()
        self._step_done.set()

    def _fail(self, why: Error) -> None:
        if not self._failure:
            self._failure = why
            assert self.exchange is not None
            self.exchange.comm.give_up(str(why))
        for job in self._jobs:
            job.done.set_result(self._failure)
        self._jobs = []
        self._step_done.set()

    # ---- what it says ---------------------------------------------------------------------------------------------------

    def totals(self) -> dict[str, float]:
        """Bytes and seconds so far, of this rank, by the names of the library's counters; of a dense State only the buckets."""
        return dict(self.exchange.describe()["totals"] if self.exchange else {}, buckets=self._buckets)

    def summary(self) -> str:
        """What was chosen and why, what was sent, and where the time went."""
        if self.exchange is None:
            return f"tithe: dense, by the group's own all-reduce (asked for); {self._buckets} buckets so far"
        seen = self.exchange.describe()
        steps, totals, ranks = seen["steps"], seen["totals"], seen["ranks"]
        dense = 8 * seen["n"] * (ranks - 1) / ranks  # what a ring would send
        steering = seen.get("steering")
        why = f"{steering['changes']} changes among {steering['settings']} settings; {steering['reason']}" if steering else "asked for"
        lines = [f"tithe: {seen['codec']}, feedback {seen['feedback']}, tuner {seen['tuner']} ({why})",
                 f"  {seen['scheme']} over {seen['collective']}, {seen['ranks']} ranks over {seen['transport']}, {seen['n']:,} parameters in "
                 f"{seen['buckets']} message{'s' if seen['buckets'] > 1 else ''} a step"]
        if steps:
            sent = totals["sent_bytes"] / steps
            lines += [f"  {steps} steps: this rank sent {sent:,.0f} bytes a step" +
                      (f", a dense ring {dense:,.0f}: {dense / sent:,.1f} times as many" if sent else ""),
                      "  milliseconds a step: " + ", ".join(f"{name} {1000 * totals[name] / steps:.2f}"
                                                             for name in ("encode", "wait", "transfer", "decode"))]
        return "\n".join(lines)

    # ---- checkpoints ------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What this rank keeps, by the names of the parameters. Every rank saves its own, between two steps."""
        saved = _model.save(self._layers, self.exchange, {}) if self.exchange else {}
        return {"rank": dist.get_rank(self._group), "world_size": dist.get_world_size(self._group), **saved}

    def load_state_dict(self, saved: dict[str, Any] | Sequence[dict[str, Any]]) -> None:
        """Goes on where ``state_dict`` was: with what this rank has saved, or with a list of what all ranks have. From a list another
        number of ranks goes on, too: each then starts with the mean of what was kept."""
        own, states = _model.whose(saved, self._group)
        if self.exchange:
            _model.load(self._layers, self.exchange, own, states, {})


def _end(line: Line, exchange: Exchange) -> None:
    line.close()
    exchange.close()
    exchange.comm.close()
