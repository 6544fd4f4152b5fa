"""Timing, memory, new processes, and a whole training run."""

import os

import pytest
import torch

from i2gnn.benchmark import end_to_end
from i2gnn.benchmark.agreement import relative_error
from i2gnn.benchmark.end_to_end import record_training
from i2gnn.benchmark.memory import peak_growth
from i2gnn.benchmark.processes import in_new_process
from i2gnn.benchmark.settings import BenchmarkSettings
from i2gnn.benchmark.timing import alternate
from i2gnn.errors import InputError

CPU = torch.device("cpu")


def test_works_take_turns_and_time_is_per_call(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def work(name, seconds):
        calls.append(name)
        clock[0] += seconds

    works = {"a": lambda: work("a", 2.0), "b": lambda: work("b", 3.0)}
    times = alternate(works, CPU, rounds=2, calls=3, warm_up=1)
    assert times == {"a": [2.0, 2.0], "b": [3.0, 3.0]}
    assert "".join(calls) == "a" + "b" + "aaabbb" * 2


def test_peak_memory_counts_what_was_freed_again():
    size = 2**27
    assert 0.9 * size < in_new_process(peak_of_two, size) < 1.5 * size


def peak_of_two(size):
    def work():
        for _ in range(2):
            torch.ones(size // 4)

    return peak_growth(work, CPU)


def test_a_new_process_has_its_own_environment_and_errors_come_back():
    with pytest.raises(RuntimeError, match="stated_error: InputError: TRITON_CACHE_DIR is nowhere"):
        in_new_process(stated_error, environment={"TRITON_CACHE_DIR": "nowhere"})
    assert os.environ.get("TRITON_CACHE_DIR") != "nowhere"


def stated_error():
    raise InputError(f"TRITON_CACHE_DIR is {os.environ['TRITON_CACHE_DIR']}")


def test_relative_error_takes_all_tensors_as_one_vector():
    exact = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])]
    found = [torch.tensor([3.0, 0.3]), torch.tensor([[4.4]])]
    assert relative_error(found, exact) == pytest.approx(0.1)


def test_a_training_run_is_timed_from_the_graphs_on(tmp_path, monkeypatch):
    environments = []

    def here(function, *arguments, environment=None):
        environments.append(environment)
        return function(*arguments)

    monkeypatch.setattr(end_to_end, "in_new_process", here)
    settings = BenchmarkSettings(device="cpu", layers=2, width=8, data_root=str(tmp_path))
    records = record_training(settings, epochs=2, graphs=20)
    cold, warm, training = records
    assert [r["quantity"] for r in records] == ["first_epoch", "first_epoch", "training"]
    assert (cold["caches"], warm["caches"]) == ("cold", "warm")
    assert set(environments[0]) == {"TRITON_CACHE_DIR", "NUMBA_CACHE_DIR"}
    assert environments[1] is None
    assert training["epochs"] == 2 and training["dataset"] == "synthetic"
    assert training["value"] > training["training_seconds"] > 0
    assert 0 < training["validation"] < 10
