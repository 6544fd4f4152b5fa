"""Subgraph GNNs with one identifier."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["SubgraphMPNN"]


class SubgraphMPNN(IdentifierGNN):
    """Subgraph MPNN (Definition 3.1): each node is the identified root of its own ego-net.

    Counts 3- and 4-cycles and paths up to 3 edges at every node, and no longer ones. Time and
    memory grow as sum of |E_i| over the roots i. Arguments: see `IdentifierGNN`.
    """

    identifiers = 1
