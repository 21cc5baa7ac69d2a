"""Of a recording with wrong bytes in it, all is stored but what they hit, and it is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ..support.bags import SECOND, START, Messages, contents, stored, write_bag
from .conftest import Import


def test_a_message_that_is_none_any_more_is_counted_and_named(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"caption {n} of the drive" for n in range(20)]
    content = [("/caption", START + n * SECOND, messages.string(text)) for n, text in enumerate(texts)]
    bag = write_bag(tmp_path / "bag", messages, content, storage="sqlite3")
    (file,) = bag.glob("*.db3")
    written = bytearray(file.read_bytes())
    at = written.index(texts[7].encode())
    written[at - 1] ^= 0x40  # its length
    file.write_bytes(written)
    assert imported(bag) == 1
    said = capsys.readouterr()
    assert f"recording {str(bag)!r} is damaged: a message of /caption, 7.000 s after the start, is no " in said.err
    assert "if there is another copy" in said.err
    assert "for example /caption: 31 bytes are no std_msgs/msg/String" in said.out
    assert "1 undecodable" in said.out
    assert "NoneType" not in said.out + said.err
    assert contents(stored(db)) == [*texts[:7], *texts[8:]]


@pytest.mark.parametrize("wrong", ["x", None])
def test_bytes_that_became_a_text_or_nothing_are_damage_of_one_message(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str],
    *, wrong: str | None,
) -> None:  # fmt: skip
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n}")) for n in range(3)]
    bag = write_bag(tmp_path / "bag", messages, content, storage="sqlite3")
    (file,) = bag.glob("*.db3")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'BLOB NOT NULL', 'BLOB')")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE messages SET data = ? WHERE id = 2", (wrong,))
    assert imported(bag) == 1
    assert "is damaged: a message of /caption, 1.000 s after the start" in capsys.readouterr().err
    assert contents(stored(db)) == ["caption 0", "caption 2"]


def test_behind_a_damaged_chunk_the_rest_is_stored(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n} " * 100)) for n in range(4000)]
    bag = write_bag(tmp_path / "bag", messages, content, mode="STORAGE")
    (file,) = bag.glob("*.mcap")
    written = bytearray(file.read_bytes())
    middle = len(written) // 2
    written[middle : middle + 20] = bytes(20)
    file.write_bytes(written)
    assert imported(bag) == 1
    assert "is damaged" in capsys.readouterr().err
    numbers = [int(text.split()[1]) for text in contents(stored(db))]
    assert (numbers[0], numbers[-1]) == (0, 3999)
    assert 1000 < len(numbers) < 4000


def test_of_large_messages_with_a_hole_in_them_the_others_are_stored(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"caption {n}" for n in range(20)]
    content = [("/caption", START + n * SECOND, messages.string(text + " " * 50_000)) for n, text in enumerate(texts)]
    bag = write_bag(tmp_path / "bag", messages, content, storage="sqlite3")
    (file,) = bag.glob("*.db3")
    written = bytearray(file.read_bytes())
    at = written.index(texts[7].encode()) + 20_000
    written[at : at + 10_000] = bytes(10_000)
    file.write_bytes(written)
    assert imported(bag) == 1
    assert "is damaged" in capsys.readouterr().err
    found = contents(stored(db))
    assert 17 <= len(found) < 20
    assert {*found} < {*texts}
