"""Readouts: rows to branches, branches to nodes, nodes to graphs (Eqs. 7 to 9).

Each is a pool along one map, followed by an MLP unless `with_mlp=False`. What a subgraph and a node
hand on is a choice of parts:

| part    | of the subgraph (i, j)                       | of the node i                     |
|---------|----------------------------------------------|-----------------------------------|
| nodes   | pool of h[i,j,k] over k                      | pool of that over j               |
| center  | the row at the root, h[i,j,i]                | pool of that over j               |
| side    | the row at the branch, h[i,j,j]              | pool of that over j               |
| context | -                                            | pool of h[a,b,i] over all (a, b)  |

All but the context may be gated: h[i,j,k] is then multiplied by gate[i,j,k] first.
"""

from typing import cast

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.graphs.store import GraphStore
from i2gnn.nn.perceptron import mlp
from i2gnn.ops import Reduce
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "PARTS",
    "EdgeReadout",
    "GraphReadout",
    "NodeReadout",
    "PathReadout",
    "parse_readout",
    "read_branches",
    "read_edges",
    "read_nodes",
]

PARTS = ("nodes", "center", "side", "context")


def parse_readout(readout: str, identifiers: int) -> tuple[str, ...]:
    """Splits "nodes+center" into its parts, in the order of `PARTS`.

    Example:
        >>> parse_readout("context+nodes", identifiers=2)
        ('nodes', 'context')
    """
    parts = readout.split("+")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"unknown readout {unknown[0]!r}; expected {', '.join(PARTS)}")
    for part, needed in (("center", 1), ("side", 2), ("context", 1)):
        if part in parts and identifiers < needed:
            raise ValueError(f"readout {part!r} needs {needed} identifiers, not {identifiers}")
    if parts == ["context"]:
        raise ValueError("readout 'context' says nothing of a subgraph; add one of nodes, center")
    return tuple(part for part in PARTS if part in parts)


def read_branches(
    h: Tensor,
    subgraphs: Subgraphs,
    parts: tuple[str, ...] = ("nodes",),
    reduce: Reduce = "sum",
    gate: Tensor | None = None,
) -> Tensor:
    """The parts of each subgraph side by side: [R, D] rows to [B, parts D] (the context aside)."""
    h = h if gate is None else gate * h
    of_subgraphs = [cast(ops.Part, part) for part in parts if part != "context"]
    return ops.read_parts(h, subgraphs, of_subgraphs, reduce)


def read_nodes(
    h: Tensor,
    subgraphs: Subgraphs,
    parts: tuple[str, ...] = ("nodes",),
    reduce: Reduce = "sum",
    gate: Tensor | None = None,
) -> Tensor:
    """The parts of each node side by side: [R, D] rows to [N, parts D]."""
    if reduce == "mean" and set(parts) >= {"nodes", "center", "side"}:
        nodes = ops.read_subgraphs(h, subgraphs, gate)
    else:
        branches = read_branches(h, subgraphs, parts, reduce, gate)
        nodes = ops.pool_branches(branches, subgraphs, reduce)
    if "context" not in parts:
        return nodes
    return torch.cat([nodes, ops.pool_context(h, subgraphs, reduce)], dim=1)


class EdgeReadout(nn.Module):
    """Reads each subgraph into one vector (edge readout, Eq. 7).

        h[i,j] = mlp([pool of h[i,j,k] over k in V_i, and other parts])

    Args:
        channels: Width D of the rows.
        reduce: "sum" or "mean".
        with_mlp: Whether an MLP follows, which keeps the width.
        parts: What to read.

    Shapes:
        h: [R, D], one row per (root, node, branch).
        gate: [R, D], or None.
        returns: [B, parts D], one row per (root, branch).

    Example:
        >>> import torch
        >>> from i2gnn.subgraphs import extract_subgraphs
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> subgraphs = extract_subgraphs(path, hops=2)
        >>> EdgeReadout(channels=8)(torch.ones(subgraphs.num_rows, 8), subgraphs).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        channels: int,
        reduce: Reduce = "sum",
        with_mlp: bool = True,
        parts: tuple[str, ...] = ("nodes",),
    ) -> None:
        super().__init__()
        self.reduce = reduce
        self.parts = tuple(part for part in parts if part != "context")
        self.mlp = _square_mlp(len(self.parts) * channels, with_mlp)

    def forward(self, h: Tensor, subgraphs: Subgraphs, gate: Tensor | None = None) -> Tensor:
        """[R, D] to [B, parts D]."""
        result: Tensor = self.mlp(read_branches(h, subgraphs, self.parts, self.reduce, gate))
        return result


class NodeReadout(nn.Module):
    """Pools the branches of each root into one vector (node readout, Eq. 8).

        h[i] = mlp([pool of h[i,j] over the branches j of i, context of i if given])

    Args:
        channels: Width of the result: that of the branches and of the context together.
        reduce: "sum" or "mean".
        with_mlp: Whether an MLP follows.

    Shapes:
        h: [B, D].
        context: [N, D'], or None.
        returns: [N, D + D'].
    """

    def __init__(self, channels: int, reduce: Reduce = "sum", with_mlp: bool = True) -> None:
        super().__init__()
        self.reduce = reduce
        self.mlp = _square_mlp(channels, with_mlp)

    def forward(self, h: Tensor, subgraphs: Subgraphs, context: Tensor | None = None) -> Tensor:
        """[B, D] to [N, channels]."""
        result: Tensor = self.mlp(self.pool(h, subgraphs, context))
        return result

    def pool(self, h: Tensor, subgraphs: Subgraphs, context: Tensor | None = None) -> Tensor:
        """What the MLP sees: the pooled branches and the context side by side."""
        nodes = ops.pool_branches(h, subgraphs, self.reduce)
        return nodes if context is None else torch.cat([nodes, context], dim=1)


class PathReadout(nn.Module):
    """Pools the paths of each root by their first step, with three identifiers.

        h[i,j] = mlp(pool of h[i,(j,j')] over j')

    Pooling in two steps, over j' and then over j, keeps together the paths that share j, which one
    pool over all (j, j') would lose. It costs an MLP per edge, next to nothing beside the rows.

    Args:
        channels: Width D.
        reduce: "sum" or "mean".
        with_mlp: Whether an MLP follows.

    Shapes:
        h: [B, D], one row per path.
        returns: [S, D], one row per neighbour of a root, and the subgraphs with two identifiers
            that these belong to.
    """

    def __init__(self, channels: int, reduce: Reduce = "sum", with_mlp: bool = True) -> None:
        super().__init__()
        self.reduce: Reduce = reduce
        self.mlp = _square_mlp(channels, with_mlp)

    def forward(self, h: Tensor, subgraphs: Subgraphs) -> tuple[Tensor, Subgraphs]:
        """[B, D] to [S, D]."""
        steps, step_of_path = subgraphs.first_steps
        pooled = h.new_zeros(steps.num_branches, h.shape[1]).index_add(0, step_of_path, h)
        if self.reduce == "mean":
            one = h.new_ones(len(h), 1)
            pooled = pooled / pooled.new_zeros(len(pooled), 1).index_add(0, step_of_path, one)
        result: Tensor = self.mlp(pooled)
        return result, steps


class GraphReadout(nn.Module):
    """Pools the nodes of each graph into one vector (graph readout, Eq. 9).

        h[G] = sum of h[i] over i in V

    Shapes:
        h: [N, D].
        returns: [G, D]; zeros for a graph without nodes.
    """

    def __init__(self, reduce: Reduce = "sum") -> None:
        super().__init__()
        self.reduce = reduce

    def forward(self, h: Tensor, graphs: GraphStore) -> Tensor:
        """[N, D] to [G, D]."""
        return ops.pool_graphs(h, graphs, self.reduce)


def read_edges(h: Tensor, subgraphs: Subgraphs) -> Tensor:
    """The branches that are edges: [B, D] to [E, D], in the order of the store's edges.

    With two identifiers, branch (i, j) belongs to the edge i <- j; the stand-in branch of an
    isolated root belongs to none.
    """
    if subgraphs.identifiers != 2:
        raise ValueError(f"branches are edges only with 2 identifiers, not {subgraphs.identifiers}")
    if subgraphs.branch_weight is not None:
        raise ValueError("edge level reads every branch, but of these branches some were sampled")
    return h[(subgraphs.degree > 0)[subgraphs.branch_to_root]]


def _square_mlp(channels: int, wanted: bool) -> nn.Module:
    return mlp([channels, channels, channels]) if wanted else nn.Identity()
