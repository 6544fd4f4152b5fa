import pytest
import torch

from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.training import Scaling, evaluate, predict
from tests.training.toy import make_model, stars


def test_predictions_follow_the_indices() -> None:
    model, data = make_model().train(), stars(9)
    chosen = [4, 0, 7]
    scaling = Scaling(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([3.0]))
    found = predict(model, data, chosen, scaling=scaling, batch_size=2, progress=True)
    assert model.training
    with torch.no_grad():
        expected = model.eval()(data.batch(chosen)) * 3 + 1
    assert torch.allclose(found, expected)
    assert len(predict(model, data)) == data.num_nodes
    assert len(predict(model, data, [])) == 0
    mask = torch.zeros(len(data), dtype=torch.bool)
    mask[[2, 5]] = True
    expected = predict(model, data, [2, 5])
    for given in (mask, mask.numpy(), mask.tolist()):
        assert torch.equal(predict(model, data, given, batch_size=2), expected)


def test_evaluate_compares_with_the_targets() -> None:
    model, data = make_model().eval(), stars(9)
    prediction = predict(model, data)
    assert data.y is not None
    expected = float((prediction - data.y).abs().mean())
    assert evaluate(model, data, batch_size=4) == {"mae": [pytest.approx(expected)]}
    with pytest.raises(InputError, match="metric is 'auc'; expected one of"):
        evaluate(model, data, metrics=["auc"])
    bare = GraphStore.from_edge_lists([[(0, 1)]], symmetrize=True)
    with pytest.raises(InputError, match="no targets"):
        evaluate(model, bare)


def test_shapes_are_not_spread() -> None:
    """One output for two targets would be compared with both of them."""
    model, data = make_model().eval(), stars(9)
    assert data.y is not None
    twice = data.with_targets(torch.cat([data.y, data.y], dim=1), "node")
    with pytest.raises(InputError, match=r"returned \[\d+, 1\]; expected \[\d+, 2\]"):
        evaluate(model, twice)
    with pytest.raises(InputError, match=r"returned \[\d+, 1\]; expected \[9, 1\]"):
        evaluate(model, data.with_targets(torch.ones(9), "graph"))
    classes = data.with_targets(torch.zeros(data.num_nodes), "node")
    assert 0 <= evaluate(make_model(3).eval(), classes, metrics=["accuracy"])["accuracy"][0] <= 1
