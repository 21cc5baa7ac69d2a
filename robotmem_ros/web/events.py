"""Tell all open pages when the file has changed (`/api/events`): one poller for all, and none while nobody listens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Annotated, NamedTuple

from anyio import to_thread
from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from ..memory.errors import RobotMemoryError
from ..memory.storage import revisions, rows
from ..memory.storage.database import Database

_PERIOD, _RATIO = 0.3, 20.0
"""Seconds between two looks at the file, and how many times as long as a look took it rests at least."""
_RETRY_MS = 2000
_LONELY = 10
"""Looks without a listener after which the poller ends: a page that is loaded again comes back before."""
_UNKNOWN = -1
_LOG = logging.getLogger(__name__)


class FileState(NamedTuple):
    """The last change of a file, and the newest memory in it."""

    version: int
    """Last revision, which grows with each change that a reader sees, not with changes of derived data."""
    newest: int
    """Id of the memory that was stored last; 0 if none ever was."""


def event_routes(events: Events) -> APIRouter:
    """Make the path of the events."""
    router = APIRouter(prefix="/api", tags=["live"])

    @router.get("/events", response_class=EventSourceResponse)
    async def live(
        last_event_id: Annotated[str | None, Header()] = None,
        # Before the headers: a client that has got them misses no change.
        version: int = Depends(events.begin),
    ) -> AsyncIterator[ServerSentEvent]:
        """Send an event `change` with `{"version", "newest"}` whenever any program has changed the memory."""
        yield ServerSentEvent(comment="connected", retry=_RETRY_MS)
        # A client that returns may have missed something.
        async for state in events.changes(version if last_event_id is None else _UNKNOWN):
            yield ServerSentEvent(event="change", id=str(state.version), data=state._asdict())

    return router


class Events:
    """Changes of the file for all streams of one event loop.

    Args:
        database: The memory's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._bells: set[asyncio.Event] = set()
        self._state = FileState(0, 0)
        self._poller: asyncio.Task[None] | None = None
        self._noticing = asyncio.Event()
        self._is_closed = False

    async def begin(self) -> int:
        """Wait until changes are noticed; return the version of the file, after which a stream is to tell of them."""
        if self._poller is None and not self._is_closed:
            self._noticing = asyncio.Event()
            self._poller = asyncio.create_task(self._poll())
        await self._noticing.wait()
        return self._state.version

    async def changes(self, after: int) -> AsyncIterator[FileState]:
        """Yield a state for each change after a version; those that come quickly one after the other are told once."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            if await self.begin() != after:
                bell.set()
            while not self._is_closed:
                await bell.wait()
                bell.clear()
                if not self._is_closed:
                    yield self._state
        finally:
            self._bells.discard(bell)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        if self._poller is not None:
            self._poller.cancel()
        self._noticing.set()
        self._ring()

    def _ring(self) -> None:
        for bell in self._bells:
            bell.set()

    async def _poll(self) -> None:
        outcome = ""
        lonely = 0
        try:
            while lonely < _LONELY:
                start = time.monotonic()
                try:
                    self._note(await to_thread.run_sync(self._look), is_first=not outcome)
                    outcome = "seen"
                except RobotMemoryError as error:
                    if outcome != str(error):
                        _LOG.warning("changes cannot be told: %s", error)
                    outcome = str(error)
                self._noticing.set()
                await asyncio.sleep(max(_PERIOD, _RATIO * (time.monotonic() - start)))
                lonely = 0 if self._bells else lonely + 1
        finally:
            self._poller = None
            self._noticing.set()

    def _look(self) -> FileState:
        with self._database.snapshot() as snapshot:
            return FileState(revisions.latest(snapshot), rows.last_id(snapshot))

    def _note(self, state: FileState, *, is_first: bool) -> None:
        if state != self._state:
            self._state = state
            if not is_first:
                self._ring()
