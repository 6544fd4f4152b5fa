"""The copied formulation computes what the models compute: outputs, gradients, statistics."""

import pytest
import torch

from i2gnn import I2GNN
from i2gnn.benchmark.copied import CopiedI2GNN, CopiedZincI2GNN, copy_subgraphs
from i2gnn.models.i2gnn import ZINC_OPTIONS
from tests.helpers import random_molecules
from tests.named_graphs import awkward


def assert_close(ours: torch.Tensor, copied: torch.Tensor, rtol: float) -> None:
    """Relative to the largest value."""
    scale = float(copied.detach().abs().max().clamp(min=1e-6))
    torch.testing.assert_close(ours / scale, copied / scale, rtol=0, atol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float32, 1e-4), (torch.float64, 1e-10)])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_zinc_model(mode, dtype, rtol):
    torch.manual_seed(0)
    graphs = random_molecules(6)
    model = I2GNN(**ZINC_OPTIONS | {"num_layers": 4}).to(dtype)
    subgraphs = model.extract(graphs).to(dtype=dtype)
    model(subgraphs)  # running statistics other than the first ones
    copied = CopiedZincI2GNN(model)
    model.train(mode == "train")
    copied.train(mode == "train")
    ours, theirs = model(subgraphs), copied(copy_subgraphs(subgraphs))
    assert ours.shape == (6, 1)
    assert_close(ours, theirs, rtol)
    for output in (ours, theirs):
        output.square().mean().backward()
    for mine, his in zip(model.layers, copied.layers, strict=True):
        assert_close(mine.conv.mlp[0].weight.grad, his.conv.nn[0].weight.grad, 10 * rtol)
        for a, b in zip(mine.labels.tables, his.labels.tables, strict=True):
            assert_close(a.grad, b.weight.grad, 10 * rtol)
        assert_close(mine.mix.gate.linear.weight.grad, his.gate.weight.grad, 10 * rtol)
        assert_close(mine.norm.running_var, his.norm[0].running_var, rtol)
    assert_close(model.encode_nodes.tables[0].grad, copied.atoms.weight.grad, 10 * rtol)


def test_counting_model():
    torch.manual_seed(0)
    model = I2GNN(num_layers=3, hidden_channels=16, hops=2).double()
    subgraphs = model.extract(awkward())
    ours, theirs = model(subgraphs), CopiedI2GNN(model)(copy_subgraphs(subgraphs))
    assert_close(ours, theirs, 1e-12)


def test_other_readouts_are_refused():
    with pytest.raises(ValueError, match=r"read at all nodes, not at \('side',\)"):
        CopiedI2GNN(I2GNN(num_layers=2, hops=2, readout="side"))
