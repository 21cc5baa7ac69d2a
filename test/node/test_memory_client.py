"""MemoryClient on a real graph: every verb, wherever it is called, and what it says when nobody answers."""

from __future__ import annotations

import asyncio
import math
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import Point, PointStamped, Pose, PoseStamped, Quaternion
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.time import Time
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from robotmem_ros.client import Answer, AsyncMemoryClient, MemoryClient, NoAnswerError
from robotmem_ros.memory import (
    FrameMismatchError,
    InvalidFieldError,
    Learned,
    MemoryClosedError,
    MemoryNotFoundError,
    RecallResult,
    RobotMemory,
    RobotMemoryError,
    SessionNotFoundError,
)
from robotmem_ros.memory.display import json_values
from robotmem_ros.messages.verbs import VERBS, Verb
from robotmem_ros.srv import Recall

from ..support.node.graph import DEADLINE, Client
from .conftest import StartNode

Connect = Callable[..., Client]
DAY = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
UNTOLD = {
    "memory_id",
    "created_at",
    "session_id",
    "id",
    "context",
    "collection",
    "expires_at",
    "superseded",
    "map_id",
    "changed_at",
}
UNTOLD |= {"memories", "started_at", "ended_at", "frame_id", "confidence", "dry_run", "words", "is_new", "similar_ids"}
"""Fields of results that differ between two memories, and those that a response does not carry."""


@pytest.fixture(scope="module")
def memory(client: Client) -> Iterator[MemoryClient]:
    with MemoryClient(client.node, timeout=DEADLINE) as connected:
        yield connected


@pytest.fixture
def spun(domain: int, client: Client) -> Iterator[tuple[Any, MemoryClient]]:
    """A node of the test's own: one that another executor has had may get no more answers."""
    own = Client(domain)
    with MemoryClient(own.node, timeout=DEADLINE) as connected:
        yield own.node, connected
    own.close()


def spinning(executor: Any, node: Any, holds: Callable[[], bool]) -> None:
    """Spin a node until a condition holds."""
    executor.add_node(node)
    try:
        for _ in range(int(DEADLINE / 0.05)):
            if holds():
                return
            executor.spin_once(timeout_sec=0.05)
        raise AssertionError("waited in vain")
    finally:
        executor.remove_node(node)


def every_verb(memory: RobotMemory | MemoryClient, collection: str) -> Iterator[Any]:
    """Call every verb that both have, with arguments of every form, and give their results."""
    mug, day = (3.0, 1.0, 0.8), DAY
    options: dict[str, Any] = {"collection": collection}
    session = memory.start_session({"task": "clear the table"}, max_duration=600.0, **options)
    of_session = {"session_id": session.session_id, **options}
    yield session.known_facts, session.collection
    facts = [
        memory.learn(f"a grip force of {force} N holds the {thing} mug", {"params": {"force": force}}, observed_at=day,
                     tags=("gripper",), confidence=0.8, category="grasp", **of_session)
        for force, thing in ((11, "red"), (12, "blue"), (12, "blue"))
    ]  # fmt: skip
    yield facts[0].status, facts[2].status, facts[0].tags, facts[0].category, facts[0].confidence
    place: dict[str, Any] = {"pose": mug, "label": "mug", "observed_at": day, **of_session}
    seen = [memory.save_perception("a red mug", metadata={"format": "jpeg"}, data=b"\x00\xff", **place) for _ in "ab"]
    yield [one.times_seen for one in seen], seen[1].is_new, seen[0].memory_id == seen[1].memory_id
    red, blue = facts[0].memory_id, facts[1].memory_id
    for found in (
        memory.recall(labels="mug", include_unconfirmed=True, spatial_sort=(0.0, 1.0), **options),
        memory.recall(near={"target": (3.0, 1.0), "max_distance": 0.5}, include_unconfirmed=True, **options),
        memory.recall(context_filter={"params.force": {"$lt": 12}}, n=1, min_confidence=0.5, **options),
        memory.recall(ids=[red, blue], after=day, before=day + timedelta(days=1), fold=False, **options),
        memory.recall(session_ids=[session.session_id], kinds=("fact",), any_tags=["gripper", "dock"], **options),
        memory.recall(within={"min_corner": (2, 0), "max_corner": (4, 3)}, include_unconfirmed=True, **options),
    ):
        yield found.mode, found.relevant, found.reason, list(found)
    page = memory.timeline(n=1, oldest_first=True, include_unconfirmed=True, **options)
    rest = memory.timeline(cursor=page.cursor, oldest_first=True, include_unconfirmed=True, **options)
    yield page.entries, rest.entries, rest.reason
    yield memory.counts("labels", **options), memory.counts("categories", n=1, **options)
    yield memory.object_history(seen[0].memory_id, n=1)
    yield memory.data(seen[0].memory_id)
    yield memory.maps.approach(seen[0].memory_id, distance=1.0)
    memory.update(
        red, "a grip force of 10 N holds the red mug", add_tags=["checked"], human_summary="10 N", reason="new"
    )
    memory.update(red, human_summary="", clear=["category"])
    memory.forget(blue, "the mug broke")
    details = memory.get_memories([red, blue, seen[0].memory_id, 10**9], include_forgotten=True)
    yield [(one.status, one.status_reason, one.data, one.sightings, one.memory.context) for one in details]
    yield [[(change.change, change.before, change.reason) for change in one.history] for one in details]
    yield len(details), details.reason.partition("memory")[2]
    memory.restore([blue])
    memory.tags.add(f"tool-{collection}", display_name="Tool")
    yield memory.tags.rename(f"tool-{collection}", f"gear-{collection}", dry_run=True)
    yield memory.tags.remove(f"tool-{collection}"), len(memory.tags.all(collection)) > 1
    grouped = memory.sessions.consolidate(session.session_id, dry_run=True, **options)
    yield grouped.considered, [group.representative.content for group in grouped.groups]
    report = memory.end_session(session.session_id, 0.5)
    yield report.facts, report.perceptions, report.categories, report.objects, report.decay, report.session.outcome
    yield {finding.name for finding in memory.doctor()} >= {"versions"}
    with memory.sessions.open("patrol", **options) as patrol:
        patrol.outcome = 1.0
    yield patrol.report is not None


def plain(value: Any) -> Any:
    """Return a result as JSON has it, without what differs between two memories."""
    values = json_values(value)
    if isinstance(values, dict):
        return {name: plain(entry) for name, entry in values.items() if name not in UNTOLD}
    if isinstance(values, (list, tuple)):
        return [plain(entry) for entry in values]
    return round(values, 6) if isinstance(values, float) else values


def test_every_verb_gives_what_it_gives_in_process(memory: MemoryClient, tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", source="service") as own:
        for here, there in zip(every_verb(own, "verbs"), every_verb(memory, "verbs"), strict=True):
            assert plain(there) == plain(here)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.path)
def test_every_verb_that_the_node_serves_is_one_of_both_clients(memory: MemoryClient, verb: Verb) -> None:
    for client in (memory, memory.asynchronous):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
            attrgetter(verb.path)(client)(nonsense=True)
    owner, _, name = verb.path.rpartition(".")
    own = type(attrgetter(owner)(memory) if owner else memory)
    assert f"_{name}" in vars(own)


def test_a_verb_that_no_service_has_says_so(memory: MemoryClient) -> None:
    refused = (memory.purge, memory.objects, memory.density, memory.recalls, memory.sessions.latest, memory.maps.path)
    for verb in refused:
        with pytest.raises(RobotMemoryError, match="no service of the node does this"):
            verb()


def test_times_places_and_poses_may_be_messages(memory: MemoryClient, client: Client) -> None:
    pose = Pose(position=Point(x=7.0, y=8.0, z=0.5), orientation=Quaternion(w=1.0))
    stamped = PoseStamped(header=Header(frame_id="map"), pose=pose)
    stamp = Time(seconds=1_790_000_000)
    stored = memory.save_perception("a lamp", label="lamp", pose=stamped, observed_at=stamp)
    place = PointStamped(header=Header(frame_id="map"), point=pose.position)
    found = memory.recall(labels=["lamp"], spatial_sort=place, after=stamp.to_msg(), include_unconfirmed=True)
    assert [(hit.id, hit.distance, hit.memory.observed_at) for hit in found] == [
        (stored.memory_id, 0.0, 1_790_000_000 * 10**9)
    ]
    assert not memory.recall(labels=["lamp"], after="now", include_unconfirmed=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda memory: memory.recall("!?"), InvalidFieldError, "query: '!\\?' has no letter and no digit"),
        (lambda memory: memory.recall("mug", n=0), InvalidFieldError, "n: 0 must lie in 1 to"),
        (lambda memory: memory.recall("mug", min_confidence=2.0), InvalidFieldError, "min_confidence: 2.0 must lie in"),
        (lambda memory: memory.recall("mug", before=0), InvalidFieldError, "before: 0 is no time in a request"),
        (lambda memory: memory.recall("mug", count_usage=False), InvalidFieldError, "count_usage: False cannot be"),
        (lambda memory: memory.recall("mug", time_words=False), InvalidFieldError, "time_words: False cannot be"),
        (lambda memory: memory.recall("a\0b"), InvalidFieldError, r"query: 'a\\x00b' contains a NUL"),
        (lambda memory: memory.learn("a\ud800"), InvalidFieldError, "lone surrogate"),
        (lambda memory: memory.forget([1, 2], "wrong"), InvalidFieldError, r"memory_id: \[1, 2\] is 2 ids; a request"),
        (lambda memory: memory.forget(10**9, "wrong"), MemoryNotFoundError, "memory_id: 1000000000 cannot be used"),
        (lambda memory: memory.end_session("nobody's"), SessionNotFoundError, 'session_id: "nobody\'s" cannot be used'),
        (lambda memory: memory.recall(spatial_sort={"target": (1, 2, 0), "frame_id": "nowhere"}), FrameMismatchError,
         "spatial_sort.target: frame 'nowhere' cannot be compared"),
        (lambda memory: memory.recall(near={"middle": (1, 2)}), InvalidFieldError, r"near: \['middle'\] is unknown"),
    ],
)  # fmt: skip
def test_errors_are_those_of_the_core(
    memory: MemoryClient, call: Callable[[MemoryClient], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        call(memory)
    if isinstance(caught.value, (InvalidFieldError, FrameMismatchError)):
        assert str(caught.value).startswith(caught.value.field)


@pytest.mark.parametrize("kind", [SingleThreadedExecutor, MultiThreadedExecutor])
def test_a_callback_of_the_same_node_may_wait_for_a_verb(spun: tuple[Any, MemoryClient], kind: Any) -> None:
    node, memory = spun
    results: list[object] = []

    def serve(request: Any, response: Any) -> Any:
        results.append(memory.learn("a callback may wait", collection="callbacks"))
        response.success = True
        return response

    node.create_service(Trigger, "~/wait", serve)
    caller = node.create_client(Trigger, "test_client/wait")
    node.create_timer(0.01, lambda: results.append(memory.counts("kinds", collection="callbacks")))
    assert caller.wait_for_service(DEADLINE)
    future = caller.call_async(Trigger.Request())
    executor = kind(context=node.context)
    spinning(executor, node, lambda: future.done() and len(results) > 3)
    executor.shutdown()
    assert any(isinstance(result, Learned) for result in results)


def test_a_coroutine_of_rclpy_may_await_two_answers_at_once(spun: tuple[Any, MemoryClient]) -> None:
    node, memory = spun
    ahead, results = memory.asynchronous, list[object]()

    async def ask() -> None:
        timer.cancel()
        first, second = ahead.recall("mug"), ahead.counts("kinds")
        results.extend([await second, await first])

    timer = node.create_timer(0.01, ask, callback_group=ReentrantCallbackGroup())
    executor = SingleThreadedExecutor(context=node.context)
    spinning(executor, node, lambda: bool(results))
    executor.shutdown()
    assert isinstance(results[1], RecallResult)


def test_asyncio_may_await_many_answers_at_once(memory: MemoryClient) -> None:
    async def ask() -> list[RecallResult]:
        return await asyncio.gather(*(memory.asynchronous.recall(f"mug {number}") for number in range(20)))

    assert len(asyncio.run(ask())) == 20


def test_many_threads_may_call_at_once(memory: MemoryClient) -> None:
    results: list[Learned] = []
    threads = [
        threading.Thread(target=lambda text: results.append(memory.learn(text)), args=(f"bay {number} is full",))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert len({result.memory_id for result in results}) == 8


def test_an_answer_tells_its_error_and_a_wrong_argument_at_once(memory: MemoryClient) -> None:
    ahead: AsyncMemoryClient = memory.asynchronous
    with pytest.raises(InvalidFieldError, match="n: 'three' must be a whole number"):
        ahead.recall("mug", n="three")  # type: ignore[arg-type]
    answer: Answer[None] = ahead.forget(10**9, "wrong")
    assert isinstance(answer.exception(DEADLINE), MemoryNotFoundError)


def test_a_callback_of_an_answer_cannot_wait_for_another_one(memory: MemoryClient) -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def ask(answer: object) -> None:
        try:
            memory.counts("kinds")
        except RobotMemoryError as error:
            errors.append(error)
        done.set()

    memory.asynchronous.counts("kinds").add_done_callback(ask)
    assert done.wait(DEADLINE)
    assert "cannot be waited for in a callback" in str(errors[0])


def test_without_the_node_the_error_names_the_service_after_the_deadline(client: Client) -> None:
    with MemoryClient(client.node, "nobody", timeout=0.2) as memory:
        for ask in (memory.counts, memory.asynchronous.counts):
            with pytest.raises(
                NoAnswerError, match=r"^/nobody/list: no such service within 0\.2 s: is the memory node running\?$"
            ) as caught:
                _ = answer.result() if isinstance(answer := ask("kinds"), Answer) else answer
            assert isinstance(caught.value, TimeoutError)
    with pytest.raises(MemoryClosedError, match="the client is closed"):
        memory.counts("kinds")


def test_a_service_of_another_type_is_told_from_one_that_is_not_there(client: Client, domain: int) -> None:
    other = Client(domain)
    other.node.create_service(Recall, "/old/list", lambda _, response: response)
    client.until(lambda: client.node.count_services("/old/list") > 0, "the service")
    with MemoryClient(client.node, "old", timeout=5.0) as memory, pytest.raises(NoAnswerError) as caught:
        memory.counts("kinds")
    problem = "no such service within 5 s: /old/list has another type: is its node of another version of robotmem_ros?"
    assert str(caught.value) == f"/old/list: {problem}"
    other.close()


def test_a_node_that_is_killed_in_the_middle_costs_the_deadline_and_the_next_one_answers(
    own: tuple[StartNode, Connect], tmp_path: Path
) -> None:
    start, connect = own
    options = ["-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=none"]
    node, client = start(*options), connect()
    memory = MemoryClient(client.node, timeout=DEADLINE)
    stored = memory.learn("the door sticks")
    node.pause()
    answer = memory.within(1.0).asynchronous.learn("the lamp flickers")
    node.stop(signal.SIGKILL)
    with pytest.raises(NoAnswerError, match=r"/memory/learn: no answer within 1 s"):
        answer.result(DEADLINE)
    start(*options)
    assert memory.get_memories(stored.memory_id)[0].memory.content == "the door sticks"
    waiting = memory.asynchronous.learn("the door sticks")
    memory.close()
    assert isinstance(waiting.exception(DEADLINE), (MemoryClosedError, type(None)))


def test_a_context_that_is_shut_down_ends_what_waits(domain: int) -> None:
    client = Client(domain)
    answer = MemoryClient(client.node, "nobody", timeout=DEADLINE).asynchronous.recall("mug")
    client.close()
    assert isinstance(answer.exception(DEADLINE), MemoryClosedError)


def test_a_node_that_stays_inactive_is_told_after_the_deadline(own: tuple[StartNode, Connect]) -> None:
    start, connect = own
    start("-p", "autostart:=false", "-p", "embedding_model:=none")
    client = connect()
    client.ask(client.of(Recall, "recall"), Recall.Request())
    with (
        MemoryClient(client.node, timeout=10.0) as memory,
        pytest.raises(NoAnswerError, match=r"not active$") as caught,
    ):
        memory.recall("mug")
    assert str(caught.value) == "/memory/recall: no answer within 10 s: the node is unconfigured, not active"


def test_a_named_place_is_saved_and_says_where(memory: MemoryClient) -> None:
    collection = "places"
    place = memory.save_perception(
        "the charger in the hall", "place", label="Bay 7", pose=(40.0, 2.0, 0.0, math.pi / 2), collection=collection
    )
    memory.save_perception("a bin", label="bin", pose=(40.0, 5.0, 0.0), as_object=False, collection=collection)
    (goal,) = memory.recall(labels="bay 7", collection=collection)
    assert (goal.id, goal.memory.perception_type) == (place.memory_id, "place")
    assert goal.memory.pose == pytest.approx((40.0, 2.0, 0.0, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    ahead = {"frame_id": "bay 7", "target": (1.0, 0.0, 0.0)}
    for where, distance in (("bay 7", 3.0), (ahead, 2.0)):
        (found,) = memory.recall(labels="bin", spatial_sort=where, near="Bay 7", collection=collection)
        assert found.distance == pytest.approx(distance)
    with pytest.raises(FrameMismatchError, match=r"no place is named so; did you mean 'bay 7'\?"):
        memory.recall(near={"frame_id": "bay 8", "max_distance": 1.0})
