"""Graphs with their nodes in another order: the same graphs, other rounding."""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore

__all__ = ["relabel", "relabelled_copies"]


def relabel(graphs: GraphStore, seed: int) -> tuple[GraphStore, Tensor]:
    """Puts the nodes of every graph into a random order.

    Args:
        graphs: Features and targets move with their nodes and edges.
        seed: Of the orders.

    Shapes:
        returns: the new store, and for each of its nodes which node of the old one it was, [N].

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> new, old_of_new = relabel(path, seed=1)
        >>> bool((new.degree == path.degree[old_of_new]).all())
        True
    """
    draw = np.random.default_rng(seed).random(graphs.num_nodes)
    old_of_new = torch.from_numpy(np.lexsort((draw, graphs.node_to_graph.numpy())))
    new_of_old = torch.empty_like(old_of_new)
    new_of_old[old_of_new] = torch.arange(len(old_of_new))
    source, target = new_of_old[graphs.edge_index]
    edge_order = torch.argsort(target * graphs.num_nodes + source)
    order = {"node": old_of_new, "edge": edge_order, "graph": torch.arange(len(graphs))}
    moved = dataclasses.replace(
        graphs,
        degree=graphs.degree[old_of_new],
        neighbor=source[edge_order].to(graphs.neighbor.dtype),
        x=None if graphs.x is None else graphs.x[old_of_new],
        edge_attr=None if graphs.edge_attr is None else graphs.edge_attr[edge_order],
        y=None if graphs.y is None or graphs.level is None else graphs.y[order[graphs.level]],
    )
    return moved, old_of_new


def relabelled_copies(graphs: GraphStore, copies: int, seed: int) -> GraphStore:
    """Each graph so many times, every time in another order; the copies are interleaved.

    Graph g of copy c is graph c G + g of the result: with two graphs A and B, A B A B ...

    Example:
        >>> from i2gnn.expressiveness.pairs import two_cycles
        >>> len(relabelled_copies(two_cycles(3), copies=32, seed=0))
        64
    """
    return relabel(graphs.batch(torch.arange(len(graphs)).repeat(copies)), seed)[0]
