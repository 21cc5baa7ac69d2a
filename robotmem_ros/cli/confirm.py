"""Asks before what cannot be undone."""

from __future__ import annotations

import sys

from ..memory.errors import RobotMemoryError


class NotConfirmedError(RobotMemoryError):
    """Nobody said yes."""


def confirm(question: str, *, yes: bool) -> None:
    """Goes on only after a `yes`, which may be given before.

    Raises:
        NotConfirmedError: the answer was another one, or there is nobody to ask.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmedError("this cannot be undone and there is nobody to ask; give --yes")
    sys.stderr.write(f"{question} Type yes to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise NotConfirmedError("nothing was deleted")
