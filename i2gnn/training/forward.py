"""How a model is called in training: through Fabric, which knows nothing of our batches."""

from torch import Tensor, nn

from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.sample import select_branches

__all__ = ["Box", "OnStore"]


class Box:
    """Carries a batch through Fabric, whose precision plugins refuse frozen dataclasses."""

    def __init__(self, batch: GraphStore, branches: Tensor | None = None) -> None:
        self.batch = batch
        self.branches = branches


class OnStore(nn.Module):
    """The model as Fabric sees it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, box: Box) -> Tensor:
        """The model's outputs for the batch, on the chosen branches alone if there are any."""
        batch, branches = box.batch, box.branches
        if branches is not None and isinstance(batch, Subgraphs):
            batch, branches = select_branches(batch, branches), None
        output: Tensor = self.model(batch) if branches is None else self.model(batch, branches)
        return output
