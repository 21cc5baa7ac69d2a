"""The shape of the code: what imports what, and that the core needs no ROS."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
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
# The rooms of the core from the ground floor up: what stands lower imports nothing that stands higher.
FLOORS = (
    {
        "argument",
        "bounds",
        "clocks",
        "display",
        "errors",
        "geometry",
        "new_file",
        "package_imports",
        "times",
        "yaml_file",
    },
    {"batch", "models", "tracks", "validation"},
    {"fellow_robots", "maps"},
    {"text"},
    {"config"},
    {"areas", "background", "entries", "new_memory"},
    {"conditions"},
    {"storage"},
    {"embedding"},
    {"search"},
    {"learning", "objects", "purge", "retention", "sessions"},
    {"parts", "status"},
    {"doctor"},
    {"verbs"},
    {"robot_memory"},
    {"notes"},
    {"opening"},
)
SQL = re.compile(
    r"\s*(?:SELECT|WITH|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|"
    r"ATTACH|DETACH|VACUUM|ANALYZE|REINDEX)\s+\S|\s*(?:BEGIN|COMMIT|ROLLBACK|VACUUM|ANALYZE)\s*\Z"
)
"""The beginning of a statement; in capital letters, as all SQL of the package is written."""
FLEET = ROOT / "robotmem_ros" / "fleet"
BAG_READERS = {ROOT / "robotmem_ros" / "replay" / name for name in ("bag.py", "recovery.py")}
"""Files that query the SQLite files of recordings, not the database of the memory."""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

TESTS = sorted((ROOT / "test").rglob("*.py"))

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
    """Return the modules that a file of the package imports, relative ones made absolute."""
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


def room(module: str) -> str:
    """Return the first part of a module's name below the core."""
    return module.removeprefix("robotmem_ros.memory.").partition(".")[0]


def room_of(file: Path) -> str:
    """Return the room of the core that a file stands in; empty outside of the core."""
    return file.relative_to(CORE).parts[0].removesuffix(".py") if file.is_relative_to(CORE) else ""


@pytest.mark.parametrize("file", sorted(CORE.rglob("*.py")), ids=lambda file: str(file.relative_to(CORE)))
def test_no_import_runs_up(file: Path) -> None:
    own = room_of(file)
    if own == "__init__":
        return
    imported = {room(name) for name in imports_of(file) if name.startswith("robotmem_ros.memory.")} & FLOOR.keys()
    assert {other for other in imported if FLOOR[other] > FLOOR[own]} == set()


@pytest.mark.parametrize("name", ["association", "editor", "existence", "field_of_view", "sightings", "tracker"])
def test_the_tracker_of_objects_knows_no_database(name: str) -> None:
    imported = imports_of(CORE / "objects" / f"{name}.py")
    assert not any(module.startswith(("sqlite3", "robotmem_ros.memory.storage")) for module in imported)


def statements_of(file: Path) -> list[str]:
    """Return the string constants of a file that are SQL statements, or the beginnings of one."""
    texts = (node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and SQL.match(text)]


@pytest.mark.parametrize(
    "file", sorted((ROOT / "robotmem_ros").rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT))
)
def test_sql_stands_in_storage_in_conditions_and_in_the_fleet(file: Path) -> None:
    if file not in BAG_READERS and not any(map(file.is_relative_to, (CORE / "conditions", CORE / "storage", FLEET))):
        assert statements_of(file) == []


@pytest.mark.parametrize(
    "file", sorted((ROOT / "robotmem_ros").rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT))
)
def test_the_fleet_alone_knows_postgresql_and_no_room_but_the_core(file: Path) -> None:
    imported = imports_of(file)
    if not file.is_relative_to(FLEET):
        assert "psycopg" not in {name.partition(".")[0] for name in imported}
    else:
        own = {name for name in imported if name.startswith("robotmem_ros.")}
        assert {name.split(".")[1] for name in own} <= {"fleet", "memory"}


@pytest.mark.parametrize(
    "file", sorted((ROOT / "robotmem_ros").rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT))
)
def test_storage_alone_knows_sqlite(file: Path) -> None:
    if file not in BAG_READERS and not file.is_relative_to(CORE / "storage"):
        assert "sqlite3" not in {name.partition(".")[0] for name in imports_of(file)}


@pytest.mark.parametrize("file", sorted(CORE.rglob("*.py")), ids=lambda file: str(file.relative_to(CORE)))
def test_no_room_above_storage_has_a_connection(file: Path) -> None:
    if not file.is_relative_to(CORE / "storage"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        assert names.isdisjoint({"connection", "_connection"})


@pytest.mark.parametrize("file", [*sorted(BAG_READERS), CORE / "storage" / "rows.py"], ids=lambda file: file.name)
def test_statements_are_found_where_they_are(file: Path) -> None:
    assert statements_of(file)


def test_every_room_of_the_core_has_its_floor() -> None:
    rooms = {file.relative_to(CORE).parts[0].removesuffix(".py") for file in CORE.rglob("*.py")}
    assert rooms - {"__init__"} == FLOOR.keys()


@pytest.mark.parametrize("module", ["robotmem_ros.memory", *MODULES])
def test_what_a_module_offers_is_there(module: str) -> None:
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    offered = getattr(loaded, "__all__", [])
    assert all(hasattr(loaded, name) for name in offered)


def calls_of(file: Path) -> set[str]:
    """Return the names of the functions that a file calls, as it writes them."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("file", TESTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_test_is_expected_to_fail(file: Path) -> None:
    assert calls_of(file).isdisjoint({"pytest.mark.xfail", "pytest.xfail"})


@pytest.mark.parametrize("file", sorted((ROOT / "test" / "memory").rglob("*.py")), ids=lambda file: file.name)
def test_no_test_of_the_core_sleeps(file: Path) -> None:
    assert calls_of(file).isdisjoint({"sleep", "time.sleep"})


@pytest.mark.parametrize("file", sorted((ROOT / "robotmem_ros" / "web").rglob("*.py")), ids=lambda file: file.name)
def test_the_console_imports_neither_ros_nor_the_node_nor_the_command_line(file: Path) -> None:
    imported = imports_of(file)
    assert {name.partition(".")[0] for name in imported}.isdisjoint(ROS)
    assert not any(name.startswith(("robotmem_ros.node", "robotmem_ros.cli")) for name in imported)


@pytest.mark.parametrize("name", ["access", "guard", "headers"])
def test_the_guard_of_the_console_serves_every_framework(name: str) -> None:
    roots = {one.partition(".")[0] for one in imports_of(ROOT / "robotmem_ros" / "web" / f"{name}.py")}
    assert roots - set(sys.stdlib_module_names) <= {"anyio", "robotmem_ros", "starlette"}
