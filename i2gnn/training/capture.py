"""Training steps of fixed shape: recorded once as a CUDA graph, then replayed.

A replay starts all kernels of a step at once: no Python, nothing that waits for the device. The
graphs of a step are chosen by a tensor of indices, and batches are assembled on the device with
room for the largest (`i2gnn.graphs.assemble`). On a CPU the same steps are simply run.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from i2gnn.graphs import GraphStore
from i2gnn.graphs.assemble import assemble
from i2gnn.training.averaging import WeightAverage

__all__ = ["Recording", "StaticEpochs", "rehearse"]

WARM_UP = 3
"""Calls before a recording: kernels are compiled and libraries loaded, which waits."""
SLACK = 1.05
"""Room in a batch over the largest seen so far."""
ROUND = 128
"""Lengths of batches are multiples of this."""


class Recording:
    """A function that is recorded when this is made, and replayed by every call.

    Args:
        function: Takes nothing, works on tensors that stay where they are, and never waits for
            the device.
        device: Where; on a CPU nothing is recorded, and every call calls the function.
        rehearsal: The first calls, which only warm up, run inside of this block; it undoes them.
    """

    def __init__(
        self,
        function: Callable[[], Tensor],
        device: torch.device,
        rehearsal: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._function = function
        self._graph: torch.cuda.CUDAGraph | None = None
        if device.type == "cuda":
            with torch.cuda.device(device):
                self._record(rehearsal)

    def _record(self, rehearsal: Callable[[], AbstractContextManager[None]]) -> None:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        random = torch.cuda.get_rng_state()
        _free_workspaces()
        with rehearsal():
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self._function()
            torch.cuda.current_stream().wait_stream(stream)
        _free_workspaces()
        self._graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self._graph, stream=stream):
                self._result = self._function()
        except RuntimeError as error:
            _end_capture_of_random_numbers()
            torch.cuda.set_rng_state(random)
            raise RuntimeError(
                "this step cannot be recorded as a CUDA graph; a run with cuda_graphs 'off' does "
                "without"
            ) from error
        torch.cuda.set_rng_state(random)

    def __call__(self) -> Tensor:
        """Runs the function; the next call overwrites the result."""
        if self._graph is None:
            return self._function()
        self._graph.replay()
        return self._result


def _free_workspaces() -> None:
    """Gives back the memory that cuBLAS keeps for every stream it has ever worked on, 32 MB each.

    It takes such memory again where it is needed: a recording has its own.
    """
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()


def _end_capture_of_random_numbers() -> None:
    """After a recording that failed, PyTorch's generator still believes that it is under way."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    generator.graphsafe_set_state(generator.clone_state())


@contextlib.contextmanager
def rehearse(
    model: nn.Module, optimizer: Optimizer, average: WeightAverage | None = None
) -> Iterator[None]:
    """Puts weights, their average and the optimizer's moments back, in place, at its end."""
    tensors = [*model.parameters(), *model.buffers()]
    if average is not None:
        tensors += average.state_dict().values()
    before = [tensor.detach().clone() for tensor in tensors]
    moments = {
        weight: {name: tensor.clone() for name, tensor in kept.items()}
        for weight, kept in optimizer.state.items()
    }
    yield
    with torch.no_grad():
        for tensor, old in zip(tensors, before, strict=True):
            tensor.copy_(old)
        for weight, kept in optimizer.state.items():
            for name, tensor in kept.items():
                if weight in moments:
                    tensor.copy_(moments[weight][name])
                else:
                    tensor.zero_()  # where Adam starts


class StaticEpochs:
    """Runs epochs of training steps of one shape.

    Args:
        data: The graphs, all on one device, with floating-point targets.
        batch_size: Graphs in a step.
        step: Trains on a batch and returns its mean loss.
        rehearsal: Undoes steps that only warm up; see `Recording`.

    Attributes:
        capacity: Length of batches along each axis; it grows when a batch does not fit, and the
            step is then recorded anew. The rounding of results depends on it, so that a run that
            is resumed must start from the same.
    """

    def __init__(
        self,
        data: GraphStore,
        batch_size: int,
        step: Callable[[GraphStore], Tensor],
        rehearsal: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.capacity: dict[str, int] = {}
        self._data, self._batch_size = data, batch_size
        self._train, self._rehearsal = step, rehearsal
        self._sizes = np.stack([sizes.numpy() for sizes in data.sizes.values()])  # [axes, G]
        self._none = len(data)
        # One more than the graphs of a step: the spare one.
        self._indices = torch.full((batch_size + 1,), self._none, device=data.device)
        self._total = torch.zeros((), dtype=torch.float64, device=data.device)
        self._recording: Recording | None = None

    def run(self, indices: Tensor) -> Tensor:
        """One epoch over the graphs in this order.

        Args:
            indices: [n] on the host.

        Returns:
            The mean loss over the graphs, on the device.
        """
        order = self._batches(indices)
        self._make_room(indices)
        if self._recording is None:
            self._indices.copy_(order[0])
            self._recording = Recording(self._step, self._data.device, self._rehearsal)
        self._total.zero_()
        for chosen in order:
            self._indices.copy_(chosen)
            self._recording()
        return self._total / len(indices)

    def _step(self) -> Tensor:
        batch = assemble(self._data, self._indices, self.capacity)
        assert batch.graph_ptr is not None
        loss = self._train(batch)
        self._total += loss * batch.graph_ptr["graph"][-1]
        return loss

    def _batches(self, indices: Tensor) -> Tensor:
        """Cuts the order into steps, filled up with no graph: [n] to [steps, batch_size + 1]."""
        steps = -(-len(indices) // self._batch_size)
        order = np.full((steps, self._batch_size + 1), self._none)
        filled = np.full(steps * self._batch_size, self._none)
        filled[: len(indices)] = indices.numpy()
        order[:, :-1] = filled.reshape(steps, -1)
        return torch.from_numpy(order).to(self._data.device, non_blocking=True)

    def _make_room(self, indices: Tensor) -> None:
        starts = np.arange(0, len(indices), self._batch_size)
        totals = np.add.reduceat(self._sizes[:, indices.numpy()], starts, axis=1)
        most = dict(zip(self._data.sizes, totals.max(axis=1).tolist(), strict=True))
        if all(length < self.capacity.get(axis, 0) for axis, length in most.items()):
            return
        self.capacity = grow(self.capacity, most)
        self._recording = None


def grow(capacity: Mapping[str, int], most: Mapping[str, int]) -> dict[str, int]:
    """A capacity with more room on the axes where there is none for `most` and a spare item.

    Example:
        >>> grow({"node": 1000, "edge": 1000}, {"node": 999, "edge": 1000})
        {'node': 1000, 'edge': 1152}
    """
    return {
        axis: capacity[axis]
        if length < capacity.get(axis, 0)
        else ROUND * -(-int(SLACK * length + 1) // ROUND)
        for axis, length in most.items()
    }
