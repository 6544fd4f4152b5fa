"""What can be said about a run before it starts: whether it can, by what it is judged."""

import logging
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.graphs.assemble import has_kernel
from i2gnn.models.base import Network
from i2gnn.models.network import IdentifierGNN
from i2gnn.models.stream import StreamedModel, joins_roots
from i2gnn.ops import uses_reference
from i2gnn.subgraphs import Subgraphs
from i2gnn.training.config import TrainingConfig
from i2gnn.training.targets import Scaling

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = [
    "can_record",
    "check_run",
    "check_shapes",
    "check_subgraphs",
    "measure_targets",
    "metric_of",
    "metrics_of",
    "warn_of_features",
]

log = logging.getLogger(__name__)


def check_run(model: nn.Module, data: GraphStore, splits: Splits, config: TrainingConfig) -> None:
    """Raises an InputError if `fit` could not even begin; nothing has been written then."""
    check_subgraphs(model, data, config)
    measure_targets(data, splits, config)
    if config.memory_budget is not None:
        StreamedModel(model.train(), config.memory_budget).check(data)


def check_subgraphs(model: nn.Module, data: GraphStore, config: TrainingConfig) -> None:
    """Checks that subgraphs come as the settings on memory, nodes and branches need them."""
    if config.memory_budget is not None and isinstance(data, Subgraphs):
        raise InputError("memory_budget extracts while running; expected graphs, got Subgraphs")
    if config.distinct:
        _check_distinct(model, data, config)
    if config.branches is None:
        return
    identifiers = getattr(data if isinstance(data, Subgraphs) else model, "identifiers", None)
    if identifiers != 2:
        raise InputError(
            f"branches is {config.branches}; branches are drawn with 2 identifiers, "
            f"not with {identifiers}"
        )
    if data.level == "edge":
        raise InputError("branches cannot be drawn at edge level, where each has its own output")


def _check_distinct(model: nn.Module, data: GraphStore, config: TrainingConfig) -> None:
    """One node can stand for another where each has its own subgraphs and its own output."""
    if config.memory_budget is not None:
        raise InputError("distinct nodes are found among all subgraphs; a memory_budget has some")
    if config.branches is not None:
        raise InputError("distinct nodes have all of their branches; branches would draw some")
    if data.level != "node":
        raise InputError(f"distinct nodes have targets at nodes; the level is {data.level}")
    problem: str | None = "has no subgraphs"
    if isinstance(data, Subgraphs) and data.identifiers:
        problem = "joins the subgraphs"
    if isinstance(model, IdentifierGNN) and model.identifiers:
        problem = joins_roots(model.train())
    if problem is not None:
        raise InputError(f"distinct nodes are run one by one; {type(model).__name__} {problem}")


def warn_of_features(model: nn.Module, data: GraphStore) -> None:
    """Tells of features of nodes and edges that a model of ours was not built to read."""
    if data.x is not None and getattr(model, "encode_nodes", data) is None:
        log.warning(
            "the graphs have %d features a node, and the model reads none; its in_channels and "
            "node_types say how many there are",
            data.x.shape[1],
        )
    if data.edge_attr is not None and isinstance(model, Network) and not model.reads_edges:
        log.warning(
            "the graphs have %d features an edge, and the model reads none; conv gine does",
            data.edge_attr.shape[1],
        )


def measure_targets(data: GraphStore, splits: Splits, config: TrainingConfig) -> Scaling:
    """Checks that there is something to learn from, and scales the targets."""
    if data.y is None:
        raise InputError("the data has no targets; expected y and a level")
    splits.check(len(data))
    for name in ("train", "val"):
        if not len(getattr(splits, name)):
            raise InputError(f"the {name} split is empty; expected at least one graph")
        if not _targets(data, getattr(splits, name)).isfinite().any(dim=0).all():
            raise InputError(f"a target is missing in all of the {name} graphs")
    if data.y.is_floating_point() and data.y.isinf().any():
        raise InputError("a target is infinite; expected numbers, or NaN where it is missing")
    _check_metric(config)
    if config.loss in ("bce", "ce"):
        _check_classes(data.y, config)
        return Scaling.none(data.y.shape[1])
    train, val = splits.train, splits.val
    chosen = train if config.standardize == "train" else torch.cat([train, val])
    return Scaling.measure(_targets(data, chosen), standardize=config.standardize != "none")


def _check_metric(config: TrainingConfig) -> None:
    """Classes are not judged as numbers, nor numbers as classes."""
    classes = config.loss in ("bce", "ce")
    if classes and config.metric not in ("auto", "accuracy"):
        raise InputError(
            f"loss {config.loss} gives classes; metric is {config.metric}, expected accuracy"
        )
    if config.metric == "accuracy" and not classes:
        raise InputError(f"metric accuracy is of classes; loss is {config.loss}, expected bce, ce")


def _check_classes(y: Tensor, config: TrainingConfig) -> None:
    """Targets of a classification are classes."""
    if config.loss == "ce" and y.shape[1] != 1:
        raise InputError(f"loss ce gives one class a row; the targets have {y.shape[1]} columns")
    known = y[~y.isnan()] if y.is_floating_point() else y
    whole = bool((known % 1 == 0).all()) and int(known.min()) >= 0
    if not whole or (config.loss == "bce" and int(known.max()) > 1):
        expected = "0 and 1" if config.loss == "bce" else "classes 0, 1, ..."
        low, high = float(known.min()), float(known.max())
        raise InputError(f"the targets are {low:g}..{high:g}; loss {config.loss} takes {expected}")


def metric_of(config: TrainingConfig) -> str:
    """The metric that selects the best epoch."""
    if config.metric != "auto":
        return config.metric
    return "accuracy" if config.loss in ("bce", "ce") else "normalized_mae"


def metrics_of(config: TrainingConfig, y: Tensor) -> list[str]:
    """The metrics that are tested: the one that selects, and all that fit the loss and targets."""
    whole = bool((y.nan_to_num() % 1 == 0).all())
    regression = ["normalized_mae", "mae", "rmse", *(["exact"] if whole else [])]
    names = ["accuracy"] if config.loss in ("bce", "ce") else regression
    return list(dict.fromkeys([metric_of(config), *names]))


def can_record(
    model: nn.Module, data: GraphStore, config: TrainingConfig, fabric: "Fabric"
) -> bool:
    """Whether training steps are recorded: all data on a GPU, and a model that never waits."""
    return (
        config.cuda_graphs == "auto"
        and config.branches is None
        and config.memory_budget is None
        and config.precision != "float64"  # which the kernels do not take
        and has_kernel(fabric.device)
        and data.device == fabric.device
        and fabric.world_size == 1
        and not uses_reference()
        and _has_static_shapes(model, data)
    )


def _has_static_shapes(model: nn.Module, data: GraphStore) -> bool:
    found = getattr(model, "static_shapes", None)
    return found is not None and found(data.batch([int(data.sizes["node"].argmax())]))


def check_shapes(output: Tensor, target: Tensor, loss: str, level: str | None) -> None:
    """Checks that a model returned one row per target."""
    rows, columns = target.shape
    fits = len(output) == rows and (loss == "ce" or output.shape == target.shape)
    if not fits or output.dim() != 2:
        expected = f"[{rows}, {'classes' if loss == 'ce' else columns}]"
        raise InputError(
            f"the model returned {list(output.shape)}; expected {expected}, one row per {level}"
        )


def _targets(data: GraphStore, graphs: Tensor) -> Tensor:
    """The rows of y that belong to the graphs, without the rest of a batch."""
    assert data.y is not None and data.level is not None
    return data.y.cpu()[data.items_of(data.level, graphs)]
