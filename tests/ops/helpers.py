"""Graphs, tolerances and checks of more than one op."""

import dataclasses

import torch

from tests.named_graphs import complete, cycle, path, store

TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2**-7, torch.float16: 2**-10}
"""Error over the largest value. Sums are in float32 and then rounded once, or twice where an op is
made of two kernels."""

GRAPHS = {
    "mixed": lambda: store(complete(3), [], cycle(4), num_nodes=[3, 2, 5]),
    "no edges": lambda: store([], num_nodes=[3]),
    "empty graph": lambda: store([], path(2), [], num_nodes=[0, 2, 0]),
    "nothing": lambda: store([], num_nodes=[0]),
}


def star(leaves):
    return [(0, leaf) for leaf in range(1, leaves + 1)]


def types(s, count, length=None):
    """Pseudo-random integers below `count`, the same in every call, one per edge by default."""
    length = s.num_edges if length is None else length
    return (torch.arange(length, device=s.device) * 2654435761 >> 7) % count


def with_spare(s):
    """The same graphs in a store with room at the end of every axis; what is spare holds zeros."""
    spare = {"node": 2, "edge": 3, "branch": 2, "pair": 3, "link": 4, "row": 70}
    sizes = {axis: n.clone() for axis, n in s.sizes.items()}
    for axis, n in sizes.items():
        n[-1] += spare[axis]

    def longer(name, tensor):
        # Edges are sorted by their ends, so that the last node has the spare ones.
        value = s.num_nodes + spare["node"] - 1 if name == "neighbor" else 0
        return torch.cat(
            [tensor, tensor.new_full((spare[s.axis_of(name)], *tensor.shape[1:]), value)]
        )

    columns = {name: longer(name, tensor) for name, tensor in s.columns.items()}
    ptr = {axis: s.ptr(axis) for axis in sizes}
    return dataclasses.replace(s, sizes=sizes, graph_ptr=ptr, **columns)


def assert_tf32_close(found, exact):
    """Errors as those of TF32: 2^-11 a product, a few of them one after the other."""
    for result, truth in zip(found, exact, strict=True):
        assert result.isfinite().all()
        assert (result - truth).norm() <= 4e-3 * truth.norm() + 1e-6
