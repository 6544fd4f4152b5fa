"""Exact counts as features of nodes and edges."""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from i2gnn.counting.api import count
from i2gnn.graphs import GraphStore, Level

__all__ = ["with_structures"]


def with_structures(graphs: GraphStore, structures: Sequence[str]) -> GraphStore:
    """Adds log(1 + count) of each structure behind the features of nodes and edges.

    Args:
        graphs: Their features become floating-point numbers; types stay whole numbers.
        structures: Names that `i2gnn.count` knows; none leaves the graphs as they are.

    Example:
        >>> square = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3), (3, 0)]], symmetrize=True)
        >>> with_structures(square, ["cycle3", "cycle4"]).x[0]
        tensor([0.0000, 0.6931])
    """
    if not structures:
        return graphs
    return dataclasses.replace(
        graphs,
        x=_append(graphs.x, graphs, structures, "node"),
        edge_attr=_append(graphs.edge_attr, graphs, structures, "edge"),
    )


def _append(
    features: Tensor | None, graphs: GraphStore, structures: Sequence[str], level: Level
) -> Tensor:
    counts = count(graphs, list(structures), level=level).values
    added = torch.log1p(counts.to(torch.float32)).to(graphs.device)
    return added if features is None else torch.cat([features, added], dim=1)
