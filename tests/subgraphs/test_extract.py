import networkx
import numpy as np
import pytest
import torch

from i2gnn import GraphStore, extract_subgraphs
from i2gnn.subgraphs import SubgraphsTooLarge, sizes
from tests.helpers import assert_same_store, random_graphs
from tests.named_graphs import awkward, cycle, path, store


def networkx_of(graphs: GraphStore, graph: int) -> networkx.Graph:
    """One graph of a store, with the store's node ids."""
    low, high = graphs.offsets["node"][graph : graph + 2].tolist()
    result = networkx.Graph()
    result.add_nodes_from(range(low, high))
    edges = graphs.edge_index.t().tolist()
    result.add_edges_from((a, b) for a, b in edges if low <= a < high)
    return result


def resistance(graph: networkx.Graph, a: int, b: int) -> float:
    nodes = list(graph)
    laplacian = networkx.laplacian_matrix(graph, nodelist=nodes).toarray().astype(float)
    inverse = np.linalg.pinv(laplacian)
    a, b = nodes.index(a), nodes.index(b)
    return inverse[a, a] + inverse[b, b] - 2 * inverse[a, b]


def expected_rows(graphs: GraphStore, hops: int, identifiers: int) -> dict:
    """(i, k, j) -> (neighbours of k in the ego-net, distances, predecessor counts, resistances)."""
    rows = {}
    for g in range(len(graphs)):
        whole = networkx_of(graphs, g)
        for i in whole:
            ego = networkx.ego_graph(whole, i, radius=hops)
            branches = sorted(whole[i]) if identifiers == 2 and whole[i] else [i]
            for j in branches:
                marked = [i, j][:identifiers]
                distance = [networkx.shortest_path_length(ego, m) for m in marked]
                for k in ego:
                    closer = [sum(d[n] == d[k] - 1 for n in ego[k]) for d in distance]
                    rows[i, k, j] = (
                        sorted(ego[k]),
                        [d[k] for d in distance],
                        closer,
                        [resistance(ego, m, k) for m in marked],
                    )
    return rows


@pytest.mark.parametrize("identifiers", [1, 2])
@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("kind", ["awkward", "random"])
def test_rows_links_and_labels_match_networkx(kind, hops, identifiers):
    graphs = awkward() if kind == "awkward" else random_graphs(8, seed=hops)
    expected = expected_rows(graphs, hops, identifiers)
    plain = extract_subgraphs(graphs, hops=hops, identifiers=identifiers, labels="identity+spd")
    rich = extract_subgraphs(
        graphs, hops=hops, identifiers=identifiers, labels="spd_pred+resistance"
    )
    assert torch.equal(plain.row_ptr, rich.row_ptr)
    assert plain.num_rows == len(expected)
    roots = plain.pair_to_root[plain.row_to_pair].tolist()
    nodes, branches = plain.row_to_node.tolist(), plain.branch_to_node[plain.row_to_branch].tolist()
    for r, key in enumerate(zip(roots, nodes, branches, strict=True)):
        neighbours, distances, closer, resistances = expected[key]
        i, k, j = key
        pair = int(plain.row_to_pair[r])
        links = slice(int(plain.link_ptr[pair]), int(plain.link_ptr[pair + 1]))
        senders = plain.pair_to_node[plain.link_to_pair[links]].tolist()
        assert senders == neighbours
        edges = plain.link_to_edge[links].long()
        assert plain.edge_index[:, edges].tolist() == [neighbours, [k] * len(neighbours)]
        identity, *spd = plain.labels[r].tolist()
        assert identity == (1 if k == i else 2 if k == j and identifiers == 2 else 0)
        assert spd == [d + 1 for d in distances]
        twice = [d + 1 if c >= 2 else 0 for d, c in zip(distances, closer, strict=True)]
        assert rich.labels[r].tolist() == [v for both in zip(spd, twice, strict=True) for v in both]
        assert rich.resistance[r].tolist() == pytest.approx(resistances, abs=1e-5)


def test_path_of_three_is_as_drawn_in_the_notation():
    s = extract_subgraphs(store(path(3)), hops=1)
    assert s.pair_to_node.tolist() == [0, 1, 1, 0, 2, 2, 1]
    assert s.pair_ptr.tolist() == [0, 2, 5, 7]
    assert s.branch_to_node.tolist() == [1, 0, 2, 1]
    assert s.row_ptr.tolist() == [0, 1, 2, 4, 6, 8, 9, 10]
    assert s.link_to_pair.tolist() == [1, 0, 3, 4, 2, 2, 6, 5]
    assert s.labels.tolist() == [
        [1, 2], [2, 1],
        [1, 2], [1, 2], [2, 1], [2, 3], [2, 3], [2, 1],
        [1, 2], [2, 1],
    ]  # fmt: skip


def test_maps_agree_with_each_other():
    s = extract_subgraphs(random_graphs(10), hops=2, labels="identity")
    code = s.labels.flatten()
    assert (code[s.row_of_root] == 1).all()
    assert int((code == 1).sum()) == s.num_branches
    lonely = (s.degree == 0)[s.branch_to_root]
    assert (code[s.row_of_branch[~lonely]] == 2).all()
    assert torch.equal(s.row_of_branch[lonely], s.row_of_root[lonely])
    sent_from, sent_to, link = s.message_rows
    assert torch.equal(s.row_to_branch[sent_from], s.row_to_branch[sent_to])
    assert torch.equal(s.row_to_pair[sent_to], s.link_to_receiver[link])
    for segments, column in ((s.node_to_pair, s.pair_to_node), (s.edge_to_link, s.link_to_edge)):
        owner = torch.repeat_interleave(torch.arange(len(segments.ptr) - 1), segments.ptr.diff())
        assert torch.equal(column[segments.items].long(), owner)


def test_zero_identifiers_are_the_graph_itself():
    graphs = random_graphs(4)
    s = extract_subgraphs(graphs, identifiers=0)
    assert s.num_rows == s.num_pairs == s.num_branches == graphs.num_nodes
    assert torch.equal(s.link_to_pair, graphs.neighbor)
    assert s.labels is None and s.label_code is None


def test_isolated_roots_keep_one_row():
    s = extract_subgraphs(store([], num_nodes=[3]), hops=3)
    assert s.num_rows == 3 and s.num_links == 0
    assert s.labels.tolist() == [[1, 1]] * 3
    assert s.branch_to_node.tolist() == [0, 1, 2]


@pytest.mark.parametrize("identifiers", [0, 1, 2])
def test_a_batch_of_subgraphs_equals_the_subgraphs_of_a_batch(identifiers):
    graphs = awkward()
    options = {"hops": 2, "identifiers": identifiers, "labels": "spd+resistance"}
    whole = extract_subgraphs(graphs, **options)
    for chosen in ([6, 2, 2], [4], [], [5, 0, 1, 3]):
        assert_same_store(whole.batch(chosen), extract_subgraphs(graphs.batch(chosen), **options))


def test_one_thread_and_many_give_the_same():
    graphs = random_graphs(40)
    threads = torch.get_num_threads()
    many = extract_subgraphs(graphs, hops=2, labels="spd_pred+resistance")
    try:
        torch.set_num_threads(1)
        one = extract_subgraphs(graphs, hops=2, labels="spd_pred+resistance")
    finally:
        torch.set_num_threads(threads)
    assert_same_store(one, many)


def test_label_code_is_the_mixed_radix_number_of_the_labels():
    s = extract_subgraphs(random_graphs(5), hops=2, labels="identity+spd")
    assert s.label_sizes == (3, 4, 5)
    a, b, c = s.labels.long().unbind(1)
    assert torch.equal(s.label_code, (a * 4 + b) * 5 + c)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"identifiers": 4}, "identifiers must be 0, 1, 2 or 3, got 4"),
        ({"hops": 0}, r"hops must lie in 1\.\.253, got 0"),
        ({"labels": "distance"}, "unknown label 'distance'; expected none, identity, spd"),
        ({"labels": "spd+spd_pred"}, "exclude each other"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        extract_subgraphs(store(cycle(3)), **options)


def test_subgraphs_that_cannot_fit_are_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr(sizes, "available_memory", lambda: 256)
    message = "54 rows over 27 pairs and 36 links .* of which 256 B are free; .* memory budget"
    with pytest.raises(SubgraphsTooLarge, match=message):
        extract_subgraphs(store(cycle(9)), hops=1)


def test_progress_bar_goes_to_standard_error(capsys):
    extract_subgraphs(store(cycle(9)), hops=1, progress=True)
    captured = capsys.readouterr()
    assert captured.out == "" and "extracting ego-nets" in captured.err
