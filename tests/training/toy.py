"""A model and data small enough to train in a blink."""

import torch
from torch import Tensor, nn

from i2gnn import extract_subgraphs, ops
from i2gnn.data import Splits
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import Subgraphs
from tests.helpers import random_graphs


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


class StaticModel(nn.Module):
    """A layer of message passing on subgraphs, made of ops that never wait for the device."""

    def __init__(
        self, data: Subgraphs, out_channels: int = 1, dropout: float = 0.0, level: str = "node"
    ) -> None:
        super().__init__()
        self.level = level
        self.table = nn.Parameter(torch.randn(data.num_codes, 16))
        self.update = nn.Linear(16, 16)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(16, out_channels)

    def static_shapes(self, batch: Subgraphs) -> bool:
        return True

    def forward(self, batch: Subgraphs) -> Tensor:
        assert batch.label_code is not None
        h = ops.lookup(self.table, batch.label_code)
        h = self.dropout(torch.tanh(h + self.update(ops.aggregate(h, batch)).to(h.dtype)))
        h = ops.pool_branches(ops.pool_nodes(h, batch, "mean"), batch, "mean")
        if self.level == "graph":
            h = ops.pool_graphs(h, batch, "mean")
        out: Tensor = self.head(h)
        return out


def make_static_model(
    data: Subgraphs, out_channels: int = 1, dropout: float = 0.0, level: str = "node"
) -> StaticModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return StaticModel(data, out_channels, dropout, level)


def graphs_with_targets(level: str = "node", count: int = 40) -> GraphStore:
    """Random graphs, the first of them empty; the target is the degree, or the number of nodes."""
    graphs = random_graphs(count, nodes=(0, 9))
    y = graphs.degree if level == "node" else graphs.sizes["node"]
    return graphs.with_targets(y.float(), "node" if level == "node" else "graph")


def subgraphs(level: str = "node", count: int = 40) -> Subgraphs:
    """The ego-nets of `graphs_with_targets`."""
    return extract_subgraphs(graphs_with_targets(level, count), hops=1)


def stars(count: int = 40) -> GraphStore:
    """Stars with 1 to 7 leaves; the target of a node is 10 times its degree, plus 3."""
    lists = [[(0, leaf + 1) for leaf in range(1 + graph % 7)] for graph in range(count)]
    store = GraphStore.from_edge_lists(lists, symmetrize=True)
    return store.with_targets(10 * store.degree.float() + 3, "node")


def split(count: int = 40) -> Splits:
    return Splits.random(count, (0.5, 0.25, 0.25), seed=0)
