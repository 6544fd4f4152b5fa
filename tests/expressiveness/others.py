"""Models that know nothing of this library."""

import torch
from torch import nn
from torch_geometric.nn import GIN, global_add_pool


class OfNodes(nn.Module):
    """Embeds nodes at a width of its own; its features are counted as they are made."""

    calls = 0

    def __init__(self) -> None:
        super().__init__()
        self.gin = GIN(2, 16, num_layers=2)

    @staticmethod
    def pre_transform(data):
        OfNodes.calls += 1
        data.x = torch.cat([data.x, 2 * data.x], dim=1)
        return data

    def forward(self, batch):
        return self.gin(batch.x, batch.edge_index)


class OfGraphs(OfNodes):
    """Vectors of graphs at any level."""

    def forward(self, batch):
        return global_add_pool(super().forward(batch), batch.batch)
