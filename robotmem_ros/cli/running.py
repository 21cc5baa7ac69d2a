"""Runs what was asked for on the command line, and says how it ended."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..memory.errors import RobotMemoryError

_INTERRUPTED = 130


def run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Runs what the arguments chose; errors of ours are said in one line. 0, 1 or 130 as the end of the process."""
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except RobotMemoryError as error:
        sys.stderr.write(f"robotmem: {error}\n")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("robotmem: interrupted\n")
        return _INTERRUPTED
