import pytest

from i2gnn.models import REGISTRY
from i2gnn.paper.theory import Theory, count_theory
from tests.named_graphs import cycle, path, store

# A path of 3 nodes (4 directed edges) and a triangle (6): every 3-hop ego-net is its whole graph.
#
#                      path                  triangle
#   nodes              3 rows, 4 messages    3 rows, 6 messages
#   pairs (i, k)       9, 3 * 4              9, 3 * 6
#   rows (i, k, j)     (1+2+1) 3, (1+2+1) 4  (2+2+2) 3, (2+2+2) 6
#   cells, products    9, 27                 9, 27
COUNTS = {
    "mpnn": (6, 10),
    "idgnn": (18, 30),
    "subgraph_mpnn": (18, 30),
    "gnnak_plain": (18, 30),
    "i2gnn": (30, 52),
    "ppgn": (18, 54),
}


@pytest.mark.parametrize("name", COUNTS)
def test_rows_and_messages_are_those_counted_by_hand(name):
    entry = REGISTRY[name]
    batch = entry.build().extract(store(path(3), cycle(3)))
    width = 32 if name == "mpnn" else 64
    assert count_theory(entry, batch) == Theory(*COUNTS[name], width, layers=4)


def test_an_isolated_node_has_one_row():
    alone = store([], num_nodes=[1])
    for name in COUNTS:
        theory = count_theory(REGISTRY[name], REGISTRY[name].build().extract(alone))
        assert (theory.rows, theory.messages) == (1, int(name == "ppgn"))


def test_cost_follows_from_the_counts():
    theory = Theory(rows=30, messages=52, width=64, layers=4)
    assert theory.multiplications == 4 * (52 * 64 + 30 * 64 * 64)
    assert theory.state_bytes == 30 * 64 * 4
