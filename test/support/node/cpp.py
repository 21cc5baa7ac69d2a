"""Programs in C++, built as docs/clients.md says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix

from ..docs import BLOCKS

IN_CPP = {block.kind: block for block in BLOCKS if block.needs == "rclcpp"}
"""The program of the page, and its CMakeLists.txt."""
WITH_TREE = {block.kind: block for block in BLOCKS if block.needs == "behaviortree_cpp"}
"""The program with a tree, the tree, and what is added to CMakeLists.txt."""
PLUGIN = {block.kind: block for block in BLOCKS if block.needs == "a plugin of behaviortree_cpp"}
"""The library with the nodes of a tree, what is added to CMakeLists.txt for it, and a tree for Nav2."""
WITH_NAV2 = {block.kind: block for block in BLOCKS if block.needs == "nav2_msgs in C++"}
"""The program that drives, and what is added to CMakeLists.txt for it."""
_PLAIN_TREES = """
find_package(behaviortree_cpp REQUIRED)
if(NOT TARGET behaviortree_cpp::behaviortree_cpp)  # of a build without ament
  add_library(behaviortree_cpp::behaviortree_cpp ALIAS BT::behaviortree_cpp)
endif()
"""


def built_with_trees(program: str, folder: Path, more: str = "") -> Path:
    """Build a program that uses trees, and the plugin with their nodes, in a folder; skips the test as `built` does."""
    (folder / "memory_trees.cpp").write_text(PLUGIN["cpp"].text)
    return built(program, folder, _PLAIN_TREES + WITH_TREE["cmake"].text + PLUGIN["cmake"].text + more)


def built(program: str, folder: Path, more: str = "") -> Path:
    """Build a program in a folder; skips the test where what it needs is not installed.

    Args:
        program: The program.
        folder: Where it is built.
        more: What is added to its CMakeLists.txt.
    """
    header = Path(get_package_prefix("robotmem_ros"), "include/robotmem_ros/robotmem_ros/memory_client.hpp")
    if not header.exists():
        pytest.skip("robotmem_ros was built without its header for C++: rclcpp is not in this environment")
    (folder / "CMakeLists.txt").write_text(IN_CPP["cmake"].text + more)
    (folder / "planner.cpp").write_text(program)
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"
    for arguments in (["-S", ".", "-B", "build", flags], ["--build", "build"]):
        result = subprocess.run(["cmake", *arguments], cwd=folder, capture_output=True, text=True, check=False)
        if missing := re.search(r'provided by "(behaviortree_cpp|rclcpp_action|nav2_msgs)"', result.stderr):
            pytest.skip(f"{missing[1]} is not in this environment")
        assert result.returncode == 0, result.stdout + result.stderr
    return folder / "build" / "planner"
