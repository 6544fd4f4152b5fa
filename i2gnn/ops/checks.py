"""What ops refuse."""

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.ops.reference import LabelEmbedding
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "check_complete",
    "check_indices",
    "check_labels",
    "check_length",
    "check_table",
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


def check_indices(name: str, tensor: Tensor, length: int, table: Tensor) -> None:
    """Indices into a table are integers, one for each item, and on a CPU in its range."""
    kind = tensor.dtype
    if tensor.shape != (length,) or kind.is_floating_point or kind == torch.bool:
        raise ValueError(
            f"{name} has shape {list(tensor.shape)} and type {kind}; expected [{length}] integers"
        )
    if length and tensor.device.type == "cpu":  # a GPU would have to be waited for
        lowest, highest = (int(x) for x in torch.aminmax(tensor))
        if lowest < 0 or highest >= len(table):
            raise ValueError(
                f"{name} holds {lowest}..{highest}; expected numbers below {len(table)}"
            )


def check_table(name: str, table: Tensor, subgraphs: Subgraphs) -> None:
    """A table of labels has a row for every code; [..., codes, D]."""
    if subgraphs.labels is None:
        raise ValueError(f"{name} is read by label, but rows have no labels")
    if table.shape[-2] < subgraphs.num_codes:
        raise ValueError(
            f"{name} has {table.shape[-2]} rows; these labels have {subgraphs.num_codes} codes"
        )


def check_labels(name: str, labels: LabelEmbedding, subgraphs: Subgraphs) -> None:
    """Embedded labels fit those of the rows: table and codes, weight and resistances."""
    if subgraphs.labels is not None or labels.weight is None:
        check_table(name, labels.table, subgraphs)
    if labels.weight is not None and subgraphs.resistance is None:
        raise ValueError(f"{name} has a weight of resistances, but rows have no resistances")
