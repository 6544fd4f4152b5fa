"""What ops refuse."""

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "check_complete",
    "check_indices",
    "check_length",
]


def check_length(name: str, tensor: Tensor, length: int) -> None:
    """Kernels do not check bounds, so this must."""
    if tensor.dim() != 2 or len(tensor) != length:
        raise ValueError(f"{name} has shape {list(tensor.shape)}; expected [{length}, channels]")


def check_complete(name: str, graphs: GraphStore) -> None:
    """Pools over different roots need all of them: a part of the roots gives wrong values."""
    if isinstance(graphs, Subgraphs) and not graphs.complete:
        raise ValueError(
            f"{name} joins the subgraphs of different roots, but these subgraphs have only some "
            "roots; a model that uses it cannot be streamed root by root"
        )


def check_indices(name: str, tensor: Tensor, length: int) -> None:
    """Indices are integers, one for each item."""
    kind = tensor.dtype
    if tensor.shape != (length,) or kind.is_floating_point or kind == torch.bool:
        raise ValueError(
            f"{name} has shape {list(tensor.shape)} and type {kind}; expected [{length}] integers"
        )
