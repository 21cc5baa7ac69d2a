"""Every bad request is refused with an error that names the field and the value, and leaves nothing behind."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, MemoryNotFoundError, RobotMemory

NAN, INF = math.nan, math.inf
HERE = {"field": "position", "target": [0.0, 0.0, 0.0]}
INVISIBLE = ["\x01\x02\x1b", "\u200b\u200d", "\ufeff", "\u2060 \u00ad", "\u202e", "\x7f\x85"]


def deep(levels: int) -> dict[str, object]:
    """An object nested so many levels deep."""
    inner: dict[str, object] = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


def deep_text(levels: int) -> str:
    """The JSON of an object nested so many levels deep."""
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("query", ["", "  ", "*", "\u200b"])
def test_an_empty_query_without_conditions_is_refused(memory: RobotMemory, query: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^query: .* is empty, and there is no condition"):
        memory.recall(query)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_confidence": NAN}, "min_confidence: nan must be a finite number"),
        ({"min_confidence": 1.5}, "min_confidence: 1.5 must lie in 0 to 1"),
        ({"min_confidence": -0.1}, "min_confidence: -0.1 must lie in 0 to 1"),
        ({"min_confidence": "0.3"}, "min_confidence: '0.3' must be a number"),
        ({"n": True}, "n: True must be a whole number"),
        ({"n": 2.5}, "n: 2.5 must be a whole number"),
        ({"n": 10**5000}, "n: .* does not fit 64 bits"),
        ({"kinds": ["dream"]}, "kinds: 'dream' is unknown; use one of fact, perception, note"),
        ({"after": -1}, "after: -1 lies before 1970"),
        ({"after": 1.5}, "after: 1.5 has no unit"),
        ({"before": 2**63}, f"before: {2**63} lies before 1970 or after 2262"),
        ({"after": 5, "before": 5}, "after: 5 must lie before `before` \\(5\\)"),
        ({"session_id": 7}, "session_id: 7 must be text"),
        ({"session_id": "a\nb"}, "session_id: 'a\\\\nb' contains control characters"),
        ({"collection": "c" * 300}, "collection: 'c.* is 300 characters long; at most 256"),
        ({"query": "mug " * 600}, "query: 'mug .* is 2399 characters long; at most 2000"),
        ({"query": 5}, "query: 5 must be text"),
        ({"kinds": [""]}, r"kinds: \[''\] holds a blank; give names, or an empty list for no condition"),
        ({"labels": ["mug", " "]}, r"labels: \['mug', ' '\] holds a blank"),
        ({"tags": "\u200b"}, r"tags: '.u200b' has only characters that show nothing"),
        ({"query": "mug\0"}, r"query: 'mug\\x00' contains a NUL character"),
        ({"query": "\ud83d"}, r"query: '.*ud83d' contains a lone surrogate"),
    ],
)
def test_a_bad_field_of_a_query_is_named(memory: RobotMemory, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        memory.recall(**{"query": "mug", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spatial_sort", "message"),
    [
        ({}, "spatial_sort.target: None must be two or three numbers"),
        ({"field": "position"}, "spatial_sort.target: None must be two or three numbers"),
        ({"target": []}, r"spatial_sort.target: \[\] must be two or three numbers"),
        ({"target": [1]}, r"spatial_sort.target: \[1\] must be two or three numbers"),
        ({"target": [1, 2, 3, 4]}, r"spatial_sort.target: \[1, 2, 3, 4\] must be two or three numbers"),
        ({"target": "1,b"}, "spatial_sort.target: '1,b' must be two or three numbers"),
        ({"target": [NAN, 0]}, r"spatial_sort.target\[0\]: nan must be a finite number"),
        ({"target": [0, INF]}, r"spatial_sort.target\[1\]: inf must be a finite number"),
        ({"target": [0, 0, "1"]}, r"spatial_sort.target\[2\]: '1' must be a number"),
        ({"target": [0, True]}, r"spatial_sort.target\[1\]: True must be a number"),
        ({"target": [0, 10**400]}, r"spatial_sort.target\[1\]: 10+.* is too large"),
        ({"max_distance": NAN}, "spatial_sort.max_distance: nan must be a finite number"),
        ({"max_distance": INF}, "spatial_sort.max_distance: inf must be a finite number"),
        ({"max_distance": -1}, "spatial_sort.max_distance: -1 must lie in 0 to inf"),
        ({"field": "pose"}, "spatial_sort.field: 'pose' must be `position` or a path into the context"),
        ({"field": "spatial."}, "spatial_sort.field: 'spatial.' must be `position` or a path into the context"),
        ({"field": 3}, "spatial_sort.field: 3 must be text"),
        ({"targets": [0, 0]}, r"spatial_sort: \['targets'\] is unknown; there are field, target"),
        ({"frame_id": 1}, "spatial_sort.frame_id: 1 must be text"),
        ([0], r"spatial_sort: \[0\] must be two or three numbers in metres, the name of a place or a frame"),
    ],
)
def test_a_bad_spatial_sort_is_named(memory: RobotMemory, spatial_sort: object, message: str) -> None:
    given = {**HERE, **spatial_sort} if isinstance(spatial_sort, dict) and spatial_sort else spatial_sort
    if isinstance(spatial_sort, dict) and "must be two or three" in message and "target" not in spatial_sort:
        given = spatial_sort
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        memory.recall("mug", spatial_sort=given)  # type: ignore[arg-type]


def test_a_target_in_a_frame_without_memories_names_both_frames(memory: RobotMemory) -> None:
    memory.save_perception("mug", pose=(0.0, 0.0, 0.0))
    with pytest.raises(FrameMismatchError, match=r"spatial_sort.target: frame 'base_link' .* in frame 'map'"):
        memory.recall("mug", spatial_sort={**HERE, "frame_id": "base_link"})


@pytest.mark.parametrize(
    ("context_filter", "message"),
    [
        ({"a": {"$near": 1}}, r"context_filter.a: '\$near' is an unknown operator; there are \$eq"),
        ({"a": {"lt": 1}}, "context_filter.a: 'lt' is an unknown operator"),
        ({"a": {}}, r"context_filter.a: \{\} needs an operator"),
        ({"a": {"$lt": None}}, r"context_filter.a.\$lt: None must be a number or a text"),
        ({"a": {"$gte": True}}, r"context_filter.a.\$gte: True must be a number or a text"),
        ({"a": {"$exists": 1}}, r"context_filter.a.\$exists: 1 must be true or false"),
        ({"a": {"$in": 5}}, r"context_filter.a.\$in: 5 must be a list"),
        ({"a": {"$in": [[1]]}}, r"context_filter.a.\$in: \[\[1\]\] must be a list of numbers"),
        ({"a": {"$eq": {"b": 1}}}, r"context_filter.a: .* cannot be compared"),
        ({"a..b": 1}, r"context_filter: 'a..b' is no dot path"),
        ({"": 1}, "context_filter: '' is no dot path"),
        ({".": 1}, "context_filter: '.' is no dot path"),
        ({"a": NAN}, "context_filter: .* cannot be written as JSON"),
        ('{"a": Infinity}', "context_filter: 'Infinity' is no JSON number"),
        ('{"a": 1e999}', "context_filter.a: inf must be a finite number"),
        ("{", "context_filter: '{' is not valid JSON"),
        ("[1]", r"context_filter: '\[1\]' must be a JSON object"),
        ('"a"', "context_filter: '\"a\"' must be a JSON object"),
        (7, "context_filter: 7 must be a JSON object"),
        (deep_text(10_000), "context_filter: .* is nested deeper than 64 levels"),
        (deep(10_000), "context_filter: .* is nested too deeply"),
        (json.dumps({"a": "x" * 10_000_000}), "context_filter: .* is 100000.. characters long; at most 65536 bytes"),
        ({"objects.name": "mug"}, "context_filter: 'objects.name' goes into the list 'objects'"),
        ({"objects.0": "mug"}, "context_filter: 'objects.0' goes into the list 'objects'"),
    ],
)
def test_a_bad_filter_is_named(memory: RobotMemory, context_filter: object, message: str) -> None:
    memory.learn("two things", {"objects": [{"name": "mug"}]})
    with pytest.raises(InvalidFieldError, match=f"(?s)^{message}"):
        memory.recall("mug", context_filter=context_filter)  # type: ignore[arg-type]


BAD_JSON = [
    ("{'a': 1}", "is not valid JSON"),
    ('{"a": NaN}', "'NaN' is no JSON number"),
    ('{"a": -Infinity}', "'-Infinity' is no JSON number"),
    ('{"a": [1e400]}', r"\.a\[0\]: inf must be a finite number"),
    ("[]", "must be a JSON object"),
    ("null", "must be a JSON object"),
    ("5", "'5' must be a JSON object"),
    ('"morning"', "must be a JSON object"),
    ('  \ufeff{"a": ', "is not valid JSON"),
    ("[morning shift]", "is not valid JSON"),
    ("{morning shift}", "is not valid JSON"),
    ({"a": {1, 2}}, "cannot be written as JSON"),
    ({"a": NAN}, "cannot be written as JSON"),
    ({"a": "\ud800"}, "lone surrogate"),
    ('{"a": "\\ud800"}', "lone surrogate"),
    ('{"a": {"b\\u0000": 1}}', "contains a NUL character"),
    ('{"a": 1' + "0" * 400 + "}", "is too large"),
    ('{"a": 1' + "0" * 5000 + "}", "is not valid JSON"),
    ({"a": 10**5000}, "cannot be written as JSON"),
    (deep_text(65), "is nested deeper than 64 levels"),
    (deep_text(10_000), "is nested deeper than 64 levels"),
    (deep(10_000), "is nested too deeply"),
    ([[]], "must be a JSON object"),
    (json.dumps({"a": "x" * 10_000_000}), "at most 65536 bytes are allowed"),
    ({"a": "杯" * 30_000}, "at most 65536 bytes are allowed"),
    (5, "5 must be a JSON object"),
]


@pytest.mark.parametrize(("context", "message"), BAD_JSON)
def test_a_bad_context_is_refused_wherever_it_is_given(memory: RobotMemory, context: object, message: str) -> None:
    known = memory.learn("kept").memory_id
    calls: list[tuple[str, Callable[[], object]]] = [
        ("context", lambda: memory.learn("a fact", context)),  # type: ignore[arg-type]
        ("context", lambda: memory.save_perception("a mug", context=context)),  # type: ignore[arg-type]
        ("metadata", lambda: memory.save_perception("a mug", metadata=context)),  # type: ignore[arg-type]
        ("context", lambda: memory.update(known, context=context)),  # type: ignore[arg-type]
        ("context", lambda: memory.start_session(context)),  # type: ignore[arg-type]
    ]
    for field, call in calls:
        with pytest.raises(InvalidFieldError, match=f"(?s)^{field}.*{message}"):
            call()
    assert memory.status().memories == 1


PLAIN = ("from the morning shift", "3 robots {at once}", '"quiet", said Ann', "早班", "null and void", "it's 5 o'clock")


@pytest.mark.parametrize("text", PLAIN)
def test_a_context_in_plain_text_is_kept_wherever_it_is_given(memory: RobotMemory, text: str) -> None:
    kept = {"user_context": text}
    fact = memory.learn("a fact", f"  {text}\n").memory_id
    perception = memory.save_perception("a mug", context=text).memory_id
    memory.update(perception, context="another")
    memory.update(perception, context=text)
    found = memory.recall(context_filter=kept)
    assert {one.id: one.memory.context for one in found} == {fact: kept, perception: kept}
    memory.start_session(text)
    assert json.loads(memory.sessions.latest()[0].context_json) == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("night\0shift", "contains a NUL character"),
        ("night \ud800", "lone surrogate"),
        ("杯" * 30_000, "at most 65536 bytes are allowed"),
    ],
)
def test_plain_text_that_cannot_be_stored_is_refused(memory: RobotMemory, text: str, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^context.*{message}"):
        memory.learn("a fact", text)
    with pytest.raises(InvalidFieldError, match="metadata: 'plain' is not valid JSON"):
        memory.save_perception("a mug", metadata="plain")
    with pytest.raises(InvalidFieldError, match="context_filter: 'plain' is not valid JSON"):
        memory.recall(context_filter="plain")


def test_a_list_nested_10000_deep_is_refused_as_any_other_value(memory: RobotMemory) -> None:
    nested: list[object] = []
    for _ in range(10_000):
        nested = [nested]
    for call in (lambda: memory.learn(nested), lambda: memory.learn("a", nested), lambda: memory.recall(n=nested)):  # type: ignore[arg-type]
        with pytest.raises(InvalidFieldError, match=r"^(insight|context|n): "):
            call()


@pytest.mark.parametrize("deadline", [-1.0, 60.5, math.nan, "soon"])
def test_a_deadline_is_checked_without_a_fleet_as_well(memory: RobotMemory, deadline: Any) -> None:
    for call in (partial(memory.recall, "mug"), memory.timeline, partial(memory.counts, "label")):
        with pytest.raises(InvalidFieldError, match=r"^deadline: "):
            call(deadline=deadline)


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", *INVISIBLE])
def test_a_text_of_which_nothing_can_be_read_is_refused(memory: RobotMemory, blank: str) -> None:
    known = memory.learn("kept").memory_id
    with pytest.raises(InvalidFieldError, match=r"^insight: .* is blank"):
        memory.learn(blank)
    with pytest.raises(InvalidFieldError, match=r"^description: .* is blank"):
        memory.save_perception(blank)
    with pytest.raises(InvalidFieldError, match=r"^content: .* is blank"):
        memory.update(known, blank)
    with pytest.raises(InvalidFieldError, match=r"^reason: .* is blank"):
        memory.forget(known, blank)
    assert [found.memory.content for found in memory.recall("kept")] == ["kept"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"perception_type": "smell"}, "perception_type: 'smell' is unknown; use one of visual, tactile, auditory"),
        ({"perception_type": 3}, "perception_type: 3 is unknown"),
        ({"pose": (NAN, 0, 0)}, r"pose\[0\]: nan must be a finite number"),
        ({"pose": (0, 0, 0, 0, 0, INF, 1)}, r"pose\[5\]: inf must be a finite number"),
        ({"pose": (0, 0)}, r"pose: \(0, 0\) must be 3 numbers"),
        ({"pose": "0 0 x"}, "pose: '0 0 x' must be 3 numbers"),
        ({"pose": 3.0}, "pose: 3.0 must be 3 numbers"),
        ({"pose": (0, 0, 0, *[1.7e308] * 4)}, r"pose: .* too long to be normalised"),
        ({"confidence": INF}, "confidence: inf must be a finite number"),
        ({"confidence": 1.01}, "confidence: 1.01 must lie in 0 to 1"),
        ({"observed_at": -5}, "observed_at: -5 lies before 1970"),
        ({"observed_at": NAN}, "observed_at: nan is no time"),
        ({"data": "text"}, "data: 'text' must be bytes"),
        ({"data": bytes(5_000_000)}, "data: '5000000 bytes' is too much; at most 4194304 bytes"),
        ({"label": "a\x07b"}, r"label: 'a\\x07b' contains control characters"),
        ({"frame_id": "\ud800"}, "frame_id: .* lone surrogate"),
        ({"context": {"spatial": {"frame_id": 5}}}, "context.spatial.frame_id: 5 must be text"),
    ],
)
def test_a_bad_field_of_a_perception_is_named(memory: RobotMemory, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        memory.save_perception("mug", **options)  # type: ignore[arg-type]
    assert memory.status().memories == 0


@pytest.mark.parametrize("memory_id", [0, -1, 2, 2**63 - 1])
def test_an_id_that_does_not_exist_is_named(memory: RobotMemory, memory_id: int) -> None:
    memory.learn("the only one")
    with pytest.raises(MemoryNotFoundError, match=f"^memory_id: {memory_id} cannot be used, there is no such memory"):
        memory.forget(memory_id, "a test")
    with pytest.raises(MemoryNotFoundError, match=f"^memory_id: {memory_id} "):
        memory.update(memory_id, "new")


@pytest.mark.parametrize("memory_id", ["1", 1.0, True, None, 2**63])
def test_an_invalid_id_is_refused(memory: RobotMemory, memory_id: object) -> None:
    memory.learn("the only one")
    with pytest.raises(InvalidFieldError, match=f"^memory_id: {re.escape(repr(memory_id))} "):
        memory.forget(memory_id, "a test")  # type: ignore[arg-type]


def test_a_withdrawn_memory_cannot_be_withdrawn_or_corrected_again(memory: RobotMemory) -> None:
    memory_id = memory.learn("wrong").memory_id
    memory.forget(memory_id, "it was wrong")
    calls: list[Callable[[], object]] = [
        lambda: memory.forget(memory_id, "again"),
        lambda: memory.update(memory_id, "new"),
    ]
    for call in calls:
        with pytest.raises(MemoryNotFoundError, match=r"it is invalidated \(it was wrong\)"):
            call()
