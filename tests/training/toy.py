"""A model and data small enough to train in a blink."""

import torch
from torch import Tensor, nn

from i2gnn.data import Splits
from i2gnn.graphs import GraphStore


class DegreeModel(nn.Module):
    """An MLP on node degrees, with dropout so that random states matter."""

    def __init__(self, out_channels: int = 1, dropout: float = 0.0, level: str = "node") -> None:
        super().__init__()
        self.level = level
        self.layers = nn.Sequential(
            nn.Linear(1, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(dropout)
        )
        self.head = nn.Linear(16, out_channels)

    def forward(self, batch: GraphStore) -> Tensor:
        h = self.layers(batch.degree.to(self.head.weight.dtype).unsqueeze(1))
        if self.level == "graph":
            pooled = h.new_zeros(len(batch), h.shape[1])
            h = pooled.index_add(0, batch.node_to_graph, h)
        out: Tensor = self.head(h)
        return out


def make_model(out_channels: int = 1, dropout: float = 0.0, level: str = "node") -> DegreeModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return DegreeModel(out_channels, dropout, level)


def stars(count: int = 40) -> GraphStore:
    """Stars with 1 to 7 leaves; the target of a node is 10 times its degree, plus 3."""
    lists = [[(0, leaf + 1) for leaf in range(1 + graph % 7)] for graph in range(count)]
    store = GraphStore.from_edge_lists(lists, symmetrize=True)
    return store.with_targets(10 * store.degree.float() + 3, "node")


def split(count: int = 40) -> Splits:
    return Splits.random(count, (0.5, 0.25, 0.25), seed=0)
