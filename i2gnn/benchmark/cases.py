"""The two models that are measured, and their graphs."""

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from i2gnn.benchmark.settings import BenchmarkSettings
from i2gnn.data import DataFile, generate_counting, load_counting, locate
from i2gnn.data.counting import FILE as COUNTING_FILE
from i2gnn.data.download import is_present
from i2gnn.graphs import GraphStore, RawGraphs
from i2gnn.models import I2GNN
from i2gnn.models.i2gnn import ZINC_OPTIONS
from i2gnn.numerics import seeded
from i2gnn.subgraphs import Subgraphs
from i2gnn.training.targets import Scaling

__all__ = ["CASES", "Case", "CaseName", "counting_graphs", "make_case", "molecules"]

CaseName = Literal["counting", "zinc"]
CASES: tuple[CaseName, ...] = ("counting", "zinc")

ZINC_FILE = DataFile(
    path="zinc/pyg_zinc12k_val.npz",
    sha256="9b9d7a4c920ea04221fcbcf98d3562a4118cf04ca989c3ae5058e9b4b194c51e",
    source="validation molecules of ZINC-12k (benchmarking-gnns), as published atom and bond types",
)


@dataclass(frozen=True)
class Case:
    """A model with fresh weights and the subgraphs it trains on, both on the CPU.

    Attributes:
        name: "counting" or "zinc".
        source: Where the graphs are from.
        graphs: All graphs of an epoch, with targets.
        data: Their subgraphs.
        model: The network.
        scaling: Of the targets.
        batch_size: Graphs in a batch; the first ones are the batch that steps are timed on.
    """

    name: CaseName
    source: str
    graphs: GraphStore
    data: Subgraphs
    model: I2GNN
    scaling: Scaling
    batch_size: int


def make_case(name: CaseName, settings: BenchmarkSettings, graphs: int | None = None) -> Case:
    """Reads or generates the graphs, extracts their subgraphs and draws the weights.

    Args:
        name: Which model.
        settings: Sizes, seed and folder of data sets.
        graphs: Number of graphs; by default those of an epoch.
    """
    number = settings.graphs_per_epoch if graphs is None else graphs
    sizes: dict[str, Any] = {"num_layers": settings.layers, "hidden_channels": settings.width}
    with seeded(settings.seed):
        if name == "counting":
            store, source = counting_graphs(number, settings.data_root)
            model = I2GNN(hops=3, **sizes)
        else:
            store, source = molecules(number, settings.data_root)
            model = I2GNN(**ZINC_OPTIONS | sizes)
    assert store.y is not None
    return Case(
        name=name,
        source=source,
        graphs=store,
        data=model.extract(store),
        model=model,
        scaling=Scaling.measure(store.y),
        batch_size=min(settings.graphs, number),
    )


def counting_graphs(
    number: int, root: str | os.PathLike[str] | None = None
) -> tuple[GraphStore, str]:
    """The first graphs of the paper's synthetic set, or generated ones if it is not there.

    Their targets are the 6-cycles at every node.
    """
    if not is_present(COUNTING_FILE, root):
        return generate_counting(number, ["cycle6"]).graphs, "generated"
    graphs = load_counting(["cycle6"], root=root).graphs
    return _first(graphs, number), "the paper's synthetic set"


def molecules(number: int, root: str | os.PathLike[str] | None = None) -> tuple[GraphStore, str]:
    """The first validation molecules of ZINC-12k, or molecule-like graphs if they are not there."""
    if not is_present(ZINC_FILE, root):
        return generate_molecules(number), "generated, molecule-like"
    with np.load(locate(ZINC_FILE, root), allow_pickle=False) as file:
        raw = RawGraphs(
            num_nodes=np.diff(file["node_ptr"]),
            num_edges=np.diff(file["edge_ptr"]),
            edges=file["edge_index"].T.astype(np.int64),
            x=file["x"].astype(np.int64)[:, None],
            edge_attr=file["edge_attr"].astype(np.int64)[:, None],
            y=file["y"],
            level="graph",
        )
    return _first(GraphStore.from_raw(raw), number), "ZINC-12k, validation molecules"


def generate_molecules(number: int) -> GraphStore:
    """Chains with short branches and some rings of five or six, of the size of ZINC's molecules.

    Atom and bond types and the targets are random numbers: good for timing, not for learning.

    Example:
        >>> generate_molecules(3)
        GraphStore(graphs=3, nodes=75, edges=162, x=[75, 1], edge_attr=[162, 1], y=[3, 1]@graph)
    """
    rng = np.random.default_rng(0)
    sizes = rng.integers(18, 29, number)
    edge_lists = []
    for size in sizes.tolist():
        chain = {(k - 1 - int(rng.random() < 0.3 and k > 1), k) for k in range(1, size)}
        starts = rng.choice(size - 5, 3, replace=False).tolist()
        rings = {(start, start + int(rng.integers(4, 6))) for start in starts}
        edge_lists.append(sorted(chain | rings))
    bonds = np.concatenate([rng.integers(1, 4, len(edges)) for edges in edge_lists])
    return GraphStore.from_edge_lists(
        edge_lists,
        sizes.tolist(),
        x=rng.integers(0, 28, (int(sizes.sum()), 1)),
        edge_attr=bonds[:, None],
        y=rng.normal(size=number),
        level="graph",
        symmetrize=True,
    )


def _first(graphs: GraphStore, number: int) -> GraphStore:
    return graphs.batch(range(min(number, len(graphs))))
