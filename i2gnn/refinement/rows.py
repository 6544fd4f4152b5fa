"""Identifier-WL: colours of the rows of subgraphs, refined as models with identifiers do."""

import numpy as np

from i2gnn.nn.readouts import parse_readout
from i2gnn.refinement.naming import name_messages
from i2gnn.refinement.rounds import (
    Groups,
    Ints,
    NodeOrGraph,
    combine,
    feature_colors,
    group_by,
    integers,
    name_multisets,
    nodes_of,
)
from i2gnn.subgraphs import Subgraphs

__all__ = ["RowRefinement"]


class RowRefinement:
    """Refines colours of rows: `IdentifierGNN` with injective sums in place of real ones.

        start     c[i,j,k] = (labels of the row, features of k)
        round     c[i,j,k] = (c[i,j,k], multiset of (features of k <- l, c[i,j,l]) over l in N_i(k))
                  c[i,j,k] = (c[i,j,k], n[k])                              with `node_states`
        branches  b[i,j]   = multiset of c[i,j,k] over k; with three identifiers also over j'
        nodes     n[i]     = multiset of b[i,j] over j
        graphs    g        = multiset of n[i] over i

    Time is linear in the messages of one round.

    Args:
        subgraphs: With any number of identifiers and discrete labels, or with deleted nodes.
        node_states: Whether rows see the colour of their node in every round.
        readout: What is read of subgraphs and nodes, as by the models; see `i2gnn.nn.readouts`.
    """

    def __init__(
        self, subgraphs: Subgraphs, node_states: bool = False, readout: str = "nodes"
    ) -> None:
        if subgraphs.resistance is not None:
            raise ValueError(
                "labels 'resistance' are real numbers, which have no exact colours; leave them out"
            )
        if not subgraphs.complete:
            raise ValueError("refinement needs every node as a root; these subgraphs have some")
        self.subgraphs = subgraphs
        self.node_states = node_states
        self.parts = parse_readout(readout, subgraphs.identifiers)
        self.row_ptr = integers(subgraphs.row_ptr)
        self.link_ptr = integers(subgraphs.link_ptr)
        self.link_to_pair = integers(subgraphs.link_to_pair)
        self.link_color = np.empty(0, np.int64)
        if subgraphs.edge_attr is not None:
            of_edge = feature_colors(subgraphs.edge_attr, subgraphs.num_edges)
            self.link_color = of_edge[integers(subgraphs.link_to_edge)]
        self.row_to_node = integers(subgraphs.row_to_node)
        self.rows_of_branch = group_by(subgraphs.row_to_branch, subgraphs.num_branches)
        self.rows_of_node: Groups | None = None
        if "context" in self.parts:
            self.rows_of_node = group_by(subgraphs.row_to_node, subgraphs.num_nodes)
        steps = subgraphs
        self.branches_of_step: Groups | None = None
        if subgraphs.identifiers == 3:
            steps, step_of_branch = subgraphs.first_steps
            self.branches_of_step = group_by(step_of_branch, steps.num_branches)
        self.branches_of_root = group_by(steps.branch_to_root, subgraphs.num_nodes)
        of_node = feature_colors(subgraphs.x, subgraphs.num_nodes)[self.row_to_node]
        labels = [] if subgraphs.labels is None else [*map(integers, subgraphs.labels.unbind(1))]
        self.colors, self.num_colors = combine(of_node, *labels)

    def step(self) -> None:
        """Takes one round."""
        names = np.empty_like(self.colors)
        self.num_colors = name_messages(
            self.colors,
            self.num_colors,
            self.row_ptr,
            self.link_ptr,
            self.link_to_pair,
            self.link_color,
            names,
        )
        self.colors = names
        if self.node_states:
            of_node = self.read("node")[self.row_to_node]
            self.colors, self.num_colors = combine(self.colors, of_node)

    def is_stable(self) -> bool:
        """Always true: colours are exact, so that equal numbers of them mean equal partitions."""
        return True

    def read(self, level: NodeOrGraph) -> Ints:
        """Colours of the nodes, [N], or of the graphs, [G]."""
        branches = self._read_branches()
        if self.branches_of_step is not None:
            branches = name_multisets(branches, self.branches_of_step)
        context = None
        if self.rows_of_node is not None:
            context = name_multisets(self.colors, self.rows_of_node)
        nodes = name_multisets(branches, self.branches_of_root, context)
        return nodes if level == "node" else name_multisets(nodes, nodes_of(self.subgraphs))

    def _read_branches(self) -> Ints:
        own = [np.zeros(self.subgraphs.num_branches, np.int64)]
        if "center" in self.parts:
            own.append(self.colors[integers(self.subgraphs.row_of_root)])
        if "side" in self.parts:
            own.append(self.colors[integers(self.subgraphs.row_of_branch)])
        marked, _ = combine(*own)
        if "nodes" not in self.parts:
            return marked
        return name_multisets(self.colors, self.rows_of_branch, marked)
