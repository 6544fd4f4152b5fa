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

    Most combinations are impossible where there are many: each identifier is a neighbour of the one
    before, so that distances to them differ by at most 1; with predecessors, the second column of
    an identifier is 0 or equals the first, and 0 next to the identifier.

    Args:
        kinds: Label kinds.
        sizes: Number of values of each column of labels; a combination is a number with these
            digits.

    Example:
        >>> len(possible_codes(("spd_pred",), (5, 5, 6, 6)))  # of 900
        28
    """
    if math.prod(sizes) <= FEW or not {"spd", "spd_pred"} & set(kinds):
        return None
    first, columns = int("identity" in kinds), 2 if "spd_pred" in kinds else 1
    found: list[tuple[int, ...]] = [(mark,) for mark in range(sizes[0])] if first else [()]
    for place in range(first, len(sizes), columns):
        found = [
            (*before, label, *after)
            for before in found
            for label in range(1, sizes[place])
            if place == first or abs(label - before[-columns]) <= 1
            for after in (_predecessors(label) if columns == 2 else [()])
        ]
    return tuple(sorted(_number(digits, sizes) for digits in found))


def _predecessors(label: int) -> list[tuple[int, ...]]:
    """What can follow a distance, of which the label is 1 more."""
    return [(0,), (label,)] if label > 2 else [(0,)]


def _number(digits: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    code = 0
    for digit, size in zip(digits, sizes, strict=True):
        code = code * size + digit
    return code


def dense_codes(
    code: Tensor, kinds: tuple[str, ...], sizes: tuple[int, ...], check: bool = True
) -> Tensor:
    """Combinations of labels, [R] int32, to codes: their places among those that can occur.

    Args:
        code: The combinations.
        kinds: Label kinds.
        sizes: Number of values of each column of labels.
        check: Whether to refuse others, which spare rows have; they get the code 0. On a GPU
            nobody looks, since that would wait for it.
    """
    possible = possible_codes(kinds, sizes)
    if possible is None:
        return code
    places = _places(possible, math.prod(sizes), code.device).index_select(0, code)
    if check and not code.is_cuda and len(code) and int(places.min()) < 0:
        raise ValueError("these labels cannot occur in an ego-net; they are not of its distances")
    return places.clamp_(min=0)


@cache
def _places(possible: tuple[int, ...], count: int, device: torch.device) -> Tensor:
    places = torch.full((count,), -1, dtype=torch.int32)
    places[torch.tensor(possible)] = torch.arange(len(possible), dtype=torch.int32)
    return places.to(device)


@cache
def codes_on(possible: tuple[int, ...], device: torch.device) -> Tensor:
    """The codes as a tensor that stays, so that recorded steps can read it."""
    return torch.tensor(possible, device=device)
