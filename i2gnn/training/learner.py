"""A model in training: how it is called, what changes its weights, which of them are judged."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from i2gnn.graphs import GraphStore
from i2gnn.models import StreamedModel
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.sample import select_branches
from i2gnn.training.averaging import WeightAverage
from i2gnn.training.capture import rehearse
from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.checks import metric_of
from i2gnn.training.config import TrainingConfig
from i2gnn.training.environment import set_rng_states
from i2gnn.training.metrics import higher_is_better
from i2gnn.training.optimize import Schedule, load_moments, make_optimizer

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Learner"]


class Learner:
    """A model, its optimizer, the schedule of its learning rate and the average of its weights.

    Args:
        model: Moved to the device, in the precision of the settings.
        config: Optimizer, schedule, average, precision and memory.
        fabric: Where and how to compute.

    Attributes:
        model: The same.
        device: Where it is.
        dtype: Type of its weights.
        optimizer: As Fabric returned it.
        schedule: Of the learning rate.
        average: Of the weights, if they are averaged.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig, fabric: "Fabric") -> None:
        self.model, self.device = model, fabric.device
        self.dtype = torch.float64 if config.precision == "float64" else torch.float32
        self._fabric, self._max_norm = fabric, config.optimizer.max_grad_norm
        model.to(device=self.device, dtype=self.dtype)
        self._own_optimizer = make_optimizer(model, config.optimizer)
        budget = config.memory_budget
        runner = model if budget is None else StreamedModel(model, budget)
        self._forward, self.optimizer = fabric.setup(_OnStore(runner), self._own_optimizer)
        maximize = higher_is_better(metric_of(config))
        self.schedule = Schedule(self._own_optimizer, config, maximize)
        self.average = None if config.average is None else WeightAverage(model, config.average)

    def forward(self, batch: GraphStore, branches: Tensor | None = None) -> Tensor:
        """The model's outputs, on the chosen branches alone if there are any."""
        output: Tensor = self._forward(_Box(batch, branches))
        return output

    def descend(self, loss: Tensor) -> None:
        """Changes the weights once."""
        self.optimizer.zero_grad(set_to_none=True)
        self._fabric.backward(loss)
        if self._max_norm is not None:
            self._fabric.clip_gradients(
                self._forward,
                self.optimizer,
                max_norm=self._max_norm,
                error_if_nonfinite=False,  # would wait for the device; the epoch's loss tells
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update()

    def judged(self) -> AbstractContextManager[None]:
        """Inside, the model has the weights that are validated and kept."""
        return nullcontext() if self.average is None else self.average.in_place()

    def rehearse(self) -> AbstractContextManager[None]:
        """Inside, steps leave no trace."""
        return rehearse(self.model, self._own_optimizer, self.average)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from the end of an earlier epoch."""
        self.model.load_state_dict(checkpoint.model)
        load_moments(self.optimizer, checkpoint.optimizer)
        if self.average is not None:
            self.average.load_state_dict(checkpoint.average)
        self.schedule.load_state_dict(checkpoint.scheduler)
        set_rng_states(checkpoint.rng, self.device)


class _Box:
    """Carries a batch through Fabric, whose precision plugins refuse frozen dataclasses."""

    def __init__(self, batch: GraphStore, branches: Tensor | None = None) -> None:
        self.batch = batch
        self.branches = branches


class _OnStore(nn.Module):
    """The model as Fabric sees it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, box: _Box) -> Tensor:
        """The model's outputs for the batch, on the chosen branches alone if there are any."""
        batch, branches = box.batch, box.branches
        if branches is not None and isinstance(batch, Subgraphs):
            batch, branches = select_branches(batch, branches), None
        output: Tensor = self.model(batch) if branches is None else self.model(batch, branches)
        return output
