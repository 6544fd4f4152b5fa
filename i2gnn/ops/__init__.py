"""Ops on rows: one public function each, and one implementation per device.

`reference` holds the definitions in plain PyTorch, `cpu` and `triton` hold compiled kernels. An op
picks by the device and type of its input, unless `backend` says otherwise.
"""

from i2gnn.ops.choice import backend, uses_fused, uses_kernels, uses_reference
from i2gnn.ops.layers import (
    fits_gine_layer,
    gated_layer,
    gated_stack,
    gine_layer,
    gine_layers,
    gru_update,
)
from i2gnn.ops.reference import (
    GINELayer,
    GRUWeights,
    LabelEmbedding,
    NodeMix,
    NormState,
    Part,
    Perceptron,
    Projection,
    Reduce,
)
from i2gnn.ops.rows import (
    aggregate,
    embed_labels,
    gated_pools,
    label_gates,
    lookup,
    node_states,
    pool_branches,
    pool_context,
    pool_graphs,
    pool_nodes,
    read_parts,
    read_subgraphs,
    spread_nodes,
)

__all__ = [
    "GINELayer",
    "GRUWeights",
    "LabelEmbedding",
    "NodeMix",
    "NormState",
    "Part",
    "Perceptron",
    "Projection",
    "Reduce",
    "aggregate",
    "backend",
    "embed_labels",
    "fits_gine_layer",
    "gated_layer",
    "gated_pools",
    "gated_stack",
    "gine_layer",
    "gine_layers",
    "gru_update",
    "label_gates",
    "lookup",
    "node_states",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "read_parts",
    "read_subgraphs",
    "spread_nodes",
    "uses_fused",
    "uses_kernels",
    "uses_reference",
]
