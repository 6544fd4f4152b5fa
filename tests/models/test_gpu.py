"""On a GPU the models give what they give on the CPU."""

import pytest
import torch

from i2gnn import I2GNN
from i2gnn.models import IDGNN, MODELS
from i2gnn.models.i2gnn import ZINC_OPTIONS
from i2gnn.nn import CONVS
from tests.helpers import on_gpu, random_graphs, random_molecules

pytestmark = on_gpu


def run(model, subgraphs, device):
    """Outputs and gradients on a device, as seen from the CPU."""
    model.to(device).zero_grad()
    out = model(subgraphs.to(device).batch([7, 3, 3, 0, 11]))
    out.square().mean().backward()
    grads = [p.grad.clone().cpu() for p in model.parameters() if p.grad is not None]
    return [out.detach().cpu(), *grads]


def assert_alike(there, here):
    for a, b in zip(there, here, strict=True):
        scale = float(b.abs().max().clamp(min=1e-3))
        torch.testing.assert_close(a / scale, b / scale, rtol=0, atol=1e-3)


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
    here = run(model, subgraphs, "cpu")
    assert_alike(run(model, subgraphs, "cuda"), here)


@pytest.mark.parametrize("hidden_channels", [16, 64])
def test_a_learned_start_matches_the_cpu(hidden_channels):
    torch.manual_seed(0)
    model = IDGNN(hidden_channels=hidden_channels, hops=2, learned_start=True)
    subgraphs = model.extract(random_graphs(12, nodes=(1, 12)))
    here = run(model, subgraphs, "cpu")
    assert_alike(run(model, subgraphs, "cuda"), here)


@pytest.mark.parametrize("virtual_node", [False, True])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_zinc_model_matches_the_cpu(mode, virtual_node):
    torch.manual_seed(0)
    model = I2GNN(**ZINC_OPTIONS, virtual_node=virtual_node)
    subgraphs = model.extract(random_molecules(12))
    model(subgraphs)
    model.train(mode == "train")
    statistics = {name: value.clone() for name, value in model.state_dict().items()}
    here = run(model, subgraphs, "cpu")
    model.load_state_dict(statistics)
    there = run(model, subgraphs, "cuda")
    torch.testing.assert_close(there[0], here[0], rtol=1e-4, atol=1e-5)
    if mode == "eval":
        assert_alike(there, here)
    # In training as a whole: rounding switches a few of the ReLUs behind normalised rows.
    here, there = (torch.cat([grad.flatten() for grad in grads[1:]]) for grads in (here, there))
    assert (there - here).norm() < 2e-3 * here.norm()
