"""RobotMemory: what a program does with a memory, each verb a few lines; and how a program opens one."""

from __future__ import annotations

import atexit
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from . import validation
from .argument import MAX_HISTORY
from .batch import BEGINNING, Applied, Batch, Cursor
from .conditions.decay import Decay
from .config.parameters import Parameters
from .doctor import Finding, examine
from .embedding.embedder import BackgroundEmbedder, Embedder
from .errors import InvalidFieldError, RobotMemoryError
from .intake_report import IntakeReport
from .learning.correction import parse_correction
from .learning.explanation import Explanation, explain
from .learning.learning import Learned
from .maps.maps import Maps
from .models import (
    IMPORTED_BEFORE,
    Change,
    Events,
    Kind,
    MemoryUpdate,
    NewFact,
    NewMemory,
    NewPerception,
    PerceptionData,
    SeenObject,
    Sighting,
    Stored,
)
from .new_memory import Entries, new_fact, new_perception, read_entries
from .notes.ingestor import NotesIngestor
from .notes.notes import Notes
from .objects.field_of_view import Detection, FieldOfView
from .objects.sightings import is_sighting, why_no_sighting
from .parts import Parts
from .progress import Progress, listener
from .purge import finish, parse_selection, plan, purge
from .retention import Report
from .search.counts import Counts, Density, parse_counts, read_counts, read_density
from .search.details import MemoriesInFull, parse_ids, read_details
from .search.query import parse_query
from .search.request import MAX_DEADLINE, MAX_ENTRIES, CountsRequest, RecallRequest, Scope, Scoped, TimelineRequest
from .search.result import RecallResult
from .search.timeline import Timeline, parse_timeline, read_timeline
from .search.usage import RecallLog
from .status import Status, status
from .storage import changes, event_rows, imports, object_rows, rows
from .storage.disk import Activity, read_activity
from .storage.feed import apply, changes_since
from .storage.purge_rows import Purged
from .storage.recall_rows import latest, most_used
from .storage.sighting_rows import Sighted, Stayed, read_sighted, stays_of
from .table.past import seen_as_of
from .times import Time
from .verbs.access import Access
from .verbs.imports import Imports
from .verbs.looking import confirmed_among, parse_look
from .verbs.requests import (
    DensityRequest,
    DoctorRequest,
    EventsRequest,
    ForgetRequest,
    GetDataRequest,
    GetMemoriesRequest,
    LookRequest,
    ObjectHistoryRequest,
    PurgeRequest,
    RecallsRequest,
    RestoreRequest,
    SeenObjectsRequest,
    WatchRequest,
)
from .verbs.sessions import Sessions
from .verbs.tags import Tags
from .verbs.watching import Watch
from .verbs.written import MemoryVerbs

_LOAD_PATIENCE = 60.0


class Companion(Protocol):
    """A thing that works with a memory from above, such as an ingestor."""

    @property
    def trouble(self) -> str:
        """Return what is missing; empty if nothing is."""
        ...

    def settle(self, goes_on: Callable[[], bool]) -> None:
        """Give the memory all that waits, as long as `goes_on` returns true."""
        ...

    def close(self) -> None:
        """End before the memory does; a second call does nothing."""
        ...


class RobotMemory(MemoryVerbs):
    """A memory in one SQLite file. Safe to use from several threads; a context manager that closes itself.

    Each verb raises StorageError if the database could not be read or written.
    What is still open when the program ends is closed then. A process that is forked cannot use it. Times are
    nanoseconds since the epoch by the robot's clock, positions metres in the memory frame. It reads no other file:
    `open_memory` opens one with `notes_folders`.

    Args:
        db_path: The database file, or `:memory:`; None means the default of the parameter.
        collection: Namespace of memories that name none.
        embedder: An embedding provider to use instead of the one that the parameter `embedding_model` names.
        clock: The robot's clock in whole nanoseconds, for memories that carry no time of their own.
        patience: Seconds that a recall waits for a model that is still being loaded.
        read_only: Whether to read only: nothing is written to the file, not even what was recalled, and every verb that
            writes raises ReadOnlyError.
        has_companions: Whether whoever opens it brings what `notes_folders` need, as `open_memory` does; else they are
            refused.
        source: Who stores through it, such as `agent`: the `source` of memories whose context names none.
        options: Any parameter of `Parameters` by its name. Without `embedding_model` the model is that of the vectors
            in the file, or the default one if it has none.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a parameter cannot be used.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] | None = None,
        collection: str = "default",
        *,
        embedder: Embedder | BackgroundEmbedder | None = None,
        clock: Callable[[], int] = time.time_ns,
        patience: float = _LOAD_PATIENCE,
        read_only: bool = False,
        has_companions: bool = False,
        source: str = "",
        **options: object,
    ) -> None:
        settings = {} if db_path is None else {"db_path": os.fspath(db_path)}
        self.parameters = Parameters().changed(**options, **settings, collection=collection)
        if self.parameters.notes_folders and not has_companions:
            problem = "needs open_memory(...) instead of RobotMemory(...)"
            raise InvalidFieldError("notes_folders", self.parameters.notes_folders, problem)
        self._source = source

        def now() -> int:
            return validation.whole("clock", clock())

        parts = Parts(
            lambda: self.parameters, now, embedder=embedder, keeps_model="embedding_model" not in options,
            patience=patience, read_only=read_only,
        )  # fmt: skip
        self._access = Access(parts, lambda: self.parameters, now)
        self.maps, self.notes, self.imports = Maps(self._access), Notes(self._access), Imports(self._access)
        self.tags, self.sessions = Tags(self._access), Sessions(self._access, self.recall)
        # The names of the published designs.
        self.start_session, self.end_session = self.sessions.start, self.sessions.end
        self._companions: list[Companion] = []
        self.findings: tuple[Finding, ...] = ()
        """Findings of the last `doctor` of this program."""
        # Its threads keep it alive until it is closed, and none of them may be in C++ code when the interpreter ends.
        atexit.register(self.close)

    def _learn(self, request: NewFact) -> Learned:
        """Learn a fact: store it, or reinforce the one with the same text. When this returns, it is on disk.

        Rules find what is left open of category, tags, confidence, scope and `context.params`; `explain` says which.
        A context in plain text becomes `{"user_context": text}`, here as everywhere.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        parts = self._access.writable
        (result,) = parts.learning.learn([self._new_fact(request)])
        parts.maintenance.notify()
        return result

    def learn_many(self, facts: Entries, *, progress: Progress | None = None) -> list[Learned]:
        """Learn facts as `learn` does one after the other, in one transaction: all or none. Results are in their order.

        Each fact is a mapping with the arguments of `learn`, or its text alone. They are embedded in batches;
        `progress(done, total)` is called after each batch, in the thread of the caller.

        Raises:
            InvalidFieldError: a field cannot be used, which is named with its index, such as `facts[3].confidence`.
        """
        parts = self._access.writable
        new = read_entries("facts", facts, NewFact, self._new_fact, self.moment)
        results = parts.learning.learn(new, progress or listener())
        parts.maintenance.notify()
        return results

    def _new_fact(self, fact: NewFact) -> NewMemory:
        return new_fact(self.parameters, fact, now=self._access.clock, source=self._source)

    def _data(self, request: GetDataRequest) -> PerceptionData:
        """Return what recall leaves out of a perception: its raw data or thumbnail, and its metadata.

        Raises:
            InvalidFieldError: the id is no whole number.
            MemoryNotFoundError: no active memory has this id, or this one has neither data nor metadata.
        """
        return self._access.read(rows.perception_data, validation.whole("memory_id", request.memory_id))

    def explain(self, memory_id: int) -> Explanation:
        """Explain what was decided about a memory, and by which rules.

        Raises:
            InvalidFieldError: the id is no whole number.
            MemoryNotFoundError: there is no such memory, not even a forgotten one.
        """
        return self._access.read(explain, validation.whole("memory_id", memory_id))

    def _save_perception(self, request: NewPerception) -> Stored:
        """Store a perception. When this returns, it is on disk.

        `pose` is x, y, z in metres, and a yaw in radians or a quaternion x, y, z, w, in `frame_id`. A perception with a
        label and a pose in the memory frame is a sighting of an object: the id is that of the object, and `times_seen`
        is 1 for a new object. An object keeps its first description and data, and the latest context. What is no
        sighting is a memory of its own, the same saved twice is two: without label or pose, with `as_object` false, a
        named place (place), and what the robot perceives of itself (proprioceptive, procedural). Nothing is transformed
        here: if a pose in another frame keeps it from being a sighting, the `reason` of the result says so.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        new = self._new_perception(request)
        return replace(self.store(new).result(), reason=why_no_sighting(new, self.parameters))

    def save_many(self, perceptions: Entries, *, progress: Progress | None = None) -> list[Stored]:
        """Store perceptions as `save_perception` does one after the other, in one transaction: all or none.

        Each is a mapping with the arguments of `save_perception`, or its description alone. Results are in their
        order. Vectors follow in batches, see `flush`. `progress(done, total)` is called from time to time and at the
        end, in the thread of the caller.

        Raises:
            InvalidFieldError: a field cannot be used, which is named with its index, such as `perceptions[3].pose`.
        """
        parts = self._access.writable
        new = read_entries("perceptions", perceptions, NewPerception, self._new_perception, self.moment)
        results = parts.objects.store_many(new, progress or listener())
        parts.maintenance.notify()
        return results

    def _new_perception(self, perception: NewPerception) -> NewMemory:
        return new_perception(self.parameters, perception, now=self._access.clock, source=self._source)

    def checked(self, request: NewFact | NewPerception) -> NewMemory:
        """Check a fact or a perception, as `learn` and `save_perception` do, for `store_many`.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        return self._new_fact(request) if isinstance(request, NewFact) else self._new_perception(request)

    def store_many(self, new: Iterable[NewMemory]) -> list[Stored]:
        """Store checked facts and perceptions in their order; when this returns, they are on disk.

        Those with an import key are stored once: the id of one that was stored before is 0.
        """
        parts, memories = self._access.writable, [*new]
        # Looked up first: to classify and to embed a text takes far longer than to find that it is here.
        with parts.database.snapshot() as snapshot:
            fresh = [
                key is None or not imports.is_claimed(snapshot, key) for key in (one.import_key for one in memories)
            ]
        results = list[Stored]()
        for (is_fresh, kind), group in groupby(zip(fresh, memories, strict=True), lambda pair: (pair[0], pair[1].kind)):
            some = [memory for _, memory in group]
            store = parts.learning.learn if kind is Kind.FACT else parts.objects.store_many
            results += store(some) if is_fresh else [IMPORTED_BEFORE] * len(some)
        parts.maintenance.notify()
        return results

    def store(self, new: NewMemory, *, background: bool = False) -> Future[Stored]:
        """Queue a checked memory, a sighting for its object; the future is done when it is on disk.

        Calls go before what is stored in the `background`.
        """
        parts = self._access.writable
        if not is_sighting(new, self.parameters):
            return parts.database.insert(parts.areas.tagged(new), background=background)
        future = parts.objects.store(new, background=background)
        future.add_done_callback(lambda future_done: parts.maintenance.notify())
        return future

    def store_sightings(
        self,
        new: Sequence[NewMemory],
        covariances: Iterable[object] = (),
        *,
        field_of_view: FieldOfView | None = None,
        dropped: tuple[Detection, ...] = (),
    ) -> Future[tuple[Stored, ...]]:
        """Queue all that a detector reports in one message; the future has the ids of the objects, in their order.

        What is no sighting is stored as a memory of its own, see `save_perception`. `covariances` are of the
        positions: for each sighting 3 rows of 3 numbers in m², or None; leave them out if no sighting has one. An
        object clearly in the `field_of_view` that is not among the sightings counts as missed, and so does one that was
        seen before together with one that is: `dropped` is what else was detected.

        Raises:
            InvalidFieldError: a covariance or the field of view cannot be used, or the number of covariances differs.
        """
        future = self._access.writable.objects.store_message(new, covariances, field_of_view, dropped)
        future.add_done_callback(lambda future_done: self.parts.maintenance.notify())
        return future

    def _events(self, request: EventsRequest) -> Events:
        """Return what became of objects and facts after an event that is known, in order: see `~/events`.

        The last 100,000 events are kept, and of those before them the last one of each memory.

        Raises:
            InvalidFieldError: `n` is less than 1, or the file has no event `after`, as one that was restored.
        """
        after, n = validation.whole("after", request.after), validation.whole("n", request.n)
        if n < 1:
            raise InvalidFieldError("n", n, "must be at least 1")
        with self.parts.database.snapshot() as snapshot:
            latest = event_rows.last(snapshot)
            if not 0 <= after <= latest:
                raise InvalidFieldError("after", after, f"must lie in 0 to {latest}, the last event of this file")
            return Events(event_rows.since(snapshot, after, min(n, MAX_HISTORY)), latest)

    def _object_history(self, request: ObjectHistoryRequest) -> tuple[Sighting, ...]:
        """Return the last `n` sightings of an object that were kept, newest first.

        Raises:
            InvalidFieldError: `n` is less than 1.
            MemoryNotFoundError: no active object has this id.
        """
        return self.parts.objects.history(validation.whole("memory_id", request.memory_id), request.n)

    def watch(self, **conditions: Any) -> Watch:
        """Follow what satisfies some conditions, which are those of a recall; see WatchRequest for their names.

        Events of what satisfies them before or after are returned by `next` of the watch, from now on or after the
        event `after`.

        Raises:
            InvalidFieldError: a condition cannot be used, or the file has no event `after`.
            FrameMismatchError: a position is in a frame that cannot be compared.
        """
        return Watch(self._access, WatchRequest(**conditions))

    def _objects(self, request: SeenObjectsRequest) -> tuple[SeenObject, ...]:
        """Return the confirmed objects of the current map, or all, in all collections, those seen last first."""
        if request.as_of is None:
            return self.parts.objects.seen_last(request.limit, self.decay(), request.include_unconfirmed)
        at, limit = self.moment("as_of", request.as_of), validation.whole("limit", request.limit)
        is_all = validation.flag("include_unconfirmed", request.include_unconfirmed)
        map_id, decay = self.parameters.map_id, self.decay()
        return self._access.ask(seen_as_of, at, map_id, limit, decay, is_all=is_all)

    def _recall(self, request: RecallRequest) -> RecallResult:
        """Find memories: by relevance, by distance with a spatial sort, else most recent first; best first.

        `spatial_sort` is `{"field": "spatial.object_position", "target": [x, y, z], "max_distance": 2.0}` in metres,
        with `frame_id` if that is not the memory frame; the window `[after, before)` is half-open.
        `representatives_only` leaves out the facts that another one of their group represents, see `consolidate`.
        If no memory is at least as relevant to the text as `min_relevance`, in [0, 1], there is no result, and the
        reason says how near the best one comes. None means the parameter, and that the best of what a condition on
        what, where or when leaves is the result all the same, with `relevant` false.
        Objects that are not confirmed are left out, and the reason says how many, unless `include_unconfirmed` or a
        condition on `confirmed` asks for them. docs/recall.md lists the conditions. Without `count_usage`, as for what
        nobody asked for, the results do not count as used, and the log of recalls does not have it.

        Raises:
            InvalidFieldError: a field cannot be used, or there is nothing to go by.
            FrameMismatchError: a position is in a frame that cannot be compared.
        """
        parts = self.parts
        _check_scope(request)
        query = parse_query(
            self.parameters, request, decay=self.decay(), areas=parts.areas.by_name, places=parts.places
        )
        caller = validation.name("caller", request.caller)
        own = self.parameters.memory_frame
        if (frame := validation.frame("result_frame", request.result_frame, default=own)) != own:
            problem = f"needs transforms, which a node alone has: ask with MemoryClient, or leave it out for {own!r}"
            raise InvalidFieldError("result_frame", frame, problem)
        return parts.recall.run(query, self.parameters, caller if request.count_usage else None)

    def _recalls(self, request: RecallsRequest) -> RecallLog:
        """Return the last `n` recalls, and the `n` memories that were recalled most often.

        The log has at most as many recalls as the parameter `recall_log` says; those of the last second may be missing.

        Raises:
            InvalidFieldError: `n` is not in 1 to 1,000.
        """
        limit = validation.whole("n", request.n, low=1, high=MAX_ENTRIES)
        return self._access.read(lambda snapshot: RecallLog(latest(snapshot, limit), most_used(snapshot, limit)))

    def _timeline(self, request: TimelineRequest) -> Timeline:
        """Return a page of memories by the time of their observation, newest or oldest first, each in brief.

        The conditions are those of `recall`, and all may be left out. `cursor` is that of the page before. What is
        stored or withdrawn between two pages moves no other memory: what is there throughout is on exactly one page.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        _check_scope(request)
        query = parse_timeline(self.parameters, request, decay=self.decay(), areas=self.parts.areas.by_name)
        return self._access.ask(read_timeline, query)

    def reload_areas(self) -> None:
        """Read `areas_file` again at once, as after a change by this program; others are seen within a second."""
        self.parts.areas.reload()

    def _density(self, request: DensityRequest) -> Density:
        """Return how many active memories of each kind were observed in each of some equal parts of `[after, before)`.

        An object counts whenever it was sighted. Without a window it reaches from the first observation to the last.

        Raises:
            InvalidFieldError: `bins` is not in 1 to 1,000, a time cannot be used, or the window is empty.
        """
        values = {name: getattr(request, name) for name in request.__slots__}
        return self._access.ask(read_density, self._access.clock(), **values)

    def stays(self, memory_id: int) -> tuple[Stayed, ...]:
        """Return the stays of an object that are kept, the earliest first; the last one may go on.

        Raises:
            InvalidFieldError: the id is no whole number.
        """
        return self._access.query(stays_of, validation.whole("memory_id", memory_id, low=1))

    def sighted(self, after: Time, before: Time, n: int = 1000) -> tuple[Sighted, ...]:
        """Return at most `n` objects that were sighted in `[after, before)`, those sighted last there first.

        Each is as it was at that sighting. Sightings that were not kept are not known.

        Raises:
            InvalidFieldError: a time or `n` cannot be used.
        """
        since, until = self.moment("after", after), self.moment("before", before)
        return self._access.query(read_sighted, since, until, validation.whole("n", n, low=1))

    def _get_memories(self, request: GetMemoriesRequest) -> MemoriesInFull:
        """Return at most 100 memories in full, with history, sightings and data, in the order of their ids.

        Ids of no memory are left out, and those of memories that were forgotten or superseded, unless
        `include_forgotten`; the `reason` of the result says of each why.

        Raises:
            InvalidFieldError: an id is no whole number, or there are too many.
        """
        order, everything = parse_ids(request.ids), validation.flag("include_forgotten", request.include_forgotten)
        return self._access.query(read_details, order, self.decay(), include_forgotten=everything)

    def _counts(self, request: CountsRequest) -> Counts:
        """Return how many active memories each value of a field has, in a collection or in all; largest first.

        `field` is `collections`, `categories`, `tags`, `labels`, `areas`, `sessions` or `kinds`. Objects that are not
        confirmed count, too.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        _check_scope(request)
        return self._access.ask(read_counts, parse_counts(request), self.parameters, self.parts.areas.by_name())

    def _forget(self, request: ForgetRequest) -> None:
        """Withdraw a memory, or many at once: no recall finds it any more; the row stays, with the reason.

        Raises:
            InvalidFieldError: there is no reason, or it is a note; then none of them is withdrawn.
            MemoryNotFoundError: no active memory has this id; then none of them is withdrawn.
        """
        ids = validation.one_or_more("memory_id", request.memory_id)
        reason_text = validation.text("reason", request.reason, limit=self.parameters.content_limit, required=True)
        database = self._access.writable.database
        if database.write(
            lambda transaction: changes.invalidate(transaction, ids, reason_text), frees_room=True
        ).result():
            self.parts.maintenance.notify()  # facts that came back have no vectors

    def _look(self, request: LookRequest) -> tuple[int, ...]:
        """Tell that somebody looked and that objects are not there; return the ids of those believed there until then.

        The caller is taken at its word: each confirmed object under the conditions counts as missed, and its stay ends.
        It is not forgotten, and is believed again once it is detected again. What was seen after the look stays.

        Raises:
            InvalidFieldError: a field cannot be used, or there is neither a place nor an id.
            FrameMismatchError: a place is in a frame that cannot be compared.
        """
        given = request.observed_at
        looked_at = self._access.clock() if given is None else validation.time_ns("observed_at", given)
        query = parse_look(self.parameters, request, decay=self.decay(), places=self.parts.places)
        found = self._access.ask(confirmed_among, query)
        threshold = self.parameters.object_min_existence
        return self._access.write(object_rows.miss, found, threshold, at=looked_at).result()

    def _restore(self, request: RestoreRequest) -> None:
        """Bring back a memory that was forgotten or superseded, or many at once: recall finds it again.

        Raises:
            MemoryNotFoundError: there is no such memory, it is active, or it became a part of another object; then
                none of them comes back.
        """
        ids = validation.one_or_more("memory_id", request.memory_id)
        self._access.write(changes.restore, ids).result()
        self.parts.maintenance.notify()

    def history(self, memory_id: int) -> tuple[Change, ...]:
        """Return the last 100 changes of a memory, newest first: what was done, when and why, and what it was before.

        Of a memory that was superseded, the first names what replaced it.

        Raises:
            InvalidFieldError: the id is no whole number.
            MemoryNotFoundError: there is no such memory, not even a forgotten one.
        """
        return self._access.read(changes.history, validation.whole("memory_id", memory_id))

    def _update(self, request: MemoryUpdate) -> None:
        """Correct a memory; what is not given stays, what is named in `clear` or given as "" or [] is emptied.

        A new context or new tags replace the old ones as a whole. Rules read a new text or context again for what they
        found in the old one. An object whose label is corrected counts all its sightings as votes for it; one that is
        moved becomes one with what has its label at its new place. `history` keeps what was before.

        Raises:
            InvalidFieldError: a field cannot be used, nothing is to be changed, or it is a note.
            MemoryNotFoundError: no active memory has this id.
        """
        parts = self._access.writable
        parts.learning.correct(parse_correction(self.parameters, request, now=self._access.clock()))
        if request.pose is not None:
            parts.objects.join(validation.whole("memory_id", request.memory_id))
        if request.content is not None:
            self.parts.maintenance.notify()

    def _purge(self, request: PurgeRequest) -> Purged:
        """Delete memories for good, active or not, and every trace of them in the file. There is no way back.

        If several conditions are given, all must hold; `before` is a time of observation. What a session or a time
        contributed to memories that stay is removed too: a fact that was also learned elsewhere or later is reduced to
        that, an object keeps its other sightings. With `dry_run` return what would be deleted now.

        Raises:
            InvalidFieldError: a condition cannot be used, or there is none.
            MemoryNotFoundError: an id is unknown; then nothing is deleted.
            PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        """
        selection = parse_selection(
            ids=request.ids, session_id=request.session_id, collection=request.collection, before=request.before
        )
        if request.dry_run:
            return plan(self.parts.database, selection)
        parts = self._access.writable
        parts.usage.write()  # the log of recalls may name what is purged
        report = purge(parts.database, selection, self.parameters, parts.tables)
        parts.maintenance.notify()  # facts that stay may have another text
        return report

    def finish_purge(self) -> bool:
        """Overwrite the traces that a purge could not overwrite, and return whether there were any.

        Raises:
            PurgeUnfinishedError: another process still keeps it from being done.
        """
        return finish(self._access.writable.database)

    def retain(self, *, dry_run: bool = False) -> Report:
        """Delete now what exceeds the budgets, or with `dry_run` report what that would be.

        Raises:
            ExportError: what is to go could not be exported, and so stays.
        """
        return self.parts.retention.plan() if dry_run else self._access.writable.retention.run()

    def changes_since(self, seen: Cursor | None = None, n: int = 512) -> Batch | None:
        """Return what changed after what a follower has seen, all of one epoch; None for nothing.

        There are at least `n` changes, if the epoch has as many. Its `cursor` is what the follower has seen with
        it. All since None is the whole memory, without notes.

        Raises:
            InvalidFieldError: `seen` is no cursor.
            RewoundError: the file was replaced, as by a backup, and the follower must start again.
        """
        cursor = BEGINNING if seen is None else seen
        if not isinstance(cursor, Cursor):
            raise InvalidFieldError("seen", seen, "must be the `cursor` of a batch, or None for the beginning")
        return self._access.read(changes_since, cursor, max(1, n))

    def apply(self, batch: Batch) -> Applied:
        """Store what is newer in a batch of any file, and delete what was deleted there, in one transaction.

        A batch may come twice. What was deleted here stays deleted.

        Raises:
            InvalidFieldError: the batch holds what no file has; then nothing of it is stored.
        """
        parts = self._access.writable
        result = parts.database.write(lambda transaction: apply(transaction, batch)).result()
        parts.maintenance.notify()
        return result

    def store_intake(self, process: str, report: IntakeReport, *, background: bool = True) -> Future[None]:
        """Let the writer keep what a node reports of its intake, in place of the last report of its `process`.

        `status` tells it to every program that has the file. Queries and calls go before one in the `background`.
        """
        database = self._access.writable.database
        return database.write(
            lambda transaction: imports.save_intake(transaction, process, report), background=background
        )

    @property
    def min_relevance(self) -> float:
        """Relevance that the best result must reach: the parameter's, or that of the embedding model."""
        parameter = self.parameters.min_relevance
        return self.parts.embedder.profile.min_relevance if parameter < 0 else parameter

    def status(self) -> Status:
        """Return what the memory holds now, and what is missing."""
        return status(self.parts, *(companion.trouble for companion in self._companions))

    def _doctor(self, request: DoctorRequest) -> tuple[Finding, ...]:
        """Examine the memory, and return a finding for each check; with `fix` mend what can be mended without a loss.

        Without `fix` nothing is written. Each page of the file is read, which takes seconds in a file of 100,000
        memories; readers and writers go on.

        Raises:
            ReadOnlyError: the memory is only read, and is to be mended.
        """
        parts = self._access.writable if request.fix else self.parts
        self.findings = examine(parts, self.parameters, self._access.clock, fix=request.fix)
        return self.findings

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the memory into a new file, with all that is on disk by now; return its path. Writing goes on meanwhile.

        The copy is a memory like any other. A `cp` of a file that is open would miss what is in its log.

        Raises:
            InvalidFieldError: the file exists already, or cannot be made.
            StorageError: the copy could not be written.
        """
        target = Path(path).expanduser()
        self.parts.database.back_up(target)
        return target

    def activity(self) -> Activity:
        """Return when the file was last written, which other programs have it open, and how much room its disk has."""
        return self._access.read(read_activity, self.path)

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch, as every verb reads it: `now` is that of the robot's clock.

        Raises:
            InvalidFieldError: it is no time, see `Time`.
        """
        return self._access.moment(field, value)

    def decay(self) -> Decay:
        """Return how memories decay, seen from now by the robot's clock."""
        return self._access.decay()

    @property
    def path(self) -> Path:
        """Return the database file."""
        return self.parts.database.path

    @property
    def waiting(self) -> int:
        """Return how many writes wait to be committed, about."""
        return self.parts.database.queue_length

    def warm_up(self) -> None:
        """Load the model, vectors and dictionaries of the texts, so that the first query is as quick as the next."""
        self.parts.warm_up()

    def wait_for_model(self) -> bool:
        """Wait until the embedding model is loaded or cannot be; return whether it is loaded."""
        return self.parts.embedder.wait()

    def flush(self, timeout: float | None = None, progress: Progress | None = None) -> bool:
        """Wait until all that was accepted is committed, indexed and, if there is a model, embedded.

        After `timeout` seconds, and the piece of work at hand, it returns false; the rest goes on in the background.
        `progress(done, total)` is called from time to time and at the end, in the thread of the caller, with the number
        of memories that have a vector and that of all. It is true also of texts that the model refused, and without a
        model: `status` tells what is missing.

        Raises:
            InvalidFieldError: the timeout is no number of seconds.
        """
        seconds = math.inf if timeout is None else validation.number("timeout", timeout, low=0.0)
        deadline = time.monotonic() + seconds
        for companion in self._companions:
            companion.settle(lambda: time.monotonic() < deadline)
        return self.parts.flush(deadline, progress)

    def attach(self, companion: Companion) -> None:
        """Let something above the memory live as long as it: `flush` settles it, `status` tells its trouble."""
        self._companions.append(companion)

    def close(self) -> None:
        """Commit what was accepted and close the database; a second call, or one in a forked process, does nothing.

        What still waits to be written after 3 s is thrown away: futures of it get a MemoryClosedError, and the log
        counts it. `flush` writes all, however long that takes.
        """
        if self._access.is_own:
            self.parts.database.begin_to_close()
            for companion in self._companions:
                companion.close()
            self._access.parts.close()
            atexit.unregister(self.close)

    @property
    def parts(self) -> Parts:
        """Return the parts that work on the file, for benchmarks and for doors that watch it or wait for its writer."""
        return self._access.parts

    def __repr__(self) -> str:
        try:
            now = self.status()
        except RobotMemoryError as error:
            return f"<RobotMemory {str(self.parameters.db_path)!r}: {error}>"
        return f"<RobotMemory {str(self.path)!r}: {now.memories} memories, {now.mode.value}>"

    def __enter__(self) -> RobotMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_scope(request: Scoped) -> None:
    validation.number("deadline", request.deadline, low=0.0, high=MAX_DEADLINE)
    if Scope.of(request.scope) is not Scope.ROBOT:
        raise InvalidFieldError("scope", request.scope, "needs a fleet, which the parameter fleet_url names")


def open_memory(
    db_path: str | os.PathLike[str] | None = None, collection: str = "default",
    *, opens: type[RobotMemory] | None = None, **options: Any,
) -> RobotMemory:  # fmt: skip
    """Open a memory; the arguments are those of `RobotMemory`, and `opens` a class that answers for more than the file.

    Folders of `notes_folders` are read while it is open, unless it is `read_only`.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a parameter cannot be used.
    """
    memory = (opens or RobotMemory)(db_path, collection, has_companions=True, **options)
    if memory.parameters.notes_folders and not memory.parts.database.read_only:
        memory.attach(NotesIngestor(memory._access))
    return memory
