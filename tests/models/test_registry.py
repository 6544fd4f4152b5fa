"""What every model of the registry must do, whatever it is made of."""

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from i2gnn import GraphStore, count
from i2gnn.models import REGISTRY, Network
from i2gnn.models.registry import TABLES, count_published, describe
from tests.helpers import REPOSITORY, assert_permutation_equivariant, random_graphs
from tests.named_graphs import awkward

LEVELS = ["node", "edge", "graph"]


def build(name: str, **options) -> Network:
    """A small model in double precision, without what the model does not take."""
    entry = REGISTRY[name]
    options = {"hidden_channels": 10, "num_layers": 2, "hops": 2} | options
    return entry.build(**{k: v for k, v in options.items() if k in entry.arguments}).double()


def extract(model: Network, graphs: GraphStore) -> GraphStore:
    return model.extract(graphs).to(dtype=torch.float64)


def predict(model: Network, graphs: GraphStore) -> torch.Tensor:
    result: torch.Tensor = model(extract(model, graphs))
    return result


@pytest.mark.parametrize("name", REGISTRY)
def test_entries_say_what_they_are(name):
    entry, facts = REGISTRY[name], describe(REGISTRY[name])
    assert entry.name == name and issubclass(entry.model, Network)
    assert facts["parameters"] >= facts["parameters_counted"] > 0
    assert set(entry.tables) <= set(TABLES)
    assert all(facts[key] for key in ("title", "summary", "time", "memory"))
    assert set(entry.preset) <= set(entry.arguments)
    needed = {"in_channels", "edge_channels", "out_channels", "level", "hidden_channels"}
    assert needed | {"num_layers", "pool"} <= set(entry.arguments)


@pytest.mark.parametrize("name", [n for n, e in REGISTRY.items() if e.published])
def test_sizes_are_those_of_the_paper(name):
    """Table 12 counts linear layers and GRU cells, and gives thousands, cut or rounded."""
    published = int(REGISTRY[name].published.removesuffix("k")) * 1000
    assert abs(count_published(REGISTRY[name].build()) - published) < 1000


def documented_row(name: str) -> str:
    """The row of `docs/models.md`."""
    facts = describe(REGISTRY[name])
    counted = f"{facts['parameters_counted']:,}" if facts["parameters_published"] else ""
    cells = (
        f"`{name}`",
        facts["title"],
        facts["summary"],
        "" if facts["identifiers"] is None else str(facts["identifiers"]),
        f"{facts['parameters']:,}",
        counted,
        facts["parameters_published"] or "",
        facts["time"],
        facts["memory"],
        ", ".join(map(str, facts["tables"])),
    )
    return f"| {' | '.join(cells)} |"


def test_the_documents_list_every_model():
    text = (REPOSITORY / "docs" / "models.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [documented_row(name) for name in REGISTRY]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", REGISTRY)
def test_permutation_equivariance(name, level):
    graphs = random_graphs(5, nodes=(2, 9), x=3, edge_attr=2).to(dtype=torch.float64)
    model = build(name, in_channels=3, edge_channels=2, level=level, out_channels=2).eval()
    assert_permutation_equivariant(lambda g: predict(model, g), graphs, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("name", REGISTRY)
def test_a_graph_does_not_depend_on_its_batch_mates(name, pool, level):
    graphs = awkward()
    model = build(name, pool=pool, level=level, out_channels=3).eval()
    together = predict(model, graphs)
    assert together.shape == (graphs.length(level), 3) and together.isfinite().all()
    alone = [predict(model, graphs.batch([g])) for g in range(len(graphs))]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", REGISTRY)
def test_batches_of_the_store_are_the_stores_of_batches(name):
    graphs = random_graphs(6, seed=2, x=2, edge_attr=2).to(dtype=torch.float64)
    model = build(name, in_channels=2, edge_channels=2).eval()
    chosen = [4, 0, 5]
    taken = model(extract(model, graphs).batch(chosen))
    torch.testing.assert_close(taken, predict(model, graphs.batch(chosen)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", REGISTRY)
def test_gradients(name, level):
    graphs = random_graphs(3, seed=5, nodes=(3, 6), x=2, edge_attr=2).to(dtype=torch.float64)
    model = build(name, in_channels=2, edge_channels=2, hidden_channels=4, level=level)
    store = extract(model, graphs)
    weights = dict(model.named_parameters())
    flat = parameters_to_vector(weights.values()).detach().requires_grad_()

    def outputs(flat: torch.Tensor) -> torch.Tensor:
        parts = flat.split([weight.numel() for weight in weights.values()])
        shaped = (part.view_as(w) for part, w in zip(parts, weights.values(), strict=True))
        named = dict(zip(weights, shaped, strict=True))
        result: torch.Tensor = torch.func.functional_call(model, named, (store,))
        return result

    # All weights as one vector: fast mode then compares along one random direction of them.
    assert torch.autograd.gradcheck(outputs, flat, fast_mode=True)


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("name", REGISTRY)
def test_a_few_graphs_can_be_learnt_by_heart(name, level):
    # What plain message passing cannot see cannot be learnt by heart either; and the graph without
    # node i does not tell where i was, so that features must.
    target = "path2" if REGISTRY[name].identifiers == 0 else "cycle3"
    width = 4 if (name, level) == ("ds_gnn", "node") else 0
    features = {"x": width} if width else {}
    graphs = random_graphs(8, seed=3, nodes=(5, 8), p=0.4, **features).to(dtype=torch.float64)
    y = count(graphs, [target], level=level).values.double()
    y = (y - y.mean()) / y.std()
    model = build(
        name, hidden_channels=16, num_layers=2, level=level, pool="mean", in_channels=width
    )
    batch = extract(model, graphs)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(400):
        loss = (model(batch) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.02:
            return
    pytest.fail(f"loss is still {loss:.3f} of 1 after 400 steps")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": "max"}, "pool must be one of sum, mean, got 'max'"),
        ({"level": "atom"}, "level must be one of node, edge, graph, got 'atom'"),
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
    ],
)
@pytest.mark.parametrize("name", REGISTRY)
def test_wrong_settings_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        REGISTRY[name].build(**options)


@pytest.mark.parametrize("name", REGISTRY)
def test_missing_features_are_named(name):
    model = build(name, in_channels=5)
    width = 5 + len(getattr(model, "structures", ()))
    with pytest.raises(ValueError, match=f"node features of width {width}, the graphs have"):
        predict(model, awkward())
