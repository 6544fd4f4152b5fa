"""Which implementation of an op runs: by device and type of its input, and by `backend`."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal, get_args

import torch
from torch import Tensor

from i2gnn.ops.reference import Projection
from i2gnn.parallel import have
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "backend",
    "use_cpu",
    "use_cpu_layers",
    "use_fused_layer",
    "use_fused_stack",
    "use_triton",
    "use_whole_roots",
    "uses_fused",
    "uses_kernels",
    "uses_reference",
]

Backend = Literal["auto", "reference", "triton"]
TRITON_TYPES = (torch.float32, torch.bfloat16, torch.float16)

_backend: ContextVar[Backend] = ContextVar("i2gnn.ops.backend", default="auto")


@contextlib.contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Chooses the implementation inside a `with` block.

    Args:
        name: "auto" takes Triton's kernels on a GPU and numba's on a CPU where they fit;
            "reference" takes neither; "triton" takes Triton's or fails, and runs them on a CPU if
            TRITON_INTERPRET=1 was set before Triton was imported. Ops that have none take the
            reference.
    """
    if name not in get_args(Backend):
        raise ValueError(f"backend must be one of {get_args(Backend)}, got {name!r}")
    token = _backend.set(name)
    try:
        yield
    finally:
        _backend.reset(token)


def uses_reference() -> bool:
    """Whether `backend("reference")` is in force."""
    return _backend.get() == "reference"


def uses_kernels(tensor: Tensor) -> bool:
    """Whether compiled kernels work on tensors like this one, which write out no messages."""
    return use_triton(tensor) or use_cpu(tensor)


def uses_fused(h: Tensor) -> bool:
    """Whether fused kernels may work on tensors like this one.

    They have TF32's precision, so that must have been allowed.
    """
    if h.dtype != torch.float32 or not use_triton(h):
        return False
    rough = torch.get_float32_matmul_precision() != "highest" or torch.is_autocast_enabled("cuda")
    return rough or _backend.get() == "triton"


def use_fused_stack(table: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the fused stack can run, and is as precise as was asked for."""
    if not uses_fused(table):
        return False
    from i2gnn.ops import triton

    return triton.fits_gated_stack(table, subgraphs)


def use_fused_layer(h: Tensor, subgraphs: Subgraphs, then: Projection | None) -> bool:
    """Whether a fused gated layer can run, and is as precise as was asked for."""
    if not uses_fused(h):
        return False
    from i2gnn.ops import triton

    return triton.fits_gated_layer(h, subgraphs, then)


def use_cpu(*inputs: Tensor) -> bool:
    """Whether compiled kernels can take these: on the CPU, of one type that numba knows."""
    kinds = {tensor.dtype for tensor in inputs}
    fits = kinds in ({torch.float32}, {torch.float64})
    there = all(tensor.device.type == "cpu" for tensor in inputs)
    return fits and there and _backend.get() == "auto" and have("numba")


def use_cpu_layers(*inputs: Tensor) -> bool:
    """Whether the CPU's whole layers can take these; they know float32 alone."""
    return inputs[0].dtype == torch.float32 and use_cpu(*inputs)


def use_whole_roots(h: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the CPU's layers can go through these rows root by root; none of them is spare."""
    if not use_cpu_layers(h) or subgraphs.graph_ptr is not None or subgraphs.num_rows == 0:
        return False
    from i2gnn.ops import cpu

    return cpu.fits_whole_roots(subgraphs)


def use_triton(*inputs: Tensor) -> bool:
    """Whether Triton's kernels take these: tensors on a GPU, of one type that they know."""
    if uses_reference():
        return False
    kinds = {tensor.dtype for tensor in inputs}
    fits = len(kinds) == 1 and kinds.issubset(TRITON_TYPES)
    there = all(tensor.is_cuda for tensor in inputs)
    if _backend.get() == "auto":
        return fits and there and have("triton")
    if not have("triton"):
        raise RuntimeError("backend 'triton' needs Triton, which is not installed")
    if not fits:
        raise ValueError(f"Triton's kernels take one of {TRITON_TYPES}, got {kinds}")
    if not there:
        from i2gnn.ops.triton import INTERPRETED

        if not INTERPRETED:
            raise RuntimeError(
                f"Triton's kernels run on a GPU, got tensors on {inputs[0].device}; to run them "
                "on a CPU, slowly, set TRITON_INTERPRET=1 before Triton is imported"
            )
    return True
