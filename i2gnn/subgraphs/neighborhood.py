"""What a set of roots sees: the nodes within so many hops, and the graph among them."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from i2gnn.graphs.flat import index_dtype, ragged_arange
from i2gnn.graphs.store import GraphStore

__all__ = ["induced", "neighborhood", "no_places"]


def neighborhood(graphs: GraphStore, roots: Tensor, hops: int) -> Tensor:
    """The nodes within `hops` steps of any of the roots, ascending.

    Takes time in proportion to what is found, up to a sort, and none for the rest of the graphs.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3)]], symmetrize=True)
        >>> neighborhood(path, torch.tensor([3]), hops=2)
        tensor([1, 2, 3])
    """
    seen: Tensor = torch.unique(roots)
    newest = seen
    for _ in range(hops):
        degree = graphs.degree[newest]
        edges = ragged_arange(graphs.edge_ptr[newest], degree, int(degree.sum()))
        reached = torch.unique(graphs.neighbor[edges]).long()
        newest = reached[~_contains(seen, reached)]
        if not len(newest):
            break
        seen = torch.cat([seen, newest]).sort().values
    return seen


def no_places(graphs: GraphStore) -> Tensor:
    """Room for `induced` to note where nodes are, [N]; it can be used again and again."""
    return torch.full((graphs.num_nodes,), -1, dtype=index_dtype(graphs.num_nodes))


def induced(
    graphs: GraphStore, nodes: Tensor, places: Tensor | None = None
) -> tuple[GraphStore, Tensor]:
    """The graphs without all other nodes, and for the edges that are left which they were.

    Nodes and edges keep their order, so searches that start at a node whose surroundings are
    complete find the same nodes in the same order.

    Args:
        graphs: On the host.
        nodes: The nodes to keep, ascending.
        places: What `no_places` gave, to save the time to make it.

    Shapes:
        returns: the store with N' = len(nodes) nodes, and [E'] edges of `graphs`.
    """
    degree = graphs.degree[nodes]
    edges = ragged_arange(graphs.edge_ptr[nodes], degree, int(degree.sum()))
    places = no_places(graphs) if places is None else places
    places[nodes] = torch.arange(len(nodes), dtype=places.dtype)
    neighbor = places[graphs.neighbor[edges]]
    places[nodes] = -1
    kept = neighbor >= 0
    owner = torch.repeat_interleave(torch.arange(len(nodes)), degree)[kept]
    edges = edges[kept]
    # By search, so that nothing as long as the graphs is made.
    graph_of = torch.searchsorted(graphs.offsets["node"], nodes, right=True) - 1
    per_node = torch.bincount(graph_of, minlength=len(graphs))
    per_edge = torch.bincount(graph_of[owner], minlength=len(graphs))
    fields: dict[str, Any] = {field.name: None for field in dataclasses.fields(GraphStore)}
    positions: dict[str, Any] = {"node": nodes, "edge": edges, "graph": slice(None)}
    for name in fields:
        if (column := graphs.columns.get(name)) is not None:
            fields[name] = column[positions[graphs.axis_of(name)]]
    return (
        GraphStore(
            **fields
            | {
                "sizes": {"node": per_node, "edge": per_edge},
                "level": graphs.level,
                "degree": torch.bincount(owner, minlength=len(nodes)).to(graphs.degree.dtype),
                "neighbor": neighbor[kept],
            }
        ),
        edges,
    )


def _contains(ascending: Tensor, values: Tensor) -> Tensor:
    """Which values occur in a sorted tensor."""
    values = values.long()
    place = torch.searchsorted(ascending, values).clamp_(max=len(ascending) - 1)
    return ascending[place] == values
