"""Random GIN and GINE layers, run by any implementation."""

import torch

from i2gnn import extract_subgraphs
from i2gnn.ops import GINELayer, LabelEmbedding, NodeMix, NormState, Perceptron
from tests.named_graphs import path, store
from tests.ops.helpers import types

TYPES = 3


def draw(*shape):
    """Random numbers that float16 can hold, so that kernels and reference see the same."""
    return (torch.randn(*shape) / shape[0] ** 0.5).half().float()


def draw_rows(rows, width):
    return torch.randn(rows, width).half().float()


def far_from_zero(width):
    """Biases in front of a ReLU: few numbers come near zero, where rounding would switch them."""
    return 2.5 * torch.randn(width).sign() + 0.1 * torch.randn(width)


def make_norm(width, training=True):
    return NormState(
        1 + 0.2 * torch.randn(width),
        far_from_zero(width),
        torch.randn(width),
        1 + torch.rand(width),
        0.1,
        1e-5,
        training,
    )


def make_embedding(subgraphs, width):
    distances = subgraphs.resistance
    weight = None if distances is None else torch.randn(distances.shape[1], width)
    return LabelEmbedding(torch.randn(subgraphs.num_codes, width), weight)


def make_layer(
    subgraphs,
    width,
    *,
    out=None,
    labels=False,
    edges=True,
    norm=None,
    mix=False,
    gate=True,
    **options,
):
    """Random weights; `norm` is None, "batch" or "running"."""
    out = width if out is None else out
    inner = width * (2 if labels else 1)
    hidden = 2 * inner

    def normed(channels):
        return make_norm(channels, norm == "batch") if norm else None

    return GINELayer(
        eps=torch.tensor(0.3),
        mlp=Perceptron(
            draw(inner, hidden),
            4 * far_from_zero(hidden),
            normed(hidden),
            draw(hidden, out),
            draw(out),
        ),
        labels=make_embedding(subgraphs, width) if labels else None,
        edges=torch.randn(TYPES, inner) if edges else None,
        mix=NodeMix(
            make_embedding(subgraphs, out) if gate else None,
            draw(4 * out, 2 * out),
            draw(out, 2 * out),
            (1 if norm else 3) * far_from_zero(2 * out),
            draw(2 * out, out),
            draw(out),
        )
        if mix
        else None,
        norm=normed(out),
        **options,
    )


def convert(value, move):
    """The same nested tuples with every tensor moved."""
    if isinstance(value, torch.Tensor):
        return move(value)
    if isinstance(value, tuple):
        return type(value)(*(convert(item, move) for item in value))
    return value


def flatten(value, fixed=("running_mean", "running_var")):
    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, tuple):
        return []
    fields = zip(value._fields, value, strict=True)
    return [t for name, item in fields if name not in fixed for t in flatten(item)]


def run(function, subgraphs, h, layer, dtype, rows=None):
    """Result, running statistics and all gradients, as float64 on the CPU.

    The gradient of the first `rows` results is that of a smaller store with as many.
    """
    h = h.to(subgraphs.device, dtype).requires_grad_()
    layer = convert(layer, lambda t: t.detach().clone().to(subgraphs.device, dtype))
    weights = [t.requires_grad_() for t in flatten(layer)]
    kinds = None if layer.edges is None else types(subgraphs, TYPES)
    out = function(h, subgraphs, layer, kinds)
    seen = out[:rows]
    direction = torch.linspace(0, 99, seen.numel(), dtype=dtype, device=out.device).cos()
    leaves = [h, *weights]
    grads = torch.autograd.grad((seen * direction.view(seen.shape)).sum(), leaves)
    norms = [norm for norm in (layer.mlp.norm, layer.norm) if norm is not None]
    running = [t for norm in norms for t in (norm.running_mean, norm.running_var)]
    return [t.detach().double().cpu() for t in (out, *running, *grads)]


def assert_close(found, exact, tolerance=4e-3):
    """Errors as those of TF32: 2^-11 a product, a few of them one after the other.

    Also a tenth of that in units of the largest gradient, for long sums that cancel.
    """
    largest = max(float(truth.norm()) for truth in exact)
    for result, truth in zip(found, exact, strict=True):
        assert result.shape == truth.shape
        assert result.isfinite().all()
        assert (result - truth).norm() <= tolerance * (truth.norm() + 0.1 * largest)


LAYERS = {
    "GIN": {"edges": False},
    "GINE": {"residual": True},
    "labels": {"labels": True},
    "batch": {"norm": "batch", "labels": True},
    "running": {"norm": "running", "activation": True},
    "mix": {"mix": True, "gate": False},
    "all": {"labels": True, "norm": "batch", "mix": True, "activation": True, "residual": True},
}


def small_subgraphs(device, **options):
    """Some 20 rows: one graph with a triangle, one with an isolated node."""
    graphs = store([(0, 1), (1, 2), (0, 2), (2, 3)], path(2), num_nodes=[4, 3])
    return extract_subgraphs(graphs, hops=1, labels="spd+resistance", **options).to(device)


def tiny_subgraphs(device):
    """Ten rows, where one way to compute is compared with another bit by bit."""
    graphs = store(path(3), num_nodes=[3])
    return extract_subgraphs(graphs, hops=1, labels="spd+resistance").to(device)


def read(function, subgraphs, h, gate, dtype):
    """States of nodes and all gradients, as float64 on the CPU."""
    h = h.to(subgraphs.device, dtype).requires_grad_()
    gate = convert(gate, lambda t: t.to(subgraphs.device, dtype).requires_grad_())
    out = function(h, subgraphs, gate)
    direction = torch.linspace(0, 99, out.numel(), dtype=dtype, device=out.device).cos()
    loss = 1e-7 * (out * direction.view(out.shape)).sum()
    grads = torch.autograd.grad(loss, [h, *flatten(gate)])
    return [t.detach().double().cpu() for t in (out, *(1e7 * g for g in grads))]
