"""Notes follow their files: read, split, changed, moved and removed with them; nothing else is read."""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import Kind, Memory, RobotMemory
from robotmem_ros.memory.config.notes_folders import NotesFolder
from robotmem_ros.memory.notes import files
from robotmem_ros.memory.storage import note_rows

from ...support.consistency import check_file
from ...support.embedders import WordVectors
from ...support.waiting import until
from ..conftest import OpenMemory

PAGE = """# Safety

## Battery

Charge below twenty percent.

## Doors

Wait before glass doors.
"""


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder with one page."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "safety.md").write_text(PAGE)
    return folder


@pytest.fixture
def embedder() -> WordVectors:
    return WordVectors()


@pytest.fixture
def memory(open_memory: OpenMemory, handbook: Path, embedder: WordVectors) -> RobotMemory:
    """A memory that has read the folder."""
    opened = open_memory(embedder=embedder, notes_folders=[str(handbook)])
    opened.flush()
    return opened


def cited(memory: RobotMemory, query: str = "") -> list[tuple[str, int, int, str]]:
    """Path, first line, last line and heading of the notes that answer a query; of all without one."""
    found = memory.recall(query, 100, kinds="notes", collection="*", min_relevance=0.0)
    return sorted((note["path"], note["first_line"], note["last_line"], note["heading"]) for note in map(_note, found))


def _note(memory: Memory) -> dict[str, Any]:
    found: dict[str, Any] = memory.context["note"]
    return found


def ids(memory: RobotMemory) -> dict[str, int]:
    """The id of each note by its text."""
    return {one.content: one.id for one in memory.recall(n=100, kinds="notes", collection="*", fold=False)}


def errors(memory: RobotMemory) -> dict[str, str]:
    """Why files could not be read, by path."""
    return {one.path: one.error for one in memory.notes().files if one.error}


def test_a_note_is_recalled_with_its_lines_and_heading(memory: RobotMemory, handbook: Path) -> None:
    first, *_ = memory.recall("glass doors")
    assert first.kind is Kind.NOTE
    assert first.context == {
        "note": {"path": "handbook/safety.md", "first_line": 7, "last_line": 9, "heading": "Safety > Doors"}
    }
    assert first.content == "## Doors\n\nWait before glass doors."
    assert first.content.split("\n") == (handbook / "safety.md").read_text().split("\n")[6:9]
    assert first.collection == "notes"


def test_the_words_of_a_heading_find_what_stands_under_it(memory: RobotMemory) -> None:
    assert {heading for *_, heading in cited(memory, "safety")} == {"Safety > Battery", "Safety > Doors"}


def test_a_recall_that_names_no_collection_searches_the_notes_as_well(memory: RobotMemory) -> None:
    memory.learn("glass doors are slow in winter")
    memory.learn("glass doors stay in the lab", collection="notes")
    memory.flush()

    def found(**options: Any) -> set[tuple[str, Kind]]:
        return {(one.collection, one.kind) for one in memory.recall("glass doors", **options)}

    assert found() == {("default", Kind.FACT), ("notes", Kind.NOTE)}
    assert found(collection="default") == {("default", Kind.FACT)}
    assert found(collection="notes") == {("notes", Kind.FACT), ("notes", Kind.NOTE)}
    assert found(kinds=["facts", "perceptions"]) == {("default", Kind.FACT)}
    assert found(kinds="notes") == {("notes", Kind.NOTE)}


def test_without_words_notes_are_listed_only_if_they_are_asked_for(memory: RobotMemory) -> None:
    memory.learn("the lift is slow")
    assert [one.kind for one in memory.recall(after=1)] == [Kind.FACT]
    assert [one.kind for one in memory.recall(kinds=["note", "fact"])] == [Kind.FACT, Kind.NOTE, Kind.NOTE]


def test_the_parameter_decides_which_kinds_answer_a_recall_that_names_none(
    open_memory: OpenMemory, handbook: Path
) -> None:
    memory = open_memory(notes_folders=[str(handbook)], recall_kinds="facts, perception")
    memory.learn("glass doors are slow in winter")
    memory.flush()
    assert [one.kind for one in memory.recall("glass doors")] == [Kind.FACT]
    assert [one.kind for one in memory.recall("glass doors", kinds=["notes"])] == [Kind.NOTE] * 2


def test_what_changed_alone_is_embedded_again_and_the_rest_keeps_its_ids(
    memory: RobotMemory, handbook: Path, embedder: WordVectors
) -> None:
    before, embedded = ids(memory), len(embedder.embedded)
    page = handbook / "safety.md"
    page.write_text(
        page.read_text().replace("# Safety\n", "# Safety\n\nRead this first.\n").replace("twenty", "thirty")
    )
    memory.flush()
    after = ids(memory)
    doors = "## Doors\n\nWait before glass doors."
    assert after[doors] == before[doors]
    assert len(embedder.embedded) - embedded == 2
    assert cited(memory, "glass doors")[-1] == ("handbook/safety.md", 9, 11, "Safety > Doors")
    memory.close()
    check_file(memory.path)


def test_a_renamed_file_keeps_ids_and_vectors(memory: RobotMemory, handbook: Path, embedder: WordVectors) -> None:
    before, embedded = ids(memory), len(embedder.embedded)
    (handbook / "rules").mkdir()
    (handbook / "safety.md").rename(handbook / "rules" / "safe.md")
    memory.flush()
    assert ids(memory) == before
    assert len(embedder.embedded) == embedded
    assert {path for path, *_ in cited(memory)} == {"handbook/rules/safe.md"}


def test_a_touched_file_is_not_read_into_the_file_again(memory: RobotMemory, handbook: Path) -> None:
    changes = _changes(memory.path)
    os.utime(handbook / "safety.md", ns=(10**18, 10**18))
    memory.flush()
    memory.flush()
    assert _changes(memory.path) == changes


def _changes(path: Path) -> list[object]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT id, updated_at, observed_at FROM memories").fetchall()


def test_a_removed_file_takes_its_notes_along(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "more.txt").write_text("The lift needs a badge.")
    memory.flush()
    assert memory.recall("lift badge")
    (handbook / "more.txt").unlink()
    memory.flush()
    assert not memory.recall("lift badge", kinds="notes", min_relevance=0.9)
    assert [one.path for one in memory.notes().files] == ["handbook/safety.md"]


def test_a_file_that_editors_replace_in_two_steps_keeps_its_notes(
    memory: RobotMemory, handbook: Path, embedder: WordVectors
) -> None:
    before, embedded = ids(memory), len(embedder.embedded)
    for _ in range(3):
        page = handbook / "safety.md"
        page.rename(handbook / "safety.md~")
        memory.recall("glass doors")
        page.write_text(PAGE)
        (handbook / "safety.md~").unlink()
        memory.recall("glass doors")
    memory.flush()
    assert (ids(memory), {*embedder.embedded[embedded:]} - {"glass doors"}) == (before, set())


def test_a_file_that_changes_is_found_by_the_next_recall_and_a_removed_one_soon_not(
    memory: RobotMemory, handbook: Path
) -> None:
    (handbook / "lift.md").write_text("The lift needs a badge.")
    until(lambda: bool(memory.recall("lift badge", min_relevance=0.9)), "note")
    (handbook / "lift.md").unlink()
    until(lambda: not memory.recall("lift badge", min_relevance=0.9), "removal")


def test_the_watcher_brings_changes_in_without_a_recall(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "lift.md").write_text("The lift needs a badge.")
    until(lambda: memory.status().notes == 3, "note")


def test_a_missing_folder_keeps_what_was_read_of_it(memory: RobotMemory, handbook: Path) -> None:
    away = handbook.rename(handbook.with_name("away"))
    memory.flush()
    assert len(cited(memory)) == 2
    assert f"notes: folder {str(handbook)!r} is missing; what was read of it before stays" in memory.status().reason
    away.rename(handbook)
    memory.flush()
    assert (len(cited(memory)), memory.status().note_errors) == (2, 0)


def test_an_empty_folder_on_another_disk_is_one_that_is_not_mounted(memory: RobotMemory, handbook: Path) -> None:
    before = note_rows.FolderRow("handbook", str(handbook), "notes", handbook.stat().st_dev + 1, "")
    memory._database.write(partial(note_rows.set_folders, folders=[before])).result()
    (handbook / "safety.md").unlink()
    memory.flush()
    assert len(cited(memory)) == 2
    (folder,) = memory.notes().folders
    assert folder.error == "is empty and on another disk than before; what was read of it there stays"
    (handbook / "safety.md").write_text(PAGE)
    memory.flush()
    (handbook / "safety.md").unlink()
    memory.flush()
    assert cited(memory) == []


def test_what_is_no_text_is_told_and_not_read(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "binary.md").write_bytes(b"mug\0mug")
    (handbook / "latin.txt").write_bytes("Käse".encode("latin-1"))
    (handbook / "huge.txt").write_text("a word " * 200_000)
    (handbook / "photo.jpg").write_bytes(b"\xff\xd8")
    (handbook / ".hidden.md").write_text("hidden")
    (handbook / ".git").mkdir()
    (handbook / ".git" / "config.txt").write_text("hidden")
    os.mkfifo(handbook / "pipe.md")
    memory.flush()
    assert errors(memory) == {
        "handbook/binary.md": "is no text (it contains a zero byte)",
        "handbook/huge.txt": "is larger than 1,000,000 bytes",
        "handbook/latin.txt": "is no text in UTF-8 (at byte 2)",
    }
    assert (memory.status().notes, memory.status().note_files, memory.status().note_errors) == (2, 4, 3)
    assert "notes: 3 of 4 files are not read (`robotmem notes` tells why)" in memory.status().reason
    (handbook / "latin.txt").write_text("Käse")
    memory.flush()
    assert "handbook/latin.txt" not in errors(memory)


def test_a_byte_order_mark_and_other_line_ends_do_not_matter(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "windows.md").write_bytes(b"\xef\xbb\xbf# Lift\r\n\r\nNeeds a badge.\r\n")
    memory.flush()
    assert ("handbook/windows.md", 1, 3, "Lift") in cited(memory)


def test_links_out_of_the_folder_are_refused(memory: RobotMemory, handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the secret password")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "more.md").write_text("the secret password")
    (handbook / "link.md").symlink_to(tmp_path / "secret.md")
    (handbook / "within.md").symlink_to(handbook / "safety.md")
    (handbook / "folder").symlink_to(tmp_path / "secrets")
    (handbook / "loop").symlink_to(handbook)
    memory.flush()
    assert errors(memory) == {"handbook/link.md": "is a link out of its folder"}
    assert {path for path, *_ in cited(memory)} == {"handbook/safety.md"}


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_followed(handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the secret password")
    (handbook / "inner").mkdir()
    (handbook / "inner" / "page.md").write_text("a page")
    folder = NotesFolder("handbook", handbook, "notes")
    listed = files.list_folder(folder).files
    (handbook / "safety.md").unlink()
    (handbook / "safety.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(OSError, match="symbolic links"):
        files.read(listed["handbook/safety.md"])
    (handbook / "inner").rename(tmp_path / "inner")
    (handbook / "inner").symlink_to(tmp_path / "inner")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        files.read(listed["handbook/inner/page.md"])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_what_may_not_be_read_keeps_what_was_read_before(memory: RobotMemory, handbook: Path) -> None:
    page = handbook / "safety.md"
    page.write_text(PAGE + "\nMore.")
    page.chmod(0)
    memory.flush()
    assert errors(memory) == {"handbook/safety.md": "cannot be read (Permission denied)"}
    assert len(cited(memory)) == 2
    page.chmod(0o600)
    memory.flush()
    assert errors(memory) == {}


def test_names_are_compared_in_one_form_of_unicode(memory: RobotMemory, handbook: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "käse.md") for form in ("NFC", "NFD"))
    (handbook / decomposed).write_text("The cheese is cold.")
    memory.flush()
    assert (f"handbook/{composed}", 1, 1, "") in cited(memory)
    assert memory.note(f"handbook/{decomposed}").text == memory.note(f"handbook/{composed}").text
    (handbook / composed).write_text("The cheese is warm.")
    memory.flush()
    assert errors(memory) == {f"handbook/{composed}": "has the name of another file, in another form of Unicode"}


def test_names_that_differ_in_case_are_two_files(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "SAFETY.MD").write_text("The other page.")
    memory.flush()
    assert {path for path, *_ in cited(memory)} == {"handbook/SAFETY.MD", "handbook/safety.md"}


def test_a_name_that_is_no_text_is_told(memory: RobotMemory, handbook: Path) -> None:
    Path(os.fsdecode(os.fsencode(handbook) + b"/bad\xff.md")).write_text("a page")
    (handbook / "line\nbreak.md").write_text("a page")
    memory.flush()
    assert errors(memory) == dict.fromkeys(
        ("handbook/bad\\udcff.md", "handbook/line\\nbreak.md"), "has a name that is no printable text in UTF-8"
    )


def test_thousands_of_files_are_read(open_memory: OpenMemory, handbook: Path) -> None:
    for number in range(2000):
        (handbook / f"page{number}.txt").write_text(f"Shelf {number} holds part x{number}.")
    memory = open_memory(notes_folders=[str(handbook)], embedder=None, embedding_model="")
    memory.flush()
    assert memory.status().note_files == 2001
    (first, *_) = memory.recall("x1234")
    assert first.context["note"]["path"] == "handbook/page1234.txt"


def test_a_folder_that_is_not_named_any_more_is_forgotten_by_whoever_names_others(
    open_memory: OpenMemory, memory: RobotMemory, handbook: Path, tmp_path: Path
) -> None:
    memory.close()
    without = open_memory()
    without.flush()
    assert len(cited(without)) == 2
    without.close()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "lift.md").write_text("The lift needs a badge.")
    other = open_memory(notes_folders=[f"site={tmp_path / 'rules'}"])
    other.flush()
    assert cited(other) == [("rules/lift.md", 1, 1, "")]
    assert [one.collection for one in other.recall("lift")] == ["site"]


def test_other_sizes_split_all_files_anew(open_memory: OpenMemory, memory: RobotMemory, handbook: Path) -> None:
    page = handbook / "safety.md"
    page.write_text("\n\n".join(f"Rule {number} says that box {number} stays closed." for number in range(20)))
    memory.flush()
    assert len(cited(memory)) == 1
    memory.close()
    other = open_memory(notes_folders=[str(handbook)], notes_chunk_tokens=40, notes_chunk_overlap=10)
    other.flush()
    assert len(cited(other)) > 4


def test_markdown_without_its_library_is_told_and_text_is_read(
    open_memory: OpenMemory, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robotmem_ros.memory.notes import blocks

    monkeypatch.setitem(__import__("sys").modules, "markdown_it", None)
    blocks._block_parser.cache_clear()
    (handbook / "lift.txt").write_text("The lift needs a badge.")
    memory = open_memory(notes_folders=[str(handbook)])
    memory.flush()
    why = "is Markdown, and markdown-it-py is not installed (pip install 'robotmem_ros[notes]')"
    assert errors(memory) == {"handbook/safety.md": why}
    assert cited(memory) == [("handbook/lift.txt", 1, 1, "")]


def test_notes_are_neither_changed_nor_counted_as_used(memory: RobotMemory) -> None:
    (note, *_) = memory.recall("glass doors")
    why = f"{note.id} is a note and says what 'handbook/safety.md' says; edit that file, or move it out of its folder"
    for change in (
        lambda: memory.forget(note.id, "wrong"),
        lambda: memory.update(note.id, "other words"),
        lambda: memory.purge(ids=[note.id]),
    ):
        with pytest.raises(Exception, match=f"^memory_id: {why}$"):
            change()
    memory.flush()
    with sqlite3.connect(memory.path) as connection:
        assert connection.execute("SELECT sum(access_count), sum(refreshed_at) FROM memories").fetchone() == (0, 0)


def test_retention_and_decay_leave_notes_alone(open_memory: OpenMemory, handbook: Path) -> None:
    memory = open_memory(notes_folders=[str(handbook)], max_memories=1, decay_rate=0.5, retention_age=1.0)
    for number in range(3):
        memory.learn(f"fact number {number} of all")
    memory.flush()
    memory.retain()
    assert (memory.status().facts, memory.status().notes) == (1, 2)
    assert {one.confidence for one in memory.recall(kinds="notes")} == {0.9}


def test_a_purge_by_time_or_session_leaves_notes_and_one_of_their_collection_takes_them(
    open_memory: OpenMemory, memory: RobotMemory
) -> None:
    memory.learn("the lift is slow", session_id="monday")
    memory.purge(before=2**62)
    assert (memory.status().facts, memory.status().notes) == (0, 2)
    memory.close()
    without = open_memory()
    without.purge(collection="notes")
    assert (without.status().notes, without.notes().files, without.notes().folders) == (0, (), ())
    assert b"glass doors" not in without.path.read_bytes()


def test_a_purge_that_was_interrupted_leaves_no_notes_twice(
    open_memory: OpenMemory, memory: RobotMemory, handbook: Path
) -> None:
    memory._database.write(partial(note_rows.forget_files, collection="notes")).result()
    memory.close()
    again = open_memory(notes_folders=[str(handbook)])
    again.flush()
    assert len(cited(again)) == 2
    again.close()
    check_file(again.path)
