"""Exact tests on data sets of pairs, pair by pair on all cores."""

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

import torch

from i2gnn.expressiveness.datasets import PairSet
from i2gnn.expressiveness.verdicts import Verdict, Verdicts
from i2gnn.expressiveness.wl import Test, color
from i2gnn.progress import progress_bar

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
    start = time.perf_counter()
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

    def judge(p: int) -> Verdict:
        first, second = test_one(pairs.pair(p))
        return "tied" if first == second else "separated"

    verdicts: dict[int, Verdict] = {}
    with (
        ThreadPoolExecutor(torch.get_num_threads()) as pool,
        progress_bar(f"{test} on {pairs.name}", len(pairs), progress) as advance,
    ):
        running = {pool.submit(judge, p): p for p in range(len(pairs))}
        try:
            for done in as_completed(running):
                p = running[done]
                verdicts[p] = done.result()
                advance(note=pairs.category[p])
        except BaseException:  # an error or Ctrl-C: pairs that have not begun are left out
            pool.shutdown(cancel_futures=True)
            raise
    found = [verdicts[p] for p in range(len(pairs))]
    return Verdicts(pairs, found, None, time.perf_counter() - start)
