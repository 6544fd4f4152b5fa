"""What can be told apart: exact tests, models with random weights, and pairs that show limits."""

from i2gnn.expressiveness.constructions import (
    CONSTRUCTIONS,
    Construction,
    Rows,
    construct,
    derive_construction,
)
from i2gnn.expressiveness.datasets import PairSet, load_pairs
from i2gnn.expressiveness.exact import distinguish_pairs
from i2gnn.expressiveness.separation import separate, strong_options
from i2gnn.expressiveness.subjects import Subject, load_subject
from i2gnn.expressiveness.verdicts import Verdicts
from i2gnn.expressiveness.wl import color, color_subgraphs, distinguish

__all__ = [
    "CONSTRUCTIONS",
    "Construction",
    "PairSet",
    "Rows",
    "Subject",
    "Verdicts",
    "color",
    "color_subgraphs",
    "construct",
    "derive_construction",
    "distinguish",
    "distinguish_pairs",
    "load_pairs",
    "load_subject",
    "separate",
    "strong_options",
]
