"""The model of the paper."""

from typing import Any

from i2gnn.models.network import IdentifierGNN

__all__ = ["I2GNN", "ZINC_OPTIONS"]


class I2GNN(IdentifierGNN):
    """I²-GNN (Section 4): the root and, in turn, each of its neighbours carry an identifier.

    Counts 3- to 6-cycles, paths up to 4 edges and all connected graphlets of size 4 at every node.
    Time and memory grow as sum of deg(i) |E_i| over the roots i. Arguments: see `IdentifierGNN`.

    Example:
        >>> from i2gnn.graphs import GraphStore
        >>> square = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3), (3, 0)]], symmetrize=True)
        >>> model = I2GNN(hops=2, num_layers=3, hidden_channels=16)
        >>> model(model.extract(square)).shape
        torch.Size([4, 1])
    """

    identifiers = 2


ZINC_OPTIONS: dict[str, Any] = {
    "node_types": (28,),
    "edge_types": (4,),
    "node_encoding": "concat",
    "hidden_channels": 64,
    "num_layers": 5,
    "conv": "gine",
    "expansion": 2,
    "hops": 3,
    "labels": "spd+resistance",
    "label_injection": "concat",
    "norm": "batch",
    "residual": True,
    "node_states": True,
    "readout": "nodes+center+side+context",
    "gates": True,
    "readout_mlp": False,
    "pool": "mean",
    "level": "graph",
}
"""The paper's model for ZINC: `I2GNN(**ZINC_OPTIONS)`; the published code has 6 layers."""
