"""The pairs are what their names say."""

import json

import networkx
import numpy as np
import pytest
import torch

from i2gnn import InputError, count
from i2gnn.expressiveness.pairs import (
    join,
    read_brec,
    read_exp,
    read_sr25,
    rook_shrikhande,
    two_cycles,
    two_wheels,
)
from i2gnn.graphs import GraphStore
from tests.helpers import data_root, random_graphs, to_networkx
from tests.named_graphs import petersen, rook, shrikhande, store


def counts(graphs: GraphStore, what: str, level: str = "graph") -> list[int]:
    found: list[int] = count(graphs, [what], level=level).values[:, 0].tolist()
    return found


@pytest.mark.parametrize("length", [3, 4, 5, 6])
def test_cycles(length):
    """As many nodes and edges, and only one of them has L-cycles."""
    pair = two_cycles(length)
    assert pair.sizes["node"].tolist() == [2 * length] * 2 and (pair.degree == 2).all()
    assert counts(pair, f"cycle{length}") == [2, 0]


@pytest.mark.parametrize("length", [3, 4, 5, 6])
def test_hubs_of_wheels_differ_in_longer_cycles_and_paths_alone(length):
    """Theorem 3.2: (L + 2)-cycles and (L + 1)-paths, of which only the longer rim has any.

    The paper's figure (L = 3) names six 5-cycles, which is right, and six 4-paths: each of the
    cycles gives two paths that start at the hub, so there are twelve.
    """
    pair = two_wheels(length)
    hubs = [2 * length, 4 * length + 1]
    assert pair.degree[hubs].tolist() == [2 * length] * 2

    def at_hubs(what: str) -> list[int]:
        return [counts(pair, what, "node")[hub] for hub in hubs]

    assert at_hubs(f"cycle{length + 2}") == [0, 2 * length]
    if length < 6:  # longer paths have no counter
        assert at_hubs(f"path{length + 1}") == [0, 4 * length]
    for shorter in range(3, length + 2):
        assert len(set(at_hubs(f"cycle{shorter}"))) == 1


def test_rook_and_shrikhande():
    pair = rook_shrikhande()
    named = store(rook(), shrikhande())
    assert all(networkx.is_isomorphic(to_networkx(pair, g), to_networkx(named, g)) for g in (0, 1))
    # Strongly regular: 6 neighbours, 2 common ones of any two nodes.
    for g in (0, 1):
        adjacency = networkx.to_numpy_array(to_networkx(pair, g))
        np.testing.assert_array_equal(adjacency @ adjacency, 2 + 4 * np.identity(16))


def test_ego_nets_of_rook_and_shrikhande_are_the_wheels():
    """The rook's neighbours form two triangles, Shrikhande's a 6-cycle.

    The paper's proof of Proposition 4.1 has it the other way round; they differ either way.
    """
    pair, wheels = rook_shrikhande(), two_wheels(3)
    for g in (0, 1):
        ego = networkx.ego_graph(to_networkx(pair, g), 0)
        assert networkx.is_isomorphic(ego, to_networkx(wheels, g))


def test_short_cycles_are_refused():
    for make in (two_cycles, two_wheels):
        with pytest.raises(ValueError, match="at least 3 nodes, not 2"):
            make(2)


def test_joined_stores():
    a, b = random_graphs(3, x=2, edge_attr=1), random_graphs(4, seed=1, x=2, edge_attr=1)
    both = join(a, b)
    for part, store_ in ((range(3), a), (range(3, 7), b)):
        taken = both.batch(part)
        for name, values in store_.columns.items():
            torch.testing.assert_close(taken.columns[name], values)
    with pytest.raises(ValueError, match="some of the graphs have node features"):
        join(a, random_graphs(1))


# -- files -------------------------------------------------------------------------------------


def _file(name: str):
    root = data_root()
    if root is None or not (root / name).is_file():
        pytest.skip(f"{name} is not in the data root (I2GNN_DATA, or shared/data)")
    return root / name


def test_exp():
    graphs = read_exp(_file("exp/exp.npz"))
    assert len(graphs) == 1200 and graphs.x.unique().tolist() == [0, 1]
    nodes, edges = graphs.sizes["node"].view(-1, 2), graphs.sizes["edge"].view(-1, 2)
    assert (nodes[:, 0] == nodes[:, 1]).all() and (edges[:, 0] == edges[:, 1]).all()


def test_sr25():
    graphs = read_sr25(_file("sr25/sr251256.g6"))
    assert len(graphs) == 15
    for g in range(15):
        adjacency = networkx.to_numpy_array(to_networkx(graphs, g))
        expected = 12 * np.identity(25) + 5 * adjacency + 6 * (1 - adjacency - np.identity(25))
        np.testing.assert_array_equal(adjacency @ adjacency, expected)


def test_brec(tmp_path):
    """The file itself is read by a test of `datasets`."""
    pairs = [{"category": "Basic", "a": "ICZJvZsNg", "b": "ICrbut{{W"}] * 2
    (tmp_path / "pairs.json").write_text(json.dumps(pairs))
    graphs, categories = read_brec(tmp_path / "pairs.json")
    assert categories == ["Basic", "Basic"]
    assert graphs.sizes["node"].tolist() == [10] * 4


def test_files_that_are_something_else(tmp_path):
    file = tmp_path / "file"
    arrays = {"num_nodes": [2], "num_edges": [2], "edge_index": [[0, 1], [1, 0]]}
    np.savez(tmp_path / "types.npz", **arrays)
    with pytest.raises(InputError, match="no array 'x'"):
        read_exp(tmp_path / "types.npz")
    np.savez(tmp_path / "odd.npz", **arrays, x=[0, 1])
    with pytest.raises(InputError, match="1 graphs; expected pairs"):
        read_exp(tmp_path / "odd.npz")
    file.write_bytes(networkx.to_graph6_bytes(to_networkx(store(petersen()), 0), header=False))
    with pytest.raises(InputError, match="not the graphs of 25 nodes of degree 12"):
        read_sr25(file)
    file.write_text(json.dumps([{"category": "Basic", "a": "A_"}]))
    with pytest.raises(InputError, match="not a JSON list of pairs"):
        read_brec(file)
