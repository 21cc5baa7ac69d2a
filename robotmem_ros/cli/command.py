"""The shape of a command, and what commands share: the database, the confirmation of a deletion, the output."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field
from datetime import timezone
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from ..fleet import scope
from ..memory import RobotMemory
from ..memory.argument import arguments_of, is_time, schema_of
from ..memory.display import json_values
from ..memory.errors import DatabaseUnusableError, InvalidFieldError, RobotMemoryError
from ..memory.search.request import Scope
from ..memory.storage.connection import default_path, resolve
from ..memory.times import moment
from ..replay.config import load_config
from .output import write_notice, write_result


class CommandError(RobotMemoryError):
    """A command cannot do what its options ask for."""


class Option(NamedTuple):
    """Arguments of `argparse.ArgumentParser.add_argument`."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class Command(NamedTuple):
    """A command of `robotmem`; `run` returns an exit code, or None for 0."""

    name: str
    summary: str
    """One line for `robotmem --help`."""
    description: str
    """Sentences for `robotmem NAME --help`."""
    run: Callable[[argparse.Namespace], int | None]
    options: tuple[Option | tuple[Option, ...], ...]
    """Options; a tuple holds options that exclude each other."""

    def add_to(self, commands: Any) -> None:
        """Add a parser for the command."""
        parser = commands.add_parser(self.name, help=self.summary, description=self.description)
        parser.set_defaults(run=self.run)
        for entry in self.options:
            group = parser if isinstance(entry, Option) else parser.add_mutually_exclusive_group()
            for names, settings in [entry] if isinstance(entry, Option) else entry:
                group.add_argument(*names, **settings)


def option(*names: str, **settings: Any) -> Option:
    """Declare an option or a positional argument."""
    return Option(names, settings)


DATABASE = option("--db", default=default_path(), help="database file; default: %(default)s")
JSON = option("--json", action="store_true", help="print one JSON object")
_URL_VARIABLE = "ROBOTMEM_FLEET_URL"
FLEET_URL = option(
    "--fleet-url", default="", metavar="URL", help=f"fleet, a libpq URI or service; default: ${_URL_VARIABLE}"
)
DRY_RUN = option("--dry-run", action="store_true", help="only show what would be done")
YES = option("--yes", action="store_true", help="do not ask for confirmation")


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return the type of an option that takes a whole number from `low` to `high`."""

    def read(text: str) -> int:
        with suppress(ValueError):
            if low <= int(text) <= high:
                return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low:,} to {high:,}")

    return read


def limit(things: str, default: int, high: int) -> Option:
    """Declare the option for the largest number of things that a command lists."""
    about = f"largest number of {things}; default: %(default)s"
    return option("--n", type=whole(1, high), metavar="N", default=default, help=about)


def open_memory(path: str, *, read_only: bool = False, with_model: bool = False, **parameters: object) -> RobotMemory:
    """Open an existing database without maintenance, and without a model or `with_model` by that of its vectors.

    Raises:
        DatabaseUnusableError: the file does not exist or cannot be opened.
        InvalidFieldError: a parameter is invalid.
    """
    options: dict[str, Any] = {"session_maintenance": False, **parameters}
    if not with_model:
        options["embedding_model"] = ""
    return scope.open_memory(existing_path(path), read_only=read_only, **options)


def named_fleet(arguments: argparse.Namespace) -> str:
    """Return the URL of the fleet that an option, a parameter file or the environment names; empty if none does."""
    configured = load_config(arguments.config).parameters.fleet_url if getattr(arguments, "config", None) else ""
    return str(arguments.fleet_url or configured or os.environ.get(_URL_VARIABLE, ""))


def fleet_url(arguments: argparse.Namespace) -> str:
    """Return the URL of the fleet that is named.

    Raises:
        CommandError: none is.
    """
    url = named_fleet(arguments)
    if not url:
        raise CommandError(f"name the fleet by --fleet-url, the variable {_URL_VARIABLE} or fleet_url in --config")
    return url


def fleet_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameter that names the fleet, if the scope of a command looks at it.

    Raises:
        CommandError: nothing names the fleet.
    """
    return {} if Scope.of(arguments.scope) is Scope.ROBOT else {"fleet_url": fleet_url(arguments)}


def existing_path(path: str) -> Path:
    """Return the path of an existing database.

    Raises:
        DatabaseUnusableError: the file does not exist.
    """
    file = resolve(path)
    if not file.is_file():
        raise DatabaseUnusableError(path, "does not exist", "name a memory's file with --db")
    return file


def confirm(question: str, *, yes: bool) -> None:
    """Ask at the terminal unless `yes`; return only if the reply is `yes`.

    Raises:
        CommandError: the reply is another one, or stdin is no terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("this cannot be undone and there is no terminal to ask at; give --yes")
    write_notice(f"{question} Type yes to go on: ")
    if sys.stdin.readline().strip().lower() != "yes":
        raise CommandError("nothing was deleted")


def show(arguments: argparse.Namespace, result: object, text: str) -> None:
    """Print a result: as JSON if `--json` was given, else the text."""
    if arguments.json:
        text = json.dumps(json_values(result), ensure_ascii=False, indent=2) + "\n"
    write_result(text)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Align rows below a head, if any, one line each, columns of numbers to the right; empty without rows."""
    if not rows:
        return ""
    cells = [[f"{cell:,}" if isinstance(cell, int) else " ".join(str(cell).split()) for cell in row] for row in rows]
    columns = zip(*rows, strict=True)
    align = ["right" if all(isinstance(cell, (int, float)) for cell in column) else "left" for column in columns]
    text: str = tabulate([head, *cells] if head else cells, tablefmt="plain", colalign=align, disable_numparse=True)
    return f"{text}\n"


def time_ns(text: str) -> int:
    """Read a time as `moment` does, of UTC unless it names a zone, as nanoseconds since the epoch."""
    try:
        return moment("time", text, time.time_ns(), timezone.utc)
    except InvalidFieldError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def options_of(request: type, but: Container[str] = (), **names: str) -> tuple[Option, ...]:
    """Declare the options for the arguments of a request that doors offer.

    `names` are those of options that are called otherwise, or of positional arguments, by the names of the arguments.
    """
    entries = (entry for entry in arguments_of(request) if entry.name not in but)
    return tuple(option_of(entry, names.get(entry.name, f"--{entry.name.replace('_', '-')}")) for entry in entries)


def option_of(entry: Field[Any], name: str) -> Option:
    """Declare the option, or the positional argument, for an argument of a request."""
    about, is_required = entry.metadata["about"], entry.default is MISSING
    if entry.default is True:
        return option(f"--no-{entry.name}", dest=entry.name, action="store_false", help=f"not: {about}")
    if entry.default is False:
        return option(name, dest=entry.name, action="store_true", help=about)
    settings = _settings(entry, is_condition=entry.metadata["condition"] is not None)
    if settings.get("action") == "append":
        about += "; may be given several times"
    elif not is_required:
        settings["default"] = entry.default
        about += "; default: %(default)s" if entry.default not in {None, "", ()} else ""
    if name.startswith("-"):
        return option(name, dest=entry.name, required=is_required, **settings, help=about)
    settings = {"nargs": None if is_required else "?", **settings, "metavar": name}
    return option(entry.name, **settings, help=about)


def values_of(arguments: argparse.Namespace, request: type) -> dict[str, Any]:
    """Return the arguments of a request, as the options of `options_of` have them."""
    return {entry.name: getattr(arguments, entry.name) for entry in arguments_of(request) if entry.name in arguments}


def _settings(entry: Field[Any], *, is_condition: bool) -> dict[str, Any]:
    schema = schema_of(entry, lambda parameter: 0)
    types, items = schema["type"], schema.get("items", {}).get("type")
    if is_time(entry):
        return {"type": time_ns, "metavar": "TIME"}
    if types == "integer":
        read = whole(*entry.metadata["range"]) if entry.metadata["range"] else int
        return {"type": read, "metavar": "N"}
    if types == "number":
        return {"type": float, "metavar": "NUMBER"}
    if types == "string":
        return {"metavar": "TEXT"}
    if "object" in types:
        return {"metavar": "JSON"}
    if items == "number":
        return {"nargs": "+", "action": _Joined, "metavar": "NUMBER"}
    kind: dict[str, Any] = {"type": int, "metavar": "ID"} if items == "integer" else {"metavar": "NAME"}
    return {"action": "append", **kind} if is_condition else {"nargs": "+", **kind}


class _Joined(argparse.Action):
    """Keep numbers as one text, however they are separated; the memory reads it."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        setattr(namespace, self.dest, " ".join(values))
