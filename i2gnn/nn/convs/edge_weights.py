"""Layers whose weights depend on the edge."""

import torch
from torch import Tensor, nn

from i2gnn.nn.convs.conv import Conv, join, require
from i2gnn.nn.features import FeatureEncoder
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["NNConv"]


class NNConv(Conv):
    """Layer whose message weight depends on the edge (Gilmer et al. 2017).

    h'[i,j,k] = W h[i,j,k] + sum of net(e[k,l]) h[i,j,l] over l in N_i(k)

    `net` maps edge features to a matrix. Equal edges share it, so it is computed once per distinct
    edge, and messages over equal edges are one matrix product.
    """

    needs_edge_attr = True
    tells_root = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 128,
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.own = nn.Linear(in_channels, out_channels)
        self.net = nn.Sequential(
            FeatureEncoder(edge_types, edge_channels, hidden_channels, "edge"),
            nn.ReLU(),
            nn.Linear(hidden_channels, in_channels * out_channels),
        )

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        h = join(h, z)
        kinds, kind_of_edge = torch.unique(require(edge_attr, self), dim=0, return_inverse=True)
        weights = self.net(kinds).view(len(kinds), self.in_channels, self.out_channels)
        sent_from, sent_to, link = subgraphs.message_rows
        kind = kind_of_edge[subgraphs.link_to_edge[link]]  # [M]
        order = torch.argsort(kind, stable=True)
        counts = torch.bincount(kind, minlength=len(kinds)).tolist()
        out: Tensor = self.own(h)
        if not len(kinds):
            return out
        sent = self.sent(h, subgraphs).index_select(0, sent_from[order])
        # One op each, whose gradient is one op, too.
        parts = zip(torch.split(sent, counts), weights.unbind(), strict=True)
        messages = [part @ weight for part, weight in parts]
        return out.index_add(0, sent_to[order], torch.cat(messages))
