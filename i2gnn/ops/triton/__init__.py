"""Kernels for CUDA devices, written in Triton.

Sums follow CSR ranges or have a fixed order, so results are the same in every run; nothing waits
for the device, and sizes come from the host. With TRITON_INTERPRET=1 in the environment, Triton
runs the kernels on CPU tensors, slowly, for tests.
"""

from i2gnn.ops.triton.aggregate import aggregate
from i2gnn.ops.triton.cell_blocks import cell_blocks
from i2gnn.ops.triton.cells import multiply_cells, tiles_of_cells
from i2gnn.ops.triton.gated import fits_gated_layer, fits_gated_stack, gated_layer, gated_stack
from i2gnn.ops.triton.gated_pools import fits_gated_pools, gated_pools
from i2gnn.ops.triton.gine import fits_gine_layer, gine_layers
from i2gnn.ops.triton.launch import INTERPRETED
from i2gnn.ops.triton.lookup import lookup
from i2gnn.ops.triton.node_states import fits_node_states, read_node_states
from i2gnn.ops.triton.pool import (
    pool_branches,
    pool_context,
    pool_graphs,
    pool_nodes,
    spread_nodes,
)
from i2gnn.ops.triton.readout import read_subgraphs

__all__ = [
    "INTERPRETED",
    "aggregate",
    "cell_blocks",
    "fits_gated_layer",
    "fits_gated_pools",
    "fits_gated_stack",
    "fits_gine_layer",
    "fits_node_states",
    "gated_layer",
    "gated_pools",
    "gated_stack",
    "gine_layers",
    "lookup",
    "multiply_cells",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "read_node_states",
    "read_subgraphs",
    "spread_nodes",
    "tiles_of_cells",
]
