"""What can a GNN of one's own tell apart and count? Here: one that knows how many walks return."""

import torch
from torch import nn
from torch_geometric.nn import GraphSAGE, global_add_pool
from torch_geometric.utils import to_dense_adj

from i2gnn.expressiveness.probe import ProbeSettings, StudySettings, probe
from i2gnn.report.probe import write_report


class WalkGNN(nn.Module):
    """GraphSAGE with sums, on features of walks."""

    def __init__(self, out_channels, level):
        super().__init__()
        self.gnn = GraphSAGE(4, hidden_channels=64, num_layers=3, aggr="sum")
        self.head, self.level = nn.Linear(64, out_channels), level

    @staticmethod
    def pre_transform(data):
        """Gives nodes their features: how many walks of 2 to 5 steps come back, scaled."""
        step = to_dense_adj(data.edge_index, max_num_nodes=data.num_nodes)[0].to(data.x.dtype) / 2
        data.x = torch.stack([step.matrix_power(n).diagonal() for n in range(2, 6)], dim=1)
        return data

    def forward(self, batch):
        """A row of numbers per node, or per graph."""
        h = self.head(self.gnn(batch.x, batch.edge_index))
        return h if self.level == "node" else global_add_pool(h, batch.batch)


if __name__ == "__main__":
    study = StudySettings(structures=("cycle3", "cycle4", "cycle5", "path2"), graphs=200, epochs=25)
    settings = ProbeSettings(datasets=("paper", "csl"), levels=("node",), study=study)
    found = probe(WalkGNN, settings=settings)
    print(found.summary(), "\nReport:", write_report(found, "runs/mine"))
