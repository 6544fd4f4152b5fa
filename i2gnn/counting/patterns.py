"""What can be counted: small graphs with a marked position, and their names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from i2gnn.errors import InputError

__all__ = [
    "CATALOGUE",
    "MAX_NODES",
    "PAPER_TARGETS",
    "Pattern",
    "in_words",
    "parse_pattern",
    "resolve",
]

MAX_NODES = 8
"""Nodes of a pattern at most; the search plan and its checks grow with the factorial."""


@dataclass(frozen=True)
class Pattern:
    """A small connected graph with a marked position.

    A *copy* of the pattern is a subgraph of the host isomorphic to it; an induced pattern also
    asks that the host has no further edge between the copy's nodes. Counted are, with two copies
    equal if their edge sets are:

        node level:  copies in which the node stands at the marked position
        edge level:  copies that contain the edge
        graph level: copies

    Attributes:
        edges: The pattern's edges; nodes are numbered from 0 without gaps.
        position: The marked node. Positions that a symmetry exchanges are the same position.
        induced: Whether missing edges must be missing in the host too.
        name: Column name in tables.

    Example:
        >>> bull = Pattern([(0, 1), (1, 2), (2, 0), (0, 3), (1, 4)], position=3, name="bull")
        >>> bull.num_nodes, bull.orbit
        (5, (3, 4))
    """

    edges: Sequence[tuple[int, int]]
    position: int = 0
    induced: bool = False
    name: str = "pattern"

    def __post_init__(self) -> None:
        edges = tuple(sorted((min(e), max(e)) for e in self.edges))
        object.__setattr__(self, "edges", edges)
        nodes = {node for edge in edges for node in edge}
        where = f"pattern {self.name!r}"
        if not edges or nodes != set(range(len(nodes))):
            raise InputError(f"{where}: nodes must be numbered from 0 without gaps, got {edges}")
        if len(nodes) > MAX_NODES:
            raise InputError(f"{where}: {len(nodes)} nodes; at most {MAX_NODES} are supported")
        if len(set(edges)) < len(edges) or any(u == v for u, v in edges):
            raise InputError(f"{where}: self-loop or repeated edge in {edges}")
        if self.position not in nodes:
            raise InputError(f"{where}: position {self.position} is not one of its nodes")
        reached = {0}
        for _ in nodes:
            reached |= {w for e in edges if reached & set(e) for w in e}
        if reached != nodes:
            raise InputError(f"{where}: not connected; count its parts separately")

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the pattern."""
        return 1 + max(v for _, v in self.edges)

    def adjacent(self, u: int, v: int) -> bool:
        """Whether the pattern has the edge (u, v)."""
        return (min(u, v), max(u, v)) in self.edges

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """All relabellings of the nodes that leave the edges as they are."""
        edges = set(self.edges)
        return [
            p
            for p in permutations(range(self.num_nodes))
            if all((min(p[u], p[v]), max(p[u], p[v])) in edges for u, v in edges)
        ]

    @cached_property
    def orbit(self) -> tuple[int, ...]:
        """The nodes that a symmetry moves the marked position to, itself included."""
        return tuple(sorted({p[self.position] for p in self.automorphisms}))

    def multiplicity(self, level: str) -> int:
        """How often one copy is counted when the values of all nodes, edges or graphs are added."""
        return {"node": len(self.orbit), "edge": len(self.edges), "graph": 1}[level]


def _cycle(length: int) -> Pattern:
    edges = [(v, (v + 1) % length) for v in range(length)]
    return Pattern(edges, name=f"cycle{length}")


def _path(length: int) -> Pattern:
    return Pattern([(v, v + 1) for v in range(length)], name=f"path{length}")


def _star(leaves: int) -> Pattern:
    return Pattern([(0, v + 1) for v in range(leaves)], name=f"star{leaves}")


def _clique(size: int) -> Pattern:
    edges = [(u, v) for v in range(size) for u in range(v)]
    return Pattern(edges, name=f"clique{size}")


_TAILED_TRIANGLE = ((0, 1), (1, 2), (1, 3), (2, 3))  # 0 is the leaf, 1 carries it
_CHORDAL_CYCLE = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))  # 0 and 3 are the corners of degree 2
_TRIANGLE_RECTANGLE = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4))  # 0 is the apex

# The 15 orbits of the connected graphs with two to four nodes, numbered as ORCA does.
_ORBITS: tuple[tuple[Sequence[tuple[int, int]], int], ...] = (
    (_path(1).edges, 0),
    (_path(2).edges, 0),
    (_path(2).edges, 1),
    (_cycle(3).edges, 0),
    (_path(3).edges, 0),
    (_path(3).edges, 1),
    (_star(3).edges, 1),
    (_star(3).edges, 0),
    (_cycle(4).edges, 0),
    (_TAILED_TRIANGLE, 0),
    (_TAILED_TRIANGLE, 2),
    (_TAILED_TRIANGLE, 1),
    (_CHORDAL_CYCLE, 0),
    (_CHORDAL_CYCLE, 1),
    (_clique(4).edges, 0),
)

CATALOGUE: dict[str, Pattern] = {
    pattern.name: pattern
    for pattern in (
        *(_cycle(length) for length in range(3, 9)),
        *(_path(length) for length in range(2, 7)),
        *(_star(leaves) for leaves in range(3, 6)),
        *(_clique(size) for size in (4, 5)),
        Pattern(_TAILED_TRIANGLE, 0, name="tailed_triangle"),
        Pattern(_CHORDAL_CYCLE, 0, name="chordal_cycle"),
        Pattern(_TRIANGLE_RECTANGLE, 0, name="triangle_rectangle"),
        *(
            Pattern(edges, position, induced=True, name=f"orbit{number}")
            for number, (edges, position) in enumerate(_ORBITS)
        ),
    )
}
"""Every named substructure, at the position of the paper's figure of graphlets."""

PAPER_TARGETS = (
    "cycle3",
    "cycle4",
    "cycle5",
    "cycle6",
    "tailed_triangle",
    "chordal_cycle",
    "clique4",
    "path4",
    "triangle_rectangle",
)
"""The nine node-level targets of the paper's experiments."""


def in_words(name: str) -> str:
    """The name of a substructure as people write it; more of them with an s.

    Example:
        >>> in_words("cycle5"), in_words("tailed_triangle"), in_words("triangle_rectangle")
        ('5-cycle', 'tailed triangle', 'triangle-rectangle')
    """
    sized = re.fullmatch(r"(cycle|path|clique|star)(\d+)", name)
    if sized:
        return f"{sized[2]}-{sized[1]}"
    return "triangle-rectangle" if name == "triangle_rectangle" else name.replace("_", " ")


def resolve(what: str | Pattern | Iterable[str | Pattern]) -> list[Pattern]:
    """Turns names, ranges and patterns into patterns, in the given order.

    Example:
        >>> [p.name for p in resolve("cycle3..cycle5,path4")]
        ['cycle3', 'cycle4', 'cycle5', 'path4']
    """
    if isinstance(what, Pattern):
        what = [what]
    elif isinstance(what, str):
        what = what.split(",")
    patterns: list[Pattern] = []
    for item in what:
        patterns += [item] if isinstance(item, Pattern) else _named(item.strip())
    names = [pattern.name for pattern in patterns]
    repeated = {name for name in names if names.count(name) > 1}
    if not names or repeated:
        problem = f"{sorted(repeated)} given twice" if repeated else "nothing to count"
        raise InputError(f"{problem}; give each substructure once, by a name of its own")
    return patterns


def _named(text: str) -> list[Pattern]:
    first, dots, last = text.partition("..")
    ends = [re.fullmatch(r"([a-z_]+)(\d+)", end) for end in (first, last)]
    names = [text]
    if dots and ends[0] and ends[1] and ends[0][1] == ends[1][1]:
        names = [f"{ends[0][1]}{n}" for n in range(int(ends[0][2]), int(ends[1][2]) + 1)] or names
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise InputError(
            f"unknown substructure {unknown[0]!r}; known are cycle3..cycle8, path2..path6, "
            "star3..star5, clique4, clique5, tailed_triangle, chordal_cycle, "
            "triangle_rectangle and orbit0..orbit14"
        )
    return [CATALOGUE[name] for name in names]


def parse_pattern(text: str, induced: bool = False) -> Pattern:
    """Reads a pattern written as NAME=EDGES@NODE, its edges separated by commas.

    Example:
        >>> parse_pattern("bowtie=0-1,1-2,2-0,2-3,3-4,4-2@2").orbit
        (2,)
    """
    match = re.fullmatch(r"([A-Za-z_]\w*)=(\d+-\d+(?:,\d+-\d+)*)(?:@(\d+))?", text.strip())
    if match is None:
        raise InputError(f"pattern {text!r}; expected for example bull=0-1,1-2,2-0,0-3,1-4@3")
    name, edges, position = match.groups()
    if name in CATALOGUE:
        raise InputError(f"pattern {text!r}: {name} is the name of a known substructure")
    ends = [tuple(int(end) for end in edge.split("-")) for edge in edges.split(",")]
    pairs = [(u, v) for u, v in ends]
    return Pattern(pairs, int(position or 0), induced=induced, name=name)
