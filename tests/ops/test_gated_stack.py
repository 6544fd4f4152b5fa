"""The fused stack of gated layers against the reference in float64."""

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.ops import GRUWeights, Projection, reference
from tests.helpers import random_graphs
from tests.named_graphs import path, store
from tests.ops.helpers import GRAPHS, assert_tf32_close

pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")


def make_weights(subgraphs, width, layers, projections):
    labels = subgraphs.num_codes

    def draw(*shape):
        return torch.randn(*shape) / shape[-2] ** 0.5

    gates = GRUWeights(
        draw(layers, width, 3 * width),
        draw(layers, width, 3 * width),
        draw(layers, 3 * width),
        draw(layers, 3 * width),
    )
    then = Projection(draw(layers - 1, width, width), draw(layers - 1, labels, width))
    return torch.randn(labels, width), gates, then if projections else None


def run(function, subgraphs, weights, dtype, **arguments):
    """Result and gradients of all weights, as float64 on the CPU."""
    table, gates, then = weights
    leaves = [
        weight.detach().to(subgraphs.device, dtype).requires_grad_()
        for weight in (table, *gates, *(then or ()))
    ]
    projection = Projection(*leaves[5:]) if then else None
    out = function(leaves[0], subgraphs, GRUWeights(*leaves[1:5]), projection, **arguments)
    direction = torch.linspace(0.5, 1.5, out.numel(), dtype=dtype, device=out.device)
    grads = torch.autograd.grad((out * direction.view(out.shape)).sum(), leaves)
    return [tensor.detach().double().cpu() for tensor in (out, *grads)]


@pytest.mark.parametrize("width", [1, 16, 63, 64])
@pytest.mark.parametrize(("layers", "projections"), [(1, False), (3, True), (2, False)])
def test_matches_reference(width, layers, projections, device):
    subgraphs = extract_subgraphs(random_graphs(3, nodes=(2, 6)), hops=2).to(device)
    weights = make_weights(subgraphs, width, layers, projections)
    with ops.backend("triton"):
        found = run(ops.gated_stack, subgraphs, weights, torch.float32)
    assert_tf32_close(found, run(reference.gated_stack, subgraphs, weights, torch.float64))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    "read",
    [
        {"reduce": "sum"},
        {"reduce": "mean"},
        {"parts": ["center"]},
        {"parts": ["side"]},
        {"parts": ["nodes", "center", "side"], "reduce": "mean"},
    ],
)
def test_odd_graphs(name, read, device):
    subgraphs = extract_subgraphs(GRAPHS[name](), hops=1).to(device)
    weights = make_weights(subgraphs, 16, 3, True)
    with ops.backend("triton"):
        found = run(ops.gated_stack, subgraphs, weights, torch.float32, **read)
    exact = run(reference.gated_stack, subgraphs, weights, torch.float64, **read)
    assert_tf32_close(found, exact)


@pytest.mark.parametrize(
    "parts", [["center"], ["side"], ["nodes", "side"], ["center", "side"], ["nodes", "center"]]
)
@pytest.mark.parametrize(("width", "layers", "projections"), [(16, 1, False), (13, 3, True)])
def test_rows_of_each_subgraph(parts, width, layers, projections, device):
    subgraphs = extract_subgraphs(random_graphs(3, nodes=(2, 6)), hops=2).to(device)
    weights = make_weights(subgraphs, width, layers, projections)
    with ops.backend("triton"):
        found = run(ops.gated_stack, subgraphs, weights, torch.float32, parts=parts)
    assert_tf32_close(
        found, run(reference.gated_stack, subgraphs, weights, torch.float64, parts=parts)
    )


def test_small_and_large_gradients_keep_their_digits(device):
    subgraphs = extract_subgraphs(store(path(4)), hops=2).to(device)
    weights = make_weights(subgraphs, 16, 3, True)
    exact = run(reference.gated_stack, subgraphs, weights, torch.float64)
    for factor in (1e-9, 1e9):
        with ops.backend("triton"):
            found = run(
                lambda *a, f=factor: f * ops.gated_stack(*a), subgraphs, weights, torch.float32
            )
        assert_tf32_close([found[0] / factor, *(g / factor for g in found[1:])], exact)


def test_same_result_every_time(device):
    subgraphs = extract_subgraphs(random_graphs(3, nodes=(2, 6)), hops=2).to(device)
    weights = make_weights(subgraphs, 16, 3, True)
    with ops.backend("triton"):
        once = run(ops.gated_stack, subgraphs, weights, torch.float32)
        again = run(ops.gated_stack, subgraphs, weights, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_exact_float32_is_exact():
    """Kernels of TF32's precision must not run unless that was allowed; see test_choice.py."""
    subgraphs = extract_subgraphs(store(path(3)), hops=1).to("cuda")
    weights = make_weights(subgraphs, 16, 2, True)
    found = run(ops.gated_stack, subgraphs, weights, torch.float32)
    exact = run(reference.gated_stack, subgraphs, weights, torch.float64)
    for result, truth in zip(found, exact, strict=True):
        assert (result - truth).norm() <= 1e-5 * truth.norm() + 1e-7


def test_projections_must_fit():
    subgraphs = extract_subgraphs(store(path(3)), hops=1)
    table, gates, then = make_weights(subgraphs, 16, 3, True)
    with pytest.raises(ValueError, match="3 layers with 1 projections"):
        ops.gated_stack(table, subgraphs, gates, Projection(*(w[:1] for w in then)))
