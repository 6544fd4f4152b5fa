"""BREC: 400 pairs of graphs, which of them a trained model tells apart (RPC; Wang & Zhang 2024)."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from i2gnn.expressiveness.datasets import load_pairs
from i2gnn.expressiveness.rpc import RPCSettings
from i2gnn.expressiveness.rpc_run import run_rpc, summarize
from i2gnn.expressiveness.subjects import Subject, load_subject
from i2gnn.models import REGISTRY
from i2gnn.models.registry import count_parameters
from i2gnn.training.environment import resolve_device
from i2gnn.training.record import make_record

__all__ = ["OPTIONS", "PROTOCOL", "PUBLISHED", "BRECSettings", "reproduce_brec"]

PUBLISHED: Mapping[str, int] = MappingProxyType({"I²-GNN, 60 pairs skipped": 281, "3-WL": 270})
"""Pairs of 400 that BREC's authors report as distinguished."""

OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "conv": "gated",
        "labels": "spd_pred",
        "pool": "sum",
        "head_channels": (16,),
    }
)
"""Arguments of our models beside sizes: the paper's counting model, without a bottleneck in the
head."""

PROTOCOL = RPCSettings(gain=2.0, lr=1e-3)
"""Weights large enough that differences do not fade, and a learning rate at which they grow."""

NODE_STATES = {
    "node_states": True,
    "readout": "nodes+center+side+context",
    "pool": "mean",
}
"""The pooled h_k of the paper's ZINC model; sums of it would grow from layer to layer without
bound."""

QUICK = 6
"""Pairs of a smoke test, from the smallest graphs."""


@dataclass(frozen=True, kw_only=True)
class BRECSettings:
    """One run over BREC.

    Attributes:
        model: A name of the registry, or "my.module:factory".
        hops: Radius of the ego-nets, of our models.
        layers: Depth, of our models.
        width: Width, of our models.
        node_states: Whether rows see the pooled state of their node, of our models.
        rpc: The protocol; its seed is that of the run.
        data_root: Folder of data sets.
        device: "auto", "cpu" or "cuda".
        pairs: Which pairs to run now; None for all.
        quick: A smoke test on a few pairs.
        time_limit: Seconds after which no further pair is begun.
    """

    model: str = "i2gnn"
    hops: int = 12
    layers: int = 8
    width: int = 16
    node_states: bool = False
    rpc: RPCSettings = PROTOCOL
    data_root: str | None = None
    device: str = "auto"
    pairs: range | None = None
    quick: bool = False
    time_limit: float | None = None

    @property
    def subject(self) -> Subject:
        """The model; one that is not ours is built as its factory says."""
        if self.model not in REGISTRY:
            return load_subject(self.model)
        wanted = {
            **OPTIONS,
            "hops": self.hops,
            "num_layers": self.layers,
            "hidden_channels": self.width,
            **(NODE_STATES if self.node_states else {}),
        }
        taken = REGISTRY[self.model].arguments
        return load_subject(self.model, {n: v for n, v in wanted.items() if n in taken})

    @property
    def name(self) -> str:
        """Of the run's files."""
        quick = "quick-" if self.quick else ""
        sizes = f"h{self.hops}-l{self.layers}-d{self.width}" if self.model in REGISTRY else "pairs"
        states = "-states" if self.node_states else ""
        model = self.model.replace(os.sep, "_").replace(":", "-")
        return f"{quick}rpc-brec-{model}-{sizes}{states}-{self.rpc.seed}"


def reproduce_brec(
    settings: BRECSettings, folder: str | os.PathLike[str], progress: bool = False
) -> dict[str, Any]:
    """Runs pairs that the folder does not have yet, and sums up all that it has.

    Args:
        settings: Of model, protocol and run.
        folder: Where `<name>/` keeps a line per pair.
        progress: Shows a progress bar on standard error.

    Returns:
        A record of plain values: counts in all and by category under "summary", the verdict on
        each pair under "pairs", and what they depend on.
    """
    subject, device = settings.subject, resolve_device(settings.device)
    pairs = load_pairs("brec", settings.data_root)
    chosen = range(QUICK) if settings.quick else settings.pairs
    lines = run_rpc(
        subject,
        pairs,
        settings.rpc,
        Path(folder, settings.name),
        chosen=chosen,
        device=device,
        time_limit=settings.time_limit,
        progress=progress,
    )
    summary = summarize(lines)
    found = {
        "metric": "distinguished",
        "test": summary["distinguished"],
        "complete": len(lines) == len(pairs),
        "summary": summary,
        "epochs": max((line["epochs"] for line in lines), default=0),
        "parameters": count_parameters(subject.build(0, pairs.pair(0))),
        "seconds": summary["seconds"],
    }
    record = make_record(
        found,
        table="brec",
        preset="quick" if settings.quick else "rpc",
        dataset="brec",
        level="graph",
        model=settings.model,
        target="pairs",
        seed=settings.rpc.seed,
        device=device,
        settings={
            "options": {n: _plain(v) for n, v in subject.options.items()},
            "rpc": dataclasses.asdict(settings.rpc),
        },
        deviations=_deviations(settings, lines),
    )
    return record | {"pairs": lines}


def _deviations(settings: BRECSettings, lines: Sequence[Mapping[str, Any]]) -> list[str]:
    found = ["no cut of the learning rate on plateaus"]
    rpc = settings.rpc
    if rpc.gain != RPCSettings.gain:
        found.append(f"matrices of new weights times {rpc.gain:g}")
    if rpc.precision == "float64":
        found.append("float64, where the published runs are in float32")
    if rpc.epochs < RPCSettings.epochs:
        found.append(f"at most {rpc.epochs} of the protocol's {RPCSettings.epochs} epochs")
    if rpc.lr != RPCSettings.lr:
        found.append(f"learning rate {rpc.lr:g}, where the published run has {RPCSettings.lr:g}")
    constant = sum(line["constant"] for line in lines)
    if constant:
        found.append(
            f"{constant} pairs whose differences are all the same bits count as distinguished; "
            "by the formula their T2 is 0"
        )
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
