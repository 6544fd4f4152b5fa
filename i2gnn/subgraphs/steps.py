"""The first steps of paths: three identifiers seen as two."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from i2gnn.graphs.flat import offsets, owners

if TYPE_CHECKING:
    from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["FirstSteps", "find_first_steps"]


class FirstSteps(NamedTuple):
    """The same ego-nets with two identifiers, and where each path (j, j') starts.

    Attributes:
        subgraphs: Without labels; its S branches are the neighbours j.
        of_path: For each path the branch that is its first step, [B].
    """

    subgraphs: "Subgraphs"
    of_path: Tensor


def find_first_steps(subgraphs: "Subgraphs") -> FirstSteps:
    """Leaves the tips of the paths out."""
    if subgraphs.branch_to_tip is None:
        raise ValueError(f"paths need 3 identifiers, not {subgraphs.identifiers}")
    count = subgraphs.degree.long().clamp(min=1)  # steps of each root, [N]
    start, sizes = offsets(count), dict(subgraphs.sizes)
    if subgraphs.graph_ptr is None:
        by_graph = torch.zeros(len(subgraphs), dtype=torch.int64, device=subgraphs.device)
        rows = count * subgraphs.pair_count
        sizes["branch"] = by_graph.index_add(0, subgraphs.node_to_graph, count).cpu()
        sizes["row"] = by_graph.index_add(0, subgraphs.node_to_graph, rows).cpu()
    else:  # of fixed shape: as many as there can be, without waiting for the device
        sizes["branch"] = torch.zeros_like(sizes["branch"])
        sizes["branch"][-1] = subgraphs.num_edges + subgraphs.num_nodes
    total = int(sizes["branch"].sum())
    root = owners(start, total)
    has_neighbors = (subgraphs.degree > 0).long()
    first_pair = subgraphs.pair_ptr[:-1] + has_neighbors  # of the first neighbour, [N]
    step = torch.arange(total, device=subgraphs.device) - start[root]
    two = dataclasses.replace(
        subgraphs,
        sizes=sizes,
        identifiers=2,
        label_kinds=(),
        label_sizes=(),
        labels=None,
        branch_count=count.to(subgraphs.branch_count.dtype),
        branch_to_pair=(first_pair[root] + step).to(subgraphs.branch_to_pair.dtype),
        branch_to_tip=None,
    )
    of_path = subgraphs.branch_to_root
    place = start[of_path] + subgraphs.branch_to_pair - first_pair[of_path]
    path = torch.arange(subgraphs.num_branches, device=subgraphs.device)
    spare = path >= subgraphs.branch_ptr[-1]
    return FirstSteps(two, place.masked_fill(spare, total - 1))
