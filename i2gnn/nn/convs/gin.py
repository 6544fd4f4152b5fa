"""Layers of graph isomorphism networks: an MLP on sums."""

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.nn.convs.conv import Conv, SumConv, join, require
from i2gnn.nn.features import FeatureEncoder
from i2gnn.nn.norms import Norm
from i2gnn.nn.perceptron import mlp, mlp_of_parts, mlp_weights
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["GIN", "GINE"]


class GIN(SumConv):
    """Graph isomorphism layer (Xu et al. 2019).

    h'[i,j,k] = mlp((1 + eps) h[i,j,k] + sum of h[i,j,l] over l in N_i(k))

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        expansion: Hidden width of the MLP, in widths of the input.
        norm: Normalisation inside the MLP.
    """

    has_mlp = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion: int = 1,
        norm: Norm = "none",
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = mlp([in_channels, expansion * in_channels, out_channels], norm=norm)

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """[n, in_channels] each to [n, out_channels]."""
        result: Tensor = self.mlp((1 + self.eps) * h + message)
        return result

    def fused(self, edge_attr: Tensor | None) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as an op takes it."""
        weights = mlp_weights(self.mlp) if self.computes(GIN) else None
        if self.root_weight is not None or weights is None:
            return None
        return ops.GINELayer(self.eps, weights), None


class GINE(Conv):
    """Graph isomorphism layer with edge features (Hu et al. 2020).

    h'[i,j,k] = mlp((1 + eps) h[i,j,k] + sum of relu(h[i,j,l] + encode(e[k,l])) over l in N_i(k))

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        edge_channels: Number of columns of numbers among the edge features.
        edge_types: Sizes of their columns of types; see `FeatureEncoder`.
        expansion: Hidden width of the MLP, in widths of the input.
        norm: Normalisation inside the MLP.
    """

    needs_edge_attr = True
    tells_root = True
    has_mlp = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        expansion: int = 1,
        norm: Norm = "none",
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.eps = nn.Parameter(torch.zeros(()))
        self.edge = FeatureEncoder(edge_types, edge_channels, in_channels, "edge")
        self.mlp = mlp([in_channels, expansion * in_channels, out_channels], norm=norm)

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        # Messages act on each channel alone, so [h, z] need not be put side by side, unless the
        # root has a weight, which mixes channels.
        parts = [join(h, z)] if z is None or self.root_weight is not None else [h, z]
        table, edge_type = self.edge.as_table(require(edge_attr, self))
        tables = torch.split(table, [part.shape[1] for part in parts], dim=1)
        inputs = [
            (1 + self.eps) * h + ops.aggregate(self.sent(h, subgraphs), subgraphs, edge, edge_type)
            for h, edge in zip(parts, tables, strict=True)
        ]
        return mlp_of_parts(self.mlp, inputs)

    def fused(self, edge_attr: Tensor | None) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as an op takes it, and the types of edges, if types are all they have."""
        weights = mlp_weights(self.mlp) if self.computes(GINE) else None
        if self.root_weight is not None or weights is None:
            return None
        table, edge_type = self.edge.as_table(require(edge_attr, self))
        if edge_type is None:
            return None
        return ops.GINELayer(self.eps, weights, edges=table), edge_type
