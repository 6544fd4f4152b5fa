"""Pairs of graphs that are hard to tell apart: those of the paper, and of benchmark files.

A pair is a store of two graphs; many pairs are a store in which graphs 2p and 2p + 1 are pair p.
"""

import dataclasses
import json
import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.graphs.edge_files import read_arrays
from i2gnn.graphs.flat import index_dtype
from i2gnn.graphs.store import GraphStore

__all__ = [
    "cfi",
    "circulant",
    "cones",
    "double_wheels",
    "join",
    "read_brec",
    "read_exp",
    "read_sr25",
    "rook_shrikhande",
    "two_cycles",
    "two_wheels",
]

Edges = list[tuple[int, int]]


def join(*stores: GraphStore) -> GraphStore:
    """The graphs of all stores in one, with their features and without targets.

    Example:
        >>> join(two_cycles(3), rook_shrikhande())
        GraphStore(graphs=4, nodes=44, edges=216)
    """
    sizes = [store.num_nodes for store in stores]
    shifts = [sum(sizes[:n]) for n in range(len(sizes))]
    neighbors = [s.neighbor.long() + shift for s, shift in zip(stores, shifts, strict=True)]
    return GraphStore(
        sizes={axis: torch.cat([s.sizes[axis] for s in stores]) for axis in GraphStore.AXES},
        degree=torch.cat([store.degree for store in stores]),
        neighbor=torch.cat(neighbors).to(index_dtype(sum(sizes))),
        x=_join_features([store.x for store in stores], "node"),
        edge_attr=_join_features([store.edge_attr for store in stores], "edge"),
    )


def circulant(nodes: int, steps: Iterable[int]) -> GraphStore:
    """The graph of n nodes on a circle in which u and u + s are adjacent for every step s.

    Example:
        >>> circulant(41, (1, 9)).degree.unique()
        tensor([4], dtype=torch.int32)
    """
    edges = [(u, (u + step) % nodes) for step in steps for u in range(nodes)]
    return GraphStore.from_edge_lists([edges], [nodes], symmetrize=True)


def two_cycles(length: int) -> GraphStore:
    """C_L + C_L and C_2L, which 1-WL ties (remark in Section 3.1); L >= 3."""
    return _pair(_cycle(length) + _cycle(length, first=length), _cycle(2 * length), length)


def two_wheels(length: int) -> GraphStore:
    """C_L + C_L and C_2L, each with a hub, node 2L, that is adjacent to all (Theorem 3.2); L >= 3.

    No model with one identifier tells the hubs apart, although only that of the second lies on
    (L + 2)-cycles that go round the rim. The nodes of the rims it does tell apart.
    """
    return cones(two_cycles(length))


def double_wheels(length: int) -> GraphStore:
    """Two wheels with a second hub each, and a root, node 2L + 2, adjacent to both hubs; L >= 3.

    No model with two identifiers tells the roots apart: whichever hub is the branch, the other is
    the other, and the rims stay without beginning. But only the root of the second graph begins
    (L + 2)-paths along the rim, which the other hub closes to (L + 4)-cycles. So I²-GNN counts
    neither 7-cycles nor 5-paths at nodes, nor any longer ones.
    """
    hubs, root = (2 * length, 2 * length + 1), 2 * length + 2
    spokes = [(node, hub) for hub in hubs for node in (*range(2 * length), root)]
    small = _cycle(length) + _cycle(length, first=length) + spokes
    return _pair(small, _cycle(2 * length) + spokes, length)


def cones(graphs: GraphStore) -> GraphStore:
    """Every graph with one more node, its last, that is adjacent to all.

    If some identifiers tie two graphs, one more ties their apexes: held there, it tells nothing.

    Example:
        >>> cones(two_cycles(3)).degree[[6, 13]]
        tensor([6, 6], dtype=torch.int32)
    """
    lists = []
    for graph in (graphs.batch([g]) for g in range(len(graphs))):
        apex = [(node, graph.num_nodes) for node in range(graph.num_nodes)]
        lists.append([(a, b) for a, b in graph.edge_index.t().tolist() if a < b] + apex)
    sizes = (graphs.sizes["node"] + 1).tolist()
    return GraphStore.from_edge_lists(lists, sizes, symmetrize=True)


def rook_shrikhande() -> GraphStore:
    """The 4 x 4 rook's graph and the Shrikhande graph, which 2-FWL ties (Propositions 3.1, 4.1).

    Both are strongly regular with parameters (16, 6, 2, 2). Of the 4 x 4 torus, the first joins
    squares in one row or column, the second those that differ by ±(0, 1), ±(1, 0) or ±(1, 1).
    """
    squares = [(row, column) for row in range(4) for column in range(4)]
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    joined: tuple[Edges, Edges] = [], []
    for a, (row, column) in enumerate(squares):
        for b, (other_row, other_column) in enumerate(squares[:a]):
            if row == other_row or column == other_column:
                joined[0].append((a, b))
            if ((row - other_row) % 4, (column - other_column) % 4) in steps:
                joined[1].append((a, b))
    return GraphStore.from_edge_lists(joined, symmetrize=True)


def cfi(edges: Edges) -> GraphStore:
    """The pair of Cai, Fürer and Immerman on a connected base graph F.

    A node v of F becomes the nodes (v, S), S an even subset of its edges; in the second graph the
    subsets at one node are odd. Nodes (u, S) and (v, T) are adjacent if e = (u, v) is an edge of F
    that lies in both S and T or in neither. The first graph has more homomorphisms of F.

    Args:
        edges: Of F, each once; nodes are numbered from 0.

    Example:
        >>> cfi([(0, 1), (1, 2), (2, 0)])  # two triangles, and a 6-cycle
        GraphStore(graphs=2, nodes=12, edges=24)
    """
    return GraphStore.from_edge_lists([_cfi(edges, t) for t in (None, 0)], symmetrize=True)


def read_exp(file: str | os.PathLike[str]) -> GraphStore:
    """The 600 pairs of EXP (Abboud et al. 2021); `x` is the type of each node, 0 or 1.

    Args:
        file: An npz file with `num_nodes`, `num_edges`, `edge_index` and `x`.
    """
    raw = read_arrays(Path(file))
    with np.load(file, allow_pickle=False) as arrays:
        if "x" not in arrays.files:
            raise InputError(f"{file}: no array 'x', the types of the nodes")
        raw = dataclasses.replace(raw, x=arrays["x"].astype(np.int64))
    graphs = GraphStore.from_raw(raw)
    if len(graphs) % 2:
        raise InputError(f"{file}: {len(graphs)} graphs; expected pairs")
    return graphs


def read_sr25(file: str | os.PathLike[str]) -> GraphStore:
    """The 15 strongly regular graphs with parameters (25, 12, 5, 6): any two make a pair.

    Args:
        file: A graph6 file.
    """
    graphs = GraphStore.from_graph6(Path(file).read_bytes())
    if (graphs.sizes["node"] != 25).any() or (graphs.degree != 12).any():
        raise InputError(f"{file}: not the graphs of 25 nodes of degree 12")
    return graphs


def read_brec(file: str | os.PathLike[str]) -> tuple[GraphStore, list[str]]:
    """The 400 pairs of BREC (Wang & Zhang 2023), and the category of each.

    Args:
        file: A JSON list of `{"category": ..., "a": graph6, "b": graph6}`.
    """
    try:
        pairs = json.loads(Path(file).read_text())
        lines = [pair[name] for pair in pairs for name in ("a", "b")]
        categories = [str(pair["category"]) for pair in pairs]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: not a JSON list of pairs of graph6 ({error})") from error
    return GraphStore.from_graph6(lines), categories


def _pair(a: Edges, b: Edges, length: int) -> GraphStore:
    if length < 3:
        raise InputError(f"a cycle has at least 3 nodes, not {length}")
    return GraphStore.from_edge_lists([a, b], symmetrize=True)


def _cycle(length: int, first: int = 0) -> Edges:
    return [(first + node, first + (node + 1) % length) for node in range(length)]


def _cfi(base: Edges, twisted: int | None) -> Edges:
    copies: list[list[tuple[int, frozenset[int]]]] = []  # of each node, with their subsets
    size = 0
    for v in range(1 + max(max(edge) for edge in base)):
        ends = [number for number, edge in enumerate(base) if v in edge]
        sizes = range(int(v == twisted), len(ends) + 1, 2)
        subsets = [frozenset(s) for length in sizes for s in combinations(ends, length)]
        copies.append(list(enumerate(subsets, start=size)))
        size += len(subsets)
    return [
        (a, b)
        for number, (u, v) in enumerate(base)
        for a, s in copies[u]
        for b, t in copies[v]
        if (number in s) == (number in t)
    ]


def _join_features(features: list[Tensor | None], what: str) -> Tensor | None:
    present = [values for values in features if values is not None]
    if 0 < len(present) < len(features):
        raise InputError(f"some of the graphs have {what} features, others have none")
    return torch.cat(present) if present else None
