"""The paths that sum up: how the memory is, what it holds, how much of it when, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from pydantic import Field, create_model

from ..memory import Finding, RobotMemory, Status
from ..memory.argument import MAX_N
from ..memory.doctor import worst
from ..memory.intake_report import Intake
from ..memory.search.counts import Count
from ..memory.search.request import CountField
from ..memory.search.timeline import entry_of
from ..memory.storage.disk import Activity
from .requests import MAX_ENTRIES, Limit, add_others, add_reading
from .schemas import Entry, SessionOut, TimeNs, Value, filled_from, result_of

_FAILURES = ("postmortem", "gotcha")
"""Categories of facts that tell of a failure."""
_FAILED = {"task.success": False}
"""What the context of a memory says that was stored when something failed."""
_BAD_OUTCOME = 0.5


@filled_from(Count)
class CountOut(Value):
    """Number of active memories that have a value."""


@filled_from(Intake, without={"words"})
class IntakeOut(Value):
    """What nodes told of their intake."""


@filled_from(Activity)
@filled_from(Status)
class StatusOut(Value):
    """State of the memory, and who is at work on its file."""

    read_only: bool
    needs_token: bool = Field(description="Callers must log in.")
    scopes: list[str] = Field(
        description="Whose memories a query can look at: robot, fleet, both; the usual one first."
    )
    map_id: str = Field(description="The present map.")
    reason: str = Field(description="What is missing; empty if nothing is.")
    intake: IntakeOut
    mode: str = Field(description="What a search with words runs on: hybrid, bm25_only, vec_only or structured.")


@filled_from(Finding)
class FindingOut(Value):
    """What one check of the doctor saw."""


class Doctor(Value):
    """One finding for each check."""

    findings: list[FindingOut]
    severity: str = Field(description="The worst of the findings: ok, warn or error.")


class Stats(Value):
    """Number of active memories."""

    memories: int
    kinds: list[CountOut]
    categories: list[CountOut]
    collections: list[CountOut]


class Counted(Value):
    """Numbers of active memories, largest first."""

    reason: str = Field(description="Why the fleet did not answer; empty if it did, or was not asked.")


class MainTimesOut(Value):
    """The times in which all was observed but a few outliers: much older memories, and some from the future."""

    start: TimeNs
    end: TimeNs
    earlier: int = Field(description="Memories observed before the start.")
    later: int = Field(description="Memories observed after the end.")


class DensityOut(Value):
    """Number of active memories that were observed in each of some equal parts of a window."""

    first: TimeNs | None = Field(description="When the oldest memory was observed, in the window or not.")
    last: TimeNs | None = Field(description="When the newest one was.")
    main: MainTimesOut | None = Field(description="Null if there is no memory.")
    start: TimeNs
    width: TimeNs = Field(description="Nanoseconds of a part.")
    counts: dict[str, list[int]] = Field(description="By kind.")


class Failures(Value):
    """Failures of late, newest first."""

    memories: list[Entry]
    sessions: list[SessionOut]


def overview_routes(memory: RobotMemory, *, read_only: bool, needs_token: bool, scopes: list[str]) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["overview"])

    @router.get("/status")
    def status() -> StatusOut:
        """Tell what the memory holds, what is missing, what nodes take in, and who is at work on its file."""
        now = memory.status()
        values = {name: getattr(now, name) for name in StatusOut.model_fields if hasattr(now, name)}
        console = {"read_only": read_only, "needs_token": needs_token, "scopes": scopes}
        values["map_id"] = memory.parameters.map_id
        return StatusOut.model_validate(values | asdict(memory.activity()) | console)

    @router.get("/doctor")
    def doctor() -> Doctor:
        """Examine file, indexes, model, disk, clock and recalls, which reads the whole file. Nothing is mended."""
        findings = memory.doctor()
        return Doctor.model_validate({"severity": worst(findings).value, "findings": findings})

    @router.get("/stats")
    def stats() -> Stats:
        """Count the active memories: all, and by kind, category and collection."""
        counts = {field: memory.counts(field) for field in ("kinds", "categories", "collections")}
        return Stats.model_validate({"memories": sum(kind.memories for kind in counts["kinds"]), **counts})

    add_reading(router, "/recalls", "recalls", memory.recalls, result_of("recalls"))

    @router.get("/recent-failures")
    def recent_failures(n: Limit = 20) -> Failures:
        """List the latest memories of failures, and of the last thousand sessions those with a bad outcome."""
        told = memory.timeline(categories=_FAILURES, collection="*", n=n)
        failed = memory.recall(
            "", min(n, MAX_N), 0.0, context_filter=_FAILED, collection="*", include_unconfirmed=True, fold=False,
            count_usage=False,
        )  # fmt: skip
        by_id = {entry.id: entry for entry in (*told, *map(entry_of, failed.memories))}
        newest = sorted(by_id.values(), key=lambda entry: (entry.observed_at, entry.id), reverse=True)[:n]
        sessions = memory.sessions.latest(None, MAX_ENTRIES)
        bad = [session for session in sessions if session.outcome is not None and session.outcome < _BAD_OUTCOME]
        return Failures.model_validate({"memories": newest, "sessions": bad[:n]})

    return router


def count_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths of the counts."""
    router = APIRouter(prefix="/api", tags=["overview"])

    for field, noun in (
        (CountField.COLLECTIONS, "collection"), (CountField.CATEGORIES, "category"), (CountField.LABELS, "label"),
    ):  # fmt: skip
        name, counts = field.value, (list[CountOut], ...)
        model: Any = create_model(name.capitalize(), __base__=Counted, **{name: counts})  # type: ignore[call-overload]
        about = f"Count the memories of each {noun}."
        add_reading(router, f"/{name}", "counts", _counting(memory, field), model, about=about, but={"field"})
    add_reading(router, "/density", "density", memory.density, DensityOut)
    add_others(router, memory, result_of)
    return router


def _counting(memory: RobotMemory, field: CountField) -> Callable[..., Any]:
    def counted(**arguments: Any) -> dict[str, Any]:
        counts = memory.counts(field, **arguments)
        return {field.value: counts, "reason": counts.reason}

    return counted
