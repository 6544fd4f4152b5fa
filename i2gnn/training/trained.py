"""A trained model, taken from the folder of its run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.models import Network
from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.environment import resolve_device
from i2gnn.training.evaluate import predict
from i2gnn.training.loop import CHECKPOINT
from i2gnn.training.run import build_model
from i2gnn.training.targets import Scaling

__all__ = ["TrainedModel"]


@dataclass(frozen=True)
class TrainedModel:
    """A model with the weights of its best validation epoch, and what its outputs mean.

    Attributes:
        model: In evaluation mode.
        scaling: Turns outputs into targets.
        targets: What it was trained on.
    """

    model: Network
    scaling: Scaling
    targets: tuple[str, ...]

    @classmethod
    def load(cls, folder: str | os.PathLike[str], device: str = "auto") -> Self:
        """Loads a run of `train` or of `i2gnn train`.

        Args:
            folder: Of the run.
            device: "auto", "cpu", "cuda" or "cuda:N".

        Raises:
            InputError: No run, or one whose checkpoint does not say how to build the model.
        """
        checkpoint = Checkpoint.load(Path(folder) / CHECKPOINT)
        if "network" not in checkpoint.settings:
            raise InputError(
                f"{folder} is a run of `fit` with a model of yours; build it, and load the weights "
                "Checkpoint.load(path).best"
            )
        model = build_model(checkpoint.settings["network"])
        model.load_state_dict(checkpoint.best)
        targets = checkpoint.settings.get("data", {}).get("targets", ())
        scaling = Scaling(**checkpoint.scaling)
        return cls(model.eval().to(resolve_device(device)), scaling, tuple(targets))

    def predict(
        self,
        graphs: Any,
        *,
        symmetrize: bool = False,
        drop_duplicates: bool = False,
        drop_self_loops: bool = False,
        **options: Any,
    ) -> Tensor:
        """Predicts targets in their own units.

        Args:
            graphs: A `GraphStore`, or PyG, networkx or SMILES graphs: one or a list. Their
                features must be those of the training graphs; targets are not read.
            symmetrize: Whether edges in one direction count as both.
            drop_duplicates: Whether repeated edges count as one.
            drop_self_loops: Whether edges from a node to itself are left out.
            **options: Those of `i2gnn.training.predict`: batch_size, memory_budget, progress.

        Shapes:
            returns: [N | E | G, T].
        """
        store = GraphStore.from_any(
            graphs,
            targets=False,
            symmetrize=symmetrize,
            drop_duplicates=drop_duplicates,
            drop_self_loops=drop_self_loops,
        )
        if options.get("memory_budget") is None:
            store = self.model.extract(store)
        return predict(self.model, store, scaling=self.scaling, **options)
