"""Bring from the fleet what is for a robot: requests, and what other robots know, which is stored in the own file.

The server stamps what it stores, later for each robot than all before, also after it was restored from a backup. So one
number for each robot tells up to where the file has it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from ..memory.batch import Batch
from ..memory.errors import MALFORMED, InvalidFieldError
from ..memory.fellow_robots import as_of_another, uuid_of_another
from ..memory.robot_memory import RobotMemory
from ..memory.storage import feed
from .connection import Connection, connect, connection_settings, fleet_errors
from .requests import carry_out

_ROWS = 256
_ROBOTS = "SELECT id, name, stored FROM robotmem.robots WHERE role <> current_user ORDER BY name"
_GRANTS = "SELECT collection FROM robotmem.grants ORDER BY collection"
_IS_SHARED = "(type = 'fact' OR body #>> '{object,0,confirmed}' = '1' AND body ->> 'map_id' = ANY (%(maps)s))"
_CHANGES = f"""
    SELECT stored, uuid, CASE WHEN {_IS_SHARED} THEN body END FROM robotmem.memories
    WHERE robot = %(robot)s AND (stored, uuid) > (%(after)s, %(uuid)s) AND stored <= %(last)s
    AND (%(collections)s::text[] IS NULL OR collection = ANY (%(collections)s)) AND (status = 'active' OR %(after)s > 0)
    ORDER BY stored, uuid LIMIT %(n)s
"""
_BODIES = "SELECT uuid, body FROM robotmem.memories WHERE robot = %s AND uuid = ANY (%s)"
_DELETIONS = "SELECT uuid FROM robotmem.deleted WHERE robot = %(robot)s AND stored > %(after)s AND stored <= %(last)s"
_FIRST = "00000000-0000-0000-0000-000000000000"
_LOG = logging.getLogger(__name__)


class Pull:
    """Carries out requests, and stores what other robots know of some collections, when it is asked to.

    Raises:
        FleetError: the URL cannot be used.
    """

    def __init__(self, memory: RobotMemory, url: str) -> None:
        connection_settings(url)
        self._memory, self._url = memory, url
        names = [name.strip() for name in memory.parameters.fleet_subscriptions.split(",")]
        self._collections = [*filter(None, names)]
        self._connection: Connection | None = None
        self.stored = 0
        """Memories that were stored."""

    def pieces(self) -> Iterator[None]:
        """Store batches until the file has all; yield after each.

        Raises:
            FleetError: the fleet cannot be reached, or refuses this robot.
            StorageError: the file cannot be written.
        """
        try:
            with fleet_errors():
                if self._connection is None:
                    self._connection = connect(self._url)
                carry_out(self._connection, self._memory)
                if not self._collections:
                    return
                grants = [name for (name,) in self._connection.execute(_GRANTS)]
                for robot, name, last in self._connection.execute(_ROBOTS).fetchall():
                    yield from self._robot(self._connection, robot, name, last, grants)
        except BaseException:
            self.close()
            raise

    @property
    def is_silent(self) -> bool:
        """Tell whether the server seems to hang."""
        connection = self._connection
        return connection is not None and connection.is_silent

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _robot(self, connection: Connection, robot: int, name: str, last: int, grants: Sequence[str]) -> Iterator[None]:
        with self._memory.parts.tables.reading(in_pieces=True) as view:
            # An unnamed map may be any.
            maps = sorted({*view.maps(), self._memory.parameters.map_id} - {""})
            scope = feed.scope_of(self._collections, maps, grants)
            after = feed.subscribed_place(view.snapshot, name, scope)
        if last <= after:
            return
        values: dict[str, Any] = {
            "robot": robot, "after": after, "uuid": _FIRST, "last": last, "maps": maps, "n": _ROWS,
            "collections": None if "*" in self._collections else self._collections,
        }  # fmt: skip
        deletions = tuple(uuid_of_another(name, uuid.hex) for (uuid,) in connection.execute(_DELETIONS, values))
        has_more = True
        while has_more:
            page = connection.execute(_CHANGES, values).fetchall()
            has_more = len(page) == _ROWS
            bodies = {uuid.hex: (stamp, body) for stamp, uuid, body in page}
            bodies |= self._gone(connection, robot, name, bodies)
            rows = [row for uuid, value in bodies.items() if (row := _row(name, uuid, *value)) is not None]
            if page:
                values["after"], values["uuid"] = page[-1][:2]
            # Rows of one stamp may be on two pages.
            self._store(name, scope, rows, deletions, values["after"] - 1 if has_more else last)
            deletions = ()
            yield

    def _gone(
        self, connection: Connection, robot: int, name: str, bodies: dict[str, tuple[int, Any]]
    ) -> dict[str, Any]:
        # What the file has and would not get any more, such as an object that is not confirmed now.
        names = {uuid_of_another(name, uuid): uuid for uuid, (_, body) in bodies.items() if body is None}
        with self._memory.parts.database.snapshot() as snapshot:
            uuids = [names[uuid] for uuid in feed.stored_among(snapshot, [*names])]
        rows = connection.execute(_BODIES, (robot, uuids)).fetchall() if uuids else []
        return {uuid.hex: (bodies[uuid.hex][0], body) for uuid, body in rows}

    def _store(self, name: str, scope: str, rows: Sequence[Any], deletions: tuple[str, ...], place: int) -> None:
        batch = Batch(name, "", 0, place, tuple(rows), deletions)
        database, store = self._memory.parts.database, feed.store_subscribed
        try:
            self.stored += (
                database.write(lambda transaction: store(transaction, name, scope, batch, place)).result().stored
            )
        except InvalidFieldError as cause:
            if len(rows) + len(deletions) <= 1:
                _LOG.warning("fleet: a memory of %s is left out: %s", name, cause)
                self._store(name, scope, (), (), place)
                return
            # What somebody put into the fleet by hand must not keep the rest from coming.
            parts = [((row,), ()) for row in rows] + [((), (uuid,)) for uuid in deletions]
            with self._memory.parts.database.snapshot() as snapshot:
                before = feed.subscribed_place(snapshot, name, scope)
            for part_rows, part_deleted in parts:
                self._store(name, scope, part_rows, part_deleted, before)
            self._store(name, scope, (), (), place)
        self._memory.parts.maintenance.notify()


def _row(name: str, uuid: str, stamp: int, body: Any) -> dict[str, Any] | None:
    # A row that was put there by hand may hold anything: what cannot be read here is found when it is stored.
    if not isinstance(body, dict):
        return None
    try:
        row = as_of_another(name, {**body, "unit": "memory", "uuid": uuid})
    except MALFORMED:
        return None
    return row and {**row, "revision": stamp}
