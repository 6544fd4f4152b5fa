"""Streamed models against the same models on all subgraphs at once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from i2gnn import GraphStore, InputError, ops
from i2gnn.models import I2GNN, I3GNN, IDGNN, MPNN, IdentifierGNN, StreamedModel, SubgraphMPNN
from i2gnn.models.cost import working_set
from i2gnn.nn import CONVS
from i2gnn.subgraphs import SubgraphsTooLarge, count_subgraphs, extract_subgraphs
from i2gnn.subgraphs.sample import draw_branches, select_branches
from i2gnn.subgraphs.stream import Part, cut_roots, extract_part
from tests.helpers import random_graphs
from tests.memory import PeakMemory
from tests.named_graphs import awkward, complete, store

SMALL = {"hidden_channels": 8, "num_layers": 3, "hops": 2, "out_channels": 2}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5}


def build(
    kind: type[IdentifierGNN], dtype: torch.dtype = torch.float64, **options
) -> IdentifierGNN:
    torch.manual_seed(0)
    return kind(**{**SMALL, **options}).to(dtype)


def smallest_budget(model: IdentifierGNN, graphs: GraphStore, training: bool) -> int:
    """What the largest single subgraph takes: every root with more comes in pieces."""
    sizes = sizes_of(model, graphs)
    cost = working_set(model, training)
    one = (cost.pair + cost.row) * sizes.pairs + (cost.link + cost.message) * sizes.links
    return int(one.max()) + 1


def sizes_of(model: IdentifierGNN, graphs: GraphStore):
    options = {"hops": model.hops, "identifiers": model.identifiers, "labels": model.labels}
    return count_subgraphs(graphs, **options)


def results(model: IdentifierGNN, output: Tensor) -> list[Tensor]:
    """Outputs, and the gradients of a loss in which every output has its own weight."""
    weight = torch.linspace(-1, 1, output.numel()).to(output).reshape(output.shape)
    model.zero_grad(set_to_none=True)
    (output * weight).sum().backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert grads
    return [output.detach(), *grads]


def assert_close(found: list[Tensor], expected: list[Tensor]) -> None:
    for one, two in zip(found, expected, strict=True):
        assert one.shape == two.shape and one.dtype == two.dtype
        scale = max(1.0, float(two.abs().max())) if two.numel() else 1.0
        torch.testing.assert_close(one, two, rtol=0, atol=TOLERANCE[two.dtype] * scale)


def assert_streams(model: IdentifierGNN, graphs: GraphStore, budget: int) -> None:
    """Same outputs and gradients, in evaluation and in training."""
    expected = results(model, model(model.extract(graphs)))
    streamed = StreamedModel(model, budget)
    assert_close(results(model, streamed(graphs)), expected)
    with torch.no_grad():
        assert_close([streamed(graphs)], expected[:1])


@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("level", ["node", "edge", "graph"])
@pytest.mark.parametrize("kind", [IDGNN, SubgraphMPNN, I2GNN])
def test_outputs_and_gradients_do_not_depend_on_the_budget(kind, level, pool):
    graphs = awkward()
    model = build(kind, level=level, pool=pool)
    assert_streams(model, graphs, 8 * smallest_budget(model, graphs, training=True))


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_single_precision(level):
    graphs = random_graphs(3, seed=9, nodes=(5, 9))
    model = build(I2GNN, torch.float32, level=level)
    for factor in (4, 10**6):
        assert_streams(model, graphs, factor * smallest_budget(model, graphs, training=True))


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize(
    "options",
    [
        {"labels": "identity+spd_pred+resistance"},
        {"label_injection": "concat", "residual": True, "readout": "nodes+center+side"},
        {"gates": True, "pool": "mean", "level": "graph", "expansion": 2},
    ],
    ids=lambda options: next(iter(options)),
)
def test_every_layer_and_option(conv, options):
    if conv == "gated" and options.get("label_injection") == "concat":
        pytest.skip("gated layers keep their width")
    graphs = random_graphs(2, seed=1, x=3, edge_attr=2).to(dtype=torch.float64)
    model = build(I2GNN, conv=conv, in_channels=3, edge_channels=2, num_layers=2, **options)
    assert_streams(model, graphs, 6 * smallest_budget(model, graphs, training=True))


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6), factor=st.floats(1, 30), level=st.sampled_from(["node", "graph"])
)
def test_random_graphs_under_random_budgets(seed, factor, level):
    graphs = random_graphs(2, seed=seed, nodes=(1, 9))
    model = build(I2GNN, level=level, num_layers=2)
    assert_streams(model, graphs, int(factor * smallest_budget(model, graphs, training=True)))


def test_the_same_budget_gives_the_same_bits():
    graphs = random_graphs(6, seed=3)
    model = build(I2GNN, torch.float32)
    streamed = StreamedModel(model, "100KB")
    for one, two in zip(
        results(model, streamed(graphs)), results(model, streamed(graphs)), strict=True
    ):
        assert torch.equal(one, two)


@pytest.mark.parametrize("graphs", [store(), store([], num_nodes=[0]), store([], num_nodes=[3])])
@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_nothing_to_stream(graphs, level):
    assert_streams(build(I2GNN, level=level), graphs, 10**6)


def test_one_root_larger_than_the_budget_comes_in_pieces():
    graphs = store([(0, leaf) for leaf in range(1, 16)] + [(1, 2), (3, 9), (4, 5)], complete(5))
    for pool in ("sum", "mean"):
        model = build(I2GNN, pool=pool)
        budget = 3 * smallest_budget(model, graphs, training=True)
        parts = cut_roots(sizes_of(model, graphs), working_set(model, training=True), budget)
        assert sum(part.last is not None for part in parts) >= 5
        assert any(part.last is None for part in parts)
        assert_streams(model, graphs, budget)


@pytest.mark.slow
def test_a_star_with_two_thousand_leaves_under_a_small_budget():
    """The hub alone has 4 million rows; leaves without other edges cannot be told apart."""
    generator = torch.Generator().manual_seed(0)
    random = torch.randint(1, 1001, (60, 2), generator=generator)
    edges = [(0, leaf) for leaf in range(1, 2001)] + random[random[:, 0] != random[:, 1]].tolist()
    graphs = GraphStore.from_edge_lists([edges], symmetrize=True, drop_duplicates=True)
    model = build(I2GNN, torch.float32, hops=1, num_layers=2)
    with torch.no_grad(), PeakMemory() as memory:
        output = StreamedModel(model, "20MB")(graphs)
    assert memory.peak < 20e6 + 40 * graphs.num_nodes + graphs.nbytes
    plain = output[1:][graphs.degree[1:] == 1]
    assert len(plain) > 1000
    torch.testing.assert_close(plain, plain[:1].expand_as(plain))
    with torch.no_grad():
        torch.testing.assert_close(
            output, StreamedModel(model, "100MB")(graphs), rtol=2e-4, atol=1e-4
        )


def test_dropout_is_the_same_in_both_passes():
    """The gradient of the weights is that of the outputs that were returned."""
    graphs = random_graphs(3, seed=2)
    model = build(I2GNN, conv="gin", dropout=0.5)
    streamed = StreamedModel(model, 3 * smallest_budget(model, graphs, training=True))
    torch.manual_seed(5)
    first = results(model, streamed(graphs))
    torch.manual_seed(5)
    assert_close(results(model, streamed(graphs)), first)
    assert not torch.equal(streamed(graphs), first[0])  # the next draw is another

    weight, step = model.head[0].bias, 1e-6
    torch.manual_seed(5)
    above = torch.linspace(-1, 1, first[0].numel(), dtype=torch.float64).reshape(first[0].shape)
    slope = torch.autograd.grad((streamed(graphs) * above).sum(), weight)[0]
    with torch.no_grad():
        values = []
        for sign in (1, -1):
            weight[0] += sign * step
            torch.manual_seed(5)
            # Gradients on or off change the budget per row, so the parts are cut as in training.
            with torch.enable_grad():
                values.append(float((streamed(graphs) * above).sum().detach()))
            weight[0] -= sign * step
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(float(slope[0]), rel=1e-5)


def test_sampled_branches_are_streamed_like_selected_ones():
    graphs = random_graphs(2, seed=7, nodes=(8, 10), p=0.5)
    chosen = draw_branches(graphs, 3, 0)
    for pool in ("sum", "mean"):
        model = build(I2GNN, pool=pool)
        sampled = select_branches(model.extract(graphs), chosen)
        expected = results(model, model(sampled))
        budget = 2 * smallest_budget(model, graphs, training=True)
        found = results(model, StreamedModel(model, budget)(graphs, branches=chosen))
        assert_close(found, expected)
        parts = cut_roots(
            count_subgraphs(graphs, hops=2, branches=chosen), working_set(model, True), budget
        )
        assert any(part.last is not None for part in parts)
    with pytest.raises(ValueError, match="edge level reads every branch"):
        model = build(I2GNN, level="edge")
        StreamedModel(model)(graphs, branches=chosen)


def test_sampling_is_right_in_expectation():
    """The average over draws of the pooled branches, before the MLP, is the full sum."""
    graphs = random_graphs(2, seed=8, nodes=(7, 8), p=0.7)
    model = build(I2GNN, num_layers=1)
    whole = model.extract(graphs)
    with torch.no_grad():
        expected = model.pooled(whole)
        draws = torch.stack(
            [
                model.pooled(select_branches(whole, draw_branches(graphs, 2, draw)))
                for draw in range(200)
            ]
        )
    error = (draws.mean(0) - expected).abs()
    assert (error <= 5 * draws.std(0) / 200**0.5 + 1e-6).all()
    assert draws.std(0).max() > 0.01
    everything = select_branches(whole, draw_branches(graphs, 7, 0))
    assert torch.equal(model(everything), model(whole))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (build(MPNN), "MPNN has 0 identifiers where streaming supports 1 and 2"),
        (build(I3GNN), "I3GNN has 3 identifiers"),
        (
            build(I2GNN, conv="gin", norm="batch"),
            "normalises over the rows of all roots in layers.0",
        ),
        (build(I2GNN, readout="nodes+context"), "reads the context of nodes from"),
        (build(I2GNN, node_states=True), "joins the subgraphs of different roots in layers.0.mix"),
        (build(I2GNN, virtual_node=True), "joins the subgraphs of different roots in virtual_node"),
    ],
)
def test_models_that_couple_roots_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        StreamedModel(model)(awkward())


@pytest.mark.parametrize("op", [ops.pool_context, ops.pool_graphs])
def test_ops_that_couple_roots_refuse_some_of_them(op):
    some = extract_subgraphs(awkward(), hops=1, roots=torch.tensor([4, 5]))
    length = some.num_rows if op is ops.pool_context else some.num_nodes
    with pytest.raises(ValueError, match="these subgraphs have only some roots"):
        op(torch.ones(length, 2), some)


def test_batch_normalisation_in_evaluation_is_streamed():
    graphs = random_graphs(4, seed=4)
    model = build(I2GNN, conv="gin", norm="batch")
    model(model.extract(graphs))  # moves the running statistics
    model.eval()
    with torch.no_grad():
        expected = model(model.extract(graphs))
        budget = 3 * smallest_budget(model, graphs, training=False)
        assert_close([StreamedModel(model, budget)(graphs)], [expected])


def test_only_trained_weights_get_gradients():
    graphs = random_graphs(2)
    model = build(SubgraphMPNN)
    model.head.requires_grad_(False)
    StreamedModel(model)(graphs).sum().backward()
    assert all(p.grad is None for p in model.head.parameters())
    assert all(p.grad is not None for p in model.layers.parameters())


def test_weights_changed_between_the_passes_are_noticed():
    model = build(SubgraphMPNN)
    output = StreamedModel(model)(awkward())
    with torch.no_grad():
        next(model.parameters()).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_mistakes_are_named():
    graphs = awkward()
    model = build(I2GNN)
    with pytest.raises(TypeError, match="expected graphs, got Subgraphs"):
        StreamedModel(model)(model.extract(graphs))
    with pytest.raises(InputError, match="Linear has no subgraphs to stream"):
        StreamedModel(torch.nn.Linear(1, 1))(graphs)
    with pytest.raises(SubgraphsTooLarge, match="memory budget is 500 B. Use a larger"):
        StreamedModel(model, 500)(graphs)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("conv", CONVS)
def test_the_estimated_working_set_holds_what_is_taken(conv, dtype, training):
    """Not less than what tensors take at once, nor much more."""
    graphs = random_graphs(2, nodes=(30, 40), p=0.12, x=3, edge_attr=2)
    for kind, options in (
        (I2GNN, {}),
        (SubgraphMPNN, {}),
        (I2GNN, {"labels": "identity+spd_pred+resistance", "in_channels": 3}),
        (I2GNN, {"gates": True, "readout": "nodes+center", "dropout": 0.1}),
    ):
        model = build(kind, dtype, conv=conv, edge_channels=2, hidden_channels=16, **options)
        extraction = {"hops": 2, "identifiers": model.identifiers, "labels": model.labels}
        with PeakMemory() as memory, torch.set_grad_enabled(training):
            part = extract_part(graphs, Part(0, graphs.num_nodes), **extraction)
            output = model.outputs(model.states(model.pooled(part)), graphs)
            if training:
                torch.autograd.grad(output.sum(), list(model.parameters()), allow_unused=True)
        cost = working_set(model, training)
        estimate = cost.pair * part.num_pairs + cost.link * part.num_links
        estimate += cost.row * part.num_rows + cost.message * len(part.message_rows[0])
        assert memory.peak < estimate
        if conv != "gated":  # whose kernels keep next to nothing
            assert memory.peak > 0.2 * estimate


def test_memory_stays_below_the_budget():
    """Four times the graphs need no more memory than once, but for graphs and outputs."""
    # Kernels of gated layers have a workspace as well, which does not grow with the rows.
    model = build(I2GNN, torch.float32, hidden_channels=16, conv="gin")
    budget = 800_000
    for count in (5, 20):
        graphs = random_graphs(count, nodes=(12, 12), p=0.25)
        streamed = StreamedModel(model, budget)
        assert sizes_of(model, graphs).rows.sum() * working_set(model, True).row > 2 * budget
        with PeakMemory() as memory:
            streamed(graphs).sum().backward()
        beside = 100 * graphs.num_nodes + 4 * sum(p.nbytes for p in model.parameters())
        assert memory.peak < budget + beside


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("conv", ["gated", "gin"])
@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_streaming_on_a_gpu(level, conv):
    graphs = random_graphs(6, seed=1, nodes=(8, 12))
    model = build(I2GNN, torch.float32, level=level, conv=conv).cuda()
    expected = results(model, model(model.extract(graphs).to("cuda")))
    streamed = StreamedModel(model, 4 * smallest_budget(model, graphs, training=True))
    found = results(model, streamed(graphs.to("cuda")))
    for one, two in zip(found, expected, strict=True):
        assert one.is_cuda
        torch.testing.assert_close(
            one, two, rtol=1e-3, atol=1e-4 * max(1.0, float(two.abs().max()))
        )
