"""Subgraphs: ego-nets of every root with 0 to 3 identifiers, and their labels."""

from i2gnn.subgraphs.extract import extract_subgraphs
from i2gnn.subgraphs.sizes import SubgraphSizes, SubgraphsTooLarge, count_subgraphs
from i2gnn.subgraphs.structure import Subgraphs
from i2gnn.subgraphs.transform import BranchedEgoNets, EgoNetData, as_subgraphs

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
