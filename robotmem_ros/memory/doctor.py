"""Examine a memory: its file, indexes, model, disk and recalls; say what is wrong, and mend what can be mended.

One table has what the doctor looks at. A check reads, and says what it saw; a few can mend.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import stat
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from .. import __version__
from .config.parameters import Parameters
from .display import time_text
from .embedding.embedder import NOT_CONFIGURED, ModelUnavailableError, check_kept_model
from .errors import (
    MALFORMED,
    DatabaseUnusableError,
    MemoryClosedError,
    RobotMemoryError,
    StorageError,
)
from .parts import Parts
from .purge import finish
from .search.result import Mode
from .status import missing_packages
from .storage import (
    doubtful_times,
    examination,
    imports,
    lived_days,
    note_rows,
    revisions,
    vector_rows,
)
from .storage.connection import LOG_LIMIT, exposure
from .storage.disk import is_read_elsewhere, read_activity, readers, reserve_of
from .storage.recall_rows import latest
from .storage.snapshot import Snapshot, Transaction

P = ParamSpec("P")
T = TypeVar("T")


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


_FIX = "robotmem doctor --fix"
_SAMPLE = 500
"""Memories whose vectors are compared with their texts: as many of the newest, and of any others."""
_LOGGED = 1000
"""Recalls that are looked at."""
_FEW_RECALLS = 20
"""Recalls below which their shares say nothing."""
_MANY = 0.5
"""Share of recalls without a result, or without a relevant one, that is worth a warning."""
_SLOW = 1000.0
"""Milliseconds that 95 of 100 recalls should not take."""
_LITTLE_ROOM = 1 << 28
"""Bytes on the disk below which there is a warning."""
_PATIENCE = 30.0
"""Seconds to wait for a model that is being loaded."""
_TOLD = 5
"""Broken rows that are told."""
_FRESH = 60.0
"""Seconds after which a memory should have a vector, and by which a clock may be ahead."""


class Seen(NamedTuple):
    """What a check saw, and what mends it."""

    severity: Severity
    words: str
    remedy: str = ""


@dataclass(frozen=True)
class Patient:
    """A memory, as its checks need it."""

    parts: Parts
    parameters: Parameters
    clock: Callable[[], int]

    @property
    def path(self) -> Path:
        """Return the file."""
        return self.parts.database.path

    def read(self, work: Callable[Concatenate[Snapshot, P], T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function with a snapshot."""
        with self.parts.database.snapshot() as snapshot:
            return work(snapshot, *arguments, **keywords)

    @property
    def in_memory(self) -> bool:
        """Return whether nothing is kept on disk."""
        return self.parts.database.in_memory


class Check(NamedTuple):
    """One thing to look at."""

    name: str
    look: Callable[[Patient], Seen]
    mend: Callable[[Patient], object] | None = None
    """Mends what was seen without losing anything; it raises what keeps it from that."""


_IN_MEMORY = Seen(Severity.OK, "nothing is kept on disk")


def _versions(patient: Patient) -> Seen:
    sqlite = patient.read(examination.sqlite_version)
    schema = patient.parts.database.schema_version()
    words = f"robotmem_ros {__version__}, schema {schema}, SQLite {sqlite}, Python {platform.python_version()}"
    if problems := missing_packages(patient.parts):
        return Seen(Severity.WARN, f"{words}; {'; '.join(problems)}", "install what is named")
    return Seen(Severity.OK, words)


def _permissions(patient: Patient) -> Seen:
    if patient.in_memory:
        return _IN_MEMORY
    if warning := exposure(patient.path):
        return Seen(Severity.WARN, warning, f"chmod o= '{patient.path}'")
    if not os.access(patient.path, os.W_OK) or not os.access(patient.path.parent, os.W_OK):
        words = f"this user may read {str(patient.path)!r}, and not write to it or to its folder"
        return Seen(Severity.WARN, words, f"chown or chmod {str(patient.path.parent)!r}")
    return Seen(Severity.OK, f"mode {stat.S_IMODE(patient.path.stat().st_mode):04o}")


def _restrict(patient: Patient) -> None:
    for suffix in ("", "-wal", "-shm"):
        file = Path(f"{patient.path}{suffix}")
        if file.exists():
            file.chmod(stat.S_IMODE(file.stat().st_mode) & ~0o007)


def _disk(patient: Patient) -> Seen:
    if patient.in_memory:
        return _IN_MEMORY
    disk = shutil.disk_usage(patient.path.parent)
    free, reserve = disk.free, reserve_of(disk.total)
    words, remedy = f"{free:,} bytes are free", "make room on the disk, or delete memories: `robotmem retention`"
    if free < reserve:
        return Seen(Severity.ERROR, f"{words}; the last {reserve:,} are left to forgetting and purging", remedy)
    return Seen(Severity.WARN, words, remedy) if free < _LITTLE_ROOM else Seen(Severity.OK, words)


def _size(patient: Patient) -> Seen:
    if patient.in_memory:
        return _IN_MEMORY
    log = Path(f"{patient.path}-wal")
    size, log_size = (file.stat().st_size if file.exists() else 0 for file in (patient.path, log))
    words = f"the file has {size:,} bytes, its log {log_size:,}"
    if log_size <= 4 * LOG_LIMIT:
        return Seen(Severity.OK, words)
    holders = readers(patient.path)
    held = f"; {', '.join(holders)} may read an older state, which keeps it long" if holders else ""
    return Seen(Severity.WARN, f"{words}{held}", f"end what reads for long, then {_FIX}" if holders else _FIX)


def _checkpoint(patient: Patient) -> None:
    if patient.parts.database.write_alone(is_read_elsewhere).result():
        raise RobotMemoryError(f"end what reads for long: {', '.join(readers(patient.path)) or 'not known'}")


def _integrity(patient: Patient) -> Seen:
    problems = patient.read(examination.damage)
    if not problems:
        return Seen(Severity.OK, "every page, key and tree is sound")
    remedy = "stop its programs, then `robotmem export` it and import that into a new file, or restore a copy"
    return Seen(Severity.ERROR, "; ".join(problems), remedy)


def _indexes(patient: Patient) -> Seen:
    with patient.parts.database.snapshot() as snapshot:
        sample, total = examination.sample(snapshot, _SAMPLE)
        problems = examination.out_of_step(snapshot, sample)
    if problems:
        return Seen(Severity.ERROR, "; ".join(problems), _FIX)
    return Seen(Severity.OK, f"{len(sample):,} of {total:,} memories have their vectors, and all objects their boxes")


def _rebuild(patient: Patient) -> None:
    _check_alone(patient)
    patient.parts.database.write(examination.rebuild).result()


def _check_alone(patient: Patient) -> None:
    programs = () if patient.in_memory else patient.read(read_activity, patient.path).programs
    if programs:
        names = ", ".join(programs)
        raise RobotMemoryError(f"close {names} first, or let a node mend its own file: service ~/doctor with fix")


def _rows(patient: Patient) -> Seen:
    wrong = [f"{unit} {key} ({column})" for (unit, key), column in patient.read(examination.broken).items()]
    if not wrong:
        return Seen(Severity.OK, "every row can be read")
    words = f"{len(wrong):,} hold what no version writes, and break reading: {', '.join(wrong[:_TOLD])}"
    return Seen(Severity.ERROR, words + ", ..." * (len(wrong) > _TOLD), _FIX)


def _set_aside(patient: Patient) -> None:
    _check_alone(patient)
    aside = Path(f"{patient.path}.aside.jsonl")

    def work(transaction: Transaction) -> None:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            examination.set_aside(transaction, file.write)
            file.flush()
            os.fsync(file.fileno())

    patient.parts.database.write(work).result()


def _vectors(patient: Patient) -> Seen:
    with patient.parts.database.snapshot() as snapshot:
        lacking = vector_rows.lacking(snapshot)
        since = examination.lacking_since(snapshot) if lacking else None
    if lacking <= 0:
        return Seen(Severity.OK, "every active memory has its vector")
    words = f"{lacking:,} active memories have no vector"
    if patient.parts.embedder.why_not == NOT_CONFIGURED:
        return Seen(Severity.OK, f"{words}, and no model is configured")
    if since is None or time.time_ns() - since < _FRESH * 1e9:
        return Seen(Severity.OK, f"{words} yet")
    return Seen(Severity.WARN, f"{words}, the first since {time_text(since)}", _FIX)


def _model(patient: Patient) -> Seen:
    embedder = patient.parts.embedder
    if embedder.why_not == NOT_CONFIGURED:
        return Seen(Severity.OK, "no model is configured: searches are by words alone")
    embedder.wait(_PATIENCE)
    start = time.perf_counter()
    try:
        # No query asks for this text, so that it is computed.
        vector = embedder.embed_one(f"a text of the doctor at {time.time_ns()}")
        duration = (time.perf_counter() - start) * 1e3
        patient.read(check_kept_model, embedder.identity)
    except ModelUnavailableError as error:
        return Seen(Severity.WARN, str(error), "see docs/operations.md, Embedding model")
    norm = math.sqrt(sum(float(number) ** 2 for number in vector))
    if not math.isfinite(norm) or norm == 0.0:
        return Seen(Severity.ERROR, f"the vector of {embedder.name} has the length {norm}", "robotmem model")
    return Seen(Severity.OK, f"{embedder.name} computed {len(vector)} numbers in {duration:.0f} ms")


def _recalls(patient: Patient) -> Seen:
    recalls = [entry for entry in patient.read(latest, _LOGGED) if entry.mode != Mode.STRUCTURED.value]
    if not recalls:
        return Seen(Severity.OK, "the log has no recall with a text")
    nothing = sum(not entry.hits for entry in recalls) / len(recalls)
    irrelevant = sum(bool(entry.hits) and not entry.relevant for entry in recalls) / len(recalls)
    words = f"of the last {len(recalls):,} with a text, {nothing:.0%} found nothing, {irrelevant:.0%} nothing relevant"
    if len(recalls) >= _FEW_RECALLS and max(nothing, irrelevant) >= _MANY:
        return Seen(Severity.WARN, words, "look at `robotmem recalls`, and at the parameter min_relevance")
    return Seen(Severity.OK, words)


def _latency(patient: Patient) -> Seen:
    durations = sorted(entry.milliseconds for entry in patient.read(latest, _LOGGED))
    if not durations:
        return Seen(Severity.OK, "the log has no recall")
    slow = durations[math.ceil(0.95 * len(durations)) - 1]
    words = f"half of the last {len(durations):,} recalls took {statistics.median(durations):.1f} ms, 95 % {slow:.1f}"
    if len(durations) >= _FEW_RECALLS and slow > _SLOW:
        return Seen(Severity.WARN, words, "look at `robotmem recalls`, and at what else this machine does")
    return Seen(Severity.OK, words)


def _clock(patient: Patient) -> Seen:
    now = patient.clock()
    if now <= 0:
        return Seen(Severity.OK, "the robot's clock shows no time yet")
    with patient.parts.database.snapshot() as snapshot:
        memories, newest, days, future_days = examination.times(snapshot, round(now + _FRESH * 1e9))
        doubt = lived_days.doubt(snapshot, now)
        marked = doubtful_times.count(snapshot)
    told = f"; memories stored or changed while it was in doubt: {marked[0]:,}" if marked[0] else ""
    told += f"; sessions, points of the path and the like: {marked[1]:,}" if marked[1] else ""
    words = f"the robot's clock shows {time_text(now)}, and the memory lived {days:,} day{'' if days == 1 else 's'}"
    if doubt:
        words = f"{doubt}; {memories:,} memories lie ahead of it{told}"
        set_clock = "set the clock, unless it is right: chrony or another NTP client does, and so does a battery"
        return Seen(Severity.WARN, words, set_clock)
    if memories or future_days:
        ahead = f"; {memories:,} memories and {future_days:,} lived days lie ahead of it, the last {time_text(newest)}"
        return Seen(
            Severity.WARN,
            words + ahead + told,
            "set the clocks of the robot and of its drivers, unless they are right now",
        )
    return Seen(Severity.OK, words + told)


def _purge(patient: Patient) -> Seen:
    if patient.read(revisions.last_purge).is_unfinished:
        return Seen(Severity.WARN, "traces of a purge may still be in the file", "robotmem purge --finish")
    return Seen(Severity.OK, "no purge is unfinished")


def _maintenance(patient: Patient) -> Seen:
    database = patient.parts.database
    if database.trouble:
        return Seen(Severity.ERROR, database.trouble, "see docs/operations.md")
    if trouble := "; ".join(filter(None, (database.log_loss, patient.parts.maintenance.trouble))):
        return Seen(Severity.WARN, trouble, "see docs/operations.md")
    return Seen(Severity.OK, "nothing has failed since this program opened the file")


def _notes(patient: Patient) -> Seen:
    with patient.parts.database.snapshot() as snapshot:
        folders, (files, errors) = note_rows.folder_rows(snapshot), note_rows.file_counts(snapshot)
    unread = sum(bool(folder.error) for folder in folders.values())
    words = f"{len(folders):,} folders and {files:,} files"
    if unread or errors:
        return Seen(Severity.WARN, f"{words}, of which {unread:,} and {errors:,} are not read", "robotmem notes")
    return Seen(Severity.OK, words)


def _intake(patient: Patient) -> Seen:
    intake = patient.read(imports.read_intake)
    if intake.trouble:
        return Seen(Severity.WARN, f"{intake.words}; {intake.trouble}", "see docs/operations.md, Intake")
    return Seen(Severity.OK, intake.words)


CHECKS = (
    Check("versions", _versions),
    Check("permissions", _permissions, _restrict),
    Check("disk", _disk),
    Check("size", _size, _checkpoint),
    Check("integrity", _integrity),
    Check("rows", _rows, _set_aside),
    Check("indexes", _indexes, _rebuild),
    Check("model", _model),
    Check("vectors", _vectors, lambda patient: patient.parts.flush()),
    Check("recalls", _recalls),
    Check("latency", _latency),
    Check("clock", _clock),
    Check("purge", _purge, lambda patient: finish(patient.parts.database)),
    Check("maintenance", _maintenance),
    Check("notes", _notes),
    Check("intake", _intake),
)


_SAVE = "stop its programs, `robotmem export` what can be read, or restore a copy of the file"


def examine(parts: Parts, parameters: Parameters, clock: Callable[[], int], *, fix: bool) -> tuple[Finding, ...]:
    """Return one finding for each check, with `fix` after mending what can be mended without a loss."""
    patient = Patient(parts, parameters, clock)
    return tuple(_examined(check, patient, fix=fix) for check in CHECKS)


def unopened(error: DatabaseUnusableError | StorageError) -> Finding:
    """Return the finding about a file that cannot be opened."""
    remedy = error.way_out if isinstance(error, DatabaseUnusableError) else _SAVE
    return Finding("file", Severity.ERROR, str(error).removesuffix(f"; {remedy}"), remedy)


def _examined(check: Check, patient: Patient, *, fix: bool) -> Finding:
    seen = _look(check, patient)
    if not fix or check.mend is None or seen.severity is Severity.OK:
        return Finding(check.name, *seen)
    try:
        check.mend(patient)
    except (RobotMemoryError, OSError, *MALFORMED) as error:
        remedy = seen.remedy if isinstance(error, StorageError) and error.is_damage else str(error)
        return Finding(check.name, seen.severity, seen.words, remedy)
    return Finding(check.name, *_look(check, patient))


def _look(check: Check, patient: Patient) -> Seen:
    try:
        return check.look(patient)
    except MemoryClosedError:
        raise
    except (RobotMemoryError, OSError) as error:
        is_damage = isinstance(error, StorageError) and error.is_damage
        return Seen(Severity.ERROR, str(error), _SAVE if is_damage else "")
    except MALFORMED as error:
        words = f"a row holds what no version writes ({type(error).__name__}: {error})"
        return Seen(Severity.ERROR, words, "see the finding `rows`")
