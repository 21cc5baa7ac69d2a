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
"""No dependencies: the code does without them and says so. A comment of the manifest names them."""
PINNED = {"ml-dtypes", "numpy", "wcwidth"}
"""Packages that requirements.txt names for their version alone."""

catkin_package = pytest.importorskip("catkin_pkg.package", reason="colcon, which brings it, is not in this environment")


def imported_modules(*folders: str) -> Iterator[str]:
    """Yield the top-level packages that the code in folders imports."""
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
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
    assert (
        set(imported_modules("robotmem_ros", "launch")) - set(sys.stdlib_module_names) - OPTIONAL - {"robotmem_ros"}
        <= named
    )


def test_the_messages_that_tests_import_are_dependencies() -> None:
    manifest = catkin_package.parse_package(str(ROOT))
    named = {depend.name for depend in [*manifest.exec_depends, *manifest.test_depends]}
    assert {name for name in imported_modules("test") if name.endswith(("_msgs", "_srvs"))} <= named


def test_a_comment_names_each_optional_package() -> None:
    comments = " ".join(re.findall(r"<!--(.*?)-->", (ROOT / "package.xml").read_text(), re.DOTALL))
    required = re.findall(r"^[\w-]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert [name for name in required if name not in PINNED and not re.search(rf"\b{name}\b", comments)] == []


def test_every_package_that_cmake_needs_is_named() -> None:
    manifest = catkin_package.parse_package(str(ROOT))
    named = {depend.name for depend in [*manifest.buildtool_depends, *manifest.build_depends, *manifest.test_depends]}
    assert set(re.findall(r"find_package\((\w+)", (ROOT / "CMakeLists.txt").read_text())) <= named
