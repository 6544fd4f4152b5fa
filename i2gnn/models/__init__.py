"""Models: I²-GNN, its siblings with other numbers of identifiers, and the paper's other models."""

from i2gnn.models.base import Network
from i2gnn.models.gnnak import GNNAKPlain, GNNAKPlus
from i2gnn.models.i2gnn import I2GNN
from i2gnn.models.i3gnn import I3GNN
from i2gnn.models.mpnn import MPNN
from i2gnn.models.network import IdentifierGNN
from i2gnn.models.ppgn import PPGN
from i2gnn.models.registry import REGISTRY, ModelEntry
from i2gnn.models.subgraph_mpnn import SubgraphMPNN

__all__ = [
    "I2GNN",
    "I3GNN",
    "MODELS",
    "MPNN",
    "PPGN",
    "REGISTRY",
    "GNNAKPlain",
    "GNNAKPlus",
    "IdentifierGNN",
    "ModelEntry",
    "Network",
    "SubgraphMPNN",
]

MODELS: dict[str, type[IdentifierGNN]] = {
    name: entry.model for name, entry in REGISTRY.items() if issubclass(entry.model, IdentifierGNN)
}
"""The models that are one network with another number of identifiers; all are in `REGISTRY`."""
