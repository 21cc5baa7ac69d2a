"""Lines of a note are those of the file as it was read, and nothing outside of the named folders can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ..conftest import OpenMemory

LINES = [f"line {number}" for number in range(1, 251)]


@pytest.fixture
def memory(open_memory: OpenMemory, tmp_path: Path) -> RobotMemory:
    """A memory with one note of 250 lines, beside a secret."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("the secret password")
    (folder / "page.md").write_text("\n".join(LINES) + "\n")
    (folder / "empty.txt").write_text("")
    (folder / "binary.md").write_bytes(b"\0")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    opened = open_memory(notes_folders=[str(folder)])
    opened.flush()
    return opened


def test_lines_are_given_from_the_first_one_on(memory: RobotMemory) -> None:
    found = memory.notes.lines("handbook/page.md", 10, 3)
    assert (found.first_line, found.last_line, found.lines) == (10, 12, 250)
    assert found.text == "\n".join(LINES[9:12])
    assert memory.notes.lines("handbook/page.md").text == "\n".join(LINES[:100])
    assert memory.notes.lines("handbook/page.md", 249, 100).text == "line 249\nline 250"


def test_an_empty_note_has_no_lines(memory: RobotMemory) -> None:
    found = memory.notes.lines("handbook/empty.txt")
    assert (found.text, found.first_line, found.last_line, found.lines) == ("", 1, 0, 0)


def test_each_recalled_note_says_what_its_lines_say(memory: RobotMemory) -> None:
    for one in memory.recall("line", 100, kinds="notes"):
        note = one.memory.context["note"]
        lines = note["last_line"] - note["first_line"] + 1
        assert memory.notes.lines(note["path"], note["first_line"], lines).text == one.memory.content


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md", "handbook/../secret.md", "handbook/../../../etc/passwd", "/etc/passwd", "secret.md",
        "handbook/./page.md", "handbook//page.md", "HANDBOOK/page.md", "handbook/PAGE.md", "handbook/page.md/",
        "handbook/page.md%00", "handbook\\page.md", "file:///etc/passwd", "handbook", "handbook/", "~/page.md",
        "handbook/page.md' OR 1=1 --",
    ],
)  # fmt: skip
def test_what_is_no_note_is_refused(memory: RobotMemory, path: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^path: .* is no note; give a path as recall returns it"):
        memory.notes.lines(path)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("handbook/page.md\0.txt",), "path: 'handbook/page.md\\x00.txt' contains a NUL character"),
        (("",), "path: '' is blank; give some text"),
        ((7,), "path: 7 must be text"),
        (("handbook/\udcff.md",), "path: 'handbook/\\udcff.md' contains a lone surrogate and is not valid Unicode"),
        (("handbook/link.md",), "path: 'handbook/link.md' is a link out of its folder"),
        (("handbook/binary.md",), "path: 'handbook/binary.md' is no text (it contains a zero byte)"),
        (("handbook/page.md", 0), "first_line: 0 is no line of 'handbook/page.md', which has 250"),
        (("handbook/page.md", 251), "first_line: 251 is no line of 'handbook/page.md', which has 250"),
        (("handbook/page.md", -1), "first_line: -1 is no line of 'handbook/page.md', which has 250"),
        (("handbook/page.md", 1, 0), "lines: 0 must lie in 1 to 10000 lines"),
        (("handbook/page.md", 1, 10**9), "lines: 1000000000 must lie in 1 to 10000 lines"),
        (("handbook/page.md", 1.5), "first_line: 1.5 must be a whole number"),
    ],
)
def test_other_arguments_that_cannot_be_used_are_named(memory: RobotMemory, arguments: Any, why: str) -> None:
    with pytest.raises(InvalidFieldError) as raised:
        memory.notes.lines(*arguments)
    assert str(raised.value) == why


def test_the_nearest_path_is_proposed(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"did you mean 'handbook/page\.md'"):
        memory.notes.lines("handbook/Page.md")


def test_without_notes_the_parameter_is_named(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"there are no notes \(parameter notes_folders\)"):
        open_memory().notes.lines("handbook/page.md")


def test_a_memory_alone_refuses_what_it_would_not_read() -> None:
    with pytest.raises(InvalidFieldError, match=r"notes_folders: .* needs open_memory\(...\) instead of RobotMemory"):
        RobotMemory(":memory:", embedding_model="", notes_folders=("/handbook",))
