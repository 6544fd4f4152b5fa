"""How large subgraphs are, counted before any memory is taken for them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.graphs.flat import index_dtype, ragged_arange
from i2gnn.graphs.store import GraphStore
from i2gnn.memory import available_memory, format_size
from i2gnn.parallel import run_chunks
from i2gnn.subgraphs.checks import check_arguments
from i2gnn.subgraphs.labels import parse_labels

__all__ = ["SubgraphSizes", "SubgraphsTooLarge", "count_subgraphs"]

LABEL_BYTES = {"identity": (1, 0), "spd": (0, 1), "spd_pred": (0, 2), "resistance": (0, 4)}
"""Bytes of a row's label: in all, and per identifier."""

SCRATCH = 32
"""Bytes per pair that extraction takes beside its result, for offsets."""

ROOTS_PER_CHUNK = 512


class SubgraphsTooLarge(InputError):
    """The subgraphs would not fit into memory; the message gives rows, bytes and ways out."""


@dataclass(frozen=True, eq=False)
class SubgraphSizes:
    """Sizes of the subgraphs of n roots.

    Attributes:
        roots: [n], nodes, ascending.
        branches: [n], branches of each root.
        pairs: [n], nodes of each ego-net.
        links: [n], directed edges of each ego-net.
        graph_nodes: Nodes of the graphs they are in.
        graph_edges: Edges of the graphs they are in.
        row_bytes: Bytes of the labels of a row.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> sizes = count_subgraphs(path, hops=1)
        >>> sizes.rows.tolist(), sizes.nbytes
        ([2, 6, 2], 180)
    """

    roots: Tensor
    branches: Tensor
    pairs: Tensor
    links: Tensor
    graph_nodes: int
    graph_edges: int
    row_bytes: int

    @cached_property
    def rows(self) -> Tensor:
        """Rows of each root, [n]: one per branch and node."""
        return self.branches * self.pairs

    @cached_property
    def messages(self) -> Tensor:
        """Messages of each root in one layer, [n]: one per branch and link."""
        return self.branches * self.links

    @property
    def nbytes(self) -> int:
        """Bytes that the columns of `Subgraphs` will take beside those of the graphs."""
        pairs, links = int(self.pairs.sum()), int(self.links.sum())
        to_node, to_pair, to_edge = (
            index_dtype(n).itemsize for n in (self.graph_nodes, pairs, self.graph_edges)
        )
        return (
            8 * self.graph_nodes
            + (to_node + 4) * pairs
            + (to_pair + to_edge) * links
            + to_pair * int(self.branches.sum())
            + self.row_bytes * int(self.rows.sum())
        )

    def check_memory(self) -> None:
        """Raises `SubgraphsTooLarge` if the host cannot hold the subgraphs."""
        pairs = int(self.pairs.sum())
        needed, available = self.nbytes + SCRATCH * pairs, available_memory()
        if needed > available:
            raise SubgraphsTooLarge(
                f"the subgraphs have {int(self.rows.sum()):,} rows over {pairs:,} pairs and "
                f"{int(self.links.sum()):,} links and need {format_size(needed)}, of which "
                f"{format_size(available)} are free; stream them under a memory budget "
                "(memory_budget in i2gnn.predict and i2gnn train, or i2gnn.StreamedModel), "
                "or use fewer hops, or sample branches"
            )


def count_subgraphs(
    graphs: GraphStore,
    *,
    hops: int = 3,
    identifiers: int = 2,
    labels: str = "spd",
    roots: Tensor | None = None,
    branches: Tensor | None = None,
    progress: bool = False,
) -> SubgraphSizes:
    """Counts branches, pairs, links and rows of every root; takes the time of one search each.

    Takes arguments of `extract_subgraphs`, of which it predicts the result.

    Args:
        graphs: Where the roots are.
        hops: Radius K of the ego-nets.
        identifiers: 1 or 2.
        labels: Label kinds.
        roots: Nodes to be roots, ascending; all by default.
        branches: Mask of the edges i <- j that are branches, [E]; all by default.
        progress: Shows a progress bar on standard error.
    """
    from i2gnn.subgraphs import kernels

    graphs = GraphStore.from_any(graphs)
    if identifiers not in (1, 2):
        raise ValueError(f"sizes are counted with 1 or 2 identifiers, not with {identifiers!r}")
    check_arguments(graphs, hops, identifiers, roots, branches)
    host = graphs if graphs.device.type == "cpu" else graphs.to("cpu")
    if roots is None:
        roots = torch.arange(host.num_nodes)
    pairs = np.zeros(len(roots), dtype=np.int64)
    links = np.zeros(len(roots), dtype=np.int64)
    arguments: tuple[Any, ...] = (
        hops,
        roots.numpy(),
        host.offsets["node"].numpy(),
        host.edge_ptr.numpy(),
        host.neighbor.numpy(),
        pairs,
        links,
    )
    run_chunks(
        kernels.count_pairs,
        len(roots),
        arguments,
        chunks=_chunks(host, len(roots)),
        description="sizing ego-nets" if progress else "",
    )
    kinds = parse_labels(labels, identifiers)
    return SubgraphSizes(
        roots=roots,
        branches=_count_branches(host, roots, identifiers, branches),
        pairs=torch.from_numpy(pairs),
        links=torch.from_numpy(links),
        graph_nodes=host.num_nodes,
        graph_edges=host.num_edges,
        row_bytes=sum(LABEL_BYTES[kind][0] + LABEL_BYTES[kind][1] * identifiers for kind in kinds),
    )


def _chunks(graphs: GraphStore, roots: int) -> int:
    """Enough for balance, but so few that a chunk costs more than the marks it starts with.

    A chunk takes a mark for each node of its graphs.
    """
    largest = int(graphs.sizes["node"].max()) if len(graphs) else 0
    return max(1, min(256, roots // ROOTS_PER_CHUNK, 16 * roots // max(largest, 1)))


def _count_branches(
    graphs: GraphStore, roots: Tensor, identifiers: int, branches: Tensor | None
) -> Tensor:
    """Branches of each root, [n]; an isolated root has one, itself."""
    if identifiers < 2:
        return torch.ones(len(roots), dtype=torch.int64)
    degree = graphs.degree[roots].long()
    if branches is None:
        return degree.clamp(min=1)
    edges = ragged_arange(graphs.edge_ptr[roots], degree, int(degree.sum()))
    kept = branches[edges].long()
    root = torch.repeat_interleave(torch.arange(len(roots)), degree)
    total = torch.zeros(len(roots), dtype=torch.int64).index_add_(0, root, kept)
    return torch.where(degree == 0, 1, total)
