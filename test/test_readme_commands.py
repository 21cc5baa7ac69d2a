"""Every command of the README and of docs/ runs as it is written, or the reason why not stands here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory, open_memory

from .support.bags import Messages, write_bag
from .support.readme import blocks, inline

ROOT = Path(__file__).resolve().parents[1]
(WORKSPACE,) = (block for block in blocks() if any(command.startswith("colcon ") for command in block))
COMMANDS = list(dict.fromkeys([*inline(), *(command for block in blocks() if block != WORKSPACE for command in block)]))
COPY = "(umask 077 && sqlite3 "
RUN_BELOW = ("make demo", ". scripts/env.sh", "pip install ", "robotmem ", COPY)
RUN_ON_THE_GRAPH = ("ros2 service call ",)
NOT_RUN = {
    "make test": "runs this test",
    "make build": "the demo runs it",
    "make bench": "takes minutes, or an hour",
    "make quality": "takes minutes",
    "python3 -m bench": "measures for minutes; what it lists is tested with the suites",
    "robotmem web": "runs until it is stopped, at a port of its own: test/cli/test_web.py starts it",
    "ros2 bag play": "the wheels have no rosbag2",
    "ros2 param set": "the wheels have no such command: test/node/test_parameters.py sets what it reads",
    "ros2 launch": "runs until it is stopped, and the wheels have no launch",
}
PARAMETERS = """/**:
  ros__parameters:
    perception_topics: [odometry]
    odometry: {topic: /odom, type: geometry_msgs/msg/PoseStamped, description: "'a place'"}
"""
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
    for file in (*(source / "srv").iterdir(), *(source / "msg").iterdir()):
        if file.stem != service:
            file.unlink()


@pytest.fixture
def memory(tmp_path: Path) -> str:
    """Store a session in the node's own database and in a copy in the folder; return the session's id."""
    node = tmp_path / ".robotmem" / "memory.db"
    node.parent.mkdir()
    page = tmp_path / "handbook" / "battery.md"
    page.parent.mkdir()
    page.write_text("# Battery\n" + "Charge it in time.\n" * 20)
    options: Any = {"embedding_model": "", "collection": "visitors"}
    with RobotMemory(node, **options) as robot:
        session = robot.start_session().session_id
        robot.save_map(
            OccupancyGrid(frame_id="map", resolution=0.05, origin=Origin(0, 0), width=2, height=1, cells=bytes(2))
        )
        robot.save_perception("a red mug", data=b"an image", session_id=session)
        robot.learn("hold thin glasses with 8 N", session_id=session)
        robot.end_session(session)
    # Notes are read beside what goes on, so their ids come last only if the others are there before.
    with open_memory(node, **options, notes_folders=[str(page.parent)]) as robot:
        robot.flush()
    shutil.copy(node, tmp_path / "memory.db")
    return session


def test_every_command_is_run_or_says_why_not() -> None:
    known = (*RUN_BELOW, *RUN_ON_THE_GRAPH, *NOT_RUN)
    assert [command for command in COMMANDS if not command.startswith(known)] == []


@pytest.mark.parametrize(
    "command",
    [one for one in COMMANDS if one.startswith("robotmem ") and not one.startswith(tuple(NOT_RUN))],
)
def test_robotmem_runs(command: str, memory: str, tmp_path: Path) -> None:
    if "replay" in command:
        messages = Messages()
        content = [("/odom", 10**18 + 10**9 * step, messages.pose("map", 10**18, step)) for step in range(3)]
        (recording,) = write_bag(tmp_path / "bag", messages, content).glob("*.mcap")
        recording.rename(tmp_path / "nav2_turtlebot.mcap")
        (tmp_path / "memory.yaml").write_text(PARAMETERS)
    if " import " in command:
        command = command.replace(" import ", " export ") + f"; {command}"
    for name, value in {" ID": " 1", " FILE": " memory.db", " IMAGE": " image", " SESSION": f" {memory}"}.items():
        command = command.replace(name, value)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{ROOT / 'scripts'}:{os.environ['PATH']}"}
    done = bash(command, tmp_path, {**environment, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"})
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="without the command sqlite3")
@pytest.mark.parametrize("command", [one for one in COMMANDS if one.startswith(COPY)])
def test_sqlite_copies_a_memory(command: str, memory: str, tmp_path: Path) -> None:
    done = bash(command, tmp_path, dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with RobotMemory(tmp_path / "copy.db", read_only=True, embedding_model="", collection="visitors") as copy:
        assert copy.recall("red mug")[0].memory.session_id == memory


def test_the_demo_runs_and_robotmem_is_there_afterwards(environment: dict[str, str], memory: str) -> None:
    done = bash("make demo\n. scripts/env.sh\nrobotmem status", ROOT, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all answers are the truth" in done.stdout
    assert "facts: 1\n" in done.stdout


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("pip install ")])
def test_pip_installs_the_core_and_its_command(command: str, environment: dict[str, str], source: Path) -> None:
    # What it depends on is here already, so nothing is downloaded.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": sysconfig.get_path("purelib")}
    script = f"{sys.executable} -m venv ../venv\n. ../venv/bin/activate\n{command}\ncd /\nrobotmem --help"
    done = bash(script, source, {**environment, **offline})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "usage: robotmem " in done.stdout


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
