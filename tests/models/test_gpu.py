"""On a GPU the models give what they give on the CPU."""

import pytest
import torch

from i2gnn.models import MODELS
from i2gnn.nn import CONVS
from tests.helpers import random_graphs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("features", [0, 3])
@pytest.mark.parametrize("level", ["node", "edge", "graph"])
@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_gradients_match_the_cpu(name, conv, level, features):
    graphs = random_graphs(12, nodes=(1, 12), x=3, edge_attr=2).to(dtype=torch.float32)
    model = MODELS[name](
        in_channels=features, edge_channels=2, conv=conv, level=level, hidden_channels=16, hops=2
    )
    subgraphs = model.extract(graphs)
    results = []
    for device in ("cpu", "cuda"):
        model.to(device).zero_grad()
        batch = subgraphs.to(device).batch([7, 3, 3, 0, 11])
        out = model(batch)
        out.square().mean().backward()
        grads = [p.grad.clone().cpu() for p in model.parameters() if p.grad is not None]
        results.append([out.detach().cpu(), *grads])
    for here, there in zip(*results, strict=True):
        scale = float(here.abs().max().clamp(min=1e-3))
        torch.testing.assert_close(there / scale, here / scale, rtol=0, atol=1e-3)
