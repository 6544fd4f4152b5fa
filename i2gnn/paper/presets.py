"""Settings of the counting experiments: the paper's, and ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.paper.counting_published import HOPS
from i2gnn.training import RunConfig

__all__ = [
    "BEST",
    "CANDIDATES",
    "PRESETS",
    "VARIANTS",
    "Candidate",
    "Task",
    "candidate_of",
    "chosen",
    "configure",
]


class Task(NamedTuple):
    """What is to be learnt by what: one cell of a table, the one that keeps its records."""

    table: str
    dataset: str
    level: str
    model: str
    target: str


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "i2gnn_single": ("i2gnn", {"branch_labels": False}),
        "i2gnn_id": ("i2gnn", {"labels": "identity"}),
    }
)
"""Rows that are a model of the registry with other arguments."""

PPGN_WIDTH = 300
"""The paper's width in the counting experiments; its complexity table has 64."""


@dataclass(frozen=True)
class Candidate:
    """A setting that might serve `best`, as what it changes in `BASE`.

    Attributes:
        about: The idea, in a few words.
        model: Changes of the model's section.
        training: Changes of the training's section.
    """

    about: str
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


BASE: Mapping[str, Any] = {"hidden_channels": 64, "num_layers": 5}
"""With plain distances as labels, the models' default."""

SQUARED = {"loss": "l1+mse"}
"""Counts that are zero nearly everywhere: the few others must not be given up."""

ADDITIVE = {"options": {"readout_mlp": "edge", "head_channels": []}}
"""What a node's branches give is added up, and nothing follows: counts are such sums, too."""

READOUTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "side": ("side", "at j"),  # where cycles through i and j end
        "center": ("center", "at i"),  # where all cycles that are counted end
        "both": ("nodes+side", "as a whole and at j"),
        "ends": ("center+side", "at i and at j"),
        "all-parts": ("nodes+center+side", "as a whole, at i and at j"),
    }
)
"""What else than all rows can be read of a subgraph (i, j), and in words."""

SIDE = {"options": {"readout": "side"}}
ENDS = {"options": {"readout": "center+side"}}


def cosine(lr: float, **optimizer: Any) -> dict[str, Any]:
    """Training with a learning rate that falls along a cosine."""
    return {
        "optimizer": {"lr": lr, **optimizer},
        "schedule": {"name": "cosine", "warmup": 10},
    }


def small_batches(graphs: int, lr: float, decay: float = 0.05, **optimizer: Any) -> dict[str, Any]:
    """Training with few graphs in a step: as many more steps, for not much more time."""
    return cosine(lr, name="adamw", weight_decay=decay, **optimizer) | {"batch_size": graphs}


def clipped(
    graphs: int = 64, lr: float = 5e-4, decay: float = 0.05, epochs: int = 300
) -> dict[str, Any]:
    """Training for rare counts: they are not given up, nor do their gradients undo the others."""
    return small_batches(graphs, lr, decay, max_grad_norm=0.1) | SQUARED | {"epochs": epochs}


CANDIDATES: Mapping[str, Candidate] = MappingProxyType(
    {
        "plain": Candidate("the paper's training; 5 layers, plain distances as labels"),
        "slow": Candidate("learning rate from 5e-4 along a cosine", training=cosine(5e-4)),
        "slower": Candidate("learning rate from 2.5e-4 along a cosine", training=cosine(2.5e-4)),
        "slow-long": Candidate(
            "learning rate from 5e-4 along a cosine, 4,000 epochs",
            training=cosine(5e-4) | {"epochs": 4000},
        ),
        "slow-deep": Candidate(
            "learning rate from 5e-4 along a cosine, 6 layers", {"num_layers": 6}, cosine(5e-4)
        ),
        "slow-decayed": Candidate(
            "cosine from 1e-3, decay of weights",
            training=cosine(1e-3, name="adamw", weight_decay=0.5),
        ),
        "lightly-decayed": Candidate(
            "cosine from 1e-3, little decay of weights",
            training=cosine(1e-3, name="adamw", weight_decay=0.05),
        ),
        "additive": Candidate(
            "cosine from 5e-4, predictions are sums over branches", ADDITIVE, cosine(5e-4)
        ),
        "small-batches": Candidate(
            "cosine from 1e-3, little decay of weights, 128 graphs a step",
            training=small_batches(128, 1e-3),
        ),
        "smaller-batches": Candidate(
            "cosine from 5e-4, little decay of weights, 64 graphs a step",
            training=small_batches(64, 5e-4),
        ),
        "smaller-batches-short": Candidate(
            "cosine from 5e-4, little decay of weights, 64 graphs a step, 300 epochs",
            training=small_batches(64, 5e-4) | {"epochs": 300},
        ),
        "smaller-batches-long": Candidate(
            "cosine from 5e-4, little decay of weights, 64 graphs a step, 4,000 epochs",
            training=small_batches(64, 5e-4) | {"epochs": 4000},
        ),
        "smaller-batches-decayed": Candidate(
            "cosine from 5e-4, more decay of weights, 64 graphs a step",
            training=small_batches(64, 5e-4, decay=0.2),
        ),
        "smaller-batches-identity": Candidate(
            "cosine from 5e-4, little decay of weights, 64 graphs a step, identity labels",
            {"labels": "identity"},
            small_batches(64, 5e-4),
        ),
        "smaller-batches-additive": Candidate(
            "cosine from 5e-4, little decay of weights, 64 graphs a step, sums over branches",
            ADDITIVE,
            small_batches(64, 5e-4),
        ),
        "smaller-batches-additive-short": Candidate(
            "64 graphs a step, sums over branches, 300 epochs",
            ADDITIVE,
            small_batches(64, 5e-4) | {"epochs": 300},
        ),
        "smaller-batches-additive-squared": Candidate(
            "64 graphs a step, sums over branches, squared errors beside absolute ones",
            ADDITIVE,
            small_batches(64, 5e-4) | SQUARED,
        ),
        "smaller-batches-squared-short": Candidate(
            "64 graphs a step, squared errors beside absolute ones, 300 epochs",
            training=small_batches(64, 5e-4) | SQUARED | {"epochs": 300},
        ),
        "smaller-batches-clipped-short": Candidate(
            "64 graphs a step, squared errors beside absolute ones, clipped gradients, 300 epochs",
            training=clipped(),
        ),
        **{
            f"smaller-batches-clipped-{name}-short": Candidate(
                f"squared errors, clipped gradients, subgraphs read {where}, 300 epochs",
                {"options": {"readout": readout}},
                clipped(),
            )
            for name, (readout, where) in READOUTS.items()
        },
        "smaller-batches-clipped-600": Candidate(
            "64 graphs a step, squared errors beside absolute ones, clipped gradients, 600 epochs",
            training=clipped(epochs=600),
        ),
        "smaller-batches-clipped-side-600": Candidate(
            "squared errors, clipped gradients, subgraphs read at j, 600 epochs",
            SIDE,
            clipped(epochs=600),
        ),
        "smaller-batches-clipped-ends-600": Candidate(
            "squared errors, clipped gradients, subgraphs read at i and at j, 600 epochs",
            ENDS,
            clipped(epochs=600),
        ),
        "smaller-batches-clipped-ends-decayed-short": Candidate(
            "clipped gradients, read at i and j, more decay of weights, 300 epochs",
            ENDS,
            clipped(decay=0.2),
        ),
        "smaller-batches-clipped-ends-fast-short": Candidate(
            "clipped gradients, read at i and j, cosine from 1e-3, 300 epochs",
            ENDS,
            clipped(lr=1e-3),
        ),
        "smaller-batches-clipped-ends-deep-short": Candidate(
            "clipped gradients, read at i and j, 6 layers, 300 epochs",
            {"num_layers": 6, **ENDS},
            clipped(),
        ),
        "smaller-batches-clipped-ends-averaged-short": Candidate(
            "clipped gradients, read at i and j, weights averaged over 1,000 steps, 300 epochs",
            ENDS,
            clipped() | {"average": 0.999},
        ),
        "smaller-batches-clipped-ends-additive-short": Candidate(
            "clipped gradients, read at i and j, sums over branches, 300 epochs",
            {"options": {**ENDS["options"], **ADDITIVE["options"]}},
            clipped(),
        ),
        "smallest-batches-clipped-ends-short": Candidate(
            "32 graphs a step, clipped gradients, read at i and j, 300 epochs", ENDS, clipped(32)
        ),
        "smaller-batches-clipped-additive-short": Candidate(
            "squared errors, clipped gradients, sums over branches, 300 epochs",
            ADDITIVE,
            clipped(),
        ),
        **{
            f"smaller-batches-{name}": Candidate(
                f"64 graphs a step, subgraphs read {where}",
                {"options": {"readout": readout}},
                small_batches(64, 5e-4),
            )
            for name, (readout, where) in READOUTS.items()
        },
        "smaller-batches-side-decayed": Candidate(
            "cosine from 5e-4, more decay of weights, 64 graphs a step, subgraphs read at j",
            SIDE,
            small_batches(64, 5e-4, decay=0.2),
        ),
        "smaller-batches-side-additive": Candidate(
            "64 graphs a step, subgraphs read at j, sums over branches",
            {"options": {**SIDE["options"], **ADDITIVE["options"]}},
            small_batches(64, 5e-4),
        ),
        "smallest-batches": Candidate(
            "cosine from 5e-4, little decay of weights, 32 graphs a step",
            training=small_batches(32, 5e-4),
        ),
        "smallest-batches-additive": Candidate(
            "cosine from 5e-4, little decay of weights, 32 graphs a step, sums over branches",
            ADDITIVE,
            small_batches(32, 5e-4),
        ),
    }
)
"""Compared on validation graphs alone by `i2gnn reproduce search`."""

USUAL: Mapping[str, str] = MappingProxyType(
    {"counting": "smaller-batches", "chembl": "smaller-batches-clipped-short"}
)
"""By data set what `best` is: on synthetic graphs the lowest validation error of 6-cycles in
`results/search`; on ChEMBL, with six times as many graphs to train on, about as many steps."""
BEST: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        ("counting", "node", "clique4"): "smaller-batches-additive-squared",
        ("counting", "node", "path4"): "smallest-batches-additive",
        ("counting", "graph", "cycle3"): "smaller-batches-additive",
        ("counting", "graph", "cycle4"): "smaller-batches-side",
        ("counting", "graph", "cycle5"): "smaller-batches-side",
        ("counting", "graph", "cycle6"): "smaller-batches-side-decayed",
        ("chembl", "node", "cycle6"): "smaller-batches-clipped-ends-short",
    }
)
"""By data set, level and target where another candidate has a lower validation error."""

MORE_GRAPHS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"data": {"more": 13_500}, "training": {"epochs": 200}}
)
"""What `more-graphs` changes in `best`: ten times as many graphs, about as many steps."""

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "paper": "the paper's settings with 4 layers, as its main text says",
        "paper-5": "the same with 5 layers, as its appendix says",
        "paper-shared": "the paper's settings with one table of embeddings for a distance and its "
        "second column, as the published code has",
        "paper-float32": "the paper's settings in float32 throughout",
        "best": "ours: 5 layers, plain distances as labels, training chosen on validation graphs",
        "more-graphs": "best, but trained on 15,000 graphs, 13,500 more of the same kind, for "
        "200 epochs: beyond the paper's protocol",
    }
    | {f"best-{name}": candidate.about for name, candidate in CANDIDATES.items()}
)
"""Presets by name, and what they are."""


def configure(preset: str, task: Task, seed: int) -> RunConfig:
    """The settings of one run.

    Raises:
        InputError: An unknown preset.
    """
    if preset not in PRESETS:
        raise InputError(f"preset is {preset!r}; expected one of {', '.join(_near(preset))}")
    name, changes = VARIANTS.get(task.model, (task.model, {}))
    model: dict[str, Any] = {"name": name}
    if "hops" in REGISTRY[name].arguments:
        model["hops"] = HOPS[task.target]
    training: dict[str, Any] = {"seed": seed, "precision": "tf32", "tensorboard": False}
    if preset.startswith("paper"):
        model |= _published(name, layers=5 if preset == "paper-5" else 4)
        if preset == "paper-shared" and "shared_labels" in REGISTRY[name].arguments:
            model["options"]["shared_labels"] = True
        if preset == "paper-float32":
            training["precision"] = "float32"
    else:
        candidate = candidate_of(preset, task)
        model |= {**BASE, **candidate.model}
        training |= candidate.training
    data: dict[str, Any] = {"name": task.dataset, "targets": (task.target,), "level": task.level}
    if preset == "more-graphs":
        data |= MORE_GRAPHS["data"]
        training |= MORE_GRAPHS["training"]
    return RunConfig.from_dict(
        {
            "data": data,
            "model": {**model, **changes},
            "training": training,
        }
    )


def candidate_of(preset: str, task: Task) -> Candidate:
    """The candidate that a preset stands for: `best-<name>`, or otherwise the chosen one."""
    own = preset in ("best", "more-graphs")
    return CANDIDATES[chosen(task) if own else preset.removeprefix("best-")]


def chosen(task: Task) -> str:
    """The name of the candidate that `best` stands for."""
    return BEST.get((task.dataset, task.level, task.target), USUAL[task.dataset])


def _near(preset: str) -> list[str]:
    """What may have been meant: the presets, or of the many candidates those of a similar name."""
    candidates = [f"best-{name}" for name in CANDIDATES]
    if preset.startswith("best-"):
        return get_close_matches(preset, candidates) or candidates
    return [name for name in PRESETS if name not in candidates]


def _published(name: str, layers: int) -> dict[str, Any]:
    """The arguments of a model in the paper's counting experiments."""
    arguments = dict(REGISTRY[name].preset)
    del arguments["num_layers"]
    arguments.pop("hops", None)
    options: dict[str, Any] = {}
    if name == "ppgn":  # "4 PPGN layers" in both places
        return arguments | {"hidden_channels": PPGN_WIDTH, "num_layers": 4, "options": options}
    if "head_channels" in arguments:
        options["head_channels"] = list(arguments.pop("head_channels"))
    return arguments | {"num_layers": layers, "options": options}
