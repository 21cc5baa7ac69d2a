"""The digest: what it tells, in which order, and how long it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from robotmem_ros.agents.digest import Line, Section, estimate, fitted
from robotmem_ros.agents.toolbox import Toolbox, opened
from robotmem_ros.memory import RobotMemory


def text(toolbox: Toolbox, **arguments: object) -> str:
    """Return a digest, which must be no error."""
    answer = toolbox.call("digest", arguments)
    assert not answer.is_error, answer.text
    return answer.text


def test_it_tells_what_is_known_of_the_task_here_and_now(toolbox: Toolbox) -> None:
    told = text(toolbox, task="hold the red mug or a glass", place=[3.0, 1.0])
    sections = re.findall(r"^(\S.*):$", told, re.MULTILINE)
    assert sections == [
        "Learned of “hold the red mug or a glass”", "Objects near (3, 1), within 5 m", "Episodes, the latest first",
        "Contradictions",
    ]  # fmt: skip
    assert re.match(r"Now \d{4}-\d\d-\d\dT[\d:]+[+-]\d\d:\d\d\. 5 facts, 3 perceptions are known\.", told)
    assert "- [1] a grip force of 12.5 N holds the red mug (" in told.partition("Objects of")[0]
    assert "clear the table" in told
    assert "outcome 0.2 (failed)" in told
    assert re.search(
        r"- \[\d+\] a red mug on the table at \(3.00, 1.00, 0.80\), 0.0 m away, seen .*, sure 0\.\d+", told
    )
    assert "chair" not in told
    assert re.search(r"- \[\d+\] hold the glass with 15 N \(newer\) contradicts \[\d+\]", told)


def test_it_tells_what_is_near_a_named_place(toolbox: Toolbox) -> None:
    toolbox.call("save_perception", {"description": "the charger", "perception_type": "place", "label": "Charger",
                                     "pose": [3.0, 1.5, 0.0]})  # fmt: skip
    told = text(toolbox, task="hold the red mug", place="charger", radius=1.0)
    near = told.partition("Objects near “charger”, within 1 m:\n")[2].partition("\n\n")[0]
    assert re.match(r"- \[\d+\] a red mug on the table at .*, 0.9 m away", near), told


def test_each_line_has_an_id_that_can_be_read(toolbox: Toolbox) -> None:
    lines = [line for line in text(toolbox).splitlines() if line.startswith("- ")]
    ids = [int(found[1]) for line in lines if (found := re.match(r"- \[(\d+)\] ", line))]
    assert len(ids) + sum(line.startswith("- [session ") for line in lines) == len(lines)
    answer = toolbox.call("get_memories", {"ids": ids})
    assert answer.value
    assert "not_found" not in answer.value


def test_what_failed_is_told_without_a_task_too(toolbox: Toolbox) -> None:
    told = text(toolbox)
    assert "the red mug slipped at 6 N because its handle was wet" in told


def test_when_a_task_is_to_be_done_hides_nothing_that_is_known_of_it(toolbox: Toolbox) -> None:
    for words in ("as yesterday", "like last week"):
        plain, timed = (text(toolbox, task=f"hold the red mug {more}".strip()) for more in ("", words))
        for line in re.findall(r"^- \[\d+\] .*red mug", plain, re.MULTILINE):
            assert line in timed


@pytest.mark.parametrize("tokens", [100, 150, 300, 800])
@pytest.mark.parametrize("task", ["", "grip the red mug", "拿起杯子"])
def test_it_is_no_longer_than_it_may_be(tokens: int, task: str, toolbox: Toolbox) -> None:
    for number in range(30):
        toolbox.call("learn", {"insight": f"第{number}个杯子要轻轻拿起，握力十二牛，不要太快"})
        toolbox.call("learn", {"insight": f"cup number {number} needs {number} N, " + "and patience " * number})
    told = text(toolbox, tokens=tokens, task=task, place=[3.0, 1.0])
    assert estimate(told) <= tokens
    assert tokens > 150 or re.search(rf"\(\d+ more lines did not fit in {tokens} tokens\)$", told)


def test_the_same_file_gives_the_same_text_and_is_not_used_by_it(db: Path) -> None:
    with RobotMemory(db, embedding_model="") as memory:
        before = memory.recall("mug", context_filter={"access_count": 0}, n=100, min_relevance=0.0).memories
        with opened(db, {"embedding_model": ""}, read_only=False) as toolbox:
            first, second = (text(toolbox, task="grip the mug", place=[3.0, 1.0]) for _ in range(2))
        memory.flush()
        after = memory.recall("mug", context_filter={"access_count": 0}, n=100, min_relevance=0.0).memories
    without_times = [re.sub(r"\d+ s ago|now|T[\d:]+", "", one, flags=re.IGNORECASE) for one in (first, second)]
    assert without_times[0] == without_times[1]
    assert len(after) <= len(before)


def test_the_most_useful_line_of_each_section_comes_before_the_second_of_any() -> None:
    sections = [
        Section("One", [Line(f"one {number} " + "word " * 10, number) for number in range(9)]),
        Section("Two", [Line(f"two {number} " + "word " * 10, number + 100) for number in range(9)]),
        Section("Three", [Line("one again", 0), Line("three", 999)]),
    ]
    told = fitted("Head.", sections, 100)
    assert [line[:7] for line in told.splitlines() if line] == [
        "Head.", "One:", "- one 0", "- one 1", "Two:", "- two 0", "- two 1", "Three:", "- three", "(14 mor",
    ]  # fmt: skip


def test_an_empty_memory_says_so(tmp_path: Path) -> None:
    with opened(tmp_path / "new.db", {"embedding_model": ""}, read_only=False) as toolbox:
        told = text(toolbox, task="anything", place=[0.0, 0.0])
    assert told.endswith(
        "0 facts, 0 perceptions are known. Search is by words alone; doctor says why.\nNothing more is known."
    )


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        ("", 0),
        ("mug", 1),
        ("a red mug", 3),
        ("manipulation", 3),
        ("12.5 N", 4),
        ("杯子", 4),
        ("mug杯子!", 6),
        ("\n", 1),
    ],
)
def test_tokens_are_estimated(written: str, tokens: int) -> None:
    assert estimate(written) == tokens
