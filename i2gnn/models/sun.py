"""SUN: a subgraph network whose subgraphs hear of each other at every layer."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn import ops
from i2gnn.graphs.raw import Level
from i2gnn.models.ego_nets import EgoNetNetwork
from i2gnn.nn import FeatureEncoder, Norm, make_norm, mlp
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs, extract_subgraphs

__all__ = ["SUN"]


class SUN(EgoNetNetwork):
    """SUN on ego-nets (Frasca et al. 2022), "SUN (EGO)" of the paper.

        start     h[i,k] = x[k] + z[i,k]                                 z: embedding of the labels
        layer     m[i,k] = gin(h[i,k], sum of h[i,l] over l in N_i(k))           in the ego-net
                  c[k]   = gin(a[k], sum of a[l] over l in N(k)), a[k] = mean of h[i,k] over i
                  h[i,k] = relu(f1(h[i,k]) + f2(h[k,k]) + f3(h[i,i])
                                + f4(pool of h[i,l] over l) + m[i,k] + c[k])     for k != i
                  h[i,i] = relu(g1(h[i,i]) + g4(pool of h[i,l] over l) + m'[i,i] + c'[i])
        nodes     h[i] = pool of h[i,k] over k; levels as in `NodeNetwork`

    where f and g are MLPs, gin(h, s) = mlp((1 + eps) h + s), and m', c' have weights of their own.
    With edge features e a sum of h[l] is one of relu(h[l] + W e[k,l]).

    Serves the row "SUN (EGO)" of Table 5. Time n s (d D + D^2) per layer, memory n s D, for
    ego-nets of s nodes.

    Args:
        in_channels: Columns of numbers among the node features.
        node_types: For each column of types among them, how many types there are.
        edge_channels: Columns of numbers among the edge features.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number of layers.
        out_channels: Number of outputs per node, edge or graph.
        hops: Radius K of the ego-nets.
        labels: How the root is marked: "identity" or "spd", its distance.
        norm: "batch", inside the MLPs and after the sums, or "none".
        residual: Whether each layer adds its input.
        dropout: Probability of a zero after each layer.
        pool: "sum" or "mean", over ego-nets and graphs.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `Subgraphs` with one identifier.
        returns: [N | E | G, out_channels].
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
        hops: int = 3,
        labels: str = "identity",
        norm: Norm = "batch",
        residual: bool = False,
        dropout: float = 0.0,
        pool: Reduce = "mean",
        level: Level = "node",
    ) -> None:
        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            hops=hops,
            labels=labels,
            pool=pool,
            level=level,
        )
        self.encode_labels = self.label_encoder(hidden_channels)
        self.residual = residual
        self.dropout = dropout
        self.layers = nn.ModuleList(
            SUNLayer(hidden_channels, edge_channels, edge_types, norm, pool)
            for _ in range(num_layers)
        )

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        subgraphs = self.ego_nets(batch)
        graphs = extract_subgraphs(subgraphs, identifiers=0)
        h = ops.spread_nodes(self.encode(subgraphs), subgraphs) + self.encode_labels(subgraphs)
        for layer in self.layers:
            out = functional.dropout(layer(h, subgraphs, graphs), self.dropout, self.training)
            h = out + h if self.residual else out
        return self.read(ops.pool_nodes(h, subgraphs, self.pool), subgraphs)


class SUNLayer(nn.Module):
    """One layer of `SUN`: [R, D] to [R, D]."""

    def __init__(
        self,
        channels: int,
        edge_channels: int,
        edge_types: tuple[int, ...],
        norm: Norm,
        pool: Reduce,
    ) -> None:
        super().__init__()
        self.pool: Reduce = pool
        self.encode_edges: FeatureEncoder | None = None
        if edge_channels or edge_types:
            self.encode_edges = FeatureEncoder(edge_types, edge_channels, channels, "edge")

        def perceptron() -> nn.Module:
            return mlp([channels, channels, channels], norm=norm)

        self.own, self.node, self.root, self.subgraph = (perceptron() for _ in range(4))
        self.root_own, self.root_subgraph = perceptron(), perceptron()
        sums = ("inside", "across", "root_inside", "root_across")
        self.gins = nn.ModuleDict({name: _GIN(channels, norm) for name in sums})

    def forward(self, h: Tensor, subgraphs: Subgraphs, graphs: Subgraphs) -> Tensor:
        """[R, D] to [R, D]; `graphs` are the graphs themselves, with zero identifiers."""
        edge = None if self.encode_edges is None else self.encode_edges(subgraphs.edge_attr)
        at_root = subgraphs.row_of_root.long()  # [N]
        roots = h.index_select(0, at_root)
        pooled = ops.pool_nodes(h, subgraphs, self.pool)  # [N, D]
        inside = ops.aggregate(h, subgraphs, edge)  # [R, D]
        mean = ops.pool_context(h, subgraphs, "mean")
        across = ops.aggregate(mean, graphs, edge)  # [N, D]

        by_node = self.node(roots) + self.gins["across"](mean, across)
        by_root = self.root(roots) + self.subgraph(pooled)
        out = self.own(h) + self.gins["inside"](h, inside)
        out = out + ops.spread_nodes(by_node, subgraphs)
        out = out + by_root.index_select(0, subgraphs.pair_to_root)  # a pair has one row

        of_root = self.root_own(roots) + self.root_subgraph(pooled)
        of_root = of_root + self.gins["root_inside"](roots, inside.index_select(0, at_root))
        of_root = of_root + self.gins["root_across"](mean, across)
        return functional.relu(out.index_copy(0, at_root, of_root))


class _GIN(nn.Module):
    """norm(mlp((1 + eps) h + message)), [n, D] each to [n, D]."""

    def __init__(self, channels: int, norm: Norm) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = mlp([channels, channels, channels], norm=norm)
        self.norm = make_norm(norm, channels)

    def forward(self, h: Tensor, message: Tensor) -> Tensor:
        """[n, D] each to [n, D]."""
        result: Tensor = self.norm(self.mlp((1 + self.eps) * h + message))
        return result
