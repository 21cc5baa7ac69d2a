"""Notes follow their files: read, split, changed, moved and removed with them; nothing else is read."""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from robotmem_ros.memory import Kind, RobotMemory
from robotmem_ros.memory.storage import note_rows

from ...support.consistency import check_file
from ...support.embedders import WordVectors
from ...support.notes import PAGE, cited, ids
from ...support.waiting import until
from ..conftest import OpenMemory


def test_a_note_is_recalled_with_its_lines_and_heading(memory: RobotMemory, handbook: Path) -> None:
    first, *_ = memory.recall("glass doors")
    assert first.memory.kind is Kind.NOTE
    assert first.memory.context == {
        "note": {"path": "handbook/safety.md", "first_line": 7, "last_line": 9, "heading": "Safety > Doors"}
    }
    assert first.memory.content == "## Doors\n\nWait before glass doors."
    assert first.memory.content.split("\n") == (handbook / "safety.md").read_text().split("\n")[6:9]
    assert first.memory.collection == "notes"


def test_the_words_of_a_heading_find_what_stands_under_it(memory: RobotMemory) -> None:
    assert {heading for *_, heading in cited(memory, "safety")} == {"Safety > Battery", "Safety > Doors"}


def test_a_recall_that_names_no_collection_searches_the_notes_as_well(memory: RobotMemory) -> None:
    memory.learn("glass doors are slow in winter")
    memory.learn("glass doors stay in the lab", collection="notes")
    memory.flush()

    def found(**options: Any) -> set[tuple[str, Kind]]:
        return {(one.memory.collection, one.memory.kind) for one in memory.recall("glass doors", **options)}

    assert found() == {("default", Kind.FACT), ("notes", Kind.NOTE)}
    assert found(collection="default") == {("default", Kind.FACT)}
    assert found(collection="notes") == {("notes", Kind.FACT), ("notes", Kind.NOTE)}
    assert found(kinds=["facts", "perceptions"]) == {("default", Kind.FACT)}
    assert found(kinds="notes") == {("notes", Kind.NOTE)}


def test_without_words_notes_are_listed_only_if_they_are_asked_for(memory: RobotMemory) -> None:
    memory.learn("the lift is slow")
    assert [one.memory.kind for one in memory.recall(after=1)] == [Kind.FACT]
    assert [one.memory.kind for one in memory.recall(kinds=["note", "fact"])] == [Kind.FACT, Kind.NOTE, Kind.NOTE]


def test_the_parameter_decides_which_kinds_answer_a_recall_that_names_none(
    open_memory: OpenMemory, handbook: Path
) -> None:
    memory = open_memory(notes_folders=[str(handbook)], recall_kinds="facts, perception")
    memory.learn("glass doors are slow in winter")
    memory.flush()
    assert [one.memory.kind for one in memory.recall("glass doors")] == [Kind.FACT]
    assert [one.memory.kind for one in memory.recall("glass doors", kinds=["notes"])] == [Kind.NOTE] * 2


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
    assert [one.path for one in memory.notes.state().files] == ["handbook/safety.md"]


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


def paths(memory: RobotMemory, query: str) -> set[str]:
    """Return the paths of the notes that a recall finds."""
    return {hit.memory.context["note"]["path"] for hit in memory.recall(query, kinds=["note"])}


def test_a_file_that_changes_is_found_soon_and_a_removed_one_soon_not(memory: RobotMemory, handbook: Path) -> None:
    (handbook / "lift.md").write_text("The lift needs a badge.")
    until(lambda: "handbook/lift.md" in paths(memory, "lift badge"), "note")
    (handbook / "lift.md").unlink()
    until(lambda: "handbook/lift.md" not in paths(memory, "lift badge"), "removal")


def test_a_changed_file_is_read_without_a_recall(memory: RobotMemory, handbook: Path) -> None:
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
    memory.parts.database.write(partial(note_rows.set_folders, folders=[before])).result()
    (handbook / "safety.md").unlink()
    memory.flush()
    assert len(cited(memory)) == 2
    (folder,) = memory.notes.state().folders
    assert folder.error == "is empty and on another disk than before; what was read of it there stays"
    (handbook / "safety.md").write_text(PAGE)
    memory.flush()
    (handbook / "safety.md").unlink()
    memory.flush()
    assert cited(memory) == []


def test_thousands_of_files_are_read(open_memory: OpenMemory, handbook: Path) -> None:
    for number in range(2000):
        (handbook / f"page{number}.txt").write_text(f"Shelf {number} holds part x{number}.")
    memory = open_memory(notes_folders=[str(handbook)], embedder=None, embedding_model="")
    memory.flush()
    assert memory.status().note_files == 2001
    (first, *_) = memory.recall("x1234")
    assert first.memory.context["note"]["path"] == "handbook/page1234.txt"
