"""Models under test: ours by name, anybody's by a factory, behind one way to build and run them.

A factory is a function or class that returns a `torch.nn.Module`. The module is either one of ours
(`i2gnn.models.Network`) or takes PyG's batches:

    forward(batch: torch_geometric.data.Batch) -> Tensor   # [G, D], or [N, D] with level="node"

Such a batch has `x` [N, F], `edge_index`, `batch`, `num_graphs` and, if the graphs have features of
edges, `edge_attr`, all in the precision of the test. Nodes without features get x = 1, [N, 1];
types of nodes are given as they are, one number each. If the module has a `pre_transform`, as PyG's
data sets do, it is applied to every graph once, before graphs are collated.
"""

import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from i2gnn.errors import InputError
from i2gnn.graphs.store import GraphStore
from i2gnn.models import REGISTRY, Network
from i2gnn.numerics import seeded
from i2gnn.refinement.rounds import NodeOrGraph

__all__ = ["Factory", "Subject", "default_dtype", "embed", "load_subject", "outputs", "to_pyg"]

Factory = Callable[..., nn.Module]


@dataclass(frozen=True)
class Subject:
    """A model under test, of which any number can be built.

    Attributes:
        name: What to call it.
        factory: Makes a new module with random weights.
        options: Arguments of the factory.

    Example:
        >>> from i2gnn.expressiveness.pairs import two_cycles
        >>> subject = load_subject("i2gnn", {"hops": 2, "hidden_channels": 8})
        >>> model = subject.build(seed=0, graphs=two_cycles(3), out_channels=4)
        >>> embed(model, subject.prepare(model, two_cycles(3))).shape
        torch.Size([2, 4])
    """

    name: str
    factory: Factory
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.options) - set(self._arguments))
        if unknown and not self._takes_any:
            raise InputError(
                f"{self.name} has no option {', '.join(unknown)}; "
                f"expected one of {', '.join(self._arguments) or 'none'}"
            )

    def build(
        self,
        seed: int,
        graphs: GraphStore,
        *,
        level: NodeOrGraph = "graph",
        out_channels: int = 16,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> nn.Module:
        """A new model in evaluation mode; the random state of PyTorch stays as it is.

        The factory gets those of `level`, `out_channels` and the sizes that follow from the graphs
        that it has arguments for, unless the options say otherwise: `in_channels` is the number of
        columns of `x`, `edge_channels` that of `edge_attr`. A factory that takes `node_types` (or
        `edge_types`) gets the number of types of every column of whole numbers instead, as our
        models do, and columns of other numbers only are channels.
        """
        wanted = {"level": level, "out_channels": out_channels} | self._sizes(graphs)
        given = {name: value for name, value in wanted.items() if name in self._arguments}
        given |= self.options
        with seeded(seed):
            try:
                model = self.factory(**given)
            except (TypeError, ValueError) as error:
                raise InputError(f"{self.name} cannot be built with {given}: {error}") from error
        if not isinstance(model, nn.Module):
            raise InputError(
                f"{self.name} returned {type(model).__name__}; expected a torch.nn.Module"
            )
        if isinstance(model, Network) and model.level != level:
            raise InputError(f"{self.name} predicts at level {model.level!r}; expected {level!r}")
        return model.to(device=device, dtype=dtype).eval()

    def prepare(
        self, model: nn.Module, graphs: GraphStore, *, block: int = 64
    ) -> Sequence[GraphStore | Batch]:
        """Graphs as the batches that the model takes, in its precision and on its device.

        They hold for every model that this subject builds with the same options.

        Args:
            model: From `build`.
            graphs: Of any number.
            block: Graphs in a batch.
        """
        weight = _first_weight(model)
        parts = [range(s, min(s + block, len(graphs))) for s in range(0, len(graphs), block)]
        if isinstance(model, Network):
            extracted = (model.extract(graphs.batch(part)) for part in parts)
            return [store.to(weight.device, weight.dtype) for store in extracted]
        transform = getattr(model, "pre_transform", None) or (lambda data: data)
        batches = []
        for part in parts:
            listed = [transform(data) for data in to_pyg(graphs.batch(part), weight.dtype)]
            batches.append(Batch.from_data_list(listed).to(weight.device))
        return batches

    @property
    def _arguments(self) -> list[str]:
        """Names of the arguments that the factory takes."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [name for name, p in self._signature.parameters.items() if p.kind in named]

    @property
    def _takes_any(self) -> bool:
        kinds = [parameter.kind for parameter in self._signature.parameters.values()]
        return inspect.Parameter.VAR_KEYWORD in kinds

    @property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.factory)

    def _sizes(self, graphs: GraphStore) -> dict[str, Any]:
        """What follows from the features of the graphs."""
        sizes: dict[str, Any] = {}
        for axis, features in (("node", graphs.x), ("edge", graphs.edge_attr)):
            channels = "in_channels" if axis == "node" else "edge_channels"
            width = 0 if features is None else features.shape[1]
            typed = f"{axis}_types" in self._arguments
            if features is not None and typed and not features.is_floating_point():
                sizes[f"{axis}_types"] = tuple((features.amax(0) + 1).tolist())
                width = 0
            # A PyG model of graphs without features gets ones.
            sizes[channels] = width if typed or axis == "edge" else max(width, 1)
        return sizes


def load_subject(model: str | Factory, options: Mapping[str, Any] | None = None) -> Subject:
    """The model under test that a name, an import path or a factory stands for.

    Args:
        model: A name of the registry ("i2gnn", see `i2gnn models`), with the arguments of its
            preset; or "my.module:factory" or "file.py:factory", looked for in the current folder
            too; or a factory itself.
        options: Further arguments of the factory.

    Raises:
        InputError: There is no such model, or it does not take an option.
    """
    options = {} if options is None else options
    if isinstance(model, nn.Module):
        raise InputError(
            f"got a {type(model).__name__} that is built already; expected a factory (its class, "
            "or a function that returns it), as each test draws new weights"
        )
    if not isinstance(model, str):
        return Subject(getattr(model, "__name__", type(model).__name__), model, options)
    if model in REGISTRY:
        entry = REGISTRY[model]
        return Subject(model, entry.model, {**entry.preset, **options})
    source, _, name = model.rpartition(":")
    if not source or not name:
        raise InputError(
            f"no model {model!r}; expected one of {', '.join(REGISTRY)}, "
            "or my.module:factory, or file.py:factory"
        )
    factory = getattr(_import(source), name, None)
    if not callable(factory):
        raise InputError(f"{source} has no function or class {name!r}")
    return Subject(name, factory, options)


def outputs(model: nn.Module, batch: GraphStore | Batch, level: NodeOrGraph = "graph") -> Tensor:
    """What a model says of one batch from `Subject.prepare`, with gradients where they are on.

    Raises:
        InputError: It is not one row of numbers per graph, or per node.

    Shapes:
        returns: [G, D], or [N, D] with level="node".
    """
    with default_dtype(_first_weight(model).dtype):
        result = model(batch)
    rows = batch.num_graphs if level == "graph" else batch.num_nodes
    if not isinstance(result, Tensor):
        found = type(result).__name__
    elif result.dim() == 2 and len(result) == rows and result.is_floating_point():
        return result
    else:
        found = f"{result.dtype} of shape {list(result.shape)}"
    raise InputError(
        f"{type(model).__name__} returned {found} for a batch of {batch.num_graphs} graphs and "
        f"{batch.num_nodes} nodes; expected numbers of shape [{rows}, D], a row per {level}"
    )


def embed(
    model: nn.Module, batches: Sequence[GraphStore | Batch], level: NodeOrGraph = "graph"
) -> Tensor:
    """`outputs` over all batches, without gradients.

    Shapes:
        returns: [G, D], or [N, D] with level="node".
    """
    with torch.no_grad():
        return torch.cat([outputs(model, batch, level) for batch in batches])


def to_pyg(graphs: GraphStore, dtype: torch.dtype = torch.float32) -> list[Data]:
    """The graphs as PyG's `Data`; nodes without features get x = 1.

    Example:
        >>> from i2gnn.expressiveness.pairs import two_cycles
        >>> to_pyg(two_cycles(3))
        [Data(x=[6, 1], edge_index=[2, 12]), Data(x=[6, 1], edge_index=[2, 12])]
    """
    x = torch.ones(graphs.num_nodes, 1) if graphs.x is None else graphs.x
    nodes, edges = graphs.offsets["node"].tolist(), graphs.offsets["edge"].tolist()
    found = []
    for g in range(len(graphs)):
        of_graph = slice(edges[g], edges[g + 1])
        data = Data(
            x=x[nodes[g] : nodes[g + 1]].to(dtype),
            edge_index=graphs.edge_index[:, of_graph] - nodes[g],
        )
        if graphs.edge_attr is not None:
            data.edge_attr = graphs.edge_attr[of_graph].to(dtype)
        found.append(data)
    return found


def _first_weight(model: nn.Module) -> Tensor:
    """Whose precision and device are those of the model."""
    return next(model.parameters(), torch.empty(0, dtype=torch.float64))


def _import(source: str) -> ModuleType:
    """A module by its name or file; the current folder is searched first."""
    path = Path(source)
    try:
        if source.endswith(".py"):
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None or spec.loader is None or not path.is_file():
                raise InputError(f"{source} is not a file")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        with _current_folder():
            return importlib.import_module(source)
    except ImportError as error:
        raise InputError(f"{source} cannot be imported ({error})") from error


@contextlib.contextmanager
def _current_folder() -> Iterator[None]:
    """Imports look into the current folder first, as `python -m` does."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Tensors that a model makes without naming a type have that of its weights."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
