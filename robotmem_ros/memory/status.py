"""What the memory holds now, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from .embedding import ModelUnavailableError
from .embedding.embedder import BackgroundEmbedder, check_kept_model
from .errors import StorageError
from .intake_report import Intake
from .parts import Parts
from .search.result import Mode
from .storage import imports, lived_days, note_rows, rows, vector_rows
from .storage.connection import exposure
from .storage.retention_rows import removal_counts
from .storage.snapshot import Snapshot
from .table.vectors import HAS_NUMKONG, NUMKONG_MISSING
from .text import scripts
from .text.inflection import has_snowball


@dataclass(frozen=True)
class Status:
    """Contents of the database, and what is missing."""

    mode: Mode
    reason: str
    db_path: str
    db_bytes: int
    schema_version: int
    embedding_model: str
    facts: int
    perceptions: int
    vectors: int
    """Memories that have a vector."""
    pending_vectors: int
    """Memories that have none yet."""
    notes: int = 0
    """Parts of files of notes."""
    note_files: int = 0
    note_errors: int = 0
    """Folders and files of notes that could not be read."""
    removed: int = 0
    """Memories that retention removed so far."""
    model_of_vectors: str = ""
    """The model of the vectors in the file, with a digest of all that makes them; empty while there are none."""
    fleet_backlog: int = -1
    """Revisions of the file that its fleet lacks; -1 without a fleet, and until it has answered."""
    fleet_trouble: str = ""
    """Why nothing goes to the fleet or comes from it; empty if it does, and without a fleet."""

    write_error: str = ""
    """Error of the last write; empty if it succeeded."""
    intake: Intake = field(default_factory=Intake)
    """What nodes told of their intake last. What is missing there is not in `reason`."""

    @property
    def memories(self) -> int:
        """Return the number of active memories of all kinds."""
        return self.facts + self.perceptions + self.notes


def status(parts: Parts, *trouble: str) -> Status:
    """Return what a memory holds now, and what is missing, with other trouble.

    Raises:
        StorageError: the database could not be read.
    """
    database, embedder = parts.database, parts.embedder
    with database.snapshot() as snapshot:
        counts = rows.totals(snapshot)
        counts_of_removed = removal_counts(snapshot)
        folders, (files, errors) = note_rows.folder_rows(snapshot), note_rows.file_counts(snapshot)
        model = vector_rows.model(snapshot) or ""
        intake = imports.read_intake(snapshot)
        foreign = _of_another_model(snapshot, embedder)
        doubt = lived_days.doubt(snapshot, parts.now())
        vectors, uncounted = _vectors(snapshot)
    no_vectors = parts.recall.vector_failure.reason
    has_vectors = embedder.available and not foreign and not no_vectors
    without_vector = counts["memory"] - vectors
    problems = [
        database.trouble,
        embedder.why_not,
        foreign,
        parts.backfill.refused(without_vector),
        doubt,
        exposure(database.path),
        database.log_loss,
        no_vectors or uncounted,
        parts.tables.no_room,
        *missing_packages(parts),
        parts.maintenance.trouble,
        *(f"notes: folder {folder.path!r} {folder.error}" for folder in folders.values() if folder.error),
        f"notes: {errors} of {files} files are not read (`robotmem notes` tells why)" if errors else "",
        *trouble,
    ]
    return Status(
        write_error=database.trouble,
        mode=Mode.HYBRID if has_vectors else Mode.BM25_ONLY,
        reason="; ".join(filter(None, problems)),
        db_path=str(database.path),
        db_bytes=database.size(),
        schema_version=database.schema_version(),
        embedding_model=embedder.name if embedder.available else "",
        facts=counts["fact"],
        perceptions=counts["perception"],
        vectors=vectors,
        pending_vectors=without_vector,
        notes=counts["note"],
        note_files=files,
        note_errors=errors + sum(bool(folder.error) for folder in folders.values()),
        removed=sum(n for (_, kind), n in counts_of_removed.items() if kind in counts),
        model_of_vectors=model,
        intake=intake,
    )


def missing_packages(parts: Parts) -> list[str]:
    """Return what is worse without a package, each with its name."""
    problems = [parts.database.extension_problem, "" if HAS_NUMKONG else NUMKONG_MISSING]
    if not scripts.has_jieba():
        problems.append("jieba is not installed (pip install jieba); Chinese is cut into pieces of two characters")
    if not scripts.has_icu():
        problems.append("icu4py is not installed (pip install icu4py); Thai, Lao, Khmer and Burmese are cut likewise")
    if not has_snowball():
        problems.append(
            "snowballstemmer is not installed (pip install snowballstemmer); words of other languages than English are "
            "found in the form alone in which they are written"
        )
    return [*filter(None, problems)]


def _vectors(snapshot: Snapshot) -> tuple[int, str]:
    # How many memories have a vector, and why they cannot be counted: words find memories on other pages.
    try:
        return vector_rows.count_linked(snapshot), ""
    except StorageError as error:
        return 0, str(error)


def _of_another_model(snapshot: Snapshot, embedder: BackgroundEmbedder) -> str:
    # What is wrong with the vectors, while that is so; empty when nothing is.
    try:
        if embedder.available:
            check_kept_model(snapshot, embedder.identity)
    except ModelUnavailableError as error:
        return str(error)
    return ""
