"""The paths that tell how the memory is, what it comes to, and what went wrong."""

from __future__ import annotations

from fastapi import APIRouter

from ..memory import RobotMemory
from ..memory.search.counts import Counted
from .failures import responses
from .query_parameters import MOST, Limit, Named
from .schemas import Categories, Collections, Doctor, Failures, Labels, Stats, Tags
from .searches import Searches

_FAILURES = ("postmortem", "gotcha")
_BAD_OUTCOME = 0.5


def overview_routes(memory: RobotMemory, searches: Searches, *, read_only: bool) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["overview"])

    @router.get("/doctor", responses=responses())
    def doctor() -> Doctor:
        """Tell how the memory is, and what is missing."""
        status = memory.status()
        told = {name: getattr(status, name) for name in Doctor.model_fields if hasattr(status, name)}
        more = {"mode": status.mode.value, "read_only": read_only}
        return Doctor.model_validate(told | more | searches.told())

    @router.get("/stats", responses=responses())
    def stats() -> Stats:
        """Count the active memories: all, and by kind, category and collection."""
        counted = {field: memory.counts(field) for field in ("kinds", "categories", "collections")}
        return Stats.model_validate({"memories": sum(one.memories for one in counted["kinds"]), **counted})

    @router.get("/recent-failures", responses=responses())
    def recent_failures(n: Limit = 20) -> Failures:
        """List the latest facts about failures, and of the last thousand sessions those with a bad outcome."""
        found = memory.timeline(categories=_FAILURES, collection="*", n=n)
        bad = [one for one in memory.sessions(None, MOST) if one.outcome is not None and one.outcome < _BAD_OUTCOME]
        return Failures.model_validate({"memories": found.entries, "sessions": bad[:n]})

    return router


def count_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths of the counts."""
    router = APIRouter(prefix="/api", tags=["overview"])

    @router.get("/collections", responses=responses())
    def collections(n: Limit = MOST) -> Collections:
        """Count the memories of each collection."""
        return Collections.model_validate({"collections": memory.counts(Counted.COLLECTIONS, n=n)})

    @router.get("/categories", responses=responses())
    def categories(collection: Named = None, n: Limit = MOST) -> Categories:
        """Count the memories of each category."""
        return Categories.model_validate({"categories": memory.counts(Counted.CATEGORIES, collection=collection, n=n)})

    @router.get("/tags", responses=responses())
    def tags(collection: Named = None, n: Limit = MOST) -> Tags:
        """Count the memories of each tag."""
        return Tags.model_validate({"tags": memory.counts(Counted.TAGS, collection=collection, n=n)})

    @router.get("/labels", responses=responses())
    def labels(collection: Named = None, n: Limit = MOST) -> Labels:
        """Count the memories of each label."""
        return Labels.model_validate({"labels": memory.counts(Counted.LABELS, collection=collection, n=n)})

    return router
