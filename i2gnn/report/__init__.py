"""Reports: figures, and pages that need nothing else."""

from i2gnn.report.page import write_page

__all__ = ["write_page"]
