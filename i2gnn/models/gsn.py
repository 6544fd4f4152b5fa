"""Graph substructure networks: message passing that is told the counts."""

import os

from i2gnn.counting import with_structures
from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.mpnn import MPNN
from i2gnn.nn import Conv, Norm
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs

__all__ = ["GSN"]


class GSN(MPNN):
    """GSN (Bouritsas et al. 2022): substructure counts of nodes and edges as features.

        x[k]      = [features of k, log(1 + copies of each structure that k is in)]
        e[k,l]    = [features of the edge, log(1 + copies of each structure that it is in)]

    and then plain message passing: "gine" sees both, "gin" the counts of nodes alone. The model
    counts nothing itself: `extract` puts these columns behind those of the graphs.

    Serves the row "GSN" of Table 5. Time m D + n D^2 per layer, memory n D; counting comes before,
    once.

    Args:
        in_channels: Columns of numbers among the graphs' own node features, without the counts.
        node_types: For each column of types among the node features, how many types there are.
        edge_channels: Columns of numbers among their edge features, without the counts.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number T of message-passing layers.
        out_channels: Number of outputs per node, edge or graph.
        structures: What the columns count, by the names that `i2gnn.count` knows.
        conv: Layer, a key of `CONVS` or a subclass of `Conv`.
        norm: "batch" normalises over the nodes after every layer and inside the MLPs of convs.
        residual: Whether each layer adds its input.
        dropout: Probability of a zero after each layer.
        virtual_node: Whether each graph has a virtual node.
        pool: "sum" or "mean", in all readouts.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `Subgraphs` with zero identifiers.
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
        structures: tuple[str, ...] = ("cycle3", "cycle4", "cycle5", "cycle6"),
        conv: str | type[Conv] = "gine",
        norm: Norm = "none",
        residual: bool = False,
        dropout: float = 0.0,
        virtual_node: bool = False,
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__(
            in_channels=in_channels + len(structures),
            node_types=node_types,
            edge_channels=edge_channels + len(structures),
            edge_types=edge_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            conv=conv,
            norm=norm,
            residual=residual,
            dropout=dropout,
            virtual_node=virtual_node,
            pool=pool,
            level=level,
        )
        self.structures = tuple(structures)

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> Subgraphs:
        """The graphs with counts among their features."""
        graphs = with_structures(GraphStore.from_any(graphs), self.structures)
        return super().extract(graphs, cache_dir=cache_dir, progress=progress)
