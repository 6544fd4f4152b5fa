"""The definition of every count, in code that is obvious rather than fast.

Tests hold everything else in this folder to it. At run time it counts in patterns alone, which have
a few nodes.
"""

from collections.abc import Iterator, Sequence

from i2gnn.counting.patterns import Pattern

__all__ = ["count_by_definition", "find_copies", "tally"]

Edges = Sequence[tuple[int, int]]
Copies = dict[frozenset[frozenset[int]], set[int]]
"""The edge set of each copy, and the nodes that stand at the marked position of it."""


def count_by_definition(num_nodes: int, edges: Edges, pattern: Pattern, level: str) -> list[int]:
    """Counts the copies of a pattern in one graph with nodes 0 .. num_nodes - 1.

    Returns one number per node, per edge (in the given order) or per graph (a list of one).

    Example:
        >>> from i2gnn.counting.patterns import CATALOGUE
        >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
        >>> count_by_definition(5, square, CATALOGUE["path2"], "node")
        [2, 2, 2, 2, 0]
        >>> count_by_definition(5, square, CATALOGUE["path2"], "graph")
        [4]
    """
    return tally(find_copies(num_nodes, edges, pattern), num_nodes, edges, level)


def find_copies(num_nodes: int, edges: Edges, pattern: Pattern) -> Copies:
    """All copies of a pattern, by trying every embedding."""
    copies: Copies = {}
    for nodes in _embeddings(num_nodes, {frozenset(e) for e in edges}, pattern):
        copy = frozenset(frozenset((nodes[u], nodes[v])) for u, v in pattern.edges)
        copies.setdefault(copy, set()).add(nodes[pattern.position])
    return copies


def tally(copies: Copies, num_nodes: int, edges: Edges, level: str) -> list[int]:
    """What the copies amount to at a level."""
    if level == "graph":
        return [len(copies)]
    if level == "edge":
        return [sum(frozenset(edge) in copy for copy in copies) for edge in edges]
    return [sum(node in marked for marked in copies.values()) for node in range(num_nodes)]


def _embeddings(
    num_nodes: int, edges: set[frozenset[int]], pattern: Pattern, chosen: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """All ways to give the pattern's nodes distinct nodes of the graph that respect its edges."""
    new = len(chosen)
    if new == pattern.num_nodes:
        yield chosen
        return
    for node in set(range(num_nodes)) - set(chosen):
        fits = True
        for old in range(new):
            wanted, present = pattern.adjacent(old, new), frozenset((chosen[old], node)) in edges
            fits &= present if wanted else not (pattern.induced and present)
        if fits:
            yield from _embeddings(num_nodes, edges, pattern, (*chosen, node))
