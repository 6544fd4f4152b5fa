import networkx
import torch

from i2gnn.expressiveness.pairs import join, rook_shrikhande, two_cycles
from i2gnn.expressiveness.relabel import relabel, relabelled_copies
from i2gnn.graphs import GraphStore
from tests.helpers import random_graphs


def as_networkx(graphs: GraphStore, g: int) -> networkx.Graph:
    one = graphs.batch([g])
    drawn = networkx.Graph()
    drawn.add_nodes_from(range(one.num_nodes))
    drawn.add_edges_from(one.edge_index.t().tolist())
    return drawn


def test_every_graph_stays_what_it_is_and_nodes_move():
    graphs = join(two_cycles(4), rook_shrikhande())
    moved, old_of_new = relabel(graphs, seed=3)
    assert (moved.node_to_graph == graphs.node_to_graph[old_of_new]).all()
    assert not torch.equal(old_of_new, torch.arange(graphs.num_nodes))
    for g in range(len(graphs)):
        assert networkx.is_isomorphic(as_networkx(graphs, g), as_networkx(moved, g))


def test_features_and_targets_move_with_nodes_and_edges():
    graphs = random_graphs(6, seed=2, x=3, edge_attr=2)
    graphs = graphs.with_targets(torch.arange(graphs.num_edges), "edge")
    moved, old_of_new = relabel(graphs, seed=0)
    assert torch.equal(moved.x, graphs.x[old_of_new])
    old_edges = {edge: e for e, edge in enumerate(map(tuple, graphs.edge_index.t().tolist()))}
    for e, (source, target) in enumerate(moved.edge_index.t().tolist()):
        old = old_edges[int(old_of_new[source]), int(old_of_new[target])]
        assert moved.y[e] == old
        assert torch.equal(moved.edge_attr[e], graphs.edge_attr[old])


def test_copies_are_interleaved_and_all_different():
    graphs = rook_shrikhande()
    copies = relabelled_copies(graphs, 5, seed=0)
    for c in range(10):
        assert networkx.is_isomorphic(as_networkx(graphs, c % 2), as_networkx(copies, c))
    labelled = {tuple(copies.batch([c]).neighbor.tolist()) for c in range(10)}
    assert len(labelled) == 10
    again = relabelled_copies(graphs, 5, seed=0)
    assert torch.equal(again.neighbor, copies.neighbor)
