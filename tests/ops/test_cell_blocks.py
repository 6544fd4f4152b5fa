"""The blocks of a PPGN in float16 between products, against the same model in float64."""

import copy
import dataclasses

import pytest
import torch

from i2gnn import ops
from i2gnn.models import PPGN
from i2gnn.ops.cells import cells_of, pool_cells
from tests.helpers import on_gpu, random_graphs
from tests.named_graphs import path, store

pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")
from i2gnn.ops.triton import cell_pools  # noqa: E402


def make(device, nodes=(1, 10), **options):
    """Graphs with features, and a model of them."""
    graphs = random_graphs(4, seed=2, nodes=nodes, x=3, edge_attr=2)
    usual = {"hidden_channels": 20, "num_layers": 3}
    model = PPGN(in_channels=3, edge_channels=2, **(usual | options))
    return graphs.to(device, torch.float32), model.to(device)


def run(model, graphs, factor=1.0):
    """Outputs and the gradients of all weights."""
    out = model(graphs)
    grads = torch.autograd.grad(out.square().sum() * factor, list(model.parameters()))
    return [out.detach(), *grads]


def in_float64(model, graphs):
    return run(copy.deepcopy(model).double(), graphs.to(dtype=torch.float64))


def assert_close(found, exact):
    """Errors as those of TF32; a ReLU whose input is nearly zero may go the other way."""
    for result, truth in zip(found, exact, strict=True):
        assert result.dtype == torch.float32 and result.isfinite().all()
        assert (result - truth).norm() <= 2e-2 * truth.norm() + 1e-6
    found, exact = (torch.cat([t.flatten() for t in results]) for results in (found, exact))
    assert (found - exact).norm() <= 2e-3 * exact.norm()


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_levels(level, device):
    graphs, model = make(device, level=level)
    with ops.backend("triton"):
        found = run(model, graphs)
    assert_close(found, in_float64(model, graphs))


@pytest.mark.parametrize("options", [{"num_layers": 1}, {"mlp_depth": 1}, {"mlp_depth": 3}])
@pytest.mark.parametrize("width", [1, 8, 9])
def test_depths_and_widths(width, options, device):
    graphs, model = make(device, hidden_channels=width, **options)
    with ops.backend("triton"):
        found = run(model, graphs)
    assert_close(found, in_float64(model, graphs))


def test_more_cells_in_a_row_than_are_read_at_once(device):
    cells = cells_of(store(path(18), path(3), path(35)).to(device))
    z = torch.randn(len(cells.row), 8, device=device).half()
    torch.testing.assert_close(
        cell_pools.pool_cells(z, cells, 7), pool_cells(z[:, :7].float(), cells)
    )


def test_gradients_of_features(device):
    graphs, model = make(device)
    results = []
    for name in ("triton", "reference"):
        leaf = graphs.x.clone().requires_grad_()
        with ops.backend(name):
            model(dataclasses.replace(graphs, x=leaf)).square().sum().backward()
        results.append([leaf.grad])
    assert_close(*results)


def test_no_gradient_is_too_small_or_too_large(device):
    """The power of two that gradients carry follows them, and is taken off exactly."""
    graphs, model = make(device, nodes=(1, 6), num_layers=2)
    with ops.backend("triton"):
        _, *grads = run(model, graphs)
        for factor in (2.0**-60, 2.0**40):
            _, *found = run(model, graphs, factor)
            for one, other in zip(grads, found, strict=True):
                assert torch.equal(one * factor, other)
        _, *zeros = run(model, graphs, 0.0)
    assert all(not grad.any() for grad in zeros)


def test_backward_twice(device):
    graphs, model = make(device, nodes=(1, 6), num_layers=2)
    with ops.backend("triton"):
        loss = model(graphs).square().sum()
        first, second = (
            torch.autograd.grad(loss, list(model.parameters()), retain_graph=True) for _ in range(2)
        )
    assert all(map(torch.equal, first, second))


def test_graphs_without_cells(device):
    model = PPGN(num_layers=2, level="graph").to(device)
    graphs = store([], [], num_nodes=[0, 0]).to(device)
    with ops.backend("triton"):
        model(graphs).square().sum().backward()
    grads = [weight.grad for weight in model.blocks.parameters()]
    assert grads and not any(grad.any() for grad in grads)


class TestOnGPU:
    pytestmark = on_gpu

    def test_the_width_of_the_paper(self):
        """With features: without them, cells are of three kinds at first, and go to a ReLU's other
        side together."""
        graphs = random_graphs(20, seed=1, nodes=(5, 40), x=3, edge_attr=2)
        graphs = graphs.to("cuda", torch.float32)
        model = PPGN(in_channels=3, edge_channels=2, hidden_channels=300).to("cuda")
        torch.set_float32_matmul_precision("high")
        try:
            found = run(model, graphs)
        finally:
            torch.set_float32_matmul_precision("highest")
        assert_close(found, in_float64(model, graphs))
        exact = run(model, graphs)
        assert not torch.equal(found[0], exact[0])  # without TF32, by products in float32

    def test_autocast_changes_nothing(self):
        graphs, model = make("cuda")
        cells = cells_of(graphs)
        results = []
        for mixed in (False, True):
            z = model._start(graphs, cells).requires_grad_()
            with ops.backend("triton"), torch.autocast("cuda", torch.bfloat16, enabled=mixed):
                out = model._run_blocks(z, cells)
                results.append([out, *torch.autograd.grad(out.square().sum(), z)])
        for plain, mixed in zip(*results, strict=True):
            assert torch.equal(plain, mixed)
