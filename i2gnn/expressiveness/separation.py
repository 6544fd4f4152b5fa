"""Which pairs a model with random weights tells apart, in float64 and above measured noise.

    gap    = largest difference between the outputs for both graphs of a pair
    noise  = largest difference between the outputs for a graph and for the same graph with its
             nodes in another order, of both graphs; at least the rounding of one operation
    ratio  = gap / noise, the largest over all draws of weights

A ratio above 10^4 is a separation, one below 30 a tie, and what lies between is neither and is
reported as unclear. A separation by one draw is a separation; a tie must be one in all of them, and
is a statement about these draws: only an exact test proves that weights cannot separate a pair.

Differences may also fade from layer to layer, below what numbers resolve. So weights are drawn at
several scales (`GAINS`), and for our own models there are settings under which little fades
(`STRONG`): no gates, which saturate; means instead of sums of sums, in which small differences
drown.
"""

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from i2gnn.expressiveness.datasets import PairSet
from i2gnn.expressiveness.pairs import join
from i2gnn.expressiveness.relabel import relabel
from i2gnn.expressiveness.subjects import Subject, default_dtype, embed
from i2gnn.expressiveness.verdicts import Verdict, Verdicts
from i2gnn.graphs.store import GraphStore
from i2gnn.models import REGISTRY
from i2gnn.parallel import run_chunks
from i2gnn.refinement.rounds import NodeOrGraph

__all__ = [
    "GAINS",
    "SEPARATED",
    "STRONG",
    "TIED",
    "judge",
    "measure_gaps",
    "scale_weights",
    "separate",
    "strong_options",
]

TIED, SEPARATED = 30.0, 1e4
"""Ratios below the first are ties, above the second separations."""

ROUNDING = 1e-15
"""The least noise, relative to the output."""

GAINS = (1.0, 2.0, 3.0)
"""What weight matrices are multiplied with, draw by draw."""

STRONG: Mapping[str, Any] = MappingProxyType(
    {
        "hidden_channels": 32,
        "num_layers": 5,
        "hops": 3,
        "conv": "gin",
        "norm": "none",
        "pool": "mean",
    }
)
"""Arguments of our models, of those that have them, under which little is lost."""

STRONG_OF: Mapping[str, Mapping[str, Any]] = MappingProxyType({"ppgn": {"num_layers": 3}})
"""Arguments of single models that differ from `STRONG`: in products of products small differences
are lost the sooner."""


def strong_options(name: str) -> dict[str, Any]:
    """The arguments with which a model of the registry is tested: `STRONG` and `STRONG_OF`."""
    taken = {key: value for key, value in STRONG.items() if key in REGISTRY[name].arguments}
    return taken | dict(STRONG_OF.get(name, {}))


def separate(
    subject: Subject,
    pairs: PairSet,
    *,
    gains: Sequence[float] = GAINS,
    seed: int = 0,
    edges: int = 2000,
    progress: bool = False,
) -> Verdicts:
    """Which pairs a model with random weights tells apart.

    Args:
        subject: The model; with the options that it is tested with.
        pairs: The pairs.
        gains: One draw of weights each, multiplied with this number.
        seed: Of the first draw.
        edges: Graphs are run together up to about so many directed edges.
        progress: Shows a progress bar on standard error.

    Example:
        >>> from i2gnn.expressiveness import load_pairs, load_subject
        >>> subject = load_subject("mpnn", strong_options("mpnn"))
        >>> separate(subject, load_pairs("paper")).count("tied")
        11
    """
    begun = time.perf_counter()
    ratio = measure_gaps(
        subject,
        pairs.graphs,
        pairs.first,
        pairs.second,
        gains=gains,
        seed=seed,
        edges=edges,
        description=f"{subject.name} on {pairs.name}" if progress else "",
    ).tolist()
    return Verdicts(pairs, [judge(r) for r in ratio], ratio, time.perf_counter() - begun)


def judge(ratio: float) -> Verdict:
    """What a gap that is so many times the noise means; without finite numbers nothing is clear."""
    if ratio > SEPARATED:
        return "separated"
    return "tied" if ratio < TIED else "unclear"


def measure_gaps(
    subject: Subject,
    graphs: GraphStore,
    first: Tensor,
    second: Tensor,
    *,
    level: NodeOrGraph = "graph",
    gains: Sequence[float] = GAINS,
    seed: int = 0,
    edges: int = 2000,
    description: str = "",
) -> Tensor:
    """How many times the noise the gaps between graphs, or between nodes, are.

    Graphs are made into batches once, and every draw of weights runs on these.

    Args:
        subject: The model.
        graphs: All graphs.
        first: One graph (or node) of each pair, [P].
        second: The other one, [P].
        level: Whether pairs are of graphs or of nodes.
        gains: One draw of weights each.
        seed: Of the first draw.
        edges: Graphs are run together up to about so many directed edges.
        description: Shows a progress bar under this title; empty for none.

    Shapes:
        returns: [P], the largest of all draws; NaN where no draw gave finite numbers.
    """
    models = [
        scale_weights(subject.build(seed + d, graphs, level=level), gain)
        for d, gain in enumerate(gains)
    ]
    blocks = _blocks(graphs, edges)
    found = [[torch.empty(0)] * len(blocks) for _ in models]

    def run(start: int, stop: int) -> None:
        for b in range(start, stop):
            some = graphs.batch(blocks[b])
            copies, old_of_new = relabel(some, seed)
            batches = subject.prepare(models[0], join(some, copies), block=2 * len(some))
            for outputs, model in zip(found, models, strict=True):
                y, again = embed(model, batches, level).chunk(2)
                if level == "node":
                    again = torch.empty_like(y).index_copy(0, old_of_new, again)
                outputs[b] = torch.stack([y, again])

    with default_dtype(torch.float64):  # once for all threads
        run_chunks(run, len(blocks), (), chunks=len(blocks), description=description)
    ratios = [_ratio(torch.cat(outputs, dim=1), first, second) for outputs in found]
    finite = torch.stack(ratios).nan_to_num(nan=-1.0).amax(0)
    return torch.where(finite < 0, torch.nan, finite)


def _ratio(outputs: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Gaps over noise: outputs for all graphs and for their copies, [2, G, D], to [P]."""
    y, again = outputs
    changed, scale = (y - again).abs().amax(1), y.abs().amax(1)
    noise = torch.maximum(changed, ROUNDING * scale).clamp(min=1e-300)
    gap = (y[first] - y[second]).abs().amax(1)
    ratio: Tensor = gap / torch.maximum(noise[first], noise[second])
    return ratio


def scale_weights(model: nn.Module, gain: float) -> nn.Module:
    """Multiplies matrices of weights, and leaves biases and scales of norms as they are."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(gain)
    return model


def _blocks(graphs: GraphStore, edges: int) -> list[range]:
    """Ranges of graphs with about so many edges, at least one graph each."""
    starts, taken = [0], 0
    for g, size in enumerate(graphs.sizes["edge"].tolist()):
        if g > starts[-1] and taken + size > edges:
            starts.append(g)
            taken = 0
        taken += size
    return [range(*ends) for ends in zip(starts, [*starts[1:], len(graphs)], strict=True)]
