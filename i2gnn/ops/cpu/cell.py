"""A GRU, and the projection that may follow it, on a slice of rows: forward and backward."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.ops.cpu.gates import gates_backward, gates_forward
from i2gnn.ops.cpu.kernels import add_rows, take_rows
from i2gnn.ops.reference import GRUWeights, Projection

__all__ = ["Cell", "Matrix", "Room", "Workspace"]

STEP = 32
"""Rooms are made for multiples of so many rows, so that slices can share them."""

Array = npt.NDArray[Any]


class Matrix(NamedTuple):
    """A tensor in all the forms that products and kernels take; making one costs as much as use."""

    tensor: Tensor
    transposed: Tensor
    array: Array
    flat: Array

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """The forms of a contiguous tensor."""
        array = tensor.numpy()
        return cls(tensor, tensor.t(), array, array.reshape(-1))

    def first(self, rows: int) -> Self:
        """The first rows."""
        return self.of(self.tensor.narrow(0, 0, rows))


def carve(rows: int, *widths: int) -> list[Matrix]:
    """Zero matrices [rows, width].

    They start at different places of memory pages: a read would wait for a write just before it
    to the same place of any other page.
    """
    shift = 208
    memory = torch.zeros(sum(rows * width + shift for width in widths))
    result, begin = [], 0
    for width in widths:
        result.append(Matrix.of(memory[begin : begin + rows * width].view(rows, width)))
        begin += rows * width + shift
    return result


class Room:
    """What a cell reads, computes, and reads again in its backward pass, for n rows.

    Attributes:
        h: States, [n, D].
        message: Messages, [n, C].
        lines: See `i2gnn.ops.cpu.gates`, [n, 4 D].
        state: New states, [n, D].
        by_message, by_both, by_state, last: Columns of lines: new, reset, update; reset, update;
            reset, update, the state's part of new; the state's part of new.
    """

    def __init__(self, h: Matrix, message: Matrix, lines: Matrix, state: Matrix) -> None:
        self.h, self.message, self.lines, self.state = h, message, lines, state
        width, columns = h.tensor.shape[1], lines.tensor.narrow
        self.by_message = columns(1, 0, 3 * width)
        self.by_both = columns(1, width, 2 * width)
        self.by_state = columns(1, width, 3 * width)
        self.last = columns(1, 3 * width, width)


class Workspace:
    """Memory that the slices of one thread use one after the other.

    Args:
        rows: Rows of the longest slice.
        cells: Each gets a room.
        widths: Of further matrices.
    """

    def __init__(self, rows: int, cells: Sequence["Cell"], *widths: int) -> None:
        rows += -rows % STEP
        needed = [(c.width, c.channels, 4 * c.width, c.width) for c in cells]
        self._rooms = [carve(rows, *four) for four in needed]
        self._others = carve(rows, *widths)
        self._made: dict[int, tuple[list[Room], list[Matrix]]] = {}

    def take(self, rows: int) -> tuple[list[Room], list[Matrix]]:
        """Rooms and further matrices for that many rows or a few more."""
        rows += -rows % STEP
        if rows not in self._made:
            rooms = [Room(*(matrix.first(rows) for matrix in room)) for room in self._rooms]
            self._made[rows] = rooms, [matrix.first(rows) for matrix in self._others]
        return self._made[rows]


class Cell:
    """Weights of a GRU and of a projection, in the order in which the kernels want them.

    A room may have more rows than the slice, which are computed too where that is simpler. There
    they are finite, and in gradients zero.

    Attributes:
        channels, width, out_width: C, D and D'.
        projects: Whether there is a projection.
        weights: By message [C, 3 D]: new, reset, update. By state [D, 3 D]: reset, update, new.
            Bias [4 D]: new, reset, update, the state's part of new. If there is a projection, its
            weight [D, D'] and its table.
    """

    def __init__(self, weights: GRUWeights, then: Projection | None = None) -> None:
        self.channels, self.width = len(weights.message), len(weights.state)
        self.projects = then is not None
        self.out_width = self.width if then is None else then.weight.shape[1]
        gates, new = slice(2 * self.width), slice(2 * self.width, None)
        by_message, by_state = weights.message_bias, weights.state_bias
        ordered = [
            torch.cat([weights.message[:, new], weights.message[:, gates]], dim=1),
            weights.state,
            torch.cat([by_message[new], (by_message + by_state)[gates], by_state[new]]),
            *(then or ()),
        ]
        self.weights = [weight.detach().contiguous() for weight in ordered]
        self.by_both, self.last = self.weights[1].split([2 * self.width, self.width], dim=1)
        self.arrays = [weight.numpy() for weight in self.weights]
        self.back = [weight.t().contiguous() for weight in self.weights]

    def multiply(self, room: Room) -> None:
        """Writes what messages and states say to the gates into the lines."""
        torch.mm(room.message.tensor, self.weights[0], out=room.by_message)
        room.by_both.addmm_(room.h.tensor, self.by_both)
        torch.mm(room.h.tensor, self.last, out=room.last)

    def gate(self, rows: int, room: Room) -> None:
        """Writes the new states, given the lines."""
        gates_forward(rows, room.lines.array, self.arrays[2], room.h.array, room.state.array)

    def project(self, room: Room, code: Array, out: Matrix) -> None:
        """Writes state weight + table[code] to `out`, or else the state: [n, D] to [n, D']."""
        if not self.projects:
            out.tensor.copy_(room.state.tensor)
            return
        take_rows(self.arrays[4], code, out.array)
        out.tensor.addmm_(room.state.tensor, self.weights[3])

    def project_backward(
        self, room: Room, code: Array, grad: Matrix, grad_state: Matrix, sums: list[Matrix]
    ) -> Matrix:
        """The gradient by the state, which is in `grad` or in `grad_state`; adds to the sums."""
        if not self.projects:
            return grad
        add_rows(grad.array, code, sums[4].array)
        sums[3].tensor.addmm_(room.state.transposed, grad.tensor)
        torch.mm(grad.tensor, self.back[3], out=grad_state.tensor)
        return grad_state

    def gate_backward(
        self, rows: int, room: Room, grad: Matrix, grad_h: Matrix, sums: list[Matrix]
    ) -> None:
        """Turns the lines into the gradient by them, and writes the direct one by h."""
        lines, h, state = room.lines.array, room.h.array, room.state.array
        gates_backward(rows, lines, h, state, grad.array, grad_h.array, sums[2].array)

    def multiply_backward(self, room: Room, grad_h: Matrix, sums: list[Matrix]) -> None:
        """Turns the messages into the gradient by them, and adds that by h."""
        sums[0].tensor.addmm_(room.message.transposed, room.by_message)
        sums[1].tensor.addmm_(room.h.transposed, room.by_state)
        torch.mm(room.by_message, self.back[0], out=room.message.tensor)
        grad_h.tensor.addmm_(room.by_state, self.back[1])

    def zeros(self) -> list[Matrix]:
        """Sums for the gradients by the weights."""
        return [Matrix.of(torch.zeros_like(weight)) for weight in self.weights]

    def gradients(self, sums: Sequence[Tensor]) -> list[Tensor]:
        """The sums in the order of `GRUWeights` and `Projection`."""
        width = self.width
        by_message, by_state, bias, *then = sums or map(torch.zeros_like, self.weights)
        new, gates, last = bias[:width], bias[width : 3 * width], bias[3 * width :]
        return [
            torch.cat([by_message[:, width:], by_message[:, :width]], dim=1),
            by_state,
            torch.cat([gates, new]),
            torch.cat([gates, last]),
            *then,
        ]
