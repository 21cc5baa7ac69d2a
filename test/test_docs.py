"""Every block and command of the README, of CONTRIBUTING and of docs/ runs as it is written, or says what it needs."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory, open_memory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding.fastembed_provider import MODEL_VARIABLE, find_folder
from robotmem_ros.memory.embedding.profile import profile_of

from .support.docs import BLOCKS, NEEDS, ROOT, Block, inline, looks_like
from .support.web import console

pytestmark = pytest.mark.slow

(WORKSPACE,) = ([command for command, _ in block.commands()] for block in BLOCKS if "colcon build" in block.text)
RUN = [block for block in BLOCKS if not block.needs or shutil.which(block.needs)]
SENTENCES = [command for command in inline() if command not in WORKSPACE]
BY_PIP = [command for command in SENTENCES if command.startswith("pip install ")]
PROGRAMS = ("robotmem ", "python3 -m robotmem_ros ", "sqlite3 ")
NOT_RUN = {
    "make demo": "runs below",
    "make test": "runs this test",
    "make build": "the demo runs it",
    "make setup": "the demo runs it",
    "robotmem model fetch small": "downloads: test/default_model/test_fetching.py fetches a wheel of its own",
    "make bench": "takes minutes, or an hour",
    "make quality": "takes minutes",
    "make docs": "downloads a generator; test_docs_facts.py checks navigation and links without it",
    ". scripts/env.sh": "runs behind the demo below",
    "pip install ": "runs below",
    "python3 -m bench": "measures for minutes; what it lists is tested with the suites",
    "robotmem replay BAG": "needs a recording: test/replay/test_take.py imports one so",
    "robotmem model use": "needs a model of 91 MB: test/cli/test_models.py changes to the default one",
    "robotmem model calibrate": "needs a hundred texts: test/memory/embedding/test_calibration.py has them",
    "ros2 memory": "needs ros2cli: test/node/test_ros2_memory.py calls it where that is found",
    "robotmem fleet": "needs PostgreSQL: test/fleet runs them",
    "robotmem web": "runs until it is stopped, at a port of its own: test/cli/test_web.py starts it",
    "ros2 bag ": "the wheels have no rosbag2",
    "ros2 lifecycle set": "the wheels have no such command: test/node/test_lifecycle.py calls its service",
    "ros2 param set": "the wheels have no such command: test/node/test_parameters.py sets what it reads",
    "ros2 launch": "runs until it is stopped, and the wheels have no launch",
}
"""Beginnings of commands in sentences."""
OF_MEANING = {"README.md", "first_hour.md"}
"""Pages that show what is found by its meaning."""
STAND_INS = {
    "git": 'cp -r "$2" "$3"',
    "sudo": "true",
    "rosdep": "true",
    "ros2": 'test -f "${AMENT_PREFIX_PATH%%:*}/share/$2/launch/$3"',
}
"""What needs a network, another machine or a reader's eyes does the least that the next command builds on."""


def bash(script: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run what a reader types into a terminal, with yes as the reply to a question, up to the first failure."""
    keyboard, terminal = os.openpty()
    os.write(keyboard, b"yes\n")
    try:
        return subprocess.run(
            ["bash", "-c", f"set -e\n{script}"],
            cwd=cwd, env=environment, stdin=terminal, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(terminal)
        os.close(keyboard)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of `make` with an empty home and without what was built in this folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    if Path(kept.get("VIRTUAL_ENV", "/")).parent != ROOT:
        pytest.skip("`make test` brings the environment in which the README's commands run")
    for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        folders = [folder for folder in kept.get(name, "").split(":") if not folder.startswith(f"{ROOT}/.build")]
        kept[name] = ":".join(folders)
    return {**kept, "HOME": str(tmp_path)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Copy the repository as it is cloned."""
    ignored = shutil.ignore_patterns(".*", "build", "install", "log", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(ROOT, tmp_path / "source", ignore=ignored))


def keep_interface(source: Path, service: str) -> None:
    """Remove all interfaces but a service that needs no other: each costs seconds of a compiler."""
    for file in (file for kind in ("action", "msg", "srv") for file in (source / kind).iterdir()):
        if file.stem != service:
            file.unlink()


@pytest.fixture
def default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the model that a reader has, in place of the small one."""
    if (folder := find_folder(profile_of(Parameters().embedding_model).folder)) is not None:
        monkeypatch.setenv(MODEL_VARIABLE, str(folder))


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go where a reader stands, in the folder of the repository, with an empty home and what the README stores."""
    for name in ("config", "demo"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{ROOT / 'scripts'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    return tmp_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Make a home with a memory that has all that the commands in sentences name; return it with a session's id."""
    home = tmp_path_factory.mktemp("home")
    page = home / "handbook" / "battery.md"
    page.parent.mkdir()
    page.write_text("# Battery\n" + "Charge it in time.\n" * 20)
    options: Any = {"embedding_model": "", "collection": "visitors"}
    with RobotMemory(home / "memory.db", **options) as robot:
        session = robot.start_session().session_id
        robot.maps.save(
            OccupancyGrid(frame_id="map", resolution=0.05, origin=Origin(0, 0), width=2, height=1, cells=bytes(2))
        )
        robot.save_perception("a red mug", data=b"an image", session_id=session)
        robot.learn("hold thin glasses with 8 N", session_id=session)
        robot.end_session(session)
    # Notes are read beside what goes on, so their ids come last only if the others are there before.
    with open_memory(home / "memory.db", **options, notes_folders=[str(page.parent)]) as robot:
        robot.flush()
        (home / ".robotmem").mkdir()
        robot.backup(home / ".robotmem" / "memory.db")
    return home, session


def test_every_block_and_command_is_run_or_says_what_it_needs() -> None:
    assert {block.needs for block in BLOCKS} <= {"", *NEEDS}
    assert [command for command in SENTENCES if not command.startswith((*PROGRAMS, *NOT_RUN))] == []


@pytest.mark.parametrize("page", dict.fromkeys(block.page for block in RUN))
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, reader: Path, request: pytest.FixtureRequest) -> None:
    if page in OF_MEANING:
        request.getfixturevalue("default_model")
    names: dict[str, Any] = {}
    before = [block for block in RUN if block.page == "README.md" != page and block.kind == "python"]
    for block in (*before, *(block for block in RUN if block.page == page)):
        run(block, reader, names)


@pytest.mark.skipif(shutil.which("curl") is None, reason="without the command curl")
def test_programs_ask_the_console(reader: Path) -> None:
    for block in BLOCKS:
        if block.page == "README.md" and block.kind == "python":
            run(block, reader, {})
    with console(reader / "memory.db") as server:
        for block in (block for block in BLOCKS if block.needs == "the console"):
            run(block._replace(text=block.text.replace("http://127.0.0.1:8765", server.url)), reader, {})


@pytest.mark.usefixtures("default_model")
def test_the_notebook_prints_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.setattr(sys, "path", sys.path[:])
    notebook = json.loads(Path("first_hour.ipynb").read_text())
    names: dict[str, Any] = {}
    for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        shown = "".join(line for output in cell["outputs"] for line in output.get("text", ()))
        run(Block("first_hour.ipynb", "", "python", "".join(cell["source"]), shown), ROOT, names)


def run(block: Block, folder: Path, names: dict[str, Any]) -> None:
    """Run a block, Python in this process, and compare what it prints with what the page shows."""
    if block.kind == "python":
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block.text, block.page, "exec"), names)
        assert looks_like(block.output, printed.getvalue()), printed.getvalue()
        return
    for command, shown in block.commands():
        code, told = typed(command, folder, is_program=block.page == "README.md")
        assert code == 0, f"{command}: {told}"
        assert block.kind == "sh" or looks_like(shown, told), told


def typed(command: str, folder: Path, *, is_program: bool) -> tuple[object, str]:
    """Type a command; return its exit code and what a terminal shows then.

    `robotmem` runs in this process unless it shall be a program, or a shell has something to do for it.
    """
    code: object
    if is_program or not re.fullmatch(r"robotmem [^|<>;&$*`()]*", command):
        done = bash(f"({command}) 2>&1", folder, dict(os.environ))
        code, told = done.returncode, done.stdout
    else:
        shown = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(shown), redirect_stderr(shown):
            patch.setattr(sys, "stdin", Keyboard("yes\n"))
            code = code_of(command)
        told = shown.getvalue()
    return code, told.replace("Type yes to go on: ", "Type yes to go on: yes\n")


@pytest.mark.parametrize("command", [command for command in SENTENCES if not command.startswith(tuple(NOT_RUN))])
def test_the_commands_in_sentences_run(
    command: str,
    store: tuple[Path, str],
    reader: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, session = store
    shutil.copytree(home, reader, dirs_exist_ok=True)
    monkeypatch.setattr(sys, "stdin", Keyboard("yes\n"))
    for name, value in {" ID": " 1", " FILE": " memory.db", " IMAGE": " image", " SESSION": f" {session}"}.items():
        command = command.replace(name, value)
    if "|" in command or not command.startswith("robotmem "):
        done = bash(command, reader, dict(os.environ))
        assert done.returncode == 0 or not shutil.which(command.split()[0]), done.stderr
        return
    if " import " in command:
        assert code_of(command.replace(" import ", " export ")) == 0
    assert code_of(command) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


class Keyboard(io.StringIO):
    """What a reader types."""

    def isatty(self) -> bool:
        return True


def code_of(command: str) -> object:
    """Run a command of `robotmem` in this process, and return its exit code."""
    try:
        return main(shlex.split(command)[1:])
    except SystemExit as end:
        return end.code


@pytest.mark.usefixtures("default_model")
def test_the_demo_runs_and_robotmem_is_there_afterwards(
    environment: dict[str, str], store: tuple[Path, str], tmp_path: Path
) -> None:
    shutil.copytree(store[0], tmp_path, dirs_exist_ok=True)
    done = bash("make demo\n. scripts/env.sh\nrobotmem status", ROOT, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all answers are the truth" in done.stdout
    assert "facts: 1\n" in done.stdout


@pytest.mark.rare
def test_pip_installs_the_core_and_its_command_then_each_extra(environment: dict[str, str], source: Path) -> None:
    # What it depends on is here already, so nothing is downloaded.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": sysconfig.get_path("purelib")}
    extras = {extra for command in BY_PIP for extra in re.findall(r"\.\[(\w+)\]", command)}
    script = f"{sys.executable} -m venv ../venv\n. ../venv/bin/activate\npip install .\nrobotmem --help"
    script += f"\npip install '.[{','.join(sorted(extras))}]'"
    done = bash(script, source, {**environment, **offline})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "usage: robotmem " in done.stdout
    assert "does not provide the extra" not in done.stderr


@pytest.mark.rare
@pytest.mark.usefixtures("default_model")
def test_the_way_for_a_machine_with_ros_makes_a_workspace(
    environment: dict[str, str], source: Path, tmp_path: Path
) -> None:
    """Use an environment as the set-up files of ROS make it: its Python packages are on the PYTHONPATH."""
    keep_interface(source, "Forget")
    programs = tmp_path / "programs"
    (tmp_path / "ros2_ws" / "src").mkdir(parents=True)
    programs.mkdir()
    for name, content in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/bash\n{content}\n")
        (programs / name).chmod(0o755)
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    environment["PYTHONPATH"] = f"{sysconfig.get_path('purelib')}:{environment['PYTHONPATH']}"
    written = "\n".join(WORKSPACE).replace("<this repository>", str(source))
    afterwards = "which robotmem python3; python3 -c 'from robotmem_ros.srv import Forget'"
    done = bash(f"{written}\n{afterwards}", tmp_path, {**environment, "PIP_NO_INDEX": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    workspace = tmp_path / "ros2_ws"
    installed = workspace / "install" / "robotmem_ros"
    assert done.stdout.splitlines()[-2:] == [f"{installed}/bin/robotmem", f"{workspace}/venv/bin/python3"]
    programs_of_ros2_run = {file.name for file in (installed / "lib" / "robotmem_ros").iterdir()}
    assert programs_of_ros2_run == {"memory_node", "robotmem"}
