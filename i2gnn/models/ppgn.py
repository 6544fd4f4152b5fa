"""Provably powerful graph networks: states on all pairs of nodes."""

import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.base import Network, as_graphs, check_choice
from i2gnn.nn import mlp
from i2gnn.nn.features import split_features
from i2gnn.ops import Reduce, uses_fused
from i2gnn.ops.cells import Cells, cells_of, multiply_cells, pool_cells

__all__ = ["PPGN"]


class PPGN(Network):
    """PPGN (Maron et al. 2019): matrix products of n x n states, as strong as 2-FWL (3-WL).

        start     z[a,b] = [1 if a ~ b, 1 if a = b, x[a] if a = b, edge features of a ~ b]
        block t   z = W [z, mlp1(z) · mlp2(z)],  a matrix product per channel       (num_layers)
        nodes     [z[a,a], sum of z[a,b] + z[b,a] over b != a]
        edges     [z[a,b], z[b,a]]
        graphs    [sum of z[a,a] over a, sum of z[a,b] over a != b]
        output    an MLP of widths 2 D, D, out_channels

    Serves the rows "PPGN" of Tables 1, 2, 3, 4, 9 and 12. Time n^3 D + n^2 D^2 per block, memory
    n^2 D, where n is the graph's own size: no cell of a larger batch mate is ever computed.
    Without node features, the paper's version marks neither cells (a, a) nor padding; ours marks
    the former and has none of the latter.

    Args:
        in_channels: Columns of numbers among the node features; they follow those of types.
        node_types: For each column of types among the node features, how many types there are;
            they enter as one-hot vectors.
        edge_channels: Columns of numbers among the edge features.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number of blocks.
        out_channels: Number of outputs per node, edge or graph.
        mlp_depth: Linear layers in mlp1 and mlp2, each followed by a ReLU.
        pool: "sum", or "mean" as in the paper's version: the sums above divided by their length.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `GraphStore`, or a PyG batch of graphs from `BranchedEgoNets`.
        returns: [N | E | G, out_channels].

    Example:
        >>> square = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3), (3, 0)]], symmetrize=True)
        >>> PPGN(num_layers=2, hidden_channels=16)(square).shape
        torch.Size([4, 1])
    """

    def __init__(
        self,
        *,
        in_channels: int = 0,
        node_types: tuple[int, ...] = (),
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 64,
        num_layers: int = 4,
        out_channels: int = 1,
        mlp_depth: int = 2,
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__()
        check_choice("pool", pool, ("sum", "mean"))
        check_choice("level", level, ("node", "edge", "graph"))
        for name, value in (("num_layers", num_layers), ("mlp_depth", mlp_depth)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.node_features = (tuple(node_types), in_channels)
        self.edge_features = (tuple(edge_types), edge_channels)
        self.start_widths = [2, sum(node_types) + in_channels, sum(edge_types) + edge_channels]
        self.pool = pool
        self.level = level
        width = hidden_channels
        widths = [sum(self.start_widths)] + [width] * num_layers
        self.blocks = nn.ModuleList(
            PPGNBlock(before, after, mlp_depth)
            for before, after in zip(widths[:-1], widths[1:], strict=True)
        )
        self.head = mlp([2 * width, width, out_channels])

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        graphs = as_graphs(batch)
        cells = cells_of(graphs)
        z = self._run_blocks(self._start(graphs, cells), cells)
        read = {"node": self._read_nodes, "edge": _read_edges, "graph": self._read_graphs}
        result: Tensor = self.head(read[self.level](z, graphs, cells))
        return result

    @property
    def reads_edges(self) -> bool:
        """Whether the model was built to read features of edges."""
        return self.start_widths[2] > 0

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> GraphStore:
        """The graphs themselves."""
        return GraphStore.from_any(graphs)

    def _start(self, graphs: GraphStore, cells: Cells) -> Tensor:
        """First states of the cells, [C, sum of start_widths]."""
        marks, of_nodes, of_edges = (
            torch.zeros(len(cells.row), width, dtype=self.dtype, device=graphs.device)
            for width in self.start_widths
        )
        edges, nodes = cells.at(graphs.edge_to_node, graphs.neighbor), cells.diagonal
        marks[edges, 0] = 1
        marks[nodes, 1] = 1
        if of_nodes.shape[1]:
            features = _one_hot(graphs.x, *self.node_features, "node")
            of_nodes = of_nodes.index_copy(0, nodes, features.to(self.dtype))
        if of_edges.shape[1]:
            features = _one_hot(graphs.edge_attr, *self.edge_features, "edge")
            of_edges = of_edges.index_copy(0, edges, features.to(self.dtype))
        return torch.cat([marks, of_nodes, of_edges], dim=1)

    def _run_blocks(self, z: Tensor, cells: Cells) -> Tensor:
        """[C, sum of start_widths] to [C, D], or pooled to nodes, [N, 2 D], unless edges want z."""
        pooled = self.level != "edge"
        if uses_fused(z):
            from i2gnn.ops import triton

            weights = [list(block.parameters()) for block in self.blocks]
            return triton.cell_blocks(z, cells, weights, pooled=pooled)
        for block in self.blocks:
            z = block(z, cells)
        return pool_cells(z, cells) if pooled else z

    def _read_nodes(self, pooled: Tensor, graphs: GraphStore, cells: Cells) -> Tensor:
        if self.pool == "sum":
            return pooled
        diagonal, others = pooled.chunk(2, dim=1)
        return torch.cat([diagonal, others / (2 * cells.size - 2).clamp(min=1).unsqueeze(1)], dim=1)

    def _read_graphs(self, pooled: Tensor, graphs: GraphStore, cells: Cells) -> Tensor:
        total = pooled.new_zeros(len(graphs), pooled.shape[1])
        diagonal, twice = total.index_add(0, graphs.node_to_graph, pooled).chunk(2, dim=1)
        others = twice / 2  # each cell (a, b) is in the row of a and in the column of b
        if self.pool == "mean":
            size = graphs.sizes["node"].to(pooled.device, non_blocking=True).unsqueeze(1)
            diagonal = diagonal / size.clamp(min=1)
            others = others / (size * (size - 1)).clamp(min=1)
        return torch.cat([diagonal, others], dim=1)


class PPGNBlock(nn.Module):
    """One block: z' = W [z, mlp1(z) · mlp2(z)] + b, all on cells.

    Shapes:
        z: [C, in_channels].
        returns: [C, out_channels].
    """

    def __init__(self, in_channels: int, out_channels: int, mlp_depth: int) -> None:
        super().__init__()
        widths = [in_channels] + [out_channels] * mlp_depth
        self.left = nn.Sequential(mlp(widths), nn.ReLU())
        self.right = nn.Sequential(mlp(widths), nn.ReLU())
        self.skip = nn.Linear(in_channels + out_channels, out_channels)

    def forward(self, z: Tensor, cells: Cells) -> Tensor:
        """[C, in_channels] to [C, out_channels]."""
        multiplied = multiply_cells(self.left(z), self.right(z), cells)
        # The halves of W one after the other, rather than z and the product side by side.
        widths = [z.shape[1], multiplied.shape[1]]
        of_z, of_product = torch.split(self.skip.weight, widths, dim=1)
        return torch.addmm(functional.linear(z, of_z, self.skip.bias), multiplied, of_product.t())


def _read_edges(z: Tensor, graphs: GraphStore, cells: Cells) -> Tensor:
    a, b = graphs.edge_to_node, graphs.neighbor
    return torch.cat([z[cells.at(a, b)], z[cells.at(b, a)]], dim=1)


def _one_hot(features: Tensor | None, types: tuple[int, ...], numbers: int, what: str) -> Tensor:
    """Types as one-hot vectors beside the numbers: [n, F] to [n, sum of types + numbers]."""
    columns, rest = split_features(features, types, numbers, what)
    hot = [functional.one_hot(c, size) for c, size in zip(columns.unbind(1), types, strict=True)]
    return torch.cat([*hot, rest], dim=1)
