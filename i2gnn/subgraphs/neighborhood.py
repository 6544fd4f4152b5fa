"""What a set of roots sees: the nodes within so many hops, and the graph among them."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from i2gnn.graphs.flat import index_dtype
from i2gnn.graphs.store import GraphStore

__all__ = ["induced", "neighborhood", "no_places"]


def no_places(graphs: GraphStore) -> Tensor:
    """Room to note where nodes are, [N]; the functions below leave it as it was."""
    return torch.full((graphs.num_nodes,), -1, dtype=index_dtype(graphs.num_nodes))


def neighborhood(
    graphs: GraphStore, roots: Tensor, hops: int, places: Tensor | None = None
) -> Tensor:
    """The nodes within `hops` steps of any of the roots, ascending.

    Args:
        graphs: On the host.
        roots: Nodes.
        hops: Steps.
        places: What `no_places` gave, to save the time to make it: the rest takes time only for
            what is found.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3)]], symmetrize=True)
        >>> neighborhood(path, torch.tensor([3]), hops=2)
        tensor([1, 2, 3])
    """
    from i2gnn.subgraphs import kernels

    places = no_places(graphs) if places is None else places
    nodes = torch.empty(graphs.num_nodes, dtype=torch.int64)  # touched as far as it is filled
    count = kernels.find_nodes(
        hops,
        roots.numpy(),
        graphs.edge_ptr.numpy(),
        graphs.neighbor.numpy(),
        places.numpy(),
        nodes.numpy(),
    )
    found = nodes[:count].sort().values
    places[found] = -1
    return found


def induced(
    graphs: GraphStore, nodes: Tensor, places: Tensor | None = None
) -> tuple[GraphStore, Tensor]:
    """The graphs without all other nodes, and for the edges that are left which they were.

    Nodes and edges keep their order, so searches that start at a node whose surroundings are
    complete find the same nodes in the same order.

    Args:
        graphs: On the host.
        nodes: The nodes to keep, ascending.
        places: As for `neighborhood`.

    Shapes:
        returns: the store with N' = len(nodes) nodes, and [E'] edges of `graphs`.
    """
    from i2gnn.subgraphs import kernels

    places = no_places(graphs) if places is None else places
    places[nodes] = torch.arange(len(nodes), dtype=places.dtype)
    degree = torch.empty(len(nodes), dtype=graphs.degree.dtype)
    most = int(graphs.degree[nodes].sum())
    edges = torch.empty(most, dtype=torch.int64)
    neighbor = torch.empty(most, dtype=places.dtype)
    count = kernels.keep_edges(
        nodes.numpy(),
        graphs.edge_ptr.numpy(),
        graphs.neighbor.numpy(),
        places.numpy(),
        degree.numpy(),
        edges.numpy(),
        neighbor.numpy(),
    )
    places[nodes] = -1
    edges = edges[:count]
    # By search, so that nothing as long as the graphs is made.
    graph_of = torch.searchsorted(graphs.offsets["node"], nodes, right=True) - 1
    per_node = torch.bincount(graph_of, minlength=len(graphs))
    per_edge = torch.zeros(len(graphs), dtype=torch.int64)
    per_edge.index_add_(0, graph_of, degree.long())
    positions: dict[str, Any] = {"node": nodes, "edge": edges, "graph": slice(None)}
    fields: dict[str, Any] = {field.name: None for field in dataclasses.fields(GraphStore)}
    for name in fields:
        if (column := graphs.columns.get(name)) is not None:
            fields[name] = column[positions[graphs.axis_of(name)]]
    fields |= {
        "sizes": {"node": per_node, "edge": per_edge},
        "level": graphs.level,
        "degree": degree,
        "neighbor": neighbor[:count],
    }
    return GraphStore(**fields), edges
