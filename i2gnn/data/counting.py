"""The counting benchmarks of the paper: graphs, their split, exact counts as targets."""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from i2gnn.data.download import DataFile, locate
from i2gnn.data.splits import Splits
from i2gnn.data.synthetic import draw_graphs, generate_graphs
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore, Level, RawGraphs

__all__ = [
    "FILE",
    "CountingData",
    "count_targets",
    "draw_counting",
    "generate_counting",
    "load_counting",
    "read_counting",
]

FILE = DataFile(
    path="counting/synthetic5000.npz",
    sha256="bf2a453ae403b804345a7afed36b31f43bb351c92f5c3b0142a139e14e794dca",
    source="the 5,000 graphs of Chen et al. (2020), as kept by github.com/RPaolino/loopy; "
    "data.name: synthetic generates graphs of the same kind without any file",
)

FRACTIONS = (0.3, 0.2, 0.5)
"""Train, validation and test as published: 1,500, 1,000 and 2,500 graphs."""


@dataclass(frozen=True)
class CountingData:
    """Graphs with exact counts as targets, and their split.

    Attributes:
        name: "synthetic", "counting" or "chembl".
        graphs: The graphs; `y` is float32, one column per target.
        splits: Train, validation and test.
        targets: Names of the columns of `y`.
    """

    name: str
    graphs: GraphStore
    splits: Splits
    targets: tuple[str, ...] = ()


def load_counting(
    targets: Sequence[str] = ("cycle5",),
    level: Level = "node",
    root: str | os.PathLike[str] | None = None,
) -> CountingData:
    """Reads the original 5,000 graphs and split from `<root>/counting/synthetic5000.npz`.

    Args:
        targets: Substructures that `i2gnn.counting.count` knows.
        level: Counts per node, edge or graph.
        root: Folder of data sets; see `data_folder`.
    """
    return count_targets(read_counting(root), targets, level)


def read_counting(
    root: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    more: int | None = None,
    seed: int = 0,
) -> CountingData:
    """The same graphs without targets.

    Args:
        root: Folder of data sets; see `data_folder`.
        limit: About so many of them, the first of each part.
        more: So many further graphs of the same kind to train on, generated.
        seed: Of these.
    """
    if limit is not None and more is not None:
        raise InputError(f"limit is {limit} and more is {more}; expected one of them")
    path = locate(FILE, root)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a numpy archive ({error})") from error
    raw = RawGraphs(arrays["n"], arrays["num_edges"], arrays["edges"].astype(np.int64))
    splits = Splits(**{name: torch.as_tensor(arrays[name]) for name in ("train", "val", "test")})
    if more is not None:
        count, drawn = len(raw.num_nodes), draw_graphs(more, seed)
        raw = RawGraphs(
            np.concatenate([raw.num_nodes, drawn.num_nodes]),
            np.concatenate([raw.num_edges, drawn.num_edges]),
            np.concatenate([raw.edges, drawn.edges]),
        )
        train = torch.cat([splits.train, torch.arange(count, count + more)])
        splits = Splits(train, splits.val, splits.test)
    graphs = GraphStore.from_raw(raw, symmetrize=True)
    if limit is not None:
        chosen, splits = splits.first(limit)
        graphs = graphs.batch(chosen)
    return CountingData("counting", graphs, splits)


def generate_counting(
    count: int = 5000,
    targets: Sequence[str] = ("cycle5",),
    level: Level = "node",
    seed: int = 0,
    progress: bool = False,
) -> CountingData:
    """Generates graphs of the same kind, split at random in the published proportions.

    Example:
        >>> generate_counting(10, ["cycle3", "cycle4"]).graphs.y.shape[1]
        2
    """
    return count_targets(draw_counting(count, seed, progress), targets, level)


def draw_counting(count: int = 5000, seed: int = 0, progress: bool = False) -> CountingData:
    """Generates the same graphs without targets."""
    graphs = generate_graphs(count, seed, progress)
    return CountingData("synthetic", graphs, Splits.random(count, FRACTIONS, seed))


def count_targets(data: CountingData, targets: Sequence[str], level: Level) -> CountingData:
    """The same graphs with exact counts as targets, in place of those they may have."""
    from i2gnn.counting import count

    if not targets:
        raise InputError("no targets; expected at least one substructure, such as cycle5")
    counts = count(data.graphs, list(targets), level=level)
    graphs = data.graphs.with_targets(counts.values.float(), level)
    return CountingData(data.name, graphs, data.splits, tuple(counts.what))
