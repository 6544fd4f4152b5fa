"""Time to extract and label subgraphs, beside PyG's RootedEgoNets, on the same graphs.

    python benchmarks/bench_extract.py [--data-root DIR] [--graphs 5000]

Prints one JSON line per measurement and a closing table. RootedEgoNets has one identifier and no
labels, so it does less than any of our rows; it is run on fewer graphs because it is slow.
"""

import argparse
import json
import warnings

from common import best_of, describe_hardware, synthetic_graphs
from torch_geometric.data import Data
from torch_geometric.transforms import RootedEgoNets

from i2gnn import GraphStore, extract_subgraphs

SETTINGS = [(1, "spd"), (2, "identity"), (2, "spd"), (2, "spd_pred"),
            (2, "spd+resistance")]  # fmt: skip


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", help="folder with counting/synthetic5000.npz")
    parser.add_argument("--graphs", type=int, default=5000)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse")  # PyG's sparse tensors, on every call
    graphs, source = synthetic_graphs(arguments.graphs, arguments.data_root)
    print(json.dumps({"graphs": len(graphs), "source": source, **describe_hardware()}))

    rows = []
    for identifiers, labels in SETTINGS:
        options = {"hops": arguments.hops, "identifiers": identifiers, "labels": labels}
        extract_subgraphs(graphs.batch(range(8)), **options)  # compiles
        seconds = best_of(arguments.repeats, lambda o=options: extract_subgraphs(graphs, **o))
        rows.append(("i2gnn", identifiers, labels, 1000 * seconds / len(graphs)))
    few = min(500, len(graphs))
    data = [pyg_data(graphs.batch([g])) for g in range(few)]
    transform = RootedEgoNets(arguments.hops)
    seconds = best_of(3, lambda: [transform(item) for item in data])
    rows.append(("PyG RootedEgoNets", 1, "none", 1000 * seconds / few))

    theirs = rows[-1][3]
    for name, identifiers, labels, per_graph in rows:
        record = {"name": name, "identifiers": identifiers, "labels": labels}
        print(json.dumps(record | {"hops": arguments.hops, "ms_per_graph": round(per_graph, 4)}))
    print(f"\n{'':20} {'identifiers':>11}  {'labels':16} {'ms/graph':>9}  {'against PyG':>11}")
    for name, identifiers, labels, per_graph in rows:
        ratio = f"{theirs / per_graph:10.1f}x"
        print(f"{name:20} {identifiers:11}  {labels:16} {per_graph:9.3f}  {ratio:>11}")


def pyg_data(graph: GraphStore) -> Data:
    """A graph as PyG's `Data`."""
    return Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)


if __name__ == "__main__":
    main()
