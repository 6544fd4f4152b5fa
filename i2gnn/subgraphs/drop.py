"""SubgraphDrop (Zhao et al. 2022): in training, only some nodes are roots, and all are seen."""

import dataclasses

import torch
from torch import Tensor

from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["draw_roots", "select_roots"]


def draw_roots(subgraphs: Subgraphs, times: int) -> Tensor:
    """Draws roots such that every node lies in `times` of their ego-nets, or in all it is in.

    The roots are put in random order, and each node asks for the first `times` that see it. Uses
    PyTorch's generator of the device, as dropout does.

    Shapes:
        returns: [N] bool, whether a node stays a root.
    """
    if times < 1:
        raise ValueError(f"every node must be seen at least once, got {times}")
    root, node = subgraphs.pair_to_root, subgraphs.pair_to_node.long()
    rank = torch.rand(subgraphs.num_nodes, device=subgraphs.device)[root]
    order = torch.argsort(rank)
    order = order[torch.argsort(node[order], stable=True)]  # by node, in random order within
    ptr = subgraphs.node_to_pair.ptr
    place = torch.arange(len(order), device=order.device) - ptr[node[order]]
    kept = torch.zeros(subgraphs.num_nodes, dtype=torch.bool, device=subgraphs.device)
    kept[root[order[place < times]]] = True
    return kept


def select_roots(subgraphs: Subgraphs, kept: Tensor) -> Subgraphs:
    """The same graphs with the ego-nets of the kept roots alone; the other roots have no pairs.

    Args:
        subgraphs: Of all roots.
        kept: Mask over the nodes, [N].
    """
    pairs = kept[subgraphs.pair_to_root]
    roots = {
        "branch": subgraphs.branch_to_root,
        "pair": subgraphs.pair_to_root,
        "link": subgraphs.pair_to_root[subgraphs.link_to_receiver],
        "row": subgraphs.pair_to_root[subgraphs.row_to_pair],
    }
    masks = {axis: kept[root] for axis, root in roots.items()}
    new_pair = torch.cumsum(pairs, 0) - 1
    columns: dict[str, Tensor] = {}
    for name, column in subgraphs.columns.items():
        axis = subgraphs.axis_of(name)
        if axis in masks:
            taken = column[masks[axis]]
            into_pairs = subgraphs.index_of(name) == "pair"
            columns[name] = new_pair[taken].to(column.dtype) if into_pairs else taken
    columns["branch_count"] = subgraphs.branch_count * kept
    columns["pair_count"] = subgraphs.pair_count * kept
    sizes = {
        axis: torch.bincount(subgraphs.node_to_graph[root[masks[axis]]], minlength=len(subgraphs))
        for axis, root in roots.items()
    }
    return dataclasses.replace(
        subgraphs,
        sizes={**subgraphs.sizes, **{axis: size.cpu() for axis, size in sizes.items()}},
        complete=False,
        **columns,  # type: ignore[arg-type]
    )
