"""Data sets of pairs: sizes, what pairs they hold, where their files come from."""

import dataclasses
import hashlib
import json
import threading
from collections import Counter
from functools import partial
from http.server import ThreadingHTTPServer

import networkx
import pytest

from i2gnn import InputError
from i2gnn.expressiveness import color, datasets
from i2gnn.expressiveness.datasets import FILES, PAIR_SETS, load_pairs
from tests.data.test_download import QuietHandler
from tests.expressiveness.datasets import load
from tests.helpers import to_networkx


@pytest.mark.parametrize(
    ("name", "pairs", "graphs", "categories"),
    [
        ("paper", 11, 22, {"cycles": 6, "wheels": 4, "rook / Shrikhande": 1}),
        ("exp", 600, 1200, {"EXP": 600}),
        ("csl", 45, 10, {"CSL": 45}),
        ("sr25", 105, 15, {"SR25": 105}),
        (
            "brec",
            400,
            800,
            {
                "basic": 60,
                "simple regular": 50,
                "strongly regular": 50,
                "extension": 100,
                "CFI": 100,
                "4-vertex condition": 20,
                "distance regular": 20,
            },
        ),
    ],
)
def test_sizes(name, pairs, graphs, categories):
    found = load(name)
    assert (len(found), len(found.graphs), found.name) == (pairs, graphs, name)
    assert Counter(found.category) == categories and found.categories == list(categories)
    assert len(set(found.title)) == pairs
    ends = found.first.tolist(), found.second.tolist()
    members = {frozenset(two) for two in zip(*ends, strict=True)}
    assert len(members) == pairs and all(len(two) == 2 for two in members)


def test_every_data_set_is_tested_for_its_size():
    assert set(PAIR_SETS) == {"paper", "exp", "csl", "sr25", "brec"}


def test_circulant_graphs_are_the_published_ones():
    """Nodes of degree 4 on one cycle, all ten of them different."""
    pairs = load("csl")
    assert (pairs.graphs.sizes["node"] == 41).all() and (pairs.graphs.degree == 4).all()
    skips = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16]
    for g, skip in enumerate(skips):
        expected = networkx.circulant_graph(41, [1, skip])
        assert set(to_networkx(pairs.graphs, g).edges) == set(expected.edges)
    assert pairs.title[:2] == ["R = 2 / R = 3", "R = 2 / R = 4"]
    assert len(set(color(pairs.graphs, "1-wl"))) == 1
    assert len(set(color(pairs.graphs, identifiers=1))) == len(skips)


def test_some_pairs_keep_their_graphs_and_names():
    pairs = load_pairs("csl")
    some = pairs.take([44, 0])
    assert some.title == [pairs.title[44], pairs.title[0]] and len(some.graphs) == 4
    for place, p in enumerate((44, 0)):
        for name, values in pairs.pair(p).columns.items():
            assert (some.pair(place).columns[name] == values).all()
    assert len(pairs.take([])) == 0


# -- files -------------------------------------------------------------------------------------


def test_unknown_names_and_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"no pairs 'grid'; expected one of paper, exp, csl"):
        load_pairs("grid")
    with pytest.raises(InputError, match=r"brec_400_pairs_graph6.json is not in .*--data-root"):
        load_pairs("brec", tmp_path)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "sr25").mkdir()
    (tmp_path / "sr25/sr251256.g6").write_text("A_\n")
    with pytest.raises(InputError, match="SHA-256 is .*; expected f55f86eb"):
        load_pairs("sr25", tmp_path)


def test_a_file_with_an_address_is_downloaded_and_checked(tmp_path, monkeypatch):
    served = tmp_path / "served"
    served.mkdir()
    content = json.dumps([{"category": "CFI", "a": "A_", "b": "A?"}]).encode()
    (served / "brec.json").write_bytes(content)
    handler = partial(QuietHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        file = dataclasses.replace(
            FILES["brec"],
            url=f"http://127.0.0.1:{server.server_port}/brec.json",
            sha256=hashlib.sha256(content).hexdigest(),
        )
        monkeypatch.setattr(datasets, "FILES", {"brec": file})
        pairs = load_pairs("brec", tmp_path / "root")
        server.shutdown()
        thread.join()
    assert pairs.category == ["CFI"] and pairs.pair(0).sizes["edge"].tolist() == [2, 0]
    assert (tmp_path / "root" / file.path).read_bytes() == content
