"""Figures of the probe's page: what a model tells apart, what it counts, and where it fails."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import networkx
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from i2gnn.graphs import GraphStore
from i2gnn.report.figures import STYLE, layout, to_svg

__all__ = ["draw_pair", "gaps_over_noise", "remaining_errors", "separated_by_category"]

MODEL = "#1f5fd0"
OTHERS = ("#b9c0ca", "#d9b48f", "#8fbfa6", "#c3a0bd")
"""Reference models stay in the background."""


def separated_by_category(
    sizes: Mapping[str, int], columns: Mapping[str, Mapping[str, int]], name: str
) -> str:
    """What is told apart of each category: a bar in every cell, full if it is all pairs.

    Args:
        sizes: Pairs of each category, one row each.
        columns: For each model or test what it separates, by category.
        name: The column that is emphasised.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.9 + 1.35 * len(columns), 0.34 * len(sizes) + 0.5))
        axes = figure.subplots()
        for x, (column, counts) in enumerate(columns.items()):
            mine = column == name
            weight = "bold" if mine else "normal"
            axes.text(x, -0.75, column, fontsize=9.5, fontweight=weight, color="#333a44")
            for y, (category, size) in enumerate(sizes.items()):
                share = counts[category] / size
                axes.barh(y, 0.6, 0.62, x, color="#eef0f3", zorder=1)
                axes.barh(y, 0.6 * share, 0.62, x, color=MODEL if mine else OTHERS[0], zorder=2)
                text = f"{counts[category]}" + (f" / {size}" if mine else "")
                axes.text(
                    x + 0.63, y, text, va="center", fontsize=8.5, fontweight=weight,
                    color="#111820" if mine else "#5b6470",
                )  # fmt: skip
        axes.set_yticks(range(len(sizes)), list(sizes))
        axes.set(xlim=(-0.05, len(columns)), ylim=(len(sizes) - 0.4, -1.1))
        axes.xaxis.set_visible(False)
        axes.tick_params(left=False)
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        return to_svg(figure)


def remaining_errors(left: Mapping[str, Mapping[str, float]], counts: float) -> str:
    """What is left of the error after training, one row per structure, one dot per model.

    Args:
        left: For each model its share of the mean's error, by structure; the first is the one
            probed.
        counts: Below it a model counts.
    """
    structures = list(next(iter(left.values())))
    rows = np.arange(len(structures))[::-1]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 0.32 * len(structures) + 1.1))
        axes = figure.subplots()
        axes.axvspan(1e-4, counts, color="#e7f4ec", zorder=0)
        for n, (name, values) in reversed(list(enumerate(left.items()))):
            color = MODEL if n == 0 else OTHERS[(n - 1) % len(OTHERS)]
            known = [
                (values[s], row) for s, row in zip(structures, rows, strict=True) if s in values
            ]
            axes.plot(
                [max(value, 1e-4) for value, _ in known], [row for _, row in known], "o",
                color=color, label=name, markersize=8 if n == 0 else 6, zorder=3,
            )  # fmt: skip
        smallest = min((v for values in left.values() for v in values.values()), default=0.01)
        axes.set(xscale="log", xlim=(max(min(0.008, 0.7 * smallest), 1e-4), 1.6))
        axes.set(xlabel="error left, of that of always answering the mean")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_yticks(rows, [name.replace("_", " ") for name in structures])
        axes.tick_params(left=False)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return to_svg(figure)


def gaps_over_noise(ratios: Mapping[str, Sequence[float]], tie: float, separation: float) -> str:
    """Gap between the graphs of each pair over the rounding noise, one dot per pair.

    Args:
        ratios: For each category those of its pairs.
        tie: Below it a pair is tied.
        separation: Above it a pair is separated.
    """
    names = list(ratios)
    rows = np.arange(len(names))[::-1]
    draw = np.random.default_rng(0)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 0.42 * len(names) + 1.2))
        axes = figure.subplots()
        axes.axvspan(tie, separation, color="#fdf4e3", zorder=0)
        for row, values in zip(rows, ratios.values(), strict=True):
            shown: npt.NDArray[np.float64] = np.clip(np.asarray(values, dtype=float), 1e-2, 1e17)
            spread = draw.uniform(-0.28, 0.28, len(shown))
            colors = [
                MODEL if v > separation else "#d9382c" if v < tie else "#d9822b" for v in shown
            ]
            axes.scatter(shown, row + spread, s=9, c=colors, linewidth=0, alpha=0.7, zorder=3)
        axes.set(
            xscale="log", xlabel="gap over noise; left of the band tied, right of it separated"
        )
        axes.set_yticks(rows, names)
        axes.tick_params(left=False)
        return to_svg(figure)


def draw_pair(pair: GraphStore, title: str) -> str:
    """The two graphs of a pair, side by side."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 2.4), layout="constrained")
        for panel, g in zip(figure.subplots(1, 2), (0, 1), strict=True):
            _draw_plain(panel, pair.batch([g]))
        figure.suptitle(title, fontsize=9.5, color="#333a44")
        return to_svg(figure)


def _draw_plain(axes: Axes, graph: GraphStore) -> None:
    drawn = networkx.Graph()
    drawn.add_nodes_from(range(graph.num_nodes))
    drawn.add_edges_from(graph.edge_index.t().tolist())
    position = _pack(drawn)
    many = graph.num_nodes
    colors = [MODEL] * many
    if graph.x is not None:
        colors = ["#d9822b" if kind else MODEL for kind in graph.x[:, 0].tolist()]
    networkx.draw_networkx_edges(
        drawn, position, ax=axes, edge_color="#9aa2ad", width=0.5 if many > 40 else 0.8
    )
    networkx.draw_networkx_nodes(
        drawn, position, ax=axes, node_size=max(6, 420 / many), node_color=colors, linewidths=0
    )
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.06)


def _pack(graph: networkx.Graph) -> dict[int, Any]:
    """Positions with the components side by side, in rows, the largest first."""
    parts = sorted(networkx.connected_components(graph), key=len, reverse=True)
    radius = [max(len(part), 2) ** 0.5 for part in parts]
    wide = 2.4 * max(radius[0], (sum(r * r for r in radius)) ** 0.5) if parts else 1.0
    position: dict[int, Any] = {}
    x = y = tall = 0.0
    for part, r in zip(parts, radius, strict=True):
        if x and x + 2 * r > wide:
            x, y, tall = 0.0, y - tall, 0.0
        tall = max(tall, 2.3 * r)
        for node, (u, v) in layout(graph.subgraph(part)).items():
            position[node] = (x + r + r * u, y - r + r * v)
        x += 2.3 * r
    return position
