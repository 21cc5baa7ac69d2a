"""The scripts of `make` build beside a plain colcon build, and print little unless something fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = """<package format="3"><name>robotmem_ros</name><version>0.0.0</version><description>-</description>
<maintainer email="nobody@robotmem-ros.example">nobody</maintainer><license>Apache-2.0</license>
<export><build_type>ament_cmake</build_type></export></package>
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(robotmem_ros NONE)
find_package(ament_cmake REQUIRED)
find_package(ament_cmake_python REQUIRED)
ament_python_install_package(generated) # as the messages do; with links, none of its folders may be a copy
install(DIRECTORY robotmem_ros/ DESTINATION lib/robotmem_ros)
ament_package()
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Copy the scripts and requirements, and make a package that builds quickly."""
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    shutil.copy(ROOT / "requirements.txt", folder)
    for part in ("msg", "srv", "launch", "config", "robotmem_ros", "generated"):
        (folder / part).mkdir()
    (folder / "generated" / "__init__.py").write_text("")
    (folder / "robotmem_ros" / "module.py").write_text("")
    (folder / "package.xml").write_text(MANIFEST)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    return folder


@pytest.fixture
def with_ros(repository: Path) -> Path:
    """Link the virtual environment of these tests into the repository."""
    used = Path(os.environ.get("VIRTUAL_ENV", "/"))
    if used.parent != ROOT:
        pytest.skip("`make test` brings the environment that the scripts build in")
    (repository / used.name).symlink_to(used)
    return repository


@pytest.mark.rare
@pytest.mark.parametrize("first", ["colcon", "make"])
def test_make_builds_beside_a_plain_colcon_build_in_either_order(with_ros: Path, first: str) -> None:
    module = with_ros / "robotmem_ros" / "module.py"
    plain, by_make = ["colcon", "build"], [with_ros / "scripts" / "build.sh"]
    for content in ("one = 1\n", "two = 2\n"):
        module.write_text(content)
        for command in (plain, by_make) if first == "colcon" else (by_make, plain):
            done = run(*command, cwd=with_ros)
            assert done.returncode == 0, done.stdout + done.stderr
        (hidden,) = with_ros.glob(".build*")
        for install in (with_ros / "install", hidden / "install"):
            installed = install / "robotmem_ros" / "lib" / "robotmem_ros" / "module.py"
            assert installed.read_text() == content
            assert installed.is_symlink() == (install != with_ros / "install")


def test_nothing_is_built_where_nothing_has_changed(with_ros: Path) -> None:
    build = with_ros / "scripts" / "build.sh"
    assert run(build, cwd=with_ros).stdout.startswith("build: robotmem_ros for ROS 2 ")
    assert run(build, cwd=with_ros).stdout == ""


def test_a_build_that_fails_shows_why_and_names_its_log(with_ros: Path) -> None:
    (with_ros / "CMakeLists.txt").write_text(f"{CMAKE}no_such_command()\n")
    done = run(with_ros / "scripts" / "build.sh", cwd=with_ros)
    assert done.returncode == 1
    assert "no_such_command" in done.stderr
    (log,) = with_ros.glob(".build*/build.log")
    assert done.stderr.splitlines()[-1] == f"build: failed; all of its output is in {log}"


@pytest.mark.rare
def test_a_set_up_that_fails_says_a_line_for_each_step_and_names_its_log(repository: Path) -> None:
    done = run(repository / "scripts" / "setup.sh", cwd=repository, PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert all(line.startswith("setup: ") for line in lines)
    assert [line.split()[1] for line in lines if "ing the " in line or "ing ROS" in line] == ["making", "installing"]
    assert "No matching distribution found" in done.stderr
    (log,) = repository.glob(".build*/setup.log")
    assert done.stderr.splitlines()[-1] == f"setup: failed; all of its output is in {log}"
