"""Readouts: rows to branches, branches to nodes, nodes to graphs (Eqs. 7 to 9).

Each is a pool along one map, followed by an MLP unless `with_mlp=False`.
"""

from torch import Tensor, nn

from i2gnn import ops
from i2gnn.graphs.store import GraphStore
from i2gnn.nn.mlp import mlp
from i2gnn.ops import Reduce
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["EdgeReadout", "GraphReadout", "NodeReadout", "read_edges"]


class EdgeReadout(nn.Module):
    """Pools the rows of each subgraph into one vector (edge readout, Eq. 7).

        h[i,j] = mlp(sum of h[i,j,k] over k in V_i)

    Args:
        channels: Width D of the rows, unchanged by the readout.
        reduce: "sum" or "mean".
        with_mlp: Whether an MLP follows the pool.

    Shapes:
        h: [R, D], one row per (root, node, branch).
        returns: [B, D], one row per (root, branch).

    Example:
        >>> import torch
        >>> from i2gnn.subgraphs import extract_subgraphs
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> subgraphs = extract_subgraphs(path, hops=2)
        >>> EdgeReadout(channels=8)(torch.ones(subgraphs.num_rows, 8), subgraphs).shape
        torch.Size([4, 8])
    """

    def __init__(self, channels: int, reduce: Reduce = "sum", with_mlp: bool = True) -> None:
        super().__init__()
        self.reduce = reduce
        self.mlp = _square_mlp(channels, with_mlp)

    def forward(self, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [B, D]."""
        result: Tensor = self.mlp(ops.pool_nodes(h, subgraphs, self.reduce))
        return result


class NodeReadout(nn.Module):
    """Pools the branches of each root into one vector (node readout, Eq. 8).

        h[i] = mlp(sum of h[i,j] over the branches j of i)

    Shapes:
        h: [B, D].
        returns: [N, D].
    """

    def __init__(self, channels: int, reduce: Reduce = "sum", with_mlp: bool = True) -> None:
        super().__init__()
        self.reduce = reduce
        self.mlp = _square_mlp(channels, with_mlp)

    def forward(self, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[B, D] to [N, D]."""
        result: Tensor = self.mlp(ops.pool_branches(h, subgraphs, self.reduce))
        return result


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
    return h[(subgraphs.degree > 0)[subgraphs.branch_to_root]]


def _square_mlp(channels: int, wanted: bool) -> nn.Module:
    return mlp([channels, channels, channels]) if wanted else nn.Identity()
