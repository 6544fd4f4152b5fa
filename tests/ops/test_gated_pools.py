"""Pools of ego-nets and contexts with gates by labels, against their definition."""

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.graphs.assemble import assemble
from i2gnn.ops import reference
from tests.helpers import on_gpu, random_graphs
from tests.ops.helpers import GRAPHS

triton = pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")


def make(graphs, width, device, **options):
    """Ego-nets, rows and two tables of gates."""
    subgraphs = extract_subgraphs(graphs, **{"hops": 2, "identifiers": 1, **options}).to(device)
    sizes = (subgraphs.num_rows, subgraphs.num_codes, subgraphs.num_codes)
    return subgraphs, [torch.randn(size, width, device=device) for size in sizes]


def gate(table):
    return ops.LabelEmbedding(table, None)


def run(function, subgraphs, inputs, dtype, nodes=None):
    """The pools, of the first nodes, and the gradients by rows and tables."""
    h, *tables = leaves = [tensor.to(dtype).requires_grad_() for tensor in inputs]
    out = function(h, subgraphs, *map(gate, tables))[:nodes]
    back = torch.linspace(-1, 1, out.numel(), dtype=dtype, device=out.device).view(out.shape)
    return [t.detach().double() for t in (out, *torch.autograd.grad(out, leaves, back))]


def assert_matches(subgraphs, inputs):
    with ops.backend("triton"):
        found = run(ops.gated_pools, subgraphs, inputs, torch.float32)
    exact = run(reference.gated_pools, subgraphs, inputs, torch.float64)
    for result, truth in zip(found, exact, strict=True):
        assert result.shape == truth.shape and result.isfinite().all()
        assert (result - truth).norm() <= 2e-6 * truth.norm() + 1e-6


@pytest.mark.parametrize("width", [1, 16, 63, 130])
def test_widths(width, device):
    assert_matches(*make(random_graphs(3, nodes=(2, 9)), width, device))


@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name, device):
    assert_matches(*make(GRAPHS[name](), 8, device, hops=1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype, device):
    """Sums over rows are float32, whatever the rows are."""
    subgraphs, inputs = make(random_graphs(3, nodes=(2, 9)), 16, device)
    inputs = [tensor.to(dtype) for tensor in inputs]
    with ops.backend("triton"):
        found = run(ops.gated_pools, subgraphs, inputs, dtype)
    exact = run(reference.gated_pools, subgraphs, inputs, torch.float64)
    for result, truth in zip(found, exact, strict=True):
        assert (result - truth).norm() <= 2 * torch.finfo(dtype).eps * truth.norm()


@pytest.mark.parametrize("backend", ["triton", "auto"])
def test_means(backend, device):
    subgraphs, (h, *tables) = make(random_graphs(3, nodes=(2, 9)), 4, device)
    arguments = (h, subgraphs, *map(gate, tables), "mean")
    with ops.backend(backend):
        found = ops.gated_pools(*arguments)
    torch.testing.assert_close(found, reference.gated_pools(*arguments))


def test_more_rows_than_a_tile_has(device):
    assert_matches(*make(random_graphs(1, nodes=(20, 20)), 4, device, labels="spd_pred"))


def test_spare_rows_are_left_out(device):
    data, (h, *tables) = make(random_graphs(3, nodes=(3, 5)), 8, device)
    room = {axis: int(sizes.sum()) + 3 for axis, sizes in data.sizes.items()}
    spare = assemble(data, torch.tensor([0, 1, 2, 3], device=device), room)  # 3: no graph
    more = torch.full((spare.num_rows - len(h), 8), float("nan"), device=device)
    leaves = [torch.cat([h, more]), *tables]
    with ops.backend("triton"):
        found = run(ops.gated_pools, spare, leaves, torch.float32, data.num_nodes)
        exact = run(ops.gated_pools, data, [h, *tables], torch.float32, data.num_nodes)
    assert not found[1][len(h) :].any()
    found[1] = found[1][: len(h)]
    for result, truth in zip(found, exact, strict=True):
        torch.testing.assert_close(result, truth)


def test_too_many_labels_are_looked_up(device, monkeypatch):
    subgraphs, inputs = make(random_graphs(2, nodes=(3, 6)), 4, device)
    monkeypatch.setattr(triton.gated_pools.__globals__["GatedPools"], "forward", None)
    with pytest.raises(TypeError), ops.backend("triton"):
        ops.gated_pools(inputs[0], subgraphs, *map(gate, inputs[1:]))
    long = [torch.cat([table, table.new_zeros(65, 4)]) for table in inputs[1:]]
    with ops.backend("triton"):
        found = ops.gated_pools(inputs[0], subgraphs, *map(gate, long))
    torch.testing.assert_close(
        found, reference.gated_pools(inputs[0], subgraphs, *map(gate, inputs[1:]))
    )


def test_tables_must_have_all_labels():
    subgraphs, (h, inside, around) = make(random_graphs(2, nodes=(3, 6)), 4, "cpu")
    with pytest.raises(ValueError, match="around has 1 rows; these labels have"):
        ops.gated_pools(h, subgraphs, gate(inside), gate(around[:1]))


class TestOnGPU:
    pytestmark = on_gpu

    def test_many_ego_nets(self):
        graphs = random_graphs(200, nodes=(5, 30))
        assert_matches(*make(graphs, 64, "cuda", hops=3, labels="spd_pred"))
