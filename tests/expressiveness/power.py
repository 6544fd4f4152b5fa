"""Which graphs a model with random weights tells apart, and which by its exact counterpart.

Numbers in float64. The noise of a model is how much its output changes when nodes are relabelled,
at least the rounding of one operation; a gap between two graphs that is 10^4 times as large is a
separation, one below 30 times a tie, and anything between is an error of the experiment. A
separation by one draw of weights is a separation; a tie must be one for all.

What would hide separations: saturation, so there are no gates (GIN, as in the paper's Table 1), and
pools are means, which keep numbers near 1 where sums of sums drown small differences; too few
layers, so there are five, more than any of the pairs needs; weights that let differences fade from
layer to layer (most of all in PPGN's products of nearly constant matrices), so these are larger;
ego-nets that are the whole of a dense graph, so those of SR25 have the least radius.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from i2gnn.data import with_structures
from i2gnn.expressiveness import color, color_subgraphs
from i2gnn.expressiveness.pairs import join
from i2gnn.expressiveness.wl import Test
from i2gnn.graphs import GraphStore
from i2gnn.models import REGISTRY, Network
from tests.helpers import permute

Level = Literal["node", "graph"]
Pairs = Sequence[tuple[int, int]]
Exact = Callable[[Network, GraphStore, Level], Any]

SEEDS = range(3)
ROUNDING = 1e-15
TIE, SEPARATION = 30, 1e4
ZINC_READOUT = "nodes+center+side+context"


@dataclass(frozen=True)
class Subject:
    """A model under test.

    Attributes:
        name: In the registry.
        options: Beyond those that all models get.
        gain: What weight matrices are multiplied with.
        exact: Colours of graphs or nodes that the model can reach at best.
        tight: Whether the model reaches them.
    """

    name: str
    exact: Exact
    options: Mapping[str, Any] = field(default_factory=dict)
    gain: float = 1.0
    tight: bool = True

    def build(self, seed: int, **arguments: Any) -> Network:
        entry = REGISTRY[self.name]
        options = {"hidden_channels": 16, "num_layers": 5, "hops": 3, "conv": "gin"}
        options |= {"norm": "none", "pool": "mean", "out_channels": 8} | self.options | arguments
        torch.manual_seed(seed)
        taken = {name: value for name, value in options.items() if name in entry.arguments}
        model = entry.build(**taken).double().eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() > 1:
                    weight *= self.gain
        return model


def _by(test: Test) -> Exact:
    """A test of whole graphs, with the features that the model sees."""
    return lambda model, graphs, level: color(
        with_structures(graphs, model.structures), test, level=level
    )


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


SUBJECTS = {
    "mpnn": Subject("mpnn", _by("1-wl")),
    "mpnn, virtual node": Subject("mpnn", _by("1-wl"), {"virtual_node": True}),
    "pna": Subject("pna", _by("1-wl")),
    "gsn": Subject("gsn", _by("1-wl")),
    "idgnn": Subject("idgnn", _by_roots("identity")),
    "subgraph_mpnn": Subject("subgraph_mpnn", _by_rows()),
    "ds_gnn": Subject("ds_gnn", _by_rows(), gain=2),
    "gnnak_plus": Subject("gnnak_plus", _by("2-fwl"), tight=False),
    "gnnak_plus, 2 inner layers": Subject(
        "gnnak_plus", _by("2-fwl"), {"inner_layers": 2}, tight=False
    ),
    "gnnak_plain": Subject("gnnak_plain", _by("2-fwl"), tight=False),
    "sun": Subject("sun", _by("2-fwl"), tight=False),
    "i2gnn": Subject("i2gnn", _by_rows()),
    "i2gnn, single": Subject("i2gnn", _by_roots("spd"), {"branch_labels": False}),
    "i2gnn, identity": Subject("i2gnn", _by_rows(), {"labels": "identity"}),
    "i2gnn, node states": Subject(
        "i2gnn",
        _by_rows(node_states=True, readout=ZINC_READOUT),
        {"node_states": True, "readout": ZINC_READOUT},
    ),
    "i3gnn": Subject("i3gnn", _by_rows(), {"num_layers": 3}, gain=2),
    "ppgn": Subject("ppgn", _by("2-fwl"), {"hidden_channels": 32, "num_layers": 3}, gain=3),
}


def verdicts(
    subject: Subject,
    graphs: GraphStore,
    pairs: Pairs,
    *,
    level: Level = "graph",
    block: int = 100,
    **arguments: Any,
) -> str:
    """One character per pair of graphs or nodes: + separated, - tied, ? neither is clear."""
    a, b = torch.tensor(pairs).t()
    best = torch.zeros(len(pairs), dtype=torch.float64)
    stores: list[GraphStore] = []
    relabelled, old_of_new, _ = permute(graphs, seed=1)
    for seed in SEEDS:
        model = subject.build(seed, level=level, **arguments)
        if not stores:
            both = with_structures(join(graphs, relabelled), model.structures)
            parts = torch.arange(len(both)).split(block)
            stores = [model.extract(both.batch(p)).to(dtype=torch.float64) for p in parts]
        with torch.no_grad():
            y, again = torch.cat([model(store) for store in stores]).chunk(2)
        copy = again if level == "graph" else torch.empty_like(y).index_copy(0, old_of_new, again)
        best = torch.maximum(best, _distance(y[a], y[b], _noise(y, copy, a, b)))
    return "".join("+" if r > SEPARATION else "-" if r < TIE else "?" for r in best.tolist())


def exact_verdicts(
    subject: Subject,
    graphs: GraphStore,
    pairs: Pairs,
    *,
    level: Level = "graph",
    **arguments: Any,
) -> str:
    """The same by colours, which leave nothing unclear."""
    colors = subject.exact(subject.build(0, level=level, **arguments), graphs, level)
    return "".join("+" if colors[a] != colors[b] else "-" for a, b in pairs)


def _noise(y: Tensor, copy: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Noise at each pair: the larger of both its members', [pairs]."""
    changed, scale = (y - copy).abs().amax(1), y.abs().amax(1)
    of_one = torch.maximum(changed, ROUNDING * scale).clamp(min=1e-300)
    return torch.maximum(of_one[a], of_one[b])


def _distance(one: Tensor, other: Tensor, noise: Tensor) -> Tensor:
    return (one - other).abs().amax(1) / noise
