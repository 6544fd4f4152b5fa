"""Files of data sets: found under a root folder, or downloaded to it, and always checked."""

import hashlib
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from i2gnn.errors import InputError
from i2gnn.files import atomic_path
from i2gnn.progress import progress_bar

__all__ = ["DataFile", "data_folder", "fetch", "is_present", "locate"]

BLOCK = 1 << 20


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        path: Where it lies below the root, with forward slashes.
        sha256: Checksum of its content, in hexadecimal.
        url: Where to download it, or None if it has no stable address.
        source: Where people find it, for the error message.
    """

    path: str
    sha256: str
    url: str | None = None
    source: str = ""


def data_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """The root of all data: `root`, else I2GNN_DATA, else i2gnn in the user's cache folder."""
    if root or (root := os.environ.get("I2GNN_DATA")):
        return Path(root).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "i2gnn"


def is_present(file: DataFile, root: str | os.PathLike[str] | None = None) -> bool:
    """Whether a data file lies under the root, whatever its content."""
    return (data_folder(root) / file.path).is_file()


def locate(
    file: DataFile, root: str | os.PathLike[str] | None = None, progress: bool = False
) -> Path:
    """The path of a data file whose checksum is right, downloaded if need be.

    Raises:
        InputError: The file is neither under the root nor to be had, or its content is another.
    """
    folder = data_folder(root)
    path = folder / file.path
    if path.is_file():
        digest = _sha256(path)
        if digest != file.sha256:
            raise InputError(
                f"{path}: SHA-256 is {digest}; expected {file.sha256}. "
                "The file is damaged or another version; replace it"
            )
        return path
    if file.url is None:
        raise InputError(
            f"{file.path} is not in {folder.absolute()}; put it there, or name the folder that "
            f"holds it with --data-root or I2GNN_DATA. Source: {file.source}"
        )
    return fetch(file.url, path, file.sha256, progress)


def fetch(url: str, path: str | os.PathLike[str], sha256: str, progress: bool = False) -> Path:
    """Downloads `url` to `path`; the file appears only when it is complete and checked."""
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=60) as response, atomic_path(path) as temporary:
            total = int(response.headers.get("Content-Length") or 0)
            with (
                temporary.open("wb") as output,
                progress_bar(f"downloading {Path(path).name}", total, progress) as advance,
            ):
                while block := response.read(BLOCK):
                    output.write(block)
                    digest.update(block)
                    advance(len(block))
            if digest.hexdigest() != sha256:
                raise InputError(f"{url}: SHA-256 is {digest.hexdigest()}; expected {sha256}")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise InputError(f"{url}: cannot be downloaded ({error})") from error
    return Path(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
