"""Exact colour refinement: what is alike for every network on the same subgraphs."""

from i2gnn.refinement.rounds import settle
from i2gnn.refinement.rows import RowRefinement

__all__ = ["RowRefinement", "settle"]
