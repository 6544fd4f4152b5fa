"""Adam and the schedules of its learning rate."""

from typing import Any

from torch import nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau, StepLR

from i2gnn.training.config import OptimizerConfig, TrainingConfig

__all__ = ["Schedule", "make_optimizer"]


def make_optimizer(model: nn.Module, config: OptimizerConfig) -> Adam:
    """Adam over the trainable weights."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return Adam(weights, lr=config.lr, weight_decay=config.weight_decay)


class Schedule:
    """One of PyTorch's schedules, or none, behind one call per epoch."""

    def __init__(self, optimizer: Optimizer, config: TrainingConfig, maximize: bool) -> None:
        schedule = config.schedule
        self._scheduler: ReduceLROnPlateau | StepLR | CosineAnnealingLR | None = None
        if schedule.name == "plateau":
            self._scheduler = ReduceLROnPlateau(
                optimizer,
                mode="max" if maximize else "min",
                factor=schedule.factor,
                patience=schedule.patience,
                min_lr=schedule.min_lr,
            )
        elif schedule.name == "step":
            self._scheduler = StepLR(optimizer, schedule.step_size, schedule.factor)
        elif schedule.name == "cosine":
            self._scheduler = CosineAnnealingLR(optimizer, config.epochs, schedule.min_lr)

    def step(self, validation: float) -> None:
        """Ends an epoch with this validation metric."""
        if isinstance(self._scheduler, ReduceLROnPlateau):
            self._scheduler.step(validation)
        elif self._scheduler is not None:
            self._scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers that `load_state_dict` takes; empty without a schedule."""
        return {} if self._scheduler is None else dict(self._scheduler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where another schedule of the same settings stopped."""
        if self._scheduler is not None:
            self._scheduler.load_state_dict(state)
