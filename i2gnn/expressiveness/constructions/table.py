"""The constructions by name, and `construct`, which runs them on any graphs."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from i2gnn.counting import CATALOGUE, Pattern
from i2gnn.errors import InputError
from i2gnn.expressiveness.constructions import graphlets, paths_and_cycles, six_cycles
from i2gnn.expressiveness.constructions.construction import Construction
from i2gnn.expressiveness.constructions.vocabulary import Rows

__all__ = ["CONSTRUCTIONS", "construct"]


def _at(name: str, pattern: str, position: int) -> Pattern:
    """A pattern of the catalogue with another of its nodes marked."""
    return Pattern(CATALOGUE[pattern].edges, position, name=name)


_PATTERNS = CATALOGUE | {
    pattern.name: pattern
    for pattern in (
        _at("path2_middle", "path2", 1),
        _at("path3_middle", "path3", 1),
        _at("star3_leaf", "star3", 1),
        _at("tailed_triangle_hub", "tailed_triangle", 1),
        _at("tailed_triangle_base", "tailed_triangle", 2),
        _at("chordal_cycle_chord", "chordal_cycle", 1),
    )
}

_Row = tuple[str, str, int, int, int, int, Callable[[Rows], Tensor]]

_TABLE: tuple[_Row, ...] = (
    # name, theorem, identifiers, hops, rounds, times, function
    ("path2", "Theorem B.1", 0, 0, 2, 1, paths_and_cycles.path2_by_degree),
    ("path2_middle", "ours", 0, 0, 1, 2, graphlets.path2_middle),
    ("star3", "ours", 0, 0, 1, 6, graphlets.star3),
    ("star3_leaf", "ours", 0, 0, 2, 2, graphlets.star3_leaf),
    ("path2", "Theorem 3.1", 1, 2, 2, 1, paths_and_cycles.path2),
    ("path3", "Theorem 3.1", 1, 3, 3, 1, paths_and_cycles.path3),
    ("cycle3", "Theorem 3.1", 1, 1, 2, 2, paths_and_cycles.cycle3),
    ("cycle4", "Theorem 3.1", 1, 2, 3, 2, paths_and_cycles.cycle4),
    ("path3_middle", "ours", 1, 2, 2, 1, graphlets.path3_middle),
    ("tailed_triangle_hub", "ours", 1, 1, 2, 2, graphlets.tailed_triangle_hub),
    ("tailed_triangle_base", "ours", 1, 2, 2, 1, graphlets.tailed_triangle_base),
    ("chordal_cycle_chord", "ours", 1, 1, 2, 2, graphlets.chordal_cycle_chord),
    ("path2", "Lemma E.1", 2, 2, 1, 1, paths_and_cycles.path2_by_branch),
    ("path3", "Lemma E.1", 2, 3, 2, 1, paths_and_cycles.path3_by_branch),
    ("path4", "Theorem 4.2", 2, 4, 3, 1, paths_and_cycles.path4),
    ("cycle3", "Lemma E.1", 2, 1, 1, 2, paths_and_cycles.cycle3_by_branch),
    ("cycle4", "Lemma E.1", 2, 2, 2, 2, paths_and_cycles.cycle4_by_branch),
    ("cycle5", "Theorem 4.1", 2, 2, 3, 2, paths_and_cycles.cycle5),
    ("cycle6", "Theorem 4.1", 2, 3, 3, 2, six_cycles.cycle6),
    ("tailed_triangle", "Theorem 4.3", 2, 2, 2, 2, graphlets.tailed_triangle),
    ("chordal_cycle", "Theorem 4.3", 2, 2, 2, 2, graphlets.chordal_cycle),
    ("clique4", "Theorem 4.3", 2, 1, 2, 6, graphlets.clique4),
    ("triangle_rectangle", "Appendix E.5", 2, 2, 3, 2, graphlets.triangle_rectangle),
)

CONSTRUCTIONS: dict[tuple[str, int], Construction] = {
    (name, identifiers): Construction(
        _PATTERNS[name], theorem, identifiers, hops, rounds, times, function
    )
    for name, theorem, identifiers, hops, rounds, times, function in _TABLE
}
"""All constructions, by name and number of identifiers, the fewest first."""


def construct(graphs: Any, what: str, identifiers: int | None = None) -> Tensor:
    """Counts a substructure at every node the way the paper's proof does.

    The result equals `i2gnn.count(graphs, what)`, which is faster; this one shows that a model with
    so many identifiers, hops and layers can do it. See `Construction.count`.

    Args:
        graphs: A `GraphStore`, or PyG, networkx or SMILES graphs: one or a list.
        what: The name of a construction, such as "cycle6".
        identifiers: Which one, if there are several of that name; the fewest by default.

    Shapes:
        returns: [N] int64.

    Raises:
        InputError: There is no such construction.

    Example:
        >>> construct("c1ccccc1C", "cycle6")
        tensor([1, 1, 1, 1, 1, 1, 0])
    """
    for (name, number), construction in CONSTRUCTIONS.items():
        if name == what and identifiers in (None, number):
            return construction.count(graphs)
    known = ", ".join(f"{name} ({number})" for name, number in CONSTRUCTIONS)
    wanted = f"{what!r}" if identifiers is None else f"{what!r} with {identifiers} identifiers"
    raise InputError(f"no construction of {wanted}; there are (identifiers): {known}")
