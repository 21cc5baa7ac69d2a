"""Put together what is known here, now and of a task, within a number of tokens, the most useful first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from ..memory import Hit, Kind, Memory, RecallResult, validation
from ..memory.argument import MAX_QUERY, NUMBERS, argument
from ..memory.errors import InvalidFieldError
from ..memory.models import Session
from ..memory.text.normal_form import label_key
from .desk import Desk
from .views import note_lines, rounded

_LEAST_TOKENS, _MOST_TOKENS = 100, 8000
_FACTS, _FAILURES, _OBJECTS, _OBJECTS_OF_TASK, _NOTES, _SESSIONS, _LATEST = 12, 6, 12, 4, 3, 3, 6
IS_OBJECT = {"times_seen": {"$gte": 1}}
"""The condition that a memory is an object."""
_LEAST_SUCCESS = 0.5
"""An episode with a lower outcome failed."""
_FAILURE_TAGS = ("gotcha", "postmortem")
"""Categories, and tags of the same names."""
_LONGEST = 240
"""Characters of a text that a line shows."""


_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[\x21-\x7e]|\n|[^\x00-\x7f]+")


@dataclass(slots=True)
class DigestRequest:
    """What the digest is to be about, and how long it may be."""

    task: str | None = argument(
        None, "what you are about to do, in words; puts what was learned of it first", limit=MAX_QUERY
    )
    place: Iterable[float] | str | None = argument(
        None,
        "where you are: x, y (and z) in metres in the memory frame, or the name of a place or an area",
        shape=NUMBERS,
    )
    radius: float = argument(5.0, "metres around the place within which objects count", within=(0.01, 1e6))
    tokens: int = argument(800, "largest length of the digest in tokens, 100 to 8000", within=(100, 8000))


class Line(NamedTuple):
    """A line of a digest."""

    text: str
    key: object
    """Key of the content; no key comes twice."""


class Section(NamedTuple):
    """Lines about one thing, the most useful first."""

    title: str
    lines: Sequence[Line]


class RobotPlace(NamedTuple):
    """Where the robot is."""

    text: str
    near: Mapping[str, Any] | None
    """Argument of the condition `near`; None for an area."""
    area: str = ""


def digest(desk: Desk, request: DigestRequest) -> str:
    """Return the digest as lines of text. The same file at the same time gives the same digest.

    Raises:
        InvalidFieldError: a field cannot be used.
        StorageError: the database could not be read.
    """
    tokens = validation.whole("tokens", request.tokens)
    if not _LEAST_TOKENS <= tokens <= _MOST_TOKENS:
        raise InvalidFieldError("tokens", tokens, f"must lie in {_LEAST_TOKENS} to {_MOST_TOKENS}")
    task = validation.query("task", request.task or "")
    place = _place(desk, request)
    facts = _facts(desk, task)
    try:
        objects, latest = _objects(desk, place), _latest(desk, place)
    except InvalidFieldError as error:
        if error.field == "areas":
            hint = str(error).partition(" is unknown; ")[2] or str(error)
            problem = f"is no named place and no area; give x, y in metres, a named place, or an area: {hint}"
            raise InvalidFieldError("place", request.place, problem) from None
        raise
    sections = [
        Section(
            f"Learned of {_in_quotes(task)}" if task else "Learned last", [_fact_line(desk, fact) for fact in facts]
        ),
        Section("What failed", _failures(desk, task)),
        Section(f"Objects near {place.text}" if place else "Objects seen last", objects),
        Section("Objects of the task", _objects_of(desk, task, place)),
        Section("Written down", _notes(desk, task)),
        Section("Episodes, the latest first", _session_lines(desk)),
        Section("Contradictions", list(_contradictions(desk, facts))),
        Section("Perceived last", latest),
    ]
    return fitted(_head(desk), sections, tokens)


def fitted(head: str, sections: Sequence[Section], tokens: int) -> str:
    """Return as many lines as fit: the first of each section, then the second of each, and so on; told by sections.

    What several sections tell is told in the first of them.
    """
    selection: list[list[str]] = [[] for _ in sections]
    omitted = 0
    # Room for the line that says what was left out.
    room = tokens - estimate(head) - 16
    for row in zip_longest(*_each_once(sections)):
        for index, line in enumerate(row):
            if line is None:
                continue
            title = 0 if selection[index] else estimate(f"\n{sections[index].title}:\n")
            cost = title + estimate(f"- {line.text}\n")
            if cost > room:
                omitted += 1
                continue
            room -= cost
            selection[index].append(f"- {line.text}")
    output = [head]
    for section, lines in zip(sections, selection, strict=True):
        output += ["", f"{section.title}:", *lines] if lines else []
    if not any(selection):
        output.append("Nothing more is known." if not omitted else "")
    if omitted:
        output.append(f"({omitted} more lines did not fit in {tokens} tokens)")
    return "\n".join(output)


def _each_once(sections: Sequence[Section]) -> list[list[Line]]:
    first: dict[object, Line] = {}
    for section in sections:
        for line in section.lines:
            first.setdefault(line.key, line)
    return [[line for line in section.lines if first[line.key] is line] for section in sections]


def _place(desk: Desk, request: DigestRequest) -> RobotPlace | None:
    radius = validation.number("radius", request.radius, low=0.01, high=1e6)
    if request.place is None:
        return None
    if isinstance(request.place, str) and not validation.numbers_in(request.place):
        name = validation.name("place", request.place)
        pose = desk.memory.parts.places().get(label_key(name))
        if pose is None:
            return RobotPlace(_in_quotes(name), None, name) if name else None
        text, target = _in_quotes(name), [*pose[:3]]
    else:
        rule = "must be 2 or 3 numbers, x, y and z in metres, or the name of a place or an area"
        target = list(validation.coordinates("place", request.place, rule=rule))
        text = f"({', '.join(f'{number:g}' for number in target)})"
    return RobotPlace(f"{text}, within {radius:g} m", {"target": target, "max_distance": radius})


def _head(desk: Desk) -> str:
    status = desk.memory.status()
    about = desk.about()
    simulated = " (simulated clock)" if desk.is_simulated else ""
    text = f"Now {about['now']}{simulated}. {status.facts} facts, {status.perceptions} perceptions are known."
    names = [f"{name!r} ({n})" for name, n in about["collections"].items() if name != about["collection"]]
    if names:
        text += f" This is of the collection {about['collection']!r}; there are also {_short(', '.join(names), 100)}."
    return text if status.mode.value == "hybrid" else f"{text} Search is by words alone; doctor says why."


def _facts(desk: Desk, task: str) -> tuple[Memory, ...]:
    if not task:
        return _recall(desk, "", _FACTS, kinds="fact", after=0).memories
    # What is known to have helped comes first, then what else has to do with the task.
    fit = (*desk.memory.sessions.prepare(task, _FACTS), *_recall(desk, task, _FACTS, kinds="fact"))
    return tuple({hit.id: hit.memory for hit in fit}.values())


def _recall(desk: Desk, query: str, n: int, min_confidence: float | None = None, **conditions: Any) -> RecallResult:
    # What is in a digest was not asked for, so it does not count as used; its conditions say nothing of the task, and
    # when the task is to be done says nothing of when what helps was learned.
    bound = desk.memory.min_relevance
    return desk.memory.recall(
        query, n, min_confidence, min_relevance=bound, count_usage=False, time_words=False, **conditions
    )


def _fact_line(desk: Desk, fact: Memory) -> Line:
    doubt = f", contradicted by [{fact.contradicted_by}]" if fact.contradicted_by else ""
    sure = f", confidence {fact.confidence:.2f}" if fact.confidence < 0.7 else ""
    ago = desk.view.at(fact.observed_at)["ago"]
    return Line(f"[{fact.id}] {_short(fact.content)} ({ago}{sure}{doubt})", fact.id)


def _failures(desk: Desk, task: str) -> list[Line]:
    kinds_of_failure: tuple[dict[str, Any], ...] = (
        {"categories": _FAILURE_TAGS}, {"any_tags": _FAILURE_TAGS}, {"context_filter": {"task.success": False}},
    )  # fmt: skip

    def failures(query: str) -> Iterable[Hit]:
        return {hit.id: hit for kind in kinds_of_failure for hit in _recall(desk, query, _FAILURES, **kind)}.values()

    latest = sorted(failures(""), key=lambda hit: (-hit.memory.observed_at, -hit.id))
    # What went wrong with this task comes first, however long ago.
    alike = sorted(failures(task), key=lambda hit: (-hit.relevance, -hit.id)) if task else []
    return [_fact_line(desk, hit.memory) for hit in (*alike[:_FAILURES], *latest[: 2 if task else _FAILURES])]


def _session_lines(desk: Desk) -> list[Line]:
    collection = desk.memory.parameters.collection
    sessions = desk.memory.sessions.latest(collection, 20)
    # The last ones, and of those before them the failed ones.
    older = (session for session in sessions[_SESSIONS:] if (session.outcome or 1.0) < _LEAST_SUCCESS)
    return [_session_line(desk, session) for session in (*sessions[:_SESSIONS], *older)]


def _session_line(desk: Desk, session: Session) -> Line:
    outcome = "no outcome told" if session.outcome is None else f"outcome {session.outcome:g}"
    if session.outcome is not None and session.outcome < _LEAST_SUCCESS:
        outcome += " (failed)"
    state = "still open" if session.is_open else f"{session.end_reason} {desk.view.at(session.ended_at or 0)['ago']}"
    about = "" if session.context_json == "{}" else f" {_short(session.context_json, 120)}"
    text = f"[session {session.session_id}]{about}: {state}, {outcome}, {session.memories} memories"
    return Line(text, session.session_id)


def _objects_of(desk: Desk, task: str, place: RobotPlace | None) -> list[Line]:
    if not task:
        return []
    conditions: dict[str, Any] = {}
    if place is not None and place.near is not None:
        # Of those that match the task, the nearest, however far.
        conditions = {"spatial_sort": {"target": place.near["target"]}}
    result = _recall(desk, task, _OBJECTS_OF_TASK, 0.0, context_filter=IS_OBJECT, fold=False, **conditions)
    return [_object_line(desk, hit) for hit in result]


def _notes(desk: Desk, task: str) -> list[Line]:
    notes = _recall(desk, task, _NOTES, kinds=Kind.NOTE.value).memories if task else ()
    return [Line(f"[{note.id}] {_short(note.content)} ({note_lines(note)})", note.id) for note in notes]


def _objects(desk: Desk, place: RobotPlace | None) -> list[Line]:
    conditions: dict[str, Any] = {}
    if place is not None:
        conditions = {"areas": place.area} if place.near is None else {"spatial_sort": place.near}
    result = _recall(desk, "", _OBJECTS, 0.0, context_filter=IS_OBJECT, fold=False, **conditions)
    return [_object_line(desk, hit) for hit in result]


def _object_line(desk: Desk, hit: Hit) -> Line:
    memory = hit.memory
    position = "" if memory.pose is None else f" at ({', '.join(f'{number:.2f}' for number in memory.pose[:3])})"
    distance = rounded(hit.distance)
    away = "" if distance is None else f", {distance:.1f} m away"
    ago = desk.view.at(memory.observed_at)["ago"]
    text = _short(memory.content, 80)
    label = "" if memory.label.lower() in text.lower() else f"{memory.label}: "
    return Line(f"[{memory.id}] {label}{text}{position}{away}, seen {ago}, sure {memory.confidence:.2f}", memory.id)


def _contradictions(desk: Desk, facts: Iterable[Memory]) -> Iterator[Line]:
    successors = {fact.id: fact.contradicted_by for fact in facts if fact.contradicted_by}
    details = desk.memory.get_memories(sorted(set(successors.values()))[:100])
    newer = {entry.memory.id: entry.memory for entry in details}
    for older, by in successors.items():
        if by in newer:
            text = f"[{by}] {_short(newer[by].content)} (newer) contradicts [{older}]"
            yield Line(text, ("contradicts", older, by))


def _latest(desk: Desk, place: RobotPlace | None) -> list[Line]:
    areas: tuple[str, ...] = (place.area,) if place is not None and place.area else ()
    near = None if place is None else place.near
    latest = _recall(desk, "", _LATEST, kinds="perception", after=0, near=near, areas=areas).memories
    return [
        Line(f"[{memory.id}] {_short(memory.content)} ({desk.view.at(memory.observed_at)['ago']})", memory.id)
        for memory in latest
    ]


def _short(text: str, length: int = _LONGEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _in_quotes(text: str) -> str:
    return f"“{_short(text, 80)}”"


def estimate(text: str) -> int:
    """Return how many tokens of a language model a text takes, rather too many than too few.

    Tokenizers differ, and none is here. What they have in common: a short English word is one token, a long one a token
    for each four letters; figures go in groups of three at most, here of two; each sign is one; what is not ASCII takes
    about two tokens for three bytes of UTF-8 at most, so two for a Chinese character.
    """
    return sum(_of_piece(piece) for piece in _PIECE.findall(text))


def _of_piece(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode("utf-8", "replace")) * 2 // 3)
    if piece.isalpha():
        return -(-len(piece) // 4)
    return -(-len(piece) // 2) if piece.isdigit() else 1
