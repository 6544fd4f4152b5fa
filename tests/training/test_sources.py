from unittest.mock import patch

import pytest
import torch

from i2gnn.data.counting import generate_graphs
from i2gnn.errors import InputError
from i2gnn.models import I2GNN, MPNN, PPGN, SubgraphMPNN
from i2gnn.training import DataConfig
from i2gnn.training.sources import Sources


def config(**changes):
    return DataConfig(**({"count": 12, "targets": ("cycle3",)} | changes))


def test_graphs_are_read_once_whatever_the_target():
    sources = Sources()
    with patch("i2gnn.data.counting.generate_graphs", side_effect=generate_graphs) as drawn:
        first = sources.load(config())
        second = sources.load(config(targets=("cycle4", "path2"), level="graph"))
        assert drawn.call_count == 1
        other = sources.load(config(seed=1))
        assert drawn.call_count == 2
    assert first.graphs.neighbor is second.graphs.neighbor
    assert (first.graphs.level, second.graphs.level) == ("node", "graph")
    assert second.targets == ("cycle4", "path2") and second.graphs.y.shape == (12, 2)
    assert not torch.equal(first.graphs.y, other.graphs.y)


def test_subgraphs_are_extracted_once_for_models_that_take_the_same():
    sources = Sources()
    nodes, graphs = config(), config(targets=("cycle4",), level="graph")
    first = sources.extract(I2GNN(hops=1), sources.load(nodes), nodes)
    again = sources.extract(I2GNN(hops=1, level="graph"), sources.load(graphs), graphs)
    assert first.labels is again.labels
    assert torch.equal(again.y, sources.load(graphs).graphs.y) and again.level == "graph"
    for model in (I2GNN(hops=2), I2GNN(hops=1, labels="identity"), SubgraphMPNN(hops=1)):
        other = sources.extract(model, sources.load(nodes), nodes)
        assert other.labels is not first.labels
        assert model(other).shape == (other.num_nodes, 1)
    for model in (MPNN(), PPGN(hidden_channels=8)):
        store = sources.extract(model, sources.load(nodes), nodes)
        assert torch.equal(store.y, first.y) and model(store).shape == first.y.shape


def test_kinds_of_nodes_are_found_once():
    sources = Sources()
    triangles, squares = config(), config(targets=("cycle4",))
    first = sources.extract(I2GNN(hops=1), sources.load(triangles), triangles)
    assert first.kind is None
    again, last = (
        sources.extract(I2GNN(hops=1), sources.load(one), one, kinds=True)
        for one in (triangles, squares)
    )
    assert again.kind is last.kind and len(last.kind) == last.num_nodes
    assert first.labels is last.labels


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "synthetic", "limit": 30}, "synthetic takes no limit"),
        ({"name": "synthetic", "more": 3}, "synthetic takes no more"),
        ({"name": "chembl", "limit": 30, "more": 3}, "chembl takes no more"),
    ],
)
def test_settings_that_data_do_not_have_are_refused(data, words):
    with pytest.raises(InputError, match=words):
        Sources("none").load(DataConfig.from_dict(data))
