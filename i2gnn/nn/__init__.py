"""Layers: convs on rows, label encoders, readouts."""

from i2gnn.nn.convs import (
    CONVS,
    GIN,
    GINE,
    Conv,
    GatedGraph,
    GraphConv,
    NNConv,
    SumConv,
    make_conv,
)
from i2gnn.nn.encoders import InjectLabels, LabelEncoder
from i2gnn.nn.mlp import mlp
from i2gnn.nn.readouts import EdgeReadout, GraphReadout, NodeReadout, read_edges

__all__ = [
    "CONVS",
    "GIN",
    "GINE",
    "Conv",
    "EdgeReadout",
    "GatedGraph",
    "GraphConv",
    "GraphReadout",
    "InjectLabels",
    "LabelEncoder",
    "NNConv",
    "NodeReadout",
    "SumConv",
    "make_conv",
    "mlp",
    "read_edges",
]
