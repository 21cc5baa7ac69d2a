"""Notes belong to their files and their folders: nothing else changes, removes or counts them."""

from __future__ import annotations

import json
import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.storage import note_rows

from ...support.consistency import check_file
from ...support.notes import cited, errors
from ..conftest import OpenMemory


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
    assert [one.memory.collection for one in other.recall("lift")] == ["site"]


def test_other_sizes_split_all_files_anew(open_memory: OpenMemory, memory: RobotMemory, handbook: Path) -> None:
    page = handbook / "safety.md"
    page.write_text("\n\n".join(f"Rule {number} says that box {number} stays closed." for number in range(20)))
    memory.flush()
    assert len(cited(memory)) == 1
    memory.close()
    other = open_memory(notes_folders=[str(handbook)], notes_chunk_tokens=40)
    other.flush()
    assert len(cited(other)) > 4


def test_markdown_without_its_library_is_told_and_text_is_read(
    open_memory: OpenMemory, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robotmem_ros.memory.notes import splitting

    monkeypatch.setitem(__import__("sys").modules, "markdown_it", None)
    splitting._block_parser.cache_clear()
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
        assert connection.execute("SELECT sum(access_count), sum(recalled_at) FROM memories").fetchone() == (0, 0)


def test_retention_and_decay_leave_notes_alone(open_memory: OpenMemory, handbook: Path) -> None:
    memory = open_memory(notes_folders=[str(handbook)], max_memories=1, decay_rate=0.5, retention_age=1.0)
    for number in range(3):
        memory.learn(f"fact number {number} of all")
    memory.flush()
    memory.retain()
    assert (memory.status().facts, memory.status().notes) == (1, 2)
    assert {one.memory.confidence for one in memory.recall(kinds="notes")} == {0.9}


def test_a_purge_by_time_or_session_leaves_notes_and_one_of_their_collection_takes_them(
    open_memory: OpenMemory, memory: RobotMemory
) -> None:
    memory.learn("the lift is slow", session_id="monday")
    memory.purge(before=2**62)
    assert (memory.status().facts, memory.status().notes) == (0, 2)
    memory.close()
    without = open_memory()
    without.purge(collection="notes")
    assert (without.status().notes, without.notes.state().files, without.notes.state().folders) == (0, (), ())
    assert b"glass doors" not in without.path.read_bytes()


def test_a_purge_that_was_interrupted_leaves_no_notes_twice(
    open_memory: OpenMemory, memory: RobotMemory, handbook: Path
) -> None:
    memory.parts.database.write(partial(note_rows.forget_files, collection="notes")).result()
    memory.close()
    again = open_memory(notes_folders=[str(handbook)])
    again.flush()
    assert len(cited(again)) == 2
    again.close()
    check_file(again.path)


def test_an_export_leaves_notes_out_and_an_import_refuses_them(
    memory: RobotMemory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.learn("the lift is slow")
    memory.close()
    out = tmp_path / "memories.jsonl"
    assert main(["export", str(out), "--db", str(memory.path)]) == 0
    rows = [row for row in map(json.loads, out.read_text().splitlines()) if "unit" in row]
    assert [row["type"] for row in rows] == ["fact"]
    out.write_text(json.dumps({**rows[0], "type": "note"}))
    assert main(["import", str(out), "--db", str(tmp_path / "other.db")]) == 1
    assert "was not written by `robotmem export`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"notes_folders": ["/"]}, "notes_folders: '/' is the whole disk; name a folder of notes"),
        ({"notes_folders": ["site="]}, "notes_folders: 'site=' must be a folder, or `collection=folder`"),
        ({"notes_folders": ["/a/docs", "/b/docs"]}, "has the name of '/a/docs', so their files could not be told"),
        ({"notes_folders": ["/a/docs", "/a/docs/inner"]}, "'/a/docs/inner' lies in '/a/docs', which is named as well"),
        ({"notes_folders": ["/a/do\ncs"]}, "must be printable text"),
        ({"notes_folders": "/a/docs"}, "notes_folders: '/a/docs' must be a list of texts"),
        ({"notes_chunk_tokens": 5}, "notes_chunk_tokens: 5 must lie in 20 to 10000 tokens"),
        ({"recall_kinds": "facts, dreams"}, "recall_kinds: 'dreams' is unknown; use one of fact, perception, note"),
        ({"recall_kinds": " , "}, "recall_kinds: ' , ' names no kind; such as `facts, perceptions, notes`"),
        ({"retention_budgets": "*/note: 5 rows"}, "limits notes, which are as many as their files make them"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(open_memory: OpenMemory, parameters: Any, why: str) -> None:
    with pytest.raises(InvalidFieldError, match=re.escape(why)):
        open_memory(**parameters)
