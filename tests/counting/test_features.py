import pytest
import torch

from i2gnn.counting import count, with_structures
from i2gnn.errors import InputError
from tests.helpers import random_graphs
from tests.named_graphs import awkward, complete, store


def test_counts_come_behind_the_features():
    graphs = random_graphs(5, x=3, edge_attr=2)
    counted = with_structures(graphs, ["cycle3", "cycle4"])
    assert torch.equal(counted.x[:, :3], graphs.x)
    assert torch.equal(counted.edge_attr[:, :2], graphs.edge_attr)
    nodes = count(graphs, ["cycle3", "cycle4"], level="node").values
    edges = count(graphs, ["cycle3", "cycle4"], level="edge").values
    torch.testing.assert_close(counted.x[:, 3:].expm1().round().long(), nodes)
    torch.testing.assert_close(counted.edge_attr[:, 2:].expm1().round().long(), edges)


def test_a_complete_graph():
    """In K4 a node is in three triangles, an edge in two."""
    counted = with_structures(store(complete(4)), ["cycle3"])
    torch.testing.assert_close(counted.x, torch.full((4, 1), 4.0).log())
    torch.testing.assert_close(counted.edge_attr, torch.full((12, 1), 3.0).log())


def test_none_and_awkward_graphs():
    graphs = awkward()
    assert with_structures(graphs, []) is graphs
    assert with_structures(graphs, ["cycle3"]).x.shape == (graphs.num_nodes, 1)
    with pytest.raises(InputError, match="cycle99x"):
        with_structures(graphs, ["cycle99x"])
