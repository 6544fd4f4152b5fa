"""Figures as SVG text, to be placed into a page."""

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib
import networkx
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from i2gnn.graphs import GraphStore
from i2gnn.training.record import bin_errors

__all__ = [
    "COLORS",
    "STYLE",
    "binned_errors",
    "compared_errors",
    "draw_counts",
    "error_by_count",
    "layout",
    "learning_curves",
    "predicted_against_true",
    "to_svg",
]

Values = npt.NDArray[np.float64]

COLORS = ("#7a8290", "#d9822b", "#1f5fd0", "#2f9e6e", "#a2468f", "#c0392b", "#17818f", "#8a6d1d")
"""One per model, in the order in which they are compared."""

MARKS = (("#b9c0ca", "o"), ("#333a44", "s"), ("#d9822b", "v"), ("#2f9e6e", "D"))
"""Colours and signs of what is compared in a figure of points, the last one most at heart."""

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa2ad",
    "axes.labelcolor": "#333a44",
    "xtick.color": "#333a44",
    "ytick.color": "#333a44",
    "axes.grid": True,
    "grid.color": "#e6e9ee",
    "svg.fonttype": "none",
    "svg.hashsalt": "i2gnn",
    "legend.frameon": False,
}


def learning_curves(histories: Mapping[str, Sequence[Mapping[str, float]]], metric: str) -> str:
    """Validation error over the epochs, one line per model; the best epoch is marked."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.6))
        axes = figure.subplots()
        for (name, history), (color, dash) in zip(histories.items(), _pens(), strict=False):
            epochs = [row["epoch"] for row in history]
            values = [row["validation"] for row in history]
            best = int(np.argmin(values))
            axes.plot(epochs, values, dash, color=color, label=name, linewidth=1.6)
            axes.plot(epochs[best], values[best], "o", color=color, markersize=5)
        axes.set(xlabel="epoch", ylabel=f"validation {metric}", yscale="log")
        _plain_log_labels(axes)
        axes.legend()
        return to_svg(figure)


def compared_errors(panels: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> str:
    """Errors of several methods on a logarithmic axis, one panel for each group of targets.

    Args:
        panels: By panel, target and method the errors; a method may have several.
    """
    names = dict.fromkeys(n for targets in panels.values() for of in targets.values() for n in of)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(13, 4.4), layout="constrained")
        widths = [len(targets) + 1 for targets in panels.values()]
        drawn = figure.subplots(1, len(panels), sharey=True, width_ratios=widths, squeeze=False)[0]
        for axes, (title, targets) in zip(drawn, panels.items(), strict=True):
            for name, (color, marker) in zip(names, MARKS, strict=False):
                points = [(x, e) for x, of in enumerate(targets.values()) for e in of.get(name, ())]
                x, errors = zip(*points, strict=True) if points else ((), ())
                axes.plot(x, errors, marker, color=color, label=name, markersize=7, alpha=0.9)
            axes.set_xticks(range(len(targets)), list(targets), rotation=30, ha="right")
            axes.set(title=title, yscale="log", xlim=(-0.6, len(targets) - 0.4))
            axes.grid(visible=False, axis="x")
        drawn[0].set_ylabel("normalised MAE")
        _plain_log_labels(drawn[0], between=())
        handles, labels = drawn[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        return to_svg(figure)


def predicted_against_true(target: Values, predictions: Mapping[str, Values], what: str) -> str:
    """One panel per model: each test node at its true (x) and predicted (y) count."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.0 * len(predictions), 3.1))
        panels = figure.subplots(1, len(predictions), sharex=True, sharey=True, squeeze=False)[0]
        top = float(target.max(initial=1.0)) * 1.05
        # Counts are whole numbers: spread them a little, or all nodes of a count fall on one line.
        jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(target))
        for panel, (name, predicted), color in zip(
            panels, predictions.items(), itertools.cycle(COLORS), strict=False
        ):
            panel.plot([0, top], [0, top], color="#333a44", linewidth=0.8, zorder=3)
            panel.scatter(
                target + jitter, predicted, s=5, alpha=0.25, color=color, linewidth=0,
                rasterized=True,
            )  # fmt: skip
            panel.set_title(name, fontsize=11)
            panel.set(xlabel=f"true number of {what}", xlim=(-0.02 * top, top))
        panels[0].set(ylabel="predicted", ylim=(-0.05 * top, top))
        return to_svg(figure)


def error_by_count(
    target: Values, predictions: Mapping[str, Values], what: str, min_nodes: int = 5
) -> str:
    """Mean absolute error of the nodes with a given true count (the paper's Figure 7).

    The lower panel shows how many nodes have that count; counts with fewer than `min_nodes`
    nodes are left out of the upper one.
    """
    errors = {name: bin_errors(target, predicted) for name, predicted in predictions.items()}
    return binned_errors(errors, what, min_nodes)


def binned_errors(errors: Mapping[str, Mapping[str, Any]], what: str, min_nodes: int = 5) -> str:
    """The same from bins as `i2gnn.training.record.bin_errors` makes them, one set per model."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.6))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        for (name, bins), (color, dash) in zip(errors.items(), _pens(), strict=False):
            count = np.array(bins["count"]) + (bins["width"] - 1) / 2  # the middle of a bin
            number, error = np.array(bins["number"]), np.array(bins["mae"])
            enough = (number >= min_nodes) & (error > 0)
            upper.plot(
                count[enough], error[enough], f"o{dash}", color=color, label=name, markersize=3,
                linewidth=1.4,
            )  # fmt: skip
        upper.set(ylabel="mean absolute error", yscale="log")
        _plain_log_labels(upper)
        upper.legend()
        lower.bar(count, number, width=0.9 * bins["width"], color="#b9c0ca")
        lower.set(xlabel=f"true number of {what} at the node", ylabel="nodes", yscale="log")
        lower.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        return to_svg(figure)


def draw_counts(
    graph: GraphStore, target: Values, predictions: Mapping[str, Values], what: str
) -> str:
    """One graph, drawn with its exact counts and then with each model's predictions.

    Predictions are coloured by their error, exact counts by their size.
    """
    drawn = networkx.Graph()
    drawn.add_nodes_from(range(graph.num_nodes))
    drawn.add_edges_from(graph.edge_index.t().tolist())
    position = layout(drawn)
    blues = LinearSegmentedColormap.from_list("counts", ["#f4f7fd", "#7aa5ee"])
    reds = LinearSegmentedColormap.from_list("errors", ["#ffffff", "#f3a6a0", "#d9382c"])
    worst = max((float(np.abs(p - target).max()) for p in predictions.values()), default=1.0)
    with matplotlib.rc_context(STYLE):
        rows = (2 + len(predictions)) // 2
        figure = Figure(figsize=(9.2, 4.2 * rows), layout="constrained")
        panels = figure.subplots(rows, 2, squeeze=False).flatten()
        _draw(panels[0], drawn, position, target, blues, [f"{v:.0f}" for v in target])
        panels[0].set_title(f"exact {what}", fontsize=11)
        for panel in panels[1 + len(predictions) :]:
            panel.set_axis_off()
        for panel, (name, predicted) in zip(panels[1:], predictions.items(), strict=False):
            error = np.abs(predicted - target)
            texts = [f"{v:.1f}".replace("-0.0", "0.0") for v in predicted]
            _draw(panel, drawn, position, error, reds, texts, top=worst)
            panel.set_title(f"{name}: off by {error.mean():.2f} on average", fontsize=11)
        return to_svg(figure)


def layout(graph: networkx.Graph) -> dict[int, Any]:
    """Positions with room for labels; springs where parts are not connected."""
    position: dict[int, Any]
    if len(graph) and networkx.is_connected(graph):
        position = networkx.kamada_kawai_layout(graph)
    else:
        position = networkx.spring_layout(graph, seed=1, k=0.6, iterations=300, method="force")
    return position


def _draw(
    axes: Axes,
    graph: networkx.Graph,
    position: dict[int, Any],
    values: Values,
    colors: LinearSegmentedColormap,
    texts: Sequence[str],
    top: float | None = None,
) -> None:
    scale = Normalize(0, max(top if top is not None else float(values.max(initial=0)), 1e-9))
    networkx.draw_networkx_edges(graph, position, ax=axes, edge_color="#b9c0ca", width=1.0)
    networkx.draw_networkx_nodes(
        graph,
        position,
        ax=axes,
        node_size=420,
        node_color=[colors(scale(v)) for v in values],
        edgecolors="#5b6470",
        linewidths=0.8,
    )
    for node, text in enumerate(texts):
        x, y = position[node]
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color="#111820")
    axes.set_axis_off()
    axes.margins(0.08)


def _pens() -> Iterator[tuple[str, str]]:
    """Colour and dash of one line after the other, however many."""
    return ((color, dash) for dash in itertools.cycle(("-", "--", ":")) for color in COLORS)


def _plain_log_labels(axes: Axes, between: tuple[float, ...] = (2.0, 5.0)) -> None:
    """0.01 instead of 10^-2 on a logarithmic axis, also between powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    def plain(value: float, _: object) -> str:
        return f"{value:.6f}".rstrip("0") if value < 1e-4 else f"{value:g}"

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, *between)))
    axes.yaxis.set_major_formatter(FuncFormatter(plain))
    axes.yaxis.set_minor_locator(LogLocator(subs=()))


def to_svg(figure: Figure) -> str:
    """The figure as an <svg> element without the XML prologue."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", bbox_inches="tight", dpi=180, metadata={"Date": None, "Creator": None}
    )
    text = buffer.getvalue()
    return text[text.index("<svg") :]
