"""Layers: convs on rows, encoders of labels and features, readouts."""

from i2gnn.nn.convs import (
    CONVS,
    GIN,
    GINE,
    Conv,
    GatedGraph,
    GraphConv,
    NNConv,
    ProductConv,
    SumConv,
    make_conv,
    stack_weights,
)
from i2gnn.nn.encoders import InjectLabels, LabelEncoder, LabelGate, stack_projections
from i2gnn.nn.features import ConcatEncoder, FeatureEncoder
from i2gnn.nn.layers import Layer, MixNodeStates
from i2gnn.nn.norms import BatchNorm, Norm, make_norm
from i2gnn.nn.perceptron import mlp, mlp_of_parts
from i2gnn.nn.readouts import (
    EdgeReadout,
    GraphReadout,
    NodeReadout,
    PathReadout,
    parse_readout,
    read_branches,
    read_edges,
    read_nodes,
)
from i2gnn.nn.virtual_node import VirtualNode

__all__ = [
    "CONVS",
    "GIN",
    "GINE",
    "BatchNorm",
    "ConcatEncoder",
    "Conv",
    "EdgeReadout",
    "FeatureEncoder",
    "GatedGraph",
    "GraphConv",
    "GraphReadout",
    "InjectLabels",
    "LabelEncoder",
    "LabelGate",
    "Layer",
    "MixNodeStates",
    "NNConv",
    "NodeReadout",
    "Norm",
    "PathReadout",
    "ProductConv",
    "SumConv",
    "VirtualNode",
    "make_conv",
    "make_norm",
    "mlp",
    "mlp_of_parts",
    "parse_readout",
    "read_branches",
    "read_edges",
    "read_nodes",
    "stack_projections",
    "stack_weights",
]
