"""GNN-AK+ in both variants, and SubgraphDrop."""

import pytest
import torch

from i2gnn.models import GNNAKPlain, GNNAKPlus
from i2gnn.models.registry import REGISTRY, count_published
from i2gnn.subgraphs import extract_subgraphs
from i2gnn.subgraphs.drop import draw_roots, select_roots
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, rook, shrikhande, store


def test_the_plain_variant_has_the_weights_of_the_paper():
    """251k in Table 12, as follows for 4 layers of width 64; embeddings are not counted."""
    grus = 4 * (6 * 64 * 64 + 6 * 64)
    lifts = 3 * (128 * 64 + 64)
    pools = 5 * (192 * 64 + 64 + 64 * 64 + 64)
    gates = 5 * 2 * (64 * 64 + 64)
    head = 64 * 32 + 32 + 32 * 16 + 16 + 16 + 1
    counted = count_published(REGISTRY["gnnak_plain"].build())
    assert counted == grus + lifts + pools + gates + head == 251_393


@torch.no_grad()
def test_the_plain_variant_is_its_formula():
    """One layer by loops over roots and nodes."""
    graphs = random_graphs(2, seed=1, nodes=(4, 6)).to(dtype=torch.float64)
    model = GNNAKPlain(hidden_channels=5, num_layers=1, conv="graph", hops=2).double()
    subgraphs = model.extract(graphs)
    z = [encoder(subgraphs) for encoder in model.encoders]
    h = model.convs[0](z[0], subgraphs)
    root, node = subgraphs.pair_to_root.tolist(), subgraphs.pair_to_node.tolist()
    for pool, labels in zip(model.pools, z, strict=True):
        inside, center, context = torch.zeros(3, graphs.num_nodes, 5, dtype=torch.float64)
        for row, (i, k) in enumerate(zip(root, node, strict=True)):
            inside[i] += torch.sigmoid(pool.subgraph.linear(labels[row])) * h[row]
            context[k] += torch.sigmoid(pool.context.linear(labels[row])) * h[row]
            if i == k:
                center[i] = h[row]
        p = pool.mlp(torch.cat([inside, center, context], dim=1))
        h = p[node]
    torch.testing.assert_close(model(subgraphs), model.head(p), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("combine", ["concat", "sum"])
@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_the_authors_variant_is_its_formula(pool, combine):
    graphs = random_graphs(2, seed=1, nodes=(4, 6), x=3).to(dtype=torch.float64)
    model = GNNAKPlus(
        in_channels=3,
        hidden_channels=5,
        num_layers=1,
        hops=2,
        norm="none",
        pool=pool,
        combine=combine,
    ).double()
    subgraphs, layer = model.extract(graphs), model.layers[0]
    x = model.encode(graphs)
    e = layer.labels(subgraphs)
    node, root = subgraphs.pair_to_node.long(), subgraphs.pair_to_root
    h = layer.lift.linear(torch.cat([x[node], e], dim=1))
    h = torch.relu(layer.convs[0](h, subgraphs)) + h
    gates = {part: torch.sigmoid(gate.linear(e)) for part, gate in layer.gates.items()}
    encodings = []
    for i in range(graphs.num_nodes):
        center = (gates["centroid"] * h)[(root == i) & (node == i)].squeeze(0)
        found = []
        for part, chosen in (("subgraph", root == i), ("context", node == i)):
            rows = (gates[part] * torch.relu(layer.transforms[part](h)))[chosen]
            found.append(rows.sum(0) if pool == "sum" else rows.mean(0))
        encodings.append(
            torch.cat([center, *found]) if combine == "concat" else center + found[0] + found[1]
        )
    expected = model.head(torch.relu(layer.fuse(torch.stack(encodings))) + x)
    torch.testing.assert_close(model(subgraphs), expected, rtol=1e-10, atol=1e-10)


def embeddings(model, graphs) -> torch.Tensor:
    torch.manual_seed(1)
    network = model(hidden_channels=16, hops=3, level="graph", out_channels=4).double().eval()
    with torch.no_grad():
        return network(network.extract(graphs))


@pytest.mark.parametrize("model", [GNNAKPlain, GNNAKPlus])
def test_more_than_message_passing_and_no_more_than_three_wl(model):
    a, b = embeddings(model, store(cycle(6), cycle(3) + cycle(3, first=3)))
    assert (a - b).abs().max() > 1e-6
    tied = embeddings(model, store(rook(), shrikhande()))
    scale = tied.abs().max()
    torch.testing.assert_close(tied[0] / scale, tied[1] / scale, rtol=0, atol=1e-10)


@pytest.mark.parametrize("graphs", [awkward, lambda: random_graphs(8, nodes=(3, 14))])
@pytest.mark.parametrize("times", [1, 3])
def test_every_node_is_seen_often_enough(graphs, times):
    subgraphs = extract_subgraphs(graphs(), hops=1, identifiers=1)
    kept = select_roots(subgraphs, draw_roots(subgraphs, times))
    before, after = (s.node_to_pair.ptr.diff() for s in (subgraphs, kept))
    assert (after >= before.clamp(max=times)).all()
    assert not kept.complete and len(kept.roots) < subgraphs.num_nodes


@pytest.mark.parametrize("identifiers", [1, 2])
def test_kept_ego_nets_are_unchanged(identifiers):
    graphs = random_graphs(5, seed=7, nodes=(3, 9))
    subgraphs = extract_subgraphs(graphs, hops=2, identifiers=identifiers)
    mask = torch.rand(graphs.num_nodes) < 0.4
    kept = select_roots(subgraphs, mask)

    def ego_net(store, i):
        pairs = slice(int(store.pair_ptr[i]), int(store.pair_ptr[i + 1]))
        links = slice(int(store.link_ptr[pairs.start]), int(store.link_ptr[pairs.stop]))
        rows = slice(int(store.row_ptr[pairs.start]), int(store.row_ptr[pairs.stop]))
        branches = slice(int(store.branch_ptr[i]), int(store.branch_ptr[i + 1]))
        return (
            store.pair_to_node[pairs].tolist(),
            (store.link_to_pair[links] - pairs.start).tolist(),
            store.link_to_edge[links].tolist(),
            (store.branch_to_pair[branches] - pairs.start).tolist(),
            store.labels[rows].tolist(),
        )

    for i in range(graphs.num_nodes):
        expected = ego_net(subgraphs, i) if mask[i] else ([], [], [], [], [])
        assert ego_net(kept, i) == expected
    part = kept.batch([3, 1])
    assert part.num_pairs == int(part.pair_count.sum()) == len(part.pair_to_node)
    assert torch.equal(part.labels, torch.cat([kept.batch([g]).labels for g in (3, 1)]))


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_subgraph_drop_acts_in_training_only(pool):
    graphs = random_graphs(6, nodes=(6, 12))
    model = GNNAKPlus(hidden_channels=8, hops=1, norm="none", subgraph_drop=1, pool=pool)
    subgraphs = model.extract(graphs)
    assert not torch.equal(model.train()(subgraphs), model.train()(subgraphs))
    full = model.eval()(subgraphs)
    assert torch.equal(full, model(subgraphs))
    # Seen as often as there are ego-nets, nothing is dropped, and training is evaluation.
    model.subgraph_drop = graphs.num_nodes
    torch.testing.assert_close(model.train()(subgraphs), full, rtol=1e-5, atol=1e-5)


def test_a_sampled_sum_has_the_right_size():
    """With the gates and states of all rows equal, the scaled sum is the sum over all."""
    graphs = random_graphs(4, nodes=(8, 12))
    model = GNNAKPlus(
        hidden_channels=6, num_layers=1, hops=9, norm="none", subgraph_drop=1, pool="sum"
    )
    subgraphs, layer = model.extract(graphs), model.layers[0]
    h, seen = torch.ones(subgraphs.num_rows, 6), subgraphs.node_to_pair.ptr.diff()
    for gate in layer.gates.values():
        torch.nn.init.zeros_(gate.linear.weight)
    kept = select_roots(subgraphs, draw_roots(subgraphs, 1))
    sampled = layer._encode("context", h[: kept.num_rows], kept, seen)
    torch.testing.assert_close(sampled, layer._encode("context", h, subgraphs, seen))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "max"}, "combine must be one of concat, sum, got 'max'"),
        ({"inner_layers": 0}, "inner_layers must be at least 1, got 0"),
        ({"subgraph_drop": -1}, "subgraph_drop must be at least 0, got -1"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        GNNAKPlus(**options)


def test_wrong_batches_are_named():
    model = GNNAKPlain(hops=2)
    with pytest.raises(
        ValueError, match="needs subgraphs with 1 identifier and 2 hops, got 2 and 2"
    ):
        model(extract_subgraphs(awkward(), hops=2, identifiers=2))
    with pytest.raises(ValueError, match="GNNAKPlain needs labels, got 'none'"):
        GNNAKPlain(labels="none")
