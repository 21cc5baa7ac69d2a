"""SQL, FTS and other syntax in any text field is only text, and comes back as it was given."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory, context_path
from robotmem_ros.memory.text.normal_form import tag_key

from ..support.examples import examples

SYNTAX = [
    "'; DROP TABLE memories; --", '" OR 1=1 --', 'mug" OR "cup', "NEAR(red mug, 2)", "content:mug", "mug*", "^mug",
    "-mug", "red AND NOT mug", "(mug", "{content} : mug", "mug + cup", "%_?;mug", "$.a[0]", "\\mug", 'mug""mug',
    "?1 :name @x", "/* mug */", "mug' || 'x", "mug\tAND\nOR", "rowid:1", "memories_fts:1", "杯子\" OR \"mug", "🤖 mug",
]  # fmt: skip


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_in_every_text_field_is_kept_and_found_as_text(memory: RobotMemory, text: str) -> None:
    name = " ".join(text.split())
    # Names of collections may not have what means something in lists, paths and URLs.
    collection = re.sub(r'[*,;/\\:=?#%<>|"]', "", name).strip("!-.~ ") or "site"
    context = {text: text, "task": {text: 1}}
    fact = memory.learn(
        text, context, session_id=name, collection=collection, human_summary=text, category=name, tags=[name],
        scope_files=[name], scope_entities=[name],
    ).memory_id  # fmt: skip
    seen = memory.save_perception(
        text, context=context, session_id=name, collection=collection, label=name, frame_id=name, pose=(1, 2, 3)
    ).memory_id
    memory.flush()
    answer = memory.recall(text, session_id=name, collection=collection, n=100)
    assert {found.id for found in answer} == {fact, seen}
    assert {found.memory.content for found in answer} == {text.strip()}
    first = next(found for found in answer if found.id == fact)
    assert (first.memory.session_id, first.memory.collection, first.memory.category, first.memory.tags) == (
        name,
        collection,
        name,
        (tag_key(name),),
    )
    assert first.memory.context == context
    assert first.memory.human_summary == text.strip()
    memory.update(fact, text + " again", context=context, category=name, tags=[name])
    memory.forget(seen, text)
    memory.flush()
    assert [found.id for found in memory.recall(text, collection=collection)] == [fact]
    assert memory.status().memories == 1


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_in_a_filter_is_a_name_or_a_value(memory: RobotMemory, text: str) -> None:
    path = context_path.join(["outer", text])
    memory_id = memory.learn("a fact", {"outer": {text: text}}).memory_id
    memory.learn("another fact", {"outer": {"x": text + "x"}})
    for wanted in (text, {"$in": [text]}, {"$gte": text, "$lte": text}, {"$ne": text + "y"}, {"$exists": True}):
        assert [found.id for found in memory.recall(context_filter={path: wanted})] == [memory_id]


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_in_a_spatial_field_or_frame_is_a_name(memory: RobotMemory, text: str) -> None:
    path, frame = context_path.join(["spatial", text]), " ".join(text.split())
    context = {"spatial": {text: [3.0, 4.0], "frame_id": frame}}
    memory_id = memory.learn("a fact", context).memory_id
    answer = memory.recall(spatial_sort={"field": path, "target": [0, 0], "frame_id": frame})
    assert [(found.id, found.distance) for found in answer] == [(memory_id, 5.0)]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_any_text_is_stored_as_it_is_or_refused_and_any_query_has_a_result(memory: RobotMemory, text: str) -> None:
    memory.parameters = memory.parameters.changed(deduplication="off")
    known = memory.learn("a mug").memory_id
    if is_readable(text):
        known = memory.learn(text).memory_id
        assert memory.recall(context_filter={"id": known})[0].memory.content == text.strip()
        memory.flush()
        assert len(memory.recall(text, n=100, min_relevance=0.0)) >= 1
    else:
        with pytest.raises(InvalidFieldError, match=r"^insight: "):
            memory.learn(text)


def is_readable(text: str) -> bool:
    """Whether a text has a letter or a digit, and is Unicode without NUL."""
    categories = {unicodedata.category(character) for character in text}
    return "\0" not in text and "Cs" not in categories and any(map(str.isalnum, text))


def test_a_query_as_long_as_allowed_has_a_result(memory: RobotMemory) -> None:
    memory.learn("the last word is zz")
    words = " ".join(
        f"{first}{second}" for first in "abcdefghijklmnopqrstuvwxyz" for second in "abcdefghijklmnopqrstuvwxyz"
    )
    query = words[:1997] + " zz"
    assert len(query) == 2000
    assert [found.memory.content for found in memory.recall(query, min_relevance=0.0)] == ["the last word is zz"]


def test_a_content_that_is_too_long_is_refused_and_not_cut(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"^insight: 'xxx.* is 2001 characters long; at most 2000 are allowed"):
        memory.learn("x" * 2001)
    with pytest.raises(InvalidFieldError, match=r"^description: .* is 2001 characters long"):
        memory.save_perception("x" * 2001)
    with pytest.raises(InvalidFieldError, match=r"^human_summary: .* is 201 characters long; at most 200"):
        memory.learn("x", human_summary="y" * 201)
    memory.learn("杯" * 2000)
    assert [found.memory.content for found in memory.recall(kinds="fact")] == ["杯" * 2000]
