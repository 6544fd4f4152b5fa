"""Which substructures a model learns to count: a short training with exact labels.

    data       generated graphs (`i2gnn.data.generate_graphs`), exact counts as targets
    training   all structures at once, one output each, at node or at graph level
    error      mean absolute error on unseen graphs over the standard deviation of the counts
    mean       the error of always answering the mean
    base       the error of an MPNN after the same training: what degrees and the like explain

A model counts what leaves less than `COUNTS` of the mean's error. It counts partly what leaves
less than twice as much, or less than `PARTLY` of the base's error: more than message passing on
the graph explains. The reasons for these numbers are in `docs/expressiveness.md`. Verdicts are
about learning within a short budget: a model that counts can count; one that does not may still
be able to, with more data, width or time.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from i2gnn.counting import count
from i2gnn.data import Splits, generate_graphs
from i2gnn.errors import InputError
from i2gnn.expressiveness.subjects import Subject, load_subject, outputs
from i2gnn.graphs.store import GraphStore
from i2gnn.models import Network
from i2gnn.numerics import seeded
from i2gnn.refinement.rounds import NodeOrGraph
from i2gnn.training import OptimizerConfig, ScheduleConfig, TrainingConfig, fit

__all__ = ["BASE", "COUNTS", "PARTLY", "STRUCTURES", "Learnt", "StudySettings", "study"]

Verdict = Literal["counts", "partly", "does not"]

STRUCTURES = (
    *(f"cycle{length}" for length in range(3, 7)),
    *(f"path{length}" for length in range(2, 5)),
    *("tailed_triangle", "chordal_cycle", "clique4", "triangle_rectangle"),
)
"""What is counted, in the order of reports."""

COUNTS, PARTLY = 0.05, 0.7
"""Shares of the mean's error and of the base's, below which a model counts and counts partly."""

BASE = "mpnn"
"""The yardstick, of the registry: message passing without identifiers."""

FRACTIONS = (0.5, 0.1, 0.4)


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """How a model is taught and tested.

    Attributes:
        structures: Names that `i2gnn.count` knows.
        graphs: Generated; half of them train, a tenth validates, the rest tests.
        epochs: Passes over the training graphs.
        batch_size: Graphs in a batch.
        lr: First learning rate; it falls to nearly zero along a cosine.
        seed: Of graphs, split, weights and order.
        device: "auto", "cpu" or "cuda".
    """

    structures: tuple[str, ...] = STRUCTURES
    graphs: int = 600
    epochs: int = 40
    batch_size: int = 8
    lr: float = 3e-3
    seed: int = 0
    device: str = "auto"

    def training(self) -> TrainingConfig:
        """Settings of the training loop."""
        return TrainingConfig(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=OptimizerConfig(lr=self.lr, max_grad_norm=1.0),
            schedule=ScheduleConfig(name="cosine", min_lr=1e-5),
            seed=self.seed,
            device=self.device,
        )


@dataclass(frozen=True)
class Learnt:
    """How well one structure is counted.

    Attributes:
        structure: Its name.
        level: "node" or "graph".
        error: Mean absolute error over the standard deviation of the counts, on test graphs.
        mean_error: The same of always answering the mean.
        base_error: The same of the base.

    Example:
        >>> [Learnt("cycle5", "node", e, 0.8, 0.5).verdict for e in (0.02, 0.3, 0.45)]
        ['counts', 'partly', 'does not']
    """

    structure: str
    level: NodeOrGraph
    error: float
    mean_error: float
    base_error: float

    @property
    def left(self) -> float:
        """The error over that of the mean."""
        return self.error / self.mean_error if self.mean_error else 0.0

    @property
    def verdict(self) -> Verdict:
        """In words."""
        if self.left < COUNTS:
            return "counts"
        beyond_base = self.error < PARTLY * self.base_error
        return "partly" if beyond_base or self.left < 2 * COUNTS else "does not"


def study(
    subject: Subject,
    level: NodeOrGraph = "node",
    settings: StudySettings | None = None,
    *,
    base: Sequence[float] | None = None,
    progress: bool = False,
) -> list[Learnt]:
    """Trains a new model to count, and tests it beside the base.

    Args:
        subject: One of ours, or of PyG's kind. Its outputs are the counts if it takes
            `out_channels`; otherwise a linear layer follows that is trained with it.
        level: Where it counts. A factory that takes `level` is told; without, its model must
            return a row per node, or per graph, by itself.
        settings: Of data and training.
        base: Errors of the base with these settings, where they are known; else it is trained too.
        progress: Shows a progress bar on standard error.

    Raises:
        InputError: A structure is unknown, or the model has no outputs at this level.

    Example:
        >>> from i2gnn.expressiveness.subjects import load_subject
        >>> subject = load_subject("mpnn", {"hidden_channels": 8, "num_layers": 2})
        >>> quick = StudySettings(structures=("path2",), graphs=20, epochs=1)
        >>> [learnt.structure for learnt in study(subject, "graph", quick)]
        ['path2']
    """
    settings = settings or StudySettings()
    graphs = _targets(settings, level)
    errors, of_mean = _train(subject, graphs, level, settings, progress)
    if base is None:
        base, _ = _train(load_subject(BASE), graphs, level, settings, progress)
    return [
        Learnt(name, level, *found)
        for name, *found in zip(settings.structures, errors, of_mean, base, strict=True)
    ]


def _train(
    subject: Subject,
    graphs: GraphStore,
    level: NodeOrGraph,
    settings: StudySettings,
    progress: bool,
) -> tuple[list[float], list[float]]:
    """Errors of a new model after training, and of the mean, by structure."""
    splits = Splits.random(len(graphs), FRACTIONS, settings.seed)
    learner, data = _learner(subject, graphs, level, settings.seed)
    result = fit(
        learner,
        data,
        splits,
        settings.training(),
        progress=progress,
        description=f"{subject.name} counts per {level}",
    )
    test = graphs.batch(splits.test).y
    assert test is not None
    of_mean = (test.double() - result.scaling.center).abs().mean(0) / result.scaling.unit
    return result.test_metrics["normalized_mae"], of_mean.tolist()


def _targets(settings: StudySettings, level: NodeOrGraph) -> GraphStore:
    """Generated graphs with the counts of all structures."""
    if not settings.structures:
        raise InputError("no structures to count; expected at least one, such as cycle5")
    graphs = generate_graphs(settings.graphs, settings.seed)
    counts = count(graphs, list(settings.structures), level=level)
    return graphs.with_targets(counts.values.float(), level)


def _learner(
    subject: Subject, graphs: GraphStore, level: NodeOrGraph, seed: int
) -> tuple[nn.Module, GraphStore]:
    """A new model as the training loop takes it, and the data as it takes them."""
    assert graphs.y is not None
    targets = graphs.y.shape[1]
    model = subject.build(seed, graphs, level=level, out_channels=targets, dtype=torch.float32)
    sample = subject.prepare(model, graphs.batch([0, 1]))[0]
    with torch.no_grad():
        width = outputs(model, sample, level).shape[1]
    find: Callable[[GraphStore], Any]
    if isinstance(model, Network):
        data: GraphStore = model.extract(graphs)
        if width == targets:
            return model, data
        find = _same
    else:
        find = _Collected(subject, model, graphs)
        data = find.numbered(graphs)
    with seeded(seed):
        head = nn.Identity() if width == targets else nn.Linear(width, targets)
    return _Learner(model, head, find, level), data


class _Learner(nn.Module):
    """A model under test and, where it has other outputs than counts, a linear layer behind it."""

    def __init__(
        self,
        model: nn.Module,
        head: nn.Module,
        find: Callable[[GraphStore], Any],
        level: NodeOrGraph,
    ) -> None:
        super().__init__()
        self.model, self.head, self.find, self.level = model, head, find, level

    def forward(self, batch: GraphStore) -> Tensor:
        """Counts, standardised: [N | G, structures]."""
        result: Tensor = self.head(outputs(self.model, self.find(batch), self.level))
        return result


def _same(batch: GraphStore) -> GraphStore:
    return batch


class _Collected:
    """Graphs as PyG's data, transformed once, and found again by their number.

    The loop draws batches from a store; in `numbered` every node knows which graph it is of.
    """

    def __init__(self, subject: Subject, model: nn.Module, graphs: GraphStore) -> None:
        batches: Sequence[Any] = subject.prepare(model, graphs)
        self.listed = [data for batch in batches for data in batch.to_data_list()]

    @staticmethod
    def numbered(graphs: GraphStore) -> GraphStore:
        """The graphs with the number of each as the feature of its nodes."""
        return dataclasses.replace(graphs, x=graphs.node_to_graph.unsqueeze(1))

    def __call__(self, batch: GraphStore) -> Batch:
        """The batch as PyG collates it."""
        assert batch.x is not None
        numbers = batch.x[batch.node_ptr[:-1], 0].tolist()
        found = Batch.from_data_list([self.listed[number] for number in numbers])
        return found.to(batch.device)
