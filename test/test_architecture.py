"""The shape of the code: what imports what, and that the core needs no ROS."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import robotmem_ros.memory

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "robotmem_ros" / "memory"
MODULES = sorted(
    found.name for found in pkgutil.walk_packages(robotmem_ros.memory.__path__, prefix="robotmem_ros.memory.")
)
ROS = [
    "rclpy",
    "rosidl_runtime_py",
    "std_msgs",
    "geometry_msgs",
    "builtin_interfaces",
    "tf2_ros",
    "launch",
    "ament_index_python",
]
SHARED_BY_STAGES = {"answer", "question", "condition", "eligible", "ranking"}
STAGES = sorted(file.stem for file in (CORE / "recall").glob("*.py") if file.stem not in {"__init__", "pipeline"})
# Stages that are one thing in two files: a stage and the part that it is made of.
PARTS = {
    ("eligible", "context_filter"),
    ("text_search", "text_candidates"),
    ("text_search", "bm25"),
    ("text_candidates", "bm25"),
    ("match", "bm25"),
    ("match", "text_holders"),
    ("vector_search", "vector_holders"),
    ("unplaced", "spatial_sort"),
    ("reasons", "context_filter"),
    ("source_weight", "fusion"),
    ("outcome_weight", "fusion"),
    ("contradiction_weight", "fusion"),
    ("session_neighbours", "fusion"),
    ("normalise", "fusion"),
}

IMPORT_ALL = """
import importlib, sys
names = sys.argv[1].split(",")
for name in names:
    sys.modules[name] = None
for name in ("robotmem_ros.msg", "robotmem_ros.srv"):
    sys.modules[name] = None
for module in sys.argv[2].split(","):
    importlib.import_module(module)
roots = {name.partition(".")[0] for name, module in sys.modules.items() if module is not None}
print(sorted(roots.intersection(names)), [name for name in sys.modules if name.startswith("robotmem_ros.node")])
"""


def imports_of(file: Path) -> set[str]:
    """The modules that a file of the package imports, relative ones made absolute."""
    package = ".".join(file.relative_to(ROOT).with_suffix("").parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def test_the_core_imports_where_there_is_no_ros() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, ",".join(ROS), ",".join(MODULES)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] []\n", "")


@pytest.mark.parametrize("file", sorted(CORE.rglob("*.py")), ids=lambda file: str(file.relative_to(CORE)))
def test_no_file_of_the_core_imports_ros_or_the_node(file: Path) -> None:
    roots = {name.partition(".")[0] for name in imports_of(file)}
    assert roots.isdisjoint(ROS)
    assert not any(
        name.startswith(("robotmem_ros.node", "robotmem_ros.msg", "robotmem_ros.srv")) for name in imports_of(file)
    )


@pytest.mark.parametrize("stage", STAGES)
def test_stages_take_values_and_do_not_import_each_other(stage: str) -> None:
    prefix = "robotmem_ros.memory.recall."
    others = {
        name.removeprefix(prefix).partition(".")[0]
        for name in imports_of(CORE / "recall" / f"{stage}.py")
        if name.startswith(prefix)
    }
    allowed = SHARED_BY_STAGES | {part for owner, part in PARTS if owner == stage}
    if stage == "question":
        allowed |= {"context_filter"}
    assert others <= allowed


def test_every_box_of_the_diagram_has_a_file_of_its_name() -> None:
    boxes = {
        "question", "eligible", "text_search", "vector_search", "fusion", "source_weight", "context_filter",
        "spatial_sort", "normalise", "touch", "pipeline",
    }  # fmt: skip
    assert boxes <= {*STAGES, "pipeline"}


@pytest.mark.parametrize("module", ["robotmem_ros.memory", *MODULES])
def test_what_a_module_offers_is_there(module: str) -> None:
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    offered = getattr(loaded, "__all__", [])
    assert list(offered) == sorted(set(offered))
    assert all(hasattr(loaded, name) for name in offered)


@pytest.mark.parametrize("file", sorted((ROOT / "test").rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_test_sleeps_or_is_expected_to_fail(file: Path) -> None:
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)}
    assert called.isdisjoint({"pytest.mark.xfail", "pytest.xfail"})
    if file.is_relative_to(ROOT / "test" / "memory"):
        assert called.isdisjoint({"sleep", "time.sleep"})
    assert len(file.read_text().splitlines()) <= 300
