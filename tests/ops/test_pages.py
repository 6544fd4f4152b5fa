"""Memory for rows that is used again: never twice at a time, and never more than was needed."""

import gc
import threading

import pytest
import torch

from i2gnn.ops.cpu import pages
from i2gnn.ops.cpu.pages import Pages, empty_rows


def test_memory_comes_back_with_the_last_view():
    source = Pages()
    first = source.take(1000)
    place, view = first.data_ptr(), first.view(10, 100)[3:]
    del first
    other = source.take(1000)
    assert other.data_ptr() != place  # the view is still there
    del view
    assert source.take(900).data_ptr() == place


def test_tensors_never_overlap():
    source, generator = Pages(), torch.Generator().manual_seed(0)
    live: list[tuple[int, torch.Tensor]] = []
    for number in range(500):
        if live and torch.rand((), generator=generator) < 0.5:
            at = int(torch.randint(len(live), (), generator=generator))
            value, tensor = live.pop(at)
            assert bool((tensor == value).all())
            del tensor
        else:
            size = int(torch.randint(1, 5000, (), generator=generator))
            live.append((number, source.take(size).fill_(number)))
    assert all(bool((tensor == value).all()) for value, tensor in live)


def test_never_more_than_was_in_use():
    """Growing sizes, as of batches that differ, do not pile up what no longer fits."""
    source = Pages()
    for size in range(1000, 100_000, 1000):
        tensor = source.take(size)
        assert source.held == source.used == source.most_used >= tensor.numel()
        del tensor
    assert source.most_used <= 100_000 * 9 / 8


def test_a_much_larger_buffer_is_left_alone():
    source = Pages()
    tensors = [source.take(10_000), source.take(10_000)]
    places = [tensor.data_ptr() for tensor in tensors]
    tensors.clear()
    _small = source.take(1000)  # fits into what was once in use only without one of the two
    assert source.used == 1024
    assert source.take(10_000).data_ptr() in places


def test_threads_share():
    source = Pages()
    failures = []

    def work(value: int) -> None:
        for size in range(500, 700):
            tensor = source.take(size).fill_(value)
            if not bool((tensor == value).all()):
                failures.append(size)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    source.take(1)
    gc.collect()
    assert not failures
    assert source.used <= pages._round_up(700)


def test_gradients_flow_through_them():
    """A tensor from numpy's side is one like others to autograd."""
    rows = empty_rows(600, 500).fill_(2).requires_grad_()
    (rows * rows).sum().backward()
    assert rows.grad is not None
    assert bool((rows.grad == 4).all())


@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (3, 8), (1 << 12, 80)])
def test_shapes(shape):
    rows = empty_rows(*shape)
    assert rows.shape == shape
    assert rows.dtype == torch.float32
    assert rows.is_contiguous()
