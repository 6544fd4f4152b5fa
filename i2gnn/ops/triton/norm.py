"""Normalisation over rows, ELU and residual behind a fused layer."""

import torch
import triton
from torch import Tensor

from i2gnn.ops.reference import NormState
from i2gnn.ops.triton import norm_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch
from i2gnn.ops.triton.rows import filled
from i2gnn.ops.triton.shares import programs_on
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Norm", "norm_code"]

NUMBERS = 2048
"""Numbers of a tile; twice or four times as many in kernels that sum, with twice the warps."""


def norm_code(norm: NormState | None) -> int:
    """What kernels call it: none, by running statistics, by those of the batch."""
    if norm is None:
        return int(kernels.NONE)
    return int(kernels.BATCH if norm.training else kernels.RUNNING)


class Norm:
    """out = elu(norm(p)) + h, each of the three optional; [R, OUT] float16 to [R, D] float32."""

    def __init__(self, subgraphs: Subgraphs, norm: NormState | None, width: int, elu: bool) -> None:
        self.subgraphs, self.state, self.width, self.elu = subgraphs, norm, width, elu
        self.OUT = filled(width)
        self.block_r = max(1, NUMBERS // self.OUT)
        self.norm = norm_code(norm)

    def forward(self, p: Tensor, h: Tensor | None, last: bool) -> tuple[Tensor, Tensor | None]:
        """The result, with `h` [R, D] added if given; in float16 too, unless it is the last."""
        rows, self.p = self.subgraphs.num_rows, p
        self.vectors = None if self.state is None else self._vectors(self.state)
        out = p.new_empty(rows, self.width, dtype=torch.float32)
        rounded = None if last else torch.empty_like(out, dtype=torch.float16)
        launch(
            kernels.norm_elu_kernel,
            (blocks(rows, self.block_r),),
            out,
            rounded,
            p,
            self.vectors,
            h,
            *self._rows(),
            rows,
            **self._sizes(),
        )
        return out, rounded

    def _vectors(self, norm: NormState) -> Tensor:
        p = self.p
        programs, partial = programs_on(p.device, 2), None
        if norm.training:
            partial = norm.weight.new_empty(programs, 2, self.OUT)
            launch(
                kernels.moments_kernel,
                (programs,),
                partial,
                p,
                *self._rows(),
                H=self.OUT,
                BLOCK_R=4 * self.block_r,
                num_warps=8,
            )
        vectors = norm.weight.new_empty(6, self.OUT)
        launch(
            kernels.norm_statistics_kernel,
            (1,),
            vectors,
            partial,
            p,
            *norm[:4],
            *self._rows(),
            programs,
            norm.momentum,
            norm.eps,
            D=self.width,
            H=self.OUT,
            NORM=self.norm,
            num_warps=8,
        )
        return vectors

    def backward(self, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor | None, ...]]:
        """[R, D] to the gradient by p, its scale, and its sum over rows; those of the norm."""
        programs = programs_on(grad.device, 2)
        partial = grad.new_empty(programs, 3, self.OUT)
        launch(
            kernels.norm_grad_sums_kernel,
            (programs,),
            partial,
            grad,
            self.p,
            self.vectors,
            *self._rows(),
            **self._sizes() | {"BLOCK_R": 2 * self.block_r},
            num_warps=8,
        )
        scale, of_norm = grad.new_empty(()), grad.new_empty(3, self.OUT)
        launch(
            kernels.norm_grad_vectors_kernel,
            (1,),
            scale,
            self.vectors,
            of_norm,
            partial,
            *self._rows(),
            programs,
            H=self.OUT,
            NORM=self.norm,
            PROGRAMS=triton.next_power_of_2(programs),
            num_warps=8,
        )
        out = torch.empty_like(self.p)
        launch(
            kernels.norm_elu_grad_kernel,
            (blocks(len(out), self.block_r),),
            out,
            grad,
            self.p,
            self.vectors,
            scale,
            *self._rows(),
            **self._sizes(),
        )
        weight, bias, total = of_norm[:, : self.width]
        return out, scale, total, (None, None) if self.vectors is None else (weight, bias)

    def _rows(self) -> tuple[Tensor, int]:
        return self.subgraphs.row_ptr, self.subgraphs.num_pairs

    def _sizes(self) -> dict[str, int | bool]:
        return {"D": self.width, "H": self.OUT, "ELU": self.elu, "BLOCK_R": self.block_r}
