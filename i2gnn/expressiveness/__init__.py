"""What can be told apart: tests of Weisfeiler and Leman, and the pairs that show their limits."""

from i2gnn.expressiveness.wl import color, color_subgraphs, distinguish

__all__ = ["color", "color_subgraphs", "distinguish"]
