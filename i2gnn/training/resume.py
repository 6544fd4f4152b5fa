"""Whether a checkpoint belongs to the run that wants to go on from it."""

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.graphs.store import GraphStore
from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.options import different_settings
from i2gnn.training.targets import Scaling

__all__ = ["FREE", "check_same_run", "digest_data"]

FREE = {
    "training.time_limit",
    "training.checkpoint_seconds",
    "training.tensorboard",
    "training.device",
}
"""Settings that change nothing in the result of an epoch, up to the rounding of another device."""


def digest_data(data: GraphStore, splits: Splits) -> str:
    """A digest of the graphs, their features, their targets and their split."""
    digest = hashlib.sha256()
    graphs = data.sizes["node"], data.degree, data.neighbor, data.x, data.edge_attr, data.y
    for tensor in (*graphs, *vars(splits).values()):
        if tensor is not None:
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            numbers = tensor.cpu().flatten().clone()  # of stride 1, as bytes must lie
            if len(numbers):
                digest.update(numbers.view(torch.uint8).numpy().data)
    return digest.hexdigest()[:20]


def check_same_run(
    path: Path,
    checkpoint: Checkpoint,
    settings: dict[str, Any],
    model: nn.Module,
    scaling: Scaling,
    data: str,
) -> None:
    """Raises an InputError that names what differs between the checkpoint and the run."""
    free = set(FREE)
    if settings["training"]["schedule"]["name"] != "cosine":
        free.add("training.epochs")  # a run may go on for longer
    changed = different_settings(checkpoint.settings, settings, free)
    if changed:
        raise InputError(
            f"{path}: the run has other settings: {', '.join(changed)}; choose another folder"
        )
    done, epochs = checkpoint.epoch, settings["training"]["epochs"]
    if done > epochs:
        raise InputError(f"{path}: the run has {done} epochs; expected at most {epochs}")
    weights = {name: list(weight.shape) for name, weight in model.state_dict().items()}
    kept = {name: list(weight.shape) for name, weight in checkpoint.model.items()}
    different = sorted(k for k in weights.keys() | kept.keys() if weights.get(k) != kept.get(k))
    if different:
        name = different[0]
        raise InputError(
            f"{path}: the checkpoint is of another model: {name} is {kept.get(name, 'absent')} "
            f"there; expected {weights.get(name, 'absent')}"
        )
    if not all(_nearly(checkpoint.scaling[key], value) for key, value in vars(scaling).items()):
        raise InputError(f"{path}: mean or deviation of the targets differ; is the data the same?")
    if checkpoint.data and checkpoint.data != data:
        raise InputError(f"{path}: graphs, targets or their split differ; is the data the same?")


def _nearly(kept: Tensor, measured: Tensor) -> bool:
    """Whether two differ by the rounding of sums alone, which depends on the number of threads."""
    return kept.shape == measured.shape and torch.allclose(kept, measured, rtol=1e-9, atol=1e-12)
