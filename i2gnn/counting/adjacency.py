"""The arrays that counting kernels read, in a good order."""

from dataclasses import dataclass

import numpy as np

from i2gnn.counting.workers import Array
from i2gnn.graphs import GraphStore
from i2gnn.parallel import jit

__all__ = ["Adjacency", "find_edge"]

HEAVY_TAIL = 16
"""Largest degree from which the order of nodes matters more than the cost of sorting them."""


@dataclass(frozen=True)
class Adjacency:
    """Graphs as sorted neighbour lists; nodes numbered over all graphs.

    Attributes:
        edge_ptr: [N + 1], where the neighbours of each node start.
        neighbor: [E], ascending within a node.
        graph_of_node: [N].
    """

    edge_ptr: Array
    neighbor: Array
    graph_of_node: Array

    @classmethod
    def of(cls, store: GraphStore) -> "Adjacency":
        """The neighbour lists of a store, on the host."""
        store = store.to("cpu")
        return cls(store.edge_ptr.numpy(), store.neighbor.numpy(), store.node_to_graph.numpy())

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return len(self.edge_ptr) - 1

    @property
    def degree(self) -> Array:
        """Number of neighbours of each node, [N]."""
        return np.diff(self.edge_ptr)

    @property
    def edge_to_node(self) -> Array:
        """The node whose list an edge is in, [E]."""
        return np.repeat(np.arange(self.num_nodes), self.degree)

    def reverse_edges(self) -> Array:
        """For each edge k <- l the edge l <- k, [E]; linear, since all lists ascend."""
        reverse = np.empty(len(self.neighbor), dtype=np.int64)
        _reverse(self.edge_ptr, self.neighbor, self.edge_ptr[:-1].copy(), reverse)
        return reverse

    def sum_edges(self, values: Array) -> Array:
        """Adds the rows of each node's edges: [E, T] to [N, T], int64 or float64."""
        kind = np.result_type(values.dtype, np.int64)
        total = np.zeros((self.num_nodes, values.shape[1]), dtype=kind)
        _sum_edges(self.edge_ptr, values, total)
        return total

    def by_degree(self) -> tuple["Adjacency", Array | None]:
        """The same graphs with nodes by ascending degree inside each, and the old id of each edge.

        Searches that only visit nodes before their root then meet hubs last and leave them out
        everywhere else. Without hubs the given order is as good, and nearer in memory: then the
        graphs are returned as they are, with None for the ids.
        """
        if not len(self.neighbor) or self.degree.max() < HEAVY_TAIL:
            return self, None
        order = np.lexsort((self.degree, self.graph_of_node))
        new_id = np.empty_like(order)
        new_id[order] = np.arange(len(order))
        key = new_id[self.edge_to_node] * self.num_nodes + new_id[self.neighbor]
        edges = np.argsort(key)
        edge_ptr = np.concatenate([[0], np.cumsum(self.degree[order])])
        neighbor = (key[edges] % self.num_nodes).astype(self.neighbor.dtype)
        return Adjacency(edge_ptr, neighbor, self.graph_of_node[order]), edges


@jit
def _sum_edges(edge_ptr: Array, values: Array, total: Array) -> None:
    for node in range(len(total)):
        for e in range(edge_ptr[node], edge_ptr[node + 1]):
            for column in range(values.shape[1]):
                total[node, column] += values[e, column]


@jit
def _reverse(edge_ptr: Array, neighbor: Array, cursor: Array, reverse: Array) -> None:
    for node in range(len(edge_ptr) - 1):
        for e in range(edge_ptr[node], edge_ptr[node + 1]):
            # Nodes come in ascending order, so `node` is the next entry of its neighbour's list.
            other = neighbor[e]
            reverse[e] = cursor[other]
            cursor[other] += 1


@jit
def find_edge(edge_ptr: Array, neighbor: Array, u: int, v: int) -> int:
    """Place of v among the neighbours of u, or -1."""
    low, high = edge_ptr[u], edge_ptr[u + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbor[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low if low < edge_ptr[u + 1] and neighbor[low] == v else -1
