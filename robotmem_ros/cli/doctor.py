"""See how a memory is: doctor, recalls."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..memory.display import time_text
from ..memory.doctor import Finding, Severity, unopened, worst
from ..memory.errors import DatabaseUnusableError, StorageError
from ..memory.robot_memory import RobotMemory
from ..memory.verbs.requests import RecallsRequest
from .command import DATABASE, NO_MODEL, Command, Shown, on_memory, opened, options_of, values_of
from .listing import LISTING, option, show, table

_EXIT_CODES = {Severity.OK: 0, Severity.WARN: 1, Severity.ERROR: 2}


def _doctor(arguments: argparse.Namespace) -> int:
    findings = _examine(arguments)
    severity = worst(findings)
    rows = [
        (finding.severity.value, finding.name, f"{finding.seen}{f' [{finding.remedy}]' if finding.remedy else ''}")
        for finding in findings
    ]
    show(arguments, {"severity": severity, "findings": findings}, table((), rows), "findings")
    return _EXIT_CODES[severity]


def _examine(arguments: argparse.Namespace) -> Sequence[Finding]:
    try:
        with opened(arguments, read_only=not arguments.fix) as memory:
            return memory.doctor(fix=arguments.fix)
    except (DatabaseUnusableError, StorageError) as error:
        return [unopened(error)]


@on_memory(
    "recalls", "list the last recalls, and the memories that are recalled most",
    "List the last recalls of all programs that write to the file, and the memories that are recalled most often.",
    *options_of(RecallsRequest, defaults={"n": 20}), lists="recalls",
)  # fmt: skip
def _recalls(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    log = memory.recalls(**values_of(arguments, RecallsRequest))
    recalls = [
        (
            time_text(entry.recalled_at), entry.caller, entry.mode, entry.hits,
            "" if entry.relevance is None else f"{entry.relevance:.2f}", f"{entry.milliseconds:.1f}",
            entry.query or entry.digest,
        )
        for entry in log.recalls
    ]  # fmt: skip
    text = table(("time", "caller", "mode", "hits", "relevance", "ms", "query"), recalls) or "no recalls\n"
    if log.most_used:
        used = [
            (entry.memory_id, entry.access_count, time_text(entry.last_accessed), entry.snippet)
            for entry in log.most_used
        ]
        text += "\n" + table(("id", "recalled", "last", "most used memories"), used)
    return Shown(log, text)


COMMANDS = (
    Command(
        "doctor", "examine a memory, and mend it",
        "Examine a memory: its file, indexes, model, disk, clock and recalls. The exit code is 0 if all is well, 1 if "
        "the worst finding is a warning, 2 if it is an error.", _doctor,
        (
            option("--fix", action="store_true", help="mend what can be mended without a loss"),
            DATABASE, NO_MODEL, *LISTING,
        ),
    ),
    _recalls,
)  # fmt: skip
"""Commands, in the order in which help lists them."""
