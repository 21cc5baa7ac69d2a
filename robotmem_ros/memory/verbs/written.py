"""The verbs with their arguments written out, for readers and editors: `Verbs` makes each do its work.

Written by scripts/render_arguments.py; what is to be changed stands in the requests and their verbs.
"""

# ruff: noqa: PLR0917

from __future__ import annotations

from collections.abc import Callable, Iterable

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

    _learn: Callable[[NewFact], Learned]
    _data: Callable[[GetDataRequest], PerceptionData]
    _save_perception: Callable[[NewPerception], Stored]
    _events: Callable[[EventsRequest], Events]
    _object_history: Callable[[ObjectHistoryRequest], tuple[Sighting, ...]]
    _objects: Callable[[SeenObjectsRequest], tuple[SeenObject, ...]]
    _recall: Callable[[RecallRequest], RecallResult]
    _recalls: Callable[[RecallsRequest], RecallLog]
    _timeline: Callable[[TimelineRequest], Timeline]
    _density: Callable[[DensityRequest], Density]
    _get_memories: Callable[[GetMemoriesRequest], MemoriesInFull]
    _counts: Callable[[CountsRequest], Counts]
    _forget: Callable[[ForgetRequest], None]
    _look: Callable[[LookRequest], tuple[int, ...]]
    _restore: Callable[[RestoreRequest], None]
    _update: Callable[[MemoryUpdate], None]
    _purge: Callable[[PurgeRequest], Purged]
    _doctor: Callable[[DoctorRequest], tuple[Finding, ...]]

    def learn(
        self, insight: str, context: Json = None, session_id: str | None = None, collection: str | None = None, *,
        human_summary: str | None = None, category: str | None = None, tags: Iterable[str] = (),
        confidence: float | None = None, observed_at: Time | None = None, scope_files: Iterable[str] = (),
        scope_entities: Iterable[str] = (),
    ) -> Learned:  # fmt: skip
        """Learn a fact: store it, or reinforce the one with the same text. When this returns, it is on disk.

        Rules find what is left open of category, tags, confidence, scope and `context.params`; `explain` says which.
        A context in plain text becomes `{"user_context": text}`, here as everywhere.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        raise NotImplementedError

    def data(self, memory_id: int) -> PerceptionData:
        """Return what recall leaves out of a perception: its raw data or thumbnail, and its metadata.

        Raises:
            InvalidFieldError: the id is no whole number.
            MemoryNotFoundError: no active memory has this id, or this one has neither data nor metadata.
        """
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

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        raise NotImplementedError

    def events(self, after: int = 0, n: int = 100) -> Events:
        """Return what became of objects and facts after an event that is known, in order: see `~/events`.

        The last 100,000 events are kept, and of those before them the last one of each memory.

        Raises:
            InvalidFieldError: `n` is less than 1, or the file has no event `after`, as one that was restored.
        """
        raise NotImplementedError

    def object_history(self, memory_id: int, n: int = 100) -> tuple[Sighting, ...]:
        """Return the last `n` sightings of an object that were kept, newest first.

        Raises:
            InvalidFieldError: `n` is less than 1.
            MemoryNotFoundError: no active object has this id.
        """
        raise NotImplementedError

    def objects(
        self, limit: int = 2000, *, include_unconfirmed: bool = False, as_of: Time | None = None,
    ) -> tuple[SeenObject, ...]:  # fmt: skip
        """Return the confirmed objects of the current map, or all, in all collections, those seen last first."""
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
        raise NotImplementedError

    def recalls(self, n: int = 100) -> RecallLog:
        """Return the last `n` recalls, and the `n` memories that were recalled most often.

        The log has at most as many recalls as the parameter `recall_log` says; those of the last second may be missing.

        Raises:
            InvalidFieldError: `n` is not in 1 to 1,000.
        """
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

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        raise NotImplementedError

    def density(
        self, *, bins: int = 100, after: Time | None = None, before: Time | None = None,
        collection: str | None = None,
    ) -> Density:  # fmt: skip
        """Return how many active memories of each kind were observed in each of some equal parts of `[after, before)`.

        An object counts whenever it was sighted. Without a window it reaches from the first observation to the last.

        Raises:
            InvalidFieldError: `bins` is not in 1 to 1,000, a time cannot be used, or the window is empty.
        """
        raise NotImplementedError

    def get_memories(self, ids: Iterable[int] | int, *, include_forgotten: bool = False) -> MemoriesInFull:
        """Return at most 100 memories in full, with history, sightings and data, in the order of their ids.

        Ids of no memory are left out, and those of memories that were forgotten or superseded, unless
        `include_forgotten`; the `reason` of the result says of each why.

        Raises:
            InvalidFieldError: an id is no whole number, or there are too many.
        """
        raise NotImplementedError

    def counts(
        self, field: str, *, scope: str = "robot", deadline: float = 1.0, collection: str | None = None,
        n: int = 1000,
    ) -> Counts:  # fmt: skip
        """Return how many active memories each value of a field has, in a collection or in all; largest first.

        `field` is `collections`, `categories`, `tags`, `labels`, `areas`, `sessions` or `kinds`. Objects that are not
        confirmed count, too.

        Raises:
            InvalidFieldError: a field cannot be used.
        """
        raise NotImplementedError

    def forget(self, memory_id: Iterable[int] | int, reason: str) -> None:
        """Withdraw a memory, or many at once: no recall finds it any more; the row stays, with the reason.

        Raises:
            InvalidFieldError: there is no reason, or it is a note; then none of them is withdrawn.
            MemoryNotFoundError: no active memory has this id; then none of them is withdrawn.
        """
        raise NotImplementedError

    def look(
        self, *, near: Where = None, within: Json = None, ids: Iterable[int] | int | None = (), labels: Names = (),
        observed_at: Time | None = None,
    ) -> tuple[int, ...]:  # fmt: skip
        """Tell that somebody looked and that objects are not there; return the ids of those believed there until then.

        The caller is taken at its word: each confirmed object under the conditions counts as missed, and its stay ends.
        It is not forgotten, and is believed again once it is detected again. What was seen after the look stays.

        Raises:
            InvalidFieldError: a field cannot be used, or there is neither a place nor an id.
            FrameMismatchError: a place is in a frame that cannot be compared.
        """
        raise NotImplementedError

    def restore(self, memory_id: Iterable[int] | int) -> None:
        """Bring back a memory that was forgotten or superseded, or many at once: recall finds it again.

        Raises:
            MemoryNotFoundError: there is no such memory, it is active, or it became a part of another object; then
                none of them comes back.
        """
        raise NotImplementedError

    def update(
        self, memory_id: int, content: str | None = None, *, human_summary: str | None = None,
        context: Json = None, category: str | None = None, tags: Iterable[str] | None = None,
        add_tags: Iterable[str] | None = None, remove_tags: Iterable[str] | None = None,
        confidence: float | None = None, decay_rate: float | None = None, label: str | None = None,
        perception_type: str | None = None, pose: Iterable[float] | None = None, frame_id: str | None = None,
        clear: Iterable[str] = (), reason: str | None = None,
    ) -> None:  # fmt: skip
        """Correct a memory; what is not given stays, what is named in `clear` or given as "" or [] is emptied.

        A new context or new tags replace the old ones as a whole. Rules read a new text or context again for what they
        found in the old one. An object whose label is corrected counts all its sightings as votes for it; one that is
        moved becomes one with what has its label at its new place. `history` keeps what was before.

        Raises:
            InvalidFieldError: a field cannot be used, nothing is to be changed, or it is a note.
            MemoryNotFoundError: no active memory has this id.
        """
        raise NotImplementedError

    def purge(
        self, *, ids: Iterable[int] | int | None = None, session_id: str | None = None,
        collection: str | None = None, before: Time | None = None, dry_run: bool = False,
    ) -> Purged:  # fmt: skip
        """Delete memories for good, active or not, and every trace of them in the file. There is no way back.

        If several conditions are given, all must hold; `before` is a time of observation. What a session or a time
        contributed to memories that stay is removed too: a fact that was also learned elsewhere or later is reduced to
        that, an object keeps its other sightings. With `dry_run` return what would be deleted now.

        Raises:
            InvalidFieldError: a condition cannot be used, or there is none.
            MemoryNotFoundError: an id is unknown; then nothing is deleted.
            PurgeUnfinishedError: all is deleted, but another process keeps the traces from being overwritten.
        """
        raise NotImplementedError

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """Examine the memory, and return a finding for each check; with `fix` mend what can be mended without a loss.

        Without `fix` nothing is written. Each page of the file is read, which takes seconds in a file of 100,000
        memories; readers and writers go on.

        Raises:
            ReadOnlyError: the memory is only read, and is to be mended.
        """
        raise NotImplementedError


class SessionVerbs(Verbs):
    """Verbs of `Sessions`."""

    _start: Callable[[StartSessionRequest], SessionStart]
    _end: Callable[[EndSessionRequest], SessionReport]
    _latest: Callable[[SessionsRequest], tuple[Session, ...]]
    _consolidate: Callable[[ConsolidateRequest], Consolidation]

    def start(
        self, context: Json = None, collection: str | None = None, *, max_duration: float | None = None,
    ) -> SessionStart:  # fmt: skip
        """Begin an episode; what is recalled in its collection until it ends shares in its outcome.

        It goes on until `end`, over restarts of the program, but for `max_duration` seconds of the robot's clock at
        most; None or 0 means the parameter `session_max_duration`.

        Raises:
            InvalidFieldError: the context cannot be used or is larger than 64 KB, or another field cannot be used.
        """
        raise NotImplementedError

    def end(self, session_id: str, outcome_score: float | None = None) -> SessionReport:
        """End an episode: group its similar facts, and tell what came of it and what to know the next time.

        `outcome_score` lies in [0, 1]; None when nobody can say. An episode that expired is ended by this, too: it
        keeps the time at which it expired.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: there is no such session, or it was ended before.
        """
        raise NotImplementedError

    def latest(self, collection: str | None = None, n: int = 20, *, cursor: str | None = None) -> tuple[Session, ...]:
        """Return the last `n` sessions, of a collection or of all; the one that was started last comes first.

        `cursor` is the id of the last session of a page; then those that were started before it come.

        Raises:
            InvalidFieldError: a field cannot be used, or there is no such session.
        """
        raise NotImplementedError

    def consolidate(self, session_id: str, collection: str | None = None, *, dry_run: bool = False) -> Consolidation:
        """Group the similar facts of a session, or with `dry_run` tell what the groups would be.

        All members of a group stay active. Only a fact of the same text as its representative is superseded; it comes
        back when that one is forgotten or reworded.

        Raises:
            InvalidFieldError: a field cannot be used.
            SessionNotFoundError: no session and no memory of the collection has this id.
        """
        raise NotImplementedError


class TagVerbs(Verbs):
    """Verbs of `Tags`."""

    _all: Callable[[TagsRequest], tuple[Tag, ...]]
    _add: Callable[[AddTagRequest], None]
    _rename: Callable[[RenameTagRequest], Retagged]
    _remove: Callable[[RemoveTagRequest], Retagged]

    def all(self, collection: str | None = None) -> tuple[Tag, ...]:
        """Return all tags in alphabetical order, with the tag above each and the number of memories under it.

        That is how many active memories a filter by it finds, in a collection or in all.

        Raises:
            InvalidFieldError: the name of the collection cannot be used.
        """
        raise NotImplementedError

    def add(self, tag: str, parent: str = "", display_name: str = "") -> None:
        """Add a tag to the tree under another one, at the top without `parent`; a tag that is there is moved.

        A filter by a tag also finds what has a tag under it. Tags are the same in whatever case and width they are
        written; `display_name` is what people read.

        Raises:
            InvalidFieldError: a name cannot be used, the parent is unknown or stands under the tag, or rules give the
                tag.
        """
        raise NotImplementedError

    def rename(self, tag: str, new_tag: str, *, dry_run: bool = False) -> Retagged:
        """Rename a tag in the tree and in all memories; if the new one is there, the two become one.

        `history` of a memory keeps the tags that it had. With `dry_run` nothing is changed.

        Raises:
            InvalidFieldError: a name cannot be used, the tag is unknown or given by rules, or the new one stands under
                it.
        """
        raise NotImplementedError

    def remove(self, tag: str, *, dry_run: bool = False) -> Retagged:
        """Take a tag away from all memories and out of the tree; those under it move up. With `dry_run` it stays.

        Raises:
            InvalidFieldError: the name cannot be used, the tag is unknown, or rules give it.
        """
        raise NotImplementedError


class MapVerbs(Verbs):
    """Verbs of `Maps`."""

    _path: Callable[[PathRequest], tuple[PathPoint, ...]]
    _approach: Callable[[ApproachRequest], Approach]

    def path(
        self, *, after: Time | None = None, before: Time | None = None, map_id: str | None = None, n: int = 5000,
    ) -> tuple[PathPoint, ...]:  # fmt: skip
        """Return where the robot drove in `[after, before)`, oldest first: at most `n` points that lie evenly.

        Without `map_id` it is the path on the present map: the parameter `map_id`, else where the robot drove last.

        Raises:
            InvalidFieldError: a time or the name of the map cannot be used, or `n` is not in 1 to 100,000.
        """
        raise NotImplementedError

    def approach(self, memory_id: int, *, distance: float = 0.8, radius: float = 0.3, n: int = 5) -> Approach:
        """Return where the robot can stand to look at a thing, in the memory frame, best first.

        It faces the thing, at the distance, where the occupancy grid of its map is free for the radius of the robot and
        the thing is in sight. Best is the direction in which the robot was when it saw the thing, by its path, else
        the one that it is in now.

        Raises:
            InvalidFieldError: the memory has no position in the memory frame, or a number is out of range.
            MemoryNotFoundError: no active memory has this id.
        """
        raise NotImplementedError


class NoteVerbs(Verbs):
    """Verbs of `Notes`."""

    _lines: Callable[[NoteLinesRequest], NoteLines]

    def lines(self, path: str, first_line: int = 1, lines: int = 100) -> NoteLines:
        """Return `lines` lines of a note from `first_line` on, as it was read last.

        `path` is that of `context.note` of a recalled note, such as `handbook/battery.md`. Only what was read from the
        folders of the parameter `notes_folders` can be had.

        Raises:
            InvalidFieldError: there is no such note, it could not be read, or it has no such line.
        """
        raise NotImplementedError
