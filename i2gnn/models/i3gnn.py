"""Beyond the paper: one more identifier."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["I3GNN"]


class I3GNN(IdentifierGNN):
    """I³-GNN: a path (i, j, j') carries identifiers, for every path of two steps from the root.

    The layers are those of I²-GNN on rows h[i,(j,j'),k]; the readout pools over k, then over j',
    then over j, each with its MLP (`PathReadout`). Separates pairs of graphs that no network with
    two identifiers does. Time and memory grow as sum of |E_i| over the roots i and their paths,
    about d - 1 times those of I²-GNN. Serves no table of the paper. Arguments: see
    `IdentifierGNN`; `hops` is at least 2, and the labels are discrete.

    Example:
        >>> from i2gnn.graphs import GraphStore
        >>> square = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3), (3, 0)]], symmetrize=True)
        >>> model = I3GNN(hops=2, num_layers=3, hidden_channels=16)
        >>> model(model.extract(square)).shape
        torch.Size([4, 1])
    """

    identifiers = 3
    least_hops = 2
