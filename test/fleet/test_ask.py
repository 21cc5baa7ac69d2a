"""What a fleet answers: under conditions exactly what brute force finds, with the relevance that a robot computes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from robotmem_ros.fleet.ask import Asker
from robotmem_ros.fleet.conditions import Sql
from robotmem_ros.fleet.connection import Connection, connect
from robotmem_ros.fleet.recall import recall
from robotmem_ros.fleet.searches import SETTINGS
from robotmem_ros.memory import Kind, RobotMemory
from robotmem_ros.memory.conditions.condition import Condition
from robotmem_ros.memory.conditions.spatial import distance
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.search.query import Query
from robotmem_ros.memory.search.reasons import of_faded
from robotmem_ros.memory.table.view import complete

from ..support.clock import Clock
from ..support.embedders import FewWords, WordVectors
from ..support.postgres import Server
from ..support.search.errors import InvalidQueryError
from ..support.search.folding import Group, are_of_one_text, groups
from ..support.search.queries import questions
from ..support.search.reference_model import Question, ReferenceMemory, at_path
from ..support.search.worlds import AREAS, BORN, World, build
from .conftest import Fleet, push

SIZE = 300
RADIUS = 0.4


@dataclass(frozen=True)
class Asked:
    """A world, and a fleet that has all of it."""

    world: World
    questions: Sequence[Question]
    connection: Connection

    def at(self, question: Question) -> Query:
        """Return the query of a question at its time."""
        query = self.world.plan(question)
        self.world.live(question.now)
        self.connection.execute("UPDATE robotmem.robots SET lived_days = %s", (self.world.oracle.lived_days,))
        self.expected(query)
        return replace(query, conditions=self.conditions(query))

    def expected(self, query: Query) -> list[ReferenceMemory]:
        """Return the memories that brute force finds under the conditions, without notes.

        Raises:
            InvalidQueryError: the file would refuse the query.
        """
        return [one for one in self.world.oracle.candidates(query) if one.new.kind is not Kind.NOTE]

    def first(self, query: Query) -> list[tuple[Group, float]]:
        """Return the groups of the nearest or newest memories, with the distance of the best of each."""
        candidates = sorted(self.expected(query), key=lambda one: (-one.new.observed_at, -one.id))
        distances = dict.fromkeys((one.id for one in candidates), math.nan)
        if (place := query.spatial_sort) is not None:
            lived_days = self.world.oracle.lived_days
            distances = {one.id: distance(one.row(lived_days), place) for one in candidates}
            candidates = [one for one in candidates if distances[one.id] <= min(place.max_distance, 1e300)]
            candidates.sort(key=lambda one: distances[one.id])
        folded = (
            groups(candidates, candidates, query.n, partial(are_alike, query=query))
            if query.fold
            else [Group(one, [one]) for one in candidates[: query.n]]
        )
        return [(group, distances[group.best.id]) for group in folded]

    def rows(self, where: Sql) -> list[tuple[int]]:
        """Return the ids of the memories that a condition holds for."""
        statement = "SELECT m.memory_id FROM robotmem.memories AS m JOIN robotmem.robots AS r ON r.id = m.robot WHERE "
        return self.connection.execute((statement + where.sql).encode(), where.arguments).fetchall()

    def asker(self, text: str) -> Asker:
        """Return who asks for a text."""
        model = self.world.memory.parts.embedder.name
        return Asker(self.world.memory.parameters, WordVectors().embed_one(text) if text else None, model)

    def conditions(self, query: Query) -> tuple[Condition, ...]:
        """Return the conditions of a query, complete by what only the robot's file tells."""
        with self.world.memory.parts.tables.reading() as view:
            return tuple(complete(view, condition) for condition in query.conditions)


def are_alike(one: ReferenceMemory, other: ReferenceMemory, query: Query) -> bool:
    """Tell whether the fleet folds two memories of a query that compares places."""
    frames = {(memory.new.frame_id, memory.new.map_id) for memory in (one, other)}
    poses = [memory.position("position") for memory in (one, other)]
    if not are_of_one_text(one, other) or len(frames) > 1 or (poses[0] is None) != (poses[1] is None):
        return False
    is_near = poses[0] is None or poses[1] is None or math.dist(poses[0], poses[1]) <= RADIUS
    field = query.spatial_sort.field.name if query.spatial_sort else "position"
    has_same_places = one.position(field) == other.position(field) or field == "position"
    spatial = [at_path(memory.context, "spatial") for memory in (one, other)]
    if poses[0] is not None:
        spatial = [{**part, "area": None} if isinstance(part, dict) else part for part in spatial]
    return is_near and has_same_places and spatial[0] == spatial[1]


def drawn(world: World, number: int, n: int) -> list[Question]:
    """Draw questions at once, before any of them changes what the others are drawn from."""
    some: list[Question] = []

    @seed(number)
    @settings(max_examples=n, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(questions(world))
    def collect(question: Question) -> None:
        some.append(question)

    collect()
    return some


@pytest.fixture(scope="module")
def asked(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    number = random.randrange(10**6)
    print(f"seed {number}")
    folder = tmp_path_factory.mktemp("asked")
    fleet, clock = Fleet(postgres, folder), Clock(BORN)
    url = fleet.add("asked")
    with RobotMemory(folder / "memory.db", embedder=FewWords(), clock=clock) as memory:
        world = replace(build(memory, clock, 3 * (number % 100), SIZE), areas=AREAS)
        push(memory, url)
        with closing(connect(url)) as connection:
            connection.execute(SETTINGS)
            yield Asked(world, drawn(world, number, 120), connection)


def test_conditions_hold_for_what_brute_force_finds(asked: Asked) -> None:
    found_any = 0
    for question in asked.questions:
        with suppress(InvalidQueryError):
            query = asked.at(question)
            expected = {one.id for one in asked.expected(query)}
            where = Asker(asked.world.memory.parameters).candidates(query.conditions)
            assert {memory_id for (memory_id,) in asked.rows(where)} == expected, (query, where)
            found_any += bool(expected)
    assert found_any > len(asked.questions) / 4


def test_a_recall_gives_the_nearest_the_newest_and_what_is_relevant(asked: Asked) -> None:
    for question in asked.questions[::3]:
        with suppress(InvalidQueryError):
            check_recall(asked, question)


def own_relevance(asked: Asked, question: Question) -> Mapping[int, float]:
    """Return the relevance of what the robot's own memory gives, without folding; nothing if it knows no such area."""
    try:
        hits = asked.world.recall(question._replace(request=replace(question.request, fold=False)))
    except InvalidFieldError as error:
        if error.field != "areas":
            raise
        return {}
    return {hit.id: hit.relevance for hit in hits}


def check_recall(asked: Asked, question: Question) -> None:
    """Assert what a recall of the fleet must be."""
    query = asked.at(question)
    result = recall(asked.connection, query, asked.asker(query.text))
    assert {hit.robot for hit in result} <= {"asked"}
    instead = of_faded(query)
    if not query.text:
        expected = asked.first(query) or (asked.first(instead) if instead else [])
        ids = [[member.id for member in group.members] for group, _ in expected]
        assert [[hit.id, *hit.folded_ids] for hit in result] == ids, query
        distances = [number for _, number in expected]
        assert [hit.distance for hit in result] == pytest.approx(distances, nan_ok=True, abs=1e-9)
        return
    allowed = {one.id for some in (query, instead) if some for one in asked.expected(some)}
    relevance = own_relevance(asked, question)
    scores = [hit.score for hit in result]
    assert scores == sorted(scores, reverse=True) or query.spatial_sort
    for hit in result:
        assert hit.id in allowed
        # The newest of a group is shown with the measures of its best one, which may contain other words.
        group = [relevance[memory_id] for memory_id in (hit.id, *hit.folded_ids) if memory_id in relevance]
        if len(group) == 1 + hit.folded_count:  # the own memory gives the best ones alone
            assert any(hit.relevance == pytest.approx(value, abs=0.01) for value in group)
