"""The paper's proofs as code: right at every node, and with no more means than they claim."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from i2gnn import InputError, count
from i2gnn.counting import CATALOGUE, Pattern
from i2gnn.counting.graphlets import induced_orbits
from i2gnn.counting.patterns import PAPER_TARGETS
from i2gnn.data import load_counting
from i2gnn.expressiveness import color
from i2gnn.expressiveness.constructions import CONSTRUCTIONS, Construction, Rows, construct
from i2gnn.expressiveness.constructions import construction as running
from i2gnn.expressiveness.constructions.paths_and_cycles import (
    distances,
    paths_beyond_branch,
    paths_from_root,
)
from i2gnn.expressiveness.constructions.six_cycles import (
    all_pairs,
    meeting_first,
    meeting_last,
    meeting_midway,
)
from i2gnn.expressiveness.pairs import join, two_wheels
from i2gnn.expressiveness.wl import extract_whole
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import extract_subgraphs
from tests.helpers import REPOSITORY, data_root, random_graphs
from tests.named_graphs import awkward, complete, cycle, path, petersen, rook, shrikhande, store

ALL = list(CONSTRUCTIONS.values())
each = pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c.name}-{c.identifiers}")


def rows_of(graphs: GraphStore, identifiers: int, hops: int) -> Rows:
    return Rows(extract_subgraphs(graphs, identifiers=identifiers, hops=hops, labels="identity"))


def assert_exact(graphs: GraphStore, cases: list[Construction] = ALL) -> None:
    expected = count(graphs, {case.name: case.pattern for case in cases}.values())
    for case in cases:
        column = expected.values[:, expected.what.index(case.name)]
        found = construct(graphs, case.name, case.identifiers)
        assert torch.equal(found, column), (case.name, case.identifiers)


# -- right at every node -----------------------------------------------------------------------


@cache
def named() -> GraphStore:
    dense = [complete(5), complete(6), petersen(), rook(), shrikhande()]
    return join(store(*dense), awkward(), two_wheels(4))


@each
def test_named_and_awkward_graphs(case):
    """One node, no edges, isolated nodes, two components, an empty graph; and dense ones."""
    assert_exact(named(), [case])


def test_dense_random_graphs():
    assert_exact(random_graphs(12, seed=2, nodes=(8, 14), p=0.7))


def test_sparse_random_graphs():
    assert_exact(random_graphs(200, seed=3, nodes=(1, 20), p=0.15))


def hypothesis_graphs() -> st.SearchStrategy[GraphStore]:
    """Five graphs of up to seven nodes, each set of edges as likely as any other."""

    def build(n: int) -> st.SearchStrategy[tuple[int, list[tuple[int, int]]]]:
        bits = st.integers(0, 2 ** len(complete(n)) - 1)
        edges = bits.map(lambda b: [e for at, e in enumerate(complete(n)) if b >> at & 1])
        return st.tuples(st.just(n), edges)

    graphs = st.lists(st.integers(1, 7).flatmap(build), min_size=5, max_size=5)
    return graphs.map(lambda g: store(*(e for _, e in g), num_nodes=[n for n, _ in g]))


@settings(max_examples=20, deadline=None)
@given(hypothesis_graphs())
def test_hypothesis_graphs(graphs):
    assert_exact(graphs)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(hypothesis_graphs())
def test_many_hypothesis_graphs(graphs):
    assert_exact(graphs)


def synthetic() -> GraphStore:
    root = data_root()
    if root is None or not (root / "counting/synthetic5000.npz").is_file():
        pytest.skip("counting/synthetic5000.npz is not in the data root (I2GNN_DATA)")
    return load_counting(root=root).graphs


def molecules(first: int | None = None) -> GraphStore:
    root = data_root()
    if root is None or not (file := root / "chembl/chembl_16200.smi").is_file():
        pytest.skip("chembl/chembl_16200.smi is not in the data root (I2GNN_DATA)")
    smiles = [line.split()[0] for line in file.read_text().splitlines() if line.strip()]
    return GraphStore.from_smiles(smiles[:first])


def test_some_synthetic_graphs():
    assert_exact(synthetic().batch(range(0, 5000, 50)))


def test_some_molecules():
    assert_exact(molecules(100))


@pytest.mark.slow
def test_all_synthetic_graphs():
    graphs = synthetic()
    assert (len(graphs), graphs.num_nodes) == (5000, 94000)
    assert_exact(graphs)


@pytest.mark.slow
def test_all_molecules():
    graphs = molecules()
    assert (len(graphs), graphs.num_nodes) == (16200, 348072)
    assert_exact(graphs)


def test_roots_and_branches_in_parts(monkeypatch):
    """A small budget cuts the roots, and the branches of large roots."""
    graphs = store(complete(9), petersen())
    monkeypatch.setattr(running, "BUDGET", 20_000)
    cases = [CONSTRUCTIONS["path3", 1], CONSTRUCTIONS["cycle6", 2]]
    assert_exact(graphs, cases)
    parts = list(cases[1].parts(graphs))
    assert len(parts) > 19  # more than roots


# -- with no more means than they claim --------------------------------------------------------


@dataclass
class Depth:
    """Stands for a state: how many rounds of messages it has seen."""

    rounds: int

    def _join(self, other: "Depth | int") -> "Depth":
        return Depth(max(self.rounds, other.rounds if isinstance(other, Depth) else 0))

    __add__ = __sub__ = __mul__ = __rsub__ = _join


class CountingRounds(Rows):
    """Rows without numbers: states know nothing but their depth."""

    root = branch = ones = Depth(0)

    def neighbors(self, h: Depth) -> Depth:
        return Depth(h.rounds + 1)

    def over_nodes(self, h: Depth) -> Depth:
        return h

    over_branches = over_nodes


@each
def test_rounds_are_as_claimed(case):
    rows = CountingRounds(extract_subgraphs(store(path(2)), identifiers=0))
    assert case.function(rows).rounds == case.rounds


@each
def test_hops_are_as_claimed(case):
    """More hops change nothing, fewer do."""
    if case.identifiers == 0:
        return
    graphs = random_graphs(60, seed=5, nodes=(4, 10), p=0.3)
    expected = case.times * count(graphs, case.pattern).values[:, 0]
    for hops, equal in ((case.hops - 1, False), (case.hops + 1, True)):
        if hops:
            found = case.function(rows_of(graphs, case.identifiers, hops))
            assert torch.equal(found, expected) == equal


@each
def test_colours_decide_counts(case):
    """Identifier-WL with as many identifiers, hops and rounds ties no nodes of different counts."""
    graphs = join(named(), random_graphs(150, seed=6, nodes=(3, 8), p=0.4))
    colors = color(
        graphs,
        identifiers=case.identifiers,
        hops=case.hops or None,
        labels="identity",
        rounds=case.rounds,
        level="node",
    )
    counts = count(graphs, case.pattern).values[:, 0].tolist()
    classes = set(zip(colors.tolist(), counts, strict=True))
    assert len(classes) == len(set(colors.tolist()))
    assert len(set(counts)) > 1


def test_fewer_identifiers_have_no_words_for_more():
    graphs = store(cycle(4))
    with pytest.raises(ValueError, match="needs 2 identifiers, but rows have 1"):
        paths_beyond_branch(rows_of(graphs, identifiers=1, hops=2))
    with pytest.raises(ValueError, match="needs 1 identifiers, but rows have 0"):
        paths_from_root(Rows(extract_subgraphs(graphs, identifiers=0)))
    with pytest.raises(ValueError, match="labels 'identity' and no others, got 'spd'"):
        Rows(extract_subgraphs(graphs, hops=1))


def test_unknown_names():
    with pytest.raises(InputError, match="no construction of 'cycle7'; there are .*cycle6 "):
        construct(store(cycle(4)), "cycle7")
    with pytest.raises(InputError, match="no construction of 'cycle5' with 1 identifiers"):
        construct(store(cycle(4)), "cycle5", identifiers=1)


# -- lemmas ------------------------------------------------------------------------------------


def test_lemma_d1_distances_from_one_identifier():
    graphs = join(awkward(), random_graphs(30, seed=7, p=0.25))
    for hops in (1, 2, 4):
        rows = rows_of(graphs, identifiers=1, hops=hops)
        labels = extract_subgraphs(graphs, identifiers=1, hops=hops, labels="spd").labels
        assert torch.equal(distances(rows, hops), labels[:, 0].long())


def test_lemma_d1_ego_nets_from_one_identifier():
    """On whole graphs, with what is too far masked, counts are those in ego-nets."""
    graphs = join(awkward(), random_graphs(30, seed=8, p=0.25))
    whole = Rows(extract_whole(graphs, identifiers=1, labels="identity"))
    for hops in (1, 2, 3):
        inside = (distances(whole, hops) > 0).long()
        walks = inside
        for _ in range(3):
            walks = inside * whole.neighbors(walks)
        ego = rows_of(graphs, identifiers=1, hops=hops)
        expected = torch.ones(ego.subgraphs.num_rows, dtype=torch.int64)
        for _ in range(3):
            expected = ego.neighbors(expected)
        assert torch.equal(whole.total(walks), ego.total(expected))


def test_lemma_d1_node_deletion_from_one_identifier():
    """With the root masked, walks are those of the graph without it."""
    graph = store(petersen())
    whole = Rows(extract_whole(graph, identifiers=1, labels="identity"))
    walks = whole.off_root
    for _ in range(3):
        walks = whole.off_root * whole.neighbors(walks)
    adjacency = np.zeros((10, 10), dtype=int)
    adjacency[tuple(graph.edge_index.numpy())] = 1
    for i, found in enumerate(whole.total(walks).tolist()):
        rest = np.delete(np.delete(adjacency, i, 0), i, 1)
        assert found == np.linalg.matrix_power(rest, 3).sum()


def pairs_by_definition(graphs: GraphStore) -> Tensor:
    """#0 .. #3 at every node, by listing pairs of a 4-path and a 2-path: [N, 4]."""
    near = [set(graphs.neighbor[a:b].tolist()) for a, b in zip(*_ends(graphs), strict=True)]
    found = torch.zeros(graphs.num_nodes, 4, dtype=torch.int64)
    for i, a_nodes in enumerate(near):
        for a in a_nodes:
            for b in near[a] - {i}:
                for c in near[b] - {i, a}:
                    for k in near[c] - {i, a, b}:
                        middles = near[i] & near[k]
                        hits = [len(middles), c in middles, b in middles, a in middles]
                        found[i] += torch.tensor(hits, dtype=torch.int64)
    return found


def _ends(graphs: GraphStore) -> tuple[list[int], list[int]]:
    ptr = graphs.edge_ptr.tolist()
    return ptr[:-1], ptr[1:]


def test_pairs_of_paths_are_as_defined():
    """#0 .. #3 of Theorem 4.1, one by one, and as patterns of their own."""
    graphs = join(awkward(), store(complete(5)), random_graphs(30, seed=9, nodes=(4, 8), p=0.5))
    rows = rows_of(graphs, identifiers=2, hops=3)
    cases = (all_pairs, meeting_last, meeting_midway, meeting_first)
    found = torch.stack([case(rows) for case in cases], dim=1)
    assert torch.equal(found, pairs_by_definition(graphs))
    banner = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]
    bowtie = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    patterns = [
        Pattern(banner, 0, name="beside the tail"),
        Pattern(bowtie, 0, name="outer"),
        Pattern(banner, 4, name="leaf"),
    ]
    copies = count(graphs, patterns).values
    assert torch.equal(found[:, 1:], copies * torch.tensor([1, 2, 2]))


def test_all_graphlets_give_all_induced_orbits():
    """Theorem 4.3 in full: every position of every connected graph with up to four nodes."""
    graphs = join(named(), random_graphs(40, seed=10, nodes=(3, 9), p=0.5))
    names = ["path2", "path2_middle", "cycle3", "path3", "path3_middle", "star3_leaf", "star3"]
    names += ["cycle4", "tailed_triangle", "tailed_triangle_base", "tailed_triangle_hub"]
    names += ["chordal_cycle", "chordal_cycle_chord", "clique4"]
    columns = [graphs.degree.long(), *(construct(graphs, name) for name in names)]
    induced = induced_orbits(torch.stack(columns, dim=1).numpy())
    np.testing.assert_array_equal(induced, count(graphs, "orbit0..orbit14").values.numpy())


# -- the table ---------------------------------------------------------------------------------


def test_every_target_of_the_paper_has_a_construction():
    assert set(PAPER_TARGETS) <= {name for name, _ in CONSTRUCTIONS}
    for (name, _), case in CONSTRUCTIONS.items():
        assert name not in CATALOGUE or case.pattern == CATALOGUE[name]


def test_the_document_has_the_same_table():
    text = (REPOSITORY / "docs/theory.md").read_text()
    row = r"^\| `(\w+)` \| ([^|]+) \| (\d) \| (\d) \| (\d) \| (\d) \|"
    listed = {
        (case.name, case.theorem, *map(str, (case.identifiers, case.hops, case.rounds, case.times)))
        for case in ALL
    }
    assert set(re.findall(row, text, re.MULTILINE)) == listed
