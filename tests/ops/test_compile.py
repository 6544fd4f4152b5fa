"""Kernels compile for a GPU, which the interpreter does not show."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("i2gnn.ops.triton", reason="Triton is not installed")


@pytest.mark.slow
def test_every_kernel_compiles(tmp_path: Path) -> None:
    script = Path(__file__).with_name("compile_kernels.py")
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    env |= {"TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert "gated_kernels.gates_kernel" in found["compiled"]
    assert not found["missing"]
