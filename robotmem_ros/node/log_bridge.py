"""Hands what the rest of the package logs, which knows nothing of ROS, to the log of the node."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.impl.rcutils_logger import RcutilsLogger

_PACKAGE = __name__.partition(".")[0]


@contextmanager
def bridged(logger: RcutilsLogger) -> Iterator[None]:
    """Log everything of this package through a ROS logger, from its level on, instead of to stderr."""
    ours = logging.getLogger(_PACKAGE)
    before = ours.level, ours.propagate
    handler = _Bridge(logger)
    ours.addHandler(handler)
    # The levels of both have the same numbers. What is below costs its caller next to nothing.
    ours.setLevel(int(logger.get_effective_level()))
    ours.propagate = False
    try:
        yield
    finally:
        ours.removeHandler(handler)
        ours.level, ours.propagate = before


class _Bridge(logging.Handler):
    def __init__(self, logger: RcutilsLogger) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        message = self.format(record)
        # A line for each level: rclpy does not let one line of code log with two of them.
        if record.levelno >= logging.CRITICAL:
            self._logger.fatal(message)
        elif record.levelno >= logging.ERROR:
            self._logger.error(message)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(message)
        elif record.levelno >= logging.INFO:
            self._logger.info(message)
        else:
            self._logger.debug(message)
