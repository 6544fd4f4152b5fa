"""All pairs of nodes of every graph as flat rows, matrix products between them, and their sums.

A graph of n nodes owns n x n cells (a, b). The cells of all graphs lie in one tensor [C, D] with
C = sum of n_g^2, so layers that act on each cell alone never see padding. Graphs of equal size lie
side by side, so that a product is one batched product per size, or on a GPU one kernel for all.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from i2gnn.graphs.flat import offsets, ragged_arange
from i2gnn.graphs.store import GraphStore
from i2gnn.ops.choice import use_triton

__all__ = ["Cells", "cells_of", "multiply_cells", "pool_cells"]


class Group(NamedTuple):
    """Graphs of one size: how many they are, their size, and where their cells are."""

    graphs: int
    size: int
    start: int
    stop: int


@dataclass(frozen=True)
class Cells:
    """Where the cells of each node are.

    Attributes:
        sizes: [G], nodes of each graph in the order of their cells, ascending, on the host.
        row: [C], the node a of each cell (a, b), counted over all graphs.
        column: [C], its node b.
        first: [N], the cell (a, first node of its graph) of each node a.
        place: [N], number of each node inside its graph.
        size: [N], nodes of its graph.
    """

    sizes: Tensor
    row: Tensor
    column: Tensor
    first: Tensor
    place: Tensor
    size: Tensor

    def at(self, a: Tensor, b: Tensor) -> Tensor:
        """The cells (a, b) of nodes a and b of the same graph."""
        return self.first[a] + self.place[b]

    @property
    def diagonal(self) -> Tensor:
        """The cells (a, a), [N]."""
        return self.first + self.place

    @cached_property
    def groups(self) -> list[Group]:
        """Graphs of equal size, which lie side by side."""
        groups: list[Group] = []
        stop = 0
        for size, same in groupby(self.sizes.tolist()):
            graphs = len(list(same))
            start, stop = stop, stop + graphs * size * size
            groups.append(Group(graphs, size, start, stop))
        return groups

    @cached_property
    def tiles(self) -> Tensor:
        """What the programs of Triton's kernel work on, on the device of the cells."""
        from i2gnn.ops import triton

        return triton.tiles_of_cells(self.sizes).to(self.row.device, non_blocking=True)


def cells_of(graphs: GraphStore) -> Cells:
    """Lays out the cells of the graphs, smallest graphs first.

    Example:
        >>> graphs = GraphStore.from_edge_lists([[(0, 1)], []], [2, 1], symmetrize=True)
        >>> cells_of(graphs).row
        tensor([2, 0, 0, 1, 1])
    """
    if graphs.graph_ptr is not None:
        raise ValueError("all pairs of nodes need the size of each graph: a batch of exact shape")
    sizes = graphs.sizes["node"]
    order = torch.argsort(sizes, stable=True)
    ordered = sizes[order]
    start = offsets(ordered.square())  # [G + 1], by place in the order
    total = int(start[-1])
    starts = torch.empty_like(sizes).scatter_(0, order, start[:-1])
    on_host = (graphs.offsets["node"][:-1], sizes, starts, order, ordered)
    first_node, size, start_of_graph, order, length = (
        tensor.to(graphs.device, non_blocking=True) for tensor in on_host
    )
    graph = graphs.node_to_graph
    place = torch.arange(graphs.num_nodes, device=graphs.device) - first_node[graph]
    size = size[graph]
    nodes = ragged_arange(first_node[order], length, graphs.num_nodes)  # rows in their order
    length = size[nodes]
    return Cells(
        sizes=ordered,
        row=torch.repeat_interleave(nodes, length, output_size=total),
        column=ragged_arange(first_node[graph[nodes]], length, total),
        first=start_of_graph[graph] + place * size,
        place=place,
        size=size,
    )


def multiply_cells(x: Tensor, y: Tensor, cells: Cells) -> Tensor:
    """Multiplies the matrices of each graph, channel by channel.

        out[a,b] = sum of x[a,c] * y[c,b] over the nodes c of the graph

    On a GPU, Triton's kernel multiplies all of them where they lie; elsewhere, one batched product
    for each size.

    Shapes:
        x, y: [C, D].
        returns: [C, D].
    """
    if use_triton(x, y):
        from i2gnn.ops import triton

        return triton.multiply_cells(x, y, cells.tiles)
    if not cells.groups:
        return x * y
    return torch.cat([_multiply_group(x, y, group) for group in cells.groups])


def pool_cells(z: Tensor, cells: Cells) -> Tensor:
    """Of each node a the cell (a, a), and the sum of all others in its row and its column.

    Shapes:
        z: [C, D].
        returns: [N, 2 D].
    """
    diagonal = z[cells.diagonal]
    total = torch.zeros_like(diagonal)
    others = total.index_add(0, cells.row, z).index_add(0, cells.column, z) - 2 * diagonal
    return torch.cat([diagonal, others], dim=1)


def _multiply_group(x: Tensor, y: Tensor, group: Group) -> Tensor:
    shape = (group.graphs, group.size, group.size, x.shape[1])
    left, right = (
        z[group.start : group.stop].view(shape).permute(0, 3, 1, 2) for z in (x, y)
    )  # [count, D, size, size]
    return (left @ right).permute(0, 2, 3, 1).reshape(-1, x.shape[1])
