"""What one check saw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """How bad a finding is, the least first."""

    OK = "ok"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """What one check of the doctor saw."""

    name: str
    """The check."""
    severity: Severity
    seen: str
    remedy: str = ""
    """The command that mends it, or what to do; empty if nothing is to be done."""


def worst(findings: Iterable[Finding]) -> Severity:
    """Return the worst severity of some findings; ok if there is none."""
    return max((finding.severity for finding in findings), key=[*Severity].index, default=Severity.OK)
