"""Which graphs train, which select, which test."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
from torch import Tensor

from i2gnn.errors import InputError

__all__ = ["Splits"]


@dataclass(frozen=True)
class Splits:
    """Three disjoint sets of graph indices, each an int64 tensor; masks become such.

    Example:
        >>> splits = Splits.random(10, (0.3, 0.2, 0.5), seed=0)
        >>> [len(part) for part in (splits.train, splits.val, splits.test)]
        [3, 2, 5]
    """

    train: Tensor
    val: Tensor
    test: Tensor

    def __post_init__(self) -> None:
        for part in fields(self):  # lists and arrays are fine, too
            indices = torch.as_tensor(getattr(self, part.name))
            indices = indices.nonzero()[:, 0] if indices.dtype == torch.bool else indices.long()
            object.__setattr__(self, part.name, indices)

    @classmethod
    def random(cls, count: int, fractions: Sequence[float], seed: int = 0) -> Self:
        """Cuts a random order of `count` graphs at the given fractions; they sum to 1."""
        if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
            raise InputError(f"fractions {tuple(fractions)}; expected three that sum to 1")
        order = torch.as_tensor(np.random.default_rng(seed).permutation(count))
        first = round(count * fractions[0])
        second = first + round(count * fractions[1]) if fractions[2] else count
        return cls(train=order[:first], val=order[first:second], test=order[second:])

    def first(self, count: int) -> tuple[Tensor, Self]:
        """The first graphs of each part, about `count` in all in the same proportions.

        Returns:
            The chosen graphs, and their split once all others are left out.

        Example:
            >>> chosen, splits = Splits.random(100, (0.3, 0.2, 0.5), seed=0).first(10)
            >>> len(chosen), splits.val
            (10, tensor([3, 4]))
        """
        parts = (self.train, self.val, self.test)
        total = sum(len(part) for part in parts)
        kept = [part[: max(1, round(count * len(part) / max(total, 1)))] for part in parts]
        places = torch.arange(sum(len(part) for part in kept))
        train, val, test = torch.split(places, [len(part) for part in kept])
        return torch.cat(kept), type(self)(train=train, val=val, test=test)

    def check(self, count: int) -> None:
        """Raises an InputError unless the parts are disjoint sets of indices below `count`."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, part in parts.items():
            if len(part) and not 0 <= int(part.min()) <= int(part.max()) < count:
                raise InputError(
                    f"{name} split holds indices {int(part.min())}..{int(part.max())}; "
                    f"expected 0..{count - 1}"
                )
        every = torch.cat(list(parts.values()))
        repeated = len(every) - len(torch.unique(every))
        if repeated:
            raise InputError(f"{repeated} graphs are in two places of the splits; expected one")
