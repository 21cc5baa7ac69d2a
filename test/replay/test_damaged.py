"""Recordings that are cut, incomplete or none: what can be read is stored, and it is an error that says why."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ..support.bags import SECOND, START, Messages, contents, drive, split_bag, stored, write_bag, write_ros1
from .conftest import Import


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize("as_file", [True, False], ids=["the file", "the folder"])
def test_a_truncated_recording_is_stored_as_far_as_it_is_whole_and_reported_as_damaged(
    tmp_path: Path,
    messages: Messages,
    imported: Import,
    db: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    storage: str,
    as_file: bool,
) -> None:
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n} " * 50)) for n in range(4000)]
    how = {} if storage == "sqlite3" else {"mode": "NONE"}
    bag = write_bag(tmp_path / "bag", messages, content, storage=storage, **how)
    (file,) = [one for one in bag.iterdir() if one.suffix in {".mcap", ".db3"}]
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size * 2 // 3)
    assert imported(file if as_file else bag) == 1
    said = capsys.readouterr().err
    assert "is damaged" in said
    assert "what could be read was used" in said
    found = contents(stored(db))
    assert 0 < len(found) < 4000
    assert found[0] == ("caption 0 " * 50).strip()


@pytest.mark.parametrize("mode", ["NONE", "STORAGE"])
def test_of_a_recording_that_was_cut_in_its_only_chunk_the_whole_messages_are_stored(
    tmp_path: Path,
    messages: Messages,
    imported: Import,
    db: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    mode: str,
) -> None:
    dice = random.Random(3)
    texts = [f"caption {n} {dice.randbytes(900).hex()}" for n in range(300)]
    content = [("/caption", START + n * SECOND, messages.string(text)) for n, text in enumerate(texts)]
    bag = write_bag(tmp_path / "bag", messages, content, mode=mode)
    (file,) = bag.glob("*.mcap")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * 2 // 3])
    assert imported(file) == 1
    assert "is damaged" in capsys.readouterr().err
    found = contents(stored(db))
    assert 0 < len(found) < 300
    assert found == texts[: len(found)]
    # Not even the first message is whole, nor the start of the file.
    for size in (600, 8):
        file.write_bytes(whole[:size])
        assert imported(file) == 1
        assert "no message in it is whole" in capsys.readouterr().err


def test_a_recording_that_was_not_closed_is_read_without_its_metadata(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages), storage="sqlite3")
    (bag / "metadata.yaml").unlink()
    assert imported(bag) == 1
    assert "has no metadata.yaml; it was not closed" in capsys.readouterr().err
    assert len(stored(db)) == 39


def test_a_recording_that_cannot_be_read_is_an_error_that_says_why(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = write_bag(tmp_path / "empty", messages, [])
    (tmp_path / "text.txt").write_text("no bag")
    (tmp_path / "zero.mcap").write_bytes(b"")
    (tmp_path / "noise.mcap").write_bytes(b"\x00" * 1000)
    (tmp_path / "noise.db3").write_bytes(b"\x00" * 10_000)
    unknown = write_bag(tmp_path / "unknown", messages, drive(messages))
    metadata = unknown / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("storage_identifier: mcap", "storage_identifier: tape"))
    (file,) = unknown.glob("*.mcap")
    file.rename(file.with_suffix(".tape"))
    metadata.write_text(metadata.read_text().replace(file.name, f"{file.stem}.tape"))
    for bag, why in [
        (tmp_path / "none", "does not exist"),
        (empty, "holds no messages"),
        (tmp_path / "text.txt", "cannot be read"),
        (tmp_path / "zero.mcap", "cannot be read"),
        (tmp_path / "noise.mcap", "cannot be read"),
        (tmp_path / "noise.db3", "cannot be read"),
        (unknown, "Storage plugin 'tape' not supported"),
    ]:
        assert imported(bag) == 1, bag
        said = capsys.readouterr().err
        assert said.startswith(f"robotmem: recording {str(bag)!r} "), said
        assert why in said
    assert not db.exists()


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_of_a_split_recording_whose_last_file_is_cut_the_rest_is_stored(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, storage: str
) -> None:
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n} " * 100)) for n in range(4000)]
    bag = split_bag(tmp_path / "bag", messages, content, parts=2, storage=storage)
    last = max(file for file in bag.iterdir() if file.suffix != ".yaml")
    with last.open("r+b") as opened:
        opened.truncate(last.stat().st_size * 2 // 3)
    assert imported(bag) == 1
    assert 2000 < len(stored(db)) < 4000


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_of_a_split_recording_without_one_of_its_files_the_rest_is_stored(
    tmp_path: Path,
    messages: Messages,
    imported: Import,
    db: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    storage: str,
) -> None:
    bag = split_bag(tmp_path / "bag", messages, drive(messages), parts=2, storage=storage)
    min(file for file in bag.iterdir() if file.suffix != ".yaml").unlink()
    assert imported(bag) == 1
    assert "is damaged" in capsys.readouterr().err
    assert 0 < len(stored(db)) < 39


def test_a_ros1_recording_that_was_cut_tells_how_to_repair_it(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_ros1(tmp_path / "drive.bag", messages, drive(messages))
    with bag.open("r+b") as opened:
        opened.truncate(bag.stat().st_size * 2 // 3)
    assert imported(bag) == 1
    assert "rosbag reindex" in capsys.readouterr().err
    assert not db.exists()
