"""What commands write: to a stream that is full, closed or knows ASCII alone, and into files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import COMMANDS, main
from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory, open_memory

from ..support.bags import CONFIG, Messages, config_file, drive, write_bag
from ..support.forks import output_of
from ..support.subprocesses import started

TEXT = "ein Glas mit Öl — 杯子 🤖"
LINES = {
    "recall": "recall Glas --no-model",
    "status": "status",
    "sessions": "sessions",
    "history": "history 1",
    "explain": "explain 2",
    "data": "data 1",
    "timeline": "timeline",
    "get": "get 1 2",
    "list": "list labels",
    "note": "note handbook/page.md",
    "notes": "notes --files",
    "recalls": "recalls",
    "tag list": "tag list",
    "tag add": "tag add new --parent gotcha",
    "tag rename": "tag rename old other --dry-run",
    "tag remove": "tag remove old --dry-run",
    "learn": "learn Öl --no-model",
    "save": "save Öl",
    "objects": "objects",
    "update": "update 1 --add-tags new",
    "look": "look --ids 1",
    "forget": "forget 1 --reason mistake",
    "restore": "restore 3",
    "consolidate": "consolidate SESSION --dry-run",
    "retention": "retention --rows 1 --dry-run",
    "purge": "purge --id 1 --dry-run",
    "map list": "map list",
    "map import": "map import FOLDER/floor.yaml",
    "map export": "map export FOLDER/house.yaml",
    "path": "path",
    "approach": "approach 1",
    "backup": "backup FOLDER/backup.db",
    "export": "export FOLDER/new.jsonl",
    "import": "import FOLDER/old.jsonl",
    "tools": "tools",
    "call": "call doctor --no-model",
    "replay": "replay FOLDER/bag --config FOLDER/memory.yaml --no-model",
}
"""Of each command that writes a result, a line."""


FULL = "robotmem: the result cannot be written to stdout (No space left on device)"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a database, an export, a recording and a parameter file."""
    made = tmp_path_factory.mktemp("template")
    page = made / "handbook" / "page.md"
    page.parent.mkdir()
    page.write_text(f"# {TEXT}\n")
    options: Any = {"db_path": made / "memory.db", "embedding_model": ""}
    with RobotMemory(**options) as memory:
        session = memory.start_session().session_id
        memory.save_perception(
            TEXT, label="Öl", data=bytes(100_000), session_id=session, pose=(0, 0, 0), as_object=False
        )
        memory.learn(TEXT, session_id=session)
        memory.tags.add("old")
        memory.forget(memory.learn("Öl ist Wasser").memory_id, "a mistake")
        size: Any = {"width": 400, "height": 400, "cells": bytes(160_000)}
        memory.maps.save(OccupancyGrid(frame_id="map", resolution=0.05, origin=Origin(0, 0), **size))
    with open_memory(**options, notes_folders=[str(page.parent)]) as memory:
        memory.flush()
    (made / "SESSION").write_text(session)
    with redirect_stdout(StringIO()):
        assert main(["export", str(made / "old.jsonl"), "--db", str(made / "memory.db")]) == 0
        assert main(["map", "export", str(made / "floor.yaml"), "--db", str(made / "memory.db")]) == 0
    messages = Messages()
    write_bag(made / "bag", messages, drive(messages, 2))
    config_file(made, CONFIG)
    return made


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return Path(shutil.copytree(template, tmp_path / "copy"))


def arguments(folder: Path, command: str) -> list[str]:
    line = LINES[command].replace("FOLDER", str(folder)).replace("SESSION", (folder / "SESSION").read_text())
    return [*line.split(), *([] if command == "tools" else ["--db", str(folder / "memory.db")])]


def test_every_command_is_here() -> None:
    # The exit code of the doctor depends on the machine, and a fleet needs a server.
    names = {command.name for command in COMMANDS if not command.name.startswith("model ")}
    assert names - {"web", "mcp", "doctor", "fleet"} == set(LINES)


@pytest.mark.parametrize("command", LINES)
def test_a_full_disk_behind_stdout_is_an_error(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full, redirect_stdout(full):
        assert main(arguments(folder, command)) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == FULL


@contextmanager
def closed_streams() -> Iterator[None]:
    """Leave the standard streams as Python does where they are closed."""
    kept = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    for name in kept:
        setattr(sys, name, None)
    try:
        yield
    finally:
        for name, stream in kept.items():
            getattr(sys, name).close()
            setattr(sys, name, stream)


@pytest.mark.parametrize("command", LINES)
def test_a_command_works_without_standard_streams(folder: Path, command: str) -> None:
    with closed_streams():
        assert main(arguments(folder, command)) == 0
        assert main(["purge", "--id", "1", "--db", str(folder / "memory.db")]) == 1


@pytest.mark.parametrize("command", LINES)
def test_what_ascii_lacks_is_escaped(folder: Path, command: str) -> None:
    written = BytesIO()
    stream = TextIOWrapper(written, encoding="ascii")
    with redirect_stdout(stream):
        assert main(arguments(folder, command)) == 0
    assert written.getvalue().isascii()
    if command in {"recall", "timeline", "get", "note"}:
        assert rb"\u00d6l" in written.getvalue()


def test_json_stays_json_in_ascii(folder: Path) -> None:
    written = BytesIO()
    stream = TextIOWrapper(written, encoding="ascii")
    with redirect_stdout(stream):
        assert main([*arguments(folder, "get"), "--json"]) == 0
    assert json.loads(written.getvalue())["memories"][0]["content"] == TEXT


@pytest.mark.parametrize(
    ("line", "redirection", "code", "notice"),
    [
        ("timeline", ">/dev/full", 1, f"{FULL}\n"),
        (
            "recall --help",
            ">/dev/full",
            1,
            f"{FULL}\n",
        ),
        ("timeline", ">&-", 0, ""),
        ("timeline", "<&- >&- 2>&-", 0, ""),
        ("history 77", "2>/dev/full", 1, ""),
        ("history 77", "2>&-", 1, ""),
    ],
)
def test_a_process_ends_with_its_own_code(folder: Path, line: str, redirection: str, code: int, notice: str) -> None:
    script = f'"{sys.executable}" -m robotmem_ros.cli {line} --db {folder / "memory.db"} {redirection}'
    with started("sh", "-c", script) as process:
        _, complaints = process.communicate(timeout=180)
    assert (process.returncode, complaints) == (code, notice)


def test_a_reader_that_ends_early_is_no_error(folder: Path) -> None:
    # More than a pipe holds.
    with RobotMemory(folder / "memory.db", embedding_model="") as memory:
        ids = [str(memory.save_perception("cups " * 390 + str(number)).memory_id) for number in range(90)]
    command = [sys.executable, "-m", "robotmem_ros.cli", "get", *ids, "--db", str(folder / "memory.db")]
    with started(*command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, "")


def test_files_that_cannot_be_written_leave_no_part(folder: Path) -> None:
    before = {file.name for file in folder.iterdir() if not file.name.startswith("memory.db")}
    code = """
import resource, sys
from robotmem_ros.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
folder = sys.argv[1]
for line in ("data 1 --out FOLDER/image", "map export FOLDER/house.yaml", "export FOLDER/new.jsonl"):
    print(main([*line.replace("FOLDER", folder).split(), "--db", f"{folder}/memory.db"]))
"""
    assert output_of(code, folder) == "1\n1\n1\n"
    assert {file.name for file in folder.iterdir() if not file.name.startswith("memory.db")} == before


@pytest.mark.parametrize(
    "line",
    [
        "map export FOLDER/house.yaml --db DB", "map export --db DB FOLDER/house.yaml",
        "call --db DB doctor {}", "call doctor --db DB {}", "get 1 --db DB 2",
        "recall --db DB -- -Glas",
    ],
)  # fmt: skip
def test_options_stand_before_between_and_behind_positional_arguments(folder: Path, line: str) -> None:
    assert main(line.replace("DB", str(folder / "memory.db")).replace("FOLDER", str(folder)).split()) == 0
    assert (folder / "house.pgm").exists() is line.startswith("map")
