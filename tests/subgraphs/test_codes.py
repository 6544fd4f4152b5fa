"""Codes name combinations of labels, and only those that can occur where they are many."""

import dataclasses
import math

import pytest
import torch

from i2gnn import extract_subgraphs
from i2gnn.nn import LabelEncoder
from i2gnn.subgraphs.labels import parse_labels
from tests.helpers import random_graphs


@pytest.mark.parametrize("labels", ["spd", "spd_pred", "identity+spd_pred"])
@pytest.mark.parametrize(
    ("identifiers", "hops"), [(1, 1), (1, 7), (2, 1), (2, 3), (2, 5), (2, 8), (3, 2), (3, 3)]
)
def test_tables_by_code_are_the_sums_of_all_columns(
    labels: str, identifiers: int, hops: int
) -> None:
    """Dense and sparse graphs, isolated nodes and several components among them."""
    for p in (0.08, 0.2, 0.6):
        graphs = random_graphs(40, nodes=(1, 16), p=p)
        subgraphs = extract_subgraphs(graphs, hops=hops, identifiers=identifiers, labels=labels)
        encoder = LabelEncoder(parse_labels(labels, identifiers), hops, identifiers, 8)
        assert subgraphs.labels is not None and subgraphs.label_code is not None
        values = subgraphs.labels.long().unbind(1)
        plain = sum(table[column] for table, column in zip(encoder.tables, values, strict=True))
        torch.testing.assert_close(encoder(subgraphs), plain)
        assert int(subgraphs.label_code.max()) < subgraphs.num_codes == len(encoder.combinations())


@pytest.mark.parametrize("labels", ["spd", "spd_pred"])
def test_the_labels_of_the_root_alone(labels: str) -> None:
    graphs = random_graphs(20, nodes=(1, 16), p=0.2)
    subgraphs = extract_subgraphs(graphs, hops=3, labels=labels)
    encoder = LabelEncoder(parse_labels(labels, 2), 3, 2, 8, root_only=True)
    assert subgraphs.labels is not None
    of_root = subgraphs.labels.long().unbind(1)[: len(encoder.tables)]
    plain = sum(table[column] for table, column in zip(encoder.tables, of_root, strict=True))
    torch.testing.assert_close(encoder(subgraphs), plain)


def test_labels_with_predecessors_have_few_codes() -> None:
    graphs = random_graphs(3)
    for hops, codes in ((1, 6), (2, 16), (3, 28), (4, 40)):
        subgraphs = extract_subgraphs(graphs, hops=hops, labels="spd_pred")
        assert subgraphs.num_codes == codes < math.prod(subgraphs.label_sizes)


def test_paths_have_few_codes() -> None:
    for hops, codes in ((2, 22), (3, 31), (4, 40)):
        subgraphs = extract_subgraphs(random_graphs(3), hops=hops, identifiers=3)
        assert subgraphs.num_codes == codes < math.prod(subgraphs.label_sizes)


def test_labels_that_cannot_occur_are_refused() -> None:
    subgraphs = extract_subgraphs(random_graphs(3), hops=3, labels="spd_pred")
    assert subgraphs.labels is not None
    far = dataclasses.replace(subgraphs, labels=torch.zeros_like(subgraphs.labels))
    with pytest.raises(ValueError, match="cannot occur"):
        _ = far.label_code
