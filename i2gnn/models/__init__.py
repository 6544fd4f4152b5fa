"""Models: I²-GNN, its siblings with fewer identifiers, and their names in configs."""

from i2gnn.models.i2gnn import I2GNN
from i2gnn.models.mpnn import MPNN
from i2gnn.models.network import IdentifierGNN
from i2gnn.models.subgraph_mpnn import SubgraphMPNN

__all__ = ["I2GNN", "MODELS", "MPNN", "IdentifierGNN", "SubgraphMPNN"]

MODELS: dict[str, type[IdentifierGNN]] = {
    "i2gnn": I2GNN,
    "subgraph_mpnn": SubgraphMPNN,
    "mpnn": MPNN,
}
"""Models by the name they have in configs and on the command line."""
