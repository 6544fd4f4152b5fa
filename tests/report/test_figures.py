import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from i2gnn.report import figures
from tests.named_graphs import cycle, store

TARGET = np.array([0.0, 1, 2, 2, 3, 5, 5, 5, 5, 5])
PREDICTIONS = {"A & B": TARGET + 0.1, "<exact>": TARGET.copy()}


def check(svg: str, *texts: str) -> None:
    """Well-formed, self-contained, and showing the texts."""
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    shown = " ".join(root.itertext())
    for text in texts:
        assert text in shown
    links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_learning_curves():
    history = [{"epoch": e, "validation": 1 / e} for e in (1, 2, 3)]
    check(figures.learning_curves({"A & B": history}, "error"), "A & B", "epoch")


def test_all_curves_are_drawn_however_many():
    histories = {f"model {n}": [{"epoch": 1, "validation": 1.0}] for n in range(20)}
    drawn = figures.learning_curves(histories, "MAE")
    assert all(f">{name}<" in drawn for name in histories)


def test_compared_errors_are_at_their_targets(monkeypatch):
    drawn, to_svg = [], figures.to_svg
    monkeypatch.setattr(figures, "to_svg", lambda figure: drawn.append(figure) or to_svg(figure))
    first = {"5-cycle": {"A": [0.1, 0.2], "B": [0.01]}, "6-cycle": {"B": [0.03]}}
    svg = figures.compared_errors({"nodes": first, "graphs": {"5-cycle": {"A": [0.00004]}}})
    check(svg, "nodes", "graphs", "6-cycle", "A", "B", "0.0001")
    left, right = (
        {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        for axes in drawn[0].axes
    )
    assert left == {"A": [[0, 0.1], [0, 0.2]], "B": [[0, 0.01], [1, 0.03]]}
    assert right == {"A": [[0, 0.00004]], "B": []}


def test_predicted_against_true():
    svg = figures.predicted_against_true(TARGET, PREDICTIONS, "5-cycles")
    check(svg, "A & B", "<exact>", "true number of 5-cycles")


def test_error_by_count_leaves_rare_counts_out(monkeypatch):
    """Of the upper panel; exact predictions have no place on its logarithmic axis."""
    drawn, to_svg = [], figures.to_svg
    monkeypatch.setattr(figures, "to_svg", lambda figure: drawn.append(figure) or to_svg(figure))
    svg = figures.error_by_count(TARGET, PREDICTIONS, "5-cycles", min_nodes=2)
    check(svg, "mean absolute error", "nodes")
    upper, lower = drawn[0].axes
    points = {line.get_label(): line.get_xydata().tolist() for line in upper.lines}
    assert points == {"A & B": [pytest.approx([2, 0.1]), pytest.approx([5, 0.1])], "<exact>": []}
    bars = {bar.get_center()[0]: bar.get_height() for bar in lower.patches}
    assert {count: n for count, n in bars.items() if n} == {0: 1, 1: 1, 2: 2, 3: 1, 5: 5}


@pytest.mark.parametrize("parts", [1, 2])
def test_draw_counts_writes_every_count(parts):
    graph = store(cycle(5) + (cycle(3, first=5) if parts == 2 else []))
    target = np.arange(10.0, 10 + graph.num_nodes)
    svg = figures.draw_counts(graph, target, {"model": target + 0.25}, "5-cycles")
    check(svg, *[f"{value:.0f}" for value in target], "model: off by 0.25 on average")


def test_figures_are_the_same_each_time():
    first, second = (figures.error_by_count(TARGET, PREDICTIONS, "x") for _ in range(2))
    assert first == second
