"""Programs in C++, built as docs/clients.md says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix

from ..docs import BLOCKS

IN_CPP = {block.kind: block for block in BLOCKS if block.needs == "rclcpp"}
"""The program of the page, and its CMakeLists.txt."""


def built(program: str, folder: Path) -> Path:
    """Build a program in a folder; skips the test where the header for it is not installed."""
    header = Path(get_package_prefix("robotmem_ros"), "include/robotmem_ros/robotmem_ros/memory_client.hpp")
    if not header.exists():
        pytest.skip("robotmem_ros was built without its header for C++: rclcpp is not in this environment")
    (folder / "CMakeLists.txt").write_text(IN_CPP["cmake"].text)
    (folder / "planner.cpp").write_text(program)
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"
    for arguments in (["-S", ".", "-B", "build", flags], ["--build", "build"]):
        result = subprocess.run(["cmake", *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    return folder / "build" / "planner"
