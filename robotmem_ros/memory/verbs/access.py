"""Access to the file of a memory: each read on one state of it, each write in one transaction of the writer."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Concatenate, ParamSpec, TypeVar

from ..clocks import FIRST_OF_WALL_CLOCKS
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import ForkedMemoryError, ReadOnlyError
from ..parts import Parts
from ..storage import rows
from ..storage.snapshot import Snapshot, Transaction
from ..table.view import View
from ..times import OtherUnitError, moment

P = ParamSpec("P")
T = TypeVar("T")


class Access:
    """What all verbs share.

    Args:
        parts: The parts that work on the file.
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
    """

    def __init__(self, parts: Parts, parameters: Callable[[], Parameters], clock: Callable[[], int]) -> None:
        self.parameters = parameters
        self.clock = clock
        self._parts = parts
        self._process = os.getpid()

    @property
    def is_own(self) -> bool:
        """Tell whether this is the process that opened the memory."""
        return os.getpid() == self._process

    @property
    def parts(self) -> Parts:
        """Return the parts that work on the file; raises ForkedMemoryError."""
        # SQLite's connections, the threads and the locks that they held do not come along into a forked process.
        if not self.is_own:
            raise ForkedMemoryError
        return self._parts

    @property
    def writable(self) -> Parts:
        """Return the same for what writes; raises ReadOnlyError."""
        if self.parts.database.read_only:
            raise ReadOnlyError
        return self._parts

    def read(self, work: Callable[Concatenate[Snapshot, P], T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function with a snapshot."""
        with self.parts.database.snapshot() as snapshot:
            return work(snapshot, *arguments, **keywords)

    def ask(self, work: Callable[Concatenate[View, P], T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function with the table of all memories, while maintenance pauses."""
        parts = self.parts
        with parts.database.query_priority.query(), parts.tables.reading() as view:
            return work(view, *arguments, **keywords)

    def query(self, work: Callable[Concatenate[Snapshot, P], T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function with a snapshot, while maintenance pauses."""
        with self.parts.database.query_priority.query():
            return self.read(work, *arguments, **keywords)

    def write(
        self, work: Callable[Concatenate[Transaction, P], T], *arguments: P.args, **keywords: P.kwargs
    ) -> Future[T]:
        """Let the writer call a function with its transaction; the future is done when that is on disk."""
        return self.writable.database.write(lambda transaction: work(transaction, *arguments, **keywords))

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch, as every verb reads it: `now` is that of the robot's clock.

        Raises:
            InvalidFieldError: it is no time, see `Time`.
        """
        # Nothing is asked of the clock, which may fail, for what is a time of our days.
        is_ours = isinstance(value, int) and value >= FIRST_OF_WALL_CLOCKS
        try:
            return moment(field, value, 0 if is_ours else self.clock())
        except OtherUnitError:
            if isinstance(value, float) or not self.read(rows.has_simulated_times):
                raise
            return moment(field, value, 0)

    def decay(self) -> Decay:
        """Return how memories decay, seen from now by the robot's clock."""
        return Decay(self.parameters().decay_rate, self.clock())
