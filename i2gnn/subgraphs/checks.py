"""What extraction refuses."""

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore

__all__ = ["check_arguments"]


def check_arguments(
    graphs: GraphStore,
    hops: int,
    identifiers: int,
    roots: Tensor | None = None,
    branches: Tensor | None = None,
) -> None:
    """Raises a ValueError for arguments of `extract_subgraphs` out of their range."""
    if identifiers not in (0, 1, 2, 3):
        raise ValueError(f"identifiers must be 0, 1, 2 or 3, got {identifiers!r}")
    if identifiers and not (isinstance(hops, int) and 1 <= hops <= 253):
        # Distances up to hops + 1 are stored in uint8, shifted by one.
        raise ValueError(f"hops must lie in 1..253, got {hops!r}")
    if roots is not None:
        if identifiers not in (1, 2):
            raise ValueError(f"roots can be chosen with 1 or 2 identifiers, not with {identifiers}")
        _check_roots(roots, graphs.num_nodes)
    if branches is not None:
        if identifiers != 2:
            raise ValueError(f"branches can be chosen with 2 identifiers, not with {identifiers}")
        if branches.dtype != torch.bool or branches.shape != (graphs.num_edges,):
            raise ValueError(
                f"branches is {branches.dtype} {list(branches.shape)}; "
                f"expected a mask [{graphs.num_edges}], one per edge"
            )


def _check_roots(roots: Tensor, nodes: int) -> None:
    kind = getattr(roots, "dtype", None)
    if kind is None or kind == torch.bool or kind.is_floating_point or roots.dim() != 1:
        what = type(roots).__name__ if kind is None else f"{kind} {list(roots.shape)}"
        raise ValueError(f"roots is {what}; expected node ids, a tensor [n] of integers")
    if len(roots) and (int(roots.min()) < 0 or int(roots.max()) >= nodes):
        low, high = int(roots.min()), int(roots.max())
        raise ValueError(f"roots must lie in 0..{nodes - 1}, got {low}..{high}")
