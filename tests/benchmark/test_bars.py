"""What is promised, checked on records made up here."""

import json

import pytest

from benchmarks import bench_engine
from i2gnn.benchmark.bars import check


def record(device, case, formulation, mode, quantity, value, **more):
    fields = {"device": device, "case": case, "formulation": formulation, "mode": mode}
    fields |= {"quantity": quantity, "value": value, "unit": "ms"}
    return fields | {"trained_mode": "captured" if device == "cuda" else "eager"} | more


def fabricate(device, ratio, memory_ratio):
    """Ours takes 1, copied takes the ratio; eager ours on a GPU takes 2."""
    mode = "captured" if device == "cuda" else "eager"
    records = []
    for case in ("counting", "zinc"):
        for quantity, times in (("step", ratio), ("forward", ratio), ("memory", memory_ratio)):
            records.append(record(device, case, "copied", "eager", quantity, times))
            records.append(record(device, case, "ours", mode, quantity, 1.0))
            if device == "cuda":
                records.append(record(device, case, "ours", "eager", quantity, 2.0))
    return records


def training(seconds, epochs=2000):
    run = record("cuda", "counting", "ours", None, "training", seconds, epochs=epochs)
    return [
        run,
        record("cuda", "counting", "ours", None, "first_epoch", 42.5, caches="cold"),
        record("cuda", "counting", "ours", None, "first_epoch", 12.5, caches="warm"),
    ]


def extraction(ours):
    return [
        record("cpu", "counting", "ours", None, "preprocessing", ours),
        record("cpu", "counting", "published", None, "preprocessing", 35.0),
    ]


def verdicts(records):
    return [verdict.passed for verdict in check(records)]


def test_a_run_on_a_gpu_that_keeps_all_promises():
    found = check(fabricate("cuda", 10.0, 6.0) + training(60.0))
    assert [verdict.passed for verdict in found] == [True] * 6
    assert str(found[0]).startswith("PASS  counting, step: 10 x faster than copied: 10.0 x")
    assert "eager against eager 5.0 x" in str(found[0])
    assert "compiling them takes 30.0 s more" in str(found[-1])


def test_each_promise_on_a_gpu_can_fail():
    assert verdicts(fabricate("cuda", 9.9, 6.0) + training(60.0)) == [
        *(False, False, True),  # counting: step, forward, memory
        *(False, True),  # zinc: step, memory
        True,
    ]
    assert verdicts(fabricate("cuda", 10.0, 5.9) + training(60.0)) == [
        *(True, True, False, True, False, True),
    ]
    assert verdicts(fabricate("cuda", 10.0, 6.0) + training(60.1))[-1] is False


def test_a_shorter_training_run_promises_nothing():
    assert verdicts(fabricate("cuda", 10.0, 6.0) + training(3.0, epochs=100))[-1] is None
    assert verdicts(fabricate("cuda", 10.0, 6.0))[-1] is None


def test_a_capture_that_failed_is_a_failure_with_its_reason():
    records = fabricate("cuda", 10.0, 6.0)
    for one in records:
        if (one["case"], one["mode"]) == ("counting", "captured"):
            one |= {"value": None, "reason": "operation not permitted when stream is capturing"}
    found = check(records)
    assert [verdict.passed for verdict in found[:5]] == [False, False, False, True, True]
    assert "not permitted" in str(found[0])


def test_a_model_that_trains_eagerly_is_held_to_its_eager_time():
    records = fabricate("cuda", 10.0, 6.0)
    for one in records:
        if one["case"] == "zinc":
            one["trained_mode"] = "eager"
    assert verdicts(records)[:5] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("ratio", "memory", "milliseconds", "expected"),
    [
        (3.0, 3.0, 1.166, [True] * 5),
        (2.9, 3.0, 0.05, [False, True, False, True, True]),
        (3.0, 2.9, 0.05, [True, False, True, False, True]),
        (3.0, 3.0, 1.2, [True, True, True, True, False]),
    ],
)
def test_a_run_on_a_cpu(ratio, memory, milliseconds, expected):
    assert verdicts(fabricate("cpu", ratio, memory) + extraction(milliseconds)) == expected


@pytest.mark.parametrize(("ratio", "code", "word"), [(3.0, 0, "PASS"), (2.0, 1, "FAIL")])
def test_the_script_exits_with_the_verdict(ratio, code, word, tmp_path, monkeypatch, capsys):
    records = fabricate("cpu", ratio, 3.0) + extraction(0.05)

    def run_benchmark(settings, cases, on_record, notify):
        for one in records:
            on_record(one)
        return records

    monkeypatch.setattr(bench_engine, "run_benchmark", run_benchmark)
    lines = tmp_path / "records.jsonl"
    arguments = ["--check", "--json", "--device", "cpu", "--out", str(lines)]
    assert bench_engine.main(arguments) == code
    shown = capsys.readouterr()
    assert [json.loads(line) for line in shown.out.splitlines()] == records
    assert lines.read_text() == shown.out
    assert f"{word}  counting, step: 3 x faster than copied: {ratio:.1f} x" in shown.err


def test_promises_are_about_batches_of_256_graphs(capsys):
    with pytest.raises(SystemExit):
        bench_engine.main(["--check", "--graphs", "32"])
    assert "--check is about batches of 256 graphs" in capsys.readouterr().err
