"""What every test of colour refinement has in common: rounds until nothing changes."""

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.graphs.store import GraphStore
from i2gnn.refinement.naming import name_segments, name_values

__all__ = [
    "Groups",
    "Ints",
    "NodeOrGraph",
    "Refinement",
    "combine",
    "feature_colors",
    "group_by",
    "integers",
    "name_multisets",
    "nodes_of",
    "settle",
]

Ints = npt.NDArray[np.int64]
NodeOrGraph = Literal["node", "graph"]
Groups = tuple[Ints, Ints]
"""Items sorted into groups: group g holds `items[ptr[g] : ptr[g + 1]]` of (ptr, items)."""


class Refinement(Protocol):
    """Colours that are refined in rounds.

    Attributes:
        num_colors: How many there are.
    """

    num_colors: int

    def step(self) -> None:
        """Takes one round; colours that differ never become equal."""

    def is_stable(self) -> bool:
        """Whether a round that found no new colours has shown that there are none."""

    def read(self, level: NodeOrGraph) -> Ints:
        """Colours of the nodes, [N], or of the graphs, [G]."""


def settle(refinement: Refinement, rounds: int | None, level: NodeOrGraph) -> Ints:
    """The colours of nodes or graphs after so many rounds, or until no round changes anything.

    Stops early where all of them differ, as that is final too: a pair is told apart in the round
    in which it first differs.
    """
    if rounds is not None and rounds < 0:
        raise InputError(f"rounds must be 0 or more, or None for all, got {rounds}")
    if level not in ("node", "graph"):
        raise InputError(f"level must be 'node' or 'graph', got {level!r}")
    taken, colors = 0, refinement.read(level)
    while taken != rounds and len(np.unique(colors)) < len(colors):
        before = refinement.num_colors
        refinement.step()
        if refinement.num_colors == before and refinement.is_stable():
            break
        taken, colors = taken + 1, refinement.read(level)
    return colors


def name_multisets(values: Ints, groups: Groups, own: Ints | None = None) -> Ints:
    """Exact colours of groups: names[g] ~ (own[g], multiset of values over the items of g).

    Example:
        >>> groups = np.array([0, 2, 4, 5]), np.arange(5)
        >>> name_multisets(np.array([7, 8, 8, 7, 7]), groups)
        array([0, 0, 1])
    """
    ptr, items = groups
    own = np.zeros(len(ptr) - 1, np.int64) if own is None else own
    names = np.empty(len(own), np.int64)
    name_segments(own, values, ptr, items, names)
    return names


def combine(*colors: Ints) -> tuple[Ints, int]:
    """Colours of tuples (colors[0][n], colors[1][n], ...), and how many there are.

    Example:
        >>> combine(np.array([0, 0, 1, 0]), np.array([5, 5, 5, 0]))
        (array([0, 0, 1, 2]), 3)
    """
    names, *others = colors
    for values in (None, *others):
        # The product of two counts of colours is far below 2^63; of more it need not be.
        both = names if values is None else names * (int(values.max(initial=0)) + 1) + values
        names = np.empty(len(both), np.int64)
        count = name_values(both, names)
    return names, count


def feature_colors(features: Tensor | None, length: int) -> Ints:
    """A colour for each row of features, [length, F] to [length]; one for all without features."""
    if features is None or not length:
        return np.zeros(length, np.int64)
    _, colors = np.unique(features.cpu().numpy(), axis=0, return_inverse=True)
    return colors.reshape(length).astype(np.int64)


def group_by(group: Tensor, count: int) -> Groups:
    """Sorts items, given the group of each, into `count` groups."""
    of_item = integers(group)
    ptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(of_item, minlength=count), out=ptr[1:])
    return ptr, np.argsort(of_item, kind="stable")


def integers(tensor: Tensor) -> Ints:
    """The values as the kernels take them."""
    return tensor.cpu().numpy().astype(np.int64)


def nodes_of(graphs: GraphStore) -> Groups:
    """The nodes of each graph."""
    return integers(graphs.node_ptr), np.arange(graphs.num_nodes)
