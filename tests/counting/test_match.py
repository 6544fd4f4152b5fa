"""The search for any pattern, against the fast counters and against networkx."""

import networkx
import numpy as np
import pytest

from i2gnn.counting import CATALOGUE, Pattern, match
from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.api import count
from i2gnn.graphs import GraphStore
from tests.helpers import random_graphs

NAMES = [name for name in CATALOGUE if name != "path2"]


@pytest.mark.parametrize("name", NAMES)
def test_search_agrees_with_the_fast_counters(name: str) -> None:
    store = random_graphs(12, seed=11, nodes=(6, 12), p=0.4)
    pattern = CATALOGUE[name]
    adjacency = Adjacency.of(store)
    assert np.array_equal(
        match.copies_at_nodes(adjacency, pattern), count(store, name).values[:, 0].numpy()
    )
    assert np.array_equal(
        match.copies_at_edges(adjacency, pattern), count(store, name, "edge").values[:, 0].numpy()
    )


@pytest.mark.parametrize("induced", [False, True])
def test_seven_nodes_agree_with_networkx(induced: bool) -> None:
    # A hexagon with a tail, as in toluene's ring and methyl group.
    edges = [(v, (v + 1) % 6) for v in range(6)] + [(0, 6)]
    pattern = Pattern(edges, position=6, induced=induced, name="toluene")
    graph = networkx.gnp_random_graph(14, 0.25, seed=5)
    matcher = networkx.algorithms.isomorphism.GraphMatcher(graph, networkx.Graph(edges))
    found = (
        matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
    )
    expected = np.zeros(14, dtype=np.int64)
    for mapping in found:
        inverse = {small: large for large, small in mapping.items()}
        expected[inverse[6]] += 1
    values = count(GraphStore.from_networkx(graph), pattern).values[:, 0].numpy()
    assert np.array_equal(values, expected // 2)  # the ring's reflection
    assert expected.sum() > 0


def test_plan_follows_neighbours_and_breaks_symmetries() -> None:
    plan = match.make_plan(CATALOGUE["clique4"])
    assert (plan.adjacent[np.tril_indices(4, -1)] == 1).all()
    assert plan.order.sum() == 3  # the three nodes beside the position in ascending order
    assert match.make_plan(CATALOGUE["path4"]).order.sum() == 0
