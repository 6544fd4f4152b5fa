"""Triton's kernels against the references: interpreted on a CPU, compiled on a GPU."""

import math

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.ops import reference
from tests.helpers import no_waiting, on_gpu, random_graphs
from tests.named_graphs import path, store
from tests.ops.helpers import GRAPHS, TOLERANCE, star, types, with_spare

triton = pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")

SMALL = store(path(3), [], num_nodes=[3, 1])


def aggregate(ops, s, h):
    return ops.aggregate(h, s)


def aggregate_edges(ops, s, h, edge_attr):
    return ops.aggregate(h, s, edge_attr)


def aggregate_types(ops, s, h, table):
    return ops.aggregate(h, s, table, types(s, len(table)))


def lookup(ops, s, table):
    return ops.lookup(table, types(s, len(table), s.num_rows))


def pool(name, reduce):
    return lambda ops, s, h: getattr(ops, name)(h, s, reduce)


OPS = {
    "aggregate": (aggregate, ("row",)),
    "aggregate, edges": (aggregate_edges, ("row", "edge")),
    "aggregate, 4 types": (aggregate_types, ("row", 4)),
    "aggregate, 20 types": (aggregate_types, ("row", 20)),
    "lookup, 5 codes": (lookup, (5,)),
    "lookup, 100 codes": (lookup, (100,)),
    "spread_nodes": (lambda ops, s, x: ops.spread_nodes(x, s), ("node",)),
    "read_subgraphs": (lambda ops, s, h: ops.read_subgraphs(h, s), ("row",)),
    "read_subgraphs, gate": (lambda ops, s, h, g: ops.read_subgraphs(h, s, g), ("row", "row")),
}
for axis, name in (
    ("row", "pool_nodes"),
    ("branch", "pool_branches"),
    ("node", "pool_graphs"),
    ("row", "pool_context"),
):
    OPS |= {f"{name}, {reduce}": (pool(name, reduce), (axis,)) for reduce in ("sum", "mean")}


def inputs_of(name, s, width):
    """Random inputs of an op, by their axes or lengths."""
    lengths = [n if isinstance(n, int) else s.length(n) for n in OPS[name][1]]
    return [torch.randn(length, width).to(s.device) for length in lengths]


def run(module, name, s, inputs, dtype):
    """The op's output and its gradients, by a fixed gradient of the output."""
    leaves = [t.to(dtype).requires_grad_() for t in inputs]
    out = OPS[name][0](module, s, *leaves)
    back = torch.linspace(-1, 1, out.numel(), device=out.device).reshape(out.shape)
    grads = torch.autograd.grad(out, leaves, back.bfloat16().to(dtype))
    return [out.detach(), *grads]


def kernels(name, s, inputs, dtype=torch.float32):
    with ops.backend("triton"):
        return run(ops, name, s, inputs, dtype)


def assert_matches(name, s, width, dtype=torch.float32):
    inputs = [t.to(dtype) for t in inputs_of(name, s, width)]
    results = kernels(name, s, inputs, dtype)
    exact = run(reference, name, s, inputs, torch.float64)
    plain = run(reference, name, s, inputs, torch.float32)
    for result, truth, single in zip(results, exact, plain, strict=True):
        assert result.dtype == dtype and result.shape == truth.shape
        if truth.numel():
            bound = TOLERANCE[dtype] * max(1.0, float(truth.abs().max()))
            # Sums of thousands of numbers that cancel: no worse than plain float32.
            bound = max(bound, 4 * float((single - truth).abs().max()))
            assert float((result - truth).abs().max()) < bound


ONE_PER_KERNEL = [
    "aggregate",
    "aggregate, edges",
    "aggregate, 4 types",
    "lookup, 5 codes",
    "spread_nodes",
    "read_subgraphs, gate",
    "pool_nodes, mean",
    "pool_branches, mean",
    "pool_context, mean",
]


@pytest.mark.parametrize("width", [1, 63, 64, 100, 128, 300])  # and 16 below
@pytest.mark.parametrize("name", ONE_PER_KERNEL)
def test_widths(name, width, device):
    assert_matches(name, extract_subgraphs(SMALL, hops=1).to(device), width)


@pytest.mark.parametrize("name", ONE_PER_KERNEL)
def test_bfloat16(name, device):
    assert_matches(name, extract_subgraphs(SMALL, hops=1).to(device), 16, torch.bfloat16)


@pytest.mark.parametrize("graphs", GRAPHS)
@pytest.mark.parametrize("name", OPS)
def test_graphs(name, graphs, device):
    assert_matches(name, extract_subgraphs(GRAPHS[graphs](), hops=1).to(device), 16)


@pytest.mark.parametrize("name", ONE_PER_KERNEL)
def test_zero_identifiers(name, device):
    assert_matches(name, extract_subgraphs(SMALL, hops=0, identifiers=0).to(device), 16)


@pytest.mark.parametrize("degree", [33, 200])
@pytest.mark.parametrize("name", ONE_PER_KERNEL)
def test_high_degrees(name, degree, device):
    """Narrow, so that the 40,600 rows of a star with 200 leaves are few tiles."""
    quick = name in ("aggregate", "pool_nodes, mean")
    if device == "cpu" and degree == 200 and not quick:
        pytest.skip("too many programs for the interpreter")
    identifiers = 2 if device == "cuda" or (quick and degree == 33) else 1
    s = extract_subgraphs(store(star(degree)), hops=1, identifiers=identifiers)
    assert_matches(name, s.to(device), 1)


SPARE = [name for name in ONE_PER_KERNEL if not name.startswith("lookup")]


@pytest.mark.parametrize("name", [*SPARE, "pool_graphs, mean"])
def test_spare_items_are_left_out(name, device):
    s = extract_subgraphs(SMALL, hops=1).to(device)
    padded = with_spare(s)
    op, axes = OPS[name]
    inputs = inputs_of(name, s, 16)
    wide = [
        t if isinstance(axis, int) else _filled_up(t, padded.length(axis))
        for t, axis in zip(inputs, axes, strict=True)
    ]
    leaves, wide_leaves = ([t.requires_grad_() for t in ts] for ts in (inputs, wide))
    with ops.backend("triton"):
        out, wide_out = op(ops, s, *leaves), op(ops, padded, *wide_leaves)
    back = torch.randn_like(out)
    grads = torch.autograd.grad(out, leaves, back)
    wide_grads = torch.autograd.grad(wide_out, wide_leaves, _filled_up(back, len(wide_out)))
    for small, large in zip((out, *grads), (wide_out, *wide_grads), strict=True):
        assert torch.equal(large[: len(small)], small)
        assert not large[len(small) :].any()


def _filled_up(tensor, length):
    """Spare items hold anything; a large number shows where it gets."""
    return torch.cat([tensor, tensor.new_full((length - len(tensor), tensor.shape[1]), 1e9)])


def test_a_long_range_is_summed_in_parts(device):
    s = extract_subgraphs(store([], num_nodes=[700]), hops=1, identifiers=0).to(device)
    assert_matches("pool_graphs, mean", s, 2)


def test_codes_outside_of_a_table_give_nan(device):
    """Where they are not refused before, which would have to wait for a GPU."""
    s = extract_subgraphs(SMALL, hops=1).to(device)
    table = torch.randn(3, 4, device=device, requires_grad=True)
    code = torch.tensor([0, 3, -1, 2], device=device)
    with ops.backend("triton"):
        out = triton.lookup(table, code)
        assert out.isnan().any(1).tolist() == [False, True, True, False]
        out.backward(torch.ones_like(out))
        assert table.grad[:, 0].tolist() == [1, 0, 1]
        wrong = torch.full((s.num_edges,), 3, device=device)
        message = triton.aggregate(torch.ones(s.num_rows, 4, device=device), s, table, wrong)
        assert message.isnan().any(1).equal(s.link_count[s.row_to_pair] > 0)


def test_large_tables_take_the_reference(device):
    table = torch.randn(1000, 4, device=device)
    code = torch.tensor([999, 0], device=device)
    with ops.backend("triton"):
        assert torch.equal(ops.lookup(table, code), table[code])


def test_nan_is_not_hidden(device):
    s = extract_subgraphs(store([(0, 1)]), hops=1).to(device)
    h = torch.full((s.num_rows, 2), float("nan"), device=device)
    with ops.backend("triton"):
        assert ops.aggregate(h, s, torch.ones(s.num_edges, 2, device=device)).isnan().all()


def test_rows_that_are_not_contiguous(device):
    s = extract_subgraphs(SMALL, hops=1).to(device)
    h = torch.randn(16, s.num_rows, device=device).t()
    with ops.backend("triton"):
        assert torch.equal(ops.aggregate(h, s), ops.aggregate(h.contiguous(), s))


def test_what_the_kernels_cannot_take(device, monkeypatch):
    s = extract_subgraphs(SMALL, hops=1).to(device)
    double = torch.ones(s.num_rows, 2, dtype=torch.float64, device=device)
    assert ops.pool_nodes(double, s).dtype == torch.float64
    with ops.backend("triton"), pytest.raises(ValueError, match="got {torch.float64}"):
        ops.pool_nodes(double, s)
    monkeypatch.setattr(triton, "INTERPRETED", False)
    with ops.backend("triton"), pytest.raises(RuntimeError, match="TRITON_INTERPRET=1 before"):
        ops.pool_nodes(double.float().cpu(), s)


class TestOnGPU:
    pytestmark = on_gpu

    @pytest.mark.parametrize("name", OPS)
    def test_two_runs_are_the_same(self, name):
        s = extract_subgraphs(random_graphs(100, nodes=(8, 20)), hops=3).to("cuda")
        inputs = inputs_of(name, s, 64)
        for first, second in zip(kernels(name, s, inputs), kernels(name, s, inputs), strict=True):
            assert torch.equal(first, second)

    @pytest.mark.parametrize("name", OPS)
    @pytest.mark.parametrize("dtype", TOLERANCE)
    @pytest.mark.parametrize("identifiers", [0, 1, 2])
    def test_random_graphs(self, name, dtype, identifiers):
        graphs = random_graphs(100, nodes=(1, 20))
        s = extract_subgraphs(graphs, hops=3, identifiers=identifiers).to("cuda")
        assert_matches(name, s, 64, dtype)

    @pytest.mark.parametrize("name", OPS)
    def test_nothing_waits_for_the_device(self, name):
        """Not even to prepare the indices of a new batch."""
        graphs = extract_subgraphs(random_graphs(20), hops=2).to("cuda")
        warm, batch = graphs.batch([0, 1]), graphs.batch(range(2, 20))
        run(ops, name, warm, inputs_of(name, warm, 64), torch.float32)  # compiles
        inputs = inputs_of(name, batch, 64)
        with no_waiting():
            run(ops, name, batch, inputs, torch.float32)

    def test_kernels_are_the_default(self, monkeypatch):
        s = extract_subgraphs(SMALL, hops=1).to("cuda")
        h = torch.ones(s.num_rows, 4, device="cuda")
        monkeypatch.delattr(reference, "aggregate")
        ops.aggregate(h, s)
        with pytest.raises(AttributeError), ops.backend("reference"):
            ops.aggregate(h, s)


@pytest.mark.parametrize("largest", [0.0, 3e-38, 1e-6, 0.5, 1.0, 1.5, 300.0, 3e38])
@pytest.mark.parametrize("shape", [(1,), (0, 4), (50, 100)])
def test_scales_bring_the_largest_number_to_about_one(device, largest, shape):
    from i2gnn.ops.triton.scaling import find_scale

    grad = torch.rand(shape, device=device) * 2 * largest - largest
    grad.flatten()[-1:] = -largest
    scale = find_scale(grad).item()
    assert math.frexp(scale)[0] == 0.5  # a power of two
    if 1e-30 < largest < 1e30 and grad.numel():
        assert 0.5 <= largest * scale <= 1
