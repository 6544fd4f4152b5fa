"""Whole GIN and GINE layers on the CPU against the reference in float64."""

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.ops import reference
from i2gnn.ops.cpu import rows
from tests.helpers import random_graphs
from tests.named_graphs import awkward
from tests.ops.gine import (
    LAYERS,
    assert_close,
    draw_rows,
    make_embedding,
    make_layer,
    read,
    run,
    small_subgraphs,
)
from tests.ops.helpers import GRAPHS

TOLERANCE = 2e-5
"""Of float32: a few hundred roundings, and normalisations that take leading digits away."""


def assert_matches(subgraphs, width, **options):
    h, layer = draw_rows(subgraphs.num_rows, width), make_layer(subgraphs, width, **options)
    assert ops.fits_gine_layer(h, subgraphs, layer)
    found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    exact = run(reference.gine_layer, subgraphs, h, layer, torch.float64)
    assert_close(found, exact, TOLERANCE)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("width", [1, 16, 63])
def test_matches_reference(name, width):
    assert_matches(small_subgraphs("cpu"), width, **LAYERS[name])


@pytest.mark.parametrize("identifiers", [1, 2, 3])
def test_many_slices(identifiers, monkeypatch):
    """Slices end between roots, and a root longer than one has its own."""
    monkeypatch.setattr(rows, "WIDE_SLICE", 32)
    labels = "spd" if identifiers == 3 else "spd+resistance"
    subgraphs = extract_subgraphs(random_graphs(12), hops=2, identifiers=identifiers, labels=labels)
    assert len(rows.slices_of(subgraphs)) > 10
    assert_matches(subgraphs, 8, out=5, **LAYERS["all"] | {"residual": False})


@pytest.mark.parametrize("labels", ["none", "identity", "resistance"])
def test_labels_of_one_kind(labels):
    subgraphs = extract_subgraphs(awkward(), hops=1, labels=labels)
    assert_matches(subgraphs, 6, labels=labels != "none", mix=True, gate=labels != "none")


@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name):
    subgraphs = extract_subgraphs(GRAPHS[name](), hops=1, labels="spd+resistance")
    if not subgraphs.num_rows:
        pytest.skip("no rows take the reference")
    assert_matches(subgraphs, 3, **LAYERS["all"])


def test_a_mean_far_from_zero_keeps_its_digits():
    """Where the spread is a hundredth of the mean, sums of squares would lose all but three."""
    subgraphs = extract_subgraphs(random_graphs(20), hops=2)
    layer = make_layer(subgraphs, 8, edges=False, norm="batch")
    h = 100 + torch.randn(subgraphs.num_rows, 8)
    found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    plain = run(reference.gine_layer, subgraphs, h, layer, torch.float32)
    exact = run(reference.gine_layer, subgraphs, h, layer, torch.float64)
    error, usual = ((x[0] - exact[0]).abs().max() for x in (found, plain))
    assert error < 2 * usual + 1e-4


def test_no_spread():
    """Rows that are all alike: their variance is zero."""
    subgraphs = extract_subgraphs(random_graphs(4, nodes=(1, 1)), hops=1)
    layer = make_layer(subgraphs, 4, norm="batch", activation=True)
    h = torch.full((subgraphs.num_rows, 4), 3.3)
    found = run(ops.gine_layer, subgraphs, h, layer, torch.float32)
    assert_close(found[:5], run(reference.gine_layer, subgraphs, h, layer, torch.float64)[:5])


@pytest.mark.parametrize("gated", [True, False])
def test_node_states(gated):
    subgraphs = extract_subgraphs(awkward(), hops=2, labels="spd+resistance")
    h = draw_rows(subgraphs.num_rows, 7)
    gate = make_embedding(subgraphs, 7) if gated else None
    found = read(ops.node_states, subgraphs, h, gate, torch.float32)
    assert_close(found, read(reference.node_states, subgraphs, h, gate, torch.float64), TOLERANCE)


def test_threads_change_nothing():
    subgraphs = extract_subgraphs(random_graphs(30), hops=2, labels="spd+resistance")
    h, layer = draw_rows(subgraphs.num_rows, 8), make_layer(subgraphs, 8, **LAYERS["all"])
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(run(ops.gine_layer, subgraphs, h, layer, torch.float32))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_whole_graphs_and_long_roots_take_the_reference():
    subgraphs = extract_subgraphs(random_graphs(2), identifiers=0)
    h, layer = draw_rows(subgraphs.num_rows, 4), make_layer(subgraphs, 4, edges=False)
    assert not ops.fits_gine_layer(h, subgraphs, layer)
