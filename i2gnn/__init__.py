"""Graph neural networks that can count: I²-GNNs, their siblings, and exact substructure counts."""

from i2gnn.counting import count
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.models import I2GNN, MPNN, StreamedModel, SubgraphMPNN
from i2gnn.subgraphs import BranchedEgoNets, Subgraphs, count_subgraphs, extract_subgraphs
from i2gnn.training import predict

__all__ = [
    "I2GNN",
    "MPNN",
    "BranchedEgoNets",
    "GraphStore",
    "InputError",
    "StreamedModel",
    "SubgraphMPNN",
    "Subgraphs",
    "count",
    "count_subgraphs",
    "extract_subgraphs",
    "predict",
]

__version__ = "0.1.0"
