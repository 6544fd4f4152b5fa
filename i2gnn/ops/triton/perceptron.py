"""The second piece of a fused layer: two linear maps, a normalisation and a ReLU between them."""

import torch
from torch import Tensor

from i2gnn.ops.reference import NormState, Perceptron
from i2gnn.ops.triton import gine_kernels as kernels
from i2gnn.ops.triton import hidden_kernels, norm_kernels
from i2gnn.ops.triton.gather import Gather
from i2gnn.ops.triton.launch import SideWork, launch
from i2gnn.ops.triton.norm import norm_code
from i2gnn.ops.triton.rows import fill, filled, rows_of
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["TwoLayers"]

BLOCK_H = 64
"""Hidden units that are computed at once."""
TILE = 64
"""Rows of a tile: as many as a group of four warps multiplies at once."""


class TwoLayers:
    """u = relu(norm(a W_1 + b_1)) W_2 + b_2; [R, OUT] float16."""

    def __init__(self, subgraphs: Subgraphs, mlp: Perceptron, gather: Gather) -> None:
        self.subgraphs, self.mlp, self.gather = subgraphs, mlp, gather
        self.K = gather.K
        self.hidden, self.width = mlp.weight_out.shape
        self.H, self.OUT = filled(self.hidden), filled(self.width)
        self.block_h = min(BLOCK_H, self.H)
        self.weight_in = gather.fill(mlp.weight_in.t(), self.H)
        self.weight_out = fill(mlp.weight_out.t(), self.OUT, self.H)
        self.norm = norm_code(mlp.norm)

    def forward(self, a: Tensor) -> Tensor:
        """[R, K] to [R, OUT]."""
        self.a = a
        self.vectors, self.spread, self.gram = self._statistics(self.mlp.norm)
        out = rows_of(self.subgraphs, self.OUT)
        launch(
            kernels.perceptron_kernel,
            (programs_on(a.device, 2),),
            out,
            a,
            self.weight_in,
            self.weight_out,
            self.mlp.bias_out,
            self.vectors,
            *self._rows(),
            D=self.width,
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )
        return out

    def backward(
        self, grad: Tensor, scale: Tensor, bias: Tensor | None, side: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, OUT] to [R, K], and the gradients of the weights; that of the last may be known."""
        mlp, new = self.mlp, self.vectors.new_empty
        units = self.H // self.block_h
        programs = max(1, programs_on(grad.device) // units)
        partial = new(programs, self.K + self.OUT + 1, self.H)
        inputs = self.a, grad, self.weight_in, self.weight_out, self.vectors, *self._rows()
        launch(
            kernels.perceptron_weights_grad_kernel,
            (programs, units),
            partial,
            *inputs,
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=2 * TILE,
            STAGES=3,
            num_warps=8,
            num_stages=3,
        )
        by_in, by_out = new(self.H, self.K), new(self.OUT, self.H)
        by_norm = new(3, self.H)
        launch(
            hidden_kernels.hidden_grad_kernel,
            (self.H // 8,),
            by_in,
            by_out,
            by_norm,
            self.vectors,
            sum_shares(partial),
            self.spread,
            self.gram,
            self.a,
            self.weight_in,
            scale,
            *self._rows(),
            **self._sizes(),
            NORM=self.norm,
            BLOCK_H=8,
        )
        grad_a = torch.empty_like(self.a)
        launch(
            kernels.perceptron_rows_grad_kernel,
            (programs_on(grad.device),),
            grad_a,
            *inputs,
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=2 * TILE,
            num_warps=8,
            num_stages=1,
        )
        weight, shift, before = by_norm[:, : self.hidden]
        of_norm = (None, None) if mlp.norm is None else (weight, shift)
        if bias is None:
            bias = side.run(self._sums, grad, scale)[: self.width]
        grad_in = self.gather.real(by_in[: self.hidden]).t()
        grad_out = by_out[: self.width, : self.hidden].t()
        return grad_a, (grad_in, before, *of_norm, grad_out, bias)

    def _statistics(self, norm: NormState | None) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The vectors of the hidden layer's normalisation, and what its gradient needs besides."""
        new = self.mlp.bias_in.new_empty
        spread = gram = None
        if self.norm == norm_kernels.BATCH:
            programs = programs_on(self.a.device)
            partial = new(programs, self.K + 1, self.K)
            launch(
                hidden_kernels.gram_kernel,
                (programs,),
                partial,
                self.a,
                *self._rows(),
                K=self.K,
                BLOCK_R=TILE,
                num_warps=8,
            )
            gram, spread = sum_shares(partial), new(self.H, self.K)
        vectors = new(6, self.H)
        state = (None,) * 4 if norm is None else norm[:4]
        launch(
            hidden_kernels.hidden_statistics_kernel,
            (self.H // 16,),
            vectors,
            spread,
            gram,
            self.a,
            self.weight_in,
            self.mlp.bias_in,
            *state,
            *self._rows(),
            0.0 if norm is None else norm.momentum,
            0.0 if norm is None else norm.eps,
            D=self.hidden,
            K=self.K,
            H=self.H,
            NORM=self.norm,
            BLOCK_H=16,
            BLOCK_K=min(32, self.K),
        )
        return vectors, spread, gram

    def _sums(self, x: Tensor, scale: Tensor) -> Tensor:
        """The sums over the rows of [R, OUT] scaled float16."""
        programs = programs_on(x.device, 2)
        partial = scale.new_empty(programs, self.OUT)
        launch(
            norm_kernels.column_sums_kernel,
            (programs,),
            partial,
            x,
            *self._rows(),
            D=self.OUT,
            BLOCK_R=2 * TILE,
            num_warps=8,
        )
        return sum_shares(partial, scale)

    def _rows(self) -> tuple[Tensor, int]:
        return self.subgraphs.row_ptr, self.subgraphs.num_pairs

    def _sizes(self) -> dict[str, int]:
        return {"K": self.K, "H": self.H, "OUT": self.OUT}
