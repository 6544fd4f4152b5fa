import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from i2gnn.data.download import DataFile, data_folder, fetch, locate
from i2gnn.errors import InputError

CONTENT = b"some graphs" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "graphs.npz").write_bytes(CONTENT)
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/graphs.npz"
        server.shutdown()
        thread.join()


def test_fetch_writes_the_checked_file(url: str, tmp_path: Path) -> None:
    path = fetch(url, tmp_path / "root" / "a" / "graphs.npz", SHA256, progress=True)
    assert path.read_bytes() == CONTENT


def test_fetch_leaves_nothing_when_the_checksum_is_wrong(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{SHA256}; expected {'0' * 64}"):
        fetch(url, tmp_path / "root" / "graphs.npz", "0" * 64)
    assert list((tmp_path / "root").iterdir()) == []


def test_fetch_names_an_address_that_fails(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing.npz: cannot be downloaded .*404"):
        fetch(url.replace("graphs", "nothing"), tmp_path / "graphs.npz", SHA256)


def test_locate_downloads_once(url: str, tmp_path: Path) -> None:
    file = DataFile("set/graphs.npz", SHA256, url)
    path = locate(file, tmp_path / "root")
    assert path == tmp_path / "root" / "set" / "graphs.npz"
    stamp = path.stat().st_mtime_ns
    assert locate(file, tmp_path / "root").stat().st_mtime_ns == stamp


def test_locate_refuses_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "graphs.npz").write_bytes(CONTENT[:-1])
    with pytest.raises(InputError, match=r"graphs.npz: SHA-256 is .*; expected"):
        locate(DataFile("graphs.npz", SHA256), tmp_path)


def test_locate_says_what_is_missing_and_where(tmp_path: Path) -> None:
    file = DataFile("set/graphs.npz", SHA256, source="ask the authors")
    with pytest.raises(InputError) as caught:
        locate(file, tmp_path)
    for part in ("set/graphs.npz", str(tmp_path), "--data-root", "I2GNN_DATA", "ask the authors"):
        assert part in str(caught.value)


def test_data_folder_prefers_the_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("I2GNN_DATA", str(tmp_path / "from_variable"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == tmp_path / "from_variable"
    monkeypatch.delenv("I2GNN_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "i2gnn"
