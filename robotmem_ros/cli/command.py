"""The shape of a command, and what commands share: options of a request, the memory, the confirmation of a deletion."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field
from datetime import timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ..fleet import scope
from ..memory import RobotMemory
from ..memory.argument import arguments_of, is_time, schema_of
from ..memory.errors import DatabaseUnusableError, InvalidFieldError
from ..memory.search.request import Scope
from ..memory.storage.connection import default_path, resolve
from ..memory.times import moment
from ..memory.verbs.table import VERBS
from ..replay.config import load_config
from .listing import JSON, LISTING, CommandError, Option, option, show
from .output import write_notice

N = TypeVar("N", int, float)
Run = Callable[[argparse.Namespace], "int | None"]


class Shown(NamedTuple):
    """A result of a command, as it is shown."""

    result: object
    text: str = ""
    """How people read it; empty for by its fields."""
    exit_code: int = 0


Work = Callable[[RobotMemory, argparse.Namespace], Shown]
"""Function of a command on a memory."""


class Command(NamedTuple):
    """A command of `robotmem`; `run` returns an exit code, or None for 0."""

    name: str
    summary: str
    """One line for `robotmem --help`."""
    description: str
    """Sentences for `robotmem NAME --help`."""
    run: Run
    options: tuple[Option | tuple[Option, ...], ...]
    """Options; a tuple holds options that exclude each other."""
    work: Work | None = None
    """What is done with a memory, of a file or of a node; None for what needs more than its verbs."""
    verb: str = ""
    """Path of the verb that `work` calls, such as `tags.add`."""
    lists: str | Callable[[argparse.Namespace], str] = ""
    """What of the result `--csv` and `--columns` show."""
    columns: str | None = None
    """Columns of that for people; None for all."""

    def show(self, arguments: argparse.Namespace, shown: Shown) -> int:
        """Print what the command found, and return its exit code."""
        listed = self.lists(arguments) if callable(self.lists) else self.lists
        show(arguments, shown.result, shown.text, listed, self.columns)
        return shown.exit_code

    def add_to(self, commands: Any) -> None:
        """Add a parser for the command."""
        parser = commands.add_parser(self.name.rpartition(" ")[2], help=self.summary, description=self.description)
        parser.set_defaults(run=self.run, called=self)
        for entry in self.options:
            group = parser if isinstance(entry, Option) else parser.add_mutually_exclusive_group()
            for names, settings in [entry] if isinstance(entry, Option) else entry:
                group.add_argument(*names, **settings)


DATABASE = option("--db", default=default_path(), help="database file; default: %(default)s")
NO_MODEL = option("--no-model", action="store_true", help="search by words alone")
_URL_VARIABLE = "ROBOTMEM_FLEET_URL"
FLEET_URL = option(
    "--fleet-url", default="", metavar="URL", help=f"fleet, a libpq URI or service; default: ${_URL_VARIABLE}"
)
AREAS_FILE = option("--areas-file", default="", metavar="FILE", help="polygons of areas, as the parameter areas_file")
DRY_RUN = option("--dry-run", action="store_true", help="only show what would be done")
YES = option("--yes", action="store_true", help="do not ask for confirmation")


def on_memory(
    name: str, summary: str, description: str, *options: Option | tuple[Option, ...],
    verb: str = "", lists: str | Callable[[argparse.Namespace], str] = "", columns: str | None = None,
    writes: bool = False, fills: bool = False,
) -> Callable[[Work], Command]:  # fmt: skip
    """Make a command of what is done with a memory: one that only reads it, unless the command `writes`.

    What `fills` a memory makes the file if there is none, and waits for its model.
    """

    def command(work: Work) -> Command:
        def run(arguments: argparse.Namespace) -> int:
            read_only = not (writes or fills) or getattr(arguments, "dry_run", False)
            with opened(arguments, read_only=read_only, creates=fills) as memory:
                if fills:
                    memory.wait_for_model()
                shown = work(memory, arguments)
            return made.show(arguments, shown)

        every_option = (*options, DATABASE, *(LISTING if lists else (JSON,)))
        made = Command(name, summary, description, run, every_option, work, verb, lists, columns)
        return made

    return command


def of_verb(
    path: str, name: str = "", /, *options: Option | tuple[Option, ...],
    text: Callable[[Any, argparse.Namespace], str] = lambda result, arguments: "",
    lists: str | Callable[[argparse.Namespace], str] = "", columns: str | None = None, fills: bool = False,
    defaults: Mapping[str, object] = MappingProxyType({}), **names: str,
) -> Command:  # fmt: skip
    """Make a command of a verb: its arguments are the options, and it shows the result by its fields or as `text` does.

    `names` are those of options, see `options_of`.
    """
    verb = VERBS[path]
    about = verb.about.replace("Return", "Show", 1)
    summary = re.split("[,:;.]", about[0].lower() + about[1:])[0]
    is_list = verb.is_list and verb.result.__args__[0] is not int

    def work(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
        values = values_of(arguments, verb.request)
        result = verb.call(memory, values)
        return Shown(verb.to_json(result, values), text(result, arguments))

    return on_memory(
        name or path.replace(".", "-").replace("_", "-"), summary, about,
        *options_of(verb.request, defaults=defaults, **names), *options, verb=path, columns=columns,
        lists=lists or (verb.field if is_list else ""), writes=verb.changes, fills=fills,
    )(work)  # fmt: skip


def opened(
    arguments: argparse.Namespace, *, read_only: bool = True, creates: bool = False, **parameters: object
) -> RobotMemory:
    """Open the memory that the options name: with its model if it is not left out, and with its fleet for a scope.

    Raises:
        DatabaseUnusableError: the file does not exist, unless this `creates` it, or cannot be opened.
        CommandError: nothing names the fleet.
    """
    with_model = not getattr(arguments, "no_model", True)
    if "scope" not in arguments:
        parameters["fleet_url"] = named_fleet(arguments) if "fleet_url" in arguments else ""
    elif Scope.of(arguments.scope) is not Scope.ROBOT:
        parameters["fleet_url"] = fleet_url(arguments)
    if "areas_file" in arguments:
        parameters["areas_file"] = arguments.areas_file
    return open_memory(arguments.db, read_only=read_only, with_model=with_model, creates=creates, **parameters)


def open_memory(
    path: str, *, read_only: bool = False, with_model: bool = False, creates: bool = False, **parameters: object
) -> RobotMemory:
    """Open a database without maintenance, and without a model or `with_model` by that of its vectors.

    Raises:
        DatabaseUnusableError: the file does not exist, unless this `creates` it, or cannot be opened.
        InvalidFieldError: a parameter is invalid.
    """
    options: dict[str, Any] = {"session_maintenance": False, **parameters}
    if not with_model:
        options["embedding_model"] = ""
    return scope.open_memory(path if creates else existing_path(path), read_only=read_only, **options)


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


def options_of(
    request: type, but: Container[str] = (), defaults: Mapping[str, object] = MappingProxyType({}), **names: str
) -> tuple[Option, ...]:
    """Declare the options for the arguments of a request that doors offer, with its defaults or those given here.

    An argument that must be given is positional if it is the first. `names` are those of options that are called
    otherwise, or of positional arguments, by the names of the arguments.
    """
    entries = [entry for entry in arguments_of(request) if entry.name not in but]
    if (first := entries[0]).default is MISSING:
        names = {first.name: "ID" if first.name in {"ids", "memory_id"} else first.name, **names}
    return tuple(
        _option_of(
            entry, names.get(entry.name, f"--{entry.name.replace('_', '-')}"), defaults.get(entry.name, entry.default)
        )
        for entry in entries
    )


def _option_of(entry: Field[Any], name: str, default: object) -> Option:
    about, is_required = entry.metadata["about"], default is MISSING
    if default is True:
        negated = f"--no-{entry.name.replace('_', '-')}"
        return option(negated, dest=entry.name, action="store_false", help=f"not: {about}")
    if default is False:
        return option(name, dest=entry.name, action="store_true", help=about)
    settings = _settings(entry, is_condition=entry.metadata["condition"] is not None)
    if settings.get("action") == "append":
        about += "; may be given several times"
    elif not is_required:
        settings["default"] = default
        about += "; default: %(default)s" if default not in {None, "", ()} else ""
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
        return {"type": _time_ns, "metavar": "TIME"}
    if types == "integer":
        limits = entry.metadata["range"]
        return {"type": within(limits.low, limits.high, int) if limits else int, "metavar": "N"}
    if types == "number":
        return {"type": float, "metavar": "NUMBER"}
    if types == "string":
        return {"metavar": "TEXT"}
    if entry.name == "clear":  # names of options
        return {"nargs": "+", "type": lambda name: name.replace("-", "_"), "metavar": "NAME"}
    if "object" in types:
        return {"metavar": "JSON"}
    if items == "number":
        return {"nargs": "+", "action": _Joined, "metavar": "NUMBER"}
    kind: dict[str, Any] = {"type": int, "metavar": "ID"} if items == "integer" else {"metavar": "NAME"}
    return {"action": "append", **kind} if is_condition else {"nargs": "+", **kind}


def within(low: float, high: float, kind: type[N] = float) -> Callable[[str], N]:  # type: ignore[assignment]
    """Return the type of an option that takes a number from `low` to `high`."""

    def read(text: str) -> N:
        with suppress(ValueError):
            if low <= kind(text) <= high:
                return kind(text)
        name = "whole number" if kind is int else "number"
        raise argparse.ArgumentTypeError(f"{text!r} is no {name} from {low:,.12g} to {high:,.12g}")

    return read


def _time_ns(text: str) -> int:
    # A time is of UTC unless it names a zone.
    try:
        return moment("time", text, time.time_ns(), timezone.utc)
    except InvalidFieldError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class _Joined(argparse.Action):
    """Keep numbers as one text, however they are separated; the memory reads it."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        setattr(namespace, self.dest, " ".join(values))
