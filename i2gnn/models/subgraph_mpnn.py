"""Subgraph GNNs with one identifier."""

from i2gnn.models.network import IdentifierGNN

__all__ = ["IDGNN", "SubgraphMPNN"]


class SubgraphMPNN(IdentifierGNN):
    """Subgraph MPNN (Definition 3.1): each node is the identified root of its own ego-net.

    With the usual options this is the paper's Nested GNN (NGNN, Zhang & Li 2021). Counts 3- and
    4-cycles and paths up to 3 edges at every node, and no longer ones. Time and memory grow as sum
    of |E_i| over the roots i. Arguments: see `IdentifierGNN`.
    """

    identifiers = 1


class IDGNN(SubgraphMPNN):
    """ID-GNN (You et al. 2021): the root is known by its messages, which have their own weight.

        message to k = sum over l in N_i(k) of W_root h[i,l] if l = i, else W h[i,l]

    As the paper runs it: gated layers, all rows alike at the start (`labels="none"`), the ego-net
    pooled at the end. Power, time and memory are those of `SubgraphMPNN`.
    """

    root_messages = True
    usual_labels = "none"
