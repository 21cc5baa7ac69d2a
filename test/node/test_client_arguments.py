"""Each argument of each request comes to the core through a message as it does in process, or is an error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest
from geometry_msgs.msg import PoseStamped

from robotmem_ros import srv
from robotmem_ros.memory import InvalidFieldError, Parameters, validation
from robotmem_ros.memory.argument import MAX_CONTEXT, arguments_of
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.learning.correction import parse_correction
from robotmem_ros.memory.models import MemoryUpdate, NewFact, NewPerception
from robotmem_ros.memory.new_memory import new_fact, new_perception
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import CountsRequest, RecallRequest, TimelineRequest
from robotmem_ros.memory.search.timeline import parse_timeline
from robotmem_ros.memory.times import moment
from robotmem_ros.memory.verbs import requests
from robotmem_ros.messages.requests import arguments_of as read_arguments
from robotmem_ros.messages.requests import correction_of, fill_correction, fill_perception, fill_request
from robotmem_ros.node import conversions

NOW = 1_790_000_000_000_000_000
PARAMETERS = Parameters()
DECAY = Decay(0.01, NOW)
GIVEN = {
    "session.session_id": "4e1f02c2", "page.cursor": "", "jpeg_bytes": b"\xff\xd8\x00", "message_time": NOW,
}  # fmt: skip
"""Values of the examples that are variables of a program."""
OTHERS: dict[str, list[Any]] = {
    "spatial_sort": [(1.0, 2.0), {"target": (1, 2), "field": "spatial.at", "max_distance": 3}, "1, 2, 3",
                     "map", "/map", {"frame_id": "map", "max_distance": 2.0}, " "],
    "near": ["map", " map ", '{"frame_id": "map", "max_distance": 2.5}', " ",
             (1.0, 2.0), "1 2 0.5", '{"target": [1.0, 2.0], "max_distance": 2.5}'],
    "within": [
        {"min_corner": (0, 0, 0), "max_corner": (4, 3, 2), "field": "spatial.at"},
        '{"min_corner": [0, 0], "max_corner": [1, 1]}',
        "",
    ],
    "since_last_visit": ["map", {"target": (1.0, 2.0, 0.0), "max_distance": 0.5}],
    "labels": [["mug", "Cup"], ("mug",), iter(["mug"])],
    "kinds": [["facts", "notes"]],
    "ids": [7, (9, 3)],
    "after": [datetime(2026, 1, 31, tzinfo=timezone.utc), timedelta(hours=2), NOW - 1],
    "context_filter": ['{"task.success": true}'],
    "context": ["plain words", '{"params": {"force": 11}}', {"spatial": {"frame_id": "odom"}}],
    "confidence": [0.0, 1.0],
    "min_confidence": [0.0, 0.25],
    "pose": [(3, 1, 0.8, 0, 0, 0, 1), [1.0, 2.0, 3.0]],
    "query": ["杯子"],
    "fold": [True],
    "outcome_score": [0.0],
    "tags": [()],
    "content": ["new text"],
}  # fmt: skip
"""Further values of arguments, by their names, wherever these occur."""


def plain_arguments(request: Any) -> dict[str, Any]:
    """Return the arguments of a request that are read as they are."""
    return {entry.name: normal(entry.name, getattr(request, entry.name)) for entry in dataclasses.fields(request)}


def normal(name: str, value: Any) -> Any:
    """Return an argument as every verb reads it: a single one for a list of one, and none as what is empty."""
    if name == "context":
        return validation.context(name, value, limit=MAX_CONTEXT)
    if isinstance(value, (list, tuple)):
        return value[0] if len(value) == 1 else list(value)
    return value or None


class Door(NamedTuple):
    request: type
    service: Any
    read: Callable[[Any, Callable[[], int]], dict[str, Any]] = read_arguments
    """What the node makes of the request."""
    fill: Callable[[Any, Any], Any] = fill_request
    core: Callable[[Any], Any] = plain_arguments
    """What the core makes of it, to compare."""


def clock() -> int:
    return NOW


def without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return arguments without some, such as one that says how a response is filled."""
    return {name: value for name, value in values.items() if name not in names}


DOORS = (
    Door(NewFact, srv.Learn, core=lambda request: new_fact(PARAMETERS, request, now=clock)),
    Door(NewPerception, srv.SavePerception, fill=fill_perception,
         core=lambda request: new_perception(PARAMETERS, request, now=clock)),
    Door(RecallRequest, srv.Recall,
         lambda message, now: without(read_arguments(message, now), "brief"),
         core=lambda request: parse_query(PARAMETERS, request, decay=DECAY)),
    Door(TimelineRequest, srv.Timeline,
         core=lambda request: parse_timeline(PARAMETERS, request, decay=DECAY, areas=dict)),
    Door(MemoryUpdate, srv.Update, correction_of, fill_correction,
         lambda request: parse_correction(PARAMETERS, request, now=NOW)),
    Door(CountsRequest, srv.List),
    Door(requests.GetMemoriesRequest, srv.GetMemories),
    Door(requests.ForgetRequest, srv.Forget),
    Door(requests.RestoreRequest, srv.Restore),
    Door(requests.ObjectHistoryRequest, srv.ObjectHistory),
    Door(requests.GetDataRequest, srv.GetData),
    Door(requests.DoctorRequest, srv.Doctor),
    Door(requests.StartSessionRequest, srv.StartSession),
    Door(requests.EndSessionRequest, srv.EndSession),
    Door(requests.ConsolidateRequest, srv.Consolidate),
    Door(requests.TagsRequest, srv.ListTags),
    Door(requests.AddTagRequest, srv.AddTag),
    Door(requests.RenameTagRequest, srv.RenameTag),
    Door(requests.RemoveTagRequest, srv.RemoveTag),
)  # fmt: skip


def cases() -> Iterator[Any]:
    for door in DOORS:
        for entry in arguments_of(door.request):
            for number, value in enumerate([example_of(entry), *OTHERS.get(entry.name, [])]):
                yield pytest.param(door, entry.name, value, id=f"{door.service.__name__}-{entry.name}-{number}")


def example_of(entry: Any) -> Any:
    example = "7" if entry.name == "memory_id" else entry.metadata["example"]  # a service takes a single one
    return GIVEN[example] if example in GIVEN else eval(example, {"datetime": datetime})


def request_with(door: Door, name: str, value: Any) -> Any:
    """Return a request with this argument, what is required, and what it does not go without."""
    needed = {
        entry.name: example_of(entry) for entry in arguments_of(door.request) if entry.default is dataclasses.MISSING
    }
    if door.request is MemoryUpdate:
        needed["human_summary"] = "checked"
    if name == "frame_id":
        needed["pose"] = (1.0, 2.0, 3.0)
    if name in {"clear", "human_summary"}:
        needed.pop("human_summary", None)
    if door.request is RecallRequest and name not in {"query"}:
        needed["query"] = "red mug"
    needed[name] = value
    types = {entry.name: str(entry.type) for entry in dataclasses.fields(door.request)}
    return door.request(**{
        one: moment(one, given, NOW) if types[one].startswith("Time") else given for one, given in needed.items()
    })  # fmt: skip


@pytest.mark.parametrize(("door", "name", "value"), cases())
def test_an_argument_comes_through_a_request_as_it_does_in_process(door: Door, name: str, value: Any) -> None:
    request = request_with(door, name, list(value) if isinstance(value, Iterator) else value)
    message = door.fill(door.service.Request(), request)
    if door.request is NewPerception:
        there = conversions.perception_from(message.perception, PARAMETERS, clock, source="")
    else:
        there = door.core(door.request(**door.read(message, clock)))
    assert there == door.core(request)


@pytest.mark.parametrize(
    ("request_made", "error"),
    [
        (RecallRequest(query="mug", caller="planner"), "caller: 'planner' cannot be told to a node"),
        (RecallRequest(near={"target": (1, 2), "max_distance": 0}), "near.max_distance: 0 means none"),
        (RecallRequest(query="mug", min_confidence=" "), "min_confidence: ' ' must be"),  # type: ignore[arg-type]
        (RecallRequest(near={"max_distance": 2}), "near.target: None must be"),
        (RecallRequest(near="/"), "near: '/' must be two or three numbers in metres, the name of a place or"),
        (RecallRequest(spatial_sort="1 m, 2 m"), "spatial_sort: '1 m, 2 m' must be two or three numbers in metres"),
        (RecallRequest(within={"min_corner": (0, 0, 0), "max_corner": (1, 1, 0)}), "within: .* has no height"),
        (RecallRequest(within={"min_corner": (0, 0), "max_corner": (1, 1, 0)}), "within.max_corner: .* as many"),
        (RecallRequest(query="mug", n=2**40), "n: .* must lie in 1 to"),
        (RecallRequest(query="mug", min_relevance=float("nan")), "min_relevance: nan must be a finite number"),
        (RecallRequest(query="mug", min_relevance=1e300), "min_relevance: 1e[+]300 must lie in"),
        (RecallRequest(query="mug", labels=[3]), "labels: 3 must be text"),  # type: ignore[list-item]
        (RecallRequest(query="mug", fold=1), "fold: 1 must be true or false"),  # type: ignore[arg-type]
        (RecallRequest(query=("mug" for _ in iter(int, 1))), "query: .* must be text"),  # type: ignore[arg-type]
        (RecallRequest(query="mug", labels=("mug" for _ in iter(int, 1))), "labels: 'more than .* are too many"),
    ],
)  # fmt: skip
def test_what_no_request_carries_is_an_error(request_made: Any, error: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{error}"):
        fill_request(srv.Recall.Request(), request_made)


def test_a_stamped_pose_brings_its_frame() -> None:
    pose = PoseStamped()
    pose.header.frame_id, pose.pose.position.x, pose.pose.orientation.w = "odom", 3.0, 1.0
    message = fill_perception(srv.SavePerception.Request(), NewPerception("a mug", pose=pose)).perception
    assert (message.header.frame_id, message.pose) == ("odom", [pose.pose])
    update = fill_correction(srv.Update.Request(), MemoryUpdate(7, pose=pose, frame_id="map"))
    assert (update.frame_id, update.pose) == ("map", [pose.pose])


def test_what_a_correction_empties_is_named_in_clear() -> None:
    message = fill_correction(srv.Update.Request(), MemoryUpdate(7, human_summary="", tags=[], clear=["pose"]))
    assert list(message.clear) == ["pose", "human_summary", "tags"]
