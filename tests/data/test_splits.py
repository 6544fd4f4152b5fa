import pytest
import torch

from i2gnn.data import Splits
from i2gnn.errors import InputError


def test_random_covers_every_graph_once() -> None:
    splits = Splits.random(101, (0.3, 0.2, 0.5), seed=3)
    every = torch.cat([splits.train, splits.val, splits.test])
    assert every.sort().values.tolist() == list(range(101))
    assert torch.equal(splits.train, Splits.random(101, (0.3, 0.2, 0.5), seed=3).train)
    assert not torch.equal(splits.train, Splits.random(101, (0.3, 0.2, 0.5), seed=4).train)


def test_random_rejects_fractions_that_do_not_sum_to_one() -> None:
    with pytest.raises(InputError, match=r"\(0.5, 0.2, 0.5\); expected three that sum to 1"):
        Splits.random(10, (0.5, 0.2, 0.5))


def test_check_names_what_is_wrong() -> None:
    first = torch.tensor([0, 1])
    with pytest.raises(InputError, match=r"val split holds indices 2..9; expected 0..4"):
        Splits(first, torch.tensor([2, 9]), torch.tensor([4])).check(5)
    with pytest.raises(InputError, match="1 graphs are in two places"):
        Splits(first, torch.tensor([1]), torch.tensor([4])).check(5)
    Splits(first, torch.tensor([2]), torch.tensor([], dtype=torch.int64)).check(5)


def test_the_first_of_each_part_keep_their_proportions() -> None:
    splits = Splits.random(200, (0.6, 0.2, 0.2), seed=1)
    chosen, small = splits.first(20)
    small.check(20)
    for name, size in (("train", 12), ("val", 4), ("test", 4)):
        part = getattr(small, name)
        assert len(part) == size
        assert torch.equal(chosen[part], getattr(splits, name)[:size])


def test_masks_are_indices() -> None:
    train = torch.tensor([True, False, True, False])
    splits = Splits(train, [False, True, False, False], [3])
    assert [part.tolist() for part in vars(splits).values()] == [[0, 2], [1], [3]]


def test_nothing_is_left_for_a_part_that_gets_none() -> None:
    splits = Splits.random(5, (0.5, 0.5, 0.0))
    assert [len(part) for part in (splits.train, splits.val, splits.test)] == [2, 3, 0]
