"""The formulation that copies each ego-net once per neighbour, in plain PyG.

This is how the published implementation lays out an I²-GNN: every subgraph G_ij is a graph of its
own inside one disjoint union, and PyG's layers run on the union. Same weights, same function as
`i2gnn.I2GNN`; the benchmarks compare the two.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GatedGraphConv, GINEConv, global_add_pool, global_mean_pool

from i2gnn.models import I2GNN
from i2gnn.models.fusing import sees_labels_alone
from i2gnn.subgraphs import Subgraphs

__all__ = ["CopiedData", "CopiedI2GNN", "CopiedZincI2GNN", "copy_model", "copy_subgraphs"]


class CopiedData(Data):
    """A disjoint union of subgraphs, which PyG's `DataLoader` joins to batches.

    With R nodes (all copies), B subgraphs, N roots and G graphs:

    Attributes:
        edge_index: [2, M], messages between copies.
        labels: [R, L].
        node_to_subgraph: [R].
        node_to_original: [R], the node that each is a copy of.
        subgraph_to_root: [B].
        center: [B, 2], the copies at k = i and at k = j.
        root_to_graph: [N].
        graph_size: [G], roots of each graph.
        resistance, x, edge_attr, y: As in `Subgraphs`, per copy, message and target; or None.
    """

    @property
    def num_subgraphs(self) -> int:
        """Number of subgraphs B."""
        return len(self.subgraph_to_root)

    @property
    def num_roots(self) -> int:
        """Number of roots N."""
        return len(self.root_to_graph)

    @property
    def num_molecules(self) -> int:
        """Number of graphs G."""
        return len(self.graph_size)

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """What a batch adds to the indices of the next graph."""
        if key in ("edge_index", "center"):
            return self.num_nodes
        if key == "node_to_subgraph":
            return self.num_subgraphs
        if key in ("subgraph_to_root", "node_to_original"):
            return self.num_roots
        return self.num_molecules if key == "root_to_graph" else 0


def copy_subgraphs(subgraphs: Subgraphs) -> CopiedData:
    """One disjoint union of all subgraphs G_ij, each with its own copy of nodes and edges."""
    order = torch.argsort(subgraphs.row_to_branch, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    sent_from, sent_to, link = subgraphs.message_rows
    assert subgraphs.labels is not None
    data = CopiedData(
        edge_index=torch.stack([place[sent_from], place[sent_to]]),
        num_nodes=subgraphs.num_rows,
        labels=subgraphs.labels[order].long(),
        node_to_subgraph=subgraphs.row_to_branch[order].long(),
        node_to_original=subgraphs.row_to_node[order].long(),
        subgraph_to_root=subgraphs.branch_to_root.long(),
        center=torch.stack([place[subgraphs.row_of_root], place[subgraphs.row_of_branch]], dim=1),
        root_to_graph=subgraphs.node_to_graph.long(),
        graph_size=subgraphs.sizes["node"].to(subgraphs.device),
    )
    if subgraphs.resistance is not None:
        data.resistance = subgraphs.resistance[order]
    if subgraphs.x is not None:
        data.x = subgraphs.x[data.node_to_original]
    if subgraphs.edge_attr is not None:
        data.edge_attr = subgraphs.edge_attr[subgraphs.link_to_edge.long()[link]]
    if subgraphs.y is not None:
        data.y = subgraphs.y
    return data


def copy_model(model: I2GNN) -> "CopiedI2GNN | CopiedZincI2GNN":
    """The counting model or the ZINC model on copied subgraphs, with the weights of `model`."""
    return CopiedI2GNN(model) if sees_labels_alone(model) else CopiedZincI2GNN(model)


class CopiedI2GNN(nn.Module):
    """The counting model on copied subgraphs: an `I2GNN` with gated layers, weights copied."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        if model.parts != ("nodes",):
            raise ValueError(f"copied subgraphs are read at all nodes, not at {model.parts}")
        encoders = [model.encode_labels, *(inject.labels for inject in model.injections)]
        self.labels = nn.ModuleList(map(Labels, encoders))
        self.mix = nn.ModuleList(deepcopy(inject.linear) for inject in model.injections)
        self.convs = nn.ModuleList()
        for layer in model.layers:
            copied = GatedGraphConv(model.hidden_channels, num_layers=1).to(model.dtype)
            copied.weight.data = layer.conv.weight.detach().clone().unsqueeze(0)
            copied.rnn.load_state_dict(layer.conv.gru.state_dict())
            self.convs.append(copied)
        self.edge_mlp = deepcopy(model.edge_readout.mlp)
        self.node_mlp = deepcopy(model.node_readout.mlp)
        self.head = deepcopy(model.head)

    def forward(self, data: CopiedData) -> Tensor:
        """Predictions per root, [N, out_channels]."""
        x = None
        for t, conv in enumerate(self.convs):
            z = self.labels[t](data)
            x = z if x is None else self.mix[t - 1](torch.cat([x, z], dim=-1))
            x = conv(x, data.edge_index)
        x = self.edge_mlp(global_add_pool(x, data.node_to_subgraph, size=data.num_subgraphs))
        x = self.node_mlp(global_add_pool(x, data.subgraph_to_root, size=data.num_roots))
        result: Tensor = self.head(x)
        return result


class CopiedZincI2GNN(nn.Module):
    """The ZINC model on copied subgraphs: an `I2GNN(**ZINC_OPTIONS)`, weights copied."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.atoms = _embedding(model.encode_nodes.tables[0])
        self.layers = nn.ModuleList(map(ZincLayer, model.layers))
        self.labels = Labels(model.gate_labels)
        self.gate = deepcopy(model.gate.linear)
        self.head = deepcopy(model.head)

    def forward(self, data: CopiedData) -> Tensor:
        """Predictions per graph, [G, out_channels]."""
        x = torch.cat([self.atoms(data.x[:, 0]), data.x.to(self.atoms.weight.dtype)], dim=-1)
        for t, layer in enumerate(self.layers):
            out = layer(x, data)
            out = functional.elu(out) if t < len(self.layers) - 1 else out
            x = out if t == 0 else out + x
        nodes = pool_to_nodes(x, torch.sigmoid(self.gate(self.labels(data))), data)
        graphs = global_mean_pool(nodes, data.root_to_graph, size=data.num_molecules)
        result: Tensor = self.head(graphs)
        return result


class ZincLayer(nn.Module):
    """Labels, GINE on [x, e], node states beside x, batch normalisation."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.labels = Labels(layer.labels)
        self.bonds = _embedding(layer.conv.edge.tables[0])
        self.conv = GINEConv(_plain_norms(layer.conv.mlp), train_eps=True)
        self.conv.nn.load_state_dict(layer.conv.mlp.state_dict())  # GINEConv draws new weights
        self.conv.eps.data = layer.conv.eps.detach().clone().reshape(1)
        self.gate = deepcopy(layer.mix.gate.linear)
        self.mlp = deepcopy(layer.mix.mlp)
        self.norm = _plain_norms(nn.Sequential(layer.norm))

    def forward(self, x: Tensor, data: CopiedData) -> Tensor:
        """[R, D_in] to [R, D]."""
        e = self.labels(data)
        bonds = self.bonds(data.edge_attr[:, 0])
        x = self.conv(torch.cat([x, e], dim=-1), data.edge_index, bonds)
        nodes = pool_to_nodes(x, torch.sigmoid(self.gate(e)), data)
        x = self.mlp(torch.cat([x, nodes[data.node_to_original]], dim=-1))
        result: Tensor = self.norm(x)
        return result


class Labels(nn.Module):
    """One embedding per label column, summed, plus a linear map of the resistances."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.tables = nn.ModuleList(map(_embedding, encoder.tables))
        self.resistance = deepcopy(encoder.resistance)

    def forward(self, data: CopiedData) -> Tensor:
        """[R, D]."""
        columns = zip(self.tables, data.labels.unbind(1), strict=True)
        z: Tensor = sum(table(values) for table, values in columns)
        return z if self.resistance is None else z + self.resistance(data.resistance)


def pool_to_nodes(x: Tensor, gate: Tensor, data: CopiedData) -> Tensor:
    """Mean, centre and side of the gated subgraphs, averaged per root, and the context: [N, 4D]."""
    context = global_mean_pool(x, data.node_to_original, size=data.num_roots)
    x = gate * x
    x = torch.cat(
        [
            global_mean_pool(x, data.node_to_subgraph, size=data.num_subgraphs),
            x[data.center[:, 0]],
            x[data.center[:, 1]],
        ],
        dim=-1,
    )
    x = global_mean_pool(x, data.subgraph_to_root, size=data.num_roots)
    return torch.cat([x, context], dim=-1)


def _embedding(table: Tensor) -> nn.Embedding:
    rows, width = table.shape
    return nn.Embedding(rows, width, _weight=table.detach().clone())


def _plain_norms(modules: nn.Sequential) -> nn.Sequential:
    """A copy with PyTorch's own batch normalisation."""
    copied = []
    for module in modules:
        twin = deepcopy(module)
        if isinstance(module, nn.BatchNorm1d):
            twin = nn.BatchNorm1d(module.num_features).to(module.weight.dtype)
            twin.load_state_dict(module.state_dict())
        copied.append(twin)
    return nn.Sequential(*copied)
