"""Adam and the schedules of its learning rate."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau, StepLR

from i2gnn.training.config import OptimizerConfig, TrainingConfig

__all__ = ["Schedule", "load_moments", "make_optimizer"]


def make_optimizer(model: nn.Module, config: OptimizerConfig) -> Adam:
    """Adam over the trainable weights.

    On a GPU everything that changes from step to step, the learning rate too, is in tensors there,
    so that a recorded step can be replayed.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    kind, decay = AdamW if config.name == "adamw" else Adam, config.weight_decay
    if not weights or not weights[0].is_cuda:
        return kind(weights, lr=config.lr, weight_decay=decay)
    lr = torch.tensor(config.lr, dtype=torch.float32, device=weights[0].device)
    return kind(weights, lr=lr, weight_decay=decay, fused=True, capturable=True)


def load_moments(optimizer: Optimizer, moments: dict[int, dict[str, Tensor]]) -> None:
    """Loads what an optimizer of the same weights has gathered: "state" in its state dict.

    How it computes, which depends on the device, stays as it is, and so does the learning rate,
    which belongs to the schedule.
    """
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


class Schedule:
    """One of PyTorch's schedules, or none, behind one call per epoch.

    It has the learning rate as a number on the host, and tells the optimizer. With a warm-up of n
    epochs, epoch e = 1 .. n has the rate lr e / (n + 1), and the schedule itself starts behind.
    """

    def __init__(self, optimizer: Optimizer, config: TrainingConfig, maximize: bool) -> None:
        self._optimizer = optimizer
        schedule, first = config.schedule, config.optimizer.lr
        # PyTorch's schedules want an optimizer to change: one that has nothing to do but to keep
        # the rate. Through the real one, the rate would come back from the GPU, and rounded.
        self._rate = SGD([torch.zeros((), requires_grad=True)], lr=first)
        self._scheduler: ReduceLROnPlateau | StepLR | CosineAnnealingLR | None = None
        if schedule.name == "plateau":
            self._scheduler = ReduceLROnPlateau(
                self._rate,
                mode="max" if maximize else "min",
                factor=schedule.factor,
                patience=schedule.patience,
                min_lr=schedule.min_lr,
            )
        elif schedule.name == "step":
            self._scheduler = StepLR(self._rate, schedule.step_size, schedule.factor)
        elif schedule.name == "cosine":
            length = max(1, config.epochs - schedule.warmup)
            self._scheduler = CosineAnnealingLR(self._rate, length, schedule.min_lr)
        self._warm_up = [first * e / (schedule.warmup + 1) for e in range(1, schedule.warmup + 1)]
        self._epoch = 0
        self._tell()

    @property
    def lr(self) -> float:
        """The learning rate of the epoch to come."""
        if self._epoch < len(self._warm_up):
            return self._warm_up[self._epoch]
        return float(self._rate.param_groups[0]["lr"])

    def step(self, validation: float) -> None:
        """Ends an epoch with this validation metric."""
        self._epoch += 1
        if self._epoch > len(self._warm_up):
            if isinstance(self._scheduler, ReduceLROnPlateau):
                self._scheduler.step(validation)
            elif self._scheduler is not None:
                self._rate.step()
                self._scheduler.step()
        self._tell()

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers that `load_state_dict` takes."""
        state = {} if self._scheduler is None else dict(self._scheduler.state_dict())
        lr = float(self._rate.param_groups[0]["lr"])
        return {"epoch": self._epoch, "lr": lr, "scheduler": state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where another schedule of the same settings stopped."""
        if self._scheduler is not None:
            self._scheduler.load_state_dict(state["scheduler"])
        self._rate.param_groups[0]["lr"] = state["lr"]
        self._epoch = state["epoch"]
        self._tell()

    def _tell(self) -> None:
        for group in self._optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(self.lr)
            else:
                group["lr"] = self.lr
