"""Which files are notes, and what is told of those that are not read."""

from __future__ import annotations

import os
import socket
import tempfile
import unicodedata
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.config.notes_folders import NotesFolder
from robotmem_ros.memory.notes import files, splitting
from robotmem_ros.memory.robot_memory import open_memory

from ...support.notes import PAGE, cited, errors


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
        "handbook/pipe.md": "is a named pipe and no file",
    }
    assert (memory.status().notes, memory.status().note_files, memory.status().note_errors) == (2, 5, 4)
    assert "notes: 4 of 5 files are not read (`robotmem notes` tells why)" in memory.status().reason
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
    assert errors(memory) == {
        "handbook/link.md": "is a link out of its folder",
        "handbook/folder": "is a link out of its folder",
        "handbook/loop": "is a link to a folder, which is not followed",
    }
    assert {path for path, *_ in cited(memory)} == {"handbook/safety.md"}


def test_what_is_no_file_is_told_and_the_others_are_read(
    memory: RobotMemory, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (handbook / "self.md").symlink_to("self.md")
    (handbook / "ping.md").symlink_to("pong.md")
    (handbook / "pong.md").symlink_to("ping.md")
    (handbook / "nothing.md").symlink_to("nowhere.md")
    (handbook / "long.md").symlink_to("x" * 300)
    (handbook / "round").symlink_to("round")
    (handbook / "up.md").symlink_to("..")
    (handbook / "zero.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(handbook)  # the path of a socket is short
        server.bind("socket.md")
        (handbook / "later.md").write_text("A page that comes after all of them.")
        memory.flush()
    assert errors(memory) == {
        "handbook/self.md": "is a link that leads to itself",
        "handbook/ping.md": "is a link that leads to itself",
        "handbook/pong.md": "is a link that leads to itself",
        "handbook/nothing.md": "is a link that leads nowhere",
        "handbook/long.md": "is a link that cannot be followed (File name too long)",
        "handbook/up.md": "is a link out of its folder",
        "handbook/zero.md": "is a link out of its folder",
        "handbook/socket.md": "is a socket and no file",
    }
    assert {path for path, *_ in cited(memory)} == {"handbook/safety.md", "handbook/later.md"}


def test_a_folder_that_is_a_link_to_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with open_memory(tmp_path / "memory.db", notes_folders=[str(tmp_path / "loop")], embedding_model="") as memory:
        memory.flush()
        assert "Too many levels of symbolic links" in memory.notes.state().folders[0].error


def test_a_file_of_any_time_is_read(memory: RobotMemory, handbook: Path) -> None:
    for number, seconds in enumerate((-(10**9), 2**33, 2**34)):
        page = handbook / f"page{number}.md"
        page.write_text(f"Page {number}.")
        os.utime(page, (seconds, seconds))
    memory.flush()
    assert errors(memory) == {}
    assert len({path for path, *_ in cited(memory)}) == 4


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a disk with times beyond those of ext4")
def test_a_time_that_no_database_can_hold_is_cut(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        page = Path(folder) / "page.md"
        page.write_text("The lift needs a badge.")
        os.utime(page, (2**40, 2**40))
        with open_memory(tmp_path / "memory.db", notes_folders=[folder], embedding_model="") as memory:
            memory.flush()
            assert len(cited(memory)) == 1


def test_a_file_that_the_parser_fails_on_is_told(
    memory: RobotMemory, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    (handbook / "deep.md").write_text("A page.")
    (handbook / "zebra.txt").write_text("Another one.")
    with monkeypatch.context() as patch:
        patch.setattr(splitting, "markdown_blocks", fail)
        memory.flush()
    assert errors(memory) == {"handbook/deep.md": "cannot be split into parts (RecursionError)"}
    assert "handbook/zebra.txt" in {path for path, *_ in cited(memory)}


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
    assert memory.notes.lines(f"handbook/{decomposed}").text == memory.notes.lines(f"handbook/{composed}").text
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
