"""A model as an exchange sees it: its parameters in one order that never changes, and vectors of theirs by name."""
from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.distributed as dist

from .._exchange import Exchange
from .._library import SpecError


def _inside(model: torch.nn.Module) -> torch.nn.Module:
    """The model inside of DDP; what cuts parameters into pieces is refused."""
    for module in model.modules():
        if type(module).__name__ in ("FullyShardedDataParallel", "FSDPModule"):
            raise SpecError("FSDP cuts parameters into shards, and has no gradient of a whole one to compress: take "
                            "DistributedDataParallel, or LocalSteps on the model before it is cut.")
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


class Layers:
    """The parameters that want a gradient. Those that are tied are one. Gradients become ready from the last layer to the first, so that
    is the order."""

    def __init__(self, model: torch.nn.Module) -> None:
        names = {p: name for name, p in _inside(model).named_parameters() if p.requires_grad}
        if not names:
            raise SpecError("The model has no parameter that wants a gradient.")
        self.parameters = list(reversed(names))
        self.names = tuple(names[p] for p in self.parameters)
        self.lengths = [p.numel() for p in self.parameters]
        self.places = {p: place for place, p in enumerate(self.parameters)}

    def describe(self) -> dict[str, str]:
        """For ranks that compare."""
        return {f"parameter {place}": f"{name} {tuple(p.shape)}" for place, (p, name) in enumerate(zip(self.parameters, self.names))}

    def named(self, vector: torch.Tensor) -> dict[str, torch.Tensor]:
        """Views of a vector of the exchange's, by the names and in the shapes of the parameters."""
        pieces = torch.split(vector, self.lengths)
        return {name: piece.view(p.shape) for name, piece, p in zip(self.names, pieces, self.parameters)}


# ---- checkpoints --------------------------------------------------------------------------------------------------------

def whose(saved: dict[str, Any] | Sequence[dict[str, Any]], group: Any) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """What this rank has saved, or None where another number of ranks has; and all that was handed in."""
    states = list(saved) if isinstance(saved, (list, tuple)) else [saved]
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    for state in states:
        _expect(state, "rank", "world_size")
    worlds = {state["world_size"] for state in states}
    own = next((state for state in states if state["rank"] == rank and worlds == {size}), None)
    if worlds == {size} and own is None:
        ranks = " and ".join(f"rank {state['rank']}" for state in states)
        raise SpecError(f"This is the state of {ranks}, and here is rank {rank}: load what each rank has saved, or a list of all.")
    if worlds != {size} and (len(worlds) > 1 or {state["rank"] for state in states} != set(range(next(iter(worlds))))):
        raise SpecError(f"The states are of {sorted(worlds)} ranks, and here are {size}: load a list of what all ranks have saved.")
    return own, states


def _expect(state: dict[str, Any], *keys: str) -> None:
    for key in keys:
        if key not in state:
            raise SpecError(f"The state has no '{key}': it is of a State that was dense, or of another version.")


def _kept(exchange: Exchange) -> dict[str, torch.Tensor]:
    """The vectors that an exchange keeps, by their kinds."""
    vectors = {"residual": exchange.residual(), "aggregate": exchange.aggregate(), "server_residual": exchange.server_residual(),
               "before": exchange.before(), "momentum": exchange.momentum(), "direction": exchange.direction()}
    kept = {kind: torch.from_numpy(vector) for kind, vector in vectors.items() if vector is not None}
    moved = _moved(exchange)
    return {**kept, "moved": torch.cat(moved)} if moved else kept  # which is a copy


def _moved(exchange: Exchange) -> list[torch.Tensor]:
    return [torch.from_numpy(part) for part in exchange.moved()]


def save(layers: Layers, exchange: Exchange, more: dict[str, torch.Tensor]) -> dict[str, Any]:
    """What an exchange keeps and has learned, and more vectors: copies, by kind and by name of the parameter."""
    vectors, seen = {**_kept(exchange), **more}, exchange.describe()
    if "server_residual" in vectors and exchange.comm.size > 1:
        if seen["served"]:
            raise SpecError("What the server keeps on the way back is not with the ranks, and cannot be saved here: leave "
                            "downlink_feedback out, or take scheme='shards', where ranks own the parts.")
        vectors["server_residual"] = _owned(exchange, vectors["server_residual"])
    return {"step": seen["steps"], "codec": seen["codec"], "feedback": seen["feedback"], "factor": seen["momentum"], "learned": exchange.learned(),
            "steered": exchange.steered(),
            **{kind: {name: part.clone() for name, part in layers.named(vector).items()} for kind, vector in vectors.items()}}


def _owned(exchange: Exchange, vector: torch.Tensor) -> torch.Tensor:
    """Of what owners keep what is this rank's: there is room for the others' parts, and anything may be there."""
    mine = torch.zeros_like(vector)
    for part in exchange.owned():
        mine[part] = vector[part]
    return mine


def load(layers: Layers, exchange: Exchange, own: dict[str, Any] | None, states: Sequence[dict[str, Any]],
         more: dict[str, torch.Tensor]) -> None:
    """And back: what this rank has saved; or, of another number of ranks, the mean of what all of them keep (what owners of parts keep
    is of sums, and goes to the ranks), and what is the same on all."""
    first = own or states[0]
    _expect(first, "step", "learned", "steered", "factor")
    here = exchange.describe()["momentum"]
    if first["factor"] != here:  # what was kept is in units of it
        raise SpecError(f"The state is of momentum {first['factor']:g}, and here it is {here:g}: make the State with the same.")
    if own and len(own["steered"]) != len(exchange.steered()):
        raise SpecError(f"The state is of codec {own['codec']}, feedback {own['feedback']}, {'with' if own['steered'] else 'without'} a tuner that chooses: make "
                        "the State with the codec, scheme, tuner and momentum that it was saved with.")
    if own:
        exchange.steer_on(own["step"], own["steered"])
    vectors = {**_kept(exchange), **more}
    for kind, vector in vectors.items():
        for name, part in layers.named(vector).items():
            if own or kind not in ("residual", "server_residual", "before", "moved", "momentum"):
                part.copy_(_found(first, kind, name, part))
            elif kind == "residual":
                part.copy_(torch.stack([_found(state, kind, name, part) + state.get("server_residual", {}).get(name, 0)
                                        for state in states]).mean(0))
            elif kind == "momentum":
                part.copy_(torch.stack([_found(state, kind, name, part) for state in states]).mean(0))
            else:
                part.zero_()
    parts = _moved(exchange)
    for part, loaded in zip(parts, torch.split(vectors["moved"], [len(part) for part in parts]) if parts else ()):
        part.copy_(loaded)
    exchange.go_on(first["step"], first["learned"] if own else ())


def _found(state: dict[str, Any], kind: str, name: str, part: torch.Tensor) -> torch.Tensor:
    found = state.get(kind, {}).get(name)
    if found is None or found.shape != part.shape:
        raise SpecError(f"The state has no {kind} of parameter {name} with shape {tuple(part.shape)}: it is of another model, or of "
                        "another feedback or momentum.")
    return found
