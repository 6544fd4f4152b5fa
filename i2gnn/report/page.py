"""Reports as one HTML file that needs nothing else."""

import os
from collections.abc import Mapping
from typing import Any

import jinja2

from i2gnn.files import write_atomically

__all__ = ["write_page"]


def write_page(path: str | os.PathLike[str], template: str, values: Mapping[str, Any]) -> None:
    """Fills a template of this folder and writes the page, completely or not at all.

    Text is escaped; figures (SVG made by `i2gnn.report.figures`) are passed as `markupsafe.Markup`.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("i2gnn", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    write_atomically(path, environment.get_template(template).render(values))
