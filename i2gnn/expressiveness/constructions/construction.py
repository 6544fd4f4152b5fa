"""`Construction`: a count as message passing, and how it is run on any graphs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from i2gnn.counting import Pattern
from i2gnn.expressiveness.constructions.vocabulary import Rows
from i2gnn.graphs import GraphStore
from i2gnn.refinement.rounds import NodeOrGraph
from i2gnn.subgraphs import Subgraphs, extract_subgraphs
from i2gnn.subgraphs.stream import Cost, extract_part, plan_parts

__all__ = ["Construction"]

COST = Cost(pair=64, link=64, row=160, message=48)
"""Bytes of the index lists and of a few states; messages are written out, as int64."""

BUDGET = 2**28
"""Bytes that the subgraphs of a part may take."""


@dataclass(frozen=True)
class Construction:
    """How a model counts a substructure: a proof as message passing.

    Attributes:
        pattern: What is counted, and at which position.
        theorem: Where the paper proves it; "ours" where it does not.
        identifiers: How many nodes of a subgraph carry an identifier.
        hops: The radius of the ego-nets, 0 without any.
        rounds: Of messages: the layers that a model needs to follow it.
        times: How often one copy is found.
        function: Takes `Rows` and returns what is found at every root, [N]: `times` the count, at
            the level "graph" when summed over the nodes.
        level: What is counted in: nodes, or graphs as a whole.
    """

    pattern: Pattern
    theorem: str
    identifiers: int
    hops: int
    rounds: int
    times: int
    function: Callable[[Rows], Tensor]
    level: NodeOrGraph = "node"

    @property
    def name(self) -> str:
        """Name of the substructure, as in `i2gnn.count`."""
        return self.pattern.name

    def count(self, graphs: Any) -> Tensor:
        """Runs it: exact counts, the same as `i2gnn.count` gives, which is faster.

        Time and memory grow with the rows and messages of the subgraphs, sum of d_i |V_i| and sum
        of d_i |E_i| with two identifiers, in each round. Memory is bounded: roots are taken in
        parts.

        Args:
            graphs: A `GraphStore`, or PyG, networkx or SMILES graphs: one or a list.

        Shapes:
            returns: [N] or [G], int64.
        """
        store = GraphStore.from_any(graphs).to("cpu")
        found = torch.zeros(store.num_nodes, dtype=torch.int64)
        for nodes, subgraphs in self.parts(store):
            found[nodes] += self.function(Rows(subgraphs))[subgraphs.roots]
        if self.level == "graph":
            in_graphs = torch.zeros(len(store), dtype=torch.int64)
            found = in_graphs.index_add_(0, store.node_to_graph, found)
        assert not (found % self.times).any(), f"{self.name}: not whole numbers"
        return found // self.times

    def parts(self, graphs: GraphStore) -> Iterator[tuple[slice, Subgraphs]]:
        """Subgraphs that fit the budget, and which nodes are their roots.

        The readout over branches is a sum, so the branches of a root may lie in several parts.
        """
        identifiers, labels = self.identifiers, "identity"
        if identifiers == 0:
            yield slice(0, graphs.num_nodes), extract_subgraphs(graphs, identifiers=0)
            return
        parts = plan_parts(
            graphs, COST, BUDGET, hops=self.hops, identifiers=identifiers, labels=labels
        )
        for part in parts:
            subgraphs = extract_part(
                graphs, part, hops=self.hops, identifiers=identifiers, labels=labels
            )
            yield slice(part.start, part.stop), subgraphs
