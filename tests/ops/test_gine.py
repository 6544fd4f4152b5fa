"""The fused GIN and GINE layers against the reference in float64."""

import copy
import dataclasses

import pytest
import torch

from i2gnn import I2GNN, extract_subgraphs, ops
from i2gnn.models.i2gnn import ZINC_OPTIONS
from i2gnn.nn import BatchNorm
from i2gnn.ops import reference
from tests.helpers import with_columns
from tests.named_graphs import path, store
from tests.ops.gine import (
    LAYERS,
    TYPES,
    assert_close,
    convert,
    draw_rows,
    flatten,
    make_embedding,
    make_layer,
    read,
    run,
    small_subgraphs,
    tiny_subgraphs,
)
from tests.ops.helpers import GRAPHS, types, with_spare

pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")


def assert_matches(subgraphs, width, tolerance=4e-3, **options):
    h = draw_rows(subgraphs.num_rows, width)
    layer = make_layer(subgraphs, width, **options)
    with ops.backend("triton"):
        found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    assert_close(found, run(reference.gine_layer, subgraphs, h, layer, torch.float64), tolerance)


FEW = 12e-3
"""Of a handful of numbers, a normalisation takes away the leading digits."""


@pytest.mark.parametrize("name", LAYERS)
def test_matches_reference(name, device):
    assert_matches(small_subgraphs(device), 16, **LAYERS[name])


@pytest.mark.parametrize(
    ("width", "out"),
    [
        (1, 5),
        pytest.param(9, 33, marks=pytest.mark.slow),
        pytest.param(63, 20, marks=pytest.mark.slow),
        pytest.param(64, 64, marks=pytest.mark.slow),
    ],
)
def test_widths(width, out, device):
    """The widest is that of the paper's model for ZINC."""
    torch.manual_seed(1)  # with other seeds, one of thousands of ReLUs may switch, and change much
    options = LAYERS["all"] | {"residual": width == out}
    assert_matches(small_subgraphs(device), width, FEW, out=out, **options)


@pytest.mark.parametrize("labels", ["identity", "resistance"])
def test_labels_of_one_kind(labels, device):
    graphs = store([(0, 1), (1, 2)], num_nodes=[4])
    subgraphs = extract_subgraphs(graphs, hops=1, labels=labels).to(device)
    assert_matches(subgraphs, 16, labels=True, mix=True)


@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name, device):
    subgraphs = extract_subgraphs(GRAPHS[name](), hops=1, labels="spd+resistance").to(device)
    assert_matches(subgraphs, 3, FEW, **LAYERS["all"])


def test_no_spread(device):
    """A single row, and rows that are all alike: their variance is exactly zero."""
    for nodes in (1, 3):
        subgraphs = extract_subgraphs(store([], num_nodes=[nodes]), hops=1).to(device)
        h = torch.full((nodes, 16), 3.3)
        layer = make_layer(subgraphs, 16, norm="batch", activation=True)
        with ops.backend("triton"):
            found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
        assert_close(found[:5], run(reference.gine_layer, subgraphs, h, layer, torch.float64)[:5])
        assert all(t.isfinite().all() for t in found)


def test_spare_rows_are_left_out(device):
    """Neither statistics nor gradients see them, and their results are zeros."""
    subgraphs = small_subgraphs(device)
    padded = with_spare(subgraphs)
    layer = make_layer(subgraphs, 16, **LAYERS["all"])
    h = draw_rows(subgraphs.num_rows, 16)
    spare = torch.full((padded.num_rows - len(h), 16), 1e9)
    exact = run(reference.gine_layer, subgraphs, h, layer, torch.float64)
    with ops.backend("triton"):
        found = run(ops.gine_layer, padded, torch.cat([h, spare]), layer, torch.float32, len(h))
    for place in (0, 5):  # the result and the gradient by h
        assert not found[place][len(h) :].any()
        found[place] = found[place][: len(h)]
    assert_close(found, exact)


def test_small_and_large_gradients_keep_their_digits(device):
    subgraphs = small_subgraphs(device)
    h, layer = draw_rows(subgraphs.num_rows, 16), make_layer(subgraphs, 16, **LAYERS["all"])
    exact = run(reference.gine_layer, subgraphs, h, layer, torch.float64)
    for factor in (1e-9, 1e9):
        with ops.backend("triton"):
            found = run(
                lambda *a, f=factor: f * ops.gine_layer(*a), subgraphs, h, layer, torch.float32
            )
        running = found[1:5]
        scaled = [t / factor for t in (found[0], *found[5:])]
        assert_close([scaled[0], *running, *scaled[1:]], exact)


def test_same_result_every_time(device):
    subgraphs = tiny_subgraphs(device)
    h, layer = draw_rows(subgraphs.num_rows, 16), make_layer(subgraphs, 16, **LAYERS["all"])
    with ops.backend("triton"):
        once = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
        again = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


def test_several_layers_at_once_are_one_after_the_other(device):
    """Bit by bit, though gradients by weights come on a second stream, and later."""
    subgraphs = tiny_subgraphs(device)
    kinds = types(subgraphs, TYPES)
    made = [make_layer(subgraphs, 16, **LAYERS["all"]) for _ in range(3)]
    h = draw_rows(subgraphs.num_rows, 16).to(device).requires_grad_()
    found = []
    for together in (True, False):
        layers = [convert(layer, lambda t: t.detach().clone().to(device)) for layer in made]
        weights = [t.requires_grad_() for layer in layers for t in flatten(layer)]
        with ops.backend("triton"):
            if together:
                out = ops.gine_layers(h, subgraphs, layers, kinds)
            else:
                out = h
                for layer in layers:
                    out = ops.gine_layer(out, subgraphs, layer, kinds)
            found.append([out, *torch.autograd.grad(out.square().sum(), [h, *weights])])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_exact_float32_is_exact():
    """Kernels of TF32's precision must not run unless that was allowed; see test_choice.py."""
    subgraphs = small_subgraphs("cuda")
    h, layer = draw_rows(subgraphs.num_rows, 16), make_layer(subgraphs, 16, **LAYERS["all"])
    found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    assert_close(found, run(reference.gine_layer, subgraphs, h, layer, torch.float64), 1e-5)


def test_what_does_not_fit_takes_the_reference(device):
    subgraphs = small_subgraphs(device)
    h = draw_rows(subgraphs.num_rows, 150)
    layer = make_layer(subgraphs, 150)
    with ops.backend("triton"):
        assert not ops.fits_gine_layer(h.to(device), subgraphs, layer)
        found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    assert_close(found, run(reference.gine_layer, subgraphs, h, layer, torch.float64), 1e-4)


def test_edges_and_types_need_each_other():
    subgraphs = small_subgraphs("cpu")
    h, layer = draw_rows(subgraphs.num_rows, 4), make_layer(subgraphs, 4)
    with pytest.raises(ValueError, match="need each other"):
        ops.gine_layer(h, subgraphs, layer)
    with pytest.raises(ValueError, match="edge_type has shape"):
        ops.gine_layer(h, subgraphs, layer, torch.zeros(1, dtype=torch.int64))


def test_a_part_of_the_roots_has_no_node_states():
    subgraphs = dataclasses.replace(small_subgraphs("cpu"), complete=False)
    h = draw_rows(subgraphs.num_rows, 4)
    layer = make_layer(subgraphs, 4, edges=False, mix=True)
    with pytest.raises(ValueError, match="mix joins the subgraphs of different roots"):
        ops.gine_layer(h, subgraphs, layer)


@pytest.mark.parametrize("width", [5, 16])
@pytest.mark.parametrize("gated", [True, False])
def test_node_states(width, gated, device):
    subgraphs = small_subgraphs(device)
    h = draw_rows(subgraphs.num_rows, width)
    gate = make_embedding(subgraphs, width) if gated else None
    exact = read(reference.node_states, subgraphs, h, gate, torch.float64)
    with ops.backend("triton"):
        found = read(ops.node_states, subgraphs, h, gate, torch.float32)
    assert_close(found, exact, 1e-3)
    assert_close(read(ops.node_states, subgraphs, h, gate, torch.float32), exact, 1e-5)


class TestModel:
    """The paper's model for ZINC, small: all its layers take the fused path."""

    def run(self, model, batch, device, dtype, backend):
        """Outputs, running statistics, and the gradients of all weights in one vector."""
        model = copy.deepcopy(model).to(device, dtype)
        with ops.backend(backend):
            out = model(batch.to(device, dtype))
            (out * torch.linspace(1, 2, len(out)).to(out).unsqueeze(1)).sum().backward()
        grads = torch.cat([p.grad.flatten() for p in model.parameters()])
        return [t.detach().double().cpu() for t in (out, *model.buffers(), grads)]

    @pytest.mark.parametrize("training", [True, False])
    def test_matches_reference(self, training, device, monkeypatch):
        options = ZINC_OPTIONS | {"hidden_channels": 16, "num_layers": 2, "hops": 1}
        model = I2GNN(**options).train(training)
        graphs = store([(0, 1), (1, 2), (0, 2), (2, 3)], path(2), num_nodes=[4, 3])
        source, target = graphs.edge_index
        types = torch.arange(graphs.num_nodes).unsqueeze(1) % 5
        batch = model.extract(
            with_columns(graphs, x=types, edge_attr=((source + target) % 4).unsqueeze(1))
        )
        exact = self.run(model, batch, device, torch.float64, "reference")
        monkeypatch.delattr(reference, "gine_layer")
        monkeypatch.delattr(BatchNorm, "forward")
        found = self.run(model, batch, device, torch.float32, "triton")
        for result, truth in zip(found[:-1], exact[:-1], strict=True):
            assert (result - truth).norm() <= 4e-3 * truth.norm()
        # In training, some ReLUs switch sides, where the gradient jumps; any rounding does that.
        assert (found[-1] - exact[-1]).norm() <= (3e-2 if training else 4e-3) * exact[-1].norm()
