"""Exact counts of cycles, paths, graphlets and any small pattern, per node, edge or graph."""

from i2gnn.counting.api import Counts, count
from i2gnn.counting.features import with_structures
from i2gnn.counting.files import FileSummary, count_file
from i2gnn.counting.patterns import (
    CATALOGUE,
    PAPER_TARGETS,
    Pattern,
    in_words,
    parse_pattern,
    resolve,
)

__all__ = [
    "CATALOGUE",
    "PAPER_TARGETS",
    "Counts",
    "FileSummary",
    "Pattern",
    "count",
    "count_file",
    "in_words",
    "parse_pattern",
    "resolve",
    "with_structures",
]
