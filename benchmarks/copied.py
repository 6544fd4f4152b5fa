"""The formulation that copies each ego-net once per neighbour, in plain PyG.

This is how the published implementation lays out an I²-GNN: every subgraph G_ij is a graph of its
own inside one disjoint union, and PyG's layers run on the union. Same weights, same function as
`i2gnn.I2GNN` with gated layers; the benchmarks compare the two.
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GatedGraphConv, global_add_pool

from i2gnn import I2GNN
from i2gnn.subgraphs import Subgraphs

__all__ = ["CopiedI2GNN", "copy_subgraphs"]


def copy_subgraphs(subgraphs: Subgraphs) -> Data:
    """One disjoint union of all subgraphs G_ij, each with its own copy of nodes and edges."""
    order = torch.argsort(subgraphs.row_to_branch, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    sent_from, sent_to, _ = subgraphs.message_rows
    return Data(
        edge_index=torch.stack([place[sent_from], place[sent_to]]),
        num_nodes=subgraphs.num_rows,
        labels=subgraphs.labels[order].long(),
        node_to_subgraph=subgraphs.row_to_branch[order],
        subgraph_to_root=subgraphs.branch_to_root,
        num_subgraphs=subgraphs.num_branches,
        num_roots=subgraphs.num_nodes,
    )


class CopiedI2GNN(nn.Module):
    """I²-GNN on copied subgraphs, built from an `I2GNN` with gated layers and shared weights."""

    def __init__(self, model: I2GNN) -> None:
        super().__init__()
        encoders = [model.encode_labels, *(inject.labels for inject in model.injections)]
        self.embeddings = nn.ModuleList(
            nn.ModuleList(nn.Embedding.from_pretrained(t.detach(), freeze=False) for t in e.tables)
            for e in encoders
        )
        self.mix = nn.ModuleList(_copy(inject.linear) for inject in model.injections)
        self.convs = nn.ModuleList()
        for conv in model.convs:
            copied = GatedGraphConv(model.hidden_channels, num_layers=1)
            copied.weight.data = conv.weight.detach().clone().unsqueeze(0)
            copied.rnn.load_state_dict(conv.gru.state_dict())
            self.convs.append(copied)
        self.edge_mlp = _copy(model.edge_readout.mlp)
        self.node_mlp = _copy(model.node_readout.mlp)
        self.head = _copy(model.head)

    def forward(self, data: Data) -> Tensor:
        """Predictions per root, [N, out_channels]."""
        x = None
        for t, conv in enumerate(self.convs):
            columns = zip(self.embeddings[t], data.labels.unbind(1), strict=True)
            z = sum(table(values) for table, values in columns)
            x = z if x is None else self.mix[t - 1](torch.cat([x, z], dim=-1))
            x = conv(x, data.edge_index)
        x = self.edge_mlp(global_add_pool(x, data.node_to_subgraph, size=data.num_subgraphs))
        x = self.node_mlp(global_add_pool(x, data.subgraph_to_root, size=data.num_roots))
        return self.head(x)


def _copy(module: nn.Module) -> nn.Module:
    import copy

    return copy.deepcopy(module)
