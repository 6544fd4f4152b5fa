"""Epochs: passes over the data to train, to validate and to test, ordinary or recorded."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs.sample import draw_branches
from i2gnn.training.capture import Recording, StaticEpochs
from i2gnn.training.checkpoint import Checkpoint, Copies
from i2gnn.training.checks import can_record, check_shapes, metric_of, metrics_of
from i2gnn.training.config import TrainingConfig
from i2gnn.training.environment import rng_states
from i2gnn.training.evaluate import batches, compare, run_model
from i2gnn.training.inputs import Inputs
from i2gnn.training.learner import Learner
from i2gnn.training.targets import compute_loss

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Epochs", "RecordedEpochs", "make_epochs"]

VALIDATION = 4
"""Without gradients, so many training batches fit into one: recorded validation takes few steps."""


def make_epochs(
    model: nn.Module, inputs: Inputs, config: TrainingConfig, fabric: "Fabric"
) -> "Epochs":
    """Moves model and data to the device; steps are recorded where they can be."""
    learner = Learner(model, config, fabric)
    inputs = inputs.placed(learner.device, learner.dtype)
    recorded = can_record(model, inputs.data, config, fabric)
    return (RecordedEpochs if recorded else Epochs)(learner, inputs, config)


class Epochs:
    """Epochs of ordinary steps.

    Args:
        learner: What is trained.
        inputs: What it is trained on, where it computes.
        config: Settings of the run.
    """

    def __init__(self, learner: Learner, inputs: Inputs, config: TrainingConfig) -> None:
        self.learner, self.config = learner, config
        self.data, self.splits, self.scaling = inputs.data, inputs.splits, inputs.scaling
        self._judged, self._metric = inputs.judged, metric_of(config)

    def run(self, epoch: int) -> tuple[float, float]:
        """Trains and validates; the host waits for the device once.

        Args:
            epoch: Counted from 1.

        Returns:
            The mean loss, and the metric on the validation graphs.

        Raises:
            InputError: One of them is not finite.
        """
        train_loss = self.train(epoch)
        with self.learner.judged():
            results = torch.stack([train_loss, self.validate()])
        found = dict(zip(("training loss", "validation metric"), results.tolist(), strict=True))
        for name, value in found.items():
            if not math.isfinite(value):
                raise InputError(
                    f"epoch {epoch}: the {name} is {value}; expected a finite number. "
                    "Lower optimizer.lr, or set optimizer.max_grad_norm"
                )
        return found["training loss"], found["validation metric"]

    def train(self, epoch: int) -> Tensor:
        """One pass over the training graphs; returns the mean loss."""
        # The order depends on the seed and the epoch alone, so there is no state to restore.
        generator = np.random.default_rng([self.config.seed, epoch])
        order = generator.permutation(len(self.splits.train))
        return self._train(self.splits.train[torch.as_tensor(order)], epoch)

    def _train(self, indices: Tensor, epoch: int) -> Tensor:
        self.learner.model.train()
        total = torch.zeros((), device=self.learner.device, dtype=torch.float64)
        drawn = self._draw_branches(epoch)
        chosen = torch.split(indices, self.config.batch_size)
        for graphs, batch in zip(chosen, self._batches(indices), strict=True):
            branches = None if drawn is None else drawn[self.data.items_of("edge", graphs)]
            total += self._step(batch, branches) * len(batch)
        return total / len(indices)

    def _draw_branches(self, epoch: int) -> Tensor | None:
        """The edges whose branches to train on, [E]; None for all."""
        config = self.config
        if config.branches is None:
            return None
        draw = epoch if config.resample == "epoch" else 0
        return draw_branches(self.data, config.branches, config.seed, draw, 1)

    def _step(self, batch: GraphStore, branches: Tensor | None = None) -> Tensor:
        """Changes the weights once; returns the mean loss before."""
        assert batch.y is not None
        output = self.learner.forward(batch, branches)
        check_shapes(output, batch.y, self.config.loss, self.data.level)
        loss = compute_loss(self.config.loss, output, batch.y, self.scaling)
        self.learner.descend(loss)
        return loss.detach()

    def validate(self) -> Tensor:
        """The metric on the validation graphs, averaged over the targets."""
        return self._mean_metric(self._batches(self.splits.val))

    def _mean_metric(self, graphs: Iterable[GraphStore]) -> Tensor:
        found = compare([self._metric], *self._predict(graphs, "val"), self.scaling)
        return found[self._metric].double().mean()

    def test(self) -> tuple[Tensor, dict[str, list[float]]]:
        """Predictions for the test graphs, [n, T] on the CPU, and all metrics that fit the loss."""
        assert self.data.y is not None
        names = metrics_of(self.config, self.data.y)
        prediction, target = self._predict(self._batches(self.splits.test), "test")
        found = compare(names, prediction, target, self.scaling)
        tested = {name: values.tolist() for name, values in found.items()}
        return prediction.cpu(), tested

    def _predict(
        self, graphs: Iterable[GraphStore], part: Literal["val", "test"]
    ) -> tuple[Tensor, Tensor]:
        """Predictions and targets of a part of the data, [n, T] each."""
        learner = self.learner
        prediction, target = run_model(learner.model, learner.forward, graphs, self.scaling)
        if part in self._judged:
            place, target = self._judged[part]
            prediction = prediction.index_select(0, place)
        assert target is not None
        return prediction, target

    def _batches(self, indices: Tensor, batch_size: int | None = None) -> Iterable[GraphStore]:
        size = batch_size or self.config.batch_size
        return batches(self.data, indices, size, self.learner.device)

    def best_weights(self) -> dict[str, Tensor]:
        """A copy of the weights that are judged."""
        with self.learner.judged():
            return self._copy("best", self.learner.model.state_dict)

    def state(self) -> dict[str, Any]:
        """All that epochs change, copied, by its name in a `Checkpoint`."""
        learner = self.learner
        average = learner.average
        return {
            "model": self._copy("model", learner.model.state_dict),
            "optimizer": self._copy("optimizer", lambda: learner.optimizer.state_dict()["state"]),
            "average": {} if average is None else self._copy("average", average.state_dict),
            "scheduler": learner.schedule.state_dict(),
            "rng": rng_states(learner.device),
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from the end of an earlier epoch."""
        self.learner.restore(checkpoint)

    def _copy(self, name: str, state: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        copy: dict[Any, Any] = Copies(state()).take()
        return copy


class RecordedEpochs(Epochs):
    """Epochs of steps of fixed shape, which are recorded once and replayed."""

    def __init__(self, learner: Learner, inputs: Inputs, config: TrainingConfig) -> None:
        super().__init__(learner, inputs, config)
        assert self.data.y is not None
        # Floats, which alone can be missing; classes are small integers.
        self.data = dataclasses.replace(self.data, y=self.data.y.to(learner.dtype))
        size = min(config.batch_size, len(self.splits.train))
        self._static = StaticEpochs(self.data, size, self._static_step, learner.rehearse)
        self._validation: Recording | None = None
        self._copies: dict[str, Copies] = {}

    def _train(self, indices: Tensor, epoch: int) -> Tensor:
        return self._static.run(indices)

    def _static_step(self, batch: GraphStore) -> Tensor:
        self.learner.model.train()
        return self._step(batch)

    def validate(self) -> Tensor:
        """The metric on the validation graphs, averaged over the targets."""
        if self._validation is None:
            kept = list(self._batches(self.splits.val, VALIDATION * self.config.batch_size))
            self._validation = Recording(lambda: self._mean_metric(kept), self.learner.device)
        return self._validation()

    def state(self) -> dict[str, Any]:
        """All that epochs change, copied, by its name in a `Checkpoint`."""
        return super().state() | {"capacity": self._static.capacity}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from the end of an earlier epoch."""
        super().restore(checkpoint)
        self._static.capacity = dict(checkpoint.capacity)

    def _copy(self, name: str, state: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        """Tensors stay where they are, and are looked up only once."""
        if name not in self._copies:
            self._copies[name] = Copies(state())
        copy: dict[Any, Any] = self._copies[name].take()
        return copy
