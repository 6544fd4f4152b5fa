"""Every model by name: what it is, what it costs, and which rows of the paper it serves."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from torch import nn

from i2gnn.models.base import Network
from i2gnn.models.ds_gnn import DSGNN
from i2gnn.models.gnnak import GNNAKPlain, GNNAKPlus
from i2gnn.models.gsn import GSN
from i2gnn.models.i2gnn import I2GNN
from i2gnn.models.i3gnn import I3GNN
from i2gnn.models.mpnn import MPNN
from i2gnn.models.pna import PNA
from i2gnn.models.ppgn import PPGN
from i2gnn.models.subgraph_mpnn import IDGNN, SubgraphMPNN
from i2gnn.models.sun import SUN

__all__ = ["REGISTRY", "TABLES", "ModelEntry", "count_parameters", "count_published", "describe"]

TABLES = {
    1: "telling apart EXP and SR25",
    2: "cycles at nodes",
    3: "graphlets at nodes",
    4: "QM9",
    5: "ZINC and molhiv",
    9: "cycles in graphs",
    10: "ablations",
    12: "measured cost",
    14: "TU data sets",
}
"""The paper's tables of experiments, by number."""


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One model.

    Costs are per layer, in n nodes, m edges, degree d, ego-nets of s nodes and width D.

    Attributes:
        name: In configs and on the command line.
        title: In tables, as the paper writes it.
        model: The class.
        summary: One line.
        identifiers: Marked nodes of a subgraph; None where states do not live on subgraphs.
        time: Multiplications of one layer.
        memory: Numbers held by one layer.
        tables: Tables of the paper with a row of this model.
        preset: Arguments in the paper's counting experiments.
        published: Number of parameters in the paper's Table 12, counted as `count_published` does.
    """

    name: str
    title: str
    model: type[Network]
    summary: str
    identifiers: int | None
    time: str
    memory: str
    tables: tuple[int, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)
    published: str | None = None

    def build(self, **arguments: Any) -> Network:
        """The model with the arguments of the preset, unless others are given."""
        return self.model(**{**self.preset, **arguments})

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments that the class takes."""
        return tuple(inspect.signature(self.model).parameters)


def count_parameters(model: nn.Module) -> int:
    """Number of trainable weights."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def count_published(model: nn.Module) -> int:
    """Number of weights as the paper's Table 12 counts them: linear layers and GRU cells.

    The tool that made the table sees layers of known types only. It leaves out the embeddings of
    labels and the message weights of gated layers, which are bare parameters.
    """
    seen = (module for module in model.modules() if isinstance(module, nn.Linear | nn.GRUCell))
    return sum(weight.numel() for module in seen for weight in module.parameters(recurse=False))


def describe(entry: ModelEntry) -> dict[str, Any]:
    """The entry as plain values, with the sizes of the model at its preset."""
    model = entry.build()
    return {
        "name": entry.name,
        "title": entry.title,
        "summary": entry.summary,
        "identifiers": entry.identifiers,
        "parameters": count_parameters(model),
        "parameters_counted": count_published(model),
        "parameters_published": entry.published,
        "time": entry.time,
        "memory": entry.memory,
        "tables": list(entry.tables),
        "preset": dict(entry.preset),
        "arguments": list(entry.arguments),
    }


COUNTING = {"hidden_channels": 64, "num_layers": 4}
GATED = COUNTING | {"conv": "gated", "hops": 3, "pool": "sum"}

_ENTRIES = (
    ModelEntry(
        name="mpnn",
        title="Base GNN",
        model=MPNN,
        summary="message passing on the graph itself",
        identifiers=0,
        time="m D + n D²",
        memory="n D",
        tables=(1, 2, 3, 5, 9, 12, 14),
        preset={"hidden_channels": 32, "num_layers": 4, "conv": "gated", "head_channels": (32, 16)},
        published="27k",
    ),
    ModelEntry(
        name="pna",
        title="PNA",
        model=PNA,
        summary="message passing with mean, min, max and std, scaled by degree",
        identifiers=0,
        time="m D² + n D²",
        memory="m D",
        tables=(5,),
        preset=COUNTING,
    ),
    ModelEntry(
        name="gsn",
        title="GSN",
        model=GSN,
        summary="message passing with exact counts as features of nodes and edges",
        identifiers=0,
        time="m D + n D²",
        memory="n D",
        tables=(5,),
        preset=COUNTING,
    ),
    ModelEntry(
        name="idgnn",
        title="ID-GNN",
        model=IDGNN,
        summary="message passing in the ego-net of every node, messages of the root apart",
        identifiers=1,
        time="n s (d D + D²)",
        memory="n s D",
        tables=(1, 2, 3, 9, 12),
        preset=GATED,
        published="102k",
    ),
    ModelEntry(
        name="subgraph_mpnn",
        title="NGNN",
        model=SubgraphMPNN,
        summary="message passing in the ego-net of every node, the root marked",
        identifiers=1,
        time="n s (d D + D²)",
        memory="n s D",
        tables=(1, 2, 3, 4, 5, 9, 12, 14),
        preset=GATED | {"labels": "spd_pred"},
        published="127k",
    ),
    ModelEntry(
        name="ds_gnn",
        title="DS-GNN",
        model=DSGNN,
        summary="the graph without a node, each node in turn: (N-1)-reconstruction",
        identifiers=1,
        time="n (m D + n D²)",
        memory="n² D",
        preset=COUNTING | {"conv": "gin", "pool": "sum"},
    ),
    ModelEntry(
        name="gnnak_plus",
        title="GNN-AK+",
        model=GNNAKPlus,
        summary="ego-nets as kernels: centroid, subgraph and context, gated by distance",
        identifiers=1,
        time="n s (d D + D²)",
        memory="n s D",
        tables=(1, 5),
        preset=COUNTING | {"conv": "gin", "hops": 3, "pool": "sum"},
    ),
    ModelEntry(
        name="gnnak_plain",
        title="GNNAK+",
        model=GNNAKPlain,
        summary="the paper's plainer GNN-AK+, rows overwritten by the state of their node",
        identifiers=1,
        time="n s (d D + D²)",
        memory="n s D",
        tables=(2, 3, 9, 12),
        preset=GATED | {"labels": "spd_pred"},
        published="251k",
    ),
    ModelEntry(
        name="sun",
        title="SUN (EGO)",
        model=SUN,
        summary="ego-nets that hear of each other through roots, pools and the mean of a node",
        identifiers=1,
        time="n s (d D + D²)",
        memory="n s D",
        tables=(5,),
        preset=COUNTING | {"hops": 3},
    ),
    ModelEntry(
        name="i2gnn",
        title="I²-GNN",
        model=I2GNN,
        summary="the root and one of its neighbours are marked, each neighbour in turn",
        identifiers=2,
        time="n d s (d D + D²)",
        memory="n d s D",
        tables=(1, 2, 3, 4, 5, 9, 10, 12, 14),
        preset=GATED | {"labels": "spd_pred"},
        published="143k",
    ),
    ModelEntry(
        name="i3gnn",
        title="I³-GNN",
        model=I3GNN,
        summary="a path of two steps from the root is marked, each such path in turn",
        identifiers=3,
        time="n d² s (d D + D²)",
        memory="n d² s D",
        preset=GATED | {"labels": "spd"},
    ),
    ModelEntry(
        name="ppgn",
        title="PPGN",
        model=PPGN,
        summary="matrix products of states on all pairs of nodes",
        identifiers=None,
        time="n³ D + n² D²",
        memory="n² D",
        tables=(1, 2, 3, 4, 9, 12),
        preset=COUNTING | {"pool": "mean"},
        published="96k",
    ),
)

REGISTRY: Mapping[str, ModelEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""The models by name, weakest first."""
