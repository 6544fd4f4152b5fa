import pytest
import torch

from i2gnn import extract_subgraphs
from i2gnn.nn import InjectLabels, LabelEncoder, LabelGate
from tests.helpers import random_graphs

KINDS = [("identity",), ("spd",), ("spd_pred",), ("resistance",), ("spd_pred", "resistance")]


def plain(encoder, s):
    """The definition: a sum of one embedding per column, and a linear map of the resistances."""
    z = torch.zeros(s.num_rows, 6)
    if s.labels is not None:
        for place, values in zip(encoder.table_of_column, s.labels.unbind(1), strict=True):
            z = z + encoder.tables[place][values.long()]
    if s.resistance is not None:
        z = z + encoder.resistance(s.resistance)
    return z


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("identifiers", [1, 2])
def test_tables_and_projections_match_the_definition(kinds, identifiers):
    s = extract_subgraphs(random_graphs(4), hops=2, identifiers=identifiers, labels="+".join(kinds))
    encoder = LabelEncoder(kinds, 2, identifiers, 6)
    torch.testing.assert_close(encoder(s), plain(encoder, s))
    inject = InjectLabels(encoder, 6)
    h = torch.randn(s.num_rows, 6)
    expected = inject.linear(torch.cat([h, plain(encoder, s)], dim=1))
    torch.testing.assert_close(inject(h, s), expected)


@pytest.mark.parametrize("kinds", [("spd_pred",), ("identity", "spd_pred", "resistance")])
@pytest.mark.parametrize("identifiers", [1, 2])
def test_a_distance_and_its_second_column_can_have_one_table(kinds, identifiers):
    s = extract_subgraphs(random_graphs(4), hops=2, identifiers=identifiers, labels="+".join(kinds))
    shared = LabelEncoder(kinds, 2, identifiers, 6, shared=True)
    assert len(shared.tables) == len(kinds) // 2 + identifiers
    copied = LabelEncoder(kinds, 2, identifiers, 6)
    with torch.no_grad():
        for table, place in zip(copied.tables, shared.table_of_column, strict=True):
            table.copy_(shared.tables[place])
        if shared.resistance is not None:
            copied.resistance.load_state_dict(shared.resistance.state_dict())
    torch.testing.assert_close(shared(s), plain(shared, s))
    torch.testing.assert_close(shared(s), copied(s))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
def test_labels_of_the_root_alone(kinds, shared):
    """They are those of one identifier, the same for every branch."""
    graphs = random_graphs(4)
    encoder = LabelEncoder(kinds, 2, 2, 6, root_only=True, shared=shared)
    one = LabelEncoder(kinds, 2, 1, 6, shared=shared)
    one.load_state_dict(encoder.state_dict())
    names = "+".join(kinds)
    s = extract_subgraphs(graphs, hops=2, labels=names)
    root_alone = extract_subgraphs(graphs, hops=2, labels=names, identifiers=1)
    torch.testing.assert_close(encoder(s), one(root_alone)[s.row_to_pair])


@pytest.mark.parametrize("labels", ["spd+resistance", "spd", "resistance"])
def test_gates_are_sigmoids_of_a_linear_map(labels):
    s = extract_subgraphs(random_graphs(4), hops=2, labels=labels)
    encoder, gate = LabelEncoder(tuple(labels.split("+")), 2, 2, 6), LabelGate(6, 3)
    torch.testing.assert_close(gate(encoder, s), torch.sigmoid(gate.linear(encoder(s))))


def test_labels_of_other_settings_are_refused():
    s = extract_subgraphs(random_graphs(4), hops=2)
    with pytest.raises(ValueError, match=r"expects labels \('spd',\) of sizes \(5, 6\)"):
        LabelEncoder(("spd",), 3, 2, 6)(s)
