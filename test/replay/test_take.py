"""`robotmem replay BAG` without a configuration: what it lists, and what `--take` takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from robotmem_ros.cli.main import main

from ..support.bags import SECOND, START, Messages, contents, drive, stored, write_bag
from .conftest import Import

LISTED = ["/caption", "std_msgs/msg/String", "20", "preset"]


def _rows(printed: str) -> list[list[str]]:
    return [line.split() for line in printed.splitlines()]


def test_without_a_configuration_topics_are_listed_and_nothing_is_imported(
    tmp_path: Path, messages: Messages, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [*drive(messages), ("/number", START, messages.grid("map", 0, [[0]]).info)]
    bag = write_bag(tmp_path / "bag", messages, content)
    assert main(["replay", str(bag), "--db", str(db)]) == 0
    said = capsys.readouterr()
    assert LISTED in _rows(said.out)
    assert ["/tf", "tf2_msgs/msg/TFMessage", "20", "transforms"] in _rows(said.out)
    (row,) = [row for row in _rows(said.out) if row[:1] == ["/number"]]
    assert row[:6] == ["/number", "nav_msgs/msg/MapMetaData", "1", "no", "preset:", "configure"]
    assert "nothing was imported; --take takes what has a preset" in said.err
    assert not db.exists()


def test_the_configuration_that_take_prints_is_the_one_that_it_used(
    tmp_path: Path, messages: Messages, db: Path, imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert main(["replay", str(bag), "--take", "--no-model", "--db", str(db)]) == 0
    assert len(stored(db)) == 39
    printed = capsys.readouterr().out
    config = printed[printed.index("/**:") : printed.index("\n\ntopic ")]
    assert yaml.safe_load(config)["/**"]["ros__parameters"]["perception_topics"] == ["caption", "pose"]
    assert imported(bag, config=config) == 0
    assert "20 already_stored" in capsys.readouterr().out
    assert len(stored(db)) == 39


@pytest.mark.parametrize(("reply", "number"), [("yes", 39), ("no", 0)])
def test_at_a_terminal_it_asks(
    tmp_path: Path, messages: Messages, db: Path, monkeypatch: pytest.MonkeyPatch, *, reply: str, number: int
) -> None:
    keyboard, terminal = os.openpty()
    os.write(keyboard, f"{reply}\n".encode())
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        bag = write_bag(tmp_path / "bag", messages, drive(messages))
        assert main(["replay", str(bag), "--no-model", "--db", str(db)]) == 0
    os.close(keyboard)
    assert (len(stored(db)) if db.exists() else 0) == number


def test_names_of_configurations_differ_from_parameters_and_from_each_other(
    tmp_path: Path, messages: Messages, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = ["/collection", "/a/b", "/a_b", "/map"]
    content = [(topic, START + n * SECOND, messages.string(topic)) for n, topic in enumerate(topics)]
    bag = write_bag(tmp_path / "bag", messages, content)
    assert main(["replay", str(bag), "--take", "--no-model", "--db", str(db), "--topics", *topics[:3]]) == 0
    assert "perception_topics: [a_b, a_b_2, collection_2]" in capsys.readouterr().out
    assert contents(stored(db)) == topics[:3]
    assert main(["replay", str(bag), "--take", "--no-model", "--db", str(db), "--topics", "/typo"]) == 1
    assert "--topics: /typo not configured" in capsys.readouterr().err
