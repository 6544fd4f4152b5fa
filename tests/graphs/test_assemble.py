"""Batches: by the plain path and by the kernel, of exact and of fixed shape."""

import dataclasses

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.graphs import assemble as module
from i2gnn.graphs.assemble import assemble
from i2gnn.graphs.flat import offsets, owners, owners_by_search
from tests.helpers import random_graphs
from tests.named_graphs import awkward

CUDA = torch.cuda.is_available()
GPU = [pytest.mark.gpu, pytest.mark.skipif(not CUDA, reason="no CUDA device")]
CHOICES = [
    ("node", []),
    ("graph", []),
    ("node", [0]),
    ("graph", [4, 4]),
    ("node", [3, 3, 0]),
    ("graph", [6, 5, 4, 3, 2, 1, 0]),
]
"""Levels of the targets and graphs of `data`; number 4 is empty, 0 to 2 have isolated nodes."""


@pytest.fixture(
    params=[
        "plain",
        pytest.param("kernel", marks=pytest.mark.skipif(CUDA, reason="kernels are compiled")),
        pytest.param("cuda", marks=GPU),
    ]
)
def device(request, monkeypatch):
    """How batches are made: plainly, by the interpreted kernel, or by the compiled one."""
    if request.param == "kernel":
        copy_kernel = pytest.importorskip("i2gnn.graphs.copy_kernel")
        monkeypatch.setattr(module, "copy_ranges", copy_kernel.copy_ranges)
    return "cuda" if request.param == "cuda" else "cpu"


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=GPU)])
def place(request):
    return request.param


def data(level="node", identifiers=2, y=None):
    """Subgraphs with columns of all kinds and widths."""
    graphs = awkward()
    torch.manual_seed(0)
    graphs = dataclasses.replace(
        graphs,
        x=torch.randn(graphs.num_nodes, 130, dtype=torch.float64),
        edge_attr=torch.randint(0, 9, (graphs.num_edges, 3)),
    )
    y = torch.randn(graphs.length(level), 2) if y is None else y
    return extract_subgraphs(
        graphs.with_targets(y, level), hops=2, identifiers=identifiers, labels="spd+resistance"
    )


def expected(store, chosen):
    """Columns of a batch, graph by graph."""
    found = {name: [] for name in store.columns}
    length = dict.fromkeys((*store.sizes, "graph"), 0)
    for graph in chosen:
        for name, column in store.columns.items():
            axis, into = store.axis_of(name), store.index_of(name)
            ptr = store.offsets[axis] if axis != "graph" else torch.arange(len(store) + 1)
            values = column[int(ptr[graph]) : int(ptr[graph + 1])]
            if into is not None:
                values = values - int(store.offsets[into][graph]) + length[into]
            found[name].append(values.to(column.dtype))
        for axis in length:
            length[axis] += 1 if axis == "graph" else int(store.sizes[axis][graph])
    return {
        name: torch.cat(parts) if parts else store.columns[name][:0]
        for name, parts in found.items()
    }


@pytest.mark.parametrize(("level", "chosen"), CHOICES, ids=str)
def test_batch_holds_the_chosen_graphs(device, level, chosen):
    store = data(level)
    batch = store.to(device).batch(chosen)
    assert len(batch) == len(chosen) and batch.graph_ptr is None
    for name, column in expected(store, chosen).items():
        result = batch.columns[name]
        assert result.dtype == column.dtype
        assert torch.equal(result.cpu(), column), name


@pytest.mark.parametrize("y", [torch.bool, torch.int64, torch.float64])
def test_batch_takes_targets_of_any_type(device, y):
    store = data("graph", y=torch.arange(7).unsqueeze(1).to(y))
    assert torch.equal(store.to(device).batch([5, 0, 1]).y.cpu(), store.y[[5, 0, 1]])


def fixed(store, chosen, **more):
    """A batch of 9 graphs and 5 spare items on every axis, and more on some."""
    none = len(store)
    indices = torch.tensor([*chosen, *[none] * (9 - len(chosen))], device=store.device)
    room = {axis: 5 + more.get(axis, 0) for axis in store.sizes}
    capacity = {axis: int(n[chosen].sum()) + room[axis] for axis, n in store.sizes.items()}
    return assemble(store, indices, capacity)


@pytest.mark.parametrize(("level", "chosen"), CHOICES, ids=str)
def test_fixed_shape_has_the_same_graphs_and_spare_room(device, level, chosen):
    store = data(level)
    batch = fixed(store.to(device), chosen)
    assert len(batch) == 9
    for axis, sizes in store.sizes.items():
        assert batch.length(axis) == sizes[chosen].sum() + 5
    for name, column in expected(store, chosen).items():
        result, into = batch.columns[name].cpu(), store.index_of(name)
        assert result.dtype == column.dtype
        assert len(result) == batch.length(store.axis_of(name))
        assert torch.equal(result[: len(column)], column), name
        spare = result[len(column) :]
        if name == "y":
            assert len(spare) and spare.isnan().all()
        else:
            assert (spare == (0 if into is None else batch.length(into) - 1)).all(), name


@pytest.mark.parametrize("identifiers", [0, 1, 2])
@pytest.mark.parametrize("chosen", [[], [4], [3, 3, 0], [6, 5, 4, 3, 2, 1, 0]], ids=str)
def test_maps_of_a_fixed_shape_keep_spare_items_apart(place, chosen, identifiers):
    store = data(identifiers=identifiers).to(place)
    # Some axes have more spare items than others, whatever maps from one to the other.
    for room in ({}, {"row": 40}, {"branch": 40}, {"pair": 40}, {"node": 40}):
        batch, exact = fixed(store, chosen, **room), store.batch(chosen)
        for name, into in MAPS.items():
            result, used = getattr(batch, name), getattr(exact, name)
            assert result.dtype == used.dtype
            assert torch.equal(result[: len(used)], used), name
            low, high = exact.length(into), batch.length(into)
            assert ((result[len(used) :] >= low) & (result[len(used) :] < high)).all(), name
        for name in ("branch_ptr", "pair_ptr", "link_ptr", "row_ptr", "edge_ptr", "node_ptr"):
            result, used = getattr(batch, name), getattr(exact, name)
            assert torch.equal(result[: len(used)], used), name
            assert (result[len(used) :] == used[-1]).all(), name
        assert torch.equal(batch.row_ptr.diff(), batch.row_count)


MAPS = {
    "pair_to_root": "node",
    "branch_to_root": "node",
    "branch_to_node": "node",
    "row_to_pair": "pair",
    "row_to_branch": "branch",
    "row_to_node": "node",
    "row_of_root": "row",
    "row_of_branch": "row",
    "link_to_receiver": "pair",
    "link_to_row": "row",
    "node_to_graph": "graph",
    "edge_to_graph": "graph",
    "edge_to_node": "node",
}


def mean(pool):
    return lambda h, s: pool(h, s, "mean")


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_ops_leave_spare_items_out(backend):
    store = data()
    chosen = [3, 0, 6, 4]
    batch, exact = fixed(store, chosen), store.batch(chosen)
    with ops.backend(backend):
        for op, axis in (
            (ops.aggregate, "row"),
            (ops.pool_nodes, "row"),
            (ops.pool_branches, "branch"),
            (ops.pool_context, "row"),
            (ops.pool_graphs, "node"),
            (ops.spread_nodes, "node"),
            (mean(ops.pool_nodes), "row"),
            (mean(ops.pool_branches), "branch"),
            (mean(ops.pool_context), "row"),
            (mean(ops.pool_graphs), "node"),
            (ops.read_subgraphs, "row"),
            (lambda h, s: ops.aggregate(h, s, torch.ones(s.num_edges, 3).to(h)), "row"),
        ):
            h = torch.randn(exact.length(axis), 3, dtype=torch.float64, requires_grad=True)
            wide = torch.cat([h, h.new_full((batch.length(axis) - len(h), 3), 1e9)])
            out, wide_out = op(h, exact), op(wide, batch)
            torch.testing.assert_close(wide_out[: len(out)], out)
            assert wide_out.isfinite().all()
            back = torch.randn_like(out)
            (grad,) = torch.autograd.grad(out, h, back)
            (wide_grad,) = torch.autograd.grad(
                wide_out, wide, torch.cat([back, torch.zeros_like(wide_out[len(out) :])])
            )
            torch.testing.assert_close(wide_grad[: len(h)], grad)
            assert not wide_grad[len(h) :].any()


def test_fixed_shape_refuses_targets_that_cannot_be_missing():
    store = data("graph", y=torch.ones(7, 1, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"y is torch.int64; .* needs floats"):
        fixed(store, [0])


@pytest.mark.parametrize("sizes", [[], [0], [3], [0, 2, 0, 0, 5, 0], [1, 1]], ids=str)
@pytest.mark.parametrize("spare", [0, 4])
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_owners(sizes, spare, kind):
    ptr = offsets(torch.tensor(sizes, dtype=kind), kind)
    total = sum(sizes) + (spare if sizes else 0)
    found = [segment for segment, size in enumerate(sizes) for _ in range(size)]
    found += [len(sizes) - 1] * (total - len(found))
    for function in (owners, owners_by_search):
        result = function(ptr, total)
        assert result.dtype == kind
        assert result.tolist() == found


def test_maps_are_short_where_they_can_be():
    batch = extract_subgraphs(random_graphs(3), hops=2).batch([1, 2])
    for name in ("row_ptr", "link_ptr", "row_to_pair", "row_to_branch", "link_to_row"):
        assert getattr(batch, name).dtype == torch.int32
    assert batch.label_code.dtype == torch.int32
