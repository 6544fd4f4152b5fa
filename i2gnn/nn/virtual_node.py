"""A state per graph that all rows share."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn import ops
from i2gnn.graphs.store import GraphStore
from i2gnn.nn.norms import Norm, make_norm
from i2gnn.nn.perceptron import mlp
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["VirtualNode"]


class VirtualNode(nn.Module):
    """A virtual node: connected to every node of its graph (Gilmer et al. 2017; Hu et al. 2020).

        h[i,j,k] <- h[i,j,k] + v[graph of k]                                 before layer t
        s[G]      = sum over nodes i of the mean over j of the mean over k of h[i,j,k]
        v'[G]     = dropout(mlp_t(v[G] + s[G])), plus v[G] if `residual`     before layer t + 1

    v starts as one learnt vector, zero at first. The MLP ends in a normalisation and a ReLU.

    Args:
        widths: Input widths D_0 .. D_T-1 of the layers.
        norm: Normalisation in the MLPs.
        dropout: Probability of a zero in v'.
        residual: Whether v is added to v' where the widths agree.

    Shapes:
        h: [R, D_t].
        v: [G, D_t].
    """

    def __init__(
        self,
        widths: Sequence[int],
        norm: Norm = "none",
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.residual = residual
        self.first = nn.Parameter(torch.zeros(widths[0]))
        self.updates = nn.ModuleList(
            nn.Sequential(
                mlp([before, 2 * before, after], norm=norm), make_norm(norm, after), nn.ReLU()
            )
            for before, after in zip(widths[:-1], widths[1:], strict=True)
        )

    def start(self, graphs: GraphStore) -> Tensor:
        """The first states, [G, D_0]."""
        return self.first.expand(len(graphs), -1)

    def tell(self, h: Tensor, v: Tensor, subgraphs: Subgraphs) -> Tensor:
        """Rows that have heard their graph's virtual node, [R, D_t]."""
        return h + ops.spread_nodes(v.index_select(0, subgraphs.node_to_graph), subgraphs)

    def update(self, t: int, h: Tensor, v: Tensor, subgraphs: Subgraphs) -> Tensor:
        """The states for layer t + 1 from the input of layer t, [G, D_t+1]."""
        branches = ops.pool_nodes(h, subgraphs, "mean")
        nodes = ops.pool_branches(branches, subgraphs, "mean")
        heard: Tensor = self.updates[t](v + ops.pool_graphs(nodes, subgraphs, "sum"))
        heard = functional.dropout(heard, self.dropout, self.training)
        return heard + v if self.residual and heard.shape == v.shape else heard
