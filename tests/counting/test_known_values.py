"""Graphs whose counts are known by formula."""

from math import comb, perm

import networkx
import pytest

from i2gnn.counting import CATALOGUE, count, cycles
from i2gnn.graphs import GraphStore
from tests.named_graphs import complete, cycle, petersen, rook, shrikhande, store

CYCLES = [f"cycle{length}" for length in range(3, 9)]


def per_graph(graphs: GraphStore, *names: str) -> list[int]:
    return [int(v) for v in count(graphs, list(names), "graph").values[0]]


@pytest.mark.parametrize("n", [3, 4, 6, 9])
def test_complete_graphs(n: int) -> None:
    graphs = store(complete(n))
    assert per_graph(graphs, *CYCLES) == [perm(n, k) // (2 * k) for k in range(3, 9)]
    paths = [f"path{length}" for length in range(2, 7)]
    starting = [perm(n - 1, length) for length in range(2, 7)]
    assert count(graphs, paths).values[0].tolist() == starting
    assert per_graph(graphs, "clique4", "clique5") == [comb(n, 4), comb(n, 5)]
    assert per_graph(graphs, "star3", "star4") == [n * comb(n - 1, 3), n * comb(n - 1, 4)]
    assert per_graph(graphs, "chordal_cycle") == [6 * comb(n, 4)]
    assert per_graph(graphs, "triangle_rectangle") == [60 * comb(n, 5)]


@pytest.mark.parametrize("n", range(3, 11))
def test_cycle_graphs(n: int) -> None:
    assert per_graph(store(cycle(n)), *CYCLES) == [int(n == length) for length in range(3, 9)]
    paths = count(store(cycle(n)), ["path2", "path6"]).values[0].tolist()
    assert paths == [2 if n > 2 else 0, 2 if n > 6 else 0]


@pytest.mark.parametrize(("m", "n"), [(2, 3), (3, 3), (4, 5)])
def test_complete_bipartite_graphs(m: int, n: int) -> None:
    graphs = GraphStore.from_networkx(networkx.complete_bipartite_graph(m, n))
    even = [perm(m, k) * perm(n, k) // (2 * k) for k in (2, 3, 4)]
    assert per_graph(graphs, *CYCLES) == [0, even[0], 0, even[1], 0, even[2]]
    assert per_graph(graphs, "star3") == [m * comb(n, 3) + n * comb(m, 3)]


def test_petersen_graph() -> None:
    assert per_graph(store(petersen()), *CYCLES) == [0, 0, 12, 10, 0, 15]


def test_hypercube() -> None:
    cube = GraphStore.from_networkx(networkx.hypercube_graph(3))
    assert per_graph(cube, *CYCLES) == [0, 6, 0, 16, 0, 6]
    assert per_graph(GraphStore.from_networkx(networkx.hypercube_graph(4)), "cycle4") == [24]


def test_rook_and_shrikhande_differ_in_cliques_and_8_cycles_only_from_there() -> None:
    ours, theirs = store(rook()), store(shrikhande())
    short = CYCLES[:5]
    assert per_graph(ours, *short) == per_graph(theirs, *short)
    assert per_graph(ours, "cycle3", "cycle4") == [32, 60]
    assert per_graph(ours, "cycle8") != per_graph(theirs, "cycle8")
    assert per_graph(ours, "clique4") == [8]
    assert per_graph(theirs, "clique4") == [0]


def test_node_counts_of_cycles_sum_to_their_length() -> None:
    graphs = store(rook(), petersen(), complete(7))
    for length in range(3, 9):
        name = f"cycle{length}"
        nodes = count(graphs, name, "node").values.sum().item()
        edges = count(graphs, name, "edge").values.sum().item()
        total = count(graphs, name, "graph").values.sum().item()
        assert nodes == length * total
        assert edges == 2 * length * total


def test_many_nodes_around_one_root_need_more_than_one_signature() -> None:
    # More than 64 nodes within reach, so signatures collide and paths are compared node by node.
    graph = networkx.gnp_random_graph(90, 0.06, seed=3)
    expected = [0] * 9
    for found in networkx.simple_cycles(graph, length_bound=7):
        expected[len(found)] += 1
    assert per_graph(GraphStore.from_networkx(graph), *CYCLES[:5]) == expected[3:8]


def test_hubs_are_found_in_every_order() -> None:
    graph = networkx.barabasi_albert_graph(120, 3, seed=1)
    assert max(degree for _, degree in graph.degree) > 16
    expected = [0] * 7
    for found in networkx.simple_cycles(graph, length_bound=6):
        expected[len(found)] += 1
    assert per_graph(GraphStore.from_networkx(graph), *CYCLES[:4]) == expected[3:7]


@pytest.mark.parametrize("longest", [5, 6, 7, 8])
def test_roots_with_too_many_paths_are_served_in_parts(
    longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = store(complete(13), rook(), petersen())
    names = CYCLES[: longest - 2]
    expected = count(graphs, names, "edge").values
    # The arrays start with room for 1,024 paths; the last roots of K13 have more than that.
    monkeypatch.setattr(cycles, "MOST_PATHS", 100)
    assert count(graphs, names, "edge").values.equal(expected)


def test_every_name_is_a_pattern_at_its_position() -> None:
    assert CATALOGUE["tailed_triangle"].orbit == (0,)
    assert CATALOGUE["chordal_cycle"].orbit == (0, 3)
    assert CATALOGUE["triangle_rectangle"].orbit == (0,)
    assert CATALOGUE["path4"].orbit == (0, 4)
    assert CATALOGUE["star5"].orbit == (0,)
    assert len(CATALOGUE) == 6 + 5 + 3 + 2 + 3 + 15
