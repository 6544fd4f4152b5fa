"""Subgraphs of some of the roots, in one piece or in parts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from i2gnn import GraphStore, Subgraphs, extract_subgraphs
from i2gnn.subgraphs import SubgraphsTooLarge, count_subgraphs, stream
from i2gnn.subgraphs.neighborhood import induced, neighborhood
from i2gnn.subgraphs.sample import draw_branches
from i2gnn.subgraphs.stream import Cost, Part, cut_roots, extract_part, plan_parts
from tests.helpers import random_graphs
from tests.named_graphs import awkward, complete, cycle, path, store

LABELS = "identity+spd_pred+resistance"


def content(subgraphs: Subgraphs, nodes: torch.Tensor, edges: torch.Tensor) -> dict:
    """Every row and link by the names that nodes and edges have in the whole graphs."""
    s = subgraphs
    root, branch = nodes[s.branch_to_root], nodes[s.branch_to_node]
    rows = {}
    for row, (b, k) in enumerate(zip(s.row_to_branch, nodes[s.row_to_node], strict=True)):
        labels = (*s.labels[row].tolist(), *s.resistance[row].tolist())
        rows[int(root[b]), int(branch[b]), int(k)] = labels
    links = [
        (int(nodes[s.pair_to_root[p]]), int(edges[e]), int(nodes[s.pair_to_node[q]]))
        for p, e, q in zip(s.link_to_receiver, s.link_to_edge, s.link_to_pair, strict=True)
    ]
    return {"rows": list(rows.items()), "links": links}


@pytest.mark.parametrize("identifiers", [1, 2])
@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("graphs", [awkward(), random_graphs(5, x=2, edge_attr=3)])
def test_chosen_roots_have_the_subgraphs_they_have_among_all(graphs, hops, identifiers):
    options = {"hops": hops, "identifiers": identifiers, "labels": LABELS}
    whole = extract_subgraphs(graphs, **options)
    everything = content(whole, torch.arange(graphs.num_nodes), torch.arange(graphs.num_edges))
    roots = torch.arange(1, graphs.num_nodes, 3)
    some = extract_subgraphs(graphs, **options, roots=roots.flip(0))  # any order
    nodes = neighborhood(graphs, roots, hops)
    edges = induced(graphs, nodes)[1]
    assert not some.complete and whole.complete
    assert torch.equal(nodes[some.roots], roots)
    chosen = set(roots.tolist())
    found = content(some, nodes, edges)
    assert found["rows"] == [item for item in everything["rows"] if item[0][0] in chosen]
    assert found["links"] == [link for link in everything["links"] if link[0] in chosen]
    assert some.num_nodes == len(nodes)
    if graphs.x is not None:
        assert torch.equal(some.x, graphs.x[nodes])
        assert torch.equal(some.edge_attr, graphs.edge_attr[edges])


def test_what_roots_see_is_a_store_like_any_other():
    graphs = random_graphs(8, seed=2, x=2, edge_attr=1)
    graphs = graphs.with_targets(torch.arange(graphs.num_nodes), "node")
    nodes = neighborhood(graphs, torch.tensor([0, 5, 30]), hops=2)
    seen, edges = induced(graphs, nodes)
    source, target = graphs.edge_index
    inside = torch.isin(source, nodes) & torch.isin(target, nodes)
    assert torch.equal(edges, inside.nonzero().squeeze(1))
    assert torch.equal(nodes[seen.edge_index], graphs.edge_index[:, edges])
    assert torch.equal(seen.node_to_graph, graphs.node_to_graph[nodes])
    assert torch.equal(seen.reverse_edge[seen.reverse_edge], torch.arange(seen.num_edges))
    assert torch.equal(seen.y.squeeze(1), nodes)


def test_the_rest_of_the_graph_costs_nothing():
    """Neither the result nor what it is made of grows with the graph."""
    sizes = []
    for n in (50, 5000):
        some = extract_subgraphs(store(cycle(n)), hops=2, roots=torch.tensor([7, 8]))
        sizes.append((some.num_nodes, some.num_edges, some.num_rows, some.nbytes))
    assert sizes[0] == sizes[1] and sizes[0][0] == 6


def test_no_roots_at_all():
    none = extract_subgraphs(awkward(), hops=2, roots=torch.empty(0, dtype=torch.int64))
    assert none.num_nodes == none.num_rows == 0 and len(none) == 7


@pytest.mark.parametrize("sampled", [False, True])
def test_pieces_hold_all_branches_once(sampled):
    graphs = store(complete(7), cycle(4))
    branches = draw_branches(graphs, 5, 1) if sampled else None
    options = {"hops": 2, "identifiers": 2, "labels": LABELS, "branches": branches}
    whole = extract_part(graphs, Part(2, 3), **options)
    pieces = [extract_part(graphs, Part(2, 3, *span), **options) for span in ((0, 2), (2, 5))]
    pieces += [] if sampled else [extract_part(graphs, Part(2, 3, 5, 6), **options)]
    assert torch.equal(torch.cat([p.branch_to_pair for p in pieces]), whole.branch_to_pair)
    for name in ("pair_to_node", "link_to_pair", "link_to_edge"):
        for piece in pieces:
            assert torch.equal(getattr(piece, name), getattr(whole, name))
    by_pair = [piece.labels.view(7, -1, 5) for piece in pieces]
    assert torch.equal(torch.cat(by_pair, dim=1), whole.labels.view(7, -1, 5))
    for piece in pieces:
        if sampled:
            assert piece.branch_weight.tolist() == [pytest.approx(6 / 5)] * 7
        else:
            assert piece.branch_weight is None


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), budget=st.integers(1000, 60_000))
def test_parts_cover_all_roots_once_and_stay_below_the_budget(seed, budget):
    graphs = random_graphs(4, seed=seed)
    sizes = count_subgraphs(graphs, hops=2)
    cost = Cost(pair=20.0, link=10.0, row=50.0, message=5.0)
    try:
        parts = cut_roots(sizes, cost, budget)
    except SubgraphsTooLarge:
        one = cost.pair * sizes.pairs + cost.link * sizes.links
        one = one + cost.row * sizes.pairs + cost.message * sizes.links
        assert one.max() > budget
        return
    covered = []
    for part in parts:
        whole = [(i, b) for i in range(part.start, part.stop) for b in range(sizes.branches[i])]
        covered += whole[part.first : part.last]
        s = extract_part(graphs, part, hops=2, identifiers=2, labels="spd")
        used = cost.pair * s.num_pairs + cost.link * s.num_links
        used += cost.row * s.num_rows + cost.message * len(s.message_rows[0])
        assert used <= budget
    assert covered == [(i, b) for i in range(graphs.num_nodes) for b in range(sizes.branches[i])]


def test_counting_some_roots_at_a_time_gives_parts_of_all(monkeypatch):
    graphs, cost = random_graphs(10, seed=3), Cost(20.0, 10.0, 50.0, 5.0)
    options = {"hops": 2, "identifiers": 2, "labels": "spd"}
    whole = plan_parts(graphs, cost, 20_000, **options)
    assert whole == cut_roots(count_subgraphs(graphs, **options), cost, 20_000)
    monkeypatch.setattr(stream, "WINDOW", 1)
    parts = plan_parts(graphs, cost, 20_000, **options)
    assert len(whole) < len(parts) <= len(whole) + 16
    assert [i for p in parts for i in range(p.start, p.stop)] == list(range(graphs.num_nodes))


def test_a_large_budget_gives_one_part():
    sizes = count_subgraphs(awkward(), hops=2)
    assert cut_roots(sizes, Cost(1, 1, 1, 1), 10**9) == [Part(0, 33)]
    assert cut_roots(count_subgraphs(store(), hops=2), Cost(1, 1, 1, 1), 1) == []


def test_a_subgraph_larger_than_the_budget_is_named():
    sizes = count_subgraphs(store(path(3), complete(9)), hops=1)
    message = r"one subgraph of node 3 has 9 rows and 72 messages and needs 1\.\d KB; .* 500 B"
    with pytest.raises(SubgraphsTooLarge, match=message):
        cut_roots(sizes, Cost(10.0, 1.0, 100.0, 1.0), 500)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roots": torch.tensor([0, 9])}, r"roots must lie in 0\.\.2, got 0\.\.9"),
        (
            {"roots": torch.ones(3, dtype=torch.bool)},
            r"roots is torch.bool \[3\]; expected node ids",
        ),
        ({"roots": [0, 1]}, "roots is list; expected node ids"),
        ({"roots": torch.tensor([0]), "identifiers": 0}, "with 1 or 2 identifiers"),
        ({"branches": torch.ones(3, dtype=torch.bool)}, r"expected a mask \[6\]"),
        ({"branches": torch.ones(6)}, r"branches is torch.float32 \[6\]; expected a mask"),
        ({"branches": torch.ones(6, dtype=torch.bool), "identifiers": 1}, "with 2 identifiers"),
        ({"roots": torch.tensor([0]), "cache_dir": "somewhere"}, "leave out cache_dir"),
    ],
)
def test_wrong_choices_are_named(options, message):
    graphs: GraphStore = store(cycle(3))
    with pytest.raises(ValueError, match=message):
        extract_subgraphs(graphs, **options)
