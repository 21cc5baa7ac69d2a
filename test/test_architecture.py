"""The shape of the code: what imports what, and that the core needs no ROS."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import TopologicalSorter
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
        "clocks",
        "display",
        "errors",
        "geometry",
        "heap",
        "new_file",
        "persistence",
        "progress",
        "threads",
        "times",
        "yaml_file",
    },
    {"batch", "context_path", "intake_report", "models", "tracks", "validation"},
    {"fellow_robots", "map_values"},
    {"free_space", "text"},
    {"config"},
    {"areas", "new_memory", "new_unit"},
    {"conditions"},
    {"storage"},
    {"table"},
    {"embedding"},
    {"search"},
    {"learning", "objects", "purge", "retention", "sessions"},
    {"parts", "status"},
    {"doctor"},
    {"maps", "notes", "verbs"},
    {"robot_memory"},
)
SQL = re.compile(
    r"\s*(?:SELECT|WITH|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|"
    r"ATTACH|DETACH|VACUUM|ANALYZE|REINDEX)\s+\S|\s*(?:BEGIN|COMMIT|ROLLBACK|VACUUM|ANALYZE)\s*\Z"
)
"""The beginning of a statement; in capital letters, as all SQL of the package is written."""
SCHEMA = (CORE / "storage" / "schema.sql").read_text()
TABLES = "|".join(re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", SCHEMA, re.MULTILINE))
COLUMNS = "|".join(re.findall(r"^    (\w+) (?:ANY|BLOB|INTEGER|REAL|TEXT)\b", SCHEMA, re.MULTILINE))
WORDS = "AND|OR|IS|IN|LIKE|BETWEEN|FROM|WHERE|JOIN|LIMIT"
PART = re.compile(rf"(?:{TABLES})\.(?:{COLUMNS})?\Z|.*(?: <> |= \?|\w = \Z|\S (?:{WORDS}) \S)", re.DOTALL)
"""A part of a statement: the name of a column, or a test."""
FLEET = ROOT / "robotmem_ros" / "fleet"
BAG_READERS = {ROOT / "robotmem_ros" / "replay" / name for name in ("sqlite_file.py", "recovery.py")}
"""Files that query the SQLite files of recordings, not the database of the memory."""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

PACKAGE, CORE_FILES, TESTS = (sorted(folder.rglob("*.py")) for folder in (ROOT / "robotmem_ros", CORE, ROOT / "test"))
FILE_OF = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in PACKAGE}

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


def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file."""
    return tuple(ast.walk(ast.parse(file.read_text())))


def breaches(files: Iterable[Path], names_in: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """Return the names that break a rule, by the file that has them; files without any are left out."""
    return {str(file.relative_to(ROOT)): names for file in files if (names := sorted(names_in(file)))}


def below(folder: Path, *others: Path) -> set[Path]:
    """Return the files of the package in some folders."""
    return {file for file in PACKAGE if any(map(file.is_relative_to, (folder, *others)))}


def roots_of(file: Path) -> set[str]:
    """Return the packages that a file imports."""
    return {name.partition(".")[0] for name in imports_of(file)}


@cache
def imports_of(file: Path) -> frozenset[str]:
    """Return the modules that a file of the package imports, relative ones made absolute."""
    package = ".".join(file.relative_to(ROOT).with_suffix("").parts[:-1])
    found = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def test_the_core_imports_where_there_is_no_ros() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, ",".join(ROS), ",".join(MODULES)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] []\n", "")


def test_no_file_of_the_core_imports_ros_or_the_node() -> None:
    node = ("robotmem_ros.node", "robotmem_ros.msg", "robotmem_ros.srv")
    assert breaches(CORE_FILES, lambda file: roots_of(file).intersection(ROS)) == {}
    assert breaches(CORE_FILES, lambda file: (name for name in imports_of(file) if name.startswith(node))) == {}


def room(module: str) -> str:
    """Return the first part of a module's name below the core."""
    return module.removeprefix("robotmem_ros.memory.").partition(".")[0]


def room_of(file: Path) -> str:
    """Return the room of the core that a file stands in; empty outside of the core."""
    return file.relative_to(CORE).parts[0].removesuffix(".py") if file.is_relative_to(CORE) else ""


def rooms_above(file: Path) -> set[str]:
    """Return the rooms of higher floors that a file of the core imports."""
    imported = {room(name) for name in imports_of(file) if name.startswith("robotmem_ros.memory.")} & FLOOR.keys()
    return {other for other in imported if FLOOR[other] > FLOOR[room_of(file)]}


def test_no_import_runs_up() -> None:
    assert breaches((file for file in CORE_FILES if room_of(file) != "__init__"), rooms_above) == {}


def files_imported_by(file: Path) -> set[Path]:
    """Return the files of the package that a file imports; for a module of a folder, not its `__init__` as well."""
    found = {name for name in imports_of(file) if name in FILE_OF}
    return {FILE_OF[name] for name in found if not any(other.startswith(f"{name}.") for other in found)}


def test_no_files_import_each_other_in_a_circle() -> None:
    # Imports for types alone count: a reader of one of the files has to know them all.
    TopologicalSorter({file: files_imported_by(file) - {file} for file in PACKAGE}).prepare()


@pytest.mark.parametrize("name", ["association", "editor", "existence", "field_of_view", "sightings", "tracker"])
def test_the_tracker_of_objects_knows_no_database(name: str) -> None:
    imported = imports_of(CORE / "objects" / f"{name}.py")
    assert not any(module.startswith(("sqlite3", "robotmem_ros.memory.storage")) for module in imported)


def statements_of(file: Path) -> list[str]:
    """Return the string constants of a file that are SQL statements or parts of one, without its docstrings."""
    nodes = nodes_of(file)
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and node not in docstrings)
    return [text for text in texts if isinstance(text, str) and (SQL.match(text) or PART.match(text))]


def test_sql_stands_in_storage_in_conditions_and_in_the_fleet() -> None:
    others = {*PACKAGE} - BAG_READERS - below(CORE / "conditions", CORE / "storage", FLEET)
    assert breaches(others, statements_of) == {}


def test_the_fleet_alone_knows_postgresql_and_no_room_but_the_core() -> None:
    fleet, lower = below(FLEET), ("robotmem_ros.fleet", "robotmem_ros.memory")
    assert breaches({*PACKAGE} - fleet, lambda file: roots_of(file) & {"psycopg"}) == {}
    own = {file: {name for name in imports_of(file) if name.startswith("robotmem_ros.")} for file in fleet}
    assert breaches(fleet, lambda file: {name for name in own[file] if not name.startswith(lower)}) == {}


def test_storage_alone_knows_sqlite() -> None:
    others = {*PACKAGE} - BAG_READERS - below(CORE / "storage")
    assert breaches(others, lambda file: roots_of(file) & {"sqlite3"}) == {}


def names_of(file: Path) -> set[str]:
    """Return the names of variables, attributes and arguments in a file."""
    nodes = nodes_of(file)
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_no_room_above_storage_has_a_connection() -> None:
    others = {*CORE_FILES} - below(CORE / "storage")
    assert breaches(others, lambda file: names_of(file) & {"connection", "_connection"}) == {}


@pytest.mark.parametrize("file", [*sorted(BAG_READERS), CORE / "storage" / "rows.py"], ids=lambda file: file.name)
def test_statements_are_found_where_they_are(file: Path) -> None:
    assert statements_of(file)


def test_parts_of_a_statement_are_found(tmp_path: Path) -> None:
    parts = ["memories.", "tag_meta.tag", " <> ''", "path_id = ", "{column} >= '@' AND {column} < 'A'"]
    parts.append("ORDER BY id LIMIT 3")
    file = tmp_path / "parts.py"
    file.write_text(f'"""Told by memories.status, IN capitals."""\nparts = {parts}\nname = "sessions.start"\n')
    assert statements_of(file) == parts


def test_every_room_of_the_core_has_its_floor() -> None:
    rooms = {file.relative_to(CORE).parts[0].removesuffix(".py") for file in CORE.rglob("*.py")}
    assert rooms - {"__init__"} == FLOOR.keys()


def test_what_a_module_offers_is_there() -> None:
    for module in ("robotmem_ros.memory", *MODULES):
        loaded = importlib.import_module(module)
        assert loaded.__doc__, module
        assert [name for name in getattr(loaded, "__all__", []) if not hasattr(loaded, name)] == [], module


@cache
def calls_of(file: Path) -> set[str]:
    """Return the names of the functions that a file calls, as it writes them."""
    return {ast.unparse(node.func) for node in nodes_of(file) if isinstance(node, ast.Call)}


def test_no_test_is_expected_to_fail() -> None:
    assert breaches(TESTS, lambda file: calls_of(file) & {"pytest.mark.xfail", "pytest.xfail"}) == {}


def test_no_test_of_the_core_sleeps() -> None:
    tests = [file for file in TESTS if file.is_relative_to(ROOT / "test" / "memory")]
    assert breaches(tests, lambda file: calls_of(file) & {"sleep", "time.sleep"}) == {}


def test_the_console_imports_neither_ros_nor_the_node_nor_the_command_line() -> None:
    console, upper = below(ROOT / "robotmem_ros" / "web"), ("robotmem_ros.node", "robotmem_ros.cli")
    assert breaches(console, lambda file: roots_of(file).intersection(ROS)) == {}
    assert breaches(console, lambda file: {name for name in imports_of(file) if name.startswith(upper)}) == {}


@pytest.mark.parametrize("name", ["access", "guard", "headers"])
def test_the_guard_of_the_console_serves_every_framework(name: str) -> None:
    roots = roots_of(ROOT / "robotmem_ros" / "web" / f"{name}.py")
    assert roots - set(sys.stdlib_module_names) <= {"anyio", "robotmem_ros", "starlette"}
