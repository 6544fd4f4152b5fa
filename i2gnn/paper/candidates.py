"""What might serve as the preset `best`: combinations of changes to the paper's training.

They are compared on validation graphs alone by `i2gnn reproduce search`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["BASE", "CANDIDATES", "CHANGES", "Change", "combine"]

BASE: Mapping[str, Any] = MappingProxyType({"hidden_channels": 64, "num_layers": 5})
"""With plain distances as labels, the models' default."""


@dataclass(frozen=True)
class Change:
    """What differs from `BASE` and from the paper's training.

    Attributes:
        about: The idea, in a few words.
        model: Changes of the model's section.
        training: Changes of the training's section.
    """

    about: str
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


def _cosine(lr: float, decay: float | None = None, graphs: int | None = None) -> dict[str, Any]:
    """A learning rate that falls along a cosine; with `decay` AdamW, with `graphs` such batches."""
    optimizer = {"lr": lr} | ({} if decay is None else {"name": "adamw", "weight_decay": decay})
    training = {"optimizer": optimizer, "schedule": {"name": "cosine", "warmup": 10}}
    return training | ({} if graphs is None else {"batch_size": graphs})


def _reading(parts: str) -> dict[str, Any]:
    return {"options": {"readout": parts}}


SQUARED = {"loss": "l1+mse"}

CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        # How it is trained.
        "plain": Change("the paper's training; 5 layers, plain distances as labels"),
        "slow": Change("cosine from 5e-4", training=_cosine(5e-4)),
        "slower": Change("cosine from 2.5e-4", training=_cosine(2.5e-4)),
        "slow-decayed": Change("cosine from 1e-3, decay of weights", training=_cosine(1e-3, 0.5)),
        "lightly-decayed": Change(
            "cosine from 1e-3, little decay of weights", training=_cosine(1e-3, 0.05)
        ),
        "small-batches": Change(
            "cosine from 1e-3, little decay of weights, 128 graphs a step",
            training=_cosine(1e-3, 0.05, 128),
        ),
        "smaller-batches": Change(
            "cosine from 5e-4, little decay of weights, 64 graphs a step",
            training=_cosine(5e-4, 0.05, 64),
        ),
        "smallest-batches": Change(
            "cosine from 5e-4, little decay of weights, 32 graphs a step",
            training=_cosine(5e-4, 0.05, 32),
        ),
        # What else is changed then.
        "fast": Change("from 1e-3 instead", training={"optimizer": {"lr": 1e-3}}),
        "faster": Change("from 2e-3 instead", training={"optimizer": {"lr": 2e-3}}),
        "decayed": Change("four times the decay", training={"optimizer": {"weight_decay": 0.2}}),
        "averaged": Change("weights averaged over 1,000 steps", training={"average": 0.999}),
        # Counts that are zero nearly everywhere: the few others must not be given up, nor may
        # their gradients, rare and large, undo what was learnt.
        "squared": Change("squared errors beside absolute ones", training=SQUARED),
        "clipped": Change(
            "squared errors beside absolute ones, clipped gradients",
            training={**SQUARED, "optimizer": {"max_grad_norm": 0.1}},
        ),
        # Molecules are made of few kinds of neighbourhoods, some of them a thousand times as common
        # as others.
        "distinct": Change("one node of each kind", training={"distinct": True}),
        "200": Change("200 epochs", training={"epochs": 200}),
        "short": Change("300 epochs", training={"epochs": 300}),
        "600": Change("600 epochs", training={"epochs": 600}),
        "1000": Change("1,000 epochs", training={"epochs": 1000}),
        "long": Change("4,000 epochs", training={"epochs": 4000}),
        "5000": Change("5,000 epochs", training={"epochs": 5000}),
        # Another network.
        "deep": Change("6 layers", {"num_layers": 6}),
        "identity": Change("identity labels", {"labels": "identity"}),
        "product": Change("layers of products instead of gates", {"conv": "product"}),
        # What a node's branches give is added up, and nothing follows: counts are such sums, too.
        "additive": Change(
            "sums over branches", {"options": {"readout_mlp": "edge", "head_channels": []}}
        ),
        # What is read of a subgraph (i, j), instead of all rows.
        "side": Change("read at j", _reading("side")),  # where cycles through i and j end
        "center": Change("read at i", _reading("center")),  # where all that are counted end
        "both": Change("read as a whole and at j", _reading("nodes+side")),
        "ends": Change("read at i and at j", _reading("center+side")),
        "all-parts": Change("read as a whole, at i and at j", _reading("nodes+center+side")),
    }
)
"""By name."""


def combine(names: Sequence[str]) -> Change:
    """Several changes, each of what those before it have left.

    Example:
        >>> combine(["smaller-batches", "short"]).training["epochs"]
        300
    """
    changes = [CHANGES[name] for name in names]
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for change in changes:
        model, training = _merge(model, change.model), _merge(training, change.training)
    return Change(", ".join(change.about for change in changes), model, training)


def _merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The new values, and those old ones that they do not replace, section by section."""
    merged = dict(old)
    for key, value in new.items():
        merged[key] = _merge(old.get(key, {}), value) if isinstance(value, Mapping) else value
    return merged


COMBINATIONS = (
    "plain",
    "slow",
    "slower",
    "slow long",
    "slow deep",
    "slow-decayed",
    "lightly-decayed",
    "slow additive",
    "small-batches",
    "smaller-batches",
    "smaller-batches short",
    "smaller-batches long",
    "smaller-batches decayed",
    "smaller-batches identity",
    "smaller-batches product faster",
    "smaller-batches additive",
    "smaller-batches additive short",
    "smaller-batches additive squared",
    "smaller-batches distinct additive squared fast 5000",
    "smaller-batches distinct product additive squared fast 5000",
    "smaller-batches squared short",
    "smaller-batches side",
    "smaller-batches side decayed",
    "smaller-batches side additive",
    "smaller-batches center",
    "smaller-batches both",
    "smaller-batches ends",
    "smaller-batches all-parts",
    "smaller-batches clipped short",
    "smaller-batches clipped 600",
    "smaller-batches clipped additive short",
    "smaller-batches clipped side short",
    "smaller-batches clipped side 600",
    "smaller-batches clipped center short",
    "smaller-batches clipped both short",
    "smaller-batches clipped all-parts short",
    "smaller-batches clipped ends short",
    "smaller-batches clipped ends 600",
    "smaller-batches clipped ends decayed short",
    "smaller-batches clipped ends averaged short",
    "smaller-batches clipped both averaged short",
    "smaller-batches clipped all-parts averaged short",
    "smaller-batches clipped ends additive short",
    "smaller-batches clipped ends additive averaged short",
    "smaller-batches clipped distinct ends averaged 1000",
    "smaller-batches clipped distinct ends product fast averaged 200",
    "smaller-batches clipped distinct ends product fast averaged 1000",
    "smaller-batches clipped distinct ends product additive fast averaged 1000",
    "smaller-batches clipped ends product faster short",
    "smaller-batches clipped ends product faster averaged short",
    "smaller-batches clipped ends deep short",
    "smaller-batches clipped ends fast short",
    "smallest-batches",
    "smallest-batches additive",
    "smallest-batches clipped ends short",
)

CANDIDATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {names.replace(" ", "-"): tuple(names.split()) for names in COMBINATIONS}
)
"""By name the names of their changes; presets are called `best-<name>`."""
