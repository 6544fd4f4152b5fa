"""Training: settings, the loop, checkpoints, metrics."""

from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.config import (
    DataConfig,
    ModelConfig,
    OptimizerConfig,
    RunConfig,
    ScheduleConfig,
    TrainingConfig,
)
from i2gnn.training.evaluate import evaluate, predict
from i2gnn.training.loop import Result, fit
from i2gnn.training.run import build_model, train
from i2gnn.training.targets import Scaling
from i2gnn.training.trained import TrainedModel

__all__ = [
    "Checkpoint",
    "DataConfig",
    "ModelConfig",
    "OptimizerConfig",
    "Result",
    "RunConfig",
    "Scaling",
    "ScheduleConfig",
    "TrainedModel",
    "TrainingConfig",
    "build_model",
    "evaluate",
    "fit",
    "predict",
    "train",
]
