import pytest
import torch

from i2gnn.counting import count
from i2gnn.data.synthetic import SIZES, generate_graphs
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore


@pytest.fixture(scope="module")
def graphs() -> GraphStore:
    return generate_graphs(3000, seed=5)


def test_sizes_and_edges_follow_the_recipe(graphs: GraphStore) -> None:
    # n d / 2 edges of the regular graph, minus n, each in both directions
    edges = {n: 2 * (n * d // 2 - n) for n, d in SIZES}
    expected = torch.tensor([edges[n] for n in graphs.sizes["node"].tolist()])
    assert torch.equal(graphs.sizes["edge"], expected)
    degree = dict(SIZES)
    largest = torch.tensor([degree[n] for n in graphs.sizes["node"].tolist()])
    assert bool((graphs.degree <= largest[graphs.node_to_graph]).all())


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("nodes", 18.8),
        ("edges", 31.3),
        ("cycle3", 5.04),
        ("cycle4", 10.60),
        ("cycle5", 21.67),
        ("cycle6", 41.6),
    ],
)
def test_averages_agree_with_the_paper(graphs: GraphStore, name: str, published: float) -> None:
    if name == "nodes":
        values = graphs.sizes["node"].double()
    elif name == "edges":
        values = graphs.sizes["edge"].double() / 2
    else:
        values = count(graphs, [name], level="graph").values[:, 0].double()
    standard_error = float(values.std()) / len(values) ** 0.5
    assert abs(float(values.mean()) - published) < 4 * standard_error


def test_a_seed_gives_the_same_graphs() -> None:
    first, again, other = (generate_graphs(20, seed=s) for s in (1, 1, 2))
    assert torch.equal(first.neighbor, again.neighbor)
    assert first.num_edges != other.num_edges or not torch.equal(first.neighbor, other.neighbor)


def test_the_first_graphs_do_not_depend_on_the_count() -> None:
    few, more = generate_graphs(5, seed=1), generate_graphs(8, seed=1)
    assert torch.equal(few.neighbor, more.batch(range(5)).neighbor)


def test_no_graphs() -> None:
    assert len(generate_graphs(0)) == 0
    with pytest.raises(InputError, match="count is -1"):
        generate_graphs(-1)
