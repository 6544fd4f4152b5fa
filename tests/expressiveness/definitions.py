"""Colour refinement by the book: colours are nested tuples, which no naming can confuse."""

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from torch import Tensor

from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import Subgraphs


def multiset(values: Iterable[Any]) -> frozenset:
    return frozenset(Counter(values).items())


def same_partition(colors: np.ndarray, expected: list) -> bool:
    """Whether two lists of colours differ in their names alone."""
    both = set(zip(colors.tolist(), expected, strict=True))
    return len(both) == len(set(expected)) == len(set(colors.tolist()))


def pool(values: list, group: list) -> dict:
    """The multiset of values of each group."""
    members: dict = {}
    for value, of in zip(values, group, strict=True):
        members.setdefault(of, []).append(value)
    return {of: multiset(found) for of, found in members.items()}


def color_rows(subgraphs: Subgraphs, rounds: int, node_states: bool) -> list:
    """Identifier-WL: colours of the nodes."""
    node, branch = subgraphs.row_to_node.tolist(), subgraphs.row_to_branch.tolist()
    sent_from, sent_to, link = (index.tolist() for index in subgraphs.message_rows)
    label, x = (_features(v, len(node)) for v in (subgraphs.labels, subgraphs.x))
    attr = _features(subgraphs.edge_attr, subgraphs.num_edges)
    edge = subgraphs.link_to_edge.tolist()
    colors: list = [(label[r], x[k]) for r, k in enumerate(node)]
    for _ in range(rounds):
        heard: list = [[] for _ in node]
        for s, t, q in zip(sent_from, sent_to, link, strict=True):
            heard[t].append((attr[edge[q]], colors[s]))
        colors = [(own, multiset(h)) for own, h in zip(colors, heard, strict=True)]
        if node_states:
            states = _read_nodes(colors, branch, subgraphs)
            colors = [(own, states[k]) for own, k in zip(colors, node, strict=True)]
    return _read_nodes(colors, branch, subgraphs)


def color_tuples(graph: GraphStore, k: int, folklore: bool, rounds: int) -> Any:
    """k-WL or k-FWL without features: the colour of one graph."""
    edges, nodes = set(zip(*graph.edge_index.tolist(), strict=True)), range(graph.num_nodes)
    colors: dict = {
        v: tuple((a == b, (a, b) in edges) for a, b in product(v, repeat=2))
        for v in product(nodes, repeat=k)
    }
    for _ in range(rounds):
        refined = {}
        for v, own in colors.items():
            heard = [[colors[(*v[:m], w, *v[m + 1 :])] for w in nodes] for m in range(k)]
            if folklore:
                refined[v] = own, multiset(zip(*heard, strict=True))
            else:
                refined[v] = own, tuple(multiset(one) for one in heard)
        colors = refined
    return multiset(colors.values())


def _read_nodes(colors: list, branch: list, subgraphs: Subgraphs) -> list:
    read = pool(colors, branch)
    branches = [read[b] for b in range(subgraphs.num_branches)]
    root = subgraphs.branch_to_root.tolist()
    if subgraphs.identifiers == 3:  # first the paths that start with the same step
        steps = pool(branches, subgraphs.branch_to_pair.tolist())
        pair_to_root = subgraphs.pair_to_root.tolist()
        branches, root = list(steps.values()), [pair_to_root[pair] for pair in steps]
    nodes = pool(branches, root)
    return [nodes[i] for i in range(subgraphs.num_nodes)]


def _features(values: Tensor | None, length: int) -> list:
    return [()] * length if values is None else [tuple(row) for row in values.tolist()]
