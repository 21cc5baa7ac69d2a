"""The package's manifest is valid, and names what the code needs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import robotmem_ros

ROOT = Path(__file__).resolve().parents[1]
MODULES = {"python3-numpy": "numpy", "python3-tabulate": "tabulate", "python3-yaml": "yaml"}
"""The Python modules of rosdep keys that are not named as these."""
OPTIONAL = {
    "PIL",
    "anyio",
    "argcomplete",
    "fastapi",
    "fastembed",
    "httpx",
    "icu4py",
    "jieba",
    "jsonschema",
    "py_trees",
    "markdown_it",
    "mcp",
    "mcp_types",
    "onnxruntime",
    "pandas",
    "psycopg",
    "pydantic",
    "pydantic_core",
    "rosbags",
    "sentencepiece",
    "snowballstemmer",
    "sqlite_vec",
    "starlette",
    "tokenizers",
    "numkong",
    "onnx",
    "uvicorn",
}
"""No rosdep keys; the code does without them and says so."""

catkin_package = pytest.importorskip("catkin_pkg.package", reason="colcon, which brings it, is not in this environment")


def imported_modules() -> Iterator[str]:
    """Yield the top-level packages that the installed code imports."""
    files = [*(ROOT / "robotmem_ros").rglob("*.py"), *(ROOT / "launch").glob("*.py")]
    for node in (node for file in files for node in ast.walk(ast.parse(file.read_text()))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_manifest_is_valid_without_a_warning() -> None:
    warnings: list[str] = []
    manifest = catkin_package.parse_package(str(ROOT), warnings=warnings)
    manifest.validate(warnings=warnings)
    assert warnings == []
    assert {url.type for url in manifest.urls} == {"website", "bugtracker", "repository"}
    assert manifest.version == robotmem_ros.__version__


def test_what_the_code_imports_is_a_dependency_at_run_time() -> None:
    manifest = catkin_package.parse_package(str(ROOT))
    named = {MODULES.get(depend.name, depend.name) for depend in manifest.exec_depends}
    assert set(imported_modules()) - set(sys.stdlib_module_names) - OPTIONAL - {"robotmem_ros"} <= named


def test_every_package_that_cmake_needs_is_named() -> None:
    manifest = catkin_package.parse_package(str(ROOT))
    named = {depend.name for depend in [*manifest.buildtool_depends, *manifest.build_depends, *manifest.test_depends]}
    assert set(re.findall(r"find_package\((\w+)", (ROOT / "CMakeLists.txt").read_text())) <= named
