"""Many graphs in flat tensors: columns, the axes they lie along, and ragged selection.

A store keeps one tensor per *column*. A column lies along an *axis* (node, edge, ...), of which
every graph owns a contiguous range, and it may hold indices *into* an axis. That is all
`batch`, `to`, `save` and `load` need to know, so a subclass only declares its columns.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.files import load_tensors, save_tensors

__all__ = ["FlatStore", "column", "index_dtype", "offsets", "owners", "ragged_arange"]


def column(along: str, into: str | None = None, optional: bool = False) -> Any:
    """Declares a tensor field of a store.

    Args:
        along: Axis of its first dimension; "level" means the axis that the field `level` names.
        into: Axis that its values index, if they are indices.
        optional: Whether the field may be None, which is then its default.
    """
    metadata = {"along": along, "into": into}
    if optional:
        return dataclasses.field(default=None, metadata=metadata)
    return dataclasses.field(metadata=metadata)


def offsets(sizes: Tensor, dtype: torch.dtype = torch.int64) -> Tensor:
    """Exclusive prefix sums: [n] sizes to [n + 1] offsets.

    Example:
        >>> offsets(torch.tensor([2, 0, 3]))
        tensor([0, 2, 2, 5])
    """
    ptr = sizes.new_zeros(len(sizes) + 1, dtype=dtype)
    torch.cumsum(sizes, 0, dtype=dtype, out=ptr[1:])
    return ptr


def owners(ptr: Tensor, total: int) -> Tensor:
    """The segment of each item: s for ptr[s] <= item < ptr[s + 1], in the type of `ptr`.

    Items past the end of the last segment are given to it. Nothing waits for the device.

    Args:
        ptr: Where the segments start and the last one ends, [n + 1].
        total: Number of items.

    Example:
        >>> owners(torch.tensor([0, 2, 2, 5]), total=6)
        tensor([0, 0, 2, 2, 2, 2])
    """
    if ptr.is_cuda:
        return owners_by_search(ptr, total)
    sizes = ptr.diff()
    sizes[-1:] += total - ptr[-1]
    return torch.repeat_interleave(sizes, output_size=total)


def owners_by_search(ptr: Tensor, total: int) -> Tensor:
    """`owners` without a sum over the segments: how many of them, but for the last, have ended."""
    items = torch.arange(total, dtype=ptr.dtype, device=ptr.device)
    short = ptr.dtype == torch.int32
    return torch.searchsorted(ptr[1:-1], items, right=True, out_int32=short)


def ragged_arange(starts: Tensor, sizes: Tensor, total: int) -> Tensor:
    """Concatenates arange(start, start + size) over all segments; `total` is the sum of sizes.

    Example:
        >>> ragged_arange(torch.tensor([7, 0]), torch.tensor([2, 3]), total=5)
        tensor([7, 8, 0, 1, 2])
    """
    shift = starts - offsets(sizes)[:-1]
    positions = torch.arange(total, device=starts.device)
    return positions + torch.repeat_interleave(shift, sizes, output_size=total)


def index_dtype(length: int) -> torch.dtype:
    """The index type of an axis: int32 where it fits."""
    return torch.int32 if length < 2**31 else torch.int64


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FlatStore:
    """Base of `GraphStore` and `Subgraphs`: G graphs, each owning a range of every axis.

    Attributes:
        sizes: For each axis the range length of every graph, [G] int64, always on the host: batch
            shapes are then known without waiting for the device.
        graph_ptr: Of a batch of fixed shape (`i2gnn.graphs.assemble`), for each axis where the
            range of every graph starts, [G + 1] on the device. Only the sums of its `sizes` are
            true, and what lies behind the last range is spare. None for other stores.
    """

    FORMAT_VERSION: ClassVar[int] = 1
    AXES: ClassVar[tuple[str, ...]]

    sizes: Mapping[str, Tensor]
    level: str | None = None
    graph_ptr: Mapping[str, Tensor] | None = None

    @property
    def num_graphs(self) -> int:
        """Number of graphs G."""
        return len(next(iter(self.sizes.values())))

    def __len__(self) -> int:
        return self.num_graphs

    def __getitem__(self, index: int | slice) -> Self:
        """One graph, or a range of them, as a store."""
        places = range(len(self))[index]
        return self.batch([places] if isinstance(places, int) else places)

    @cached_property
    def offsets(self) -> Mapping[str, Tensor]:
        """For each axis, where each graph's range starts, [G + 1] on the host."""
        return {axis: offsets(sizes) for axis, sizes in self.sizes.items()}

    def length(self, axis: str) -> int:
        """Number of items along an axis, over all graphs."""
        return self.num_graphs if axis == "graph" else int(self.offsets[axis][-1])

    def items_of(self, axis: str, graphs: Tensor) -> Tensor:
        """What `batch(graphs)` takes along an axis, in its order, [n] on the host."""
        if axis == "graph":
            return graphs
        sizes = self.sizes[axis][graphs]
        return ragged_arange(self.offsets[axis][graphs], sizes, int(sizes.sum()))

    def ptr(self, axis: str) -> Tensor:
        """Where each graph's range starts along an axis, [G + 1] on the device of the columns."""
        if self.graph_ptr is not None:
            return self.graph_ptr[axis]
        return self.offsets[axis].to(self.device, non_blocking=True)

    @cached_property
    def columns(self) -> dict[str, Tensor]:
        """The columns that are present, by name."""
        names = (f.name for f in dataclasses.fields(self) if "along" in f.metadata)
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def settings(self) -> dict[str, Any]:
        """The fields that are neither columns nor about sizes; they can be written as JSON."""
        names = (f.name for f in dataclasses.fields(self) if "along" not in f.metadata)
        return {name: getattr(self, name) for name in names if name not in ("sizes", "graph_ptr")}

    @classmethod
    def from_parts(
        cls, sizes: Mapping[str, Tensor], columns: Mapping[str, Tensor], settings: dict[str, Any]
    ) -> Self:
        """Puts a store together from its parts; JSON's lists become tuples again."""
        plain = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
        fields: dict[str, Any] = {**columns, **plain}
        return cls(sizes=sizes, **fields)

    def axis_of(self, name: str) -> str:
        """The axis a column lies along."""
        along: str = self.__dataclass_fields__[name].metadata["along"]
        if along != "level":
            return along
        assert self.level is not None, "a store with targets has a level"
        return self.level

    def is_target(self, name: str) -> bool:
        """Whether a column holds targets, which NaN marks as missing."""
        return bool(self.__dataclass_fields__[name].metadata["along"] == "level")

    def index_of(self, name: str) -> str | None:
        """The axis a column's values index, or None if they are not indices."""
        into: str | None = self.__dataclass_fields__[name].metadata["into"]
        return into

    @property
    def device(self) -> torch.device:
        """Where the columns are."""
        return next(iter(self.columns.values())).device

    @property
    def nbytes(self) -> int:
        """Memory of the columns in bytes."""
        return sum(tensor.nbytes for tensor in self.columns.values())

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """Moves the columns to a device; `dtype` changes the floating-point ones."""
        moved: dict[str, Any] = {
            name: tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
            for name, tensor in self.columns.items()
        }
        if self.graph_ptr is not None:
            moved["graph_ptr"] = {axis: ptr.to(device) for axis, ptr in self.graph_ptr.items()}
        return dataclasses.replace(self, **moved)

    def batch(self, indices: Tensor | Iterable[int]) -> Self:
        """Selects graphs, by indices in the given order or by a mask, as a store of their own.

        Repeated indices are legal; there is no Python per graph.
        """
        from i2gnn.graphs.assemble import select  # which builds on this file

        return select(self, self.graph_indices(indices))

    @cached_property
    def ranges(self) -> tuple[Tensor, Tensor]:
        """Sizes and starts of the ranges of all graphs along all axes, on the device.

        Shapes:
            returns: [A + 1, G + 1] each. The last axis is that of the graphs themselves; the last
                graph is an empty one, behind all others, that stands for none.
        """
        self._check_sizes()
        sizes = torch.stack([*self.sizes.values(), torch.ones(len(self), dtype=torch.int64)])
        sizes = torch.nn.functional.pad(sizes, (0, 1))
        starts = sizes.cumsum(1) - sizes
        return sizes.to(self.device), starts.to(self.device)

    def _check_sizes(self) -> None:
        if self.graph_ptr is not None:
            raise ValueError(
                "a batch of fixed shape, whose sizes are on the device, is no data set"
            )

    def graph_indices(self, indices: Tensor | Iterable[int]) -> Tensor:
        """Numbers of graphs, given as such or as a mask over all of them, on the CPU."""
        if not isinstance(indices, Tensor):
            listed = np.asarray(indices if isinstance(indices, np.ndarray) else list(indices))
            indices = torch.as_tensor(listed if len(listed) else listed.astype(np.int64))
        if indices.dtype == torch.bool:
            if indices.shape != (len(self),):
                raise IndexError(f"mask of shape {list(indices.shape)}; expected [{len(self)}]")
            indices = indices.nonzero()
        if indices.is_floating_point():
            raise TypeError(f"graph indices must be integers or a mask, got {indices.dtype}")
        chosen = indices.to(device="cpu", dtype=torch.int64).flatten()
        if len(chosen) and (int(chosen.min()) < 0 or int(chosen.max()) >= len(self)):
            raise IndexError(
                f"graph indices must lie in 0..{len(self) - 1}, "
                f"got {int(chosen.min())}..{int(chosen.max())}"
            )
        return chosen

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the store to one safetensors file; settings are JSON in its header."""
        self._check_sizes()
        tensors = self.columns | {f"sizes.{axis}": s for axis, s in self.sizes.items()}
        save_tensors(path, type(self).__name__, self.FORMAT_VERSION, tensors, self.settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads what `save` wrote; nothing in the file is ever executed."""
        tensors, settings = load_tensors(path, cls.__name__, cls.FORMAT_VERSION)
        columns = {name: t for name, t in tensors.items() if not name.startswith("sizes.")}
        try:
            sizes = {axis: tensors[f"sizes.{axis}"] for axis in cls.AXES}
            store = cls.from_parts(sizes, columns, settings)
            lengths = {name: store.length(store.axis_of(name)) for name in store.columns}
        except (TypeError, KeyError, AssertionError) as error:
            raise InputError(f"{path}: not a complete {cls.__name__} ({error})") from error
        if len({len(per_graph) for per_graph in sizes.values()}) > 1:
            raise InputError(f"{path}: its axes have different numbers of graphs")
        for name, length in lengths.items():
            column, into = columns[name], store.index_of(name)
            if len(column) != length:
                raise InputError(f"{path}: {name} has {len(column)} rows, expected {length}")
            if into is not None and len(column):
                low, high = int(column.min()), int(column.max())
                if low < 0 or high >= store.length(into):
                    raise InputError(f"{path}: {name} points to {into} {low}..{high}, out of range")
        return store
