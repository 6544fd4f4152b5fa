import gzip
import os
import threading
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from i2gnn.errors import InputError
from i2gnn.graphs import readers
from i2gnn.graphs.readers import Block, Problem, read_blocks


def read(path: Path, **options: str) -> tuple[list[Block], list[Problem]]:
    problems: list[Problem] = []
    return list(read_blocks(path, problems.append, **options)), problems


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["a.smi", "a.smi.gz"])
def test_molecules_keep_their_numbers(tmp_path: Path, name: str) -> None:
    text = "CCO\nC1CC\n\nc1ccccc1 benzene\nC(C)(C)(C)(C)C\nC1CC1\n"
    (block,), problems = read(written(tmp_path, name, text))
    assert block.numbers == [0, 2, 4]
    assert block.smiles == ["CCO", "c1ccccc1", "C1CC1"]
    assert block.store.sizes["node"].tolist() == [3, 6, 3]
    assert [(p.record, p.line) for p in problems] == [(1, 2), (3, 5)]
    assert "not a valid SMILES" in problems[0].reason
    assert "valence" in problems[1].reason


def test_blocks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "BLOCK", 4)
    blocks, _ = read(written(tmp_path, "a.smi", "CC\n" * 10))
    assert [block.numbers for block in blocks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize(("name", "comma"), [("a.csv", ","), ("a.tsv", "\t")])
def test_columns_of_smiles(tmp_path: Path, name: str, comma: str) -> None:
    rows = [["name", "Smiles"], ["x", "CC"], ["y", ""], ["z", "C1CC1"], ["short"]]
    text = "\n".join(comma.join(row) for row in rows)
    (block,), problems = read(written(tmp_path, name, text))
    assert block.numbers == [0, 2]
    assert [(p.record, p.line) for p in problems] == [(1, 3), (3, 5)]
    with pytest.raises(InputError, match="no column 'foo'; the columns are name, Smiles"):
        read(tmp_path / name, column="foo")


def test_quoted_fields_may_span_lines(tmp_path: Path) -> None:
    text = 'note,smiles\n"two\nlines",CC\n"a, b",C1CC1\nplain,oops(\n'
    (block,), problems = read(written(tmp_path, "a.csv", text))
    assert block.smiles == ["CC", "C1CC1"]
    assert [(p.record, p.line) for p in problems] == [(2, 5)]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"smiles": ["CC", None, "C1CC1"]}).to_parquet(path)
    (block,), problems = read(path)
    assert block.numbers == [0, 2]
    assert [p.record for p in problems] == [1]
    pd.DataFrame({"source": [0, 1], "target": [1, 2]}).to_parquet(path)
    assert read(path)[0][0].store.num_edges == 4
    pd.DataFrame({"source": [0, -1, 1], "target": [1, 2, 2]}).to_parquet(path)
    (block,), problems = read(path)
    assert block.store.num_edges == 4
    assert [p.line for p in problems] == [2]


def test_graph6_and_sparse6(tmp_path: Path) -> None:
    graphs = [networkx.cycle_graph(5), networkx.empty_graph(3), networkx.complete_graph(4)]
    lines = [networkx.to_graph6_bytes(g, header=False).decode().strip() for g in graphs]
    lines.insert(1, "not a graph!")
    lines.append(networkx.to_sparse6_bytes(graphs[0], header=False).decode().strip())
    (block,), problems = read(written(tmp_path, "a.g6", "\n".join(lines)))
    assert block.numbers == [0, 2, 3, 4]
    assert block.store.sizes["edge"].tolist() == [10, 0, 12, 10]
    assert [(p.record, p.line) for p in problems] == [(1, 2)]


@pytest.mark.parametrize("comma", [" ", ",", "\t", ", "])
def test_edge_lists(tmp_path: Path, comma: str) -> None:
    text = "# a triangle, an edge twice, a loop\n0 1\n1 2\n2 0\n0 1\n1 0\n4 4\n".replace(" ", comma)
    (block,), problems = read(written(tmp_path, "a.txt", text))
    assert not problems
    assert (block.store.num_nodes, block.store.num_edges) == (5, 6)


def test_bad_lines_of_an_edge_list_are_left_out(tmp_path: Path) -> None:
    text = "0 1\nx y\n1 2\n3 -1\n5\n2 0 0.5\n"
    (block,), problems = read(written(tmp_path, "a.txt.gz", text))
    assert block.store.num_edges == 6
    assert [p.line for p in problems] == [2, 4, 5]


def test_tables_of_edges_may_hold_many_graphs(tmp_path: Path) -> None:
    text = "graph,source,target\n7,0,1\n2,0,3\n7,1,2\n7,2,0\n7,q,0\n"
    (block,), problems = read(written(tmp_path, "a.csv", text))
    assert block.numbers == [2, 7]
    assert block.store.sizes["node"].tolist() == [4, 3]
    assert block.store.sizes["edge"].tolist() == [2, 6]
    assert [p.line for p in problems] == [6]


@pytest.mark.parametrize("both", [False, True])
def test_arrays(tmp_path: Path, both: bool) -> None:
    path = tmp_path / "a.npz"
    edges = np.array([[0, 1], [1, 2], [0, 1]])
    if both:
        np.savez(path, num_nodes=[3, 2], edge_ptr=[0, 2, 3], edge_index=edges.T)
    else:
        np.savez(path, n=[3, 2], num_edges=[2, 1], edges=edges)
    (block,), _ = read(path)
    assert block.store.sizes["edge"].tolist() == [4, 2]
    np.savez(path, n=[3, 2], num_edges=[2, 7], edges=edges)
    with pytest.raises(InputError, match="3, 2"):
        read(path)
    np.savez(path, edges=edges)
    with pytest.raises(InputError, match="no array 'num_nodes'; the file has edges"):
        read(path)


def test_arrays_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, n=np.array([object()], dtype=object))
    with pytest.raises(InputError, match="not an npz file of plain arrays"):
        read(path)


def test_too_sparse_a_numbering_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in the format"):
        read(written(tmp_path, "a.txt", "0 99999999999\n"))


@pytest.mark.parametrize("ending", ["smi", "csv", "g6", "txt", "npz", "parquet", "smi.gz"])
@pytest.mark.parametrize("content", [b"\x00\xff\xfe\x80" * 500, b"C" * 10_000_000])
def test_binary_files_and_endless_lines_are_refused(
    tmp_path: Path, ending: str, content: bytes
) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    try:
        blocks, problems = read(path)
    except InputError as error:
        assert str(error).startswith(str(path))
        assert len(str(error)) < 400
    else:
        assert not blocks
        assert len(problems) == 1
        assert len(problems[0].reason) < 200


def test_what_is_not_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "a.smi")
    with pytest.raises(InputError, match="is empty"):
        read(written(tmp_path, "b.smi", ""))
    with pytest.raises(InputError, match="unknown kind of file"):
        read(written(tmp_path, "b.doc", "x"))
    assert read(written(tmp_path, "c.doc", "CC"), format="smi")[0][0].numbers == [0]


@pytest.mark.parametrize("name", ["a.smi", "a.csv", "edges.csv", "a.txt", "a.names", "a.parquet"])
def test_pipes_give_what_files_give(tmp_path: Path, name: str) -> None:
    """Some formats are read twice or from their end, which a pipe cannot be."""
    texts = {
        "a.smi": "CCO\noops(\nC1CC1\n",
        "a.csv": "name,smiles\nx,CCO\ny,\nz,C1CC1\n",
        "edges.csv": "graph,source,target\n0,0,1\n0,1,2\n4,0,1\n",
        "a.txt": "0 1\n1 2\nx y\n2 0\n",
        "a.names": "ann bob\nbob eve\n",
    }
    path = tmp_path / name
    if name in texts:
        path.write_text(texts[name])
    else:
        pd.DataFrame({"smiles": ["CCO", None, "C1CC1"]}).to_parquet(path)
    format = {"a.txt": "edges"}.get(name, path.suffix[1:])
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(path.read_bytes()))
    writer.start()
    (block,), problems = read(fifo, format=format)
    writer.join()
    (expected,), as_well = read(path)
    assert problems == as_well and block.numbers == expected.numbers
    assert block.store.edge_index.equal(expected.store.edge_index)
    assert block.read == 0 or name == "a.csv"  # which is copied first


def test_a_minus_is_standard_input() -> None:
    ours, theirs = os.pipe()
    kept = os.dup(0)
    try:
        os.dup2(ours, 0)
        os.write(theirs, b"0 1\n1 2\n")
        os.close(theirs)
        (block,), _ = read(Path("-"), format="edges")
        with pytest.raises(InputError, match="/dev/stdin: unknown kind of file"):
            read(Path("-"))
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(ours)
    assert block.store.num_nodes == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", '0 1 "x\n1 2 y"\n2 0 z\n'),
        ("a.txt", "0 1 1,5\n1 2 1,0\n2 0 2,5\n"),
        ("a.names", 'a b\n"b c\nc" a\n'),
        ("a.names", "a b 1,5\nb c 1,0\nc a 2,5\n"),
        ("a.names", "Rio de Janeiro,Lima\nLima,La Paz 2\nLa Paz 2,Rio de Janeiro\n"),
    ],
)
def test_quotes_and_commas_take_no_edges_away(tmp_path: Path, name: str, text: str) -> None:
    (block,), problems = read(written(tmp_path, name, text))
    assert block.store.num_edges == 6 and not problems
    quoted = '"' in text and name == "a.names"
    assert block.store.num_nodes == (5 if quoted else 3)


def test_a_quote_that_does_not_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a table"):
        read(written(tmp_path, "a.csv", 'source,target\n0,1\n"1,2\n2,0\n'))


def test_names_may_be_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_bytes(b"CCO ethanol\nC1CC1 cyclopropan\xe9\nC\xe9C x\n")
    (block,), (problem,) = read(path)
    assert block.numbers == [0, 1] and problem.line == 3


def test_endings_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "a.SMI.GZ"
    path.write_bytes(gzip.compress(b"CCO\n"))
    (block,), _ = read(path)
    assert block.smiles == ["CCO"]
