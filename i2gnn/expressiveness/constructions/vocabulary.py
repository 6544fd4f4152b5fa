"""The vocabulary of the paper's proofs: all that a model may do with the states of its rows."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from i2gnn import ops
from i2gnn.subgraphs import Subgraphs

__all__ = ["Rows"]

ROOT, BRANCH = 1, 2
"""Values of the label "identity"."""


@dataclass(frozen=True, eq=False)
class Rows:
    """States of integers on rows (i, j, k), and what message passing can make of them.

    A construction may read identifiers, sum over neighbours inside the ego-net, combine the states
    of one row by any function, and at the end sum over nodes k, then over branches j. Nothing
    else is here, so what is written in these words is something that a model with as many
    identifiers and layers can express. States are int64 and sums are exact.

    Attributes:
        subgraphs: With labels "identity", or without identifiers.

    Shapes:
        states: [R]; after `over_nodes` [B]; after `over_branches` [N].

    Example:
        >>> from i2gnn.graphs import GraphStore
        >>> from i2gnn.subgraphs import extract_subgraphs
        >>> triangle = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 0)]], symmetrize=True)
        >>> rows = Rows(extract_subgraphs(triangle, hops=1, identifiers=1, labels="identity"))
        >>> rows.total(rows.near_root * rows.neighbors(rows.near_root))  # each triangle twice
        tensor([2, 2, 2])
    """

    subgraphs: Subgraphs

    def __post_init__(self) -> None:
        if self.subgraphs.identifiers and self.subgraphs.label_kinds != ("identity",):
            raise ValueError(
                "constructions read labels 'identity' and no others, "
                f"got {'+'.join(self.subgraphs.label_kinds) or 'none'!r}"
            )

    # -- identifiers -------------------------------------------------------------------------

    @cached_property
    def root(self) -> Tensor:
        """1 where k = i."""
        return self._labelled(ROOT, identifiers=1)

    @cached_property
    def branch(self) -> Tensor:
        """1 where k = j."""
        return self._labelled(BRANCH, identifiers=2)

    @cached_property
    def off_root(self) -> Tensor:
        """1 where k is not i."""
        return 1 - self.root

    @cached_property
    def off_both(self) -> Tensor:
        """1 where k is neither i nor j."""
        return 1 - self.root - self.branch

    @cached_property
    def ones(self) -> Tensor:
        """1 everywhere."""
        return torch.ones(self.subgraphs.num_rows, dtype=torch.int64)

    # -- what one round of messages tells ----------------------------------------------------

    @cached_property
    def degree(self) -> Tensor:
        """Neighbours of k in the ego-net; those at its border have more outside."""
        return self.neighbors(self.ones)

    @cached_property
    def near_root(self) -> Tensor:
        """1 where k is in N(i)."""
        return self.neighbors(self.root)

    @cached_property
    def near_branch(self) -> Tensor:
        """1 where k is in N(j), which i is too."""
        return self.neighbors(self.branch)

    @cached_property
    def common(self) -> Tensor:
        """1 where k is in N(i) and in N(j): the third node of a triangle on the edge (i, j)."""
        return self.near_root * self.near_branch

    # -- sums --------------------------------------------------------------------------------

    def neighbors(self, h: Tensor) -> Tensor:
        """One round of messages: the sum of h[i,j,l] over l in N_i(k)."""
        return ops.aggregate(h.unsqueeze(1), self.subgraphs).squeeze(1)

    def over_nodes(self, h: Tensor) -> Tensor:
        """Edge readout: the sum of h[i,j,k] over k in V_i."""
        return ops.pool_nodes(h.unsqueeze(1), self.subgraphs).squeeze(1)

    def over_branches(self, h: Tensor) -> Tensor:
        """Node readout: the sum of h[i,j] over j in N(i)."""
        return ops.pool_branches(h.unsqueeze(1), self.subgraphs).squeeze(1)

    def total(self, h: Tensor) -> Tensor:
        """Both readouts: the sum of h[i,j,k] over j and k."""
        return self.over_branches(self.over_nodes(h))

    def _labelled(self, label: int, identifiers: int) -> Tensor:
        if self.subgraphs.identifiers < identifiers:
            raise ValueError(
                f"needs {identifiers} identifiers, but rows have {self.subgraphs.identifiers}"
            )
        assert self.subgraphs.labels is not None, "identifiers are labels"
        return (self.subgraphs.labels[:, 0] == label).long()
