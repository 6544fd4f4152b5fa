"""Branch sampling (Appendix, "Scaling up"): S branches per root in training, all at inference.

A draw is a mask over the edges i <- j of the graphs: j is a branch of i. `extract_subgraphs`
takes it as `branches`; `select_branches` applies it to subgraphs that have been extracted, which
is a selection of rows. Both give the same result. The ego-nets stay whole.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from i2gnn.graphs.flat import offsets, ragged_arange
from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["draw_branches", "select_branches"]


def draw_branches(graphs: GraphStore, size: int, *seed: int) -> Tensor:
    """Draws `size` neighbours of every node, without replacement; all where there are no more.

    Args:
        graphs: Where the roots are.
        size: Branches S per root at most.
        seed: One or more numbers, such as a run's seed and its epoch; the same numbers give the
            same draw on every device.

    Shapes:
        returns: [E] bool, on the host: whether j is a branch of i, for every edge i <- j.

    Example:
        >>> star = GraphStore.from_edge_lists([[(0, 1), (0, 2), (0, 3)]], symmetrize=True)
        >>> chosen = draw_branches(star, 2, 0)
        >>> int(chosen[:3].sum()), chosen[3:].tolist()
        (2, [True, True, True])
    """
    if size < 1:
        raise ValueError(f"the number of branches must be at least 1, got {size}")
    key = torch.from_numpy(np.random.default_rng(seed).random(graphs.num_edges))
    root, edge_ptr = graphs.edge_to_node.cpu(), graphs.edge_ptr.cpu()
    order = torch.argsort(key)
    order = order[torch.argsort(root[order], stable=True)]  # by root, in random order within
    rank = torch.arange(len(order)) - edge_ptr[root]  # the sort leaves the roots where they were
    chosen = torch.zeros(len(order), dtype=torch.bool)
    chosen[order[rank < size]] = True
    return chosen


def select_branches(subgraphs: Subgraphs, chosen: Tensor) -> Subgraphs:
    """Keeps the rows of the chosen branches; the stand-in branch of an isolated root stays.

    Sums over branches are weighted from then on by alpha_i = d_i / S_i, neighbours over branches
    kept, so that their expected value over draws is the sum over all branches.

    Args:
        subgraphs: With two identifiers and all branches.
        chosen: Mask over the edges, [E].
    """
    if subgraphs.identifiers != 2:
        raise ValueError(f"branches are edges only with 2 identifiers, not {subgraphs.identifiers}")
    if not subgraphs.complete:
        raise ValueError("some nodes are no roots; branches are chosen among those of all nodes")
    if subgraphs.branch_weight is not None:
        raise ValueError("these branches are a sample already; select from all branches")
    device, root = subgraphs.device, subgraphs.branch_to_root
    kept = torch.ones(subgraphs.num_branches, dtype=torch.bool, device=device)
    kept[subgraphs.degree[root] > 0] = chosen.to(device)
    before = offsets(kept)  # [B + 1]: kept branches before each
    branch_count = before[subgraphs.branch_ptr[1:]] - before[subgraphs.branch_ptr[:-1]]  # [N]
    row_count = branch_count[subgraphs.pair_to_root]
    by_graph = {
        "branch": _sum_by_graph(branch_count, subgraphs),
        "row": _sum_by_graph(branch_count * subgraphs.pair_count, subgraphs),
    }
    rows = int(by_graph["row"].sum())
    place = (torch.arange(len(kept), device=device) - subgraphs.branch_ptr[root])[kept]
    first = offsets(branch_count)[:-1][subgraphs.pair_to_root]
    old = torch.repeat_interleave(subgraphs.row_ptr[:-1], row_count, output_size=rows)
    old += place[ragged_arange(first, row_count, rows)]
    labels, resistance = subgraphs.labels, subgraphs.resistance
    return dataclasses.replace(
        subgraphs,
        sizes={**subgraphs.sizes, **by_graph},
        branch_count=branch_count.to(subgraphs.branch_count.dtype),
        branch_to_pair=subgraphs.branch_to_pair[kept],
        labels=None if labels is None else labels[old],
        resistance=None if resistance is None else resistance[old],
        branch_weight=(subgraphs.degree / branch_count.clamp(min=1)).clamp(min=1),
    )


def _sum_by_graph(per_root: Tensor, graphs: GraphStore) -> Tensor:
    total = torch.zeros(len(graphs), dtype=torch.int64, device=per_root.device)
    return total.index_add_(0, graphs.node_to_graph, per_root).cpu()
