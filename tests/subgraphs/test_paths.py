"""Three identifiers: paths, their labels, and the two identifiers they start with."""

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from i2gnn.subgraphs import (
    BranchedEgoNets,
    Subgraphs,
    SubgraphsTooLarge,
    as_subgraphs,
    extract_subgraphs,
)
from i2gnn.subgraphs.labels import attach_labels
from i2gnn.subgraphs.paths import extract_paths
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, path, store

GRAPHS = [awkward, lambda: random_graphs(8, seed=3, nodes=(1, 10))]


def as_networkx(graphs) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(graphs.num_nodes))
    graph.add_edges_from(graphs.edge_index.t().tolist())
    return graph


def expected_paths(graph: nx.Graph, i: int) -> list[tuple[int, int]]:
    found = []
    for j in sorted(graph[i]):
        tips = sorted(set(graph[j]) - {i})
        found += [(j, tip) for tip in tips] or [(j, j)]
    return found or [(i, i)]


@pytest.mark.parametrize("graphs", GRAPHS)
@pytest.mark.parametrize("hops", [2, 3])
def test_rows_and_distances_are_those_of_networkx(graphs, hops):
    graphs = graphs()
    graph, subgraphs = as_networkx(graphs), extract_paths(graphs, hops=hops, labels="identity+spd")
    node, tip = subgraphs.pair_to_node, subgraphs.pair_to_node[subgraphs.branch_to_tip]
    assert len(subgraphs.labels) == subgraphs.num_rows
    for i in range(graphs.num_nodes):
        branches = range(int(subgraphs.branch_ptr[i]), int(subgraphs.branch_ptr[i + 1]))
        paths = [(int(subgraphs.branch_to_node[b]), int(tip[b])) for b in branches]
        assert sorted(paths) == sorted(expected_paths(graph, i))
        ego_net = nx.ego_graph(graph, i, radius=hops)
        distance = dict(nx.all_pairs_shortest_path_length(ego_net))
        for p in range(int(subgraphs.pair_ptr[i]), int(subgraphs.pair_ptr[i + 1])):
            k = int(node[p])
            for rank, (j, end) in enumerate(paths):
                mark = 1 if k == i else 2 if k == j else 3 if k == end else 0
                away = [1 + distance[source][k] for source in (i, j, end)]
                row = int(subgraphs.row_ptr[p]) + rank
                assert subgraphs.labels[row].tolist() == [mark, *away]
    assert subgraphs.label_sizes == (4, hops + 2, hops + 3, hops + 4)
    assert (subgraphs.labels < torch.tensor(subgraphs.label_sizes)).all()


def test_labels_can_be_attached_later():
    graphs = random_graphs(4, seed=1, nodes=(1, 8))
    labelled = extract_paths(graphs, hops=2, labels="identity+spd_pred")
    later = attach_labels(extract_paths(graphs, hops=2, labels="none"), ("identity", "spd_pred"))
    assert torch.equal(later.labels, labelled.labels)
    assert later.label_sizes == labelled.label_sizes


def test_second_columns_mark_nodes_with_two_ways_to_get_there():
    graphs = random_graphs(6, seed=1, nodes=(4, 9))
    subgraphs = extract_paths(graphs, hops=2, labels="spd_pred")
    plain = extract_paths(graphs, hops=2, labels="spd")
    assert torch.equal(subgraphs.labels[:, ::2], plain.labels)
    two = extract_subgraphs(graphs, hops=2, identifiers=2, labels="spd_pred")
    steps, step_of_path = subgraphs.first_steps
    # A row (i, k, (j, j')) begins with the labels of the row (i, k, j).
    place = step_of_path - steps.branch_ptr[subgraphs.branch_to_root]
    row = two.row_ptr[subgraphs.row_to_pair] + place[subgraphs.row_to_branch]
    assert torch.equal(subgraphs.labels[:, :4], two.labels[row])


@pytest.mark.parametrize("graphs", GRAPHS)
def test_first_steps_are_the_branches_of_two_identifiers(graphs):
    graphs = graphs()
    subgraphs = extract_paths(graphs, hops=2)
    steps, step_of_path = subgraphs.first_steps
    two = extract_subgraphs(graphs, hops=2, identifiers=2, labels="none")
    for name, column in two.columns.items():
        assert torch.equal(getattr(steps, name), column), name
    assert {a: s.tolist() for a, s in steps.sizes.items()} == {
        a: s.tolist() for a, s in two.sizes.items()
    }
    assert torch.equal(steps.branch_to_pair[step_of_path], subgraphs.branch_to_pair)


def test_sizes_of_a_cycle():
    """Every node of a cycle starts two paths, as it has two neighbours."""
    subgraphs = extract_paths(store(cycle(8)), hops=2)
    assert (subgraphs.num_branches, subgraphs.num_pairs, subgraphs.num_rows) == (16, 40, 80)
    star = extract_paths(store([(0, k) for k in range(1, 6)]), hops=2)
    assert star.branch_count.tolist() == [5, 4, 4, 4, 4, 4]


def test_batches_and_files(tmp_path):
    graphs = awkward()
    subgraphs = extract_paths(graphs, hops=2)
    chosen = [6, 2, 2, 0]
    here, there = subgraphs.batch(chosen), extract_paths(graphs.batch(chosen), hops=2)
    for name, column in there.columns.items():
        assert torch.equal(getattr(here, name), column), name
    subgraphs.save(tmp_path / "paths.safetensors")
    again = Subgraphs.load(tmp_path / "paths.safetensors")
    assert torch.equal(again.branch_to_tip, subgraphs.branch_to_tip)


def test_the_ways_in_agree():
    """`extract_subgraphs`, and PyG's loader through the transform."""
    graphs = random_graphs(3, seed=5, nodes=(2, 7))
    expected = extract_paths(graphs, hops=2)
    edges = [g.edge_index for g in (graphs.batch([n]) for n in range(3))]
    sizes = graphs.sizes["node"].tolist()
    data = [Data(edge_index=e, num_nodes=n) for e, n in zip(edges, sizes, strict=True)]
    transform = BranchedEgoNets(hops=2, identifiers=3)
    collated = next(iter(DataLoader([transform(d) for d in data], batch_size=3)))
    for found in (extract_subgraphs(graphs, hops=2, identifiers=3), as_subgraphs(collated)):
        for name, column in expected.columns.items():
            assert torch.equal(getattr(found, name), column), name


def test_cache(tmp_path):
    graphs = random_graphs(4)
    first = extract_paths(graphs, hops=2, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    second = extract_paths(graphs, hops=2, cache_dir=tmp_path)
    assert all(torch.equal(second.columns[name], first.columns[name]) for name in first.columns)


def test_wrong_arguments_are_named(monkeypatch):
    graphs = store(path(4))
    with pytest.raises(ValueError, match="hops must lie in 2..252 with 3 identifiers, got 1"):
        extract_paths(graphs, hops=1)
    with pytest.raises(ValueError, match="'resistance' is defined for at most 2 identifiers"):
        extract_paths(graphs, labels="resistance")
    with pytest.raises(ValueError, match="paths need 3 identifiers, not 2"):
        extract_subgraphs(graphs, hops=2).first_steps  # noqa: B018


def test_rows_are_counted_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr("i2gnn.subgraphs.sizes.available_memory", lambda: 4000)
    with pytest.raises(SubgraphsTooLarge, match="408 rows over 64 pairs"):
        extract_paths(store([(0, k) for k in range(1, 8)] + [(1, 2)]), hops=3)
