"""Graphs as they arrive: edge lists not yet checked, and the checks."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from i2gnn.errors import InputError

__all__ = ["Cleaning", "Level", "RawGraphs", "clean"]

Array = npt.NDArray[Any]
Level = Literal["node", "edge", "graph"]


class Cleaning(NamedTuple):
    """How many directed edges `clean` took out."""

    self_loops: int
    duplicates: int


@dataclass(frozen=True)
class RawGraphs:
    """G graphs as concatenated arrays; node ids count from 0 inside each graph.

    Attributes:
        num_nodes: [G].
        num_edges: [G], number of entries of each graph in `edges`.
        edges: [E, 2], (source, target).
        x: Node features, [N, F].
        edge_attr: Edge features, [E, F].
        y: Targets, [N | E | G] or [.., T].
        level: What a row of `y` belongs to.
    """

    num_nodes: Array
    num_edges: Array
    edges: Array
    x: Array | None = None
    edge_attr: Array | None = None
    y: Array | None = None
    level: Level | None = None

    def where(self, edge: int) -> str:
        """Names an edge for an error message: its graph and its place in that graph's list."""
        starts = np.cumsum(self.num_edges)
        graph = int(np.searchsorted(starts, edge, side="right"))
        place = edge - int(starts[graph] - self.num_edges[graph])
        source, target = self.edges[edge].tolist()
        return f"graph {graph}, edge {place} ({source}, {target})"


def clean(
    raw: RawGraphs, *, symmetrize: bool, drop_duplicates: bool, drop_self_loops: bool
) -> tuple[RawGraphs, Cleaning]:
    """Checks the graphs and sorts their edges by (target, source); node ids become global.

    Raises:
        InputError: A node id out of range, a feature or target that is not a number, or, unless
            the option that repairs it is set, a self-loop, a duplicate or a missing reverse edge.
    """
    _check_shapes(raw)
    _check_finite(raw)
    loop = raw.edges[:, 0] == raw.edges[:, 1]
    raw, self_loops = _without(raw, loop, drop_self_loops, "self-loop")

    forward, _ = _keys(raw)
    duplicate = np.ones(len(forward), dtype=bool)
    duplicate[np.unique(forward, return_index=True)[1]] = False
    raw, duplicates = _without(raw, duplicate, drop_duplicates, "duplicate")

    forward, backward = _keys(raw)
    one_way = np.flatnonzero(~np.isin(backward, forward))
    if len(one_way) and not symmetrize:
        raise InputError(
            f"{raw.where(int(one_way[0]))}: the reverse edge is missing; "
            "graphs are undirected, so give both directions or pass symmetrize=True"
        )

    nodes = max(1, int(raw.num_nodes.sum()))
    key = np.concatenate([forward, backward[one_way]])
    order = np.argsort(key)
    edges = np.stack([key % nodes, key // nodes], axis=1)[order]
    given = np.concatenate([np.arange(len(forward)), one_way])[order]  # where features come from
    graph_of_node = np.repeat(np.arange(len(raw.num_nodes)), raw.num_nodes)
    cleaned = replace(
        _take_edges(raw, given),
        num_edges=np.bincount(graph_of_node[edges[:, 1]], minlength=len(raw.num_nodes)),
        edges=edges,
    )
    return cleaned, Cleaning(self_loops, duplicates)


def _keys(raw: RawGraphs) -> tuple[Array, Array]:
    """One number per edge and one per its reverse, ordered by (target, source)."""
    first_node = np.repeat(np.cumsum(raw.num_nodes) - raw.num_nodes, raw.num_edges)
    source, target = raw.edges[:, 0] + first_node, raw.edges[:, 1] + first_node
    nodes = max(1, int(raw.num_nodes.sum()))
    return target * nodes + source, source * nodes + target


def _check_shapes(raw: RawGraphs) -> None:
    if (raw.num_nodes < 0).any():
        graph = int(np.flatnonzero(raw.num_nodes < 0)[0])
        raise InputError(f"graph {graph}: {raw.num_nodes[graph]} nodes; expected 0 or more")
    owner = np.repeat(np.arange(len(raw.num_nodes)), raw.num_edges)
    outside = ((raw.edges < 0) | (raw.edges >= raw.num_nodes[owner][:, None])).any(axis=1)
    if outside.any():
        edge = int(np.flatnonzero(outside)[0])
        raise InputError(
            f"{raw.where(edge)}: node id out of range; "
            f"the graph has {raw.num_nodes[owner[edge]]} nodes, numbered from 0"
        )
    lengths = {"node": int(raw.num_nodes.sum()), "edge": len(raw.edges)}
    lengths["graph"] = len(raw.num_nodes)
    columns = [("x", raw.x, "node"), ("edge_attr", raw.edge_attr, "edge"), ("y", raw.y, raw.level)]
    for name, values, axis in columns:
        if values is None:
            continue
        if axis not in lengths:
            raise InputError(f"{name} needs level='node', 'edge' or 'graph', got {axis!r}")
        if values.dtype.kind not in "biuf":
            raise InputError(f"{name} has type {values.dtype}; expected numbers")
        if values.ndim == 0:
            raise InputError(f"{name} is the single value {values}; expected one row per {axis}")
        if len(values) != lengths[axis]:
            raise InputError(
                f"{name} has {len(values)} rows; expected {lengths[axis]}, one per {axis}"
            )


def _check_finite(raw: RawGraphs) -> None:
    for name, values in (("x", raw.x), ("edge_attr", raw.edge_attr), ("y", raw.y)):
        if values is None or not np.issubdtype(values.dtype, np.floating):
            continue
        with np.errstate(over="ignore"):
            stored = values.astype(np.float32)
        # A missing target (NaN) is legal in multi-task data; an infinite one never is.
        bad = np.isinf(stored) if name == "y" else ~np.isfinite(stored)
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape)
            place = f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")
            raise InputError(
                f"{name}, {place}: {values[at]}; expected a finite number in single precision"
            )


def _without(raw: RawGraphs, bad: Array, drop: bool, what: str) -> tuple[RawGraphs, int]:
    """Takes the marked edges out, or raises if that was not allowed."""
    if not bad.any():
        return raw, 0
    if not drop:
        raise InputError(
            f"{raw.where(int(np.flatnonzero(bad)[0]))}: {what}; "
            f"pass drop_{what.replace('-', '_')}s=True to leave such edges out"
        )
    owner = np.repeat(np.arange(len(raw.num_nodes)), raw.num_edges)
    num_edges = raw.num_edges - np.bincount(owner[bad], minlength=len(raw.num_nodes))
    return replace(_take_edges(raw, np.flatnonzero(~bad)), num_edges=num_edges), int(bad.sum())


def _take_edges(raw: RawGraphs, chosen: Array) -> RawGraphs:
    """Selects edges and what belongs to them; the caller sets `num_edges`."""
    return replace(
        raw,
        edges=raw.edges[chosen],
        edge_attr=None if raw.edge_attr is None else raw.edge_attr[chosen],
        y=raw.y[chosen] if raw.y is not None and raw.level == "edge" else raw.y,
    )
