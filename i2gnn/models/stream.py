"""Models on graphs whose subgraphs do not fit into memory all at once."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from i2gnn.errors import InputError
from i2gnn.graphs.store import GraphStore
from i2gnn.memory import available_memory, parse_size
from i2gnn.models.cost import working_set
from i2gnn.models.network import IdentifierGNN
from i2gnn.nn import MixNodeStates, VirtualNode
from i2gnn.ops.autograd import once_differentiable
from i2gnn.progress import Advance, progress_bar
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.neighborhood import no_places
from i2gnn.subgraphs.stream import Part, extract_part, plan_parts

__all__ = ["StreamedModel", "check_streamable", "joins_roots"]


class StreamedModel(nn.Module):
    """A model that takes graphs and goes through their subgraphs in parts, under a memory budget.

        streamed(graphs) == model(model.extract(graphs))

    up to rounding, in outputs and in gradients. A part is extracted, run, read, and dropped; the
    backward pass does so again, with gradients. Memory is that of one part, which `working_set`
    estimates and the budget bounds, beside the graphs, the weights, the outputs, and some MB per
    thread that compiled kernels work in. A root whose branches do not fit together is taken in
    pieces.

    Refused are models in which a root's result depends on other roots: batch normalisation in
    training, context readouts, pooled node states in the layers, virtual nodes; and those with
    other than one or two identifiers.

    Args:
        model: I2GNN or another with one or two identifiers. Training and evaluation mode are
            this model's.
        memory_budget: Such as "500MB" or "2GB"; by default half of the free memory.
        progress: Shows a progress bar over the roots.

    Shapes:
        graphs: `GraphStore`, on any device.
        branches: Mask of the edges that are branches, [E], or None for all; see
            `i2gnn.subgraphs.sample`.
        returns: [N | E | G, out_channels], on the model's device.

    Example:
        >>> from i2gnn.models import I2GNN
        >>> square = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3), (3, 0)]], symmetrize=True)
        >>> streamed = StreamedModel(I2GNN(hops=2, num_layers=3, hidden_channels=16), "1MB")
        >>> streamed(square).shape
        torch.Size([4, 1])
    """

    def __init__(
        self,
        model: nn.Module,
        memory_budget: str | int | None = None,
        *,
        progress: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.memory_budget = None if memory_budget is None else parse_size(memory_budget)
        self.progress = progress

    def forward(self, graphs: GraphStore, branches: Tensor | None = None) -> Tensor:
        """Predictions at the model's level."""
        model = check_streamable(self.model)
        if isinstance(graphs, Subgraphs):
            raise TypeError("a streamed model extracts by itself: expected graphs, got Subgraphs")
        graphs = GraphStore.from_any(graphs)
        host, device = graphs.to("cpu"), next(model.parameters()).device
        branches = None if branches is None else branches.cpu()
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        keep = torch.is_grad_enabled() and bool(weights)
        parts = self._plan(model, host, keep, branches)
        with progress_bar("roots", host.num_nodes, self.progress) as advance:
            passes = _Passes(model, host, branches, parts, advance)
            if keep:
                results: Tensor = _Streamed.apply(passes, *weights)  # type: ignore[no-untyped-call]
            else:
                results = passes.forward()
        return results if passes.reads_by_root else model.outputs(results, graphs.to(device))

    def check(self, graphs: GraphStore) -> None:
        """Raises what training on these graphs would raise: a model or a budget that will not do.

        Nothing is extracted.
        """
        self._plan(check_streamable(self.model), graphs.to("cpu"), training=True)

    def _plan(
        self,
        model: IdentifierGNN,
        graphs: GraphStore,
        training: bool,
        branches: Tensor | None = None,
    ) -> list[Part]:
        """The parts to go through one after the other."""
        return plan_parts(
            graphs,
            working_set(model, training=training),
            self.memory_budget or available_memory(next(model.parameters()).device) // 2,
            hops=model.hops,
            identifiers=model.identifiers,
            labels=model.labels,
            branches=branches,
        )


class _Passes:
    """The forward and the backward pass over all parts.

    Parts whose results add up, the pieces of one root, form a group.
    """

    def __init__(
        self,
        model: IdentifierGNN,
        graphs: GraphStore,
        branches: Tensor | None,
        parts: Sequence[Part],
        advance: Advance,
    ) -> None:
        self.model, self.graphs, self.advance = model, graphs, advance
        self.branches = branches
        self.places = no_places(graphs)
        self.device = next(model.parameters()).device
        self.by_edge = model.level == "edge" and model.identifiers == 2
        self.reads_by_root = model.level == "node" or self.by_edge
        self.groups: list[list[Part]] = []
        for part in parts or [Part(0, 0)]:
            if part.first > 0 and not self.by_edge:
                self.groups[-1].append(part)
            else:
                self.groups.append([part])
        self.sums: dict[int, Tensor] = {}
        self.seed = int(torch.randint(2**62, ())) if model.training else None
        self.mixed = torch.is_autocast_enabled(self.device.type)
        self.mixed_dtype = torch.get_autocast_dtype(self.device.type)

    def forward(self) -> Tensor:
        """Results of all roots: outputs if they can be read root by root, else node states."""
        results = []
        for number, group in enumerate(self.groups):
            if len(group) == 1:
                with self._setting(number):
                    results.append(self._read(self._pooled(group[0])))
            else:
                self.sums[number] = self._pooled_in_pieces(number, group)
                with self._setting(number):
                    results.append(self._read(self.sums[number]))
            self.advance(group[0].stop - group[0].start)
        return torch.cat(results)

    def backward(self, grad: Tensor, weights: Sequence[Tensor]) -> list[Tensor | None]:
        """Gradients by the weights, one part after the other."""
        total: list[Tensor | None] = [None] * len(weights)

        def add(result: Tensor, grad: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
            found = torch.autograd.grad(result, (*weights, *inputs), grad, allow_unused=True)
            for n, gradient in enumerate(found[: len(weights)]):
                if gradient is not None:
                    so_far = total[n]
                    total[n] = gradient if so_far is None else so_far.add_(gradient)
            return found[len(weights) :]

        grads = torch.split(grad, [self._count(group) for group in self.groups])
        for number, (group, above) in enumerate(zip(self.groups, grads, strict=True)):
            if len(group) == 1:
                with self._setting(number), torch.enable_grad():
                    add(self._read(self._pooled(group[0])), above)
                continue
            pooled = self.sums[number].detach().requires_grad_()
            with self._setting(number), torch.enable_grad():
                (above,) = add(self._read(pooled), above, pooled)
            for place, part in enumerate(group, start=1):
                with self._setting(number, place), torch.enable_grad():
                    add(self._pooled(part), above)
        return total

    def _pooled_in_pieces(self, number: int, group: Sequence[Part]) -> Tensor:
        total: Tensor | None = None
        for place, part in enumerate(group, start=1):
            with self._setting(number, place):
                pooled = self._pooled(part)
            total = pooled if total is None else total + pooled
        assert total is not None
        return total

    def _pooled(self, part: Part) -> Tensor:
        """What the model pools of the roots (or edges) of a part; pieces of a root add up."""
        model = self.model
        subgraphs = extract_part(
            self.graphs,
            part,
            hops=model.hops,
            identifiers=model.identifiers,
            labels=model.labels,
            branches=self.branches,
            places=self.places,
        ).to(self.device)
        pooled = model.pooled(subgraphs)
        if self.by_edge:
            return pooled
        pooled = pooled[subgraphs.roots]
        if part.last is not None and model.node_readout.reduce == "mean":
            pooled = pooled * ((part.last - part.first) / self._branches_of(part.start))
        return pooled

    def _branches_of(self, root: int) -> int:
        if self.branches is None:
            return int(self.graphs.degree[root])
        low, high = self.graphs.edge_ptr[root : root + 2].tolist()
        return int(self.branches[low:high].sum())

    def _read(self, pooled: Tensor) -> Tensor:
        states = self.model.states(pooled)
        return self.model.outputs(states, self.graphs) if self.reads_by_root else states

    def _count(self, group: Sequence[Part]) -> int:
        """Number of results of a group."""
        start, stop, first, last = group[0]
        if not self.by_edge:
            return stop - start
        return int(self.graphs.degree[start:stop].sum()) if last is None else last - first

    @contextlib.contextmanager
    def _setting(self, *step: int) -> Iterator[None]:
        """Same random numbers, for dropout, and same precision in both passes of a step."""
        mixed = torch.autocast(self.device.type, self.mixed_dtype, self.mixed)
        if self.seed is None:
            with mixed:
                yield
            return
        seed = int(np.random.SeedSequence([self.seed, *step]).generate_state(1, np.uint64)[0])
        devices = [self.device] if self.device.type == "cuda" else []
        with mixed, torch.random.fork_rng(devices):
            torch.default_generator.manual_seed(seed)
            if devices:
                with torch.cuda.device(self.device):
                    torch.cuda.manual_seed(seed)
            yield


class _Streamed(torch.autograd.Function):
    """All parts as one operation on the weights."""

    @staticmethod
    def forward(ctx: Any, passes: _Passes, *weights: Tensor) -> Tensor:
        """Results of all roots."""
        ctx.save_for_backward(*weights)
        ctx.passes = passes
        return passes.forward()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The parts once more, with gradients."""
        return None, *ctx.passes.backward(grad, ctx.saved_tensors)


def check_streamable(model: nn.Module) -> IdentifierGNN:
    """Returns the model, or raises if a root's result depends on other roots.

    Batch normalisation counts only in the mode the model is in, if that is training.
    """
    if not isinstance(model, IdentifierGNN):
        raise InputError(
            f"{type(model).__name__} has no subgraphs to stream; expected I2GNN or SubgraphMPNN"
        )
    if model.identifiers not in (1, 2):
        problem: str | None = (
            f"has {model.identifiers} identifiers where streaming supports 1 and 2"
        )
    elif model.hops == 0:
        problem = "takes whole graphs where streaming cuts out ego-nets"
    else:
        problem = joins_roots(model)
    if problem is not None:
        raise InputError(
            f"{type(model).__name__} {problem}, so its roots cannot be streamed; "
            "run it without a memory budget, on fewer graphs at a time"
        )
    return model


def joins_roots(model: IdentifierGNN) -> str | None:
    """How a root's result comes to depend on other roots, in words; None if it does not."""
    if "context" in model.parts:
        return "reads the context of nodes from the subgraphs of other roots"
    for name, module in model.named_modules():
        if isinstance(module, MixNodeStates | VirtualNode) or getattr(module, "joins_roots", False):
            return f"joins the subgraphs of different roots in {name}"
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (
            module.training or not module.track_running_stats
        ):
            return f"normalises over the rows of all roots in {name} while training"
    return None
