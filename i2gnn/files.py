"""Files that are either complete or absent, and tensors in files that cannot execute."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from i2gnn.errors import InputError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "atomic_path",
    "load_content",
    "load_tensors",
    "lock_folder",
    "save_tensors",
    "write_atomically",
]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that becomes `path` when the block ends, and vanishes if it fails.

    The content is flushed to disk before the rename, so a crash leaves the old file or the new
    one, never half of either. Missing parent folders are made.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; the result should be as readable as any other new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes text (UTF-8) or bytes to `path`, completely or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keeps other processes that ask for the same out of a folder, which is made if missing.

    The lock goes with the process, however it ends. Where there are no such locks, as on Windows
    and on some network file systems, nothing is kept out.

    Raises:
        InputError: Another process has it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{folder} is in use by another process") from error
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def save_tensors(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
) -> None:
    """Writes tensors, and content as JSON, to one safetensors file of a named kind and version."""
    owners: dict[int, str] = {}
    plain = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    for name, tensor in plain.items():
        # The format refuses tensors that share memory, as tied weights do.
        if owners.setdefault(tensor.untyped_storage().data_ptr(), name) != name:
            plain[name] = tensor.clone()
    header = {"kind": kind, "version": version, "content": content}
    with atomic_path(path) as temporary:
        save_file(plain, temporary, metadata={"i2gnn": json.dumps(header)})


def load_content(path: str | os.PathLike[str], kind: str, version: int) -> dict[str, Any]:
    """The content alone of what `save_tensors` wrote; raises as `load_tensors` does."""
    with _opened(path, kind, version) as (_, content):
        return content


def load_tensors(
    path: str | os.PathLike[str], kind: str, version: int
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `save_tensors` wrote: the tensors, on the CPU, and the content.

    Raises:
        InputError: No such file, or one of another format, kind or version.
    """
    with _opened(path, kind, version) as (file, content):
        return {name: file.get_tensor(name) for name in file.keys()}, content  # noqa: SIM118


@contextlib.contextmanager
def _opened(
    path: str | os.PathLike[str], kind: str, version: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The file, for its tensors, and the content."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a saved {kind}")
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("i2gnn", "{}"))
            found = header.get("kind"), header.get("version")
            if found != (kind, version):
                raise InputError(
                    f"{path}: holds {found[0] or 'no known kind'} in format {found[1]}; "
                    f"expected {kind} in format {version}"
                )
            yield file, header["content"]
    except (SafetensorError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not a saved {kind} ({error})") from error
