"""See how a memory is: doctor, recalls."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..memory.display import time_text
from ..memory.doctor import Finding, Severity, unopened, worst
from ..memory.errors import DatabaseUnusableError, StorageError
from ..memory.search.request import MAX_ENTRIES
from .command import DATABASE, Command, limit, open_memory, option, table
from .listing import LISTING, show_list
from .reading import NO_MODEL

_EXIT_CODES = {Severity.OK: 0, Severity.WARN: 1, Severity.ERROR: 2}


def _doctor(arguments: argparse.Namespace) -> int:
    findings = _examine(arguments)
    severity = worst(findings)
    rows = [
        (finding.severity.value, finding.name, f"{finding.seen}{f' [{finding.remedy}]' if finding.remedy else ''}")
        for finding in findings
    ]
    show_list(arguments, {"severity": severity, "findings": findings}, "findings", table((), rows))
    return _EXIT_CODES[severity]


def _examine(arguments: argparse.Namespace) -> Sequence[Finding]:
    try:
        with open_memory(arguments.db, read_only=not arguments.fix, with_model=not arguments.no_model) as memory:
            return memory.doctor(fix=arguments.fix)
    except (DatabaseUnusableError, StorageError) as error:
        return [unopened(error)]


def _recalls(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True) as memory:
        log = memory.recalls(arguments.n)
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
    show_list(arguments, log._asdict(), "recalls", text)


COMMANDS = (
    Command(
        "doctor", "examine a memory, and mend it",
        "Examine a memory: its file, indexes, model, disk, clock and recalls. The exit code is 0 if all is well, 1 if "
        "the worst finding is a warning, 2 if it is an error.",
        _doctor,
        (
            option("--fix", action="store_true", help="mend what can be mended without a loss"),
            DATABASE, NO_MODEL, *LISTING,
        ),
    ),
    Command(
        "recalls", "list the last recalls, and the memories that are recalled most",
        "List the last recalls of all programs that write to the file, and the memories that are recalled most often.",
        _recalls,
        (limit("each", 20, MAX_ENTRIES), DATABASE, *LISTING),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
