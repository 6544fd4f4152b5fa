"""A construction for any pattern, from homomorphisms, or the reason why there is none of the kind.

A homomorphism maps a pattern F into a graph so that edges stay edges; where it keeps nodes apart,
its image is a copy of F. Nodes of F that are not adjacent can be identified, and F becomes a
quotient Q. By inclusion and exclusion over all ways to do so, the partitions of the nodes,

    injective(F) = sum over partitions of mu * hom(Q)
    mu           = product of (-1)^(b-1) (b-1)! over the sizes b of the blocks

and injective(F) is the number of copies times that of the symmetries of F. Message passing sums
up homomorphisms of trees from the leaves to the top, and an identifier holds one node in place.
So hom(Q) can be had if Q becomes a forest

    without identifiers   as it is
    with one              without a node u, which is mapped to the root
    with two              without adjacent nodes u and v, mapped to the root and the branch

where u is the marked position if counts are at nodes, and any node if they are of whole graphs.
Two identifiers reach a little further than that, since sums over the branches of a root can be
multiplied; to keep those sums additive, which lets roots be cut into parts, that is left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import add, mul

import networkx
from torch import Tensor

from i2gnn.counting import Pattern
from i2gnn.errors import InputError
from i2gnn.expressiveness.constructions.construction import Construction
from i2gnn.expressiveness.constructions.vocabulary import Rows
from i2gnn.refinement.rounds import NodeOrGraph

__all__ = ["derive_construction"]


def derive_construction(
    pattern: Pattern, identifiers: int, level: NodeOrGraph = "node"
) -> Construction:
    """A construction of a pattern with so many identifiers.

    Args:
        pattern: Not induced; at the level "node" its position is that of the counted node.
        identifiers: 0, 1 or 2.
        level: Whether to count at nodes or in graphs.

    Raises:
        InputError: Some quotient is no forest without the nodes that may be held; it is named.

    Example:
        >>> from i2gnn.counting import CATALOGUE
        >>> derive_construction(CATALOGUE["cycle7"], identifiers=1, level="graph").hops
        3
        >>> derive_construction(CATALOGUE["cycle7"], identifiers=2)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        i2gnn.errors.InputError: cycle7 at nodes: 2 identifiers leave a cycle in its quotient ...
    """
    if pattern.induced:
        raise InputError(f"{pattern.name} is induced; expected a pattern that is not")
    if identifiers not in (0, 1, 2):
        raise InputError(f"identifiers must be 0, 1 or 2, got {identifiers!r}")
    terms = [_take_apart(pattern, quotient, identifiers) for quotient in _quotients(pattern, level)]
    fixed = None if level == "graph" else pattern.position
    symmetries = [p for p in pattern.automorphisms if fixed is None or p[fixed] == fixed]
    return Construction(
        pattern,
        "derived",
        identifiers,
        hops=max(term.hops for term in terms),
        rounds=max(term.rounds for term in terms),
        times=len(symmetries),
        function=partial(_add_up, terms),
        level=level,
    )


def _add_up(terms: list["_Term"], rows: Rows) -> Tensor:
    return reduce(add, (term.quotient.weight * term.homomorphisms(rows) for term in terms))


# -- quotients ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Quotient:
    """A graph that a pattern becomes when nodes are identified.

    Attributes:
        graph: Q.
        position: Where the marked position of the pattern went; None if that does not matter.
        weight: The sum of mu over all partitions that give it.
    """

    graph: networkx.Graph
    position: int | None
    weight: int


@cache
def _quotients(pattern: Pattern, level: NodeOrGraph) -> tuple[_Quotient, ...]:
    """All that have a weight, one of each kind."""
    found: dict[tuple[int, ...], list[_Quotient]] = {}  # by degrees, so that few are compared
    for blocks in _partitions(pattern):
        sizes = [blocks.count(block) for block in set(blocks)]
        weight = math.prod((-1) ** (b - 1) * math.factorial(b - 1) for b in sizes)
        graph = networkx.Graph((blocks[u], blocks[v]) for u, v in pattern.edges)
        position = blocks[pattern.position] if level == "node" else None
        alike = found.setdefault(tuple(sorted(d for _, d in graph.degree)), [])
        for number, other in enumerate(alike):
            if _same_kind(graph, position, other):
                alike[number] = _Quotient(other.graph, other.position, other.weight + weight)
                break
        else:
            alike.append(_Quotient(graph, position, weight))
    return tuple(quotient for alike in found.values() for quotient in alike if quotient.weight)


def _same_kind(graph: networkx.Graph, position: int | None, other: _Quotient) -> bool:
    maps = networkx.isomorphism.GraphMatcher(graph, other.graph).isomorphisms_iter()
    return any(position is None or to[position] == other.position for to in maps)


def _partitions(pattern: Pattern, blocks: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The block of each node, in all ways that keep adjacent nodes apart."""
    node = len(blocks)
    if node == pattern.num_nodes:
        yield blocks
        return
    for block in range(max(blocks, default=-1) + 2):
        if not any(b == block and pattern.adjacent(n, node) for n, b in enumerate(blocks)):
            yield from _partitions(pattern, (*blocks, block))


# -- homomorphisms of a quotient ---------------------------------------------------------------


@dataclass(frozen=True)
class _Term:
    """A quotient that is a forest without the nodes that identifiers hold.

    Attributes:
        quotient: Q.
        held: Nodes of Q that are mapped to the root and the branch.
        tops: A node of each tree of the rest, up to which the tree is summed.
    """

    quotient: _Quotient
    held: tuple[int, ...]
    tops: tuple[int, ...]

    @property
    def hops(self) -> int:
        """How far from the root an image can reach; 0 where there are no ego-nets."""
        if not self.held:
            return 0
        return int(networkx.eccentricity(self.quotient.graph, self.held[0]))

    @property
    def rounds(self) -> int:
        """Rounds of messages: along the trees, and to tell who is next to a held node."""
        return max((self._rounds(top, None) for top in self.tops), default=0)

    def homomorphisms(self, rows: Rows) -> Tensor:
        """Number of homomorphisms of Q with its first held node at i, or else its top, [N]."""
        factors = [rows.over_nodes(self._sum_up(rows, top, None)) for top in self.tops]
        if self.held:
            # An isolated root has no branch that a node could be mapped to.
            factors.append(rows.over_nodes(rows.branch if len(self.held) == 2 else rows.root))
        return rows.over_branches(reduce(mul, factors))

    def _sum_up(self, rows: Rows, node: int, parent: int | None) -> Tensor:
        """Homomorphisms of what hangs below a node of a tree, with the node at k, [R]."""
        h = rows.ones
        for number, held in enumerate(self.held):
            if self.quotient.graph.has_edge(node, held):
                h = h * (rows.near_branch if number else rows.near_root)
        for child in self._children(node, parent):
            h = h * rows.neighbors(self._sum_up(rows, child, node))
        return h

    def _rounds(self, node: int, parent: int | None) -> int:
        near = any(self.quotient.graph.has_edge(node, held) for held in self.held)
        return max(
            [int(near), *(1 + self._rounds(child, node) for child in self._children(node, parent))]
        )

    def _children(self, node: int, parent: int | None) -> list[int]:
        return [n for n in self.quotient.graph[node] if n != parent and n not in self.held]


def _take_apart(pattern: Pattern, quotient: _Quotient, identifiers: int) -> _Term:
    """The way to hold nodes that needs the fewest hops and rounds."""
    graph, position = quotient.graph, quotient.position
    ways = []
    for u in sorted(graph) if position is None else [position]:
        for v in sorted(graph[u]) if identifiers == 2 else [u]:
            held = (u, v)[:identifiers]
            rest = graph.subgraph(set(graph) - set(held))
            if not len(rest) or networkx.is_forest(rest):
                trees = map(rest.subgraph, networkx.connected_components(rest))
                tops = [networkx.center(tree)[0] for tree in trees] if held else [u]
                ways.append(_Term(quotient, held, tuple(tops)))
    if not ways:
        where = "in graphs" if position is None else "at nodes"
        at = "" if position is None else f" at {position}"
        raise InputError(
            f"{pattern.name} {where}: {identifiers} identifiers leave a cycle in its quotient "
            f"{sorted(tuple(sorted(edge)) for edge in graph.edges)}{at}"
        )
    return min(ways, key=lambda term: (term.hops, term.rounds))
