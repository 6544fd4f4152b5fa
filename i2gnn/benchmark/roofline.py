"""The least work a batch needs, and the time the hardware takes for it: the roofline.

A model is a list of *stages*. A stage ends where the next one needs all of its results: after a
sum over neighbours, a pool, a batch normalisation. Inside a stage everything can be fused, so a
stage reads each of its inputs once and writes its results once. For a stage of n items that
reads r numbers and writes w numbers per item, with p multiplications of matrix products per item
and a additions of messages in all,

              operations        numbers moved
    forward   2 n p + a         n (r + w)
    training  3 (2 n p + a)     n (3 r + 2 w)

since backward reads the input again and the gradient of the result, writes the gradient of the
input, and multiplies twice: for the gradient of the input and for that of the weights. Numbers are
float32, four bytes. Indices and labels are read in both passes. Rows of neighbours are read once:
an ego-net fits a cache. Elementwise operations are free.

This is what layer-by-layer execution in float32 must at least do, whatever the layout. Kernels that
keep rows in 16 bits move less, and could pass under it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from i2gnn.benchmark.timing import seconds_of
from i2gnn.models import I2GNN
from i2gnn.models.fusing import sees_labels_alone
from i2gnn.subgraphs import Subgraphs

__all__ = ["Ceilings", "Stage", "Work", "batch_sizes", "measure_ceilings", "stages_of", "work_of"]

FLOAT, INDEX, LABEL = 4, 4, 1
"""Bytes of a number, of an index and of a row's discrete labels."""
COPY, SIDE = {"cpu": 2**26, "cuda": 2**28}, {"cpu": 2048, "cuda": 8192}
"""Numbers to copy and side of the matrices to multiply, for the ceilings."""


class Stage(NamedTuple):
    """What happens between two points where all rows meet; see the file's first lines."""

    items: int
    reads: int = 0
    writes: int = 0
    products: int = 0
    additions: int = 0
    index_bytes: int = 0


class Work(NamedTuple):
    """Operations, and bytes read and written."""

    flops: int
    bytes: int


@dataclass(frozen=True)
class Ceilings:
    """What the device does at most, per second: bytes read and written, operations."""

    bytes: float
    flops: float

    def seconds(self, work: Work) -> float:
        """The larger of the times that the work's bytes and operations take."""
        return max(work.bytes / self.bytes, work.flops / self.flops)

    def bound(self, work: Work) -> str:
        """Which of the two it is."""
        return "bytes" if work.bytes / self.bytes > work.flops / self.flops else "flops"


def batch_sizes(batch: Subgraphs) -> dict[str, int]:
    """Lengths of all axes of a batch, and the number of messages of a layer."""
    sizes = {
        "graphs": len(batch),
        "nodes": batch.num_nodes,
        "edges": batch.num_edges,
        "branches": batch.num_branches,
        "pairs": batch.num_pairs,
        "links": batch.num_links,
        "rows": batch.num_rows,
    }
    return sizes | {"messages": int((batch.link_count.long() * batch.row_count).sum())}


def work_of(stages: list[Stage], training: bool) -> Work:
    """Adds up the stages of a forward pass, or of a forward and a backward pass."""
    passes, read, write, indices = (3, 3, 2, 2) if training else (1, 1, 1, 1)
    return Work(
        flops=passes * sum(2 * s.items * s.products + s.additions for s in stages),
        bytes=sum(
            FLOAT * s.items * (read * s.reads + write * s.writes) + indices * s.index_bytes
            for s in stages
        ),
    )


def stages_of(model: I2GNN, sizes: dict[str, int]) -> list[Stage]:
    """The stages of the counting model or of the ZINC model on a batch of these sizes."""
    return list(_counting(model, sizes) if sees_labels_alone(model) else _zinc(model, sizes))


def _counting(model: Any, sizes: dict[str, int]) -> Iterator[Stage]:
    """Gated layers on labels.

    Per layer a sum over neighbours, two products with [D, 3 D] (the message weight folded into
    one of them) and, before the next layer, one with [D, D]. Labels enter as tables. The first
    layer sees labels alone: its products are taken once per type of row, and only its results are
    written. The last one is pooled over the subgraph at once.
    """
    D, layers = model.hidden_channels, len(model.layers)
    rows, branches, nodes = sizes["rows"], sizes["branches"], sizes["nodes"]
    for t in range(layers):
        first, last = t == 0, t == layers - 1
        yield Stage(
            rows,
            reads=0 if first else D,
            writes=0 if last else D,
            products=0 if first else 6 * D * D + (0 if last else D * D),
            additions=0 if first else sizes["messages"] * D,
            index_bytes=INDEX * sizes["links"] + LABEL * rows,
        )
    yield Stage(branches, writes=D)
    yield Stage(branches, reads=D, products=_mlp(model.edge_readout.mlp))
    yield Stage(nodes, writes=D)
    yield Stage(nodes, reads=D, products=_mlp(model.node_readout.mlp) + _mlp(model.head))


def _zinc(model: Any, sizes: dict[str, int]) -> Iterator[Stage]:
    """GINE layers with labels beside the states, batch normalisations and node states.

    Per layer with states of width d, messages of width c = 2 d (labels z beside the states, which
    come from tables and are never read), hidden width m and result D:

        sum over neighbours, product [c, m]        reads d           writes m
        norm, ReLU, product [m, D]                 reads m           writes D
        gates and pools to nodes                   reads D           writes 4 D per node
        mix: products [D, 2 D], [2 D, D] per row   reads D           writes D
             and [4 D, 2 D] per node               reads 4 D, 2 D    writes 2 D per node
        norm, ELU, residual                        reads D (+ d)     writes D
    """
    D, rows, nodes = model.hidden_channels, sizes["rows"], sizes["nodes"]
    label_bytes = rows * (LABEL + FLOAT * 2)  # and two resistances
    for layer in model.layers:
        c, m = layer.conv.in_channels, layer.conv.mlp[0].out_features
        d = c // 2
        yield Stage(
            rows,
            reads=d,
            writes=m,
            products=c * m,
            additions=2 * sizes["messages"] * c,  # the bond, and the sum
            index_bytes=2 * INDEX * sizes["links"] + label_bytes,
        )
        yield Stage(rows, reads=m, writes=D, products=m * D)
        yield from _pools(rows, nodes, D, label_bytes)
        yield Stage(nodes, reads=4 * D, writes=2 * D, products=8 * D * D)
        yield Stage(nodes, reads=2 * D)
        yield Stage(rows, reads=D, writes=D, products=4 * D * D)
        yield Stage(rows, reads=D + (d if d == D else 0), writes=D)
    yield from _pools(rows, nodes, D, label_bytes)
    yield Stage(nodes, reads=4 * D)
    yield Stage(sizes["graphs"], reads=4 * D, products=_mlp(model.head))


def _pools(rows: int, nodes: int, width: int, label_bytes: int) -> Iterator[Stage]:
    yield Stage(rows, reads=width, index_bytes=label_bytes)
    yield Stage(nodes, writes=4 * width)


def _mlp(modules: Any) -> int:
    """Multiplications per item."""
    linear = (m for m in modules if isinstance(m, torch.nn.Linear))
    return sum(m.in_features * m.out_features for m in linear)


def measure_ceilings(device: torch.device) -> Ceilings:
    """Times a large copy and a large product, in the precision that is set; the best of some."""
    source = torch.zeros(COPY[device.type], device=device)
    copy = torch.empty_like(source)
    side = SIDE[device.type]
    square = torch.randn(side, side, device=device)
    product = torch.empty_like(square)

    def best(work: Callable[[], object]) -> float:
        work()
        return min(seconds_of(work, device, calls=3) for _ in range(5))

    return Ceilings(
        bytes=2 * source.nbytes / best(lambda: copy.copy_(source)),
        flops=2 * side**3 / best(lambda: torch.mm(square, square, out=product)),
    )
