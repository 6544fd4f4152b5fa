"""Plain message passing."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["MPNN"]


class MPNN(IdentifierGNN):
    """Message-passing network (Section 3.1): no identifiers, one state per node.

    Counts no cycles and no paths beyond 2 edges. Time and memory grow with nodes and edges. The
    base models are a choice of conv: GIN, GINE, GatedGNN ("gated"), GraphConv ("graph") and NNConv
    ("nn"); "GIN with virtual node" has `virtual_node=True`. Arguments: see `IdentifierGNN`.
    """

    identifiers = 0
    least_hops = 0
    usual_labels = "none"
