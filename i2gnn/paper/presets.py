"""Settings of the counting experiments: the paper's, and ours."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.paper.candidates import BASE, CANDIDATES, Change, combine
from i2gnn.paper.counting_published import HOPS
from i2gnn.training import RunConfig

__all__ = [
    "BEST",
    "PRESETS",
    "READINGS",
    "TRIALS",
    "VARIANTS",
    "Preset",
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

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """That of a record."""
        return cls(*(record[name] for name in cls._fields))


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "i2gnn_single": ("i2gnn", {"branch_labels": False}),
        "i2gnn_id": ("i2gnn", {"labels": "identity"}),
    }
)
"""Rows that are a model of the registry with other arguments."""

PPGN_WIDTH = 300
"""The paper's width in the counting experiments; its complexity table has 64."""

PUBLISHED_MSE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"ppgn": ("cycle3", "cycle4", "cycle6")}
)
"""By model the targets of ChEMBL for which the published code has squared errors; 3-cycles for
all others."""


USUAL: Mapping[str, str] = MappingProxyType(
    {"counting": "smaller-batches", "chembl": "smaller-batches-clipped-short"}
)
"""By data set what `best` is: on synthetic graphs the lowest validation error of 6-cycles in
`results/search` when it was chosen (docs/experiments.md); on ChEMBL, with six times as many graphs
to train on, about as many steps."""
BY_KINDS = "smaller-batches-clipped-distinct-ends-product-fast-averaged-1000"
BEST: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        ("counting", "node", "clique4"): "smaller-batches-additive-squared",
        ("counting", "node", "path4"): "smallest-batches-additive",
        ("counting", "graph", "cycle3"): "smaller-batches-additive",
        ("counting", "graph", "cycle4"): "smaller-batches-side",
        ("counting", "graph", "cycle5"): "smaller-batches-side",
        ("counting", "graph", "cycle6"): "smaller-batches-side-decayed",
        ("chembl", "node", "cycle6"): BY_KINDS,
    }
)
"""By data set, level and target where another candidate has a lower validation error; 6-cycles of
ChEMBL, of which validation molecules have too few, by a trial on training molecules
(docs/experiments.md)."""

MORE_GRAPHS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"data": {"more": 13_500}, "training": {"epochs": 200}}
)
"""What `more-graphs` changes in `best`: ten times as many graphs, about as many steps."""


class Reading(NamedTuple):
    """One way to read the paper, which leaves some of its settings open.

    Attributes:
        about: What it is.
        num_layers: 4 in the paper's main text and in its numbers of parameters, 5 in its appendix.
        labels: What distances are labels of: with a second column, which the published code has,
            or alone, as the paper says.
        unwritten: Whether all else that only the code says holds.
    """

    about: str
    num_layers: int = 4
    labels: str = "spd_pred"
    unwritten: bool = False


READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "paper": Reading("the paper's settings with 4 layers, as its main text says"),
        "paper-5": Reading("the same with 5 layers, as its appendix says", num_layers=5),
        "paper-text": Reading(
            "the paper's settings and labels that are distances alone, as its text says, without "
            "the second column that its code has",
            labels="spd",
        ),
        "paper-code": Reading(
            "the paper's settings and what else its code does: one table of embeddings for a "
            "distance and its second column, in ID-GNN a learnt start instead of ones, and squared "
            "errors on ChEMBL for 3-cycles and for PPGN's 4- and 6-cycles",
            unwritten=True,
        ),
    }
)
"""By the name of their preset."""

TRIALS: Mapping[str, str] = MappingProxyType({f"best-{name}": name for name in CANDIDATES})
"""The candidates by the names of their presets."""

PRESETS: Mapping[str, str] = MappingProxyType(
    {name: reading.about for name, reading in READINGS.items()}
    | {
        "best": "ours: 5 layers, plain distances as labels, training chosen on validation graphs",
        "more-graphs": "best, but trained on 15,000 graphs, 13,500 more of the same kind, for "
        "200 epochs: beyond the paper's protocol",
    }
    | {name: combine(CANDIDATES[candidate]).about for name, candidate in TRIALS.items()}
)
"""Presets by name, and what they are."""


@dataclass(frozen=True)
class Preset:
    """Which settings a run has; records and the command line have it as a string.

    Attributes:
        name: One of `PRESETS`.
        epochs: How many, where not as many as by that name.
        quick: Whether it is a smoke test: few graphs, narrow and shallow, two epochs.

    Raises:
        InputError: An unknown name, or no epochs.

    Example:
        >>> Preset.parse("quick-best-slow@50")
        Preset(name='best-slow', epochs=50, quick=True)
        >>> str(Preset("paper", epochs=500))
        'paper@500'
    """

    name: str
    epochs: int | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        if self.name not in PRESETS:
            expected = ", ".join(_near(self.name))
            raise InputError(f"preset is {self.name!r}; expected one of {expected}")
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"epochs is {self.epochs}; expected at least 1")

    @classmethod
    def parse(cls, text: str) -> Self:
        """That of a string, as records have it."""
        name, at, epochs = text.removeprefix("quick-").partition("@")
        if at and not epochs.isdecimal():
            raise InputError(f"preset is {text!r}; expected a number of epochs behind @")
        return cls(name, int(epochs) if at else None, quick=text.startswith("quick-"))

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """That of a record."""
        return cls.parse(record["preset"])

    def __str__(self) -> str:
        epochs = "" if self.epochs is None else f"@{self.epochs}"
        return f"{'quick-' if self.quick else ''}{self.name}{epochs}"

    @property
    def plain(self) -> bool:
        """Whether it is as its name says."""
        return self.epochs is None and not self.quick

    @property
    def reading(self) -> Reading | None:
        """How it reads the paper; None for ours."""
        return READINGS.get(self.name)

    @property
    def candidate(self) -> str | None:
        """The name of the candidate that it is; None for what is chosen among them."""
        return TRIALS.get(self.name)

    @property
    def about(self) -> str:
        """What it is, in a few words."""
        return PRESETS[self.name] + ("" if self.epochs is None else f"; {self.epochs} epochs")


def configure(preset: Preset, task: Task, seed: int) -> RunConfig:
    """The settings of one run."""
    name, changes = VARIANTS.get(task.model, (task.model, {}))
    model: dict[str, Any] = {"name": name}
    if "hops" in REGISTRY[name].arguments:
        model["hops"] = HOPS[task.target]
    training: dict[str, Any] = {"seed": seed, "precision": "tf32", "tensorboard": False}
    reading = preset.reading
    if reading is not None:
        model |= _published(name, reading)
        if reading.unwritten:
            model["options"] |= _unwritten(name)
            if task.dataset == "chembl" and task.target in PUBLISHED_MSE.get(name, ("cycle3",)):
                training["loss"] = "mse"
    else:
        candidate = candidate_of(preset, task)
        model |= {**BASE, **candidate.model}
        training |= candidate.training
    data: dict[str, Any] = {"name": task.dataset, "targets": (task.target,), "level": task.level}
    if preset.name == "more-graphs":
        data |= MORE_GRAPHS["data"]
        training |= MORE_GRAPHS["training"]
    config = RunConfig.from_dict(
        {"data": data, "model": {**model, **changes}, "training": training}
    )
    config = _shrink(config) if preset.quick else config
    if preset.epochs is None:
        return config
    shorter = dataclasses.replace(config.training, epochs=preset.epochs)
    return dataclasses.replace(config, training=shorter)


def candidate_of(preset: Preset, task: Task) -> Change:
    """The candidate that a preset stands for: its own, or otherwise the chosen one."""
    return combine(CANDIDATES[preset.candidate or chosen(task)])


def chosen(task: Task) -> str:
    """The name of the candidate that `best` stands for."""
    return BEST.get((task.dataset, task.level, task.target), USUAL[task.dataset])


def _shrink(config: RunConfig) -> RunConfig:
    """The same as a smoke test."""
    data = dataclasses.replace(config.data, count=20, limit=20, more=None)
    if data.name == "counting":
        data = dataclasses.replace(data, name="synthetic", limit=None)
    model = dataclasses.replace(config.model, hidden_channels=8, num_layers=2)
    training = dataclasses.replace(config.training, epochs=2, batch_size=4, precision="float32")
    return RunConfig(data=data, model=model, training=training)


def _near(preset: str) -> list[str]:
    """What may have been meant: the presets, or of the many candidates those of a similar name."""
    if preset.startswith("best-"):
        return get_close_matches(preset, TRIALS) or list(TRIALS)
    return [name for name in PRESETS if name not in TRIALS]


def _unwritten(name: str) -> dict[str, Any]:
    """Options of a model in the published code that the paper does not mention."""
    if name == "idgnn":
        return {"learned_start": True}
    return {"shared_labels": True} if "shared_labels" in REGISTRY[name].arguments else {}


def _published(name: str, reading: Reading) -> dict[str, Any]:
    """The arguments of a model in the paper's counting experiments."""
    arguments = dict(REGISTRY[name].preset)
    if "labels" in arguments:
        arguments["labels"] = reading.labels
    del arguments["num_layers"]
    arguments.pop("hops", None)
    options: dict[str, Any] = {}
    if name == "ppgn":  # "4 PPGN layers" in both places
        return arguments | {"hidden_channels": PPGN_WIDTH, "num_layers": 4, "options": options}
    if "head_channels" in arguments:
        options["head_channels"] = list(arguments.pop("head_channels"))
    return arguments | {"num_layers": reading.num_layers, "options": options}
