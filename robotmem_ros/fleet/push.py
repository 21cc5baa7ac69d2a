"""Send the changes of a file to its fleet.

The server keeps the cursor: epoch and revision up to which it has the file. So nothing is queued here, and whatever
happened to the network, the server or the file, the next push goes on from what the server has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from psycopg import errors

from ..memory.batch import BEGINNING, Batch, Cursor
from ..memory.robot_memory import RobotMemory
from ..memory.storage import feed, lived_days, revisions, vector_rows
from ..memory.storage.snapshot import Snapshot
from ..memory.threads import MaintenanceLoop, Step, piecewise
from .batches import apply, vector_text
from .connection import SILENT, Connection, FleetError, connect, connection_settings, fleet_errors
from .pull import Pull

_CHANGES = 512
"""Changes in one batch, at least."""
_PERIOD = 1.0
_PULL_PERIOD = 5.0
_CONTACT_PERIOD = 10.0
"""Seconds after which a robot without changes is in contact: so it notices a server that was restored."""
_PATIENCE = 2.0
"""Seconds that a robot waits at its end for a network that does not answer."""
_ROBOT = """
    SELECT id, name, file, policy, epoch, revision, latest_epoch, latest FROM robotmem.robots WHERE role = current_user
    FOR UPDATE
"""
_ACKNOWLEDGE = """
    UPDATE robotmem.robots SET file = %(file)s, epoch = %(epoch)s, revision = %(revision)s, policy = %(policy)s,
        latest_epoch = %(end_epoch)s, latest = %(end)s, lived_days = %(lived_days)s,
        days = %(days)s, contact = now() WHERE id = %(id)s
"""
_LACKING = """
    SELECT uuid, model FROM robotmem.memories
    WHERE robot = %(robot)s AND status = 'active' AND model {side} %(model)s AND (model, uuid) > (%(at)s, %(uuid)s)
    ORDER BY model, uuid LIMIT %(n)s
"""
_OUTDATED = (
    "the fleet has later changes of the file {} than the file itself: two robots push copies of it under one name, and "
    "this is the one that was started first; or it was put back from a backup and has stored nothing since"
)
_VECTORS = """
    CREATE TEMP TABLE IF NOT EXISTS vectors (uuid uuid, embedding halfvec, parts halfvec[]) ON COMMIT DELETE ROWS
"""


class _File(NamedTuple):
    """What a file has to send."""

    robot: str
    latest: int
    vector: int
    """Id of the newest vector."""
    model: str
    days: tuple[int | None, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> _File:
        model = vector_rows.model(snapshot) or ""
        return cls(
            revisions.robot(snapshot),
            revisions.latest(snapshot),
            vector_rows.newest(snapshot),
            model,
            lived_days.in_order(snapshot),
        )


def backlog(snapshot: Snapshot, cursor: Cursor) -> int:
    """Return how many revisions of a file are behind the cursor of the server."""
    return revisions.latest(snapshot) - (cursor.revision if revisions.has_history(snapshot, cursor) else 0)


def backlog_at(connection: Connection, memory: RobotMemory) -> int:
    """Return how many revisions of a file the fleet lacks, as far as the login may see."""
    with memory.parts.database.snapshot() as snapshot:
        sql = "SELECT epoch, revision, latest_epoch, latest FROM robotmem.robots WHERE file = %s"
        row = connection.execute(sql, (revisions.robot(snapshot),)).fetchone()
        return backlog(snapshot, Cursor(*row) if row else BEGINNING)


class Push:
    """Sends what changed in a memory to the fleet at a URL, when it is asked to.

    With `keeps_policy` it sends the collections that were sent before, whatever the parameters of the memory say.

    Raises:
        FleetError: the URL cannot be used.
    """

    def __init__(self, memory: RobotMemory, url: str, *, keeps_policy: bool = False) -> None:
        connection_settings(url)
        self._policy, self._max_data = memory.parameters.fleet_collections, memory.parameters.fleet_max_data
        self._keeps_policy = keeps_policy
        self._database = memory.parts.database
        self._url = url
        self._connection: Connection | None = None
        self._complete: _File | None = None
        self._contact_due = 0.0
        self.acknowledged = BEGINNING
        """Cursor of what the server has of the file, as far as is known here."""
        self.sent = 0
        """Memories that the server stored."""
        self._has_answer = False

    @property
    def is_silent(self) -> bool:
        """Tell whether the server seems to hang."""
        connection = self._connection
        return connection is not None and connection.is_silent

    @property
    def backlog(self) -> int:
        """Return how many revisions of the file the server has not acknowledged; -1 until it has answered."""
        with self._database.snapshot() as snapshot:
            return backlog(snapshot, self.acknowledged) if self._has_answer else -1

    def pieces(self) -> Iterator[None]:
        """Send batches until the server has all, and then the vectors that it lacks; yield after each.

        Raises:
            FleetError: the fleet cannot be reached, or refuses this robot.
            StorageError: the file cannot be read.
        """
        with self._database.snapshot() as snapshot:
            file = _File.of(snapshot)
        if file == self._complete and time.monotonic() < self._contact_due:
            return
        try:
            with fleet_errors():
                if self._connection is None:
                    self._connection = connect(self._url)
                while self._send_batch(self._connection):
                    yield
                if file != self._complete:
                    yield from self._send_vectors(self._connection, file.model)
        except BaseException:
            self.close()
            raise
        self._complete, self._contact_due = file, time.monotonic() + _CONTACT_PERIOD

    def close(self) -> None:
        """Close the connection."""
        self._complete = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send_batch(self, connection: Connection) -> bool:
        with connection.transaction():
            robot_row = connection.execute(_ROBOT).fetchone()
            if robot_row is None:
                raise FleetError("the fleet has no robot of this login; `robotmem fleet robot add NAME` makes one")
            robot, name, known_file, known_policy, *cursor = robot_row
            policy = known_policy if self._keeps_policy and known_policy is not None else self._policy
            acknowledged = Cursor(*cursor)
            # By another policy, what was sent and is to stay is taken back, and what stayed is sent.
            file, batch = self._read(acknowledged, again=policy != known_policy)
            if known_file not in (None, file.robot):
                raise FleetError(
                    f"the robot {name!r} of the fleet is the file {known_file}, and this is the file {file.robot}: two "
                    f"robots have one name; if the other file is lost, run `robotmem fleet robot renew {name}`"
                )
            values = {
                "id": robot,
                "file": file.robot,
                "policy": policy,
                "lived_days": len(file.days),
                "days": [*file.days],
                **(acknowledged if batch is None else batch.cursor)._asdict(),
            }
            try:
                # First: whose file it is says more than that its rows are of another robot.
                connection.execute(_ACKNOWLEDGE, values)
            except errors.UniqueViolation:
                raise FleetError(
                    f"the file {file.robot} is another robot of the fleet already, and this is a copy of it; give the "
                    f"robot {name!r} a file of its own"
                ) from None
            count = 0
            if batch is not None:
                count, acknowledged = apply(connection, robot, batch, policy), batch.cursor
        self.acknowledged, self._has_answer = acknowledged, True
        self.sent += count
        return batch is not None

    def _read(self, cursor: Cursor, *, again: bool) -> tuple[_File, Batch | None]:
        with self._database.snapshot() as snapshot:
            if not revisions.has_history(snapshot, cursor):
                # What a file stores after it was restored is of a later epoch than all that it lost.
                if revisions.epoch_of(snapshot, revisions.latest(snapshot)) < max(cursor.epoch, cursor.end_epoch):
                    raise FleetError(_OUTDATED.format(revisions.robot(snapshot)))
                # What the server has in a newer version stays there.
                again = True
            batch = feed.changes_since(snapshot, BEGINNING if again else cursor, _CHANGES, self._max_data)
            return _File.of(snapshot), batch

    def _send_vectors(self, connection: Connection, model: str) -> Iterator[None]:
        if not model:
            return
        (robot,) = connection.execute("SELECT robotmem.me()").fetchone() or (None,)
        for side in ("<", ">"):
            at = {"at": "", "uuid": UUID(int=0)}
            values: dict[str, object] = {"robot": robot, "model": model, "n": _CHANGES, **at}
            while rows := connection.execute(_LACKING.format(side=side), values).fetchall():
                self._store_vectors(connection, values, [uuid.hex for uuid, _ in rows])
                values["uuid"], values["at"] = rows[-1]
                yield
        # By itself: it needs a lock on all memories.
        connection.takes_long = True
        connection.execute("SELECT robotmem.index_models()")
        connection.takes_long = False

    def _store_vectors(self, connection: Connection, values: dict[str, object], uuids: list[str]) -> None:
        with self._database.snapshot() as snapshot:
            vectors = feed.vectors_of(snapshot, uuids) if vector_rows.model(snapshot) == values["model"] else {}
        size = max((len(parts[0]) for parts in vectors.values() if parts), default=0)
        if size:
            connection.execute("SELECT robotmem.add_model(%s, %s)", (values["model"], size))
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(_VECTORS)
            with cursor.copy("COPY vectors FROM STDIN") as copy:
                for uuid, parts in vectors.items():
                    texts = [*map(vector_text, parts)]
                    copy.write_row((uuid, texts[0] if texts else None, texts[1:] or None))
            cursor.execute(
                "UPDATE robotmem.memories AS m SET model = %(model)s, embedding = v.embedding, parts = v.parts "
                "FROM vectors AS v WHERE m.robot = %(robot)s AND m.uuid = v.uuid",
                values,
            )


class Follower:
    """Pushes and pulls while a memory is in use, in a thread of its own: a robot never waits for its fleet.

    Raises:
        FleetError: the URL cannot be used.
    """

    def __init__(self, memory: RobotMemory, url: str) -> None:
        self._push, self._pull = Push(memory, url), Pull(memory, url)
        self._loop = MaintenanceLoop("robotmem-fleet")
        step = Step("push to the fleet", piecewise(self._push.pieces), period=_PERIOD)
        pull = Step("pull from the fleet", piecewise(self._pull.pieces), period=_PULL_PERIOD)
        self._loop.start([step, pull], memory.parts.database.query_priority)

    @property
    def trouble(self) -> str:
        """Say why the fleet gets nothing; empty if it does."""
        return self._loop.trouble or f"fleet: {SILENT}" * (self._push.is_silent or self._pull.is_silent)

    @property
    def backlog(self) -> int:
        """Return how many revisions of the file the fleet has not acknowledged; -1 until it has answered."""
        return self._push.backlog

    def close(self) -> None:
        """End the thread; what was not sent is sent after the next start."""

        def end() -> None:
            self._loop.close()
            self._push.close()
            self._pull.close()

        # A network that does not answer must not keep the robot.
        thread = threading.Thread(target=end, name="robotmem-fleet-end", daemon=True)
        thread.start()
        thread.join(_PATIENCE)
