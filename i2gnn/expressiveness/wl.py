"""Tests of Weisfeiler and Leman as exact colour refinement: what a model can tell apart at best.

| test          | colours live on             | bounds                                         |
|---------------|-----------------------------|------------------------------------------------|
| 1-wl          | nodes                       | MPNN, PNA                                      |
| identifier-wl | rows (i, j, k) of subgraphs | models with that many identifiers              |
| 2-wl, 3-wl    | pairs, triples of nodes     | 2-wl is as strong as 1-wl                      |
| 2-fwl, 3-fwl  | pairs, triples of nodes     | PPGN is as strong as 2-fwl, and 2-fwl as 3-wl  |

A model whose sums were injective on multisets would tie exactly the graphs that its test ties; a
real one ties at least these. Verdicts never rest on hashes: colours are numbers of full signatures
(`i2gnn.refinement`), or of fingerprints whose ties are confirmed entry by entry (`folklore`).
"""

from typing import Literal, get_args

from i2gnn.errors import InputError
from i2gnn.expressiveness.pairs import join
from i2gnn.expressiveness.tuples import TupleRefinement
from i2gnn.graphs.store import GraphStore
from i2gnn.refinement.rounds import Ints, NodeOrGraph, settle
from i2gnn.refinement.rows import RowRefinement
from i2gnn.subgraphs import Subgraphs, extract_subgraphs

__all__ = ["Test", "color", "color_subgraphs", "distinguish", "extract_whole"]

Test = Literal["1-wl", "2-wl", "3-wl", "2-fwl", "3-fwl", "identifier-wl"]

FARTHEST = {1: 253, 2: 253, 3: 252}
"""The most hops that `extract_subgraphs` takes, by identifiers."""


def distinguish(
    a: GraphStore,
    b: GraphStore,
    test: Test = "identifier-wl",
    *,
    identifiers: int = 2,
    hops: int | None = None,
    labels: str = "spd",
    rounds: int | None = None,
    node_states: bool = False,
    readout: str = "nodes",
) -> bool:
    """Whether a test tells two graphs apart; arguments as for `color`.

    Example:
        >>> from i2gnn.expressiveness.pairs import two_cycles
        >>> small, large = (two_cycles(3).batch([g]) for g in (0, 1))
        >>> distinguish(small, large, "1-wl"), distinguish(small, large, identifiers=1)
        (False, True)
    """
    for graph in (a, b):
        if len(graph) != 1:
            raise InputError(f"expected a store of one graph, got one of {len(graph)}")
    colors = color(
        join(a, b),
        test,
        identifiers=identifiers,
        hops=hops,
        labels=labels,
        rounds=rounds,
        node_states=node_states,
        readout=readout,
    )
    return bool(colors[0] != colors[1])


def color(
    graphs: GraphStore,
    test: Test = "identifier-wl",
    *,
    identifiers: int = 2,
    hops: int | None = None,
    labels: str = "spd",
    rounds: int | None = None,
    node_states: bool = False,
    readout: str = "nodes",
    level: NodeOrGraph = "graph",
) -> Ints:
    """Colours of graphs or nodes: two are equal if and only if the test cannot tell them apart.

    All graphs are refined together, so any two of them can be compared. Features of nodes and
    edges are part of the first colours.

    Args:
        graphs: One or more graphs.
        test: Which test.
        identifiers: Of identifier-wl: how many nodes of a subgraph are marked, 0 to 3.
        hops: Of identifier-wl: radius K of the ego-nets; None for all that a root can reach.
        labels: Of identifier-wl: how they are marked, "identity", "spd" or "spd_pred"; distances
            are measured inside the ego-net, as the models see them.
        rounds: Number T of rounds, as of layers; None for as many as change anything.
        node_states: Of identifier-wl: whether rows see the colour of their node in every round,
            the pooled h_k of the paper's ZINC model.
        readout: Of identifier-wl: what is read of subgraphs and nodes; the ZINC model reads
            "nodes+center+side+context".
        level: "graph", or "node".

    Shapes:
        returns: [G] or [N].

    Raises:
        InputError: An argument is out of range, or `hops` is None and a graph is too long for it.

    Example:
        >>> from i2gnn.expressiveness.pairs import rook_shrikhande
        >>> color(rook_shrikhande(), "2-fwl"), color(rook_shrikhande(), identifiers=2, hops=1)
        (array([0, 0]), array([0, 1]))
    """
    if test not in get_args(Test):
        raise InputError(f"test must be one of {', '.join(get_args(Test))}, got {test!r}")
    if test not in ("1-wl", "identifier-wl"):
        folklore = test.endswith("fwl")
        tuples = TupleRefinement(graphs, int(test[0]), folklore, every_round=rounds is not None)
        return settle(tuples, rounds, level)
    if test == "1-wl":
        subgraphs = extract_subgraphs(graphs, identifiers=0)
        return color_subgraphs(subgraphs, rounds=rounds, level=level)
    if hops is None:
        subgraphs = extract_whole(graphs, identifiers=identifiers, labels=labels)
    else:
        subgraphs = _extract(graphs, hops=hops, identifiers=identifiers, labels=labels)
    return color_subgraphs(
        subgraphs, rounds=rounds, node_states=node_states, readout=readout, level=level
    )


def color_subgraphs(
    subgraphs: Subgraphs,
    *,
    rounds: int | None = None,
    node_states: bool = False,
    readout: str = "nodes",
    level: NodeOrGraph = "graph",
) -> Ints:
    """`color` by identifier-wl, of subgraphs that have been extracted: `model.extract(graphs)`."""
    return settle(RowRefinement(subgraphs, node_states, readout), rounds, level)


def extract_whole(graphs: GraphStore, *, identifiers: int = 2, labels: str = "spd") -> Subgraphs:
    """Subgraphs that reach as far as there are edges: the ego-net of a root is its component."""
    if identifiers not in FARTHEST:  # none, or an error
        return _extract(graphs, hops=1, identifiers=identifiers, labels=labels)
    longest = int(graphs.sizes["node"].max()) - 1 if len(graphs) else 0
    hops = min(max(longest, 2), FARTHEST[identifiers])
    subgraphs = _extract(graphs, hops=hops, identifiers=identifiers, labels=labels)
    if (subgraphs.link_count != subgraphs.degree[subgraphs.pair_to_node]).any():
        raise InputError(
            f"some nodes are more than {hops} hops apart, the most that labels can tell; give hops"
        )
    return subgraphs


def _extract(graphs: GraphStore, *, hops: int, identifiers: int, labels: str) -> Subgraphs:
    try:
        return extract_subgraphs(graphs, hops=hops, identifiers=identifiers, labels=labels)
    except ValueError as error:
        raise InputError(str(error)) from error
