"""What the tables consist of, and which settings their runs have."""

import dataclasses

import pytest

from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.models.registry import count_published
from i2gnn.paper.candidates import CANDIDATES
from i2gnn.paper.counting import TABLES
from i2gnn.paper.counting_published import CYCLES, GRAPHLETS
from i2gnn.paper.plan import choose_experiments
from i2gnn.paper.presets import Preset, Task, configure
from i2gnn.training import RunConfig, build_model
from i2gnn.training.run import network_of
from i2gnn.training.sources import Sources
from tests.helpers import random_graphs

ROWS = ["mpnn", "idgnn", "subgraph_mpnn", "gnnak_plain", "ppgn", "i2gnn"]


def plan(table, **options):
    return choose_experiments(TABLES[table], **({"seeds": [0]} | options))


@pytest.mark.parametrize(
    ("table", "cells"), [("table2", 48), ("table3", 30), ("table6", 24), ("figure-error", 12)]
)
def test_tables_have_the_papers_rows_and_columns(table, cells):
    experiments = plan(table)
    assert len(experiments) == cells
    assert list(dict.fromkeys(e.task.model for e in experiments)) == ROWS
    assert {e.task.level for e in experiments} == {"graph" if table == "table6" else "node"}
    names = [e.name for e in plan(table, seeds=[0, 1, 2])]
    assert len(set(names)) == len(names) == 3 * cells
    assert (
        names[0]
        == f"{experiments[0].task.table}/paper-counting-mpnn-{experiments[0].task.target}-0"
    )


def test_the_ablation_does_not_repeat_runs_of_the_full_model():
    names = {e.name for e in plan("ablation")}
    assert names & {e.name for e in plan("table2")} == {
        f"table2/paper-counting-i2gnn-{target}-0" for target in CYCLES
    }
    assert len(names & {e.name for e in plan("table3")}) == 3
    assert "ablation/paper-counting-i2gnn_single-cycle5-0" in names
    by_model = {e.task.model: e.config.model for e in plan("ablation", targets=["cycle5"])}
    assert by_model["i2gnn_single"].branch_labels is False
    assert by_model["i2gnn_id"].labels == "identity"
    assert by_model["i2gnn"].labels == "spd_pred" and by_model["i2gnn"].branch_labels is None


def test_the_papers_settings():
    config = configure(
        Preset("paper"), Task("table2", "counting", "node", "i2gnn", "cycle6"), seed=2
    )
    training = config.training
    assert (training.epochs, training.batch_size, training.seed) == (2000, 256, 2)
    assert (training.loss, training.standardize) == ("l1", "train+val")
    assert (training.optimizer.name, training.optimizer.lr) == ("adam", 1e-3)
    schedule = training.schedule
    assert (schedule.name, schedule.factor, schedule.patience) == ("plateau", 0.9, 10)
    assert (config.model.num_layers, config.model.hops) == (4, 3)
    deeper = configure(
        Preset("paper-5"), Task("table2", "counting", "node", "i2gnn", "cycle3"), seed=0
    )
    assert (deeper.model.num_layers, deeper.model.hops) == (5, 1)


def test_the_papers_settings_read_otherwise():
    """By its code, or by its text to the letter; nothing else changes."""
    task = Task("table3", "counting", "node", "i2gnn", "clique4")
    paper, shared, text = (
        configure(Preset(name), task, seed=1) for name in ("paper", "paper-code", "paper-text")
    )
    assert shared.model.options == {**paper.model.options, "shared_labels": True}
    assert dataclasses.replace(shared.model, options=paper.model.options) == paper.model
    assert shared.training == paper.training
    assert text.training == paper.training
    assert text.model == dataclasses.replace(paper.model, labels="spd")
    tables = [  # of the first layer
        build_model(network_of(config.model, random_graphs(2))).encode_labels.tables
        for config in (paper, shared)
    ]
    assert [len(each) for each in tables] == [4, 2]
    kernels = configure(Preset("paper-code"), task._replace(model="gnnak_plain"), seed=1).model
    assert len(build_model(network_of(kernels, random_graphs(2))).encoders[0].tables) == 1
    rival = configure(Preset("paper-code"), task._replace(model="ppgn"), seed=1)  # has no labels
    assert rival == configure(Preset("paper"), task._replace(model="ppgn"), seed=1)
    marked = configure(Preset("paper-code"), task._replace(model="idgnn"), seed=1).model
    assert marked.options == {**paper.model.options, "learned_start": True}


@pytest.mark.parametrize(
    ("model", "squared"),
    [("i2gnn", ["cycle3"]), ("idgnn", ["cycle3"]), ("ppgn", ["cycle3", "cycle4", "cycle6"])],
)
def test_losses_of_the_published_code(model, squared):
    for dataset, expected in (("chembl", squared), ("counting", [])):
        tasks = [Task("table2", dataset, "node", model, target) for target in CYCLES]
        losses = {
            task.target: configure(Preset("paper-code"), task, 0).training.loss for task in tasks
        }
        assert [target for target, loss in losses.items() if loss == "mse"] == expected
        assert {configure(Preset("paper"), task, 0).training.loss for task in tasks} == {"l1"}


@pytest.mark.parametrize("name", ROWS)
def test_models_have_the_papers_number_of_parameters(name):
    """Table 12, which has 3 hops for all and a narrower PPGN."""
    task = Task("table2", "synthetic", "node", name, "cycle6")
    config = configure(Preset("paper"), task, seed=0)
    if name == "ppgn":
        assert config.model.hidden_channels == 300
        return
    data = RunConfig.from_dict({"data": {"count": 10, "targets": ["cycle6"]}}).data
    network = network_of(config.model, Sources().load(data).graphs)
    published = 1000 * int(str(REGISTRY[name].published).removesuffix("k"))
    assert abs(count_published(build_model(network)) - published) < 1000


def test_best_has_our_model_alone_and_longer_cycles():
    experiments = plan("table2", presets=["best"])
    assert {e.task.model for e in experiments} == {"i2gnn", "i3gnn"}
    long = {(e.task.model, e.task.target) for e in experiments if e.task.target > "cycle6"}
    assert long == {(m, t) for m in ("i2gnn", "i3gnn") for t in ("cycle7", "cycle8")}
    goal = TABLES["table2"].goal(
        Preset("best"), Task("table2", "counting", "node", "i2gnn", "cycle6")
    )
    assert goal == 0.0045


def test_more_graphs_are_those_of_best_with_more_to_train_on():
    experiments = plan("table2", presets=["more-graphs"])
    assert {e.task.dataset for e in experiments} == {"counting"}
    for experiment in experiments:
        best = configure(Preset("best"), experiment.task, seed=0)
        config, training = experiment.config, experiment.config.training
        assert config.model == best.model and training.epochs == 200
        assert dataclasses.replace(training, epochs=best.training.epochs) == best.training
        assert config.data == dataclasses.replace(best.data, more=13_500)
        assert (
            TABLES["table2"].goal(Preset("more-graphs"), experiment.task) is None
        )  # not the protocol
        assert "13,500 more graphs to train on" in experiment.deviations
    (quick, *_) = plan("table2", presets=["more-graphs"], quick=True)
    assert quick.config.data.more is None
    with pytest.raises(InputError, match="search has no runs of more-graphs; expected best-"):
        plan("search", presets=["more-graphs"])


def test_a_search_never_sees_the_test_graphs():
    experiments = plan("search")
    assert len(experiments) == len(CANDIDATES) * (len(CYCLES + GRAPHLETS) + len(CYCLES))
    assert not any(e.tests for e in [*experiments, *plan("search6")])
    names = [e.name for e in [*experiments, *plan("search6")]]
    assert len(names) == len(set(names))
    assert all(e.tests for e in plan("table2", presets=["best"]))


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_can_be_built(name):
    data = RunConfig.from_dict({"data": {"count": 10}}).data
    config = configure(
        Preset(f"best-{name}"), Task("search", "counting", "node", "i2gnn", "cycle5"), 0
    )
    model = build_model(network_of(config.model, Sources().load(data).graphs))
    assert model.hops == 2


def test_a_part_of_a_table():
    chosen = plan("table2", targets=["cycle5"], models=["i2gnn"], datasets=["chembl"], epochs=7)
    assert [e.name for e in chosen] == ["table2/paper@7-chembl-i2gnn-cycle5-0"]
    assert chosen[0].config.training.epochs == 7
    for option, value in (("targets", "cycle9"), ("models", "gcn"), ("datasets", "zinc")):
        with pytest.raises(InputError, match=f"table2 has no .* '{value}'; expected .*"):
            plan("table2", **{option: [value]})
    with pytest.raises(InputError, match="preset is 'paperr'; expected one of paper,"):
        plan("table2", presets=["paperr"])
    near = "'best-smaller-batches-end'; expected one of best-smaller-batches-ends,"
    with pytest.raises(InputError, match=near):
        plan("table2", presets=["best-smaller-batches-end"])
    with pytest.raises(InputError, match="epochs is 0"):
        plan("table2", epochs=0)


def test_quick_runs_need_no_files(tmp_path):
    chosen = plan("table2", quick=True, data_root=str(tmp_path))
    assert {e.config.data.name for e in chosen} == {"synthetic"} and len(chosen) == 24
    assert all(str(e.preset) == "quick-paper" and e.epochs == 2 for e in chosen)


def test_what_is_asked_for_twice_is_run_once():
    asked = plan("table3", presets=["paper", "paper"], seeds=[3, 3], targets=["clique4"])
    assert len(asked) == len({one.name for one in asked}) == 6  # models


def test_a_plan_without_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="search has no runs of paper; expected best-<candidate>"):
        plan("search", presets=["paper"], targets=["cycle6"])
    with pytest.raises(InputError, match="chembl_16200.smi is not in the folder of data sets"):
        plan("table2", quick=True, datasets=["chembl"], data_root=str(tmp_path))
