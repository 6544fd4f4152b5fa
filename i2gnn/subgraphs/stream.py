"""Roots in parts that fit a memory budget.

The subgraphs of different roots and branches are independent until the readouts, so a network can
go through them part by part: extract a part, run, keep what was read of it, drop the rest.
"""

import dataclasses
from typing import NamedTuple

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.memory import format_size
from i2gnn.subgraphs.extract import cut_out, extract_from
from i2gnn.subgraphs.sizes import SubgraphSizes, SubgraphsTooLarge, count_subgraphs
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Cost", "Part", "cut_roots", "extract_part", "plan_parts"]

WINDOW = 2**16
"""Roots counted at a time, at least."""


class Cost(NamedTuple):
    """Bytes that work on subgraphs takes for each of their pairs, links, rows and messages."""

    pair: float
    link: float
    row: float
    message: float


class Part(NamedTuple):
    """The roots start .. stop with all branches, or one root with branches first .. last."""

    start: int
    stop: int
    first: int = 0
    last: int | None = None


def cut_roots(sizes: SubgraphSizes, cost: Cost, budget: int) -> list[Part]:
    """Cuts roots, in order, into the fewest parts that stay below the budget.

    A root that is too large by itself is cut into pieces with some of its branches each; its
    ego-net, which all branches share, is then built once per piece.

    Args:
        sizes: Of successive nodes as roots.
        cost: Of the work on a part.
        budget: Bytes.

    Raises:
        SubgraphsTooLarge: A single branch of some root exceeds the budget.
    """
    pairs, links = sizes.pairs.double(), sizes.links.double()
    egonet = cost.pair * pairs + cost.link * links  # [n]
    branch = cost.row * pairs + cost.message * links  # [n]
    total = (egonet + branch * sizes.branches).cumsum(0)
    parts: list[Part] = []
    start, before = 0, 0.0
    while start < len(total):
        stop = int(torch.searchsorted(total, before + budget, right=True))
        if stop > start:
            parts.append(Part(start, stop))
        else:
            stop = start + 1
            fits = int((budget - float(egonet[start])) // float(branch[start]))
            if fits < 1:
                raise _too_large(sizes, start, float(egonet[start] + branch[start]), budget)
            for first in range(0, int(sizes.branches[start]), fits):
                last = min(first + fits, int(sizes.branches[start]))
                parts.append(Part(start, stop, first, last))
        start, before = stop, float(total[stop - 1])
    shift = int(sizes.roots[0]) if len(sizes.roots) else 0
    return [part._replace(start=part.start + shift, stop=part.stop + shift) for part in parts]


def plan_parts(
    graphs: GraphStore,
    cost: Cost,
    budget: int,
    *,
    hops: int,
    identifiers: int,
    labels: str,
    branches: Tensor | None = None,
) -> list[Part]:
    """Counts the subgraphs of all nodes of the graphs and cuts them into parts.

    Some of the roots are counted at a time, so that little is held per node.
    """
    parts: list[Part] = []
    step = max(WINDOW, -(-graphs.num_nodes // 16))
    for start in range(0, graphs.num_nodes, step):
        sizes = count_subgraphs(
            graphs,
            hops=hops,
            identifiers=identifiers,
            labels=labels,
            roots=torch.arange(start, min(start + step, graphs.num_nodes)),
            branches=branches,
        )
        parts += cut_roots(sizes, cost, budget)
    return parts


def extract_part(
    graphs: GraphStore,
    part: Part,
    *,
    hops: int,
    identifiers: int,
    labels: str,
    branches: Tensor | None = None,
    places: Tensor | None = None,
) -> Subgraphs:
    """The subgraphs of one part of the roots; see `extract_subgraphs`.

    Args:
        graphs: All graphs, on the host.
        part: Which roots and branches.
        hops: Radius K of the ego-nets.
        identifiers: 1 or 2.
        labels: Label kinds.
        branches: Mask of the edges that are branches, [E], of which a piece takes some.
        places: See `i2gnn.subgraphs.neighborhood.induced`.
    """
    seen, roots, edges = cut_out(graphs, torch.arange(part.start, part.stop), hops, places)
    chosen = None if branches is None else branches[edges]
    kept = chosen
    if part.last is not None:
        here = torch.arange(int(seen.edge_ptr[roots[0]]), int(seen.edge_ptr[roots[0] + 1]))
        here = here if chosen is None else here[chosen[here]]
        kept = torch.zeros(seen.num_edges, dtype=torch.bool)
        kept[here[part.first : part.last]] = True
    subgraphs = extract_from(
        seen, hops=hops, identifiers=identifiers, labels=labels, roots=roots, branches=kept
    )
    if part.last is None:
        return subgraphs
    # A branch has its weight among all branches of the root, not among those of the piece.
    weight = None
    if chosen is not None:
        weight = torch.full((seen.num_nodes,), int(seen.degree[roots[0]]) / len(here))
    return dataclasses.replace(subgraphs, branch_weight=weight)


def _too_large(sizes: SubgraphSizes, root: int, needed: float, budget: int) -> SubgraphsTooLarge:
    return SubgraphsTooLarge(
        f"one subgraph of node {int(sizes.roots[root])} has {int(sizes.pairs[root]):,} rows and "
        f"{int(sizes.links[root]):,} messages and needs {format_size(needed)}; the memory budget "
        f"is {format_size(budget)}. Use a larger memory budget, fewer hops, or a narrower model"
    )
