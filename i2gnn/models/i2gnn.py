"""The model of the paper."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["I2GNN"]


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
