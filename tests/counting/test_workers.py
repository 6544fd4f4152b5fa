import numpy as np
import pytest
import torch

from i2gnn.counting import workers
from i2gnn.counting.workers import run_adding


def _add_neighbours(start: int, stop: int, total: np.ndarray) -> None:
    for item in range(start, stop):
        total[max(0, item - 1) : item + 2] += 1


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", [2**30, 0])
def test_sums_do_not_depend_on_the_threads(
    threads: int, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "COPY_BYTES", memory)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        total = run_adding(_add_neighbours, 1000, (), (1000,))
    finally:
        torch.set_num_threads(before)
    assert total.tolist() == [2] + [3] * 998 + [2]


def test_no_items() -> None:
    assert run_adding(_add_neighbours, 0, (), (0, 3)).shape == (0, 3)
