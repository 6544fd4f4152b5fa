"""Graphs from files, a block at a time: molecules, graph6, edge lists and arrays.

A record that cannot be read becomes a `Problem` and is left out; it keeps its number, so the
numbers of a block are the positions of its graphs in the input.
"""

import csv
import dataclasses
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from i2gnn.errors import InputError
from i2gnn.graphs.convert import parse_graph6, raw_from_edge_lists
from i2gnn.graphs.edge_files import (
    read_arrays,
    read_edge_names,
    read_edge_table,
    read_edge_text,
)
from i2gnn.graphs.raw import Array, RawGraphs
from i2gnn.graphs.store import GraphStore

__all__ = ["FORMATS", "Block", "Problem", "Report", "read_blocks"]

FORMATS = {
    "smi": (".smi", ".smiles", ".ism"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet",),
    "graph6": (".g6", ".s6", ".graph6", ".sparse6"),
    "edges": (".txt", ".edges", ".edgelist", ".el"),
    "npz": (".npz",),
    "names": (".names",),
}
"""Formats and the file names that end in them; `.gz` may follow where the format is text."""

STREAMED = ("smi", "graph6")
"""Those that are read from the first byte to the last, once."""

BLOCK = 8192
LONGEST_SMILES = 100_000
LONGEST_LINE = 2**27


class Problem(NamedTuple):
    """A record that was left out: its position among the records, its line from 1, and why."""

    record: int
    line: int
    reason: str


@dataclass(frozen=True)
class Block:
    """Some graphs of a file, in input order.

    Attributes:
        store: The graphs.
        numbers: Their positions among the records of the file, from 0.
        smiles: What they were read from, if molecules; else None.
        read: Bytes of the file that had been read when the block was complete; 0 of a pipe.
        names: Of the nodes, in the format "names"; else None.
    """

    store: GraphStore
    numbers: list[int]
    smiles: list[str] | None = None
    read: int = 0
    names: Array | None = None


Report = Callable[[Problem], None]


def read_blocks(
    path: str | Path,
    report: Report,
    *,
    format: str | None = None,
    column: str | None = None,
) -> Iterator[Block]:
    """Reads graphs in blocks, so that a file of any length needs little memory.

    Args:
        path: The file; "-" is standard input.
        report: Called for each record that is left out; it may raise to stop.
        format: One of `FORMATS`; by the file name if not given.
        column: Column of the SMILES in a table; one called "smiles" if not given.
    """
    path = Path("/dev/stdin" if str(path) == "-" else path)
    _check_file(path)
    format = format or _format_of(path)
    if format not in FORMATS:
        raise InputError(f"format {format!r}; expected one of {', '.join(FORMATS)}")
    try:
        with _copy_of_pipe(path) if format not in STREAMED else nullcontext(path) as file:
            yield from _read(file, report, format, column)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a text file of format {format} ({error})") from error
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{file}: ')}") from error


def _read(path: Path, report: Report, format: str, column: str | None) -> Iterator[Block]:
    def complain(line: int, why: str) -> None:
        report(Problem(0, line, why))

    if format == "smi":
        with _open(path) as file:
            yield from _molecules(_smiles_lines(file, report), report, file)
    elif format == "graph6":
        with _open(path) as file:
            yield from _graph6(file, report)
    elif format == "csv":
        yield from _table(path, column, report)
    elif format == "parquet":
        yield from _parquet(path, column, report)
    elif format == "edges":
        yield _whole(read_edge_text(path, complain))
    elif format == "names":
        raw, names = read_edge_names(path, complain)
        yield dataclasses.replace(_whole(raw), names=names)
    else:
        yield _whole(read_arrays(path))


@contextmanager
def _copy_of_pipe(path: Path) -> Iterator[Path]:
    """A file to go back and forth in: the path itself, or what comes out of it if it is a pipe."""
    if path.is_file():
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=path.suffix) as copy:  # .tsv has tabs
        with path.open("rb") as source:
            shutil.copyfileobj(source, copy)
        copy.flush()
        yield Path(copy.name)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path}: is a directory; expected a file")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")


def _format_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    for format, endings in FORMATS.items():
        if name.endswith(endings):
            return format
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise InputError(f"{path}: unknown kind of file; expected a name in {known}, or a format")


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _bytes_read(file: IO[bytes] | None) -> int:
    """How far a file has been read; 0 for a pipe, of which nobody knows the length."""
    return file.tell() if file is not None and file.seekable() else 0


def _lines(file: IO[bytes], longest: int) -> Iterator[tuple[int, str | None]]:
    """Numbers the lines from 1; a line over the limit is None, and is never held in memory."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        too_long = len(line) > longest
        while len(line) > longest and not line.endswith(b"\n"):
            line = file.readline(longest + 1)
        if b"\0" in line:
            raise InputError(f"line {number}: a zero byte; not a text file")
        # What is no UTF-8 is most likely in a name, and if not, the record tells.
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
        yield number, None if too_long else text


def _smiles_lines(file: IO[bytes], report: Report) -> Iterator[tuple[int, int, str]]:
    """(record, line, SMILES); the SMILES is the first word of a line, blank lines are skipped."""
    record = 0
    for line, text in _lines(file, LONGEST_SMILES):
        if text is None:
            reason = f"longer than {LONGEST_SMILES} characters; expected a SMILES"
            report(Problem(record, line, reason))
        elif not text.strip():
            continue
        else:
            yield record, line, text.split()[0]
        record += 1


def _table(path: Path, column: str | None, report: Report) -> Iterator[Block]:
    with _open(path) as file:
        # The header alone says whether these are molecules or edges.
        header = next(_lines(file, LONGEST_LINE))[1] or ""
        separator = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
        names = next(csv.reader([header], delimiter=separator), [])
        wanted = _smiles_column(names, column)
        if wanted is not None:
            rows = _smiles_rows(file, names.index(wanted), separator, report)
            yield from _molecules(rows, report, file)
            return
    yield _edges(path, names, separator, report)


def _edges(table: Any, names: list[str], separator: str, report: Report) -> Block:
    """The graphs of a table of edges."""
    numbers, raw = read_edge_table(
        table, names, separator, lambda line, why: report(Problem(0, line, why))
    )
    return _whole(raw, numbers)


def _smiles_column(names: list[str], column: str | None) -> str | None:
    """The column of the SMILES, or None for a table of edges."""
    if column in names:
        return column
    for name in names:
        if name.strip().lower() == (column or "smiles").lower():
            return name
    if column is not None:
        raise InputError(f"no column {column!r}; the columns are {', '.join(names)}")
    if {"source", "target"} <= {name.strip().lower() for name in names}:
        return None
    shown = ", ".join(names)
    raise InputError(
        f"no column 'smiles' and none called 'source' and 'target', but {shown[:200]!r}; "
        "name the column of the SMILES (--column); columns are separated by commas, in .tsv by tabs"
    )


def _smiles_rows(
    file: IO[bytes], place: int, separator: str, report: Report
) -> Iterator[tuple[int, int, str]]:
    def texts() -> Iterator[str]:
        for number, text in _lines(file, LONGEST_LINE):
            if text is None:
                raise InputError(f"line {number + 1}: longer than {LONGEST_LINE} characters")
            yield text

    reader = csv.reader(texts(), delimiter=separator)
    record = 0
    for row in reader:
        line = reader.line_num + 1  # the header was read before
        if not row:
            continue
        if place >= len(row) or not row[place].strip():
            report(Problem(record, line, "no SMILES in this row"))
        else:
            yield record, line, row[place].strip()
        record += 1


def _parquet(path: Path, column: str | None, report: Report) -> Iterator[Block]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError("Parquet needs pyarrow: pip install 'i2gnn[parquet]'") from error
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowException as error:
        raise InputError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from error
    names = file.schema_arrow.names
    wanted = _smiles_column(names, column)
    if wanted is None:
        columns = [c for c in names if c.strip().lower() in ("graph", "source", "target")]
        frame = file.read(columns=columns).to_pandas()
        yield _edges(frame, columns, ",", report)
        return

    def rows() -> Iterator[tuple[int, int, str]]:
        record = 0
        for batch in file.iter_batches(BLOCK, columns=[wanted]):
            for text in batch.column(0).to_pylist():
                if isinstance(text, str) and text.strip():
                    yield record, record + 1, text.strip()
                else:
                    report(Problem(record, record + 1, f"{text!r} is not a SMILES"))
                record += 1

    yield from _molecules(rows(), report)


def _molecules(
    records: Iterable[tuple[int, int, str]], report: Report, file: IO[bytes] | None = None
) -> Iterator[Block]:
    from rdkit import rdBase

    numbers: list[int] = []
    smiles: list[str] = []
    sizes: list[int] = []
    edges: list[Array] = []

    def block() -> Block:
        raw = raw_from_edge_lists(edges, sizes)
        store = GraphStore.from_raw(raw, symmetrize=True)
        return Block(store, list(numbers), list(smiles), _bytes_read(file))

    for record, line, text in records:
        with rdBase.BlockLogs():
            molecule = _bonds(text)
        if isinstance(molecule, str):
            report(Problem(record, line, f"{_shown(text)}: {molecule}"))
            continue
        numbers.append(record)
        smiles.append(text)
        sizes.append(molecule[0])
        edges.append(molecule[1])
        if len(numbers) == BLOCK:
            yield block()
            for column in (numbers, smiles, sizes, edges):
                column.clear()
    if numbers:
        yield block()


def _bonds(smiles: str) -> tuple[int, Array] | str:
    """Number of atoms and the bonds, or why RDKit cannot read the SMILES."""
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)
    if molecule is not None:
        return molecule.GetNumAtoms(), np.argwhere(np.triu(Chem.GetAdjacencyMatrix(molecule)))
    rough = Chem.MolFromSmiles(smiles, sanitize=False)
    if rough is None:
        return "not a valid SMILES"
    problems = Chem.DetectChemistryProblems(rough)
    return str(problems[0].Message()) if problems else "not a valid molecule"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _graph6(file: IO[bytes], report: Report) -> Iterator[Block]:
    record = 0
    numbers: list[int] = []
    graphs: list[Any] = []
    for line, text in _lines(file, LONGEST_LINE):
        if text is not None and not text.strip():
            continue
        try:
            graphs += parse_graph6([text or ""])
            numbers.append(record)
        except InputError:
            reason = f"{_shown((text or '').strip())} is not graph6 or sparse6"
            report(Problem(record, line, reason))
        record += 1
        if len(numbers) == BLOCK:
            yield Block(_from_networkx(graphs), numbers, read=_bytes_read(file))
            numbers, graphs = [], []
    if numbers:
        yield Block(_from_networkx(graphs), numbers, read=_bytes_read(file))


def _from_networkx(graphs: list[Any]) -> GraphStore:
    return GraphStore.from_networkx(graphs, drop_self_loops=True)


def _whole(raw: RawGraphs, numbers: list[int] | None = None) -> Block:
    """A file that is one block: edges may be given in one direction or both."""
    store = GraphStore.from_raw(raw, symmetrize=True, drop_duplicates=True, drop_self_loops=True)
    return Block(store, np.arange(len(store)).tolist() if numbers is None else numbers)
