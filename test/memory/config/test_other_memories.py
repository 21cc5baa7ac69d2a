"""The parameter that names the files of other robots, and the ids of their memories."""

from __future__ import annotations

import zlib
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.config.other_memories import OtherFile, other_files
from robotmem_ros.memory.errors import InvalidFieldError


def test_a_name_stands_before_the_first_colon() -> None:
    files = other_files("forklift: /data/a:b.db, kitchen robot : ~/kitchen.db")
    assert [(name, file.path) for name, file in files.items()] == [
        ("forklift", Path("/data/a:b.db")), ("kitchen robot", Path.home() / "kitchen.db"),
    ]  # fmt: skip
    assert other_files("") == {}


def test_two_names_whose_ids_would_be_the_same_are_refused() -> None:
    def number(name: str) -> int:
        return zlib.crc32(name.encode()) % 4095

    twin = next(f"robot{n}" for n in count() if number(f"robot{n}") == number("forklift"))
    with pytest.raises(InvalidFieldError, match=f"^other_memories: '{twin}' gives the same ids"):
        other_files(f"forklift: /a.db, {twin}: /b.db")


@given(name=st.text(min_size=1, max_size=9), other=st.text(min_size=1, max_size=9), memory_id=st.integers(1, 2**40 - 1))
def test_an_id_outside_of_a_file_is_found_back_inside(name: str, other: str, memory_id: int) -> None:
    file = OtherFile(name, Path("/x.db"))
    outside = file.outside(memory_id)
    assert 2**40 < outside < 2**53
    assert file.inside(outside) == memory_id
    assert file.inside(memory_id) is None
    elsewhere = OtherFile(other, Path("/y.db")).outside(memory_id)
    assert file.inside(elsewhere) in ({memory_id} if elsewhere == outside else {None})
    assert file.outside(0) == 0
