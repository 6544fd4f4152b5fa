"""Message-passing layers lifted to rows: each passes messages inside every subgraph (Eq. 6).

All share one signature, `conv(h, subgraphs, edge_attr, z)`: [R, D_in] rows to [R, D_out]. There,
`edge_attr` [E, F] are the edge features of the graphs, or None, and `z` are embedded labels that
stand beside the states: where they are given, the layer works on [h, z], D_in wide together.
"""

from i2gnn.nn.convs.conv import Conv, SumConv
from i2gnn.nn.convs.edge_weights import NNConv
from i2gnn.nn.convs.gated import GatedGraph, stack_weights
from i2gnn.nn.convs.gin import GIN, GINE
from i2gnn.nn.convs.graph import GraphConv, ProductConv
from i2gnn.nn.convs.make import CONVS, make_conv

__all__ = [
    "CONVS",
    "GIN",
    "GINE",
    "Conv",
    "GatedGraph",
    "GraphConv",
    "NNConv",
    "ProductConv",
    "SumConv",
    "make_conv",
    "stack_weights",
]
