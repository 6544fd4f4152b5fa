"""Bytes and operations against numbers counted by hand."""

import pytest
import torch

from i2gnn import I2GNN, GraphStore
from i2gnn.benchmark.roofline import (
    Ceilings,
    Stage,
    Work,
    batch_sizes,
    measure_ceilings,
    stages_of,
    work_of,
)
from i2gnn.models.i2gnn import ZINC_OPTIONS


def path_of_three():
    """0 - 1 - 2, whose ego-nets of two hops are all of it.

    Roots 0 and 2 have one branch and 3 rows each, root 1 two branches and 6 rows: 12 rows, 9 pairs.
    Each ego-net has 4 links; they carry 4 + 8 + 4 messages.
    """
    return GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)


SIZES = {
    "graphs": 1,
    "nodes": 3,
    "edges": 4,
    "branches": 4,
    "pairs": 9,
    "links": 12,
    "rows": 12,
    "messages": 16,
}


def test_sizes_of_a_batch():
    assert batch_sizes(I2GNN(hops=2).extract(path_of_three())) == SIZES


def test_work_of_one_stage():
    stages = [Stage(10, reads=3, writes=2, products=6, additions=7, index_bytes=5)]
    assert work_of(stages, training=False) == Work(flops=127, bytes=4 * 50 + 5)
    # Backward: 10 * (3 + 2) numbers read again, 10 * 3 written.
    assert work_of(stages, training=True) == Work(flops=3 * 127, bytes=4 * (50 + 50 + 30) + 10)


def test_counting_model():
    model = I2GNN(hops=2, num_layers=3, hidden_channels=4)
    work = work_of(stages_of(model, SIZES), training=False)
    # The second layer: two products with [4, 12] and one with [4, 4]; the third without the last.
    layers = 2 * 12 * (2 * 4 * 12 + 4 * 4) + 2 * 12 * (2 * 4 * 12) + 2 * 16 * 4
    # MLPs of 4, 4, 4 at 4 branches and at 3 nodes; a head of 4, 2, 1, 1 at 3 nodes.
    readouts = 2 * 4 * 32 + 2 * 3 * (32 + 4 * 2 + 2 * 1 + 1 * 1)
    assert work.flops == layers + readouts
    rows = 12 * 4 * (1 + 2 + 1)  # written; read and written; read
    pooled = 2 * 4 * 4 + 2 * 3 * 4  # branches and nodes, written and read
    assert work.bytes == 4 * (rows + pooled) + 3 * (4 * 12 + 12)


def test_zinc_model():
    model = I2GNN(**ZINC_OPTIONS | {"num_layers": 2, "hidden_channels": 4})
    work = work_of(stages_of(model, SIZES), training=False)
    # Width 9 (an 8-wide embedding and the type), labels beside it: 18 wide, hidden 36, then 4;
    # in the second layer 4, 8, 16, 4.
    first = 2 * 12 * (18 * 36 + 36 * 4) + 2 * 16 * 18
    second = 2 * 12 * (8 * 16 + 16 * 4) + 2 * 16 * 8
    mix = 2 * 12 * (4 * 8 + 8 * 4) + 2 * 3 * (16 * 8)  # rows; the node states, 16 wide
    head = 2 * (16 * 2 + 2 * 1 + 1 * 1)
    assert work.flops == first + second + 2 * mix + head
    numbers = 12 * (9 + 36 + 36 + 4) + 12 * (4 + 16 + 16 + 4)  # convs
    numbers += 2 * (12 * 4 + 3 * 16 + 3 * (16 + 8 + 8) + 12 * (4 + 4))  # pools and mix
    numbers += 12 * (4 + 4) + 12 * (4 + 4 + 4)  # norm, ELU, and the residual of the second layer
    numbers += 12 * 4 + 3 * 16 + 3 * 16 + 16  # pools and head
    labels = 12 * (1 + 8)
    assert work.bytes == 4 * numbers + 2 * (2 * 4 * 12 + labels) + 3 * labels


def test_the_larger_time_counts():
    ceilings = Ceilings(bytes=100.0, flops=1000.0)
    assert ceilings.seconds(Work(flops=1000, bytes=50)) == 1.0
    assert ceilings.bound(Work(flops=1000, bytes=50)) == "flops"
    assert ceilings.seconds(Work(flops=1000, bytes=200)) == 2.0
    assert ceilings.bound(Work(flops=1000, bytes=200)) == "bytes"


def test_ceilings_are_bytes_and_operations_over_time(monkeypatch):
    monkeypatch.setattr("i2gnn.benchmark.roofline.COPY", {"cpu": 1000})
    monkeypatch.setattr("i2gnn.benchmark.roofline.SIDE", {"cpu": 10})
    monkeypatch.setattr("i2gnn.benchmark.roofline.seconds_of", lambda work, device, calls: 0.5)
    ceilings = measure_ceilings(torch.device("cpu"))
    assert ceilings == Ceilings(bytes=pytest.approx(2 * 4 * 1000 / 0.5), flops=2 * 1000 / 0.5)
