"""What cannot be counted: pairs that a test ties although their counts differ.

A model is at most as strong as its test. So if the test ties two nodes or graphs, and one has more
copies of a substructure than the other, then no such model counts the substructure.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import networkx
import pytest
import torch

from i2gnn import InputError, count
from i2gnn.counting import CATALOGUE, Pattern
from i2gnn.data import load_counting
from i2gnn.expressiveness import color
from i2gnn.expressiveness.constructions import Rows, derive_construction
from i2gnn.expressiveness.pairs import (
    cfi,
    cones,
    double_wheels,
    read_brec,
    read_sr25,
    rook_shrikhande,
    two_cycles,
    two_wheels,
)
from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import extract_subgraphs
from tests.helpers import data_root, random_graphs, to_networkx
from tests.named_graphs import complete, cycle, store

PATH7 = Pattern([(v, v + 1) for v in range(7)], name="path7")
PATTERNS = {p.name: p for p in CATALOGUE.values() if not p.induced} | {"path7": PATH7}


def dumbbell(bar: int) -> Pattern:
    """Two triangles joined by a path of so many edges."""
    last = 2 + bar
    triangles = [(0, 1), (1, 2), (2, 0), (last, last + 1), (last + 1, last + 2), (last + 2, last)]
    edges = triangles + [(v, v + 1) for v in range(2, last)]
    return Pattern(edges, name=f"dumbbell{bar}")


NAMED = PATTERNS | {p.name: p for p in map(dumbbell, (1, 3))}


def regular_pair() -> GraphStore:
    """Two K5, and K5,5 without a perfect matching: ten nodes of degree 4 each."""
    second = [(a + 5, b + 5) for a, b in complete(5)]
    bipartite = [(a, 5 + b) for a in range(5) for b in range(5) if a != b]
    return store(complete(5) + second, bipartite)


ONE, TWO, THREE = ({"identifiers": n} for n in (1, 2, 3))
WL1, WL3 = {"test": "1-wl"}, {"test": "2-fwl"}  # 2-FWL is as strong as 3-WL
CLIQUES = ("clique4", "clique5", "tailed_triangle", "chordal_cycle", "triangle_rectangle")


@dataclass(frozen=True)
class Limit:
    """No model that is bounded by `weaker` counts `what`; one bounded by `stronger` may.

    Attributes:
        where: In the paper; "ours" if not there.
        pair: Two graphs.
        what: Substructures, and how many there are in each.
        level: Of the counts. At nodes, those of the last node of each graph.
    """

    where: str
    pair: GraphStore
    what: dict[str, list[int]]
    weaker: dict[str, Any]
    stronger: dict[str, Any]
    level: Literal["node", "graph"] = "node"


LIMITS = {
    # MPNN: no cycles, no paths of more than two edges, no cliques, not even in whole graphs.
    **{
        f"mpnn, {length}": Limit(
            "Theorem B.2",
            two_cycles(length),
            {f"cycle{length}": [2, 0]} | ({f"path{length}": [0, 2 * length]} if length < 8 else {}),
            WL1,
            ONE,
            "graph",
        )
        for length in range(3, 9)
    },
    "mpnn, cliques": Limit(
        "ours",
        regular_pair(),
        dict(zip(CLIQUES, ([10, 0], [2, 0], [120, 0], [60, 0], [120, 0]), strict=True)),
        WL1,
        ONE,
        "graph",
    ),
    # One identifier: no cycles of more than 4 edges, no paths of more than 3, at nodes.
    **{
        f"one identifier, {length}": Limit(
            "Theorem 3.2",
            two_wheels(length),
            {
                f"cycle{length + 2}": [0, 2 * length],
                f"path{length + 1}": [0, 4 * length],
            },
            ONE,
            TWO,
        )
        for length in range(3, 7)
    },
    "one identifier, triangles": Limit(
        "ours",
        two_wheels(3),
        {"tailed_triangle": [6, 0], "chordal_cycle": [6, 0], "clique4": [2, 0]},
        ONE,
        TWO,
    ),
    "one identifier, houses": Limit(
        "ours", two_wheels(4), {"triangle_rectangle": [8, 0]}, ONE, TWO
    ),
    "one identifier, 5-cliques": Limit(
        "ours", cones(regular_pair()), {"clique5": [10, 0]}, ONE, TWO
    ),
    # One identifier, and 3-WL: in whole graphs.
    "one identifier, graphs": Limit(
        "Proposition 3.1",
        rook_shrikhande(),
        {"cycle8": [11952, 11688], "path7": [275616, 274560], "clique4": [8, 0]},
        ONE,
        TWO,
        "graph",
    ),
    "3-wl, graphs": Limit(
        "Section 5",
        rook_shrikhande(),
        {"cycle8": [11952, 11688], "path7": [275616, 274560], "clique4": [8, 0]},
        WL3,
        TWO,
        "graph",
    ),
    # Two identifiers: no cycles of more than 6 edges, no paths of more than 4, at nodes.
    **{
        f"two identifiers, {length}": Limit("ours", double_wheels(length), what, TWO, THREE)
        for length, what in (
            (3, {"cycle7": [0, 12], "path5": [216, 240]}),
            (4, {"cycle8": [0, 16], "path6": [672, 704]}),
            (5, {"path7": [1480, 1520]}),
        )
    },
    "two identifiers, 5-cliques": Limit(
        "ours", cones(rook_shrikhande()), {"clique5": [8, 0]}, TWO, THREE
    ),
    **{
        f"{name}, 5-cliques in graphs": Limit(
            "ours", cfi(complete(5)), {"clique5": [64, 0]}, weaker, THREE, "graph"
        )
        for name, weaker in (("one identifier", ONE), ("two identifiers", TWO))
    },
    # What 3-WL sees and identifiers do not. Without a node, the shorter dumbbell still has a cycle,
    # without two adjacent nodes the longer one.
    "one identifier is weaker than 3-wl": Limit(
        "Section 3.2",
        cfi(list(dumbbell(1).edges)),
        {"dumbbell1": [4, 0], "cycle8": [82, 74]},
        ONE,
        WL3,
        "graph",
    ),
    "two identifiers are not stronger than 3-wl": Limit(
        "ours", cfi(list(dumbbell(3).edges)), {"dumbbell3": [4, 0]}, TWO, WL3, "graph"
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_pairs_are_tied_and_counts_differ(name):
    limit = LIMITS[name]
    at = slice(None) if limit.level == "graph" else limit.pair.node_ptr[1:] - 1
    counts = count(limit.pair, [NAMED[what] for what in limit.what], level=limit.level)
    assert dict(zip(counts.what, counts.values[at].t().tolist(), strict=True)) == limit.what
    assert all(a != b for a, b in limit.what.values())
    for options, tied in ((limit.weaker, True), (limit.stronger, False)):
        a, b = color(limit.pair, **options, level=limit.level)[at]
        assert (a == b) == tied, options


@pytest.mark.parametrize("name", [n for n in LIMITS if LIMITS[n].weaker in (ONE, TWO)])
def test_no_labels_help(name):
    """Nor does a radius: whatever the model, the pair stays tied."""
    limit = LIMITS[name]
    at = slice(None) if limit.level == "graph" else limit.pair.node_ptr[1:] - 1
    for labels in ("identity", "spd", "spd_pred"):
        for hops in (1, 2, None):
            options = limit.weaker | {"labels": labels, "hops": hops}
            a, b = color(limit.pair, **options, level=limit.level)[at]
            assert a == b


def test_pooled_states_of_nodes_tell_the_roots_of_double_wheels_apart():
    """As in the paper's ZINC model, where subgraphs hear of each other."""
    pair = double_wheels(3)
    a, b = color(pair, identifiers=2, node_states=True, level="node")[pair.node_ptr[1:] - 1]
    assert a != b


def test_resistance_distances_are_another_matter():
    """No messages make them: they tell the hubs of wheels apart, 1/2 and 9/20 from the rims."""
    wheels = extract_subgraphs(two_wheels(3), hops=1, identifiers=1, labels="resistance")
    to_rims = [wheels.resistance[wheels.pair_to_root == hub][1:, 0] for hub in (6, 13)]
    torch.testing.assert_close(to_rims[0], torch.full((6,), 0.5))
    torch.testing.assert_close(to_rims[1], torch.full((6,), 0.45))


# -- the whole picture -------------------------------------------------------------------------

COUNTABLE = {
    # level, identifiers: what of `PATTERNS` can be counted
    ("node", 0): "path2 star3 star4 star5",
    ("node", 1): "cycle3 cycle4 path2 path3 star3 star4 star5",
    ("node", 2): "cycle3 cycle4 cycle5 cycle6 path2 path3 path4 star3 star4 star5 clique4 "
    "tailed_triangle chordal_cycle triangle_rectangle",
    ("graph", 0): "path2 star3 star4 star5",
    ("graph", 1): "cycle3 cycle4 cycle5 cycle6 cycle7 path2 path3 path4 path5 path6 star3 star4 "
    "star5 tailed_triangle chordal_cycle triangle_rectangle",
    ("graph", 2): "cycle3 cycle4 cycle5 cycle6 cycle7 cycle8 path2 path3 path4 path5 path6 path7 "
    "star3 star4 star5 clique4 tailed_triangle chordal_cycle triangle_rectangle",
}


@pytest.mark.parametrize(("level", "identifiers"), COUNTABLE)
def test_what_has_a_construction_is_countable(level, identifiers):
    """Everything that is derived is exact, and everything else is refused."""
    graphs = random_graphs(25, seed=1, nodes=(1, 9), p=0.5)
    for name, pattern in PATTERNS.items():
        if name in COUNTABLE[level, identifiers].split():
            found = derive_construction(pattern, identifiers, level).count(graphs)
            assert torch.equal(found, count(graphs, pattern, level).values[:, 0]), name
        else:
            with pytest.raises(InputError, match=f"{identifiers} identifiers leave a cycle"):
                derive_construction(pattern, identifiers, level)


@pytest.mark.parametrize(("level", "identifiers"), COUNTABLE)
def test_what_has_none_has_a_pair(level, identifiers):
    """So the picture is complete.

    A pair of graphs is enough for nodes too, since counts at nodes add up to those of graphs.
    """
    weaker = {0: WL1, 1: ONE, 2: TWO}[identifiers]
    limits = [limit for limit in LIMITS.values() if limit.weaker == weaker]
    shown = {what for limit in limits if level in ("node", limit.level) for what in limit.what}
    countable = set(COUNTABLE[level, identifiers].split())
    assert not shown & countable
    assert PATTERNS.keys() <= countable | shown


@pytest.mark.parametrize("name", [n for n in LIMITS if LIMITS[n].level == "graph"])
def test_identifiers_are_bounded(name):
    """One identifier tells apart no more than 3-WL, two no more than 4-WL, which is 3-FWL."""
    pair = LIMITS[name].pair
    if pair.num_nodes > 80:
        return  # 3-FWL has n^3 colours
    for fewer, more in ((ONE, WL3), (TWO, {"test": "3-fwl"})):
        verdicts = [len(set(color(pair, **options).tolist())) for options in (fewer, more)]
        assert verdicts[0] <= verdicts[1]


def test_derived_constructions_need_no_more_than_they_say():
    graphs = random_graphs(20, seed=2, nodes=(3, 9), p=0.4)
    derived = derive_construction(CATALOGUE["cycle7"], identifiers=1, level="graph")
    assert (derived.hops, derived.rounds, derived.times) == (3, 4, 14)
    farther = extract_subgraphs(graphs, identifiers=1, hops=4, labels="identity")
    nearer = extract_subgraphs(graphs, identifiers=1, hops=2, labels="identity")
    found = [derived.function(Rows(s)).sum() for s in (farther, nearer)]
    expected = 14 * count(graphs, "cycle7", level="graph").values.sum()
    assert found[0] == expected != found[1]


def test_what_cannot_be_derived():
    with pytest.raises(InputError, match="orbit3 is induced; expected a pattern that is not"):
        derive_construction(CATALOGUE["orbit3"], identifiers=1)
    with pytest.raises(InputError, match="identifiers must be 0, 1 or 2, got 3"):
        derive_construction(CATALOGUE["cycle3"], identifiers=3)


def test_cfi():
    """On a triangle two triangles and a 6-cycle, on K4 rook and Shrikhande."""
    for base, pair in ((cycle(3), two_cycles(3)), (complete(4), rook_shrikhande())):
        found = cfi(base)
        for g in (0, 1):
            assert networkx.is_isomorphic(to_networkx(found, g), to_networkx(pair, g))


# -- rook and Shrikhande -----------------------------------------------------------------------


def paths_from(graph: GraphStore, node: int, length: int) -> list[int]:
    """Paths of 0 .. length edges from a node."""
    near = [
        graph.neighbor[a:b].tolist()
        for a, b in zip(graph.edge_ptr[:-1], graph.edge_ptr[1:], strict=True)
    ]
    found = [0] * (length + 1)

    def extend(path: list[int]) -> None:
        found[len(path) - 1] += 1
        if len(path) <= length:
            for node in near[path[-1]]:
                if node not in path:
                    extend([*path, node])

    extend([node])
    return found


def test_proposition_31_begins_with_7_paths():
    """The paper names 8-paths; 7-paths, which it holds for countable by 2-FWL, differ already.

    The literature counts the nodes of a path, the paper its edges.
    """
    pair = rook_shrikhande()
    rook, shrikhande = (paths_from(pair.batch([g]), 0, 8) for g in (0, 1))
    assert rook[:7] == shrikhande[:7] == [1, 6, 30, 138, 612, 2556, 9792]
    assert (rook[7], shrikhande[7]) == (34452, 34320)
    assert (rook[8], shrikhande[8]) == (110016, 109680)
    shorter = count(pair, "cycle3..cycle7,path2..path6", level="graph").values
    assert torch.equal(shorter[0], shorter[1])


def test_proposition_31_colours_are_those_of_the_proof():
    """With the root in a corner, refinement ends with classes of 1, 6 and 9 nodes."""
    pair = rook_shrikhande()
    from_corner = extract_subgraphs(pair, identifiers=1, hops=2, labels="identity")
    rows = Rows(from_corner)
    for state in (rows.root, rows.near_root, rows.neighbors(rows.near_root)):
        of_roots = from_corner.pair_to_root.unsqueeze(1) == torch.tensor([0, 16])
        first, second = (state[mask].sort().values.tolist() for mask in of_roots.t())
        assert first == second
    assert sorted(rows.near_root[from_corner.pair_to_root == 0].tolist()) == [0] * 10 + [1] * 6


# -- files -------------------------------------------------------------------------------------


def _file(name: str):
    root = data_root()
    if root is None or not (root / name).is_file():
        pytest.skip(f"{name} is not in the data root (I2GNN_DATA, or shared/data)")
    return root / name


@pytest.mark.slow
def test_one_identifier_counts_up_to_7_cycles_and_6_paths_in_all_synthetic_graphs():
    """What the paper leaves open, "from 5-cycles to 7-cycles"."""
    graphs = load_counting(root=_file("counting/synthetic5000.npz").parent.parent).graphs
    names = ["cycle5", "cycle6", "cycle7", "path4", "path5", "path6"]
    expected = count(graphs, names, level="graph").values
    for name, column in zip(names, expected.t(), strict=True):
        found = derive_construction(CATALOGUE[name], identifiers=1, level="graph").count(graphs)
        assert torch.equal(found, column), name


@pytest.mark.slow
def test_brec_by_identifiers_and_3wl():
    """Two identifiers and 3-WL are incomparable; one identifier is weaker than either."""
    graphs, categories = read_brec(_file("brec/brec_400_pairs_graph6.json"))
    found: Counter[str] = Counter()
    for p in range(len(categories)):
        pair = graphs.batch([2 * p, 2 * p + 1])
        colors = [color(pair, **options) for options in (ONE, WL3, TWO)]
        found["".join("+" if a != b else "-" for a, b in colors)] += 1
    assert found == {"+++": 251, "--+": 70, "-+-": 19, "---": 60}


def test_sr25_are_105_pairs():
    """The paper says 150; 15 graphs make 105."""
    graphs = read_sr25(_file("sr25/sr251256.g6"))
    assert len(graphs) * (len(graphs) - 1) // 2 == 105
