"""The verbs with their arguments written out, which make the requests that the verbs take.

Written by scripts/render_arguments.py; what is to be changed stands in the requests and their verbs.
"""

# ruff: noqa: PLR0917

from __future__ import annotations

from collections.abc import Iterable

from ..argument import Json, Names, Verbs, Where
from ..doctor import Finding
from ..learning.learning import Learned
from ..learning.vocabulary import Retagged
from ..map_values import PathPoint
from ..maps.approach import Approach
from ..models import Events, MemoryUpdate, NewFact, NewPerception, PerceptionData, SeenObject, Session, Sighting, Stored
from ..notes.lines import NoteLines
from ..search.counts import Counts, Density
from ..search.details import MemoriesInFull
from ..search.request import CountsRequest, RecallRequest, TimelineRequest
from ..search.result import RecallResult
from ..search.timeline import Timeline
from ..search.usage import RecallLog
from ..sessions.consolidation import Consolidation
from ..sessions.sessions import SessionReport, SessionStart
from ..storage.purge_rows import Purged
from ..storage.tag_rows import Tag
from ..times import Time
from .requests import (
    AddTagRequest,
    ApproachRequest,
    ConsolidateRequest,
    DensityRequest,
    DoctorRequest,
    EndSessionRequest,
    EventsRequest,
    ForgetRequest,
    GetDataRequest,
    GetMemoriesRequest,
    LookRequest,
    NoteLinesRequest,
    ObjectHistoryRequest,
    PathRequest,
    PurgeRequest,
    RecallsRequest,
    RemoveTagRequest,
    RenameTagRequest,
    RestoreRequest,
    SeenObjectsRequest,
    SessionsRequest,
    StartSessionRequest,
    TagsRequest,
)


class MemoryVerbs(Verbs):
    """Verbs of `RobotMemory`."""

    def learn(
        self, insight: str, context: Json = None, session_id: str | None = None, collection: str | None = None, *,
        human_summary: str | None = None, category: str | None = None, tags: Iterable[str] = (),
        confidence: float | None = None, observed_at: Time | None = None, scope_files: Iterable[str] = (),
        scope_entities: Iterable[str] = (),
    ) -> Learned:  # fmt: skip
        """Learn a fact: store it, or reinforce the one with the same text. When this returns, it is on disk.

        Rules find what is left open of category, tags, confidence, scope and `context.params`; `explain` says which.
        A context in plain text becomes `{"user_context": text}`, here as everywhere.

        Args:
            insight: the fact, in a sentence that stands alone. Example: insight="a grip force of 12.5 N holds the red
                mug"
            context: what else belongs to it, such as {"task": {"name": "pick", "success": true}, "params": {"force":
                12.5}}. Example: context={"task": {"success": True}, "params": {"force": 12.5}}
            session_id: the session that it belongs to. Example: session_id=session.session_id
            collection: its collection, if not the default one. Example: collection="kitchen"
            human_summary: a short text for people. Example: human_summary="mug: 12.5 N"
            category: its category; left out, rules find it. Example: category="constraint"
            tags: its tags; left out, rules find them. Example: tags=["gripper"]
            confidence: how sure it is, in [0, 1]; left out, rules estimate it. Example: confidence=0.8
            observed_at: when it was observed, if not now (nanoseconds since the epoch, a datetime, a text, or a
                timedelta before now). Example: observed_at="3 minutes ago"
            scope_files: files that it is about; left out, rules find them. Example: scope_files=["grasp.yaml"]
            scope_entities: names that it is about; left out, rules find them. Example: scope_entities=["mug"]

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        return self._learn(NewFact(
            insight=insight, context=context, session_id=session_id, collection=collection,
            human_summary=human_summary, category=category, tags=tags, confidence=confidence,
            observed_at=self._time("observed_at", observed_at), scope_files=scope_files, scope_entities=scope_entities,
        ))  # fmt: skip

    def _learn(self, request: NewFact) -> Learned:
        raise NotImplementedError

    def data(self, memory_id: int) -> PerceptionData:
        """Return what recall leaves out of a perception: its raw data or thumbnail, and its metadata.

        Args:
            memory_id: id of the perception. Example: memory_id=7

        Raises:
            InvalidFieldError: the id is no whole number.
            MemoryNotFoundError: no active memory has this id, or this one has neither data nor metadata.
        """
        return self._data(GetDataRequest(memory_id=memory_id))

    def _data(self, request: GetDataRequest) -> PerceptionData:
        raise NotImplementedError

    def save_perception(
        self, description: str, perception_type: str = "visual", data: bytes | None = None, metadata: Json = None,
        context: Json = None, *, session_id: str | None = None, collection: str | None = None,
        pose: Iterable[float] | None = None, size: Iterable[float] | None = None, frame_id: str | None = None,
        label: str | None = None, as_object: bool = True, confidence: float = 0.9, observed_at: Time | None = None,
        received_at: int = 0,
    ) -> Stored:  # fmt: skip
        """Store a perception. When this returns, it is on disk.

        `pose` is x, y, z in metres, and a yaw in radians or a quaternion x, y, z, w, in `frame_id`. A perception with a
        label and a pose in the memory frame is a sighting of an object: the id is that of the object, and `times_seen`
        is 1 for a new object. An object keeps its first description and data, and the latest context. What is no
        sighting is a memory of its own, the same saved twice is two: without label or pose, with `as_object` false, a
        named place (place), and what the robot perceives of itself (proprioceptive, procedural). Nothing is transformed
        here: if a pose in another frame keeps it from being a sighting, the `reason` of the result says so.

        Args:
            description: what was perceived, in words. Example: description="a red mug on the table"
            perception_type: the sense that it came by. Example: perception_type="tactile"
            data: raw data or a thumbnail, at most `data_limit` bytes. Example: data=jpeg_bytes
            metadata: what is to be known of the data. Example: metadata={"format": "jpeg"}
            context: what else belongs to it, such as {"task": "patrol"}. Example: context={"task": "patrol"}
            session_id: the session that it belongs to. Example: session_id=session.session_id
            collection: its collection, if not the default one. Example: collection="kitchen"
            pose: where it is: x, y, z in metres, and a yaw in radians or a quaternion x, y, z, w if it is turned.
                Example: pose=(3.0, 1.0, 0.8)
            size: how large it is: the edges x, y, z of a box around it in metres. Example: size=(0.08, 0.08, 0.1)
            frame_id: frame of the pose, if not the memory frame. Example: frame_id="odom"
            label: what kind of thing it is, such as mug. Example: label="mug"
            as_object: whether it may be a sighting of an object. Example: as_object=False
            confidence: how sure it is, in [0, 1]. Example: confidence=0.7
            observed_at: when it was perceived, if not now (nanoseconds since the epoch, a datetime, a text, or a
                timedelta before now). Example: observed_at=datetime(2026, 1, 31, 12)
            received_at: when it came in with a stream, by the robot's clock; 0 for what was told in a call. Example:
                received_at=message_time

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        return self._save_perception(NewPerception(
            description=description, perception_type=perception_type, data=data, metadata=metadata, context=context,
            session_id=session_id, collection=collection, pose=pose, size=size, frame_id=frame_id, label=label,
            as_object=as_object, confidence=confidence, observed_at=self._time("observed_at", observed_at),
            received_at=received_at,
        ))  # fmt: skip

    def _save_perception(self, request: NewPerception) -> Stored:
        raise NotImplementedError

    def events(self, after: int = 0, n: int = 100) -> Events:
        """Return what became of objects and facts after an event that is known, in order: see `~/events`.

        The last 100,000 events are kept, and of those before them the last one of each memory.

        Args:
            after: number of the last event that is known; 0 for none. Example: after=41
            n: largest number of events. Example: n=20

        Raises:
            InvalidFieldError: `n` is less than 1, or the file has no event `after`, as one that was restored.
        """
        return self._events(EventsRequest(after=after, n=n))

    def _events(self, request: EventsRequest) -> Events:
        raise NotImplementedError

    def object_history(self, memory_id: int, n: int = 100) -> tuple[Sighting, ...]:
        """Return the last `n` sightings of an object that were kept, newest first.

        Args:
            memory_id: id of the object. Example: memory_id=7
            n: largest number of sightings, the newest first. Example: n=20

        Raises:
            InvalidFieldError: `n` is less than 1.
            MemoryNotFoundError: no active object has this id.
        """
        return self._object_history(ObjectHistoryRequest(memory_id=memory_id, n=n))

    def _object_history(self, request: ObjectHistoryRequest) -> tuple[Sighting, ...]:
        raise NotImplementedError

    def objects(
        self, limit: int = 2000, *, include_unconfirmed: bool = False, as_of: Time | None = None,
    ) -> tuple[SeenObject, ...]:  # fmt: skip
        """Return the confirmed objects of the current map, or all, in all collections, those seen last first.

        Args:
            limit: largest number of objects. Example: limit=100
            include_unconfirmed: also objects that are not confirmed. Example: include_unconfirmed=True
            as_of: as they were believed to be at this time (nanoseconds since the epoch, a datetime, a text, or a
                timedelta before now). Example: as_of="yesterday 14:00"

        """
        return self._objects(SeenObjectsRequest(
            limit=limit, include_unconfirmed=include_unconfirmed, as_of=self._time("as_of", as_of),
        ))  # fmt: skip

    def _objects(self, request: SeenObjectsRequest) -> tuple[SeenObject, ...]:
        raise NotImplementedError

    def recall(
        self, query: str = "", n: int = 5, min_confidence: float | None = None, session_id: str | None = None,
        context_filter: Json = None, spatial_sort: Where = None, after: Time | None = None,
        before: Time | None = None, collection: str | None = None, *, scope: str = "robot", deadline: float = 1.0,
        collections: Names = (), session_ids: Names = (), excluded_session_ids: Names = (), kinds: Names = (),
        categories: Names = (), labels: Names = (), tags: Names = (), any_tags: Names = (), areas: Names = (),
        max_age: float = 0.0, include_unconfirmed: bool = False, as_of: Time | None = None,
        changed_since: Time | None = None, min_relevance: float | None = None,
        ids: Iterable[int] | int | None = (), near: Where = None, within: Json = None,
        since_last_visit: Where = None, usually_at: str | None = None, representatives_only: bool = False,
        explain: bool = False, fold: bool = True, count_usage: bool = True, time_words: bool | None = None,
        result_frame: str = "", caller: str = "python",
    ) -> RecallResult:  # fmt: skip
        r"""Find memories: by relevance, by distance with a spatial sort, else most recent first; best first.

        `spatial_sort` is `{"field": "spatial.object_position", "target": [x, y, z], "max_distance": 2.0}` in metres,
        with `frame_id` if that is not the memory frame; the window `[after, before)` is half-open.
        `representatives_only` leaves out the facts that another one of their group represents, see `consolidate`.
        If no memory is at least as relevant to the text as `min_relevance`, in [0, 1], there is no result, and the
        reason says how near the best one comes. None means the parameter, and that the best of what a condition on
        what, where or when leaves is the result all the same, with `relevant` false.
        Objects that are not confirmed are left out, and the reason says how many, unless `include_unconfirmed` or a
        condition on `confirmed` asks for them. docs/recall.md lists the conditions. Without `count_usage`, as for what
        nobody asked for, the results do not count as used, and the log of recalls does not have it.

        Args:
            query: words, or a question. Example: query="where is the red mug?"
            n: largest number of memories. Example: n=10
            min_confidence: smallest confidence of a memory now, in [0, 1]; default: 0.3, and less if only faded
                memories match. Example: min_confidence=0.5
            session_id: memories of this session. Example: session_id="4e1f02c2"
            context_filter: conditions on the context, such as '{"task.success": true}'; a key with a dot stands in
                quotes, as in '{"params.\"max.speed\"": 1}'. Example: context_filter={"task.success": True,
                "params.force": {"$lt": 15}}
            spatial_sort: nearest first, such as 1.0,2.0 or '{"target": [1.0, 2.0, 0.0], "max_distance": 5.0}' (x, y and
                z in metres, the name of a place or of a frame, or an object with `target`, `max_distance`, `frame_id`
                and `field`). Example: spatial_sort=(1.0, 2.0, 0.0)
            after: memories observed at or after this time, as in 2026-01-31T12:00 (nanoseconds since the epoch, a
                datetime, a text, or a timedelta before now). Example: after="2 hours ago"
            before: memories observed before this time (nanoseconds since the epoch, a datetime, a text, or a timedelta
                before now). Example: before=datetime(2026, 1, 31, 12)
            collection: memories of this collection; `*` is all. Example: collection="kitchen"
            scope: whose memories: `robot` (its own), `fleet` or `both`. Example: scope="both"
            deadline: seconds to wait for the fleet. Example: deadline=0.5
            collections: memories of these collections. Example: collections=["kitchen", "hall"]
            session_ids: memories of these sessions. Example: session_ids="4e1f02c2"
            excluded_session_ids: no memories of these sessions. Example: excluded_session_ids=["4e1f02c2"]
            kinds: memories of these kinds: facts, perceptions, notes. Example: kinds="fact"
            categories: facts of these categories. Example: categories=["constraint"]
            labels: perceptions with these labels. Example: labels="mug"
            tags: memories with all of these tags. Example: tags=["dock", "night"]
            any_tags: memories with at least one of these tags. Example: any_tags=["dock", "night"]
            areas: memories in these areas. Example: areas="kitchen"
            max_age: memories observed at most so many seconds ago; 0 for any age. Example: max_age=600.0
            include_unconfirmed: also objects that are not confirmed. Example: include_unconfirmed=True
            as_of: what was known at this time, from nothing later (nanoseconds since the epoch, a datetime, a text, or
                a timedelta before now). Example: as_of="yesterday 14:00"
            changed_since: objects that appeared, left or moved since this time (nanoseconds since the epoch, a
                datetime, a text, or a timedelta before now). Example: changed_since="yesterday"
            min_relevance: nothing, if no memory is so relevant to the words, in [0, 1]; default: the parameter.
                Example: min_relevance=0.4
            ids: these memories. Example: ids=[3, 7]
            near: memories near a place, such as 1.0,2.0 (within 5 m) or '{"target": [1.0, 2.0], "max_distance": 5.0}'
                (x, y and z in metres, the name of a place or of a frame, or an object with `target`, `max_distance`,
                `frame_id` and `field`). Example: near={"target": (1.0, 2.0), "max_distance": 3.0}
            within: memories in a box, such as '{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'. Example:
                within={"min_corner": (0.0, 0.0), "max_corner": (4.0, 3.0)}
            since_last_visit: memories observed since the robot's last visit to a place, given as `near` is (x, y and z
                in metres, the name of a place or of a frame, or an object with `target`, `max_distance`, `frame_id` and
                `field`). Example: since_last_visit=(1.0, 2.0)
            usually_at: objects where they usually are at a time of day, such as 09:00 or Monday 09:00. Example:
                usually_at="09:00"
            representatives_only: of similar facts, only the representative. Example: representatives_only=True
            explain: how each score came about. Example: explain=True
            fold: one memory stands for all of the same text; with a place, or without words, for those nearby. Example:
                fold=False
            count_usage: whether the results count as used, by retention and by the session, and the log has it.
                Example: count_usage=False
            time_words: whether words of the query that say when are its window; default: the parameter; not those of a
                text that is no question. Example: time_words=False
            result_frame: frame in which poses are returned, which a node alone knows; empty for the memory frame.
                Example: result_frame="map"
            caller: who asks, for the log of recalls. Example: caller="planner"

        Raises:
            InvalidFieldError: a field cannot be used, or there is nothing to go by.
            FrameMismatchError: a position is in a frame that cannot be compared.
        """
        return self._recall(RecallRequest(
            query=query, n=n, min_confidence=min_confidence, session_id=session_id, context_filter=context_filter,
            spatial_sort=spatial_sort, after=self._time("after", after), before=self._time("before", before),
            collection=collection, scope=scope, deadline=deadline, collections=collections, session_ids=session_ids,
            excluded_session_ids=excluded_session_ids, kinds=kinds, categories=categories, labels=labels, tags=tags,
            any_tags=any_tags, areas=areas, max_age=max_age, include_unconfirmed=include_unconfirmed,
            as_of=self._time("as_of", as_of), changed_since=self._time("changed_since", changed_since),
            min_relevance=min_relevance, ids=ids, near=near, within=within, since_last_visit=since_last_visit,
            usually_at=usually_at, representatives_only=representatives_only, explain=explain, fold=fold,
            count_usage=count_usage, time_words=time_words, result_frame=result_frame, caller=caller,
        ))  # fmt: skip

    def _recall(self, request: RecallRequest) -> RecallResult:
        raise NotImplementedError

    def recalls(self, n: int = 100) -> RecallLog:
        """Return the last `n` recalls, and the `n` memories that were recalled most often.

        The log has at most as many recalls as the parameter `recall_log` says; those of the last second may be missing.

        Args:
            n: largest number of recalls, and of memories. Example: n=20

        Raises:
            InvalidFieldError: `n` is not in 1 to 1,000.
        """
        return self._recalls(RecallsRequest(n=n))

    def _recalls(self, request: RecallsRequest) -> RecallLog:
        raise NotImplementedError

    def timeline(
        self, *, scope: str = "robot", deadline: float = 1.0, collections: Names = (), session_ids: Names = (),
        excluded_session_ids: Names = (), kinds: Names = (), categories: Names = (), labels: Names = (),
        tags: Names = (), any_tags: Names = (), areas: Names = (), max_age: float = 0.0,
        include_unconfirmed: bool = False, as_of: Time | None = None, changed_since: Time | None = None,
        n: int = 50, cursor: str = "", oldest_first: bool = False, after: Time | None = None,
        before: Time | None = None, collection: str | None = None, min_confidence: float = 0.0,
        include_forgotten: bool = False,
    ) -> Timeline:  # fmt: skip
        """Return a page of memories by the time of their observation, newest or oldest first, each in brief.

        The conditions are those of `recall`, and all may be left out. `cursor` is that of the page before. What is
        stored or withdrawn between two pages moves no other memory: what is there throughout is on exactly one page.

        Args:
            scope: whose memories: `robot` (its own), `fleet` or `both`. Example: scope="both"
            deadline: seconds to wait for the fleet. Example: deadline=0.5
            collections: memories of these collections. Example: collections=["kitchen", "hall"]
            session_ids: memories of these sessions. Example: session_ids="4e1f02c2"
            excluded_session_ids: no memories of these sessions. Example: excluded_session_ids=["4e1f02c2"]
            kinds: memories of these kinds: facts, perceptions, notes. Example: kinds="fact"
            categories: facts of these categories. Example: categories=["constraint"]
            labels: perceptions with these labels. Example: labels="mug"
            tags: memories with all of these tags. Example: tags=["dock", "night"]
            any_tags: memories with at least one of these tags. Example: any_tags=["dock", "night"]
            areas: memories in these areas. Example: areas="kitchen"
            max_age: memories observed at most so many seconds ago; 0 for any age. Example: max_age=600.0
            include_unconfirmed: also objects that are not confirmed. Example: include_unconfirmed=True
            as_of: what was known at this time, from nothing later (nanoseconds since the epoch, a datetime, a text, or
                a timedelta before now). Example: as_of="yesterday 14:00"
            changed_since: objects that appeared, left or moved since this time (nanoseconds since the epoch, a
                datetime, a text, or a timedelta before now). Example: changed_since="yesterday"
            n: largest number of memories. Example: n=100
            cursor: the cursor of the page before. Example: cursor=page.cursor
            oldest_first: the oldest memories first. Example: oldest_first=True
            after: memories observed at or after this time, as in 2026-01-31T12:00 (nanoseconds since the epoch, a
                datetime, a text, or a timedelta before now). Example: after="yesterday"
            before: memories observed before this time (nanoseconds since the epoch, a datetime, a text, or a timedelta
                before now). Example: before=datetime(2026, 1, 31, 12)
            collection: memories of this collection; `*` is all. Example: collection="kitchen"
            min_confidence: smallest confidence of a memory now, in [0, 1]. Example: min_confidence=0.5
            include_forgotten: also memories that were forgotten or superseded. Example: include_forgotten=True

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        return self._timeline(TimelineRequest(
            scope=scope, deadline=deadline, collections=collections, session_ids=session_ids,
            excluded_session_ids=excluded_session_ids, kinds=kinds, categories=categories, labels=labels, tags=tags,
            any_tags=any_tags, areas=areas, max_age=max_age, include_unconfirmed=include_unconfirmed,
            as_of=self._time("as_of", as_of), changed_since=self._time("changed_since", changed_since), n=n,
            cursor=cursor, oldest_first=oldest_first, after=self._time("after", after), before=self._time("before",
            before), collection=collection, min_confidence=min_confidence, include_forgotten=include_forgotten,
        ))  # fmt: skip

    def _timeline(self, request: TimelineRequest) -> Timeline:
        raise NotImplementedError

    def density(
        self, *, bins: int = 100, after: Time | None = None, before: Time | None = None,
        collection: str | None = None,
    ) -> Density:  # fmt: skip
        """Return how many active memories of each kind were observed in each of some equal parts of `[after, before)`.

        An object counts whenever it was sighted. Without a window it reaches from the first observation to the last.

        Args:
            bins: equal parts of the window. Example: bins=24
            after: memories observed at or after this time (nanoseconds since the epoch, a datetime, a text, or a
                timedelta before now). Example: after="yesterday"
            before: memories observed before this time (nanoseconds since the epoch, a datetime, a text, or a timedelta
                before now). Example: before="today"
            collection: memories of this collection; by default of all. Example: collection="kitchen"

        Raises:
            InvalidFieldError: `bins` is not in 1 to 1,000, a time cannot be used, or the window is empty.
        """
        return self._density(DensityRequest(
            bins=bins, after=self._time("after", after), before=self._time("before", before), collection=collection,
        ))  # fmt: skip

    def _density(self, request: DensityRequest) -> Density:
        raise NotImplementedError

    def get_memories(self, ids: Iterable[int] | int, *, include_forgotten: bool = False) -> MemoriesInFull:
        """Return at most 100 memories in full, with history, sightings and data, in the order of their ids.

        Ids of no memory are left out, and those of memories that were forgotten or superseded, unless
        `include_forgotten`; the `reason` of the result says of each why.

        Args:
            ids: ids of the memories. Example: ids=[3, 7]
            include_forgotten: also those that were forgotten or superseded. Example: include_forgotten=True

        Raises:
            InvalidFieldError: an id is no whole number, or there are too many.
        """
        return self._get_memories(GetMemoriesRequest(ids=ids, include_forgotten=include_forgotten))

    def _get_memories(self, request: GetMemoriesRequest) -> MemoriesInFull:
        raise NotImplementedError

    def counts(
        self, field: str, *, scope: str = "robot", deadline: float = 1.0, collection: str | None = None,
        n: int = 1000,
    ) -> Counts:  # fmt: skip
        """Return how many active memories each value of a field has, in a collection or in all; largest first.

        `field` is `collections`, `categories`, `tags`, `labels`, `areas`, `sessions` or `kinds`. Objects that are not
        confirmed count, too.

        Args:
            field: what to count by: `collections`, `categories`, `tags`, `labels`, `areas`, `sessions` or `kinds`.
                Example: field="labels"
            scope: whose memories: `robot` (its own), `fleet` or `both`. Example: scope="both"
            deadline: seconds to wait for the fleet. Example: deadline=0.5
            collection: memories of this collection; by default of all. Example: collection="kitchen"
            n: largest number of values. Example: n=10

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        return self._counts(CountsRequest(field=field, scope=scope, deadline=deadline, collection=collection, n=n))

    def _counts(self, request: CountsRequest) -> Counts:
        raise NotImplementedError

    def forget(self, memory_id: Iterable[int] | int, reason: str) -> None:
        """Withdraw a memory, or many at once: no recall finds it any more; the row stays, with the reason.

        Args:
            memory_id: id of the memory, or ids of many. Example: memory_id=7
            reason: why it is wrong or of no use any more; it is kept with the memory. Example: reason="the mug was
                thrown away"

        Raises:
            InvalidFieldError: there is no reason, or it is a note; then none of them is withdrawn.
            MemoryNotFoundError: no active memory has this id; then none of them is withdrawn.
        """
        return self._forget(ForgetRequest(memory_id=memory_id, reason=reason))

    def _forget(self, request: ForgetRequest) -> None:
        raise NotImplementedError

    def look(
        self, *, near: Where = None, within: Json = None, ids: Iterable[int] | int | None = (), labels: Names = (),
        observed_at: Time | None = None,
    ) -> tuple[int, ...]:  # fmt: skip
        """Tell that somebody looked and that objects are not there; return the ids of those believed there until then.

        The caller is taken at its word: each confirmed object under the conditions counts as missed, and its stay ends.
        It is not forgotten, and is believed again once it is detected again. What was seen after the look stays.

        Args:
            near: the place, such as 1.0,2.0 (within 1 m) or '{"target": [1.0, 2.0], "max_distance": 0.5}' (x, y and z
                in metres, the name of a place or of a frame, or an object with `target`, `max_distance`, `frame_id` and
                `field`). Example: near={"target": (1.0, 2.0), "max_distance": 0.5}
            within: the space, such as '{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'. Example:
                within={"min_corner": (0.0, 0.0), "max_corner": (4.0, 3.0)}
            ids: these objects. Example: ids=[3, 7]
            labels: what has one of these labels; by default all. Example: labels="mug"
            observed_at: when the look was; by default now (nanoseconds since the epoch, a datetime, a text, or a
                timedelta before now). Example: observed_at="2 minutes ago"

        Raises:
            InvalidFieldError: a field cannot be used, or there is neither a place nor an id.
            FrameMismatchError: a place is in a frame that cannot be compared.
        """
        return self._look(LookRequest(
            near=near, within=within, ids=ids, labels=labels, observed_at=self._time("observed_at", observed_at),
        ))  # fmt: skip

    def _look(self, request: LookRequest) -> tuple[int, ...]:
        raise NotImplementedError

    def restore(self, memory_id: Iterable[int] | int) -> None:
        """Bring back a memory that was forgotten or superseded, or many at once: recall finds it again.

        Args:
            memory_id: id of a memory that was forgotten or superseded, or ids of many. Example: memory_id=[3, 7]

        Raises:
            MemoryNotFoundError: there is no such memory, it is active, or it became a part of another object; then
                none of them comes back.
        """
        return self._restore(RestoreRequest(memory_id=memory_id))

    def _restore(self, request: RestoreRequest) -> None:
        raise NotImplementedError

    def update(
        self, memory_id: int, content: str | None = None, *, human_summary: str | None = None,
        context: Json = None, category: str | None = None, tags: Iterable[str] | None = None,
        add_tags: Iterable[str] | None = None, remove_tags: Iterable[str] | None = None,
        confidence: float | None = None, decay_rate: float | None = None, label: str | None = None,
        perception_type: str | None = None, pose: Iterable[float] | None = None, frame_id: str | None = None,
        clear: Iterable[str] = (), reason: str | None = None,
    ) -> None:  # fmt: skip
        """Correct a memory; what is None stays, what is named in `clear` or given as "" or [] is emptied.

        A new context or new tags replace the old ones as a whole. Rules read a new text or context again for what they
        found in the old one. An object whose label is corrected counts all its sightings as votes for it; one that is
        moved becomes one with what has its label at its new place. `history` keeps what was before.

        Args:
            memory_id: the memory. Example: memory_id=7
            content: new text. Example: content="a grip force of 11 N holds the red mug"
            human_summary: new short text. Example: human_summary="mug: 11 N"
            context: new context. Example: context={"params": {"force": 11}}
            category: new category. Example: category="preference"
            tags: new tags, instead of all old ones. Example: tags=["gripper"]
            add_tags: tags to add. Example: add_tags=["checked"]
            remove_tags: tags to remove. Example: remove_tags=["guess"]
            confidence: new confidence, from 0 to 1. Example: confidence=0.9
            decay_rate: share of the confidence that it loses per day. Example: decay_rate=0.01
            label: new label of a perception. Example: label="cup"
            perception_type: new sense of a perception. Example: perception_type="visual"
            pose: new x y z, and qx qy qz qw if there is one. Example: pose=(3.0, 1.0, 0.8)
            frame_id: frame of the pose; by default that of the memory. Example: frame_id="odom"
            clear: fields to empty, by their names. Example: clear=["category"]
            reason: why, for the history. Example: reason="measured again"

        Raises:
            InvalidFieldError: a field cannot be used, nothing is to be changed, or it is a note.
            MemoryNotFoundError: no active memory has this id.
        """
        return self._update(MemoryUpdate(
            memory_id=memory_id, content=content, human_summary=human_summary, context=context, category=category,
            tags=tags, add_tags=add_tags, remove_tags=remove_tags, confidence=confidence, decay_rate=decay_rate,
            label=label, perception_type=perception_type, pose=pose, frame_id=frame_id, clear=clear, reason=reason,
        ))  # fmt: skip

    def _update(self, request: MemoryUpdate) -> None:
        raise NotImplementedError

    def purge(
        self, *, ids: Iterable[int] | int | None = None, session_id: str | None = None,
        collection: str | None = None, before: Time | None = None, dry_run: bool = False,
    ) -> Purged:  # fmt: skip
        """Delete memories for good, active or not, and every trace of them in the file. There is no way back.

        If several conditions are given, all must hold; `before` is a time of observation. What a session or a time
        contributed to memories that stay is removed too: a fact that was also learned elsewhere or later is reduced to
        that, an object keeps its other sightings. With `dry_run` return what would be deleted now.

        Args:
            ids: these memories. Example: ids=[3, 7]
            session_id: memories of this session, and the session. Example: session_id="4e1f02c2"
            collection: memories of this collection, and its sessions. Example: collection="kitchen"
            before: memories observed before (nanoseconds since the epoch, a datetime, a text, or a timedelta before
                now). Example: before="30 days ago"
            dry_run: only tell what would be deleted. Example: dry_run=True

        Raises:
            InvalidFieldError: a condition cannot be used, or there is none.
            MemoryNotFoundError: an id is unknown; then nothing is deleted.
            PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        """
        return self._purge(PurgeRequest(
            ids=ids, session_id=session_id, collection=collection, before=self._time("before", before), dry_run=dry_run,
        ))  # fmt: skip

    def _purge(self, request: PurgeRequest) -> Purged:
        raise NotImplementedError

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """Examine the memory, and return a finding for each check; with `fix` mend what can be mended without a loss.

        Without `fix` nothing is written. Each page of the file is read, which takes seconds in a file of 100,000
        memories; readers and writers go on.

        Args:
            fix: also mend what can be mended without a loss. Example: fix=True

        Raises:
            ReadOnlyError: the memory is only read, and is to be mended.
        """
        return self._doctor(DoctorRequest(fix=fix))

    def _doctor(self, request: DoctorRequest) -> tuple[Finding, ...]:
        raise NotImplementedError


class SessionVerbs(Verbs):
    """Verbs of `Sessions`."""

    def start(
        self, context: Json = None, collection: str | None = None, *, max_duration: float | None = None,
    ) -> SessionStart:  # fmt: skip
        """Begin an episode; what is recalled in its collection until it ends shares in its outcome.

        It goes on until `end`, over restarts of the program, but for `max_duration` seconds of the robot's clock at
        most; None or 0 means the parameter `session_max_duration`.

        Args:
            context: what the episode is about, such as {"task": "clear the table", "place": "kitchen"}, or plain text.
                Example: context={"task": "clear the table"}
            collection: namespace of the episode and of what is recalled in it. Example: collection="kitchen"
            max_duration: seconds after which it ends by itself; 0 for the parameter. Example: max_duration=600.0

        Raises:
            InvalidFieldError: the context cannot be used or is larger than 64 KB, or another field cannot be used.
        """
        return self._start(StartSessionRequest(context=context, collection=collection, max_duration=max_duration))

    def _start(self, request: StartSessionRequest) -> SessionStart:
        raise NotImplementedError

    def end(self, session_id: str, outcome_score: float | None = None) -> SessionReport:
        """End an episode: group its similar facts, and tell what came of it and what to know the next time.

        `outcome_score` lies in [0, 1]; None when nobody can say. An episode that expired is ended by this, too: it
        keeps the time at which it expired.

        Args:
            session_id: id that start_session returned. Example: session_id=session.session_id
            outcome_score: how well it went, from 0 (failed) to 1 (full success); leave it out if nobody can say.
                Example: outcome_score=0.8

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: there is no such session, or it was ended before.
        """
        return self._end(EndSessionRequest(session_id=session_id, outcome_score=outcome_score))

    def _end(self, request: EndSessionRequest) -> SessionReport:
        raise NotImplementedError

    def latest(self, collection: str | None = None, n: int = 20, *, cursor: str | None = None) -> tuple[Session, ...]:
        """Return the last `n` sessions, of a collection or of all; the one that was started last comes first.

        `cursor` is the id of the last session of a page; then those that were started before it come.

        Args:
            collection: only those of this collection. Example: collection="kitchen"
            n: largest number of sessions. Example: n=100
            cursor: id of the last session of the page before. Example: cursor="4e1f02c2"

        Raises:
            InvalidFieldError: a field cannot be used, or there is no such session.
        """
        return self._latest(SessionsRequest(collection=collection, n=n, cursor=cursor))

    def _latest(self, request: SessionsRequest) -> tuple[Session, ...]:
        raise NotImplementedError

    def consolidate(self, session_id: str, collection: str | None = None, *, dry_run: bool = False) -> Consolidation:
        """Group the similar facts of a session, or with `dry_run` tell what the groups would be.

        All members of a group stay active. Only a fact of the same text as its representative is superseded; it comes
        back when that one is forgotten or reworded.

        Args:
            session_id: id of the session. Example: session_id="4e1f02c2"
            collection: its collection; by default that of the session. Example: collection="kitchen"
            dry_run: only tell what the groups would be. Example: dry_run=True

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no session and no memory of the collection has this id.
        """
        return self._consolidate(ConsolidateRequest(session_id=session_id, collection=collection, dry_run=dry_run))

    def _consolidate(self, request: ConsolidateRequest) -> Consolidation:
        raise NotImplementedError


class TagVerbs(Verbs):
    """Verbs of `Tags`."""

    def all(self, collection: str | None = None) -> tuple[Tag, ...]:
        """Return all tags in alphabetical order, with the tag above each and the number of memories under it.

        That is how many active memories a filter by it finds, in a collection or in all.

        Args:
            collection: count only memories of this collection. Example: collection="kitchen"

        Raises:
            InvalidFieldError: the name of the collection cannot be used.
        """
        return self._all(TagsRequest(collection=collection))

    def _all(self, request: TagsRequest) -> tuple[Tag, ...]:
        raise NotImplementedError

    def add(self, tag: str, parent: str = "", display_name: str = "") -> None:
        """Add a tag to the tree under another one, at the top without `parent`; a tag that is there is moved.

        A filter by a tag also finds what has a tag under it. Tags are the same in whatever case and width they are
        written; `display_name` is what people read.

        Args:
            tag: the tag; one that is there is moved. Example: tag="fridge"
            parent: tag above it; empty for the top. Example: parent="kitchen"
            display_name: what people read; empty for the tag as it is written. Example: display_name="Fridge"

        Raises:
            InvalidFieldError: a name cannot be used, the parent is unknown or stands under the tag, or rules give the
                tag.
        """
        return self._add(AddTagRequest(tag=tag, parent=parent, display_name=display_name))

    def _add(self, request: AddTagRequest) -> None:
        raise NotImplementedError

    def rename(self, tag: str, new_tag: str, *, dry_run: bool = False) -> Retagged:
        """Rename a tag in the tree and in all memories; if the new one is there, the two become one.

        `history` of a memory keeps the tags that it had. With `dry_run` nothing is changed.

        Args:
            tag: the tag. Example: tag="fridge"
            new_tag: its new name; if that is there, the two become one. Example: new_tag="icebox"
            dry_run: only tell how many memories have it. Example: dry_run=True

        Raises:
            InvalidFieldError: a name cannot be used, the tag is unknown or given by rules, or the new one stands under
                it.
        """
        return self._rename(RenameTagRequest(tag=tag, new_tag=new_tag, dry_run=dry_run))

    def _rename(self, request: RenameTagRequest) -> Retagged:
        raise NotImplementedError

    def remove(self, tag: str, *, dry_run: bool = False) -> Retagged:
        """Take a tag away from all memories and out of the tree; those under it move up. With `dry_run` it stays.

        Args:
            tag: the tag. Example: tag="icebox"
            dry_run: only tell how many memories have it. Example: dry_run=True

        Raises:
            InvalidFieldError: the name cannot be used, the tag is unknown, or rules give it.
        """
        return self._remove(RemoveTagRequest(tag=tag, dry_run=dry_run))

    def _remove(self, request: RemoveTagRequest) -> Retagged:
        raise NotImplementedError


class MapVerbs(Verbs):
    """Verbs of `Maps`."""

    def path(
        self, *, after: Time | None = None, before: Time | None = None, map_id: str | None = None, n: int = 5000,
    ) -> tuple[PathPoint, ...]:  # fmt: skip
        """Return where the robot drove in `[after, before)`, oldest first: at most `n` points that lie evenly.

        Without `map_id` it is the path on the present map: the parameter `map_id`, else where the robot drove last.

        Args:
            after: at or after this time (nanoseconds since the epoch, a datetime, a text, or a timedelta before now).
                Example: after="2 hours ago"
            before: before this time (nanoseconds since the epoch, a datetime, a text, or a timedelta before now).
                Example: before="today"
            map_id: name of the map; by default the present one. Example: map_id="floor1"
            n: largest number of points, which lie evenly. Example: n=100

        Raises:
            InvalidFieldError: a time or the name of the map cannot be used, or `n` is not in 1 to 100,000.
        """
        return self._path(PathRequest(
            after=self._time("after", after), before=self._time("before", before), map_id=map_id, n=n,
        ))  # fmt: skip

    def _path(self, request: PathRequest) -> tuple[PathPoint, ...]:
        raise NotImplementedError

    def approach(self, memory_id: int, *, distance: float = 0.8, radius: float = 0.3, n: int = 5) -> Approach:
        """Return where the robot can stand to look at a thing, in the memory frame, best first.

        It faces the thing, at the distance, where the occupancy grid of its map is free for the radius of the robot and
        the thing is in sight. Best is the direction in which the robot was when it saw the thing, by its path, else
        the one that it is in now.

        Args:
            memory_id: what to look at: the id of a memory with a pose. Example: memory_id=7
            distance: metres from it to the centre of the robot. Example: distance=1.0
            radius: metres around the centre of the robot that must be free. Example: radius=0.25
            n: largest number of poses. Example: n=1

        Raises:
            InvalidFieldError: the memory has no position in the memory frame, or a number is out of range.
            MemoryNotFoundError: no active memory has this id.
        """
        return self._approach(ApproachRequest(memory_id=memory_id, distance=distance, radius=radius, n=n))

    def _approach(self, request: ApproachRequest) -> Approach:
        raise NotImplementedError


class NoteVerbs(Verbs):
    """Verbs of `Notes`."""

    def lines(self, path: str, first_line: int = 1, lines: int = 100) -> NoteLines:
        """Return `lines` lines of a note from `first_line` on, as it was read last.

        `path` is that of `context.note` of a recalled note, such as `handbook/battery.md`. Only what was read from the
        folders of the parameter `notes_folders` can be had.

        Args:
            path: the note, as in the source of a recalled one: handbook/battery.md. Example: path="handbook/battery.md"
            first_line: first line to read. Example: first_line=12
            lines: largest number of lines. Example: lines=20

        Raises:
            InvalidFieldError: there is no such note, it could not be read, or it has no such line.
        """
        return self._lines(NoteLinesRequest(path=path, first_line=first_line, lines=lines))

    def _lines(self, request: NoteLinesRequest) -> NoteLines:
        raise NotImplementedError
