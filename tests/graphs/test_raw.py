import numpy as np
import pytest
import torch

from i2gnn import GraphStore, InputError


def build(*lists, **options):
    return GraphStore.from_edge_lists(lists, **options)


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        ([[(0, 1), (1, 0)], [(0, 3)]], {"num_nodes": [2, 3]}, r"graph 1, edge 0 \(0, 3\): node id"),
        ([[(0, -1)]], {"num_nodes": [2]}, r"graph 0, edge 0 \(0, -1\): node id out of range"),
        ([[(0, 1), (1, 1)]], {"symmetrize": True}, r"edge 1 \(1, 1\): self-loop; pass drop_self_l"),
        ([[(0, 1), (0, 1)]], {"symmetrize": True}, r"edge 1 \(0, 1\): duplicate; pass drop_dup"),
        ([[(0, 1), (1, 0), (1, 2)]], {}, r"edge 2 \(1, 2\): the reverse edge is missing"),
        ([[(0, 1)]], {"num_nodes": [2, 2]}, "1 edge lists but 2 node counts"),
        ([[(0, 1)]], {"num_nodes": [-1]}, "-1 nodes; expected 0 or more"),
        ([[(0, 1, 2)]], {}, r"shape \(1, 3\) and type int64; expected integers"),
        ([[(0.5, 1.0)]], {}, "type float64; expected integers"),
        ([[(0, 1)]], {"x": [[1.0]], "symmetrize": True}, "x has 1 rows; expected 2, one per node"),
        ([[(0, 1)]], {"y": [1.0], "symmetrize": True}, "y needs level="),
        (
            [[(0, 1)]],
            {"x": [[1.0, 0.0], [0.0, np.nan]], "symmetrize": True},
            "x, row 1, column 1: nan; expected a finite number",
        ),
        (
            [[(0, 1)]],
            {"edge_attr": [[np.inf]], "symmetrize": True},
            "edge_attr, row 0, column 0: inf",
        ),
    ],
)
def test_bad_graphs_are_named(lists, options, message):
    with pytest.raises(InputError, match=message):
        build(*lists, **options)


def test_missing_targets_are_legal_and_infinite_ones_are_not():
    store = build([(0, 1)], y=[np.nan, 1.0], level="node", symmetrize=True)
    assert store.y.isnan().sum() == 1
    with pytest.raises(InputError, match="y, row 0: inf"):
        build([(0, 1)], y=[np.inf, 1.0], level="node", symmetrize=True)


def test_dropping_is_counted(caplog):
    store = build(
        [(0, 1), (1, 0), (0, 1), (1, 1)],
        [(0, 0)],
        num_nodes=[2, 1],
        drop_duplicates=True,
        drop_self_loops=True,
    )
    assert store.sizes["edge"].tolist() == [2, 0]
    assert "dropped 2 self-loops and 1 duplicate edges" in caplog.text


def test_symmetrize_copies_features_and_keeps_given_directions():
    store = build(
        [(0, 1), (1, 2), (2, 1)], edge_attr=[[5.0], [6.0], [7.0]], y=[5, 6, 7], level="edge",
        symmetrize=True,
    )  # fmt: skip
    pairs = map(tuple, store.edge_index.t().tolist())
    values = dict(zip(pairs, store.edge_attr[:, 0].tolist(), strict=True))
    assert values == {(0, 1): 5, (1, 0): 5, (1, 2): 6, (2, 1): 7}
    assert torch.equal(store.y.flatten(), store.edge_attr.flatten().long())


def test_duplicates_keep_the_first():
    store = build([(0, 1), (1, 0), (0, 1)], edge_attr=[[1.0], [2.0], [3.0]], drop_duplicates=True)
    assert store.edge_attr.flatten().tolist() == [2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": [["a"], ["b"]]}, "x has type <U1; expected numbers"),
        ({"x": [[1e300], [0.0]]}, "x, row 0, column 0: 1e.300; expected a finite number in single"),
        ({"y": 3.0, "level": "graph"}, "y is the single value 3.0; expected one row per graph"),
    ],
)
def test_values_that_cannot_be_stored_are_named(options, message):
    with pytest.raises(InputError, match=message):
        build([(0, 1)], symmetrize=True, **options)
