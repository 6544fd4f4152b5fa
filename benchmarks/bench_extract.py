"""Time to extract and label subgraphs, beside PyG's RootedEgoNets, on the same graphs.

    python benchmarks/bench_extract.py [--data-root DIR] [--graphs 5000]

Prints one JSON line per measurement and a closing table. RootedEgoNets has one identifier and no
labels, so it does less than any of our rows; it is run on fewer graphs because it is slow.
"""

import argparse
import json

from common import describe_hardware, synthetic_graphs

from i2gnn.benchmark.preprocessing import ours_ms, rooted_ego_nets_ms

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
    hops, repeats = arguments.hops, arguments.repeats
    graphs, source = synthetic_graphs(arguments.graphs, arguments.data_root)
    print(json.dumps({"graphs": len(graphs), "source": source, **describe_hardware()}))

    rows = []
    for identifiers, labels in SETTINGS:
        per_graph = ours_ms(graphs, hops, labels, identifiers, repeats)
        rows.append(("i2gnn", identifiers, labels, per_graph))
    few = graphs.batch(range(min(500, len(graphs))))
    rows.append(("PyG RootedEgoNets", 1, "none", rooted_ego_nets_ms(few, hops)))

    theirs = rows[-1][3]
    for name, identifiers, labels, per_graph in rows:
        record = {"name": name, "identifiers": identifiers, "labels": labels}
        print(json.dumps(record | {"hops": hops, "ms_per_graph": round(per_graph, 4)}))
    print(f"\n{'':20} {'identifiers':>11}  {'labels':16} {'ms/graph':>9}  {'against PyG':>11}")
    for name, identifiers, labels, per_graph in rows:
        ratio = f"{theirs / per_graph:10.1f}x"
        print(f"{name:20} {identifiers:11}  {labels:16} {per_graph:9.3f}  {ratio:>11}")


if __name__ == "__main__":
    main()
