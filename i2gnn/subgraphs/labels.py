"""Labels of rows: which node a row stands for, relative to its root and branch.

| kind       | columns                                             | values               |
|------------|-----------------------------------------------------|----------------------|
| identity   | one: root, branch, tip or other                     | 1, 2, 3, 0           |
| spd        | 1 + d(i, k) and 1 + d(j, k)                         | 0 means unreachable  |
| spd_pred   | the same, each followed by itself where k has two   | 0 means fewer than   |
|            | or more neighbours one step closer, else 0          | two such neighbours  |
| resistance | resistance distance to i and to j (real-valued)     | inf: other component |

All distances are measured inside the ego-net of i. `spd_pred` is what the published code of the
paper uses under the name SPD. With one identifier the columns for j are left out; with three,
columns for the tip j' follow.
"""

import dataclasses
from collections.abc import Callable

import torch

from i2gnn.parallel import chunks_for, run_chunks
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["LABEL_KINDS", "attach_labels", "label_sizes", "parse_labels"]

LABEL_KINDS = ("identity", "spd", "spd_pred", "resistance")


def parse_labels(labels: str, identifiers: int) -> tuple[str, ...]:
    """Splits "spd+resistance" into its kinds, in the order of `LABEL_KINDS`.

    Example:
        >>> parse_labels("resistance+spd", identifiers=2)
        ('spd', 'resistance')
    """
    if labels == "none":
        return ()
    kinds = labels.split("+")
    unknown = [kind for kind in kinds if kind not in LABEL_KINDS]
    if unknown:
        raise ValueError(f"unknown label {unknown[0]!r}; expected none, {', '.join(LABEL_KINDS)}")
    if {"spd", "spd_pred"} <= set(kinds):
        raise ValueError("labels 'spd' and 'spd_pred' exclude each other")
    if identifiers == 3 and "resistance" in kinds:
        raise ValueError("label 'resistance' is defined for at most 2 identifiers, not for 3")
    return tuple(kind for kind in LABEL_KINDS if kind in kinds and identifiers > 0)


def label_sizes(kinds: tuple[str, ...], hops: int, identifiers: int) -> tuple[int, ...]:
    """Number of values of each discrete label column.

    Example:
        >>> label_sizes(("spd",), hops=3, identifiers=2)  # 0..4 to the root, 0..5 to the branch
        (5, 6)
    """
    sizes: list[int] = []
    if "identity" in kinds:
        sizes.append(1 + identifiers)
    if "spd" in kinds or "spd_pred" in kinds:
        for identifier in range(identifiers):
            farthest = hops + 2 + identifier
            sizes += [farthest, farthest] if "spd_pred" in kinds else [farthest]
    return tuple(sizes)


def attach_labels(
    subgraphs: Subgraphs, kinds: tuple[str, ...], progress: bool = False
) -> Subgraphs:
    """Computes the labels of all rows."""
    sizes = label_sizes(kinds, subgraphs.hops, subgraphs.identifiers)
    columns = []
    if "identity" in kinds:
        columns.append(_identity(subgraphs))
    if "spd" in kinds or "spd_pred" in kinds:
        columns.append(_distances(subgraphs, "spd_pred" in kinds, progress))
    return dataclasses.replace(
        subgraphs,
        label_kinds=kinds,
        label_sizes=sizes,
        labels=torch.cat(columns, dim=1) if columns else None,
        resistance=_resistances(subgraphs, progress) if "resistance" in kinds else None,
    )


def _identity(subgraphs: Subgraphs) -> torch.Tensor:
    labels = torch.zeros(subgraphs.num_rows, dtype=torch.uint8)
    if subgraphs.branch_to_tip is not None:
        rank = subgraphs.row_of_branch - subgraphs.row_ptr[subgraphs.branch_to_pair]
        labels[subgraphs.row_ptr[subgraphs.branch_to_tip] + rank] = 3
    if subgraphs.identifiers >= 2:
        labels[subgraphs.row_of_branch] = 2
    labels[subgraphs.row_of_root] = 1  # last: the branch of an isolated root is the root
    return labels.unsqueeze(1)


def _distances(subgraphs: Subgraphs, predecessors: bool, progress: bool) -> torch.Tensor:
    from i2gnn.subgraphs import label_kernels

    columns = subgraphs.identifiers * (2 if predecessors else 1)
    labels = torch.empty(subgraphs.num_rows, columns, dtype=torch.uint8)
    kernel: Callable[..., None] = label_kernels.label_distances
    more: object = subgraphs.identifiers
    if subgraphs.branch_to_tip is not None:
        kernel, more = label_kernels.label_path_distances, subgraphs.branch_to_tip.numpy()
    run_chunks(
        kernel,
        subgraphs.num_nodes,
        (predecessors, more, *_layout(subgraphs), labels.numpy()),
        weights=(subgraphs.pair_count.long() * subgraphs.branch_count).numpy(),
        chunks=chunks_for(4 * subgraphs.num_rows, 256),
        description="measuring distances" if progress else "",
    )
    return labels


def _resistances(subgraphs: Subgraphs, progress: bool) -> torch.Tensor:
    from i2gnn.subgraphs import label_kernels

    resistance = torch.empty(subgraphs.num_rows, subgraphs.identifiers)
    run_chunks(
        label_kernels.label_resistances,
        subgraphs.num_nodes,
        (*_layout(subgraphs), resistance.numpy()),
        weights=(subgraphs.pair_count.long() ** 2).numpy(),
        description="measuring resistances" if progress else "",
    )
    return resistance


def _layout(subgraphs: Subgraphs) -> tuple[object, ...]:
    """What the label kernels read."""
    return (
        subgraphs.pair_ptr.numpy(),
        subgraphs.branch_ptr.numpy(),
        subgraphs.branch_to_pair.numpy(),
        subgraphs.link_ptr.numpy(),
        subgraphs.link_to_pair.numpy(),
        subgraphs.row_ptr.numpy(),
    )
