"""Kernels for the CPU: compiled with numba where PyTorch has no fitting loop."""

from i2gnn.ops.cpu.aggregate import aggregate, pool_nodes
from i2gnn.ops.cpu.gated import gated_layer, gru_update
from i2gnn.ops.cpu.gine import gine_layer
from i2gnn.ops.cpu.node_states import node_states
from i2gnn.ops.cpu.slices import fits_whole_roots
from i2gnn.ops.cpu.stack import gated_stack

__all__ = [
    "aggregate",
    "fits_whole_roots",
    "gated_layer",
    "gated_stack",
    "gine_layer",
    "gru_update",
    "node_states",
    "pool_nodes",
]
