"""Edge lists as text and tables, and arrays of many graphs, as `RawGraphs`."""

import csv
import gzip
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from i2gnn.errors import InputError
from i2gnn.graphs.raw import Array, RawGraphs

__all__ = ["read_arrays", "read_edge_names", "read_edge_table", "read_edge_text"]

Complain = Callable[[int, str], None]
"""Called with the number of a line that is left out, from 1, and the reason."""

NAMES = "; the format 'names' takes names"
"""What to do about nodes that are not numbered."""


def read_edge_text(path: Path, complain: Complain) -> RawGraphs:
    """Reads one graph: two node numbers a line, separated by blanks or a comma; # is a comment."""
    try:
        pairs = _two_columns(path, dtype=np.int64).to_numpy()
        if (pairs < 0).any():
            raise ValueError("negative")
    except (ValueError, OverflowError, MemoryError):  # some line is bad: find out which
        pairs = np.array(list(_parse_lines(path, complain)), dtype=np.int64).reshape(-1, 2)
    return _one_graph(pairs)


def read_edge_names(path: Path, complain: Complain) -> tuple[RawGraphs, Array]:
    """Reads one graph whose nodes have names, two a line; returns the names in order, too.

    Lines of comments do not count where bad ones are told.
    """
    try:
        frame = _two_columns(path, dtype=str, keep_default_na=False).fillna("")
    except ValueError as error:  # no line has two words, or there is none
        raise InputError("no edges; expected two names a line") from error
    names = frame.apply(lambda column: column.str.strip()).to_numpy(dtype=object)
    good = (names != "").all(axis=1)
    for row in np.flatnonzero(~good):
        complain(int(row) + 1, f"{names[row].tolist()}: expected two names")
    numbers, known = pd.factorize(names[good].ravel())
    return _one_graph(numbers.reshape(-1, 2)), known


def _two_columns(path: Path, **options: Any) -> pd.DataFrame:
    separator = _separator(path)
    frame: pd.DataFrame = pd.read_csv(
        path,
        sep=separator,
        comment="#",
        header=None,
        usecols=[0, 1],
        index_col=False,
        quoting=csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE,
        **options,
    )
    return frame


def _open(path: Path) -> IO[str]:
    return (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix.lower() == ".gz"
        else path.open(encoding="utf-8")
    )


def _separator(path: Path) -> str:
    with _open(path) as file:
        for _ in range(1000):
            text = file.readline(10_000).split("#")[0].strip()
            if text:
                # Numbers behind two words may be written with a comma: 0 1 2,5
                decimal = "," not in "".join(text.split()[:2]) and re.search(r"\d,\d", text)
                return "," if "," in text and not decimal else r"\s+"
    return r"\s+"


def _parse_lines(path: Path, complain: Complain) -> Iterator[tuple[int, int]]:
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.split("#")[0].strip()
            if not text:
                continue
            if "\0" in text:
                raise InputError(f"line {number}: a zero byte; not a text file")
            words = re.split(r"[\s,]+", text[:200])
            # Eighteen digits fit into 64 bits; a number that large is refused below anyway.
            if len(words) >= 2 and all(re.fullmatch(r"\d{1,18}", w) for w in words[:2]):
                yield int(words[0]), int(words[1])
            else:
                shown = text if len(text) <= 60 else text[:57] + "..."
                complain(number, f"{shown!r}: expected two node numbers, from 0{NAMES}")


def read_edge_table(
    source: "Path | pd.DataFrame", names: list[str], separator: str, complain: Complain
) -> tuple[list[int], RawGraphs]:
    """Reads columns `source` and `target`, and `graph` where there are many graphs.

    Returns the numbers in `graph`, ascending, and one graph for each.
    """
    called = {name.strip().lower(): name for name in names}
    columns = [name for name in ("graph", "source", "target") if name in called]
    chosen = [called[name] for name in columns]
    first = 1
    if not isinstance(source, pd.DataFrame):
        first = 2  # below the header
        try:
            source = pd.read_csv(source, sep=separator, usecols=chosen, low_memory=False)
        except pd.errors.ParserError as error:
            raise InputError(f"not a table ({error})") from error
    frame = source[chosen].set_axis(columns, axis=1)
    values = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    # Whole numbers up to 2^53 are exact as floats, and node numbers are far smaller.
    good = np.isfinite(values).all(axis=1) & (values >= 0).all(axis=1)
    good &= (np.floor(values) == values).all(axis=1)
    for row in np.flatnonzero(~good):
        complain(int(row) + first, f"{frame.iloc[row].to_dict()}: expected node numbers, from 0")
    whole = values[good].astype(np.int64)
    if "graph" not in columns:
        return [0], _one_graph(whole)
    numbers, graph = np.unique(whole[:, 0], return_inverse=True)
    order = np.argsort(graph, kind="stable")
    graph, edges = graph[order], whole[order, 1:]
    num_nodes = np.zeros(len(numbers), dtype=np.int64)
    np.maximum.at(num_nodes, graph, edges.max(axis=1) + 1)
    raw = RawGraphs(num_nodes, np.bincount(graph, minlength=len(numbers)), edges)
    _check_numbering(int(num_nodes.sum()), len(edges))
    return numbers.tolist(), raw


def _one_graph(pairs: Array) -> RawGraphs:
    if not len(pairs):
        raise InputError(f"no edges; expected two node numbers a line{NAMES}")
    nodes = int(pairs.max()) + 1
    _check_numbering(nodes, len(pairs))
    return RawGraphs(np.array([nodes]), np.array([len(pairs)]), pairs)


def _check_numbering(nodes: int, edges: int) -> None:
    if nodes > 100 * edges + 1_000_000:
        raise InputError(
            f"node numbers up to {nodes - 1} with {edges} edges, where every number up to the "
            "largest is a node; in the format 'names', only those that occur are"
        )


def read_arrays(path: Path) -> RawGraphs:
    """Reads many graphs from an npz file.

    Arrays: `num_nodes` (or `n`, or `node_ptr`) [G]; `num_edges` [G] (or `edge_ptr` [G + 1]);
    `edges` [E, 2] (or `edge_index` [2, E]), node ids from 0 inside each graph.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if not hasattr(file, "files"):
                raise InputError("a single array; expected an npz file of several")
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError, TypeError) as error:
        raise InputError("not an npz file of plain arrays") from error
    num_nodes = _sizes(arrays, "num_nodes", "n", "node_ptr")
    num_edges = _sizes(arrays, "num_edges", "edge_ptr")
    edges = arrays["edges"] if "edges" in arrays else _needed(arrays, "edge_index").T
    if edges.ndim != 2 or edges.shape[1] != 2 or int(num_edges.sum()) != len(edges):
        raise InputError(
            f"edges of shape {edges.shape} for {int(num_edges.sum())} edges in "
            f"{len(num_edges)} graphs; expected one row (source, target) per edge"
        )
    if len(num_nodes) != len(num_edges):
        raise InputError(f"{len(num_nodes)} graphs in num_nodes, {len(num_edges)} in num_edges")
    return RawGraphs(num_nodes, num_edges, edges.astype(np.int64))


def _sizes(arrays: dict[str, Any], *names: str) -> Array:
    for name in names:
        if name in arrays:
            values = np.asarray(arrays[name]).astype(np.int64).ravel()
            return np.diff(values) if name.endswith("_ptr") else values
    return np.asarray(_needed(arrays, names[0]))


def _needed(arrays: dict[str, Any], name: str) -> Array:
    if name not in arrays:
        raise InputError(f"no array {name!r}; the file has {', '.join(arrays) or 'none'}")
    return np.asarray(arrays[name])
