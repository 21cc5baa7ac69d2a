"""Who may do what in a fleet, and that no password is shown."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import FleetError, connect, connection_settings
from robotmem_ros.memory import InvalidFieldError, RobotMemory

from .conftest import Fleet, push

OWN = "robot = (SELECT id FROM robotmem.robots WHERE name = 'own')"
OTHERS = {
    "robots": "name = 'other'",
    "memories": f"NOT {OWN}",
    "words": f"NOT {OWN}",
    "units": f"NOT {OWN}",
    "deleted": f"NOT {OWN}",
    "grants": f"NOT {OWN}",
    "requests": f"NOT {OWN}",
}
"""The rows of the other robot in each table that has rows of robots."""
SHARED = {"models", "migrations"}
WRITES = (
    "INSERT INTO robotmem.robots (name, role) VALUES ('third', 'robot_own')",
    "UPDATE robotmem.robots SET role = 'robot_other'",
    "UPDATE robotmem.robots SET name = 'else'",
    "DELETE FROM robotmem.robots",
    "UPDATE robotmem.memories SET robot = {other}",
    "UPDATE robotmem.units SET robot = {other}",
    "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, body, words) VALUES ({new}, 1, {body}, '')",
    "UPDATE robotmem.words SET memories = 0",
    "INSERT INTO robotmem.units (robot, uuid, epoch, revision, unit, body) VALUES ({new}, 1, 'tag', '{{}}')",
    "INSERT INTO robotmem.deleted SELECT {other}, uuid FROM robotmem.deleted",
    "UPDATE robotmem.deleted SET uuid = gen_random_uuid()",
    "DELETE FROM robotmem.deleted",
    "INSERT INTO robotmem.models VALUES ('x', 3)",
    "DELETE FROM robotmem.migrations",
    "INSERT INTO robotmem.grants VALUES ({other}, 'lab')",
    "INSERT INTO robotmem.grants SELECT robotmem.me(), '*'",
    "UPDATE robotmem.grants SET collection = '*'",
    "DELETE FROM robotmem.grants",
    "INSERT INTO robotmem.requests (robot, memory, reason) SELECT {other}, gen_random_uuid(), 'x'",
    "INSERT INTO robotmem.requests (robot, memory, reason, asked_by) VALUES (1, gen_random_uuid(), 'x', 'ada')",
    "UPDATE robotmem.requests SET reason = 'x'",
    "DELETE FROM robotmem.requests",
    "INSERT INTO robotmem.migrations (n) VALUES (9)",
    "TRUNCATE robotmem.memories",
    "DROP TABLE robotmem.memories",
    "ALTER TABLE robotmem.memories DISABLE ROW LEVEL SECURITY",
    "DROP POLICY own ON robotmem.memories",
    "CREATE TABLE robotmem.more (n integer)",
    "CREATE OR REPLACE FUNCTION robotmem.me() RETURNS integer LANGUAGE sql AS 'SELECT {other}'",
    "SET ROLE robot_other",
    "SET ROLE postgres",
    "GRANT robotmem_operators TO robot_own",
    "CREATE ROLE more",
)
"""What no robot may do."""
BODY = """'{"type": "fact", "collection": "", "content": "", "status": "active", "observed_at": 0, "session_id": "",
"category": "", "confidence": 0.9, "frame_id": "map", "map_id": ""}'"""


@pytest.fixture
def two(fleet: Fleet, tmp_path: Path) -> dict[str, str]:
    urls = {name: fleet.add(name) for name in ("own", "other")}
    for name, url in urls.items():
        with RobotMemory(tmp_path / f"{name}.db", embedding_model="") as memory:
            memory.start_session()
            memory.learn(f"the gate of {name} is open")
            memory.purge(ids=[memory.learn(f"the gate of {name} was open").memory_id])
            push(memory, url)
    fleet.query("INSERT INTO robotmem.grants SELECT id, 'hall' FROM robotmem.robots WHERE name = 'other'")
    fleet.query("INSERT INTO robotmem.requests (robot, memory, reason) SELECT robot, uuid, 'x' FROM robotmem.memories")
    return urls


def test_a_robot_reads_and_writes_no_row_of_another_in_any_table(fleet: Fleet, two: dict[str, str]) -> None:
    tables = {name for (name,) in fleet.query("SELECT tablename FROM pg_tables WHERE schemaname = 'robotmem'")}
    assert tables == OTHERS.keys() | SHARED
    ((other,),) = fleet.query("SELECT id FROM robotmem.robots WHERE name = 'other'")
    values = {"other": other, "new": f"{other}, gen_random_uuid(), ''", "body": BODY}
    with closing(connect(two["own"])) as connection:
        for table, condition in OTHERS.items():
            all_rows = f"SELECT count(*), count(*) FILTER (WHERE {condition}) FROM robotmem.{table}"
            assert fleet.query(all_rows)[0][1] > 0, table
            rows, others = connection.execute(all_rows.encode()).fetchone() or (0, 0)
            assert (rows > 0, others) == (table != "grants", 0), table
        # Neither does it write what it may read.
        fleet.query("INSERT INTO robotmem.grants SELECT id, '*' FROM robotmem.robots WHERE name = 'own'")
        before = fleet.everything()
        for table in ("memories", "units"):
            for change in (f"UPDATE robotmem.{table} SET body = '{{}}'", f"DELETE FROM robotmem.{table}"):
                assert connection.execute(f"{change} WHERE robot = {other}".encode()).rowcount == 0
        assert connection.execute(f"UPDATE robotmem.robots SET revision = 0 WHERE id = {other}".encode()).rowcount == 0
        for statement in WRITES:
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(statement.format(**values).encode())
            assert refused.value.sqlstate == "42501", (statement, refused.value)
    assert fleet.everything() == before


def test_a_robot_reads_of_others_what_it_was_granted(fleet: Fleet, two: dict[str, str], tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "other.db", embedding_model="", fleet_collections="*, people") as memory:
        for collection in ("lab", "people", "people-at-home"):
            memory.learn(f"a fact of {collection}", collection=collection)
        push(memory, two["other"])
    with closing(connect(two["own"])) as connection:
        for granted, collections in (
            ("lab", {"lab"}),
            ("*", {"lab", "default"}),
            ("people", {"lab", "default", "people"}),
        ):
            with closing(connect(fleet.url)) as owner:
                administration.grant(owner, "own", granted)
            rows = connection.execute(f"SELECT DISTINCT collection FROM robotmem.memories WHERE NOT {OWN}".encode())
            assert {collection for (collection,) in rows} == collections
            assert connection.execute(f"SELECT count(*) FROM robotmem.units WHERE NOT {OWN}".encode()).fetchone() == (
                0,
            )
        with closing(connect(fleet.url)) as owner:
            for granted in ("lab", "*", "people"):
                administration.grant(owner, "own", granted, revoke=True)
            for name, problem in (("own", "has no robot 'own' that may read 'lab'"), ("no", "has no robot 'no'")):
                with pytest.raises(FleetError, match=problem):
                    administration.grant(owner, name, "lab", revoke=name == "own")
        assert connection.execute(f"SELECT count(*) FROM robotmem.memories WHERE NOT {OWN}".encode()).fetchone() == (0,)


def test_an_operator_reads_all_and_writes_nothing(fleet: Fleet, two: dict[str, str]) -> None:
    url = fleet.add("ada", add=administration.add_operator)
    before = fleet.everything()
    with closing(connect(url)) as connection:
        assert [robot.name for robot in administration.status(connection)] == ["other", "own"]
        contents = connection.execute("SELECT content FROM robotmem.memories ORDER BY content").fetchall()
        assert contents == [("the gate of other is open",), ("the gate of own is open",)]
        for table in OTHERS.keys() | SHARED:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"DELETE FROM robotmem.{table}".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT robotmem.add_model('x', 3)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT robotmem.index_models()")
        with pytest.raises(FleetError, match="permission denied"):
            administration.add_robot(connection, "third", fleet.folder / "third.pass")
    assert not (fleet.folder / "third.pass").exists()
    assert fleet.everything() == before


def test_a_login_of_no_fleet_sees_nothing(fleet: Fleet, two: dict[str, str], tmp_path: Path) -> None:
    fleet.query("CREATE ROLE robotmem_stranger LOGIN PASSWORD 'strange'")
    (tmp_path / "pass").write_text("*:*:*:robotmem_stranger:strange\n")
    (tmp_path / "pass").chmod(0o600)
    try:
        with pytest.raises(FleetError, match="permission denied"):
            connect(fleet.server.url(fleet.database, "robotmem_stranger", tmp_path / "pass"))
    finally:
        fleet.query("DROP ROLE robotmem_stranger")


def test_a_wrong_password_and_a_robot_that_was_renewed_are_refused(
    fleet: Fleet, two: dict[str, str], tmp_path: Path
) -> None:
    with closing(connect(fleet.url)) as connection:
        administration.renew_robot(connection, "own", tmp_path / "new.pass")
    with pytest.raises(FleetError, match="password authentication failed"):
        connect(two["own"])
    connect(fleet.server.url(fleet.database, "robot_own", tmp_path / "new.pass")).close()


def test_passwords_are_in_their_files_alone(fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--fleet-url", fleet.url]
    for number, words in enumerate((["robot", "add"], ["robot", "renew"], ["operator", "add"])):
        file = tmp_path / f"{number}.pass"
        assert main(["fleet", *words, "quiet", str(file), *at]) == 0
        password = file.read_text().strip().rpartition(":")[2]
        assert len(password) == 32
        assert file.stat().st_mode & 0o777 == 0o600
        assert password not in fleet.server.log
        told = capsys.readouterr()
        assert password not in told.out + told.err
        assert str(file) in told.out
        assert main(["fleet", *words, "quiet", str(file), *at]) == 1
        assert "cannot be written (File exists)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "postgres; DROP TABLE x", "Ada", "a" * 41, "ä", "-a"])
def test_a_name_that_is_no_role_is_refused(fleet: Fleet, tmp_path: Path, name: str) -> None:
    with closing(connect(fleet.url)) as connection, pytest.raises(InvalidFieldError, match=r"^NAME: .* small letters"):
        administration.add_robot(connection, name, tmp_path / "pass")
    assert not (tmp_path / "pass").exists()


@pytest.mark.parametrize(
    "url",
    ["postgresql://ada:secret@host/fleet", "postgresql://host/fleet?password=secret", "host=host password=secret",
     "postgresql://ada:secret@host:1:2/fleet", "secret"],
)  # fmt: skip
def test_a_url_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(FleetError) as refused:
        connection_settings(url)
    assert "secret" not in f"{refused.value!r} {refused.value}"


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql:///fleet", None),
        ("postgresql://localhost/fleet", None),
        ("postgresql://127.0.0.1,[::1]/fleet?target_session_attrs=read-write", None),
        ("postgresql://host/fleet", "verify-full"),
        ("postgresql://localhost,host/fleet", "verify-full"),
        ("postgresql://localhost/fleet?hostaddr=192.0.2.1", "verify-full"),
        ("service=fleet", "verify-full"),
        ("postgresql://host/fleet?sslmode=verify-full", "verify-full"),
    ],
)
def test_a_server_elsewhere_is_verified(url: str, mode: str | None) -> None:
    assert connection_settings(url).get("sslmode") == mode


@pytest.mark.parametrize("mode", ["disable", "prefer", "require", "verify-ca"])
def test_a_server_elsewhere_that_would_not_be_verified_is_refused(mode: str) -> None:
    with pytest.raises(FleetError, match=f"sslmode '{mode}' would not verify the server; use verify-full"):
        connection_settings(f"postgresql://host/fleet?sslmode={mode}")


def test_the_environment_names_a_server_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "host")
    assert connection_settings("dbname=fleet")["sslmode"] == "verify-full"
