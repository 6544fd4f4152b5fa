"""The fused gated layer on rows against the reference in float64."""

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.graphs.assemble import assemble
from i2gnn.models import IDGNN
from i2gnn.ops import GRUWeights, Projection, reference
from tests.helpers import random_graphs
from tests.ops.helpers import GRAPHS, assert_tf32_close

pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")


def draw(*shape):
    return torch.randn(shape) / shape[-2] ** 0.5


def make_inputs(subgraphs, width, projects=False, sends=False):
    """States, what is sent, four weights of the gates and two of the projection; or None."""
    rows = subgraphs.num_rows
    gates = [draw(width, 3 * width), draw(width, 3 * width), *draw(2, 1, 3 * width)[:, 0]]
    then = [draw(width, width), torch.randn(subgraphs.num_codes, width)] if projects else [None] * 2
    sent = torch.randn(rows, width) if sends else None
    return [torch.randn(rows, width), sent, *gates, *then]


def run(function, subgraphs, inputs, dtype):
    """Result and gradients by all inputs, as float64 on the CPU."""
    there = [
        None if x is None else x.detach().to(subgraphs.device, dtype).requires_grad_()
        for x in inputs
    ]
    h, sent, *weights = there
    then = None if weights[4] is None else Projection(*weights[4:])
    out = function(h, subgraphs, GRUWeights(*weights[:4]), then, sent)
    direction = torch.linspace(0.5, 1.5, out.numel(), dtype=dtype, device=out.device)
    leaves = [x for x in there if x is not None]
    grads = torch.autograd.grad((out * direction.view(out.shape)).sum(), leaves)
    return [tensor.detach().double().cpu() for tensor in (out, *grads)]


def check(subgraphs, inputs):
    with ops.backend("triton"):
        found = run(ops.gated_layer, subgraphs, inputs, torch.float32)
    assert_tf32_close(found, run(reference.gated_layer, subgraphs, inputs, torch.float64))


@pytest.mark.parametrize("width", [1, 16, 64])
@pytest.mark.parametrize(("projects", "sends"), [(False, False), (True, False), (False, True)])
def test_matches_reference(width, projects, sends, device):
    subgraphs = extract_subgraphs(random_graphs(3, nodes=(2, 6)), hops=2).to(device)
    check(subgraphs, make_inputs(subgraphs, width, projects, sends))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("identifiers", [0, 1, 2])
def test_odd_graphs_without_labels(name, identifiers, device):
    subgraphs = extract_subgraphs(GRAPHS[name](), hops=1, identifiers=identifiers, labels="none")
    check(subgraphs.to(device), make_inputs(subgraphs, 16, sends=True))


def test_other_widths_are_left_to_other_ops(device):
    subgraphs = extract_subgraphs(random_graphs(2, nodes=(3, 5)), hops=1).to(device)
    check(subgraphs, make_inputs(subgraphs, 65))
    inputs = make_inputs(subgraphs, 16)
    inputs[-2:] = draw(16, 5), torch.randn(subgraphs.num_codes, 5)
    check(subgraphs, inputs)


def test_gradients_may_be_transposed(device):
    subgraphs = extract_subgraphs(random_graphs(2, nodes=(3, 5)), hops=1).to(device)
    inputs = make_inputs(subgraphs, 16)

    def turned(function):
        return lambda *arguments: function(*arguments).t()

    with ops.backend("triton"):
        found = run(turned(ops.gated_layer), subgraphs, inputs, torch.float32)
    assert_tf32_close(found, run(turned(reference.gated_layer), subgraphs, inputs, torch.float64))


def test_spare_rows_are_zero_and_teach_nothing(device):
    data = extract_subgraphs(random_graphs(3, nodes=(3, 5)), hops=1, identifiers=1).to(device)
    data = data.with_targets(torch.zeros(data.num_nodes, 1, device=device), "node")
    room = {axis: int(sizes.sum()) + 3 for axis, sizes in data.sizes.items()}
    indices = torch.tensor([0, 1, 2, 3], device=device)  # the last stands for no graph
    spare = assemble(data, indices, room)
    torch.manual_seed(0)
    model = IDGNN(hidden_channels=16, num_layers=2, hops=1, readout="center").to(device)
    found = []
    for batch in (data, spare):
        with ops.backend("triton"):
            rows = model.rows(batch)
            out = model(batch)[: data.num_nodes]
            grads = torch.autograd.grad(out.square().sum(), list(model.parameters()))
        found.append([rows[: data.num_rows], out, *grads])
        assert not rows[data.num_rows :].any()
    for exact, with_spare in zip(*found, strict=True):
        torch.testing.assert_close(with_spare, exact, rtol=1e-3, atol=1e-5)


def test_what_is_sent_has_the_shape_of_the_states():
    subgraphs = extract_subgraphs(random_graphs(2, nodes=(3, 5)), hops=1)
    h, _, *weights = make_inputs(subgraphs, 4)
    with pytest.raises(ValueError, match=r"sent has shape \[1, 4\]; h has"):
        ops.gated_layer(h, subgraphs, GRUWeights(*weights[:4]), sent=h[:1])
