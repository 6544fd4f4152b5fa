"""The study of counting: errors as defined, theory as learnt, models of others."""

import pytest
import torch

from i2gnn.counting import count
from i2gnn.data import Splits, generate_graphs
from i2gnn.errors import InputError
from i2gnn.expressiveness.study import FRACTIONS, Learnt, StudySettings, study
from i2gnn.expressiveness.subjects import load_subject
from tests.expressiveness.others import OfGraphs, OfNodes

TINY = StudySettings(structures=("cycle3", "path2"), graphs=20, epochs=1, device="cpu")
SMALL = {"hidden_channels": 16, "num_layers": 3}


def test_the_error_of_the_mean_is_that_of_the_test_graphs():
    learnt = study(load_subject("mpnn", SMALL), "graph", TINY)
    counts = count(generate_graphs(20, 0), ["cycle3", "path2"], level="graph").values.double()
    splits = Splits.random(20, FRACTIONS, 0)
    known = counts[torch.cat([splits.train, splits.val])]
    expected = (counts[splits.test] - known.mean(0)).abs().mean(0) / known.std(0, unbiased=False)
    assert [one.structure for one in learnt] == ["cycle3", "path2"]
    assert [one.mean_error for one in learnt] == pytest.approx(expected.tolist())


def test_one_identifier_learns_triangles_and_message_passing_does_not():
    settings = StudySettings(structures=("cycle3",), graphs=120, epochs=12, lr=1e-2, device="cpu")
    options = SMALL | {"hops": 1, "labels": "spd"}
    (learnt,) = study(load_subject("subgraph_mpnn", options), "node", settings)
    assert learnt.verdict != "does not"
    assert learnt.error < 0.5 * learnt.base_error
    assert learnt.base_error > 0.3 * learnt.mean_error


@pytest.mark.parametrize(
    ("error", "base", "expected"),
    [
        (0.039, 0.01, "counts"),  # 5 % of the mean's
        (0.041, 0.4, "partly"),
        (0.279, 0.4, "partly"),  # 70 % of the base's
        (0.281, 0.4, "does not"),
        (0.079, 0.01, "partly"),  # 10 % of the mean's, where the base is good itself
        (0.081, 0.01, "does not"),
    ],
)
def test_verdicts_at_the_thresholds(error, base, expected):
    assert Learnt("cycle5", "node", error, mean_error=0.8, base_error=base).verdict == expected


def test_models_of_others_are_trained_with_a_linear_layer_where_their_width_is_another():
    OfNodes.calls = 0
    (one, two) = study(load_subject(OfNodes), "node", TINY, base=[1.0, 1.0])
    assert (one.structure, two.structure) == ("cycle3", "path2")
    assert 0 < one.error < 10
    assert OfNodes.calls == TINY.graphs + 2  # once per graph, and the two that give the width


def test_training_changes_models_of_others():
    settings = StudySettings(structures=("path2",), graphs=60, epochs=30, lr=1e-2, device="cpu")
    (learnt,) = study(load_subject(OfNodes), "node", settings, base=[1.0])
    assert learnt.left < 0.2


def test_a_model_of_graphs_has_no_rows_for_nodes():
    with pytest.raises(InputError, match="a row per node"):
        study(load_subject(OfGraphs), "node", TINY)
    assert len(study(load_subject(OfGraphs), "graph", TINY, base=[1.0, 1.0])) == 2


def test_nothing_to_count_and_unknown_structures():
    with pytest.raises(InputError, match="no structures"):
        study(load_subject("mpnn"), "node", StudySettings(structures=()))
    with pytest.raises(InputError, match="heptagon"):
        study(load_subject("mpnn"), "node", StudySettings(structures=("heptagon",), graphs=5))
