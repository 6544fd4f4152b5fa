"""Predictions and metrics of a model on a set of graphs."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.models import StreamedModel
from i2gnn.progress import progress_bar
from i2gnn.training.metrics import METRICS
from i2gnn.training.targets import Scaling

__all__ = ["Forward", "batches", "compare", "evaluate", "predict", "run_model"]

Forward = Callable[[GraphStore], Tensor]
"""A model, or what else turns a batch into outputs."""


def predict(
    model: nn.Module,
    data: GraphStore,
    indices: Tensor | Iterable[int] | None = None,
    *,
    scaling: Scaling | None = None,
    batch_size: int = 256,
    memory_budget: str | int | None = None,
    progress: bool = False,
) -> Tensor:
    """Predicts targets in their own units, on the model's device.

    Args:
        model: Called on one batch at a time, in evaluation mode.
        data: Graphs, or subgraphs, as the model needs them.
        indices: Graphs to predict, in this order; all by default.
        scaling: That of the training run (`Result.scaling`); without it outputs stay as they are.
        batch_size: Graphs in a batch.
        memory_budget: Such as "2GB": takes graphs and extracts their subgraphs while running, as
            many at a time as fit; see `StreamedModel`.
        progress: Shows a bar.

    Shapes:
        returns: [n, T], the rows of the chosen graphs one after the other.
    """
    data = GraphStore.from_any(data)
    bar = progress and memory_budget is None  # a streamed model has its own, over roots
    cut = batches(data, _chosen(data, indices), batch_size, _device(model), bar)
    return run_model(model, _forward(model, memory_budget, progress), cut, scaling)[0]


def evaluate(
    model: nn.Module,
    data: GraphStore,
    indices: Tensor | Iterable[int] | None = None,
    *,
    metrics: Sequence[str] = ("mae",),
    scaling: Scaling | None = None,
    batch_size: int = 256,
    memory_budget: str | int | None = None,
    progress: bool = False,
) -> dict[str, list[float]]:
    """Compares predictions with the targets of the data; one number per metric and target.

    Takes the arguments of `predict`, and the names of the metrics. Without `scaling`, a
    normalised error is the plain one.
    """
    data = GraphStore.from_any(data)
    bar = progress and memory_budget is None  # a streamed model has its own, over roots
    cut = batches(data, _chosen(data, indices), batch_size, _device(model), bar)
    forward = _forward(model, memory_budget, progress)
    prediction, target = run_model(model, forward, cut, scaling)
    if target is None:
        raise InputError("the data has no targets to compare with; expected y and a level")
    found = compare(metrics, prediction, target, scaling)
    return {name: values.tolist() for name, values in found.items()}


def compare(
    metrics: Sequence[str], prediction: Tensor, target: Tensor, scaling: Scaling | None
) -> dict[str, Tensor]:
    """Metrics of predictions [n, T] in the targets' own units, [T] each."""
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise InputError(f"metric is {unknown[0]!r}; expected one of {', '.join(METRICS)}")
    classes = target.shape[1] == 1 and set(metrics) == {"accuracy"}  # from [n, C] logits
    if len(prediction) != len(target) or not (classes or prediction.shape == target.shape):
        raise InputError(
            f"the model returned {list(prediction.shape)}; expected {list(target.shape)}, as the "
            "targets are"
        )
    unit = (scaling or Scaling.none(target.shape[1])).to(prediction).unit
    return {name: METRICS[name](prediction, target, unit) for name in metrics}


def batches(
    data: GraphStore,
    indices: Tensor,
    batch_size: int,
    device: torch.device,
    progress: bool = False,
) -> Iterator[GraphStore]:
    """Cuts the chosen graphs into batches on the device, in the given order."""
    with progress_bar("predicting", len(indices), progress) as advance:
        for chosen in torch.split(indices, batch_size):
            batch = data.batch(chosen)
            yield batch if batch.device == device else batch.to(device)
            advance(len(chosen))


@torch.no_grad()
def run_model(
    model: nn.Module,
    forward: Forward,
    graphs: Iterable[GraphStore],
    scaling: Scaling | None,
) -> tuple[Tensor, Tensor | None]:
    """Runs the model on batches, in evaluation mode, through `forward`, which may wrap it.

    Shapes:
        returns: predictions [n, T] in the targets' own units, and the targets [n, T] if known.
    """
    weight = next(model.parameters(), torch.empty(0))
    training = model.training
    outputs, targets = [], []
    model.eval()
    try:
        for batch in graphs:
            outputs.append(forward(batch).to(weight.dtype))
            targets.append(batch.y)
    finally:
        model.train(training)
    prediction = torch.cat(outputs) if outputs else weight.new_empty(0, 1)
    known = [target for target in targets if target is not None]
    if scaling is not None:
        there = scaling.to(prediction)
        prediction = prediction * there.scale + there.center
    return prediction, torch.cat(known) if known else None


def _forward(model: nn.Module, memory_budget: str | int | None, progress: bool) -> Forward:
    if memory_budget is None:
        return model
    return StreamedModel(model, memory_budget, progress=progress)


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters(), torch.empty(0)).device


def _chosen(data: GraphStore, indices: Tensor | Iterable[int] | None) -> Tensor:
    return torch.arange(len(data)) if indices is None else data.graph_indices(indices)
