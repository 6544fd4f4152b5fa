"""Exact counting, side by side with igraph, networkx and orbit-count; JSON lines on stdout.

    python benchmarks/bench_count.py                 the data set of the paper, then graphs to 10^5
    python benchmarks/bench_count.py --largest 6     graphs to 10^6 nodes
    python benchmarks/bench_count.py --only speed    the comparison alone

The 5,000 graphs of the paper are read from --data-root or I2GNN_DATA; without them, random graphs
of the same size stand in. Every tool does the same work where it can, each in the same run, and
every number is the best of some repetitions, since other programs disturb the slower ones.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import igraph
import networkx
import numpy as np
import orbit_count
from common import best_of, describe_hardware, synthetic_graphs

from i2gnn.counting import PAPER_TARGETS, count
from i2gnn.graphs import GraphStore, RawGraphs

NINE = list(PAPER_TARGETS)
CYCLES = "cycle3..cycle6"
ORBITS = "orbit0..orbit14"


def show(**record: Any) -> None:
    """Prints one JSON line."""
    print(json.dumps(record), flush=True)


def edge_lists(store: GraphStore, number: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Nodes and edges of the first graphs."""
    for g in range(number):
        one = store.batch([g])
        source, target = one.edge_index
        yield one.num_nodes, one.edge_index[:, source < target].t().tolist()


def igraph_cycles(graphs: list[igraph.Graph]) -> int:
    """3- to 6-cycles at every node, added up."""
    total = 0
    for graph in graphs:
        at_node = np.zeros((graph.vcount(), 4), dtype=np.int64)
        for found in graph.simple_cycles(max=6, output="vpath"):
            at_node[found, len(found) - 3] += 1
        total += at_node.sum()
    return int(total)


def igraph_paths(graphs: list[igraph.Graph]) -> int:
    """4-paths from every node, added up."""
    total = 0
    for graph in graphs:
        for node in range(graph.vcount()):
            lengths = Counter(map(len, graph.get_all_simple_paths(node, minlen=4, maxlen=4)))
            total += lengths[5]
    return total


def networkx_cycles(graphs: list[networkx.Graph]) -> int:
    """3- to 6-cycles at every node, added up."""
    total = 0
    for graph in graphs:
        at_node = np.zeros((len(graph), 4), dtype=np.int64)
        for found in networkx.simple_cycles(graph, length_bound=6):
            at_node[found, len(found) - 3] += 1
        total += at_node.sum()
    return int(total)


def orca(graphs: list[networkx.Graph], size: int) -> int:
    """Induced orbits at every node, added up."""
    total = 0
    for graph in graphs:
        if graph.number_of_edges():
            total += int(orbit_count.node_orbit_counts(graph, graphlet_size=size).sum())
    return total


def compare(data_root: str | None, repeat: int, sample: int) -> None:
    """Per-node counts: ours on all graphs; a slow tool on the first ones, and ours on the same."""
    store, name = synthetic_graphs(5000, data_root)
    lists = list(edge_lists(store, len(store)))
    igraphs = [igraph.Graph(n=n, edges=edges) for n, edges in lists]
    nxs = []
    for n, edges in lists:
        nxs.append(networkx.empty_graph(n))
        nxs[-1].add_edges_from(edges)
    count(store, [*NINE, "orbit0..orbit14"])  # compiles
    seconds = best_of(repeat, lambda: count(store, NINE))
    show(work="nine targets, per node", graphs=name, seconds=round(seconds, 4), limit=0.5)
    every = len(store)
    rivals: list[tuple[str, str, str, int, Callable[[], int]]] = [
        ("3- to 6-cycles", CYCLES, "igraph", every, lambda: igraph_cycles(igraphs)),
        ("3- to 6-cycles", CYCLES, "networkx", sample, lambda: networkx_cycles(nxs[:sample])),
        ("4-paths", "path4", "igraph", every, lambda: igraph_paths(igraphs)),
        ("induced orbits to 4 nodes", ORBITS, "orbit-count", every, lambda: orca(nxs, 4)),
        # Not the same work: ORCA's counts are induced and have no 6-cycles. Shown for scale.
        (
            "nine targets; ORCA to 5 nodes",
            ",".join(NINE),
            "orbit-count",
            every,
            lambda: orca(nxs, 5),
        ),
    ]
    for work, what, tool, number, rival in rivals:
        few = store.batch(range(number))
        total = int(count(few, what).values.sum())
        same = rival() == total if what != ",".join(NINE) else None
        ours = best_of(repeat, lambda what=what, few=few: count(few, what))
        theirs = best_of(max(1, repeat // 3), rival)
        show(
            work=work,
            graphs=number,
            tool=tool,
            ours_seconds=round(ours, 4),
            tool_seconds=round(theirs, 4),
            ratio=round(theirs / ours, 1),
            same_total=same,
        )


def king_grid(side: int) -> GraphStore:
    """A square grid with both diagonals: degree 8."""
    ids = np.arange(side * side).reshape(side, side)
    pairs = [
        (ids[:, :-1], ids[:, 1:]),
        (ids[:-1], ids[1:]),
        (ids[:-1, :-1], ids[1:, 1:]),
        (ids[1:, :-1], ids[:-1, 1:]),
    ]
    return one_graph(side * side, [np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])


def four_regular(nodes: int) -> GraphStore:
    """Two random permutations; the few loops and repeated edges are left out."""
    rng = np.random.default_rng(0)
    edges = [np.stack([np.arange(nodes), rng.permutation(nodes)], 1) for _ in range(2)]
    edges = [np.sort(e[e[:, 0] != e[:, 1]], axis=1) for e in edges]
    return one_graph(nodes, [np.unique(np.concatenate(edges), axis=0)])


def one_graph(nodes: int, edges: list[np.ndarray]) -> GraphStore:
    """A store of one graph."""
    joined = np.concatenate(edges)
    return GraphStore.from_raw(
        RawGraphs(np.array([nodes]), np.array([len(joined)]), joined), symmetrize=True
    )


def scale(largest: int) -> None:
    """Time per node from 10^3 to 10^largest nodes; constant means linear cost."""
    work = {
        "cycle3..cycle6": CYCLES,
        "nine": NINE,
        "cycle3..cycle8": "cycle3..cycle8",
        "path6": "path6",
    }
    for label, what in work.items():
        for name in ("king_grid", "four_regular"):
            for power in range(3, largest + 1):
                nodes = 10**power
                store = king_grid(round(nodes**0.5)) if name == "king_grid" else four_regular(nodes)
                seconds = best_of(3 if power < 5 else 1, lambda s=store, w=what: count(s, w))
                show(
                    graph=name,
                    what=label,
                    nodes=store.num_nodes,
                    seconds=round(seconds, 4),
                    microseconds_per_node=round(1e6 * seconds / store.num_nodes, 3),
                )


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data-root", default=os.environ.get("I2GNN_DATA"))
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--sample", type=int, default=500, help="graphs for the slow tools")
    parser.add_argument("--largest", type=int, default=5, help="power of ten of the largest graph")
    parser.add_argument("--only", choices=("speed", "scale"))
    arguments = parser.parse_args()
    show(**describe_hardware())
    if arguments.only != "scale":
        compare(arguments.data_root, arguments.repeat, arguments.sample)
    if arguments.only != "speed":
        scale(arguments.largest)


if __name__ == "__main__":
    main()
