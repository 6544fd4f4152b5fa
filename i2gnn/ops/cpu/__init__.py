"""Kernels for the CPU: compiled with numba where PyTorch has no fitting loop."""

from i2gnn.ops.cpu.aggregate import aggregate, pool_nodes
from i2gnn.ops.cpu.gru import gru_update

__all__ = ["aggregate", "gru_update", "pool_nodes"]
