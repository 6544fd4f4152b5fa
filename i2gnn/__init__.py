"""Graph neural networks that can count: I²-GNNs, their siblings, and exact substructure counts."""

from typing import TYPE_CHECKING

from i2gnn.errors import InputError
from i2gnn.lazy import lazy_attributes

if TYPE_CHECKING:
    from i2gnn.counting import count
    from i2gnn.graphs import GraphStore
    from i2gnn.models import I2GNN, I3GNN, MPNN, StreamedModel, SubgraphMPNN
    from i2gnn.subgraphs import BranchedEgoNets, Subgraphs, count_subgraphs, extract_subgraphs
    from i2gnn.training import TrainedModel, fit, predict

__all__ = [
    "I2GNN",
    "I3GNN",
    "MPNN",
    "BranchedEgoNets",
    "GraphStore",
    "InputError",
    "StreamedModel",
    "SubgraphMPNN",
    "Subgraphs",
    "TrainedModel",
    "count",
    "count_subgraphs",
    "extract_subgraphs",
    "fit",
    "predict",
]

__version__ = "0.1.0"

PACKAGES = (
    "benchmark",
    "counting",
    "data",
    "expressiveness",
    "graphs",
    "models",
    "nn",
    "ops",
    "paper",
    "refinement",
    "report",
    "subgraphs",
    "training",
)

# PyTorch takes seconds to import, which `i2gnn --help` can do without.
__getattr__ = lazy_attributes(
    __name__,
    {
        "count": "i2gnn.counting",
        "GraphStore": "i2gnn.graphs",
        "I2GNN": "i2gnn.models",
        "I3GNN": "i2gnn.models",
        "MPNN": "i2gnn.models",
        "StreamedModel": "i2gnn.models",
        "SubgraphMPNN": "i2gnn.models",
        "BranchedEgoNets": "i2gnn.subgraphs",
        "Subgraphs": "i2gnn.subgraphs",
        "count_subgraphs": "i2gnn.subgraphs",
        "extract_subgraphs": "i2gnn.subgraphs",
        "TrainedModel": "i2gnn.training",
        "fit": "i2gnn.training",
        "predict": "i2gnn.training",
    }
    | {package: f"i2gnn.{package}" for package in PACKAGES},
)


def __dir__() -> list[str]:
    """With the names that are not imported yet."""
    return sorted({*globals(), *__all__, *PACKAGES})
