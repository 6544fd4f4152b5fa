"""Data sets of pairs of graphs that weak models tie: EXP, SR25, CSL, BREC and the paper's own.

| name  | pairs | graphs                                                          | tied by      |
|-------|-------|-----------------------------------------------------------------|--------------|
| paper | 11    | cycles, wheels, rook's and Shrikhande graph (`pairs`)           | see `pairs`  |
| exp   | 600   | two types of nodes, made from formulas (Abboud et al. 2021)     | 1-WL         |
| csl   | 45    | circulant skip links, 41 nodes (Murphy et al. 2019)             | 1-WL         |
| sr25  | 105   | all pairs of the 15 strongly regular graphs (25, 12, 5, 6)      | 3-WL         |
| brec  | 400   | seven categories (Wang & Zhang 2023)                            | 1-WL         |
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, starmap
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from i2gnn.data.download import DataFile, locate
from i2gnn.errors import InputError
from i2gnn.expressiveness.pairs import (
    circulant,
    join,
    read_brec,
    read_exp,
    read_sr25,
    rook_shrikhande,
    two_cycles,
    two_wheels,
)
from i2gnn.graphs.readers import Problem, read_blocks
from i2gnn.graphs.store import GraphStore

__all__ = ["FILES", "PAIR_SETS", "PairSet", "load_pairs", "read_pairs"]

FILES: Mapping[str, DataFile] = MappingProxyType(
    {
        "exp": DataFile(
            path="exp/exp.npz",
            sha256="0349c607289a6272d6891c58d293a3cc6db7fe8056cacf184f9ea80bd8ddcc30",
            source="EXP of github.com/ralphabb/GNN-RNI as arrays: num_nodes, num_edges, "
            "edge_index, x; graphs 2p and 2p + 1 are pair p",
        ),
        "sr25": DataFile(
            path="sr25/sr251256.g6",
            sha256="f55f86eb48cd61c3315c62341cc3a8c59289c58504edb3ab859d7ef2068b9aa4",
            source="sr251256.g6 of Brendan McKay's page of combinatorial data, "
            "users.cecs.anu.edu.au/~bdm/data/graphs.html (graphs found by E. Spence)",
        ),
        "brec": DataFile(
            path="brec/brec_400_pairs_graph6.json",
            sha256="7bf9079d868463d73375b635ecdf9673c6b00e43c81911ae9c7c991d468513f9",
            source="brec_v3.npy of github.com/GraphPKU/BREC as a JSON list of "
            '{"category": ..., "a": graph6, "b": graph6}, in its order',
        ),
    }
)
"""Files behind the data sets. None has an address where it lies in this very form."""

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
"""Skip lengths R of CSL, whose circulant graphs on 41 nodes are not isomorphic."""

BREC_CATEGORIES = {
    "Basic": "basic",
    "SimpleRegular": "simple regular",
    "StronglyRegular": "strongly regular",
    "Extension": "extension",
    "CFI": "CFI",
    "4VertexCondition": "4-vertex condition",
    "DistanceRegular": "distance regular",
}
"""Categories as the file and as we write them."""


@dataclass(frozen=True, eq=False)
class PairSet:
    """Pairs of graphs that are not isomorphic.

    Attributes:
        name: Of the data set.
        graphs: The graphs, each of which may be in several pairs.
        first: [P], of each pair its first graph.
        second: [P], its second graph.
        category: Of each pair.
        title: What each pair is called.

    Example:
        >>> pairs = load_pairs("paper")
        >>> pairs
        PairSet('paper', pairs=11, graphs=22)
        >>> pairs.title[0], pairs.pair(0)
        ('2 C3 / C6', GraphStore(graphs=2, nodes=12, edges=24))
    """

    name: str
    graphs: GraphStore
    first: Tensor
    second: Tensor
    category: list[str]
    title: list[str]

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"PairSet({self.name!r}, pairs={len(self)}, graphs={len(self.graphs)})"

    def pair(self, p: int) -> GraphStore:
        """Both graphs of pair p."""
        return self.graphs.batch([int(self.first[p]), int(self.second[p])])

    def take(self, pairs: Iterable[int]) -> "PairSet":
        """The given pairs and the graphs that occur in them."""
        chosen = list(pairs)
        both = torch.stack([self.first[chosen], self.second[chosen]])
        used, (first, second) = torch.unique(both, return_inverse=True)
        return PairSet(
            self.name,
            self.graphs.batch(used),
            first,
            second,
            [self.category[p] for p in chosen],
            [self.title[p] for p in chosen],
        )

    @property
    def categories(self) -> list[str]:
        """The categories, in order of first appearance."""
        return list(dict.fromkeys(self.category))


def load_pairs(name: str, root: str | os.PathLike[str] | None = None) -> PairSet:
    """Reads or generates a data set of pairs.

    Args:
        name: "paper", "exp", "csl", "sr25" or "brec".
        root: Folder of data sets; see `i2gnn.data.data_folder`. "paper" and "csl" need none.

    Raises:
        InputError: The name is unknown, or the file is missing or another than expected.

    Example:
        >>> len(load_pairs("csl"))
        45
    """
    if name not in PAIR_SETS:
        raise InputError(f"no pairs {name!r}; expected one of {', '.join(PAIR_SETS)}")
    return PAIR_SETS[name](root)


def read_pairs(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> PairSet:
    """Graphs of two files, of any format that `i2gnn count` reads: the p-th of both are pair p.

    Raises:
        InputError: A graph cannot be read, or one file has more graphs than the other.
    """
    first, second = _read_graphs(a), _read_graphs(b)
    if len(first) != len(second) or not len(first):
        raise InputError(
            f"{a} has {len(first)} graphs and {b} has {len(second)}; expected as many in both"
        )
    count = torch.arange(len(first))
    title = [f"graph {p}" for p in range(len(first))]
    graphs = join(first, second)
    return PairSet("files", graphs, count, count + len(first), ["files"] * len(first), title)


def _read_graphs(file: str | os.PathLike[str]) -> GraphStore:
    def fail(problem: Problem) -> None:
        raise InputError(f"line {problem.line}: {problem.reason}")

    return join(*(block.store for block in read_blocks(Path(file), fail)))


def _paper(_: str | os.PathLike[str] | None) -> PairSet:
    cycles, wheels = range(3, 9), range(3, 7)
    graphs = join(*map(two_cycles, cycles), *map(two_wheels, wheels), rook_shrikhande())
    titles = [f"2 C{n} / C{2 * n}" for n in cycles]
    titles += [f"hub and 2 C{n} / hub and C{2 * n}" for n in wheels]
    category = ["cycles"] * len(cycles) + ["wheels"] * len(wheels) + ["rook / Shrikhande"]
    return _in_turn("paper", graphs, category, [*titles, "rook / Shrikhande"])


def _exp(root: str | os.PathLike[str] | None) -> PairSet:
    graphs = read_exp(locate(FILES["exp"], root))
    count = len(graphs) // 2
    return _in_turn("exp", graphs, ["EXP"] * count, [f"pair {p}" for p in range(count)])


def _sr25(root: str | os.PathLike[str] | None) -> PairSet:
    graphs = read_sr25(locate(FILES["sr25"], root))
    names = [f"graph {g}" for g in range(len(graphs))]
    return _all_pairs("sr25", graphs, names)


def _csl(_: str | os.PathLike[str] | None) -> PairSet:
    graphs = join(*(circulant(41, (1, skip)) for skip in SKIPS))
    return _all_pairs("csl", graphs, [f"R = {skip}" for skip in SKIPS])


def _brec(root: str | os.PathLike[str] | None) -> PairSet:
    graphs, found = read_brec(locate(FILES["brec"], root))
    category = [BREC_CATEGORIES.get(name, name) for name in found]
    return _in_turn("brec", graphs, category, [f"pair {p}" for p in range(len(found))])


def _in_turn(name: str, graphs: GraphStore, category: list[str], title: list[str]) -> PairSet:
    """Graphs 2p and 2p + 1 are pair p."""
    first, second = torch.arange(len(graphs)).view(-1, 2).t()
    return PairSet(name, graphs, first, second, category, title)


def _all_pairs(name: str, graphs: GraphStore, names: list[str]) -> PairSet:
    """Every two graphs are a pair."""
    first, second = torch.combinations(torch.arange(len(graphs))).t()
    title = list(starmap("{} / {}".format, combinations(names, 2)))
    return PairSet(name, graphs, first, second, [name.upper()] * len(title), title)


PAIR_SETS: Mapping[str, Callable[[str | os.PathLike[str] | None], PairSet]] = MappingProxyType(
    {"paper": _paper, "exp": _exp, "csl": _csl, "sr25": _sr25, "brec": _brec}
)
"""What reads or generates each data set."""
