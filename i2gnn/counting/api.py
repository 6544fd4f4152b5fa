"""`count`: exact counts for any graphs, and the table they make."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from i2gnn.counting.cycles import cycles_through_edges
from i2gnn.counting.patterns import Pattern, resolve
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore, Level

if TYPE_CHECKING:
    pass

__all__ = ["Counts", "as_store", "count"]


@dataclass(frozen=True)
class Counts:
    """Exact counts, one row per node, directed edge or graph of the store.

    Attributes:
        values: [N | E | G, T] int64, in the order of the store and of `patterns`.
        patterns: The T substructures.
        level: What a row belongs to.
        store: The graphs that were counted in.
    """

    values: Tensor
    patterns: tuple[Pattern, ...]
    level: Level
    store: GraphStore

    @property
    def what(self) -> list[str]:
        """Names of the columns."""
        return [pattern.name for pattern in self.patterns]


def count(
    graphs: Any, what: str | Pattern | Iterable[str | Pattern], level: Level = "node"
) -> Counts:
    """Counts substructures exactly.

    Args:
        graphs: A `GraphStore`, or PyG, networkx or SMILES graphs: one or a list.
        what: Names such as "cycle3" or "cycle3..cycle6", patterns, or a list of these.
        level: "node", "edge" or "graph"; see `Pattern` for what each means.

    Example:
        >>> count("C1CC1C", ["cycle3", "cycle4"]).values
        tensor([[1, 0],
                [1, 0],
                [1, 0],
                [0, 0]])
    """
    store = as_store(graphs)
    patterns = resolve(what)
    lengths = [int(p.name.removeprefix("cycle")) for p in patterns]
    edge = torch.from_numpy(cycles_through_edges(store, max(lengths)))
    edge = edge[:, [length - 3 for length in lengths]]
    node = torch.zeros(store.num_nodes, len(patterns), dtype=torch.int64)
    node.index_add_(0, store.edge_to_node, edge).div_(2, rounding_mode="floor")
    if level == "edge":
        values = edge
    elif level == "node":
        values = node
    else:
        values = torch.zeros(len(store), len(patterns), dtype=torch.int64)
        values.index_add_(0, store.node_to_graph, node)
        values //= torch.tensor(lengths)
    return Counts(values, tuple(patterns), level, store)


def as_store(graphs: Any) -> GraphStore:
    """Accepts a store, or PyG, networkx or SMILES graphs, one or many."""
    if isinstance(graphs, GraphStore):
        return graphs
    if isinstance(graphs, str) or hasattr(graphs, "edge_index") or hasattr(graphs, "adj"):
        graphs = [graphs]
    graphs = list(graphs)
    first = graphs[0] if graphs else ""
    if isinstance(first, str):
        return GraphStore.from_smiles(graphs)
    if hasattr(first, "edge_index"):
        return GraphStore.from_pyg(graphs)
    if hasattr(first, "adj"):
        return GraphStore.from_networkx(graphs)
    raise InputError(
        f"cannot count in {type(first).__name__}; expected a GraphStore, "
        "PyG Data, networkx graphs or SMILES strings"
    )
