"""Every count, at every level, against the definition."""

from functools import cache

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from i2gnn.counting import CATALOGUE, Pattern, api, count, paths
from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.brute_force import find_copies, tally
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from tests.helpers import permute, random_graphs
from tests.named_graphs import awkward, complete, cycle, path, petersen, store

SMALL = [p for p in CATALOGUE.values() if p.num_nodes <= 5]
LARGE = [p for p in CATALOGUE.values() if p.num_nodes > 5]
OWN = [
    Pattern([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], 2, name="bowtie"),
    Pattern([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)], 4, induced=True, name="induced_banner"),
    Pattern([(0, 1), (1, 2), (2, 3), (1, 4)], 3, induced=True, name="induced_fork"),
]
LEVELS = ("node", "edge", "graph")

Graph = tuple[int, list[tuple[int, int]]]


def graphs(largest: int) -> st.SearchStrategy[Graph]:
    """Graphs with up to `largest` nodes, each set of edges as likely as any other."""

    def build(n: int) -> st.SearchStrategy[Graph]:
        pairs = complete(n)
        chosen = st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))
        return chosen.map(lambda bits: (n, [e for e, b in zip(pairs, bits, strict=True) if b]))

    return st.integers(1, largest).flatmap(build)


def assert_as_defined(batch: list[Graph], patterns: list[Pattern]) -> None:
    sizes = [n for n, _ in batch]
    together = GraphStore.from_edge_lists([e for _, e in batch], sizes, symmetrize=True)
    expected: dict[str, list[list[int]]] = {level: [] for level in LEVELS}
    for pattern in patterns:
        columns: dict[str, list[int]] = {level: [] for level in LEVELS}
        for n, edges in batch:
            for level, numbers in definition(n, tuple(edges), pattern).items():
                columns[level] += numbers
        for level in LEVELS:
            expected[level].append(columns[level])
    for level in LEVELS:
        frame = count(together, patterns, level).to_frame()
        for pattern, column in zip(patterns, expected[level], strict=True):
            assert frame[pattern.name].tolist() == column, (pattern, level, batch)


@cache
def definition(
    n: int, edges: tuple[tuple[int, int], ...], pattern: Pattern
) -> dict[str, list[int]]:
    copies = find_copies(n, edges, pattern)
    return {level: tally(copies, n, edges, level) for level in LEVELS}


# Each example is a batch of ten graphs: 3,000 graphs of up to five nodes, 600 of up to six.
@settings(max_examples=300, deadline=None)
@given(st.lists(graphs(5), min_size=10, max_size=10))
def test_small_patterns_are_as_defined(batch: list[Graph]) -> None:
    assert_as_defined(batch, SMALL)


@settings(max_examples=60, deadline=None)
@given(st.lists(graphs(6), min_size=10, max_size=10))
def test_large_patterns_are_as_defined(batch: list[Graph]) -> None:
    assert_as_defined(batch, LARGE + OWN)


@pytest.mark.parametrize("seed", range(6))
def test_long_cycles_in_larger_graphs_are_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 11
    edges = [e for e in complete(n) if rng.random() < 0.27]
    assert_as_defined([(n, edges)], [*LARGE, CATALOGUE["cycle5"]])


def test_awkward_graphs_keep_their_rows() -> None:
    graphs = awkward()
    for level in LEVELS:
        counts = count(graphs, list(CATALOGUE), level)
        assert counts.values.shape == (graphs.length(level), len(CATALOGUE))
        assert counts.values.dtype == torch.int64
    assert count(graphs, "cycle3..cycle5", "graph").values.tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [1, 0, 1],
        [0, 0, 0],
        [4, 3, 0],
        [0, 0, 0],
    ]


def test_no_graph_and_no_node_give_empty_tables() -> None:
    empty = GraphStore.from_edge_lists([])
    for level in LEVELS:
        assert count(empty, ["cycle3", "path4", "clique5", "orbit14"], level).values.shape == (0, 4)


@pytest.mark.parametrize("level", LEVELS)
def test_relabelling_relabels_the_counts(level: str) -> None:
    graphs = random_graphs(40, seed=1, p=0.4)
    other, nodes, edges = permute(graphs, seed=2)
    before = count(graphs, list(CATALOGUE), level).values  # type: ignore[arg-type]
    after = count(other, list(CATALOGUE), level).values  # type: ignore[arg-type]
    order = {"node": nodes, "edge": edges, "graph": torch.arange(len(graphs))}[level]
    assert torch.equal(after, before[order])


def test_levels_agree() -> None:
    graphs = random_graphs(60, seed=3, p=0.4)
    expected = count(graphs, list(CATALOGUE), "graph").values
    assert torch.equal(count(graphs, list(CATALOGUE), "node").per_graph(), expected)
    assert torch.equal(count(graphs, list(CATALOGUE), "edge").per_graph(), expected)


def test_both_directions_of_an_edge_have_the_same_counts() -> None:
    graphs = random_graphs(30, seed=4, p=0.4)
    values = count(graphs, list(CATALOGUE), "edge").values
    assert torch.equal(values, values[graphs.reverse_edge])


def test_columns_follow_the_request() -> None:
    counts = count(petersen_store(), ["path4", "cycle6", "cycle5"])
    assert counts.what == ["path4", "cycle6", "cycle5"]
    assert counts.values[0].tolist() == [24, 6, 6]


def petersen_store() -> GraphStore:
    return store(petersen())


def test_every_kind_of_graph_is_accepted() -> None:
    ring = networkx.cycle_graph(6)
    directed = torch.tensor(cycle(6) + [(b, a) for a, b in cycle(6)]).t()
    pyg = Data(edge_index=directed, num_nodes=6)
    for graphs in (ring, [ring], pyg, [pyg], "C1CCCCC1", ["C1CCCCC1"], store(cycle(6))):
        assert count(graphs, "cycle6").values.tolist() == [[1]] * 6


def test_blocks_give_the_same_as_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = random_graphs(50, seed=5)
    expected = [count(graphs, list(CATALOGUE), level).values for level in LEVELS]
    monkeypatch.setattr(api, "BLOCK_NODES", 17)
    assert len(list(api._blocks(graphs))) > 5
    for level, values in zip(LEVELS, expected, strict=True):
        assert torch.equal(count(graphs, list(CATALOGUE), level).values, values)


def test_tables_number_nodes_inside_their_graph() -> None:
    two = store(cycle(3), path(3))
    nodes = count(two, "cycle3").to_frame()
    assert nodes.to_dict("list") == {
        "graph": [0, 0, 0, 1, 1, 1],
        "node": [0, 1, 2, 0, 1, 2],
        "cycle3": [1, 1, 1, 0, 0, 0],
    }
    edges = count(two, "cycle3", "edge").to_frame(graph_ids=[4, 9])
    assert edges.to_dict("list") == {
        "graph": [4, 4, 4, 9, 9],
        "source": [0, 0, 1, 0, 1],
        "target": [1, 2, 2, 1, 2],
        "cycle3": [1, 1, 1, 0, 0],
    }


def test_a_count_beyond_64_bits_is_an_error_not_a_wrong_number() -> None:
    leaves = 80_000
    star = GraphStore.from_edge_lists([[(0, v + 1) for v in range(leaves)]], symmetrize=True)
    assert count(star, "star4").values[0].item() > 10**18
    with pytest.raises(InputError, match="star5 at node 0: the count exceeds 64 bits"):
        count(star, "star5")
    with pytest.raises(InputError, match="exceeds 64 bits"):
        count(GraphStore.from_edge_lists([star_forest(leaves)], symmetrize=True), "star4", "graph")


def star_forest(leaves: int) -> list[tuple[int, int]]:
    """Seven stars, none too large for 64 bits, but together."""
    size = leaves + 1
    return [(s * size, s * size + v + 1) for s in range(7) for v in range(leaves)]


def test_patterns_may_not_be_called_as_columns_are() -> None:
    with pytest.raises(InputError, match="a pattern is called 'node'"):
        count("CCC", Pattern(((0, 1),), 0, name="node")).to_frame()


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="unknown substructure 'cycle9'"):
        count("CC", "cycle9")
    with pytest.raises(InputError, match="given twice"):
        count("CC", ["cycle3", "cycle3"])
    with pytest.raises(InputError, match="level is 'atom'"):
        count("CC", "cycle3", "atom")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="got int; expected a GraphStore"):
        count([3], "cycle3")


def test_directed_graphs_can_be_counted_as_undirected():
    triangle = networkx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 0)])
    with pytest.raises(InputError, match="symmetrize=True"):
        count(triangle, "cycle3", drop_self_loops=True)
    counts = count(triangle, "cycle3", "graph", symmetrize=True, drop_self_loops=True)
    assert counts.values.tolist() == [[1]]


def test_four_paths_by_formula_are_those_that_are_walked():
    graphs = random_graphs(100, nodes=(1, 14))
    walked = paths.paths_from_nodes(Adjacency.of(graphs), 4)[:, 4]
    assert count(graphs, "path4").values[:, 0].tolist() == walked.tolist()
    both = count(graphs, ["path4", "path5"]).values
    assert both[:, 0].tolist() == walked.tolist()


def test_four_paths_at_a_hub_take_no_time():
    """Two stars whose centres are joined: a walk would take the square of their leaves."""
    leaves = 20_000
    edges = [(0, 1), *((k % 2, k) for k in range(2, 2 * leaves + 2))]
    graph = GraphStore.from_edge_lists([edges], symmetrize=True)
    counts = count(graph, ["path4", "path3"]).values
    assert counts[0].tolist() == [0, 0] and counts[2].tolist() == [0, leaves]
    longer = GraphStore.from_edge_lists([[*edges, (2, 2 * leaves + 2)]], symmetrize=True)
    assert count(longer, "path4").values[2 * leaves + 2].tolist() == [leaves]


def test_four_paths_beyond_64_bits_are_told():
    adjacency = Adjacency.of(store(path(2)))
    none = np.zeros(2, dtype=np.int64)
    assert paths.four_paths_from_nodes(adjacency, none, none).tolist() == [0, 0]
    many = np.array([-(2**62), 0])
    assert paths.four_paths_from_nodes(adjacency, none, many).tolist() == [-1, 0]
