"""Subgraphs: ego-nets of every root with 0, 1 or 2 identifiers, and their labels."""

from i2gnn.subgraphs.extract import SubgraphsTooLarge, extract_subgraphs
from i2gnn.subgraphs.structure import Subgraphs
from i2gnn.subgraphs.transform import BranchedEgoNets, EgoNetData, as_subgraphs

__all__ = [
    "BranchedEgoNets",
    "EgoNetData",
    "Subgraphs",
    "SubgraphsTooLarge",
    "as_subgraphs",
    "extract_subgraphs",
]
