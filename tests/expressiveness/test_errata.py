"""Where formulas of the paper are wrong as printed: they fail on a small graph, ours do not.

That ours are right everywhere is tested beside the constructions.
"""

from functools import partial

import torch

from i2gnn import count
from i2gnn.expressiveness.constructions import Rows, construct
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
from i2gnn.expressiveness.pairs import rook_shrikhande, two_wheels
from i2gnn.expressiveness.wl import extract_whole
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import extract_subgraphs
from tests.expressiveness import printed
from tests.helpers import random_graphs
from tests.named_graphs import cycle, path, store


def rows_of(graphs: GraphStore, identifiers: int, hops: int) -> Rows:
    return Rows(extract_subgraphs(graphs, identifiers=identifiers, hops=hops, labels="identity"))


def test_section_2_paths_of_a_graph_are_half_the_sum_over_nodes():
    """Printed: C(3-path, G) is the sum of C(3-path, i, G) over i."""
    graph = store(path(4))
    assert count(graph, "path3").values[:, 0].tolist() == [1, 0, 0, 1]
    assert count(graph, "path3", level="graph").values.tolist() == [[1]]


def test_lemma_d1_as_printed_forgets_distances():
    graph = store(path(4))
    rows = Rows(extract_whole(graph, identifiers=1, labels="identity"))
    from_end = rows.subgraphs.pair_to_root == 0
    assert distances(rows, 3)[from_end].tolist() == [1, 2, 3, 4]
    assert printed.distances(rows, 3)[from_end].tolist() == [1, 1, 1, 3]


def test_lemma_d2_as_printed_subtracts_once_too_often():
    """A single edge has no 3-path, nor -1."""
    rows = rows_of(store(path(2)), identifiers=1, hops=3)
    assert printed.paths3_from_root(rows).tolist() == [0, -1, 0, -1]
    assert paths_from_root(rows)[2].tolist() == [0, 0, 0, 0]


def test_lemma_d2_as_printed_is_off_by_one_at_all_neighbours():
    rows = rows_of(random_graphs(30, seed=11), identifiers=1, hops=3)
    off = paths_from_root(rows)[2] - printed.paths3_from_root(rows)
    assert torch.equal(off, rows.near_root)


def test_theorem_31_as_printed_counts_4_cycles_twice_and_not_3_paths():
    graphs = store(path(4), cycle(4))
    assert printed.path3(rows_of(graphs, 1, 3)).tolist() == [0, 0, 0, 0, 2, 2, 2, 2]
    assert construct(graphs, "path3").tolist() == [1, 0, 0, 1, 2, 2, 2, 2]
    graphs = random_graphs(30, seed=12)
    assert torch.equal(printed.path3(rows_of(graphs, 1, 3)), 2 * construct(graphs, "cycle4"))


def test_lemma_e1_as_printed_subtracts_too_often():
    """A path of three nodes has no 4-path; the printed sum is -1 from each end."""
    graph = store(path(3))
    rows = rows_of(graph, identifiers=2, hops=4)
    assert rows.total(printed.paths4_by_branch(rows)).tolist() == [-1, 0, -1]
    assert construct(graph, "path4").tolist() == [0, 0, 0]
    rows = rows_of(random_graphs(30, seed=13), identifiers=2, hops=4)
    off = paths_beyond_branch(rows)[2] - printed.paths4_by_branch(rows)
    assert torch.equal(off, rows.off_root * rows.near_branch * (1 + rows.near_root))


def test_theorem_41_as_printed_counts_6_cycles_twice():
    """C6 = #0 - #1 - #2 - #3 is 2 on the 6-cycle, where nothing else differs from print."""
    rows = rows_of(store(cycle(6)), identifiers=2, hops=3)
    cases = (all_pairs, meeting_last, meeting_midway, meeting_first)
    assert [case(rows).tolist() for case in cases] == [[2] * 6, [0] * 6, [0] * 6, [0] * 6]
    assert construct(store(cycle(6)), "cycle6").tolist() == [1] * 6


def test_case_1_as_printed_looks_at_the_wrong_node():
    """A 4-cycle has no path of five nodes; printed, i - j - k - c - k is one."""
    rows = rows_of(store(cycle(4)), identifiers=2, hops=3)
    assert printed.meeting_last(rows).tolist() == [2, 2, 2, 2]
    assert meeting_last(rows).tolist() == [0, 0, 0, 0]


def test_case_2_as_printed_lets_the_end_be_the_root():
    """A triangle has no two triangles that share a node."""
    rows = rows_of(store(cycle(3)), identifiers=2, hops=3)
    assert printed.meeting_midway(rows).tolist() == [2, 2, 2]
    assert meeting_midway(rows).tolist() == [0, 0, 0]
    rows = rows_of(random_graphs(30, seed=14), identifiers=2, hops=3)
    off = printed.meeting_midway(rows) - meeting_midway(rows)
    assert torch.equal(off, rows.over_branches(rows.over_nodes(rows.common) ** 2))


def test_case_3_as_printed_inherits_lemma_e1():
    rows = rows_of(store(path(3)), identifiers=2, hops=3)
    assert printed.meeting_first(rows).tolist() == [-1, 0, -1]
    assert meeting_first(rows).tolist() == [0, 0, 0]


def test_proposition_41_as_printed_exchanges_the_two_graphs():
    """Common neighbours of adjacent nodes are adjacent in the rook's graph, not in the other."""
    rows = rows_of(rook_shrikhande(), identifiers=2, hops=1)
    h2 = rows.common * rows.neighbors(rows.common)
    graph = rows.subgraphs.node_to_graph[rows.subgraphs.row_to_node]
    at_common = rows.common == 1
    assert set(h2[at_common & (graph == 0)].tolist()) == {1}
    assert set(h2[graph == 1].tolist()) == {0}
    assert construct(rook_shrikhande(), "clique4").tolist() == [2] * 16 + [0] * 16


def test_theorem_43_as_printed_counts_in_graphs():
    """Tailed triangles as printed sit at the middle, and are right when summed over the graph."""
    graphs = random_graphs(40, seed=15, p=0.5)
    at_middle = construct(graphs, "tailed_triangle_hub")
    in_graphs = torch.zeros(len(graphs), dtype=torch.int64)
    in_graphs.index_add_(0, graphs.node_to_graph, at_middle)
    assert torch.equal(in_graphs, count(graphs, "tailed_triangle", "graph").values[:, 0])
    assert not torch.equal(at_middle, construct(graphs, "tailed_triangle"))


def test_appendix_c_walks_are_no_cycles():
    """A single edge has a closed 4-walk; the hubs of wheels have as many closed 5-walks."""
    rows = rows_of(store(path(2)), identifiers=1, hops=1)
    assert printed.closed_walks(rows, 4).tolist() == [1, 1]
    wheels = two_wheels(3)
    walks = partial(printed.closed_walks, rows_of(wheels, identifiers=1, hops=2))
    hubs = [6, 13]
    assert len(set(walks(5)[hubs].tolist())) == 1
    assert construct(wheels, "cycle5")[hubs].tolist() == [0, 6]
