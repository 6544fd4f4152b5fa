"""Every model of the registry, with the exact test that says what it can reach at best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from i2gnn.expressiveness import Subject, color, color_subgraphs, load_subject, strong_options
from i2gnn.expressiveness.separation import judge, measure_gaps
from i2gnn.expressiveness.wl import Test
from i2gnn.graphs import GraphStore
from i2gnn.models import Network

Level = Literal["node", "graph"]
Pairs = list[tuple[int, int]]
Exact = Callable[[Network, GraphStore, Level], Any]

SIGNS = {"separated": "+", "tied": "-", "unclear": "?"}
ZINC_READOUT = "nodes+center+side+context"


@dataclass(frozen=True)
class Case:
    """A model under test.

    Attributes:
        name: In the registry.
        exact: Colours of graphs or nodes that the model can reach at best.
        options: Beyond those that all models get.
        tight: Whether the model reaches them.
    """

    name: str
    exact: Exact
    options: Mapping[str, Any] = field(default_factory=dict)
    tight: bool = True

    def subject(self, hops: int = 3) -> Subject:
        options = strong_options(self.name)
        if "hops" in options:
            options["hops"] = hops
        return load_subject(self.name, options | self.options)


def _by(test: Test) -> Exact:
    """A test of whole graphs, with the features that the model sees."""
    return lambda model, graphs, level: color(graphs, test, level=level)


def _by_rows(**options: Any) -> Exact:
    """Identifier-WL on the subgraphs that the model itself extracts."""
    return lambda model, graphs, level: color_subgraphs(
        model.extract(graphs), level=level, **options
    )


def _by_roots(labels: str) -> Exact:
    """One identifier in the ego-nets of the model."""
    return lambda model, graphs, level: color(
        graphs, identifiers=1, hops=model.hops, labels=labels, level=level
    )


CASES = {
    "mpnn": Case("mpnn", _by("1-wl")),
    "mpnn, virtual node": Case("mpnn", _by("1-wl"), {"virtual_node": True}),
    "pna": Case("pna", _by("1-wl")),
    "gsn": Case("gsn", _by_rows()),
    "idgnn": Case("idgnn", _by_roots("identity")),
    "subgraph_mpnn": Case("subgraph_mpnn", _by_rows()),
    "ds_gnn": Case("ds_gnn", _by_rows()),
    "gnnak_plus": Case("gnnak_plus", _by("2-fwl"), tight=False),
    "gnnak_plus, 2 inner layers": Case(
        "gnnak_plus", _by("2-fwl"), {"inner_layers": 2}, tight=False
    ),
    "gnnak_plain": Case("gnnak_plain", _by("2-fwl"), tight=False),
    "sun": Case("sun", _by("2-fwl"), tight=False),
    "i2gnn": Case("i2gnn", _by_rows()),
    "i2gnn, single": Case("i2gnn", _by_roots("spd"), {"branch_labels": False}),
    "i2gnn, identity": Case("i2gnn", _by_rows(), {"labels": "identity"}),
    "i2gnn, node states": Case(
        "i2gnn",
        _by_rows(node_states=True, readout=ZINC_READOUT),
        {"node_states": True, "readout": ZINC_READOUT},
    ),
    "i3gnn": Case("i3gnn", _by_rows(), {"num_layers": 3, "hidden_channels": 16}),
    "ppgn": Case("ppgn", _by("2-fwl")),
}


def verdicts(
    case: Case,
    graphs: GraphStore,
    pairs: Pairs,
    *,
    level: Level = "graph",
    hops: int = 3,
    edges: int = 2000,
) -> str:
    """One character per pair of graphs or nodes: + separated, - tied, ? neither is clear."""
    first, second = torch.tensor(pairs).t()
    ratio = measure_gaps(case.subject(hops), graphs, first, second, level=level, edges=edges)
    return "".join(SIGNS[judge(r)] for r in ratio.tolist())


def exact_verdicts(
    case: Case, graphs: GraphStore, pairs: Pairs, *, level: Level = "graph", hops: int = 3
) -> str:
    """The same by colours, which leave nothing unclear."""
    model = case.subject(hops).build(0, graphs, level=level)
    assert isinstance(model, Network)
    colors = case.exact(model, graphs, level)
    return "".join("+" if colors[a] != colors[b] else "-" for a, b in pairs)
