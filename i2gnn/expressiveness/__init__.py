"""What can be told apart: tests of Weisfeiler and Leman, and the pairs that show their limits."""

from i2gnn.expressiveness.constructions import CONSTRUCTIONS, Construction, Rows, construct
from i2gnn.expressiveness.wl import color, color_subgraphs, distinguish

__all__ = [
    "CONSTRUCTIONS",
    "Construction",
    "Rows",
    "color",
    "color_subgraphs",
    "construct",
    "distinguish",
]
