"""Parse the command line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ..memory.errors import did_you_mean
from .output import write_notice, write_result


class Parser(argparse.ArgumentParser):
    """Takes options before, between and behind the positional arguments, some of which may be left out."""

    _is_intermixed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # What begins like a negative number is a value, such as the place -1,2, and no option: so from Python 3.14 on.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self.register("type", int, _whole)
        self.register("type", float, _number)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments of a command as intermixed ones, which those of `robotmem` itself cannot be."""
        # argparse loses a `--` among intermixed arguments.
        if self._is_intermixed or self._subparsers is not None or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._is_intermixed = True
        try:
            values, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixed = False
        if unknown:
            guess = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"{' '.join(unknown)!r} is not understood{guess}")
        return values, unknown

    def error(self, message: str) -> NoReturn:
        """End with what is wrong, without the usage: that of some commands fills a screen."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        (write_result if file is sys.stdout else write_notice)(message)


def _whole(text: str) -> int:
    with suppress(ValueError):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number, such as 5")


def _number(text: str) -> float:
    with suppress(ValueError):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number, such as 0.5")
