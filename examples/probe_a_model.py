"""What can a GNN of one's own tell apart and count? Here: GIN that knows where random walks return.

python examples/probe_a_model.py
"""

import torch
from torch import nn
from torch_geometric.nn import GIN, global_add_pool
from torch_geometric.utils import to_dense_adj

from i2gnn.expressiveness.probe import ProbeSettings, probe
from i2gnn.report.probe import write_report


class WalkGIN(nn.Module):
    """GIN on features of walks."""

    def __init__(self, out_channels, level):
        super().__init__()
        self.level = level
        self.gin = GIN(8, hidden_channels=32, num_layers=3, out_channels=out_channels)

    @staticmethod
    def pre_transform(data):
        """Gives nodes their features: how likely a walk of 2 to 9 steps is to come back."""
        adjacency = to_dense_adj(data.edge_index, max_num_nodes=data.num_nodes)[0].to(data.x.dtype)
        step = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
        data.x = torch.stack([step.matrix_power(n).diagonal() for n in range(2, 10)], dim=1)
        return data

    def forward(self, batch):
        """A row of numbers per node, or per graph."""
        h = self.gin(batch.x, batch.edge_index)
        return h if self.level == "node" else global_add_pool(h, batch.batch)


if __name__ == "__main__":
    found = probe(WalkGIN, settings=ProbeSettings(datasets=("paper", "csl"), quick=True))
    print(found.summary(), "\nReport:", write_report(found, "runs/mine"))
