"""Compiled loops of the CPU ops; `h`, `out` and friends are flat arrays of rows times channels.

The rows of a pair are contiguous, so one index load moves a wide vector of branches x channels.
Inner loops run over slices of these arrays: an index that may be negative, for all the compiler
knows, could wrap around, and it would not use vectors.
"""

from typing import Any

import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = [
    "add_links",
    "add_rows",
    "gather_lines",
    "relu_sum",
    "relu_sum_grad_edge",
    "relu_sum_grad_h",
    "scatter_lines",
    "spread_branches",
    "sum_links",
    "sum_pairs",
    "take_rows",
]

Array = npt.NDArray[Any]


@jit
def add_links(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    h: Array,
    h_first: int,
    out: Array,
    out_first: int,
) -> None:
    """out[p] += sum of h[link_to_pair[q]] over the links q of pair p, for pairs start .. stop.

    `h` and `out` may be parts of all rows: they begin with rows `h_first` and `out_first`.
    """
    for p in range(start, stop):
        begin = (row_ptr[p] - out_first) * channels
        size = (row_ptr[p + 1] - row_ptr[p]) * channels
        target = out[begin : begin + size]
        for q in range(link_ptr[p], link_ptr[p + 1]):
            begin = (row_ptr[link_to_pair[q]] - h_first) * channels
            source = h[begin : begin + size]
            for c in range(size):
                target[c] += source[c]


@jit
def sum_links(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    h: Array,
    h_first: int,
    out: Array,
    out_first: int,
) -> None:
    """As `add_links`, whatever `out` held before."""
    for p in range(start, stop):
        begin = (row_ptr[p] - out_first) * channels
        size = (row_ptr[p + 1] - row_ptr[p]) * channels
        out[begin : begin + size] = 0
        add_links(p, p + 1, channels, link_ptr, link_to_pair, row_ptr, h, h_first, out, out_first)


@jit
def relu_sum(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    link_to_edge: Array,
    row_ptr: Array,
    h: Array,
    edge_attr: Array,
    out: Array,
) -> None:
    """out[p] = sum of relu(h[link_to_pair[q]] + edge_attr[link_to_edge[q]]) over links q of p."""
    for p in range(start, stop):
        out[row_ptr[p] * channels : row_ptr[p + 1] * channels] = 0
        for q in range(link_ptr[p], link_ptr[p + 1]):
            edge = edge_attr[link_to_edge[q] * channels :][:channels]
            shift = row_ptr[link_to_pair[q]] - row_ptr[p]
            for row in range(row_ptr[p], row_ptr[p + 1]):
                target = out[row * channels :][:channels]
                source = h[(row + shift) * channels :][:channels]
                for c in range(channels):
                    value = source[c] + edge[c]
                    target[c] += 0 if value <= 0 else value  # NaN stays NaN


@jit
def relu_sum_grad_h(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    link_to_reverse_edge: Array,
    row_ptr: Array,
    h: Array,
    edge_attr: Array,
    grad: Array,
    out: Array,
) -> None:
    """Gradient by h: links are symmetric, so sender l finds its receivers k in its own links.

    Its message to k ran over the edge k <- l, the reverse of the one that the link l <- k names.
    """
    for p in range(start, stop):
        out[row_ptr[p] * channels : row_ptr[p + 1] * channels] = 0
        for q in range(link_ptr[p], link_ptr[p + 1]):
            edge = edge_attr[link_to_reverse_edge[q] * channels :][:channels]
            shift = row_ptr[link_to_pair[q]] - row_ptr[p]
            for row in range(row_ptr[p], row_ptr[p + 1]):
                target = out[row * channels :][:channels]
                own = h[row * channels :][:channels]
                receiver = grad[(row + shift) * channels :][:channels]
                for c in range(channels):
                    target[c] += 0 if own[c] + edge[c] <= 0 else receiver[c]


@jit
def relu_sum_grad_edge(
    start: int,
    stop: int,
    channels: int,
    edge_ptr: Array,
    edge_links: Array,
    link_to_pair: Array,
    link_to_receiver: Array,
    row_ptr: Array,
    h: Array,
    edge_attr: Array,
    grad: Array,
    out: Array,
) -> None:
    """Gradient by edge_attr, for edges start .. stop: a sum over the links that run over each."""
    for e in range(start, stop):
        edge, total = edge_attr[e * channels :][:channels], out[e * channels :][:channels]
        total[:] = 0
        for n in range(edge_ptr[e], edge_ptr[e + 1]):
            sender = link_to_pair[edge_links[n]]
            receiver = link_to_receiver[edge_links[n]]
            shift = row_ptr[receiver] - row_ptr[sender]
            for row in range(row_ptr[sender], row_ptr[sender + 1]):
                source = h[row * channels :][:channels]
                target = grad[(row + shift) * channels :][:channels]
                for c in range(channels):
                    total[c] += 0 if source[c] + edge[c] <= 0 else target[c]


@jit
def sum_pairs(
    start: int,
    stop: int,
    channels: int,
    pair_ptr: Array,
    branch_ptr: Array,
    row_ptr: Array,
    h: Array,
    h_first: int,
    out: Array,
) -> None:
    """out[i] = sum of h[p] over the pairs p of root i, for roots start .. stop.

    `h` may be a part of all rows, which begins with row `h_first`.
    """
    for i in range(start, stop):
        total = out[branch_ptr[i] * channels : branch_ptr[i + 1] * channels]
        total[:] = 0
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            begin = (row_ptr[p] - h_first) * channels
            rows = h[begin : begin + len(total)]
            for c in range(len(total)):
                total[c] += rows[c]


@jit
def spread_branches(
    start: int,
    stop: int,
    channels: int,
    pair_ptr: Array,
    branch_ptr: Array,
    row_ptr: Array,
    x: Array,
    out: Array,
    out_first: int,
) -> None:
    """out[p] = x[i] for the pairs p of root i, for roots start .. stop: `sum_pairs` backward."""
    for i in range(start, stop):
        branches = x[branch_ptr[i] * channels : branch_ptr[i + 1] * channels]
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            begin = (row_ptr[p] - out_first) * channels
            rows = out[begin : begin + len(branches)]
            for c in range(len(branches)):
                rows[c] = branches[c]


@jit
def take_rows(table: Array, code: Array, out: Array) -> None:
    """out[r] = table[code[r]], and zero for rows without a code; matrices, not flat arrays."""
    for r in range(len(code)):
        entry, row = table[code[r]], out[r]
        for c in range(len(row)):
            row[c] = entry[c]
    out[len(code) :] = 0


@jit
def add_rows(grad: Array, code: Array, table: Array) -> None:
    """table[code[r]] += grad[r]; matrices, not flat arrays."""
    for r in range(len(code)):
        entry, row = table[code[r]], grad[r]
        for c in range(len(row)):
            entry[c] += row[c]


@jit
def gather_lines(
    start: int,
    stop: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    code: Array,
    products: Array,
    lines: Array,
    first: int,
) -> None:
    """What messages and states say to the gates, for pairs start .. stop of rows table[code].

    `products` [U, 6 D] holds the table times the weights by message and by state, and `lines`
    begins with row `first`; see `i2gnn.ops.cpu.gates` for their columns.
    """
    width = lines.shape[1] // 4
    for p in range(start, stop):
        for branch in range(row_ptr[p + 1] - row_ptr[p]):
            row = row_ptr[p] + branch
            line, by_state = lines[row - first], products[code[row]][3 * width :]
            from_message, from_state = line[: 3 * width], line[width:]
            line[:width] = 0
            for c in range(3 * width):
                from_state[c] = by_state[c]
            for q in range(link_ptr[p], link_ptr[p + 1]):
                by_message = products[code[row_ptr[link_to_pair[q]] + branch]][: 3 * width]
                for c in range(3 * width):
                    from_message[c] += by_message[c]


@jit
def scatter_lines(
    start: int,
    stop: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    code: Array,
    lines: Array,
    first: int,
    products: Array,
) -> None:
    """Adds the gradients by `products`, given those by `lines`: `gather_lines` backward."""
    width = lines.shape[1] // 4
    for p in range(start, stop):
        for branch in range(row_ptr[p + 1] - row_ptr[p]):
            row = row_ptr[p] + branch
            by_message = products[code[row]][: 3 * width]
            by_state = products[code[row]][3 * width :]
            from_state = lines[row - first][width:]
            for c in range(3 * width):
                by_state[c] += from_state[c]
            for q in range(link_ptr[p], link_ptr[p + 1]):
                sent_to = row_ptr[link_to_pair[q]] + branch
                from_message = lines[sent_to - first][: 3 * width]
                for c in range(3 * width):
                    by_message[c] += from_message[c]
