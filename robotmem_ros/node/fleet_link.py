"""The node's link to its fleet, if a parameter names one: it sends what the memory stores, beside all other work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memory import RobotMemory

if TYPE_CHECKING:
    from ..fleet.push import Follower


class FleetLink:
    """Follows a memory and pushes it to the fleet at a URL; with an empty one it does nothing.

    Raises:
        FleetError: the URL cannot be used.
    """

    def __init__(self, memory: RobotMemory, url: str) -> None:
        self._follower: Follower | None = None
        self._problem = ""
        if not url:
            return
        try:
            from ..fleet.push import Follower
        except ImportError as cause:
            # Without its library psycopg names none.
            missing = cause.name or "libpq"
            self._problem = (
                f"fleet_url: {missing} is not installed (pip install 'robotmem_ros[fleet]'); nothing is sent"
            )
            return
        self._follower = Follower(memory, url)

    @property
    def trouble(self) -> str:
        """Say why nothing is sent; empty if something is, or there is no fleet."""
        return self._follower.trouble if self._follower else self._problem

    def backlog(self) -> dict[str, int]:
        """Return how many revisions were not sent, under the name of the value; empty without a fleet.

        Raises:
            StorageError: the database could not be read.
        """
        return {"fleet_backlog": self._follower.backlog} if self._follower else {}

    def close(self) -> None:
        """Send nothing more."""
        if self._follower:
            self._follower.close()
