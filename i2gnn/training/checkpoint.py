"""Checkpoints: one safetensors file each, with JSON in its header; nothing in it can execute."""

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Self

import torch
from torch import Tensor

from i2gnn.files import load_content, load_tensors, save_tensors

__all__ = ["Checkpoint", "Copies"]

FORMAT_VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A run at the end of an epoch: all that is needed to go on, or to use the model elsewhere.

    Attributes:
        epoch: Number of finished epochs.
        model: Weights and buffers by name.
        best: Those of the best validation epoch.
        best_epoch: The epoch they come from.
        optimizer: What the optimizer has gathered of each weight, by the weight's number.
        average: Averages of the weights by name, if training keeps them.
        scheduler: State dict of the learning rate schedule, with the rate.
        rng: States of the random number generators, by device type.
        scaling: Of the targets: center, scale and unit.
        history: One row per finished epoch, as in the CSV log.
        seconds: Time spent in training so far.
        settings: Settings of the run by section; the section "network" of a run of `train` holds
            the model's name and arguments, enough to build it again.
        capacity: Lengths of batches of fixed shape, if training used them.
        data: A digest of graphs, targets and split; empty in files that were written without.
    """

    epoch: int
    model: dict[str, Tensor]
    best: dict[str, Tensor]
    best_epoch: int
    optimizer: dict[int, dict[str, Tensor]]
    average: dict[str, Tensor]
    scheduler: dict[str, Any]
    rng: dict[str, Tensor]
    scaling: dict[str, Tensor]
    history: list[dict[str, float]]
    seconds: float
    settings: dict[str, Any]
    capacity: dict[str, int] = field(default_factory=dict)
    data: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, completely or not at all."""
        tensors: dict[str, Tensor] = {}
        content = {f.name: _pack(getattr(self, f.name), f.name, tensors) for f in fields(self)}
        save_tensors(path, "Checkpoint", FORMAT_VERSION, tensors, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads what `save` wrote, on the CPU."""
        tensors, content = load_tensors(path, "Checkpoint", FORMAT_VERSION)
        return cls(**{name: _unpack(value, tensors) for name, value in content.items()})

    @staticmethod
    def epoch_of(path: str | os.PathLike[str]) -> int:
        """The number of finished epochs, without reading the weights."""
        epoch: int = load_content(path, "Checkpoint", FORMAT_VERSION)["epoch"]
        return epoch


class Copies:
    """Copies of the tensors in nested dicts and lists, which later steps leave alone.

    Taken again and again, they cost little: tensors of one type are copied together, on a GPU by a
    few launches instead of hundreds. The tensors must stay where they are meanwhile. Two sets of
    copies take turns, so that the last one is whole until the next one is.

    Args:
        tree: The tensors that change, and anything else.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._live: dict[Any, list[Tensor]] = defaultdict(list)
        self._sets: list[tuple[Any, dict[Any, list[Tensor]]]] = []
        self._mirror(tree, self._live, torch.Tensor.detach)

    def take(self) -> Any:
        """The tree with copies of the tensors as they are now, valid until the call after next."""
        if len(self._sets) < 2:
            copies: dict[Any, list[Tensor]] = defaultdict(list)
            self._sets.append((self._mirror(self._tree, copies, torch.empty_like), copies))
        else:
            self._sets.reverse()
        tree, copies = self._sets[-1]
        for kind, tensors in self._live.items():
            torch._foreach_copy_(copies[kind], tensors)
        return tree

    def _mirror(
        self, tree: Any, found: dict[Any, list[Tensor]], make: Callable[[Tensor], Tensor]
    ) -> Any:
        """The tree with another tensor in place of each; these are also sorted by type."""
        if isinstance(tree, Tensor):
            made = make(tree.detach())
            found[tree.dtype, tree.device].append(made)
            return made
        if isinstance(tree, dict):
            return {key: self._mirror(value, found, make) for key, value in tree.items()}
        if isinstance(tree, list | tuple):
            return type(tree)(self._mirror(value, found, make) for value in tree)
        return tree


def _pack(tree: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Moves the tensors of a tree to `tensors`; what remains is JSON.

    A tensor becomes {"$tensor": its name}; a dict with keys other than text, such as an
    optimizer's state, becomes {"$items": [[key, value], ...]}.
    """
    if isinstance(tree, Tensor):
        tensors[name] = tree
        return {"$tensor": name}
    if isinstance(tree, dict):
        packed = [(key, _pack(value, f"{name}.{key}", tensors)) for key, value in tree.items()]
        if all(isinstance(key, str) for key in tree):
            return dict(packed)
        return {"$items": packed}
    if isinstance(tree, list | tuple):
        return [_pack(value, f"{name}.{place}", tensors) for place, value in enumerate(tree)]
    return tree


def _unpack(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(tree, list):
        return [_unpack(value, tensors) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if "$tensor" in tree:
        return tensors[tree["$tensor"]]
    if "$items" in tree:
        return {key: _unpack(value, tensors) for key, value in tree["$items"]}
    return {key: _unpack(value, tensors) for key, value in tree.items()}
