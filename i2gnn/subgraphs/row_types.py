"""Types of rows: rows of one type have equal labels, and neighbours with equal labels.

There are few of them (two thousand for a quarter of a million rows), so what depends on these
labels alone can be computed once per type.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.parallel import chunks_for, jit, run_chunks

if TYPE_CHECKING:
    from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["RowTypes", "find_row_types"]

Array = npt.NDArray[Any]


class RowTypes(NamedTuple):
    """U types of rows.

    Attributes:
        of_row: The type of each row, [R].
        label: The label code of each type, [U].
        neighbors: How many neighbours with each label code a row of the type has, [U, C].
    """

    of_row: Tensor
    label: Tensor
    neighbors: Tensor


def find_row_types(subgraphs: "Subgraphs") -> RowTypes:
    """The types of all rows; for subgraphs on the CPU."""
    assert subgraphs.label_code is not None, "rows without labels have no types"
    code, rows = subgraphs.label_code, subgraphs.num_rows
    links = subgraphs.link_ptr.numpy(), subgraphs.link_to_pair.numpy()
    layout = (*links, subgraphs.row_ptr.numpy(), code.numpy())
    key = np.zeros(rows, dtype=np.int64)
    run_chunks(
        make_keys,
        subgraphs.num_pairs,
        (*layout, _random_numbers(subgraphs), key),
        chunks=chunks_for(rows, 8),
    )
    of_row = torch.zeros(rows, dtype=torch.int32)
    examples = np.empty((rows, 2), dtype=np.int64)
    slots = np.full(2 ** max(1, (2 * rows).bit_length()), -1, dtype=np.int32)
    count = number_keys(subgraphs.row_ptr.numpy(), key, slots, of_row.numpy(), examples)
    neighbors = torch.zeros(count, subgraphs.num_codes, dtype=torch.int64)
    count_neighbors(examples[:count], *layout, neighbors.numpy())
    return RowTypes(of_row, code[torch.from_numpy(examples[:count, 1])], neighbors)


def _random_numbers(subgraphs: "Subgraphs") -> Array:
    """Two for each label, [2, C]: a sum of them, over a row and its neighbours, names its type.

    Two of U types get the same name with probability U² / 2^64.
    """
    shape = (2, subgraphs.num_codes)
    return np.random.default_rng(0).integers(-(2**63), 2**63, shape, dtype=np.int64)


@jit
def make_keys(
    start: int,
    stop: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    code: Array,
    random: Array,
    key: Array,
) -> None:
    """The names of the rows of pairs start .. stop."""
    for p in range(start, stop):
        for row in range(row_ptr[p], row_ptr[p + 1]):
            key[row] = random[0, code[row]]
        for q in range(link_ptr[p], link_ptr[p + 1]):
            shift = row_ptr[link_to_pair[q]] - row_ptr[p]
            for row in range(row_ptr[p], row_ptr[p + 1]):
                key[row] += random[1, code[row + shift]]


@jit
def number_keys(row_ptr: Array, key: Array, slots: Array, of_row: Array, examples: Array) -> int:
    """Numbers different keys in the order in which they occur; returns how many there are.

    Args:
        row_ptr: Where the rows of each pair start.
        key: [R].
        slots: A hash table: at least as many places as rows, a power of two, all -1.
        of_row: [R], to be written: the number of each row's key.
        examples: [R, 2], to be written: for each number, pair and row where it first occurs.
    """
    count = 0
    for p in range(len(row_ptr) - 1):
        for row in range(row_ptr[p], row_ptr[p + 1]):
            slot = key[row] & (len(slots) - 1)
            while slots[slot] >= 0 and key[examples[slots[slot], 1]] != key[row]:
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] < 0:
                slots[slot] = count
                examples[count, 0] = p
                examples[count, 1] = row
                count += 1
            of_row[row] = slots[slot]
    return count


@jit
def count_neighbors(
    examples: Array,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    code: Array,
    neighbors: Array,
) -> None:
    """Counts the neighbours with each label code of one example, pair and row, of each type."""
    for number in range(len(examples)):
        p, row = examples[number]
        for q in range(link_ptr[p], link_ptr[p + 1]):
            sender = row + row_ptr[link_to_pair[q]] - row_ptr[p]
            neighbors[number, code[sender]] += 1
