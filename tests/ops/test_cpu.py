"""Gated layers on the CPU, against the reference in outputs and gradients."""

import dataclasses

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.graphs.assemble import assemble
from i2gnn.ops import GRUWeights, Projection, reference
from i2gnn.ops.cpu.slices import LONGEST, SLICE, cut, fits_whole_roots
from i2gnn.ops.cpu.stack import ROWS_PER_TYPE
from tests.helpers import assert_matches_reference, random_graphs
from tests.named_graphs import awkward, cycle, path, store
from tests.ops.helpers import star


def fan(leaves):
    """A star whose leaves form a path."""
    return star(leaves) + [(leaf, leaf + 1) for leaf in range(1, leaves)]


GRAPHS = {
    "awkward": awkward,
    "many slices": lambda: random_graphs(9, nodes=(6, 14)),
    "degree 33": lambda: store(fan(33), star(1), [], num_nodes=[34, 2, 1]),
    "no edges": lambda: store([], num_nodes=[3]),
    "nothing": lambda: store([], num_nodes=[0]),
}


@pytest.fixture(params=GRAPHS)
def graphs(request):
    return GRAPHS[request.param]()


def draw(*shape):
    return torch.randn(shape) / shape[-2] ** 0.5


def draw_layer(subgraphs, width, out=None):
    """Weights of one layer, and of a projection to width `out` if one is given."""
    weights = [draw(width, 3 * width), draw(width, 3 * width), draw(1, 3 * width)[0]]
    weights += [draw(1, 3 * width)[0]]
    if out is not None:
        weights += [draw(width, out), torch.randn(subgraphs.num_codes, out)]
    return weights


def check_layer(subgraphs, width, out=None):
    def layer(module):
        def run(h, *weights):
            then = Projection(*weights[4:]) if out is not None else None
            return module.gated_layer(h, subgraphs, GRUWeights(*weights[:4]), then)

        return run

    inputs = [torch.randn(subgraphs.num_rows, width), *draw_layer(subgraphs, width, out)]
    assert_matches_reference(layer(ops), layer(reference), inputs)


def draw_stack(subgraphs, width, depth, projects):
    """Table, layers and projections of a stack, flat."""
    labels = subgraphs.num_codes
    shapes = [(labels, width), *[(depth, width, 3 * width)] * 2, *[(depth, 3 * width)] * 2]
    if projects:
        shapes += [(depth - 1, width, width), (depth - 1, labels, width)]
    return [draw(*shape) for shape in shapes]


def stack(module, subgraphs, reduce="sum"):
    def run(table, *weights):
        then = Projection(*weights[4:]) if len(weights) > 4 else None
        return module.gated_stack(table, subgraphs, GRUWeights(*weights[:4]), then, reduce)

    return run


@pytest.mark.parametrize("identifiers", [0, 1, 2])
@pytest.mark.parametrize("out", [None, 16, 5])
def test_layer(graphs, identifiers, out):
    labels = "identity" if identifiers else "none"
    subgraphs = extract_subgraphs(graphs, hops=2, identifiers=identifiers, labels=labels)
    if out is None or identifiers:
        check_layer(subgraphs, 16, out)


@pytest.mark.parametrize("width", [1, 16, 63, 64, 100])
def test_widths(width):
    subgraphs = extract_subgraphs(random_graphs(5, nodes=(6, 14)), hops=2)
    assert len(cut(subgraphs.num_rows, subgraphs)) > 2
    check_layer(subgraphs, width, width)
    assert_matches_reference(
        stack(ops, subgraphs), stack(reference, subgraphs), draw_stack(subgraphs, width, 3, True)
    )


def test_large_roots_are_cut():
    subgraphs = extract_subgraphs(store(fan(200), path(4)), hops=1)
    assert not fits_whole_roots(subgraphs)
    assert max(s.size for s in cut(subgraphs.num_rows, subgraphs)) <= SLICE
    check_layer(subgraphs, 8, 8)
    assert_matches_reference(
        stack(ops, subgraphs), stack(reference, subgraphs), draw_stack(subgraphs, 8, 2, True)
    )


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize(("depth", "projects"), [(1, False), (2, False), (3, True)])
def test_stack(graphs, depth, projects, reduce):
    subgraphs = extract_subgraphs(graphs, hops=2)
    assert_matches_reference(
        stack(ops, subgraphs, reduce),
        stack(reference, subgraphs, reduce),
        draw_stack(subgraphs, 16, depth, projects),
    )


@pytest.mark.parametrize("identifiers", [1, 2])
@pytest.mark.parametrize("projects", [False, True])
def test_stack_with_few_types_of_rows(identifiers, projects):
    graphs = store(*[path(5), cycle(6)] * 40)
    subgraphs = extract_subgraphs(graphs, hops=2, identifiers=identifiers)
    assert ROWS_PER_TYPE * len(subgraphs.row_types.label) <= subgraphs.num_rows
    assert_matches_reference(
        stack(ops, subgraphs),
        stack(reference, subgraphs),
        draw_stack(subgraphs, 16, 3, projects),
    )


def test_slices_cover_the_rows():
    for name in GRAPHS:
        for identifiers in (0, 1, 2):
            subgraphs = extract_subgraphs(GRAPHS[name](), hops=2, identifiers=identifiers)
            slices = cut(subgraphs.num_rows, subgraphs)
            ends = [0, *(s.stop for s in slices)]
            assert [s.start for s in slices] == ends[:-1]
            assert ends[-1] == subgraphs.num_rows
            assert all(0 < s.size <= LONGEST for s in slices)
            for s in slices:
                assert subgraphs.row_ptr[s.first_pair] == s.start
                assert subgraphs.row_ptr[s.last_pair] == s.stop


def gradients(function, inputs):
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    out = function(*leaves)
    return [out.detach(), *torch.autograd.grad(out.square().sum(), leaves)]


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_results_do_not_depend_on_threads(threads):
    subgraphs = extract_subgraphs(random_graphs(20, nodes=(6, 14)), hops=2)
    weights = draw_layer(subgraphs, 16, 16)
    cases = {
        "layer": (
            lambda h, *w: ops.gated_layer(h, subgraphs, GRUWeights(*w[:4]), Projection(*w[4:])),
            [torch.randn(subgraphs.num_rows, 16), *weights],
        ),
        "stack": (stack(ops, subgraphs), draw_stack(subgraphs, 16, 3, True)),
    }
    for function, inputs in cases.values():
        results = []
        for count in (1, 2, 3, 2):
            torch.set_num_threads(count)
            results.append(gradients(function, inputs))
            assert torch.get_num_threads() == count
        for other in results[1:]:
            assert all(map(torch.equal, results[0], other))


def test_a_stack_keeps_no_rows():
    subgraphs = extract_subgraphs(random_graphs(20, nodes=(6, 14)), hops=2)
    inputs = [t.requires_grad_() for t in draw_stack(subgraphs, 16, 3, True)]
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        stack(ops, subgraphs)(*inputs)
    assert sum(t.numel() for t in kept if t.is_floating_point()) < subgraphs.num_rows


def test_a_layer_keeps_its_input_alone():
    subgraphs = extract_subgraphs(random_graphs(20, nodes=(6, 14)), hops=2)
    h = torch.randn(subgraphs.num_rows, 16, requires_grad=True)
    weights = draw_layer(subgraphs, 16, 16)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        ops.gated_layer(h, subgraphs, GRUWeights(*weights[:4]), Projection(*weights[4:]))
    assert [t.shape for t in kept if len(t) == len(h)] == [h.shape]


def test_spare_rows_are_zero():
    subgraphs = extract_subgraphs(store(path(4), cycle(5)), hops=2)
    capacity = {axis: subgraphs.length(axis) + 3 for axis in subgraphs.sizes}
    batch = assemble(subgraphs, torch.tensor([0, 1, 2]), capacity)
    inputs = [torch.randn(batch.num_rows, 8), *draw_layer(batch, 8)]

    def layer(h, *weights):
        return ops.gated_layer(h, batch, GRUWeights(*weights))

    out, grad_h, *grads = gradients(layer, inputs)
    assert not out[subgraphs.num_rows :].any()
    assert not grad_h[subgraphs.num_rows :].any()
    exact = gradients(
        lambda h, *weights: ops.gated_layer(h, subgraphs, GRUWeights(*weights)),
        [inputs[0][: subgraphs.num_rows], *inputs[1:]],
    )
    for ours, truth in zip([out, grad_h, *grads], exact, strict=True):
        torch.testing.assert_close(ours[: len(truth)], truth)


def test_a_projection_needs_labels():
    subgraphs = dataclasses.replace(extract_subgraphs(awkward(), hops=1), labels=None)
    weights = GRUWeights(*draw_layer(subgraphs, 4))
    then = Projection(torch.ones(4, 4), torch.ones(3, 4))
    with pytest.raises(ValueError, match="rows have no labels"):
        ops.gated_layer(torch.ones(subgraphs.num_rows, 4), subgraphs, weights, then)
