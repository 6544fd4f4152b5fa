"""Colour refinement, held to its definition on small graphs and to known verdicts."""

import numpy as np
import pytest
import torch

from i2gnn.expressiveness import color, color_subgraphs, distinguish
from i2gnn.expressiveness.pairs import join, rook_shrikhande, two_cycles, two_wheels
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import extract_subgraphs
from tests.expressiveness.definitions import color_rows, color_tuples, multiset, same_partition
from tests.helpers import permute, random_graphs, with_columns
from tests.named_graphs import awkward, cycle, path, store

TESTS = [
    {"test": "1-wl"},
    {"test": "2-fwl"},
    {"test": "3-wl"},
    *({"identifiers": n} for n in range(4)),
    {"identifiers": 2, "hops": 2, "labels": "identity", "rounds": 2},
    {"identifiers": 1, "node_states": True, "readout": "center+context"},
    {"identifiers": 2, "node_states": True, "readout": "nodes+center+side+context"},
]


def with_types(graphs: GraphStore) -> GraphStore:
    """Two types of nodes, and features of edges that differ in the two directions."""
    nodes, edges = torch.arange(graphs.num_nodes), torch.arange(graphs.num_edges)
    return with_columns(graphs, x=nodes.view(-1, 1) % 2, edge_attr=edges.view(-1, 1) % 2 + 0.5)


# -- definitions -------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("node_states", [False, True])
@pytest.mark.parametrize("identifiers", [0, 1, 2, 3])
def test_rows_are_refined_by_the_definition(identifiers, node_states, features):
    graphs = join(random_graphs(6, seed=1, nodes=(1, 5)), two_cycles(3))
    graphs = with_types(graphs) if features else graphs
    subgraphs = extract_subgraphs(graphs, hops=2, identifiers=identifiers)
    graph = graphs.node_to_graph.tolist()
    for rounds in (0, 1, 2):
        options = {"rounds": rounds, "node_states": node_states}
        nodes = color_rows(subgraphs, **options)
        assert same_partition(color_subgraphs(subgraphs, **options, level="node"), nodes)
        of_graph = [
            multiset(c for k, c in enumerate(nodes) if graph[k] == g) for g in range(len(graphs))
        ]
        assert same_partition(color_subgraphs(subgraphs, **options), of_graph)


@pytest.mark.parametrize("test", ["2-wl", "2-fwl", "3-wl", "3-fwl"])
def test_tuples_are_refined_by_the_definition(test):
    graphs = join(random_graphs(6, seed=3, nodes=(1, 5)), two_cycles(3))
    k, folklore = int(test[0]), test.endswith("fwl")
    for rounds in (0, 1, 2):
        expected = [
            color_tuples(graphs.batch([g]), k, folklore, rounds) for g in range(len(graphs))
        ]
        assert same_partition(color(graphs, test, rounds=rounds), expected)


# -- what holds for all tests ------------------------------------------------------------------


@pytest.mark.parametrize("options", TESTS, ids=str)
@pytest.mark.parametrize("level", ["node", "graph"])
def test_relabelled_graphs_have_the_same_colours(options, level):
    graphs = with_types(join(awkward().batch([0, 1, 2, 3, 5]), random_graphs(4, nodes=(5, 9))))
    relabelled, old_of_new, _ = permute(graphs, seed=1)
    colors = color(join(graphs, relabelled), **options, level=level)
    first, second = np.split(colors, 2)
    order = slice(None) if level == "graph" else old_of_new.numpy()
    np.testing.assert_array_equal(first[order], second)


@pytest.mark.parametrize("options", TESTS, ids=str)
def test_features_are_seen(options):
    """At nodes and at edges; without features the graphs are equal."""
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    plain = GraphStore.from_edge_lists([square, square], symmetrize=True)
    assert len(set(color(plain, **options))) == 1
    for features in ({"x": [0, 0, 1, 1, 0, 1, 0, 1]}, {"edge_attr": [0, 0, 1, 1, 0, 1, 0, 1]}):
        graphs = GraphStore.from_edge_lists([square, square], symmetrize=True, **features)
        assert len(set(color(graphs, **options))) == 2


def test_rounds_refine_until_nothing_changes():
    """On a path of 9 nodes the ends are heard of in the middle after three more rounds."""
    graph = store(path(9))
    classes = [len(set(color(graph, "1-wl", rounds=t, level="node"))) for t in range(7)]
    assert classes == [1, 2, 3, 4, 5, 5, 5]
    assert len(set(color(graph, "1-wl", level="node"))) == 5


def test_all_or_one_at_a_time():
    """A pair taken out of many graphs is tied or separated as among them."""
    graphs = join(*(two_cycles(n) for n in (3, 4, 5)), *(two_wheels(n) for n in (3, 4)))
    for options in ({"test": "1-wl"}, {"identifiers": 1, "hops": 1}, {"test": "2-fwl"}):
        colors = color(graphs, **options)
        for p in range(len(graphs) // 2):
            a, b = graphs.batch([2 * p]), graphs.batch([2 * p + 1])
            assert distinguish(a, b, **options) == (colors[2 * p] != colors[2 * p + 1])


# -- what is known of their power --------------------------------------------------------------


def regular_graphs() -> GraphStore:
    """Cycles, wheels, strongly regular and random graphs, many of which 1-WL ties."""
    named = [two_cycles(3), two_cycles(4), two_wheels(3), rook_shrikhande()]
    return join(*named, random_graphs(40, seed=4, nodes=(4, 6), p=0.5))


def test_2wl_is_as_strong_as_1wl_and_3wl_as_2fwl():
    graphs = regular_graphs()
    assert same_partition(color(graphs, "2-wl"), color(graphs, "1-wl").tolist())
    assert same_partition(color(graphs, "3-wl"), color(graphs, "2-fwl").tolist())
    assert len(set(color(graphs, "2-fwl"))) > len(set(color(graphs, "1-wl")))


def test_only_3fwl_of_these_sees_what_two_identifiers_see():
    assert [distinguish_pair(rook_shrikhande(), test=t) for t in ("2-fwl", "3-fwl")] == [0, 1]


def distinguish_pair(pair: GraphStore, **options) -> bool:
    return distinguish(pair.batch([0]), pair.batch([1]), **options)


def test_zero_identifiers_are_1wl_and_more_never_see_less():
    graphs = regular_graphs()
    found = [color(graphs, identifiers=n) for n in range(4)]
    assert same_partition(found[0], color(graphs, "1-wl").tolist())
    for fewer, more in zip(found[:-1], found[1:], strict=True):
        both = set(zip(more.tolist(), fewer.tolist(), strict=True))
        assert len(both) == len(
            set(more.tolist())
        )  # every class of `more` is inside one of `fewer`


@pytest.mark.parametrize("identifiers", [1, 2, 3])
def test_distances_and_identity_are_equally_strong(identifiers):
    """The paper's remark in Section 5, for refinement that has converged."""
    graphs = regular_graphs()
    for hops in (2, None):
        kinds = [
            color(graphs, identifiers=identifiers, hops=hops, labels=labels)
            for labels in ("identity", "spd", "spd_pred")
        ]
        assert same_partition(kinds[0], kinds[1].tolist())
        assert same_partition(kinds[0], kinds[2].tolist())


# -- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "4-wl"}, "test must be one of 1-wl, 2-wl, .*, got '4-wl'"),
        ({"rounds": -1}, "rounds must be 0 or more, or None for all, got -1"),
        ({"level": "edge"}, "level must be 'node' or 'graph', got 'edge'"),
        ({"identifiers": 4}, "identifiers must be 0, 1, 2 or 3, got 4"),
        ({"labels": "spd+resistance"}, "'resistance' are real numbers"),
        ({"identifiers": 0, "readout": "center"}, "needs 1 identifiers, not 0"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        color(store(cycle(4)), **options)


def test_distinguish_takes_one_graph_each():
    with pytest.raises(ValueError, match="expected a store of one graph, got one of 2"):
        distinguish(two_cycles(3), store(cycle(3)))


def test_graphs_longer_than_labels_are_refused_unless_hops_are_given():
    long = store(cycle(600))
    with pytest.raises(ValueError, match="more than 253 hops apart"):
        color(long, identifiers=1)
    assert len(color(long, identifiers=1, hops=3)) == 1


def test_some_roots_are_not_enough():
    subgraphs = extract_subgraphs(store(cycle(5)), hops=1, roots=torch.tensor([0]))
    with pytest.raises(ValueError, match="needs every node as a root"):
        color_subgraphs(subgraphs)


def test_no_graphs_and_empty_graphs():
    nothing = GraphStore.from_edge_lists([])
    empty = GraphStore.from_edge_lists([[], [], []], [0, 0, 2])
    for options in TESTS:
        assert color(nothing, **options).tolist() == []
        assert color(empty, **options).tolist() == [0, 0, 1]
