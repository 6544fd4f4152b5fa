"""Which implementation runs: kernels of TF32's precision only where that was allowed."""

import pytest
import torch

from i2gnn import ops
from i2gnn.ops import GRUWeights, choice
from tests.ops.gine import draw, draw_rows, make_layer, small_subgraphs

triton = pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")

SUBGRAPHS = small_subgraphs("cpu")


def gates(*first):
    return GRUWeights(*(draw(*first, *shape) for shape in ((4, 12), (4, 12), (12,), (12,))))


FUSED = {
    "gated_layer": lambda: ops.gated_layer(rows(), SUBGRAPHS, gates()),
    "gated_stack": lambda: ops.gated_stack(draw(SUBGRAPHS.num_codes, 4), SUBGRAPHS, gates(2)),
    "gine_layers": lambda: ops.gine_layer(rows(), SUBGRAPHS, make_layer(SUBGRAPHS, 4, edges=False)),
    "read_node_states": lambda: ops.node_states(rows(), SUBGRAPHS),
}
"""By the name of the fused kernels, an op that they run."""


def rows():
    return draw_rows(SUBGRAPHS.num_rows, 4)


@pytest.fixture
def ran(monkeypatch):
    """The names of fused kernels that ran, where rows are taken to be on a GPU."""
    found = []
    monkeypatch.setattr(choice, "use_triton", lambda *inputs: not ops.uses_reference())
    for name in FUSED:
        monkeypatch.setattr(triton, name, lambda *_, name=name: found.append(name) or rows())
    return found


@pytest.fixture(autouse=True)
def _precision():
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("name", FUSED)
def test_exact_float32_is_not_fused(name, ran):
    torch.set_float32_matmul_precision("highest")
    FUSED[name]()
    assert ran == []
    torch.set_float32_matmul_precision("high")
    FUSED[name]()
    assert ran == [name]
    with ops.backend("reference"):
        FUSED[name]()
    assert ran == [name]


@pytest.mark.parametrize("name", FUSED)
def test_autocast_and_the_name_of_the_backend_allow_it(name, ran, monkeypatch):
    torch.set_float32_matmul_precision("highest")
    with ops.backend("triton"):
        FUSED[name]()
    assert ran == [name]
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    FUSED[name]()
    assert ran == [name, name]


def test_other_types_are_not_fused(ran):
    torch.set_float32_matmul_precision("high")
    h = rows()
    assert choice.uses_fused(h)
    assert not any(choice.uses_fused(h.to(dtype)) for dtype in (torch.float64, torch.bfloat16))
