"""Subgraphs: ego-nets of every root with 0 to 3 identifiers, and their labels."""

from typing import TYPE_CHECKING

from i2gnn.lazy import lazy_attributes
from i2gnn.subgraphs.collated import as_subgraphs
from i2gnn.subgraphs.extract import extract_subgraphs
from i2gnn.subgraphs.sizes import SubgraphSizes, SubgraphsTooLarge, count_subgraphs
from i2gnn.subgraphs.structure import Subgraphs

if TYPE_CHECKING:
    from i2gnn.subgraphs.transform import BranchedEgoNets, EgoNetData

__all__ = [
    "BranchedEgoNets",
    "EgoNetData",
    "SubgraphSizes",
    "Subgraphs",
    "SubgraphsTooLarge",
    "as_subgraphs",
    "count_subgraphs",
    "extract_subgraphs",
]

# They import PyG, which takes longer than everything else together.
__getattr__ = lazy_attributes(
    __name__,
    dict.fromkeys(("BranchedEgoNets", "EgoNetData"), "i2gnn.subgraphs.transform"),
)
