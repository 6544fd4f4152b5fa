"""The probe: what a model tells apart, and what it learns to count."""

import dataclasses
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from i2gnn.counting import in_words
from i2gnn.counting.patterns import resolve
from i2gnn.errors import InputError
from i2gnn.expressiveness.datasets import PAIR_SETS, PairSet, load_pairs
from i2gnn.expressiveness.separation import GAINS, SEPARATED, TIED, separate, strong_options
from i2gnn.expressiveness.study import COUNTS, PARTLY, Learnt, StudySettings, study
from i2gnn.expressiveness.subjects import Factory, load_subject
from i2gnn.expressiveness.verdicts import Verdicts
from i2gnn.machine import hardware, versions
from i2gnn.models import REGISTRY
from i2gnn.refinement.rounds import NodeOrGraph
from i2gnn.training.environment import resolve_device

__all__ = ["QUICK_STUDY", "Probe", "ProbeSettings", "StudySettings", "probe"]

log = logging.getLogger(__name__)

LEVELS: tuple[NodeOrGraph, ...] = ("node", "graph")

SAMPLE = 5
"""Pairs of each category that a quick probe takes, those with the smallest graphs."""

QUICK_STUDY = StudySettings(graphs=300, epochs=30)
"""Training of a quick probe: enough for what is easy to count."""


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """What a probe does.

    Attributes:
        datasets: Of pairs, by name; none to leave separation out.
        levels: Where the model learns to count; none to leave this out.
        study: How it learns; by default `StudySettings()`, or `QUICK_STUDY`.
        quick: A first impression: a few pairs of each category, a shorter training.
        data_root: Folder of data sets.
        seed: Of weights, relabelling, graphs and training.
        device: Of training; separation runs in float64 on the CPU.
    """

    datasets: tuple[str, ...] = tuple(PAIR_SETS)
    levels: tuple[NodeOrGraph, ...] = LEVELS
    study: StudySettings | None = None
    quick: bool = False
    data_root: str | os.PathLike[str] | None = None
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        for name, known in (("datasets", tuple(PAIR_SETS)), ("levels", LEVELS)):
            unknown = [value for value in getattr(self, name) if value not in known]
            if unknown:
                raise InputError(f"{name} has {unknown[0]!r}; expected {', '.join(known)}")

    @property
    def learning(self) -> StudySettings:
        """How the model learns, with the probe's seed and device."""
        chosen = self.study or (QUICK_STUDY if self.quick else StudySettings())
        return dataclasses.replace(chosen, seed=self.seed, device=self.device)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What a probe found.

    Attributes:
        name: Of the model.
        separation: For each data set which pairs it tells apart.
        chosen: For each data set which of its pairs were tested.
        learnt: For each level how well it counts what.
        refused: For each level at which it could not be trained why.
        seconds: Time in all.
        options: Arguments of the model: in the test of separation, and in training.
        settings: Of the probe.
    """

    name: str
    separation: dict[str, Verdicts]
    chosen: dict[str, list[int]]
    learnt: dict[NodeOrGraph, list[Learnt]]
    refused: dict[NodeOrGraph, str]
    seconds: float
    options: dict[str, dict[str, Any]]
    settings: ProbeSettings

    def summary(self) -> str:
        """The answer in a few sentences."""
        parts = []
        pairs = sum(len(found.pairs) for found in self.separation.values())
        if pairs:
            apart = sum(found.count("separated") for found in self.separation.values())
            parts.append(f"{self.name} tells {apart:,} of {pairs:,} pairs of graphs apart.")
        for level, learnt in self.learnt.items():
            named = {
                verdict: ", ".join(
                    f"{in_words(o.structure)}s" for o in learnt if o.verdict == verdict
                )
                for verdict in ("counts", "partly")
            }
            parts.append(
                f"Per {level} it learns to count {named['counts'] or 'none of the substructures'}"
                + (f"; partly {named['partly']}." if named["partly"] else ".")
            )
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, with what it depends on."""
        learning = self.settings.learning
        return {
            "model": self.name,
            "quick": self.settings.quick,
            "separation": {name: found.to_dict() for name, found in self.separation.items()},
            "counting": {
                level: [
                    {**dataclasses.asdict(one), "left": one.left, "verdict": one.verdict}
                    for one in learnt
                ]
                for level, learnt in self.learnt.items()
            },
            "refused": dict(self.refused),
            "seconds": round(self.seconds, 1),
            "seed": self.settings.seed,
            "settings": {
                "options": self.options,
                "separation": {"tied": TIED, "separated": SEPARATED, "gains": GAINS},
                "study": {
                    **dataclasses.asdict(learning),
                    "counts_below": COUNTS,
                    "partly_below": PARTLY,
                },
            },
            "hardware": hardware(resolve_device(self.settings.device)),
            "versions": versions(),
        }


def probe(
    model: str | Factory,
    *,
    options: Mapping[str, Any] | None = None,
    settings: ProbeSettings | None = None,
    progress: bool = False,
) -> Probe:
    """Tests which pairs of graphs a model tells apart, and what it learns to count.

    Args:
        model: A name of the registry, "my.module:factory", or a factory; see `load_subject`.
            A name stands for the arguments of `separation.STRONG` when pairs are told apart and
            for those of its preset when it learns, unless `options` say otherwise.
        options: Arguments of the model or factory.
        settings: What to do; by default everything.
        progress: Shows progress bars on standard error.

    Raises:
        InputError: There is no such model, or its outputs are not what they should be.

    Example:
        >>> settings = ProbeSettings(datasets=("paper",), levels=())
        >>> found = probe("subgraph_mpnn", settings=settings)
        >>> found.separation["paper"].count("separated")
        9
    """
    settings, given = settings or ProbeSettings(), dict(options or {})
    strong = strong_options(model) if isinstance(model, str) and model in REGISTRY else {}
    apart, learner = load_subject(model, {**strong, **given}), load_subject(model, given)
    resolve(settings.learning.structures)  # a misspelt name is told before the long part
    started = time.perf_counter()
    separation, chosen = {}, {}
    for name in settings.datasets:
        pairs = load_pairs(name, settings.data_root)
        chosen[name] = _sample(pairs) if settings.quick else list(range(len(pairs)))
        some = pairs.take(chosen[name]) if settings.quick else pairs
        separation[name] = separate(apart, some, seed=settings.seed, progress=progress)
    learnt: dict[NodeOrGraph, list[Learnt]] = {}
    refused: dict[NodeOrGraph, str] = {}
    for level in settings.levels:
        try:
            learnt[level] = study(learner, level, settings.learning, progress=progress)
        except InputError as error:
            # A model of graphs alone is no mistake: the other level can still be studied.
            refused[level] = str(error)
            log.warning("no counting at %ss: %s", level, error)
    return Probe(
        name=apart.name,
        separation=separation,
        chosen=chosen,
        learnt=learnt,
        refused=refused,
        seconds=time.perf_counter() - started,
        options={"separation": dict(apart.options), "counting": dict(learner.options)},
        settings=settings,
    )


def _sample(pairs: PairSet) -> list[int]:
    """The pairs of each category with the smallest graphs, in order."""
    sizes = pairs.graphs.sizes["edge"][pairs.first].tolist()
    chosen: list[int] = []
    for category in pairs.categories:
        members = [p for p, found in enumerate(pairs.category) if found == category]
        chosen += sorted(members, key=lambda p: sizes[p])[:SAMPLE]
    return sorted(chosen)
