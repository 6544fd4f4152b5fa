"""Compiled loops of fused GIN and GINE layers, for the pairs or roots of a slice.

As in `kernels`, rows are flat arrays; `first` is the first row of an array that holds a slice only.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = [
    "add_context",
    "embed",
    "embed_grad",
    "gather",
    "gather_grad",
    "read_roots",
    "spread_roots",
    "sum_context",
    "sum_rows",
]

Array = npt.NDArray[Any]


@jit
def embed(
    start: int,
    stop: int,
    code: Array,
    resistance: Array,
    table: Array,
    weight: Array,
    out: Array,
    stride: int,
    column: int,
) -> None:
    """out[r - start] = table[code[r]] + resistance[r] weight, for rows start .. stop.

    `out` is flat, `stride` wide, and gets the embeddings from a column on; without codes all rows
    have that of 0, and `weight` may have no rows.
    """
    width = table.shape[1]
    for r in range(start, stop):
        entry = table[code[r]] if len(code) else table[0]
        target = out[(r - start) * stride + column :][:width]
        for c in range(width):
            target[c] = entry[c]
        for j in range(len(weight)):
            distance, by_distance = resistance[r, j], weight[j]
            for c in range(width):
                target[c] += distance * by_distance[c]


@jit
def embed_grad(
    start: int,
    stop: int,
    code: Array,
    resistance: Array,
    grad: Array,
    stride: int,
    column: int,
    table: Array,
    weight: Array,
) -> None:
    """Adds the gradients by table and weight: `embed` backward."""
    width = table.shape[1]
    for r in range(start, stop):
        entry = table[code[r]] if len(code) else table[0]
        source = grad[(r - start) * stride + column :][:width]
        for c in range(width):
            entry[c] += source[c]
        for j in range(len(weight)):
            distance, by_distance = resistance[r, j], weight[j]
            for c in range(width):
                by_distance[c] += distance * source[c]


@jit
def gather(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    link_to_type: Array,
    row_ptr: Array,
    own: float,
    edges: Array,
    x: Array,
    first: int,
    out: Array,
) -> None:
    """out[p] = own x[p] + sum of relu(x[l] + edges[type]) over the links l of pair p.

    Without edges, the sum is of x[l]. `x` holds a slice, `out` all rows.
    """
    factor = np.float32(own)
    for p in range(start, stop):
        for row in range(row_ptr[p], row_ptr[p + 1]):
            target = out[row * channels :][:channels]
            source = x[(row - first) * channels :][:channels]
            for c in range(channels):
                target[c] = factor * source[c]
        for q in range(link_ptr[p], link_ptr[p + 1]):
            shift = row_ptr[link_to_pair[q]] - row_ptr[p] - first
            for row in range(row_ptr[p], row_ptr[p + 1]):
                target = out[row * channels :][:channels]
                source = x[(row + shift) * channels :][:channels]
                if len(edges):
                    edge = edges[link_to_type[q]]
                    for c in range(channels):
                        value = source[c] + edge[c]
                        target[c] += 0 if value <= 0 else value  # NaN stays NaN
                else:
                    for c in range(channels):
                        target[c] += source[c]


@jit
def gather_grad(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    link_to_type: Array,
    row_ptr: Array,
    own: float,
    edges: Array,
    x: Array,
    first: int,
    grad: Array,
    out: Array,
    by_edges: Array,
    by_own: Array,
) -> None:
    """Gradient by x into `out`; adds those by edges and, channel by channel, by `own`.

    `x`, `grad` and `out` hold a slice. Links are symmetric, so a sender finds its receivers in its
    own links; `link_to_type` is that of the reverse edge, over which its message ran.
    """
    factor = np.float32(own)
    for p in range(start, stop):
        for row in range(row_ptr[p] - first, row_ptr[p + 1] - first):
            target = out[row * channels :][:channels]
            source = x[row * channels :][:channels]
            given = grad[row * channels :][:channels]
            for c in range(channels):
                target[c] = factor * given[c]
                by_own[c] += source[c] * given[c]
        for q in range(link_ptr[p], link_ptr[p + 1]):
            shift = row_ptr[link_to_pair[q]] - row_ptr[p]
            for row in range(row_ptr[p] - first, row_ptr[p + 1] - first):
                target = out[row * channels :][:channels]
                receiver = grad[(row + shift) * channels :][:channels]
                if len(edges):
                    source = x[row * channels :][:channels]
                    edge, by_edge = edges[link_to_type[q]], by_edges[link_to_type[q]]
                    for c in range(channels):
                        value = 0 if source[c] + edge[c] <= 0 else receiver[c]
                        target[c] += value
                        by_edge[c] += value
                else:
                    for c in range(channels):
                        target[c] += receiver[c]


@jit
def read_roots(
    start: int,
    stop: int,
    channels: int,
    pair_ptr: Array,
    branch_ptr: Array,
    row_ptr: Array,
    row_of_branch: Array,
    h: Array,
    first: int,
    out: Array,
) -> None:
    """Means over all rows of each root, over those at k = i, and over those at k = j.

    They are the first three quarters of `out`, [N, 4 D]; roots start .. stop, `h` holds a slice.
    """
    for i in range(start, stop):
        line = out[i]
        line[: 3 * channels] = 0
        begin, end = row_ptr[pair_ptr[i]] - first, row_ptr[pair_ptr[i + 1]] - first
        degree = branch_ptr[i + 1] - branch_ptr[i]
        if degree == 0:
            continue
        nodes, center, side = line[:channels], line[channels:][:channels], line[2 * channels :]
        for row in range(begin, end):
            source = h[row * channels :][:channels]
            for c in range(channels):
                nodes[c] += source[c]
        for row in range(begin, begin + degree):  # the first pair of a root is its own
            source = h[row * channels :][:channels]
            for c in range(channels):
                center[c] += source[c]
        for b in range(branch_ptr[i], branch_ptr[i + 1]):
            source = h[(row_of_branch[b] - first) * channels :][:channels]
            for c in range(channels):
                side[c] += source[c]
        for c in range(channels):
            nodes[c] /= end - begin
            center[c] /= degree
            side[c] /= degree


@jit
def spread_roots(
    start: int,
    stop: int,
    channels: int,
    pair_ptr: Array,
    branch_ptr: Array,
    row_ptr: Array,
    row_of_branch: Array,
    grad: Array,
    out: Array,
    first: int,
) -> None:
    """Gradient by h of `read_roots`, for the rows of a slice."""
    for i in range(start, stop):
        degree = branch_ptr[i + 1] - branch_ptr[i]
        if degree == 0:
            continue
        begin, end = row_ptr[pair_ptr[i]] - first, row_ptr[pair_ptr[i + 1]] - first
        line = grad[i]
        nodes, center, side = line[:channels], line[channels:][:channels], line[2 * channels :]
        share, part = np.float32(1 / (end - begin)), np.float32(1 / degree)
        for row in range(begin, end):
            target = out[row * channels :][:channels]
            for c in range(channels):
                target[c] = share * nodes[c]
        for row in range(begin, begin + degree):
            target = out[row * channels :][:channels]
            for c in range(channels):
                target[c] += part * center[c]
        for b in range(branch_ptr[i], branch_ptr[i + 1]):
            target = out[(row_of_branch[b] - first) * channels :][:channels]
            for c in range(channels):
                target[c] += part * side[c]


@jit
def sum_rows(
    start: int, stop: int, channels: int, row_ptr: Array, h: Array, first: int, out: Array
) -> None:
    """out[p] = sum of the rows of pair p; `h` holds a slice, `out` all pairs."""
    for p in range(start, stop):
        target = out[p * channels :][:channels]
        target[:] = 0
        for row in range(row_ptr[p] - first, row_ptr[p + 1] - first):
            source = h[row * channels :][:channels]
            for c in range(channels):
                target[c] += source[c]


@jit
def sum_context(
    start: int,
    stop: int,
    channels: int,
    node_ptr: Array,
    node_pairs: Array,
    row_ptr: Array,
    h: Array,
    out: Array,
    column: int,
    mean: bool,
) -> None:
    """out[k] = sum, or mean, over the rows of all pairs (., k), for nodes start .. stop.

    `out` is a matrix that gets it from a column on.
    """
    for k in range(start, stop):
        total = out[k][column:][:channels]
        total[:] = 0
        size = 0
        for n in range(node_ptr[k], node_ptr[k + 1]):
            p = node_pairs[n]
            size += row_ptr[p + 1] - row_ptr[p]
            for row in range(row_ptr[p], row_ptr[p + 1]):
                source = h[row * channels :][:channels]
                for c in range(channels):
                    total[c] += source[c]
        if mean and size:
            for c in range(channels):
                total[c] /= size


@jit
def add_context(
    start: int,
    stop: int,
    channels: int,
    pair_to_node: Array,
    row_ptr: Array,
    size: Array,
    grad: Array,
    column: int,
    out: Array,
    first: int,
) -> None:
    """Adds the gradient of the mean over each node's rows to the rows of pairs start .. stop."""
    for p in range(start, stop):
        k = pair_to_node[p]
        source, share = grad[k][column:][:channels], np.float32(1 / size[k])
        for row in range(row_ptr[p] - first, row_ptr[p + 1] - first):
            target = out[row * channels :][:channels]
            for c in range(channels):
                target[c] += share * source[c]
