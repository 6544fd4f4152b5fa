"""Models: I²-GNN, its siblings with other numbers of identifiers, and the paper's other models."""

from i2gnn.models.base import Network
from i2gnn.models.ds_gnn import DSGNN
from i2gnn.models.gnnak import GNNAKPlain, GNNAKPlus
from i2gnn.models.gsn import GSN
from i2gnn.models.i2gnn import I2GNN
from i2gnn.models.i3gnn import I3GNN
from i2gnn.models.mpnn import MPNN
from i2gnn.models.network import IdentifierGNN
from i2gnn.models.pna import PNA
from i2gnn.models.ppgn import PPGN
from i2gnn.models.registry import REGISTRY, ModelEntry
from i2gnn.models.stream import StreamedModel
from i2gnn.models.subgraph_mpnn import IDGNN, SubgraphMPNN
from i2gnn.models.sun import SUN

__all__ = [
    "DSGNN",
    "GSN",
    "I2GNN",
    "I3GNN",
    "IDGNN",
    "MODELS",
    "MPNN",
    "PNA",
    "PPGN",
    "REGISTRY",
    "SUN",
    "GNNAKPlain",
    "GNNAKPlus",
    "IdentifierGNN",
    "ModelEntry",
    "Network",
    "StreamedModel",
    "SubgraphMPNN",
]

MODELS: dict[str, type[IdentifierGNN]] = {
    name: entry.model
    for name, entry in REGISTRY.items()
    if issubclass(entry.model, IdentifierGNN) and not issubclass(entry.model, DSGNN | GSN)
}
"""The models that are one network with the same arguments; `REGISTRY` has all."""
