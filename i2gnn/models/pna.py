"""Principal neighbourhood aggregation."""

import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.base import NodeNetwork, as_graphs
from i2gnn.nn import FeatureEncoder, Norm, make_norm
from i2gnn.ops import Reduce

__all__ = ["PNA"]


class PNA(NodeNetwork):
    """PNA (Corso et al. 2020): message passing with four aggregators and three scalers.

        message   m[k,l] = M [x[k], x[l], e[k,l]]
        sums      a[k]   = [mean, min, max, std of m[k,l] over l in N(k)]
        scaled    s[k]   = [a[k], a[k] log(d_k + 1) / delta, a[k] delta / log(d_k + 1)]
        layer     x[k]   = relu(norm(U [x[k], s[k]])) + x[k]                    (num_layers times)
        output    levels as in `NodeNetwork`

    where d_k is the degree of k and delta the mean of log(d + 1) over the training graphs; M and U
    are linear, in `towers` independent parts. The layer is PyG's `PNAConv`.

    Serves the row "PNA" of Table 5. Time m D^2 + n D^2 per layer, memory m D.

    Args:
        in_channels: Columns of numbers among the node features.
        node_types: For each column of types among them, how many types there are.
        edge_channels: Columns of numbers among the edge features; used if there are any.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number of layers.
        out_channels: Number of outputs per node, edge or graph.
        degrees: How many nodes of degree 0, 1, 2, ... the training graphs have, for delta.
        towers: Parts that D is divided into.
        norm: "batch" or "none".
        dropout: Probability of a zero after each layer.
        pool: "sum" or "mean", over graphs.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `GraphStore`, or a PyG batch of graphs from `BranchedEgoNets`.
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
        degrees: tuple[int, ...] = (0, 0, 1),
        towers: int = 1,
        norm: Norm = "batch",
        dropout: float = 0.0,
        pool: Reduce = "mean",
        level: Level = "node",
    ) -> None:
        from torch_geometric.nn import PNAConv

        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            pool=pool,
            level=level,
        )
        width = hidden_channels
        if towers < 1 or width % towers:
            raise ValueError(f"towers must divide hidden_channels {width}, got {towers}")
        if not any(degrees[1:]):
            degrees = (0, 1)  # without edges there is nothing to scale
        self.dropout = dropout
        with_edges = bool(edge_channels or edge_types)
        self.edges = nn.ModuleList(
            FeatureEncoder(edge_types, edge_channels, width, "edge")
            for _ in range(num_layers if with_edges else 0)
        )
        self.convs = nn.ModuleList(
            PNAConv(
                width,
                width,
                aggregators=["mean", "min", "max", "std"],
                scalers=["identity", "amplification", "attenuation"],
                deg=torch.tensor(degrees),
                edge_dim=width if with_edges else None,
                towers=towers,
                divide_input=True,
            )
            for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(make_norm(norm, width) for _ in range(num_layers))

    @classmethod
    def arguments_for(cls, graphs: GraphStore) -> dict[str, Any]:
        """The arguments that follow from the graphs, the degrees of their nodes among them."""
        counts = torch.bincount(graphs.degree)
        return super().arguments_for(graphs) | {"degrees": tuple(counts.tolist())}

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        graphs = as_graphs(batch)
        x = self.encode(graphs)
        for t, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            edge = self.edges[t](graphs.edge_attr) if self.edges else None
            out = functional.relu(norm(conv(x, graphs.edge_index, edge)))
            x = functional.dropout(out, self.dropout, self.training) + x
        return self.read(x, graphs)

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> GraphStore:
        """The graphs themselves."""
        return GraphStore.from_any(graphs)
