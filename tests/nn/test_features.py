import pytest
import torch

from i2gnn.nn import ConcatEncoder, FeatureEncoder


def test_sum_of_embeddings_and_a_linear_map():
    features = torch.tensor([[2, 0, 5], [0, 1, 7]])
    encoder = FeatureEncoder((3, 2), 1, channels=4)
    first, second = encoder.tables
    expected = first[[2, 0]] + second[[0, 1]] + encoder.linear(torch.tensor([[5.0], [7.0]]))
    torch.testing.assert_close(encoder(features), expected)
    torch.testing.assert_close(encoder(features.double()), expected)  # whole numbers as floats
    assert encoder(features[:0]).shape == (0, 4)
    only_numbers = FeatureEncoder((), 3, channels=4)
    assert torch.equal(only_numbers(features), only_numbers.linear(features.float()))


@pytest.mark.parametrize("numbers", [0, 1])
@pytest.mark.parametrize("types", [(4,), (4, 2, 3), (40, 30)])
def test_a_table_of_all_combinations_is_the_same(types, numbers):
    """Small ones are made; with numbers, or above 1024 combinations, the values are given."""
    columns = [torch.randint(size, (9,)) for size in (*types, *[7] * numbers)]
    features = torch.stack(columns, dim=1)
    encoder = FeatureEncoder(types, numbers, channels=5)
    table, entry = encoder.as_table(features)
    assert (entry is None) == (numbers == 1 or types == (40, 30))
    torch.testing.assert_close(table if entry is None else table[entry], encoder(features))


def test_embeddings_beside_all_columns_as_numbers():
    features = torch.tensor([[2, 5], [0, 7]])
    encoder = ConcatEncoder((3,), 1, embedding_channels=4).double()
    assert encoder.channels == 6
    expected = torch.cat([encoder.tables[0][[2, 0]], features.double()], dim=1)
    assert torch.equal(encoder(features), expected)
    assert torch.equal(ConcatEncoder((), 2)(features), features)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "expects edge features of width 2, the graphs have none"),
        (torch.zeros(3, 4), "expects edge features of width 2, the graphs have 4"),
        (torch.tensor([[0, 1], [3, 1]]), r"column 0 of the edge .* holds types 0..3; .* 0..2"),
        (torch.tensor([[-1, 1], [2, 1]]), r"holds types -1..2; the model expects 0..2"),
    ],
)
def test_wrong_features_are_named(features, message):
    with pytest.raises(ValueError, match=message):
        FeatureEncoder((3,), 1, 4, "edge")(features)


def test_an_encoder_of_nothing_is_refused():
    with pytest.raises(ValueError, match="an encoder of node features needs types or numbers"):
        FeatureEncoder((), 0, 4)
