"""`Subgraphs`: the ego-nets of every root, in a layout that never copies them."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from i2gnn.graphs.flat import column, index_dtype, offsets, owners, ragged_arange
from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs.codes import code_count, dense_codes
from i2gnn.subgraphs.row_types import RowTypes, find_row_types
from i2gnn.subgraphs.steps import FirstSteps, find_first_steps

__all__ = ["AXES", "Subgraphs"]

AXES = ("node", "edge", "branch", "pair", "link", "row")
"""Axes of a `Subgraphs` with lengths N, E, B, P, Q, R."""


class Segments(NamedTuple):
    """Items sorted into groups: group g holds `items[ptr[g] : ptr[g + 1]]`."""

    ptr: Tensor
    items: Tensor


class RowLinks(NamedTuple):
    """The links of each row's pair.

    Attributes:
        first: The first of them, [R].
        number: How many there are, [R].
        rank: The row's place among the rows of its pair, [R].
    """

    first: Tensor
    number: Tensor
    rank: Tensor


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Subgraphs(GraphStore):
    """Graphs together with the rooted subgraphs of all their nodes.

    The subgraphs G_ij of one root i share its ego-net and differ only in their labels, so the
    ego-net is stored once and each of its nodes k carries one row per branch j:

        pair p = (i, k)            P pairs, grouped by root, the root's own pair first
        row  r = (i, k, j)         R rows; the rows of a pair are contiguous, one per branch of i
        link q = (i, k) <- (i, l)  Q edges between pairs, grouped by the receiving pair (CSR)

    With two identifiers the branches of i are its neighbours; with three they are the paths
    (j, j') that lead on from it (`i2gnn.subgraphs.paths`); with one there is a single branch,
    i itself; with zero, every node is its own root with a single pair, and links are the edges of
    the graph. An isolated root keeps one row (i, i, i).

    Attributes:
        identifiers: How many nodes of a subgraph carry a unique identifier: 0 to 3.
        hops: Radius K of the ego-nets; 0 stands for none (zero identifiers).
        label_kinds: What `labels` and `resistance` hold; see `i2gnn.subgraphs.labels`.
        label_sizes: Number of values of each column of `labels`.
        complete: Whether every node is a root; if not, those that are have pairs, and the others
            are only seen by them.
        branch_count: [N], branches of each root.
        pair_count: [N], nodes of each ego-net.
        branch_to_pair: [B], the pair (i, j) of each branch.
        branch_to_tip: [B], with three identifiers the pair (i, j') of each branch; else None.
        pair_to_node: [P], the node k of each pair.
        link_count: [P], neighbours of k inside the ego-net of i.
        link_to_pair: [Q], the sending pair (i, l) of each link.
        link_to_edge: [Q], the edge k <- l of the graph.
        labels: [R, L] uint8, discrete labels.
        resistance: [R, identifiers], resistance distances, or None.
        branch_weight: [N], where branches were sampled, d_i / S_i: neighbours of each root over
            branches kept, by which a sum over branches is multiplied; else None.
        kind: [N], equal for nodes whose subgraphs are equal; None unless they have been compared
            (`i2gnn.training.distinct`).
    """

    FORMAT_VERSION = 1
    AXES = AXES

    identifiers: int
    hops: int
    label_kinds: tuple[str, ...] = ()
    label_sizes: tuple[int, ...] = ()
    complete: bool = True
    branch_count: Tensor = column("node")
    pair_count: Tensor = column("node")
    branch_to_pair: Tensor = column("branch", into="pair")
    pair_to_node: Tensor = column("pair", into="node")
    link_count: Tensor = column("pair")
    link_to_pair: Tensor = column("link", into="pair")
    link_to_edge: Tensor = column("link", into="edge")
    labels: Tensor | None = column("row", optional=True)
    resistance: Tensor | None = column("row", optional=True)
    branch_weight: Tensor | None = column("node", optional=True)
    branch_to_tip: Tensor | None = column("branch", into="pair", optional=True)
    kind: Tensor | None = column("node", optional=True)

    # -- sizes -------------------------------------------------------------------------------

    @property
    def num_branches(self) -> int:
        """Number of (root, branch) subgraphs B."""
        return self.length("branch")

    @property
    def num_pairs(self) -> int:
        """Number of (root, node) pairs P."""
        return self.length("pair")

    @property
    def num_links(self) -> int:
        """Number of edges between pairs Q."""
        return self.length("link")

    @property
    def num_rows(self) -> int:
        """Number of (root, node, branch) rows R."""
        return self.length("row")

    @cached_property
    def roots(self) -> Tensor:
        """The nodes that are roots, ascending: all of them if the subgraphs are complete."""
        return self.pair_count.nonzero().squeeze(1)

    # -- offsets -----------------------------------------------------------------------------

    @cached_property
    def branch_ptr(self) -> Tensor:
        """Where the branches of each root start, [N + 1]."""
        return offsets(self.branch_count, index_dtype(self.num_branches))

    @cached_property
    def pair_ptr(self) -> Tensor:
        """Where the pairs of each root start, [N + 1]."""
        return offsets(self.pair_count, index_dtype(self.num_pairs))

    @cached_property
    def link_ptr(self) -> Tensor:
        """Where the links of each pair start, [P + 1]."""
        return offsets(self.link_count, index_dtype(self.num_links))

    @cached_property
    def row_count(self) -> Tensor:
        """Rows of each pair, [P]: the branches of its root."""
        return self.branch_count.index_select(0, self.pair_to_root)

    @cached_property
    def row_ptr(self) -> Tensor:
        """Where the rows of each pair start, [P + 1]."""
        return offsets(self.row_count, index_dtype(self.num_rows))

    # -- maps --------------------------------------------------------------------------------

    @cached_property
    def pair_to_root(self) -> Tensor:
        """The root i of each pair, [P]."""
        return owners(self.pair_ptr, self.num_pairs)

    @cached_property
    def branch_to_root(self) -> Tensor:
        """The root i of each branch, [B]."""
        return owners(self.branch_ptr, self.num_branches)

    @cached_property
    def branch_to_node(self) -> Tensor:
        """The node j of each branch, [B]; the root itself where there is no second identifier."""
        return self.pair_to_node[self.branch_to_pair]

    @cached_property
    def row_to_pair(self) -> Tensor:
        """The pair (i, k) of each row, [R]."""
        return owners(self.row_ptr, self.num_rows)

    @cached_property
    def row_to_branch(self) -> Tensor:
        """The branch (i, j) of each row, [R]."""
        first = self.branch_ptr.index_select(0, self.pair_to_root) - self.row_ptr[:-1]  # [P]
        branch = first.index_select(0, self.row_to_pair)
        branch += torch.arange(self.num_rows, dtype=branch.dtype, device=self.device)
        return branch.clamp_(max=self.num_branches - 1)  # there may be more spare rows

    @cached_property
    def row_to_node(self) -> Tensor:
        """The node k of each row, [R]."""
        return self.pair_to_node[self.row_to_pair]

    @cached_property
    def row_of_root(self) -> Tensor:
        """For each branch the row at k = i, [B]."""
        root_pair = self.pair_ptr.index_select(0, self.branch_to_root)
        return self._row_in_pair(root_pair)

    @cached_property
    def row_of_branch(self) -> Tensor:
        """For each branch the row at k = j, [B]."""
        return self._row_in_pair(self.branch_to_pair)

    @cached_property
    def link_to_receiver(self) -> Tensor:
        """The receiving pair (i, k) of each link, [Q]."""
        return owners(self.link_ptr, self.num_links)

    @cached_property
    def row_links(self) -> RowLinks:
        """Where the links of each row's pair are, so that a kernel need not look for the pair."""
        pair = self.row_to_pair
        rows = torch.arange(self.num_rows, dtype=self.row_ptr.dtype, device=self.device)
        return RowLinks(
            self.link_ptr.index_select(0, pair),
            self.link_count.index_select(0, pair),
            rows - self.row_ptr.index_select(0, pair),
        )

    @cached_property
    def link_to_row(self) -> Tensor:
        """The first row of the sending pair of each link, [Q]; its branches follow."""
        return self.row_ptr.index_select(0, self.link_to_pair)

    @cached_property
    def link_to_reverse_edge(self) -> Tensor:
        """The edge l <- k of each link (i, k) <- (i, l), [Q]."""
        return self.reverse_edge[self.link_to_edge].to(self.link_to_edge.dtype)

    @cached_property
    def message_rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sending row, receiving row and link of each message, [M] each.

        A link carries one message per branch of its root. Only the reference ops need this list;
        the kernels read the links.
        """
        receiver = self.link_to_receiver
        count = self.row_count[receiver]
        link = torch.repeat_interleave(torch.arange(self.num_links, device=self.device), count)
        sent_from = ragged_arange(self.row_ptr[self.link_to_pair], count, len(link))
        sent_to = ragged_arange(self.row_ptr[receiver], count, len(link))
        return sent_from, sent_to, link

    @cached_property
    def node_to_pair(self) -> Segments:
        """The pairs (., k) of each node k."""
        return _sort_into_groups(self.pair_to_node, self.num_nodes)

    @cached_property
    def edge_to_link(self) -> Segments:
        """The links that run over each edge."""
        return _sort_into_groups(self.link_to_edge, self.num_edges)

    @cached_property
    def label_code(self) -> Tensor | None:
        """The labels of each row as one number below `num_codes`, [R] int32."""
        if self.labels is None:
            return None
        first, *others = self.labels.unbind(1)
        code = first.to(torch.int32)
        for values, size in zip(others, self.label_sizes[1:], strict=True):
            code = torch.add(values, code, alpha=size)
        spare = self.graph_ptr is not None
        return dense_codes(code, self.label_kinds, self.label_sizes, check=not spare)

    @property
    def num_codes(self) -> int:
        """How many label codes there are."""
        return code_count(self.label_kinds, self.label_sizes)

    @cached_property
    def row_types(self) -> RowTypes:
        """Rows with equal labels whose neighbours have equal labels: alike after one layer."""
        return find_row_types(self)

    @cached_property
    def first_steps(self) -> FirstSteps:
        """With three identifiers, the first step j of each path (j, j')."""
        return find_first_steps(self)

    def _row_in_pair(self, pair: Tensor) -> Tensor:
        """For each branch its row in the pair given for it, [B] to [B]."""
        start = self.row_ptr.index_select(0, pair)
        start -= self.branch_ptr.index_select(0, self.branch_to_root)
        start += torch.arange(self.num_branches, dtype=start.dtype, device=self.device)
        return start.clamp_(max=self.num_rows - 1)  # there may be more spare branches


def _sort_into_groups(group: Tensor, groups: int) -> Segments:
    # A search rather than a bincount, which on a GPU waits for the device.
    ordered, items = torch.sort(group, stable=True)
    bounds = torch.arange(groups + 1, dtype=group.dtype, device=group.device)
    return Segments(torch.searchsorted(ordered, bounds), items)
