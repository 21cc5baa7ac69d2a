"""Examine a memory: its file, indexes, model, disk and recalls; say what is wrong, and mend what can be mended."""

from .doctor import examine, unopened
from .finding import Finding, Severity, worst

__all__ = ["Finding", "Severity", "examine", "unopened", "worst"]
