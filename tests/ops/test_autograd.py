"""Second derivatives: of the definitions, and refused by the kernels."""

import pytest
import torch

from i2gnn import I2GNN, ops
from tests.helpers import random_graphs


@pytest.mark.parametrize("conv", ["gated", "gin"])
def test_kernels_refuse_second_derivatives(conv):
    torch.manual_seed(0)
    model = I2GNN(hops=1, num_layers=2, hidden_channels=16, in_channels=2, conv=conv)
    graphs = random_graphs(2, seed=0, x=2).to(dtype=torch.float32)
    data = model.extract(graphs)
    data.x.requires_grad_()

    def penalty():
        (slope,) = torch.autograd.grad(model(data).sum(), data.x, create_graph=True)
        return torch.autograd.grad((slope**2).sum(), data.x, allow_unused=True)[0]

    with pytest.raises(RuntimeError, match=r"with i2gnn.ops.backend\('reference'\)"):
        penalty()
    with ops.backend("reference"):
        assert penalty().abs().sum() > 0
