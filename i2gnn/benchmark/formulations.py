"""Three ways to compute the same model, ready to train.

| name                | layout                                  | ops                           |
|---------------------|-----------------------------------------|-------------------------------|
| ours                | each ego-net once (`Subgraphs`)         | kernels                       |
| ours, reference ops | each ego-net once                       | plain PyTorch                 |
| copied              | each ego-net once per neighbour         | plain PyG, as published       |

All have the same weights, graphs, loss and optimizer. "ours" and "copied" can also be captured:
a step is then recorded once as a CUDA graph and replayed, as `i2gnn.training.fit` does.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.loader import DataLoader

from i2gnn import ops
from i2gnn.benchmark.cases import Case
from i2gnn.benchmark.copied import CopiedData, copy_model, copy_subgraphs
from i2gnn.training.capture import Recording, StaticEpochs, rehearse
from i2gnn.training.config import OptimizerConfig
from i2gnn.training.evaluate import batches
from i2gnn.training.optimize import make_optimizer
from i2gnn.training.targets import compute_loss

__all__ = ["FORMULATIONS", "MODES", "Captured", "Formulation", "FormulationName", "Mode"]

FormulationName = Literal["ours", "ours, reference ops", "copied"]
FORMULATIONS: tuple[FormulationName, ...] = ("ours", "ours, reference ops", "copied")
Mode = Literal["eager", "captured"]
MODES: tuple[Mode, ...] = ("eager", "captured")


class Formulation:
    """One formulation of a case on a device, with its own weights and optimizer.

    Args:
        case: Model and graphs.
        name: One of `FORMULATIONS`.
        device: Where to compute.
        graphs: Graphs in the batch of `step` and `forward`; by default the case's batch size.
        dtype: Type of all floating-point numbers.
    """

    def __init__(
        self,
        case: Case,
        name: FormulationName,
        device: torch.device,
        graphs: int | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.case, self.name, self.device = case, name, device
        model = deepcopy(case.model).to(dtype)
        self.model: nn.Module = copy_model(model) if name == "copied" else model
        self.model.to(device)
        self.optimizer = make_optimizer(self.model, OptimizerConfig())
        self.scaling = case.scaling.to(torch.empty(0, dtype=dtype, device=device))
        first = case.data.batch(range(graphs or case.batch_size)).to(device, dtype)
        self.batch: Any = copy_subgraphs(first) if name == "copied" else first

    def step(self) -> Tensor:
        """Trains on the batch, which is ready: clears gradients, forward, loss, backward, Adam."""
        return self.train(self.batch)

    def train(self, batch: Any) -> Tensor:
        """One training step; returns the loss before."""
        self.optimizer.zero_grad(set_to_none=True)
        with self._backend():
            output = self.model(batch)
            loss = compute_loss("l1", output, batch.y, self.scaling)
            loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def forward(self) -> Tensor:
        """Predictions for the batch, in evaluation mode."""
        self.model.eval()
        with self._backend():
            output: Tensor = self.model(self.batch)
        self.model.train()
        return output

    def gradients(self) -> tuple[Tensor, list[Tensor]]:
        """Outputs in training mode, and the gradients of their mean squared error.

        The square is smooth: its gradient, unlike that of the absolute value, does not jump where
        rounding moves an output across its target.
        """
        with self._backend():
            output = self.model(self.batch)
            loss = compute_loss("mse", output, self.batch.y, self.scaling)
            found = torch.autograd.grad(loss, list(self.model.parameters()))
        return output.detach(), list(found)

    def epoch(self, number: int) -> None:
        """Trains on all graphs in a random order, the batches made as it goes."""
        for batch in self._batches(epoch_order(self.case, number)):
            self.train(batch)

    def prepare_epochs(self) -> None:
        """Does what is done once before training: graphs to the device, copies made."""
        _ = self._copies if self.name == "copied" else self._store

    def _batches(self, order: Tensor) -> Iterator[Any]:
        size = self.case.batch_size
        if self.name != "copied":
            yield from batches(self._store, order, size, self.device)
            return
        loader = DataLoader(self._copies, batch_size=size, sampler=order.tolist())
        for batch in loader:
            yield batch.to(self.device, non_blocking=True)

    @cached_property
    def _store(self) -> Any:
        return self.case.data.to(self.device)

    @cached_property
    def _copies(self) -> list[CopiedData]:
        """One object per graph, as PyG's loader wants them."""
        data = self.case.data
        return [copy_subgraphs(data.batch([g])) for g in range(len(data))]

    def _backend(self) -> AbstractContextManager[None]:
        return ops.backend("reference" if self.name == "ours, reference ops" else "auto")


class Captured:
    """A formulation whose steps are recorded as CUDA graphs; on a CPU they are simply run.

    Epochs assemble their batches on the device, of fixed shape, inside the recorded step, which is
    possible for "ours" alone.
    """

    def __init__(self, formulation: Formulation) -> None:
        one = formulation
        self.formulation = one

        def rehearsal() -> AbstractContextManager[None]:
            return rehearse(one.model, one.optimizer)

        self._rehearsal: Callable[[], AbstractContextManager[None]] = rehearsal
        self.step = Recording(one.step, one.device, rehearsal)

    @cached_property
    def forward(self) -> Recording:
        """Predictions for the batch, in evaluation mode."""
        return Recording(self.formulation.forward, self.formulation.device)

    def epoch(self, number: int) -> None:
        """Trains on all graphs in a random order, the batches made as it goes."""
        self._epochs.run(epoch_order(self.formulation.case, number))

    def prepare_epochs(self) -> None:
        """Records the step of an epoch."""
        self.epoch(0)

    @cached_property
    def _epochs(self) -> StaticEpochs:
        one = self.formulation
        return StaticEpochs(one._store, one.case.batch_size, one.train, self._rehearsal)


def epoch_order(case: Case, number: int) -> Tensor:
    """The same random order of the graphs for all formulations."""
    return torch.from_numpy(np.random.default_rng(number).permutation(len(case.data)))
