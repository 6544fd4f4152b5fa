"""Launches of the kernels of gated layers, in one pass over several of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from i2gnn.ops.reference import Part, rows_read
from i2gnn.ops.triton import gated_kernels as kernels
from i2gnn.ops.triton.aggregate import links_of, sum_links
from i2gnn.ops.triton.launch import SideWork, blocks, launch
from i2gnn.ops.triton.shares import programs_on
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["GatedRun", "StackRun"]

TILE = 64
"""Rows of a tile: as many as a group of four warps multiplies at once."""


class GatedRun:
    """Launches of one pass over layers on rows, and float16 copies of the weights that they share.

    Args:
        subgraphs: Where the rows live.
        weights: As in `GatedLayer`, from `message_bias` on.
    """

    before = 0
    """Layers in front of those whose `message` and `state` are given."""

    def __init__(self, subgraphs: Subgraphs, weights: Sequence[Tensor]) -> None:
        half = torch.float16
        message_bias, state_bias, message, state, weight, tables = weights
        self.subgraphs, self.device = subgraphs, message.device
        self.layers, self.labels, self.width = len(message_bias), tables.shape[1], message.shape[2]
        self.message, self.state = message.to(half).contiguous(), state.to(half).contiguous()
        self.message_bias, self.state_bias = message_bias.contiguous(), state_bias.contiguous()
        self.weight, self.tables = weight.to(half).contiguous(), tables.contiguous()
        self.weight_out = self.weight.transpose(1, 2).contiguous()
        # Where rows have no labels, no kernel reads their codes, and any address will do.
        code = subgraphs.label_code
        self.code = subgraphs.row_ptr if code is None else code

    def source(self) -> Tensor | None:
        """Where the gradient of each row behind the last layer is, if it has not one of its own."""
        return None

    def gates(self, t: int, h: Tensor, message: Tensor) -> Tensor:
        """Layer t from its input and messages, [R, D] float16."""
        out, then = self.result(), self.projects(t)
        launch(
            kernels.gates_kernel,
            (programs_on(self.device, 2),),
            out,
            h,
            message,
            self.code,
            *self.weights(t),
            self.weight_out[t] if then else self.weight,
            self.tables[t] if then else self.tables,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            K=message.shape[1],
            LABELS=t < self.before,
            THEN=then,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )
        return out

    def gates_grad(
        self,
        t: int,
        grad: Tensor,
        h: Tensor,
        message: Tensor,
        partial: Tensor,
        sends: bool = False,
    ) -> list[Tensor]:
        """From the gradient by layer t's result that by its input; shares of those of weights.

        With `sends` the input was not what rows sent: the gradients by both.
        """
        then, last = self.projects(t), t == self.layers - 1
        source = self.source() if last else None
        grad_h, grad_message, new = self.result(), self.rows(self.width), self.rows(self.width)
        grad_gates = self.rows(4 * self.width)
        launch(
            kernels.gates_grad_kernel,
            (programs_on(self.device, 2),),
            grad_h,
            grad_message,
            grad_gates,
            new,
            grad,
            source,
            h,
            message,
            *self.weights(t),
            self.weight[t] if then else self.weight,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            THEN=then,
            LAST=source is not None,
            BLOCK_R=TILE,
            STAGES=2,
            num_warps=4,
            num_stages=2,
        )
        # Both read much and compute little, so that side by side they take less time.
        side = SideWork(grad)
        side.run(self._weights_grad, t, grad, h, message, grad_gates, new, partial)
        if sends:
            by_rows = [grad_h, sum_links(grad_message, self.subgraphs)]
        else:
            by_rows = [sum_links(grad_message, self.subgraphs, own=grad_h)]
        side.join()
        return by_rows

    def _weights_grad(
        self,
        t: int,
        grad: Tensor,
        h: Tensor,
        message: Tensor,
        grad_gates: Tensor,
        new: Tensor,
        partial: Tensor,
    ) -> None:
        launch(
            kernels.weights_grad_kernel,
            (programs_on(self.device),),
            partial,
            h,
            message,
            grad_gates,
            new,
            grad,
            self.code,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            partial.stride(0),
            D=self.width,
            C=self.labels,
            THEN=self.projects(t),
            BLOCK_R=TILE // 2,
            STAGES=3,
            num_warps=8,
            num_stages=3,
        )

    def shares(self, layers: int) -> Tensor:
        """Room for what the programs find for each layer, [programs, layers, rows, D]."""
        return self.room(layers, 7 * self.width + 16 + self.labels)

    def collect(self, found: Tensor) -> tuple[Tensor, ...]:
        """Sorts what `gates_grad` found into the order of the weights."""
        biases, message, state, weight, tables = self.sort(found)
        return *_by_bias(biases), message, state, weight, tables

    def sort(self, found: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Gradients by biases, one row for each, and by the other weights of the layers."""
        D, count = self.width, len(found)
        squares = found[:, : 7 * D].view(count, 7, D, D)
        # Of the biases: new (from the message), reset, update, new (from the state).
        biases = found[:, 7 * D : 7 * D + 4]
        projected = len(self.weight) - self.before
        return (
            biases,
            _below(squares[:, 0:3]),
            _below(squares[:, 3:6]),
            squares[: max(projected, 0), 6],
            found[: max(projected, 0), 7 * D + 16 :],
        )

    def weights(self, t: int) -> tuple[Tensor, ...]:
        """Weights and biases of layer t, of messages and of states."""
        at = t - self.before
        return self.message[at], self.state[at], self.message_bias[t], self.state_bias[t]

    def projects(self, t: int) -> bool:
        """Whether a projection follows layer t."""
        return t < len(self.weight)

    def result(self) -> Tensor:
        """Room for rows that others will read, [R, D] float16: spare ones, never written, are 0."""
        return self.rows(self.width).zero_()

    def rows(self, width: int) -> Tensor:
        """Room for rows, [R, width] float16."""
        shape = (self.subgraphs.num_rows, width)
        return torch.empty(shape, dtype=torch.float16, device=self.device)

    def room(self, layers: int, rows: int) -> Tensor:
        """[programs, layers, rows, D] numbers."""
        shape = (programs_on(self.device), layers, rows, self.width)
        return torch.empty(shape, device=self.device)


class StackRun(GatedRun):
    """The same with a first layer that sees labels alone, and parts of each subgraph read.

    Rows are of kinds, by which of the single rows of their subgraph (center, side) they are; those
    of a branch and a kind have the same gradient.
    """

    before = 1

    def __init__(
        self,
        subgraphs: Subgraphs,
        parts: Sequence[Part],
        table: Tensor,
        label_weights: tuple[Tensor, Tensor],
        weights: Sequence[Tensor],
    ) -> None:
        super().__init__(subgraphs, weights)
        self.parts, self.table = parts, table.contiguous()
        self.single = [part for part in parts if part != "nodes"]
        # Sets of them, as bits; the rows of no set have a gradient only if all nodes are read.
        self.kinds = range("nodes" not in parts, 2 ** len(self.single))
        by_message, by_state = (weight.to(torch.float16).contiguous() for weight in label_weights)
        self.label_weights = by_message, by_state

    def by_kind(self, grad: Tensor) -> Tensor:
        """Gradients of rows of each kind and branch: [B, parts D] to [kinds B, D]."""
        of = dict(zip(self.parts, grad.chunk(len(self.parts), dim=1), strict=True))
        found = []
        for kind in self.kinds:
            read = [of[part] for bit, part in enumerate(self.single) if kind >> bit & 1]
            read += [of["nodes"]] if "nodes" in of else []
            found.append(read[0] if len(read) == 1 else torch.stack(read).sum(0))
        return found[0] if len(found) == 1 else torch.cat(found)

    def source(self) -> Tensor:
        """For each row where `by_kind` has its gradient, [R]; -1 where it is zero."""
        branch = self.subgraphs.row_to_branch
        if not self.single:
            return branch
        row = torch.arange(len(branch), dtype=branch.dtype, device=branch.device)
        kind = torch.zeros_like(branch)
        for bit, part in enumerate(self.single):
            read = rows_read(self.subgraphs, part).index_select(0, branch)
            kind += (read == row) * 2**bit
        found = branch + (kind - self.kinds[0]) * self.subgraphs.num_branches
        return found.masked_fill(kind < self.kinds[0], -1) if self.kinds[0] else found

    def weights(self, t: int) -> tuple[Tensor, ...]:
        """Weights and biases of layer t, of messages and of states."""
        if t > 0:
            return super().weights(t)
        return *self.label_weights, self.message_bias[0], self.state_bias[0]

    def result(self) -> Tensor:
        """Room for rows; spare ones are not read."""
        return self.rows(self.width)

    def label_counts(self) -> Tensor:
        """How many neighbours of each row have each label, [R, C] float16."""
        rows = self.subgraphs.num_rows
        counts = self.rows(self.labels)
        launch(
            kernels.label_counts_kernel,
            (blocks(rows, TILE),),
            counts,
            self.code,
            *links_of(self.subgraphs),
            rows,
            C=self.labels,
            BLOCK_R=TILE,
            num_warps=2,
        )
        return counts

    def label_shares(self) -> Tensor:
        """Room for what the programs find for the first layer."""
        return self.room(1, 9 * self.labels + self.width)

    def label_grad(self, grad: Tensor, counts: Tensor, partial: Tensor) -> None:
        """Shares of the gradients of the first layer's weights."""
        then = self.projects(0)
        launch(
            kernels.label_grad_kernel,
            (programs_on(self.device),),
            partial,
            grad,
            self.source() if self.layers == 1 else None,
            counts,
            self.table,
            self.code,
            *self.weights(0),
            self.weight[0] if then else self.weight,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            partial.stride(0),
            D=self.width,
            C=self.labels,
            THEN=then,
            LAST=self.layers == 1,
            BLOCK_R=TILE // 2,
            STAGES=2,
            num_warps=8,
            num_stages=2,
        )

    def collect_all(self, first: Tensor, later: Tensor) -> tuple[Tensor, ...]:
        """Sorts what `label_grad` and `gates_grad` found into the order of the weights."""
        C, D = self.labels, self.width
        by_label = first[: 9 * C].view(9, C, D)
        biases, message, state, weight, tables = self.sort(later)
        of_first = torch.cat([by_label[7:8], by_label[3:6]]).sum(1, keepdim=True)
        if len(self.weight):
            weight = torch.cat([first[None, 9 * C :], weight])
            tables = torch.cat([by_label[None, 8], tables])
        return (
            by_label[6],
            _below(by_label[None, 0:3]),
            _below(by_label[None, 3:6]),
            *_by_bias(torch.cat([of_first.transpose(0, 1), biases])),
            message,
            state,
            weight,
            tables,
        )


def _below(gates: Tensor) -> Tensor:
    """[..., 3, n, D] gradients, one matrix per gate, to [..., 3 D, n]."""
    return gates.transpose(-1, -2).flatten(-3, -2)


def _by_bias(found: Tensor) -> tuple[Tensor, Tensor]:
    """[T, 4, D] column sums, of which new (from the message) is first, by both biases."""
    by_message = torch.cat([found[:, 1:3], found[:, 0:1]], dim=1)
    return by_message.flatten(1), found[:, 1:4].flatten(1)
