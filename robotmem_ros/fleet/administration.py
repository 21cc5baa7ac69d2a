"""Make the database of a fleet, its robots and operators, load files of batches, and show how the robots stand."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import errors, sql

from ..memory.batch import Batch
from ..memory.config.parameters import Parameters
from ..memory.errors import MALFORMED, InvalidFieldError
from ..memory.fellow_robots import robot_name
from ..memory.new_file import new_file
from .batches import apply, derived
from .connection import MIGRATIONS, Connection, FleetError, fleet_errors

_STATUS = """
    SELECT r.name, r.role, coalesce(r.file, ''),
        coalesce(to_char(r.contact AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ''), r.revision, r.latest,
        count(m.uuid), count(m.embedding) FROM robotmem.robots AS r LEFT JOIN robotmem.memories AS m ON m.robot = r.id
    GROUP BY r.id ORDER BY r.name
"""


_PAGE = """
    SELECT robot, uuid, body FROM robotmem.memories WHERE (robot, uuid) > (%s, %s) ORDER BY robot, uuid LIMIT 1000
    FOR UPDATE
"""
_DERIVE = """
    UPDATE robotmem.memories AS m SET (words, label_key, twin, stays) = (d.words, d.label_key, d.twin, d.stays)
    FROM (SELECT %(words)s::tsvector AS words, %(label_key)s AS label_key, %(twin)s::uuid AS twin,
        robotmem.stays_of(%(stays)s::jsonb) AS stays) AS d
    WHERE robot = %(robot)s AND uuid = %(uuid)s
    AND (m.words, m.label_key, m.twin, m.stays) IS DISTINCT FROM (d.words, d.label_key, d.twin, d.stays)
"""
_COUNT_WORDS = """
    LOCK robotmem.memories IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM robotmem.words;
    INSERT INTO robotmem.words SELECT robot, collection, word, count(*)
        FROM robotmem.memories, unnest(tsvector_to_array(words) || array['']) AS word GROUP BY robot, collection, word
"""


@dataclass(frozen=True)
class RobotStatus:
    """How a robot of the fleet stands."""

    name: str
    role: str
    file: str
    """The lineage of its file; empty until it has sent something."""
    contact: str
    """ISO 8601, in UTC; empty for never."""
    revision: int
    """The last revision that the fleet has."""
    latest: int
    """The last revision of the file at the last contact."""
    memories: int
    vectors: int

    @property
    def backlog(self) -> int:
        """Return how many revisions the fleet lacked at the last contact."""
        return max(self.latest - self.revision, 0)


def initialize(connection: Connection) -> int:
    """Make the database of a fleet, or bring it up to date; return its version.

    Raises:
        FleetError: the login may not do that, or the server lacks pgvector.
    """
    with fleet_errors(), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('robotmem.migrations'))")
        (has_fleet,) = connection.execute("SELECT to_regclass('robotmem.migrations') IS NOT NULL").fetchone() or (0,)
        rows = connection.execute("SELECT max(n) FROM robotmem.migrations").fetchall() if has_fleet else [(0,)]
        steps = [*enumerate(MIGRATIONS, start=1)][rows[0][0] :]
        for number, name in steps:
            connection.execute((Path(__file__).parent / name).read_bytes())
            connection.execute("INSERT INTO robotmem.migrations (n) VALUES (%s)", (number,))
    return len(MIGRATIONS)


def add_robot(connection: Connection, name: str, password_file: Path) -> str:
    """Add a robot and write the password of its role into a new file; return the role.

    Raises:
        InvalidFieldError: the name cannot be used, or the file cannot be written.
        FleetError: there is a robot of that name, or the login may not do that.
    """
    role = _role("robot", name)
    with fleet_errors(), _new_password(password_file, role) as password, connection.transaction():
        robots = connection.execute(
            "INSERT INTO robotmem.robots (name, role) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING id", (name, role)
        )
        if robots.fetchone() is None:
            raise FleetError(f"the fleet has a robot {name!r} already; take another name, or `robot renew {name}`")
        _set_login(connection, role, "robotmem_robots", password)
    return role


def renew_robot(connection: Connection, name: str, password_file: Path) -> str:
    """Give a robot a new password, and let the next file that pushes be its file; return the role.

    Raises:
        InvalidFieldError: the file cannot be written.
        FleetError: there is no robot of that name, or the login may not do that.
    """
    role = _role("robot", name)
    with fleet_errors(), _new_password(password_file, role) as password, connection.transaction():
        renewed = connection.execute(
            "UPDATE robotmem.robots SET file = NULL, epoch = '', revision = 0, latest_epoch = '', latest = 0, "
            "policy = NULL WHERE name = %s",
            (name,),
        )
        if not renewed.rowcount:
            raise FleetError(f"the fleet has no robot {name!r}; `robot add {name}` makes it")
        _set_login(connection, role, "robotmem_robots", password)
        # Whoever is logged in by the old password would go on. Some owners may not end that.
        with suppress(errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
    return role


def grant(connection: Connection, name: str, collection: str, *, revoke: bool = False) -> None:
    """Let a robot read a collection of the others, `*` for all but those of people, or no longer.

    Raises:
        FleetError: there is no such robot or right, or the login may not do that.
    """
    statement = (
        "DELETE FROM robotmem.grants USING robotmem.robots WHERE id = robot AND name = %s AND collection = %s"
        if revoke
        else "INSERT INTO robotmem.grants SELECT id, %s FROM robotmem.robots WHERE name = %s "
        "ON CONFLICT (robot, collection) DO UPDATE SET collection = excluded.collection"
    )
    values = (name, collection) if revoke else (collection, name)
    with fleet_errors():
        if not connection.execute(statement.encode(), values).rowcount:
            raise FleetError(f"the fleet has no robot {name!r}" + f" that may read {collection!r}" * revoke)


def add_operator(connection: Connection, name: str, password_file: Path) -> str:
    """Let an operator log in, who reads everything, with a new password in a new file; return the role.

    Raises:
        InvalidFieldError: the name cannot be used, or the file cannot be written.
        FleetError: the login may not do that.
    """
    role = _role("operator", name)
    with fleet_errors(), _new_password(password_file, role) as password, connection.transaction():
        _set_login(connection, role, "robotmem_operators", password)
    return role


def load(connection: Connection, batches: Iterable[Batch], name: str) -> int:
    """Store batches under the robots whose files they are of; return how many memories were stored.

    The cursor of a robot stays: what else its file has, it sends itself. `name` is the robot of a file that the fleet
    does not know; empty if there is none.

    Raises:
        FleetError: a file belongs to no robot, or the login may not store it.
    """
    count = 0
    for batch in batches:
        with fleet_errors(), connection.transaction():
            robot, policy = _robot_of(connection, batch.robot, name)
            count += apply(connection, robot, batch, policy)
            connection.execute(
                "UPDATE robotmem.robots SET lived_days = greatest(lived_days, %s) WHERE id = %s",
                (batch.lived_days, robot),
            )
    return count


def rebuild(connection: Connection) -> int:
    """Compute again what follows from the bodies of memories, and write all tables and indexes anew.

    What robots send waits meanwhile. Return how many memories had other words.

    Raises:
        FleetError: the login may not do that, or somebody holds a lock for a minute.
    """
    count, place = 0, [-1, UUID(int=0)]
    with fleet_errors():
        while place:
            with connection.transaction(), connection.cursor() as cursor:
                page = cursor.execute(_PAGE, place).fetchall()
                cursor.executemany(_DERIVE, [values for row in page for values in _derived(*row)])
                count += max(cursor.rowcount, 0)
            place = [*page[-1][:2]] if page else []
        with connection.transaction():
            connection.execute(_COUNT_WORDS)
        # An index of words and the statistics keep the words of what was deleted, and pages its bytes.
        connection.execute("ANALYZE")
        connection.execute("VACUUM (FULL, ANALYZE)")
    return count


def _derived(robot: int, uuid: UUID, body: Any) -> Iterator[dict[str, object]]:
    # A row that was put there by hand may lack anything; it stays as it is.
    with suppress(*MALFORMED):
        yield {"robot": robot, "uuid": uuid, **derived(body)}


def deletions(connection: Connection) -> frozenset[str]:
    """Return the UUIDs of what was deleted, as far as the login may see it.

    Raises:
        FleetError: the fleet cannot be read.
    """
    with fleet_errors():
        return frozenset(uuid.hex for (uuid,) in connection.execute("SELECT uuid FROM robotmem.deleted"))


def status(connection: Connection) -> list[RobotStatus]:
    """Return how each robot stands that the login may see, by their names.

    Raises:
        FleetError: the fleet cannot be read.
    """
    with fleet_errors():
        return [RobotStatus(*row) for row in connection.execute(_STATUS)]


def _robot_of(connection: Connection, file: str, name: str) -> tuple[int, str]:
    row = connection.execute("SELECT id, policy FROM robotmem.robots WHERE file = %s FOR UPDATE", (file,)).fetchone()
    if row is None and name:
        sql_text = "UPDATE robotmem.robots SET file = %s WHERE name = %s AND file IS NULL RETURNING id, policy"
        row = connection.execute(sql_text, (file, name)).fetchone()
        if row is None:
            raise FleetError(f"the fleet has no robot {name!r} without a file")
    if row is None:
        raise FleetError(f"the file {file} is no robot of the fleet yet; name the robot by --robot NAME")
    robot, policy = row
    return robot, Parameters.fleet_collections if policy is None else policy


def _role(prefix: str, name: str) -> str:
    return f"{prefix}_{robot_name('NAME', name)}"


@contextmanager
def _new_password(path: Path, role: str) -> Iterator[str]:
    """Make a password, and a file of passwords for libpq that appears when the block ends without an error."""
    password = secrets.token_urlsafe(24)
    try:
        with new_file(path, mode=0o600) as file:
            file.write(f"*:*:*:{role}:{password}\n".encode())
            yield password
    except OSError as cause:
        raise InvalidFieldError("PASSWORD_FILE", path, f"cannot be written ({cause.strerror})") from cause


def _set_login(connection: Connection, role: str, group: str, password: str) -> None:
    # The server gets no password, only what checks it: statements may be in its log.
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    exists = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).rowcount
    names = {"role": sql.Identifier(role), "group": sql.Identifier(group), "verifier": sql.Literal(verifier)}
    statement = (
        "ALTER ROLE {role} LOGIN PASSWORD {verifier}" if exists else "CREATE ROLE {role} LOGIN PASSWORD {verifier}"
    )
    connection.execute(sql.SQL(statement).format(**names))
    connection.execute(sql.SQL("GRANT {group} TO {role}").format(**names))
