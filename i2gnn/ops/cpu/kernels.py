"""Compiled loops of the CPU ops; `h`, `out` and friends are flat arrays of rows times channels.

The rows of a pair are contiguous, so one index load moves a wide vector of branches x channels.
"""

from typing import Any

import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["relu_sum", "relu_sum_grad_edge", "relu_sum_grad_h", "sum_links", "sum_pairs"]

Array = npt.NDArray[Any]


@jit
def sum_links(
    start: int,
    stop: int,
    channels: int,
    link_ptr: Array,
    link_to_pair: Array,
    row_ptr: Array,
    h: Array,
    out: Array,
) -> None:
    """out[p] = sum of h[link_to_pair[q]] over the links q of pair p, for pairs start .. stop."""
    for p in range(start, stop):
        target = row_ptr[p] * channels
        size = row_ptr[p + 1] * channels - target
        for c in range(size):
            out[target + c] = 0
        for q in range(link_ptr[p], link_ptr[p + 1]):
            source = row_ptr[link_to_pair[q]] * channels
            for c in range(size):
                out[target + c] += h[source + c]


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
        target = row_ptr[p] * channels
        branches = row_ptr[p + 1] - row_ptr[p]
        for c in range(branches * channels):
            out[target + c] = 0
        for q in range(link_ptr[p], link_ptr[p + 1]):
            source = row_ptr[link_to_pair[q]] * channels
            edge = link_to_edge[q] * channels
            for b in range(branches):
                shift = b * channels
                for c in range(channels):
                    value = h[source + shift + c] + edge_attr[edge + c]
                    out[target + shift + c] += 0 if value <= 0 else value  # NaN stays NaN


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
        own = row_ptr[p] * channels
        branches = row_ptr[p + 1] - row_ptr[p]
        for c in range(branches * channels):
            out[own + c] = 0
        for q in range(link_ptr[p], link_ptr[p + 1]):
            other = row_ptr[link_to_pair[q]] * channels
            edge = link_to_reverse_edge[q] * channels
            for b in range(branches):
                shift = b * channels
                for c in range(channels):
                    if not h[own + shift + c] + edge_attr[edge + c] <= 0:
                        out[own + shift + c] += grad[other + shift + c]


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
        edge = e * channels
        for c in range(channels):
            out[edge + c] = 0
        for n in range(edge_ptr[e], edge_ptr[e + 1]):
            q = edge_links[n]
            source = row_ptr[link_to_pair[q]] * channels
            target = row_ptr[link_to_receiver[q]] * channels
            branches = row_ptr[link_to_receiver[q] + 1] - row_ptr[link_to_receiver[q]]
            for b in range(branches):
                shift = b * channels
                for c in range(channels):
                    if not h[source + shift + c] + edge_attr[edge + c] <= 0:
                        out[edge + c] += grad[target + shift + c]


@jit
def sum_pairs(
    start: int,
    stop: int,
    channels: int,
    pair_ptr: Array,
    branch_ptr: Array,
    row_ptr: Array,
    h: Array,
    out: Array,
) -> None:
    """out[i] = sum of h[p] over the pairs p of root i, for roots start .. stop."""
    for i in range(start, stop):
        target = branch_ptr[i] * channels
        size = branch_ptr[i + 1] * channels - target
        for c in range(size):
            out[target + c] = 0
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            source = row_ptr[p] * channels
            for c in range(size):
                out[target + c] += h[source + c]
