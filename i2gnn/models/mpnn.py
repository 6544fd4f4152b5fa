"""Plain message passing."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["MPNN"]


class MPNN(IdentifierGNN):
    """Message-passing network (Section 3.1): no identifiers, one state per node.

    Counts no cycles and no paths beyond 2 edges. Time and memory grow with nodes and edges.
    Arguments: see `IdentifierGNN`.
    """

    identifiers = 0
