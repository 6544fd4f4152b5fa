"""What a run trains on: checked, its targets scaled, one node of each kind if so set."""

import dataclasses
from dataclasses import dataclass, field

import torch
from torch import nn

from i2gnn.data.splits import Splits
from i2gnn.graphs import GraphStore
from i2gnn.training.checks import check_subgraphs, measure_targets, warn_of_features
from i2gnn.training.config import TrainingConfig
from i2gnn.training.distinct import Distinct, Judged
from i2gnn.training.environment import place
from i2gnn.training.resume import digest_data
from i2gnn.training.targets import Scaling

__all__ = ["Inputs", "prepare_inputs"]


@dataclass(frozen=True)
class Inputs:
    """Graphs that a model can be trained on.

    Attributes:
        data: Graphs or subgraphs with targets.
        splits: What they are for.
        scaling: Of the targets.
        digest: Of the data as they were given.
        judged: Where one node of each kind is run, all nodes to be judged by, by "val" and "test".
    """

    data: GraphStore
    splits: Splits
    scaling: Scaling
    digest: str
    judged: dict[str, Judged] = field(default_factory=dict)

    def placed(self, device: torch.device, dtype: torch.dtype) -> "Inputs":
        """The same in another precision, and on the device as far as there is room."""
        data = place(self.data, device, dtype)
        scaling = self.scaling.to(torch.empty(0, dtype=dtype, device=device))
        judged = {name: nodes.to(device, dtype) for name, nodes in self.judged.items()}
        return dataclasses.replace(self, data=data, scaling=scaling, judged=judged)


def prepare_inputs(
    model: nn.Module,
    data: GraphStore,
    splits: Splits,
    config: TrainingConfig,
) -> Inputs:
    """Checks that the model can be trained on the data, and scales the targets.

    Raises:
        InputError: Targets, splits or subgraphs that do not fit.
    """
    check_subgraphs(model, data, config)
    warn_of_features(model, data)
    scaling = measure_targets(data, splits, config)
    digest = digest_data(data, splits)
    if not config.distinct:
        return Inputs(data, splits, scaling, digest)
    distinct = Distinct(data, splits)
    return Inputs(distinct.data, distinct.splits, scaling, digest, distinct.judged)
