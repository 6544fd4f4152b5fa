"""Codes of rows: their discrete labels as one number, which tables are read by."""

import math
from functools import cache

import torch
from torch import Tensor

__all__ = ["code_count", "codes_on", "dense_codes", "possible_codes"]

FEW = 64
"""Combinations of labels of which all may have a code, whether they can occur or not."""


def code_count(kinds: tuple[str, ...], sizes: tuple[int, ...]) -> int:
    """How many codes there are."""
    possible = possible_codes(kinds, sizes)
    return math.prod(sizes) if possible is None else len(possible)


@cache
def possible_codes(kinds: tuple[str, ...], sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The combinations of labels that can occur, ascending; None where all of them have a code.

    With predecessors there are many combinations, and most are impossible: the second column of an
    identifier is 0 or equals the first, and 0 next to the identifier; root and branch are adjacent,
    so that distances to them differ by at most 1.

    Args:
        kinds: Label kinds.
        sizes: Number of values of each column of labels; a combination is a number with these
            digits.

    Example:
        >>> len(possible_codes(("spd_pred",), (5, 5, 6, 6)))  # of 900
        28
    """
    first = 1 if "identity" in kinds else 0
    if "spd_pred" not in kinds or len(sizes) != first + 4 or math.prod(sizes) <= FEW:
        return None
    to_root, _, to_branch, _ = sizes[first:]
    marks = [(mark,) for mark in range(sizes[0])] if first else [()]
    combinations = (
        (*mark, i, before_i, j, before_j)
        for mark in marks
        for i in range(1, to_root)
        for j in range(max(1, i - 1), min(i + 2, to_branch))
        for before_i in _predecessors(i)
        for before_j in _predecessors(j)
    )
    return tuple(sorted(_number(digits, sizes) for digits in combinations))


def _predecessors(label: int) -> tuple[int, ...]:
    """What can follow a distance, of which the label is 1 more."""
    return (0, label) if label > 2 else (0,)


def _number(digits: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    code = 0
    for digit, size in zip(digits, sizes, strict=True):
        code = code * size + digit
    return code


def dense_codes(code: Tensor, kinds: tuple[str, ...], sizes: tuple[int, ...]) -> Tensor:
    """Combinations of labels, [R] int32, to codes: their places among those that can occur."""
    possible = possible_codes(kinds, sizes)
    if possible is None:
        return code
    places = _places(possible, math.prod(sizes), code.device).index_select(0, code)
    if not code.is_cuda and len(code) and int(places.min()) < 0:  # a GPU would have to wait
        raise ValueError("these labels cannot occur in an ego-net; they are not of its distances")
    return places


@cache
def _places(possible: tuple[int, ...], count: int, device: torch.device) -> Tensor:
    places = torch.full((count,), -1, dtype=torch.int32)
    places[torch.tensor(possible)] = torch.arange(len(possible), dtype=torch.int32)
    return places.to(device)


@cache
def codes_on(possible: tuple[int, ...], device: torch.device) -> Tensor:
    """The codes as a tensor that stays, so that recorded steps can read it."""
    return torch.tensor(possible, device=device)
