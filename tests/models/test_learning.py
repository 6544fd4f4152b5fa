"""Every model, trained for a few epochs, counts triangles better than the mean predictor."""

import pytest
import torch

from i2gnn.data import generate_counting
from i2gnn.models import REGISTRY
from i2gnn.training import OptimizerConfig, TrainingConfig, fit

CONFIG = TrainingConfig(
    epochs=15,
    batch_size=10,
    optimizer=OptimizerConfig(lr=5e-3),
    tensorboard=False,
    device="cpu",
)
SUCCEED = ("idgnn", "subgraph_mpnn", "gnnak_plain", "i2gnn", "i3gnn")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    return generate_counting(100, ["cycle3"], seed=1)


@pytest.mark.parametrize("name", REGISTRY)
def test_triangles(name, data):
    entry = REGISTRY[name]
    small = {"hidden_channels": 16, "num_layers": 2, "hops": 2 if name == "i3gnn" else 1}
    options = {key: value for key, value in small.items() if key in entry.arguments}
    torch.manual_seed(0)
    model = entry.build(**options, **entry.model.arguments_for(data.graphs))
    store = model.extract(data.graphs)
    result = fit(model, store, data.splits, CONFIG, progress=False)
    assert data.graphs.y is not None
    target = data.graphs.batch(data.splits.test).y
    mean = float((target - result.scaling.center).abs().mean() / result.scaling.unit)
    assert result.test < 0.95 * mean
    # The paper's failure level of a base GNN is 0.35; one identifier is enough.
    if name == "mpnn":
        assert result.test > 0.3
    if name in SUCCEED:
        assert result.test < 0.2
