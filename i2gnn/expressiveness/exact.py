"""Exact tests on data sets of pairs, pair by pair on all cores."""

import time
from functools import partial

from i2gnn.expressiveness.datasets import PairSet
from i2gnn.expressiveness.verdicts import Verdict, Verdicts
from i2gnn.expressiveness.wl import Test, color
from i2gnn.parallel import run_chunks

__all__ = ["distinguish_pairs"]


def distinguish_pairs(
    pairs: PairSet,
    test: Test = "identifier-wl",
    *,
    identifiers: int = 2,
    hops: int | None = None,
    labels: str = "spd",
    rounds: int | None = None,
    node_states: bool = False,
    readout: str = "nodes",
    progress: bool = False,
) -> Verdicts:
    """Which pairs a test tells apart; arguments as for `color`.

    Each pair is refined by itself, which takes the memory of two graphs, and only until they
    differ. Pairs are shared among as many threads as PyTorch uses.

    Example:
        >>> from i2gnn.expressiveness.datasets import load_pairs
        >>> distinguish_pairs(load_pairs("csl"), identifiers=1).count("separated")
        45
    """
    begun = time.perf_counter()
    test_one = partial(
        color,
        test=test,
        identifiers=identifiers,
        hops=hops,
        labels=labels,
        rounds=rounds,
        node_states=node_states,
        readout=readout,
    )

    verdicts: list[Verdict] = ["tied"] * len(pairs)

    def judge(start: int, stop: int) -> None:
        for p in range(start, stop):
            first, second = test_one(pairs.pair(p))
            verdicts[p] = "tied" if first == second else "separated"

    description = f"{test} on {pairs.name}" if progress else ""
    run_chunks(judge, len(pairs), (), chunks=len(pairs), description=description)
    return Verdicts(pairs, verdicts, None, time.perf_counter() - begun)
