"""Promises about the package as a whole."""

import contextlib
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import i2gnn
from i2gnn.files import write_atomically
from tests.helpers import REPOSITORY, random_graphs


def test_public_names_exist():
    for name in i2gnn.__all__:
        assert hasattr(i2gnn, name), name
    assert i2gnn.__version__ == version("i2gnn")


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import i2gnn; from i2gnn.cli.main import main; main(['--help'])", "torch"),
        ("from i2gnn.cli.main import main; main(['count', '--help'])", "torch"),
        ("import i2gnn; i2gnn.I2GNN; i2gnn.count; i2gnn.training.fit", "torch_geometric"),
    ],
)
def test_what_is_not_needed_is_not_imported(code, unwanted):
    check = f"{code}; import sys; sys.exit({unwanted!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", check], timeout=120)
    assert done.returncode == 0


def test_packages_are_attributes():
    assert i2gnn.subgraphs.BranchedEgoNets is i2gnn.BranchedEgoNets
    folders = {path.parent.name for path in (REPOSITORY / "i2gnn").glob("*/__init__.py")}
    assert set(i2gnn.PACKAGES) == folders - {"cli"}
    with pytest.raises(AttributeError, match="module 'i2gnn' has no attribute 'nothing'"):
        i2gnn.nothing  # noqa: B018


def test_all_names_can_be_listed():
    script = "import i2gnn; print(*dir(i2gnn))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    assert {*i2gnn.__all__, "training", "__version__"} <= {*done.stdout.split()}


def test_python_in_the_documents_runs():
    documents = ("extending", "memory", "theory", "expressiveness", "training", "counting")
    for name in ("README.md", *(f"docs/{document}.md" for document in documents)):
        text = (REPOSITORY / name).read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        assert blocks, name
        for block in blocks:
            subprocess.run([sys.executable, "-c", block], check=True, cwd=REPOSITORY, timeout=120)


@pytest.mark.parametrize(
    "example", sorted((REPOSITORY / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_examples_run(example):
    done = subprocess.run(
        [sys.executable, str(example)], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout


def test_the_map_in_the_readme_names_folders_that_exist():
    readme = (REPOSITORY / "README.md").read_text()
    folders = re.findall(r"^      (\w+)/ ", readme, re.MULTILINE)
    assert len(folders) >= 8
    for folder in folders:
        assert (REPOSITORY / "i2gnn" / folder).is_dir(), folder


def test_imports_go_one_way():
    order = ["graphs", "subgraphs", "counting", "ops", "nn", "refinement", "models"]
    order += ["data", "training", "expressiveness", "benchmark", "paper", "report", "cli"]
    for low, folder in enumerate(order):
        for file in (REPOSITORY / "i2gnn" / folder).rglob("*.py"):
            text = file.read_text()
            for imported in re.findall(r"^\s*from i2gnn(?:\.| import )(\w+)", text, re.MULTILINE):
                if imported in order:
                    assert order.index(imported) <= low, f"{file} imports {imported}"


def test_models_run_without_numba(tmp_path):
    """As on a GPU machine that only trains on subgraphs extracted elsewhere."""
    model = i2gnn.I2GNN(hops=2, num_layers=2, hidden_channels=8)
    model.extract(random_graphs(3)).save(tmp_path / "subgraphs")
    script = f"""
import sys
sys.modules["numba"] = None
import pytest

import i2gnn
model = i2gnn.I2GNN(hops=2, num_layers=2, hidden_channels=8)
subgraphs = i2gnn.Subgraphs.load({str(tmp_path / "subgraphs")!r})
assert model(subgraphs).shape == (subgraphs.num_nodes, 1)
try:
    model.extract(subgraphs)
except RuntimeError as error:
    assert "needs numba" in str(error)
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=120)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    write_atomically(path, "old")

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with contextlib.suppress(OSError):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]
