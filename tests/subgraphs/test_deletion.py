"""Graphs without one of their nodes."""

import networkx as nx
import pytest
import torch

from i2gnn.subgraphs import SubgraphsTooLarge
from i2gnn.subgraphs.deletion import extract_deletions
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, store


@pytest.mark.parametrize("graphs", [awkward, lambda: random_graphs(8, seed=2)])
def test_every_subgraph_is_the_graph_without_its_root(graphs):
    graphs = graphs()
    subgraphs = extract_deletions(graphs)
    graph = nx.Graph(graphs.edge_index.t().tolist())
    graph.add_nodes_from(range(graphs.num_nodes))
    node, root = subgraphs.pair_to_node.long(), subgraphs.pair_to_root
    receiver, sender = subgraphs.link_to_receiver, subgraphs.link_to_pair
    assert torch.equal(graphs.edge_to_node[subgraphs.link_to_edge], node[receiver])
    assert torch.equal(graphs.neighbor[subgraphs.link_to_edge].long(), node[sender])
    assert torch.equal(root[receiver], root[sender])
    for i in range(graphs.num_nodes):
        mates = (graphs.node_to_graph == graphs.node_to_graph[i]).nonzero().squeeze(1).tolist()
        pairs = node[root == i].tolist()
        assert pairs == [i, *(k for k in mates if k != i)]
        own = root[receiver] == i
        links = set(zip(node[receiver[own]].tolist(), node[sender[own]].tolist(), strict=True))
        rest = graph.subgraph(mates).copy()
        rest.remove_node(i)
        assert links == {(a, b) for a, b in rest.to_directed().edges}
    assert torch.equal(subgraphs.labels.squeeze(1) == 1, node == root)
    for axis, column in (("pair", node), ("link", sender), ("row", subgraphs.labels)):
        assert subgraphs.length(axis) == len(column)


def test_batches_are_those_of_each_graph():
    graphs = awkward()
    chosen = [5, 3, 3, 4]
    here = extract_deletions(graphs).batch(chosen)
    for name, column in extract_deletions(graphs.batch(chosen)).columns.items():
        assert torch.equal(getattr(here, name), column), name


def test_wrong_labels_are_named():
    with pytest.raises(ValueError, match="labels must be 'identity' or 'none'.*'spd'"):
        extract_deletions(awkward(), labels="spd")


def test_sizes_are_checked_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr("i2gnn.subgraphs.sizes.available_memory", lambda: 100)
    with pytest.raises(SubgraphsTooLarge, match="25 rows over 25 pairs and 30 links"):
        extract_deletions(store(cycle(5)))
