"""Reconstruction: graphs without one of their nodes."""

import os

from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.network import IdentifierGNN
from i2gnn.nn import Conv, Norm
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.deletion import extract_deletions

__all__ = ["DSGNN"]


class DSGNN(IdentifierGNN):
    """DS-GNN with node deletion, the (N-1)-reconstruction GNN (Definition 3.1).

        rows      h[i,k] for all nodes k of the graph of i; i itself has no links
        layer t   h = conv(h), inside the graph without i                   (num_layers times)
        nodes     h[i] = mlp(pool of h[i,k] over k)
        graphs    h[G] = pool of h[i] over i                                (level="graph")

    (Cotta et al. 2021; Bevilacqua et al. 2022.) The deleted node stays as a row of its own, which
    its label tells from the others, so a prediction for node i knows its features. `SubgraphMPNN`
    is the same with ego-nets in place of deletion. Serves no row of the paper's tables, which
    covers it by its theorems on subgraph MPNNs. Time n (m D + n D^2) per layer, memory n^2 D.

    Args:
        in_channels: Columns of numbers among the node features; they follow those of types.
        node_types: For each column of types among the node features, how many types there are.
        edge_channels: Columns of numbers among the edge features, for convs that use them.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number T of message-passing layers.
        out_channels: Number of outputs per node, edge or graph.
        conv: Layer, a key of `CONVS` or a subclass of `Conv`.
        labels: "identity" marks the deleted node; "none" does not.
        norm: "batch" normalises over the rows after every layer and inside the MLPs of convs.
        residual: Whether each layer adds its input.
        dropout: Probability of a zero after each layer.
        pool: "sum" or "mean", in all readouts.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `Subgraphs` from `extract_deletions`.
        returns: [N | E | G, out_channels].
    """

    identifiers = 1
    least_hops = 0
    usual_labels = "identity"

    def __init__(
        self,
        *,
        in_channels: int = 0,
        node_types: tuple[int, ...] = (),
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 64,
        num_layers: int = 5,
        out_channels: int = 1,
        conv: str | type[Conv] = "gin",
        labels: str | None = None,
        norm: Norm = "none",
        residual: bool = False,
        dropout: float = 0.0,
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            edge_channels=edge_channels,
            edge_types=edge_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            conv=conv,
            hops=0,
            labels=labels,
            norm=norm,
            residual=residual,
            dropout=dropout,
            readout_mlp=True,
            pool=pool,
            level=level,
        )

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> Subgraphs:
        """The graphs without each of their nodes; as quickly made as read, so never cached."""
        return extract_deletions(graphs, labels=self.labels, progress=progress)
