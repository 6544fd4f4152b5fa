"""The kernel that multiplies the matrices of all graphs, against the plain product."""

import pytest
import torch

from i2gnn import ops
from i2gnn.models import PPGN
from i2gnn.ops.cells import cells_of, multiply_cells
from tests.helpers import no_waiting, on_gpu, random_graphs
from tests.named_graphs import awkward, store
from tests.ops.helpers import TOLERANCE

triton = pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")

SIZES = {
    "nothing": [],
    "empty graphs": [0, 0],
    "one node": [1],
    "two nodes": [2],
    "one tile": [4],
    "mixed": [3, 0, 17, 1, 2],
    "many tiles": [13],
}


def plain(x, y, sizes):
    """The definition: one matrix per graph and channel."""
    areas = [n * n for n in sizes]
    out = [x[:0] * y[:0]]
    for a, b, n in zip(x.split(areas), y.split(areas), sizes, strict=True):
        shape = (n, n, x.shape[1])
        out.append(torch.einsum("acd,cbd->abd", a.view(shape), b.view(shape)).flatten(0, 1))
    return torch.cat(out)


def by_kernel(x, y, sizes):
    tiles = triton.tiles_of_cells(torch.tensor(sizes, dtype=torch.int64))
    return triton.multiply_cells(x, y, tiles.to(x.device))


def run(function, inputs, dtype, *arguments):
    """The product and the gradients by both matrices, as float64."""
    leaves = [t.to(dtype).requires_grad_() for t in inputs]
    out = function(*leaves, *arguments)
    back = torch.linspace(-1, 1, out.numel(), device=out.device).view(out.shape)
    grads = torch.autograd.grad(out, leaves, back.bfloat16().to(dtype))
    assert all(t.dtype == dtype and t.shape == out.shape for t in grads)
    return [t.detach().double() for t in (out, *grads)]


def assert_close(found, exact, tolerance):
    for result, truth in zip(found, exact, strict=True):
        assert result.shape == truth.shape
        if truth.numel():
            error = float((result - truth).abs().max())
            assert error < tolerance * max(1.0, float(truth.abs().max()))


def assert_matches(sizes, width, device, dtype=torch.float32):
    cells = sum(n * n for n in sizes)
    inputs = [torch.randn(cells, width).to(device, dtype) for _ in range(2)]
    exact = run(plain, inputs, torch.float64, sizes)
    assert_close(run(by_kernel, inputs, dtype, sizes), exact, TOLERANCE[dtype])


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name, device):
    assert_matches(SIZES[name], 3, device)


@pytest.mark.parametrize("width", [1, 16, 40, 64])
def test_widths(width, device):
    assert_matches([1, 9, 2], width, device)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_types(dtype, device):
    assert_matches([3, 5], 16, device, dtype)


def test_matrices_that_are_not_contiguous(device):
    sizes = [2, 3]
    x, y = torch.randn(4, 13, device=device).t(), torch.randn(13, 8, device=device)[:, ::2]
    inputs = [t.requires_grad_() for t in (x, y)]
    out = by_kernel(*inputs, sizes)
    grads = torch.autograd.grad(out, inputs, torch.ones(4, 13, device=device).t())
    exact = plain(*inputs, sizes)
    expected = torch.autograd.grad(exact, inputs, torch.ones_like(exact))
    assert_close([out.detach(), *grads], [exact.detach(), *expected], 2e-5)


@pytest.mark.parametrize("which", [0, 1])
def test_only_one_gradient_is_wanted(which, device):
    inputs = [torch.randn(9, 2, device=device) for _ in range(2)]
    inputs[which].requires_grad_()
    grads = [
        torch.autograd.grad(function(*inputs, [3]).sum(), inputs[which])
        for function in (by_kernel, plain)
    ]
    torch.testing.assert_close(*grads)


def test_a_graph_keeps_its_infinities_for_itself(device):
    x, y = torch.ones(2, 9 + 1 + 4, 2, device=device)
    y[9] = float("inf")
    out = by_kernel(x, y, [3, 1, 2])
    assert out.isfinite().all(1).nonzero().squeeze(1).tolist() == [*range(9), *range(10, 14)]


def test_multiply_takes_the_kernel_where_it_is_asked_to(device, monkeypatch):
    cells = cells_of(awkward().to(device))
    x, y = torch.randn(2, len(cells.row), 3, device=device)
    with ops.backend("triton"):
        found = multiply_cells(x, y, cells)
    monkeypatch.delattr(triton, "multiply_cells")
    with ops.backend("reference"):
        torch.testing.assert_close(found, multiply_cells(x, y, cells))


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_a_model_gives_what_it_gives_by_the_reference(level, device, monkeypatch):
    """In float32, as where TF32 is not allowed."""
    monkeypatch.setattr("i2gnn.models.ppgn.uses_fused", lambda z: False)
    graphs = random_graphs(4, seed=2, nodes=(1, 10), x=3, edge_attr=2).to(device, torch.float32)
    options = {"hidden_channels": 8, "num_layers": 2, "level": level}
    model = PPGN(in_channels=3, edge_channels=2, **options).to(device)
    results = []
    for backend in ("triton", "reference"):
        with ops.backend(backend):
            out = model(graphs)
            grads = torch.autograd.grad(out.square().sum(), list(model.parameters()))
        results.append([out.detach(), *grads])
    assert_close(*results, 1e-4)


def test_no_graph_at_all(device):
    model = PPGN(level="graph").to(device)
    with ops.backend("triton"):
        assert model(store().to(device)).shape == (0, 1)


class TestOnGPU:
    pytestmark = on_gpu

    @pytest.mark.parametrize("dtype", TOLERANCE)
    def test_many_graphs(self, dtype):
        sizes = torch.randint(0, 41, (200,)).tolist()
        assert_matches(sizes, 300, "cuda", dtype)

    def test_large_graph(self):
        assert_matches([300], 40, "cuda")

    def test_it_is_the_default(self, monkeypatch):
        cells = cells_of(awkward().to("cuda"))
        x = torch.ones(len(cells.row), 3, device="cuda")
        assert multiply_cells(x.double(), x.double(), cells).dtype == torch.float64
        monkeypatch.delattr(triton, "multiply_cells")
        with pytest.raises(AttributeError):
            multiply_cells(x, x, cells)

    def test_nothing_waits_for_the_device(self):
        """Not even to prepare the tiles of a new batch."""
        graphs = random_graphs(20).to("cuda")
        warm, cells = (cells_of(graphs.batch(batch)) for batch in ([0, 1], range(2, 20)))
        x, y = (torch.randn(len(warm.row), 64, device="cuda").requires_grad_() for _ in range(2))
        multiply_cells(x, y, warm).sum().backward()  # compiles
        x, y = (torch.randn(len(cells.row), 64, device="cuda").requires_grad_() for _ in range(2))
        with no_waiting():
            multiply_cells(x, y, cells).sum().backward()
