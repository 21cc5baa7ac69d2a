"""Random memories, stored in a real memory and in the oracle, to compare the results of both."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Pose, RecallResult, RobotMemory
from robotmem_ros.memory.context_path import split
from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.models import NewMemory, Size
from robotmem_ros.memory.search.query import Query
from robotmem_ros.memory.storage import codec, rows
from robotmem_ros.memory.storage.connection import connect

from ..clock import Clock
from ..embedders import WordVectors
from .oracle import Oracle
from .reference_model import DAY, DEFAULT_COLLECTION, NOTES, Polygon, Question, ReferenceMemory, evidence_day

VOCABULARY = [
    "red", "blue", "green", "mug", "cup", "bowl", "lamp", "desk", "door", "shelf", "plant", "book", "rug", "pan", "jar",
    "box", "fork", "soft", "hard", "left", "right", "room", "hall", "grip", "forc", "carri", "slip", "stair",
    "b", "7",
]  # fmt: skip
EPOCH = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
START = EPOCH + 200 * SECOND
SIMULATED = 2000 * SECOND
"""The clock of a simulation, late enough that no time by it may be meant as milliseconds of our days."""
BORN = START - 450 * DAY
"""When the memory is opened first."""
COLLECTIONS = (DEFAULT_COLLECTION, "lab", "O'Hara\"; DROP TABLE memories;--")
SESSIONS = ("", "morning", "evening", "rare 100%")
TAGS = ("kitchen", "fragile", "loud", "rare 50%")
AREAS: Mapping[str, Polygon] = {
    "kitchen": ((-6.3, -5.7), (2.6, -7.1), (3.3, 2.2), (-1.4, 0.3), (-5.2, 4.6)),
    "O'Hara's hall": ((-200.1, -3.2), (150.3, -3.2), (150.3, 90.9), (-200.1, 91.7)),
}
"""Areas with a polygon; no corner or edge is where positions are."""
FRAMES = ("map", "odom")
FIELDS = ("position", "spatial.object_position", "spatial.grasp.point", 'robot."goal.at"', "context.position")
VALUES: tuple[object, ...] = (
    True, False, None, 0, 1, 1.0, -3, 12.5, 12.500000001, 0.1 + 0.2, 2**53 + 1, 1e300, "", "1", "true", "null", "real",
    "käse", "杯子", "a'b\"c", [], [1, 2], {},
)  # fmt: skip
OBJECTS: tuple[object, ...] = ("mug", "desk lamp", 7, 1.0, True, None, ["mug"], {"name": "mug"})
PATHS = (
    "params.force", "params.grip.width", "task.success", "task.name", "env.sim_or_real", "objects", "robot", "params",
    "spatial.object_position", "label", "odd key!",
    'params."controller.max_speed"', '"".""', '"$set"',
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """Some memories, in a real memory and in the oracle."""

    memory: RobotMemory
    clock: Clock
    memories: list[ReferenceMemory]
    texts: list[str]
    embeds: bool
    areas: Mapping[str, Polygon] = field(default_factory=dict)
    lived_days: Sequence[int] = ()
    """Before the first query, in their order."""

    @cached_property
    def any_memory(self) -> st.SearchStrategy[ReferenceMemory]:
        """Return the strategy that draws one of the memories; to make it takes as long as a query of many memories."""
        return st.sampled_from(self.memories)

    @cached_property
    def oracle(self) -> Oracle:
        """Return the oracle of this world."""
        return Oracle(self.memories, WordVectors().embed_one if self.embeds else None, self.lived_days)

    def plan(self, question: Question) -> Query:
        """Return a question checked, as this memory does."""
        return question.plan(self.memory.parameters, self.areas)

    def live(self, now: int) -> None:
        """Let it be a time in nanoseconds, whose day is lived from then on, whatever commits in the background."""
        self.clock.now = now
        self.memory.parts.database.write(lambda connection: None).result()
        self.oracle.live(now)

    def recall(self, question: Question) -> RecallResult:
        """Ask the real memory and wait until its result counts as recalled."""
        self.memory.parameters = question.set(self.memory.parameters)
        request = question.request
        result = self.memory.recall(**{field.name: getattr(request, field.name) for field in fields(request)})
        self.memory.parts.usage.write()
        self.memory.parts.database.write(lambda connection: None).result()
        return result


def build(memory: RobotMemory, clock: Clock, seed: int, size: int, *, embeds: bool = True) -> World:
    """Fill a memory that was opened at `BORN` with `size` random memories, some withdrawn and some corrected."""
    draw = random.Random(seed)
    lived = _live(memory, clock, draw)
    texts = [" ".join(draw.choices(VOCABULARY, k=draw.randint(1, 6))) for _ in range(min(20 + size // 10, 150))]
    news: list[NewMemory] = []
    while len(news) < size:
        is_new = not news or draw.random() < 0.7
        news.append(_new_memory(draw, texts) if is_new else _again(draw, draw.choice(news)))
    ids: list[int] = [future.result().memory_id for future in [memory.store(new) for new in news]]
    withdrawn = set(draw.sample(ids, k=min(size // 10, 100)))
    for memory_id in withdrawn:
        memory.forget(memory_id, "a test")
    corrected = {memory_id: draw.choice(texts) for memory_id in draw.sample(ids, k=min(size // 10, 100))}
    for memory_id in corrected.keys() - withdrawn:
        memory.update(memory_id, corrected[memory_id])
    outcomes = _outcomes(memory, draw, ids) if seed % 2 else {}
    opposed = _oppose(memory, draw, ids)
    notes = [_new_note(draw, texts) for _ in range(size // 10)] if seed % 3 else []
    ids += memory.parts.database.write(lambda connection: rows.insert_all(connection, notes)).result()
    news += notes
    memory.flush()
    # As they are kept: the oracle is about the search, and test_codec.py about the precision.
    vectors = {text: _vectors(memory, text) for text in {*texts, *map(_embedded, notes)}}
    reference = []
    for memory_id, new in zip(ids, news, strict=True):
        active = memory_id not in withdrawn
        now = new if memory_id not in corrected or not active else _with_content(new, corrected[memory_id])
        parts = vectors[_embedded(now)] if embeds else ()
        against = opposed.get(memory_id, frozenset())
        outcome = outcomes.get(memory_id)
        context, day = json.loads(now.context), evidence_day(now, lived)
        reference.append(ReferenceMemory(memory_id, now, context, active, parts, outcome, against, day))
    return World(memory, clock, reference, texts, embeds, lived_days=lived)


def _live(memory: RobotMemory, clock: Clock, draw: random.Random) -> list[int]:
    # Before anything is stored, the memory lives on some days. Opening it commits in the background: without a write
    # on the first day, that day would be lost whenever the clock went on before.
    days = [clock.now // DAY, *sorted(draw.sample(range(BORN // DAY + 1, START // DAY), k=150)), START // DAY]
    for day in days:
        clock.now = day * DAY
        memory.parts.database.write(lambda connection: None).result()
    clock.now = START
    return days


def _outcomes(memory: RobotMemory, draw: random.Random, ids: list[int]) -> dict[int, tuple[float, int]]:
    outcomes = {}
    for memory_id in draw.sample(ids, k=len(ids) // 3):
        sessions = draw.choice((1, 1, 3, 50))
        outcomes[memory_id] = (sessions * draw.choice((0.0, 0.5, 1.0)), sessions)
    rows = [(memory_id, *outcome) for memory_id, outcome in outcomes.items()]
    sql = "INSERT INTO memory_outcomes VALUES (?, ?, ?)"
    memory.parts.database.write(lambda connection: connection.executemany(sql, rows)).result()
    return outcomes


def _oppose(memory: RobotMemory, draw: random.Random, ids: list[int]) -> dict[int, frozenset[int]]:
    # Any two may contradict each other here; what really does is tested elsewhere.
    with connect(memory.path, busy_timeout=10.0, synchronous="normal", read_only=False) as connection:
        for _ in range(len(ids) // 8):
            pair = draw.sample(ids, k=2)
            links = "('contradiction', ?1, ?2, '', NULL), ('contradiction', ?2, ?1, '', NULL)"
            connection.execute(f"INSERT OR IGNORE INTO fact_links VALUES {links}", pair)
        pairs = connection.execute("SELECT memory_id, other_id FROM fact_links WHERE kind = 'contradiction'").fetchall()
    connection.close()
    opposed: dict[int, frozenset[int]] = {}
    for memory_id, other in pairs:
        opposed[memory_id] = opposed.get(memory_id, frozenset()) | {other}
    return opposed


def _with_content(new: NewMemory, content: str) -> NewMemory:
    return replace(new, content=content)


def _new_memory(draw: random.Random, texts: list[str]) -> NewMemory:
    is_fact = draw.random() < 0.4
    pose = Pose(*_point(draw, 3)) if draw.random() < 0.6 else None
    return NewMemory(
        kind=Kind.FACT if is_fact else Kind.PERCEPTION,
        content=draw.choice(texts),
        collection=draw.choices(COLLECTIONS, weights=(8, 2, 1))[0],
        observed_at=_time(draw) if draw.random() < 0.9 else SIMULATED + draw.randint(1, 3600) * SECOND,
        received_at=_time(draw) if draw.random() < 0.2 else 0,
        frame_id=draw.choices(FRAMES, weights=(5, 1))[0],
        map_id="" if draw.random() < 0.9 else "upstairs",
        session_id=draw.choices(SESSIONS, weights=(50, 30, 20, 1))[0],
        human_summary=draw.choice(texts) if is_fact and draw.random() < 0.5 else "",
        context=json.dumps(_context(draw), ensure_ascii=False, separators=(",", ":")),
        pose=pose,
        size=None if is_fact or draw.random() < 0.5 else Size(*(draw.randint(1, 8) / 4 for _ in range(3))),
        perception_type=None if is_fact else draw.choice(("visual", "tactile")),
        label="" if is_fact else draw.choice(("", "", "mug", "Mug", "desk lamp", "Desk  Lamp")),
        as_object=False,
        confidence=draw.choice((0.1, 0.3, 0.5, 0.9, 1.0)),
        decay_rate=draw.choice((None, None, None, None, 0.0, 0.05, 1.0)),
        category=draw.choice(("", "", "grasp", "place", "constraint", "hazard", "preference")),
        tags=tuple(sorted({*draw.choices(TAGS, weights=(40, 20, 10, 1), k=2)})) if draw.random() < 0.5 else (),
        scope_files=draw.choice(("", "grip_forc lamp")),
        scope_entities=draw.choice(("", "rug")),
    )


def _new_note(draw: random.Random, texts: list[str]) -> NewMemory:
    heading = draw.choice(texts)
    note = {"path": draw.choice(("a.md", "b.md")), "first_line": draw.randint(1, 9), "heading": heading}
    return NewMemory(
        kind=Kind.NOTE,
        content=draw.choice(texts),
        collection=draw.choice((NOTES, NOTES, NOTES, COLLECTIONS[0], COLLECTIONS[1])),
        observed_at=_time(draw),
        frame_id=FRAMES[0],
        map_id="",
        human_summary=draw.choice((heading, "")),
        context=json.dumps({"note": note}, separators=(",", ":")),
        decay_rate=0.0,
    )


def _embedded(new: NewMemory) -> str:
    return f"{new.human_summary}\n{new.content}" if new.kind is Kind.NOTE and new.human_summary else new.content


def _vectors(memory: RobotMemory, text: str) -> Sequence[Vector]:
    model = WordVectors()
    return [*codec.decode(codec.encode(model.embed_batch(memory.parts.embedder.parts_of(text))), model.dim)]


def _again(draw: random.Random, old: NewMemory) -> NewMemory:
    # The same at another time, near where it was or a little farther.
    pose = old.pose and old.pose._replace(x=old.pose.x + draw.choice((0.0, 0.3, -0.3, 0.4, 0.41, -0.2)))
    return replace(old, observed_at=_time(draw), session_id=draw.choice(SESSIONS[:3]), pose=pose)


def _time(draw: random.Random) -> int:
    days = draw.choice((0, 0, 0, 1, 2, 30, 100, 400))
    return EPOCH - days * DAY + draw.randint(0, 100) * SECOND + draw.choice((0, 1))


def _point(draw: random.Random, size: int) -> list[float]:
    # Coarse, so that equal distances happen; now and then very far.
    scale = draw.choice((1, 1, 1, 1, 100))
    return [draw.choice((float(draw.randint(-8, 8)), draw.uniform(-8, 8))) * scale for _ in range(size)]


def _context(draw: random.Random) -> dict[str, object]:
    context: dict[str, object] = {}
    for path in draw.sample(PATHS, k=draw.randint(0, 4)):
        _put(context, path, deepcopy(draw.choice(VALUES)))
    if draw.random() < 0.5:
        _put(context, "task.success", draw.random() < 0.5)
        _put(context, "params.force", draw.randint(0, 30) / 2)
    if draw.random() < 0.3:
        _put(context, "objects", [deepcopy(one) for one in draw.choices(OBJECTS, k=draw.randint(1, 3))])
    if draw.random() < 0.15:
        _put(context, "spatial.area", draw.choice((*AREAS, "attic", 5)))
    if draw.random() < 0.3:
        _put(context, "env.sim_or_real", draw.choice(("real", "sim")))
    for path in FIELDS[1:]:
        if draw.random() < 0.4:
            _put(context, path.removeprefix("context."), _point(draw, draw.choice((2, 3, 3))))
    return context


def _put(context: dict[str, object], path: str, value: object) -> None:
    *parents, name = split(path)
    for parent in parents:
        inner = context.get(parent)
        if not isinstance(inner, dict):
            inner = context[parent] = {}
        context = inner
    context[name] = value
