"""Runs through the runner: what is skipped, what goes on, what fails."""

import dataclasses
import json
import time
from pathlib import Path

import pytest

from i2gnn.errors import InputError
from i2gnn.paper import workers
from i2gnn.paper.counting import TABLES
from i2gnn.paper.plan import choose_experiments
from i2gnn.paper.records import read_record
from i2gnn.paper.runner import Runner, RunSettings, state_of
from i2gnn.paper.workers import run_experiments, take_next
from i2gnn.training.loop import CHECKPOINT
from tests.training.test_run import KEYS

pytestmark = pytest.mark.usefixtures("one_thread")


def quick(table="table2", epochs=None, **options):
    usual = {"seeds": [0], "targets": ["cycle3"], "quick": True, "data_root": "none"}
    return choose_experiments(TABLES[table], epochs=epochs, **(usual | options))


def settings(folder: Path, **changes):
    return RunSettings(results=folder / "results", runs=folder / "runs", device="cpu", **changes)


def run(experiments, where, notify=lambda event: None):
    return run_experiments(experiments, where, notify)


def test_a_run_leaves_a_complete_record_and_is_not_repeated(tmp_path):
    (experiment,) = quick(models=["i2gnn"])
    where, seen = settings(tmp_path), []
    run([experiment], where, seen.append)
    states = [event.state for event in seen]
    assert states[0] == "running" and states.index("done") == len(states) - 1
    record = read_record(tmp_path / "results" / f"{experiment.name}.json")
    assert set(record) >= KEYS | {"curve", "errors"}
    assert (record["table"], record["preset"]) == ("table2", "quick-paper")
    assert (record["model"], record["target"], record["seed"]) == ("i2gnn", "cycle3", 0)
    assert record["epochs"] == 2 and record["curve"]["epoch"] == [1, 2]
    assert record["curve"]["validation"][record["best_epoch"] - 1] == pytest.approx(
        record["validation"], rel=1e-4
    )
    bins = record["errors"]
    total = sum(n * e for n, e in zip(bins["number"], bins["mae"], strict=True))
    assert total / sum(bins["number"]) == pytest.approx(record["test_metrics"]["mae"][0], rel=1e-3)
    assert record["settings"]["training"]["time_limit"] is None
    assert experiment.differences(record) == []
    seen.clear()
    run([experiment], where, seen.append)
    assert [event.state for event in seen] == ["done"]


def test_errors_are_those_of_what_was_tested(tmp_path):
    """In the run's precision, in which predictions are others."""
    (experiment,) = quick(models=["i2gnn"])
    training = dataclasses.replace(experiment.config.training, precision="bfloat16")
    config = dataclasses.replace(experiment.config, training=training)
    experiment = dataclasses.replace(experiment, config=config)
    run([experiment], settings(tmp_path))
    record = read_record(tmp_path / "results" / f"{experiment.name}.json")
    number, errors = record["errors"]["number"], record["errors"]["mae"]
    total = sum(n * e for n, e in zip(number, errors, strict=True))
    assert total / sum(number) == pytest.approx(record["test_metrics"]["mae"][0], rel=1e-4)


def test_options_that_only_one_side_has_are_differences(tmp_path):
    (experiment,) = quick(models=["i2gnn"])
    run([experiment], settings(tmp_path))
    record = read_record(tmp_path / "results" / f"{experiment.name}.json")
    model = dataclasses.replace(experiment.config.model, options={"readout_mlp": "edge"})
    other = dataclasses.replace(
        experiment, config=dataclasses.replace(experiment.config, model=model)
    )
    (difference,) = other.differences(record)
    assert difference == "model.options.readout_mlp (was 'absent', is 'edge')"
    record["settings"]["model"]["options"] = {"readout_mlp": False}
    (difference,) = experiment.differences(record)
    assert difference == "model.options.readout_mlp (was False, is 'absent')"


def test_a_record_of_other_settings_is_told(tmp_path):
    (experiment,) = quick(models=["mpnn"])
    where = settings(tmp_path)
    run([experiment], where)
    path = experiment.record_path(where.results)
    record = json.loads(path.read_text())
    record["settings"]["training"]["optimizer"]["lr"] = 0.5
    record["settings"]["training"]["device"] = "cuda"
    path.write_text(json.dumps(record))
    event = state_of(experiment, where)
    assert event.state == "outdated"
    assert event.note.endswith("left out: training.optimizer.lr (was 0.5, is 0.001)")
    assert run([experiment], where)[experiment.name] == event
    record["settings"] = {"written": "by another version"}
    path.write_text(json.dumps(record))
    assert state_of(experiment, where).state == "outdated"


def test_a_process_that_dies_leaves_the_others_alone(tmp_path, monkeypatch):
    """Killed before it has received anything, as by a lack of memory."""
    monkeypatch.setattr(workers._Pool, "_start", _start_and_kill(workers._Pool._start, first=1))
    experiments = quick(models=["mpnn"], seeds=[0, 1, 2])
    events = run(experiments, settings(tmp_path, jobs=2))
    states = sorted(event.state for event in events.values())
    assert states == ["done", "done", "failed"]
    (failed,) = (event for event in events.values() if event.state == "failed")
    assert failed.note == "its process ended with exit code -9"


def _start_and_kill(start, first):
    started = []

    def start_one(pool, experiment):
        start(pool, experiment)
        started.append(experiment)
        if len(started) <= first:
            pool._workers[-1].process.kill()

    return start_one


def test_out_of_time_and_resumed_elsewhere(tmp_path):
    """Stopped in one folder, its files copied, resumed in another: the same as in one go."""
    (experiment,) = quick(models=["mpnn"], epochs=12)
    first, second, whole = (tmp_path / name for name in ("first", "second", "whole"))

    def stop_soon():
        log = experiment.run_dir(first / "runs") / "log.csv"
        return log.exists() and log.read_bytes().count(b"\n") > 5

    with pytest.raises(KeyboardInterrupt):
        Runner(settings(first), lambda event: None, stop_soon).run(experiment)
    event = state_of(experiment, settings(first))
    assert event.state == "stopped" and 5 <= event.epoch < 12
    first.rename(second)
    (skipped,) = run([experiment], settings(second)).values()
    assert (skipped.state, skipped.note) == ("stopped", "resume goes on")
    (done,) = run([experiment], settings(second, resume=True)).values()
    assert done.state == "done" and done.epoch == 12
    run([experiment], settings(whole))
    one, two = (read_record(experiment.record_path(f / "results")) for f in (second, whole))
    assert one["test"] == two["test"] and one["curve"] == two["curve"]


def test_no_run_begins_when_time_is_up(tmp_path):
    experiments = quick(models=["mpnn"])
    (event,) = run(experiments, settings(tmp_path, deadline=time.time() - 1)).values()
    assert event.state == "waiting" and not (tmp_path / "runs").exists()


def test_a_time_limit_stops_at_a_checkpoint(tmp_path):
    (experiment,) = quick(models=["mpnn"], epochs=10**6)
    where = settings(tmp_path, deadline=time.time() + 3)
    (event,) = run([experiment], where).values()
    assert (event.state, event.note) == ("stopped", "out of time")
    assert (experiment.run_dir(where.runs) / CHECKPOINT).is_file()
    assert not experiment.record_path(where.results).exists()


def test_one_failure_leaves_the_others_alone(tmp_path):
    experiments = quick(models=["mpnn", "i2gnn"])
    wild = dataclasses.replace(
        experiments[0].config.training,
        optimizer=dataclasses.replace(experiments[0].config.training.optimizer, lr=1e30),
    )
    experiments[0] = dataclasses.replace(
        experiments[0], config=dataclasses.replace(experiments[0].config, training=wild)
    )
    events = run(experiments, settings(tmp_path))
    failed, done = events.values()
    assert (failed.state, done.state) == ("failed", "done")
    assert "InputError: epoch" in failed.note and "expected a finite number" in failed.note
    (report,) = (tmp_path / "runs").rglob("*.error.txt")
    assert "Traceback" in report.read_text()


def test_a_process_goes_on_with_the_subgraphs_it_has():
    experiments = quick(models=["mpnn", "i2gnn"], targets=["cycle3", "cycle4"], seeds=[0, 1])
    names = [one.name.split("-", 3)[3] for one in experiments]
    assert names[:4] == ["mpnn-cycle3-0", "mpnn-cycle4-0", "i2gnn-cycle3-0", "i2gnn-cycle4-0"]
    waiting = experiments[3:]
    following = take_next(waiting, experiments[2])  # one hop, two identifiers
    assert following is not None and following.name.endswith("i2gnn-cycle3-1")
    assert following not in waiting and len(waiting) == 4
    assert take_next([], experiments[0]) is None


def test_a_search_has_no_test_result(tmp_path):
    (experiment,) = quick("search", presets=["best-small-batches"])
    run([experiment], settings(tmp_path))
    record = read_record(experiment.record_path(tmp_path / "results"))
    assert record["test"] is None and "errors" not in record
    assert record["validation"] > 0


@pytest.mark.slow  # each process imports everything anew
def test_processes_side_by_side(tmp_path, monkeypatch):
    """Two at a time, three runs; a fourth was done before, a fifth fails and is replaced."""
    experiments = quick(models=["mpnn", "ppgn"], targets=["cycle3", "cycle4"])
    where = settings(tmp_path)
    run(experiments[:1], where)
    broken = dataclasses.replace(experiments[0].config.data, name="counting")  # no such file
    failing = dataclasses.replace(
        experiments[0], seed=9, config=dataclasses.replace(experiments[0].config, data=broken)
    )
    states: dict[str, list[str]] = {}
    started = []
    start = workers._Pool._start
    monkeypatch.setattr(
        workers._Pool, "_start", lambda pool, one: (started.append(one.name), start(pool, one))
    )
    events = run(
        [failing, *experiments],
        settings(tmp_path, jobs=2, data_root=str(tmp_path)),
        lambda event: states.setdefault(event.name, []).append(event.state),
    )
    assert [event.state for event in events.values()].count("done") == 4
    assert states[experiments[0].name] == ["done"]
    assert states[experiments[1].name][0] == "running" and states[experiments[1].name][-1] == "done"
    assert events[failing.name].state == "failed"
    assert started[0] == failing.name and len(started) == 3
    assert "synthetic5000.npz is not in" in events[failing.name].note
    record = read_record(experiments[3].record_path(where.results))
    assert record["hardware"]["runs_at_once"] == 2


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("damaged", ["record", "checkpoint"])
def test_a_damaged_file_fails_its_own_run_alone(tmp_path, jobs, damaged):
    first, second = quick(models=["mpnn"], seeds=[0, 1])
    where = settings(tmp_path, jobs=jobs)
    path = first.record_path(where.results)
    if damaged == "checkpoint":
        path = first.run_dir(where.runs) / CHECKPOINT
    path.parent.mkdir(parents=True)
    path.write_text("garbage")
    assert state_of(first, where).state == "failed"
    events = run([first, second], where)
    assert events[first.name].state == "failed" and str(path) in events[first.name].note
    assert events[second.name].state == "done"


def test_a_finished_run_without_its_record_needs_no_word(tmp_path):
    (experiment,) = quick(models=["mpnn"])
    where = settings(tmp_path)
    run([experiment], where)
    experiment.record_path(where.results).unlink()
    assert run([experiment], where)[experiment.name].state == "done"
    assert experiment.record_path(where.results).is_file()


def test_candidates_on_distinct_nodes_are_none_for_graphs():
    asked = {
        "presets": [
            "best-smaller-batches",
            "best-smaller-batches-distinct-additive-squared-fast-5000",
        ]
    }
    assert {str(one.preset) for one in quick("search6", **asked)} == {"quick-best-smaller-batches"}
    assert len({str(one.preset) for one in quick("search", **asked)}) == 2


def test_what_is_asked_for_is_known_though_not_together():
    with pytest.raises(InputError, match="no runs of these targets, models and data sets"):
        quick(presets=["paper", "best"], models=["mpnn"], targets=["cycle7"])
