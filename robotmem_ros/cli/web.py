"""Show a memory in a browser: `robotmem web`."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import fields
from typing import Any

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..memory.errors import DatabaseUnusableError
from ..memory.storage.connection import resolve
from ..memory.validation import expanded_path
from ..replay import load_config
from .command import Command, CommandError, option

_NICE = 10
_PATIENCE = 3.0
"""Seconds that a search waits for a model that is still being loaded; then it goes by words alone."""
_LOOK = 0.2
_OF_THE_NODE = {
    "max_memories", "retention_bytes", "retention_age", "retention_budgets", "retention_sightings", "retention_export",
    "disk_reserve",
}  # fmt: skip
"""Parameters of work that is the node's: it keeps the budgets."""


def _web(arguments: argparse.Namespace) -> None:
    try:
        from ..web.access import TOKEN_VARIABLE, given_token, new_token
        from ..web.app import Settings, create_console
        from ..web.server import bound, is_loopback, serve, url
    except ImportError as cause:
        raise CommandError(f"web needs {cause.name} (pip install 'robotmem_ros[web]')") from cause
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    token = given_token(arguments.token_file, os.environ)
    os.environ.pop(TOKEN_VARIABLE, None)
    with bound(arguments.host, arguments.port) as listening:
        is_made = not token and not is_loopback(listening)
        if is_made:
            token = new_token()
        address = url(listening, arguments.host)
        settings = Settings(
            token=token, hosts=(arguments.host, *_own_names(), *arguments.allow_host), read_only=arguments.read_only
        )
        os.nice(_NICE)
        _wait_for(arguments.db or _parameters(arguments).db_path, arguments.wait)
        with _opened(arguments) as memory:
            told = f"console: {address}#token={token}\n" if is_made else f"console: {address}\n"

            def started() -> None:
                sys.stdout.write(told)
                sys.stdout.flush()

            console = create_console(memory, settings)
            serve(console.asgi, listening, limits=console.limits, started=started, ending=console.events.close)


def _opened(arguments: argparse.Namespace) -> RobotMemory:
    parameters = _parameters(arguments)
    path = _existing(arguments.db or parameters.db_path)
    named = {one.name: getattr(parameters, one.name) for one in fields(Parameters)}
    defaults = Parameters()
    passive: dict[str, Any] = {name: getattr(defaults, name) for name in _OF_THE_NODE}
    passive |= {"db_path": str(path), "session_maintenance": False}
    if arguments.areas_file is not None:
        passive["areas_file"] = arguments.areas_file
        if not arguments.read_only:
            _make_areas_file(arguments.areas_file)
    if arguments.no_model:
        passive["embedding_model"] = ""
    return RobotMemory(patience=_PATIENCE, read_only=arguments.read_only, **(named | passive))


def _parameters(arguments: argparse.Namespace) -> Parameters:
    return load_config(arguments.config).parameters if arguments.config else Parameters()


def _make_areas_file(named: str) -> None:
    file = expanded_path("--areas-file", named)
    try:
        with suppress(FileExistsError), file.open("x", encoding="utf-8") as made:
            made.write("areas: {}\n")
    except OSError as cause:
        raise CommandError(f"--areas-file: {named!r} cannot be made ({cause.strerror or cause})") from cause


def _existing(db: str) -> str:
    found = resolve(db)
    if not found.is_file():
        raise DatabaseUnusableError(db, "does not exist", "give the path of a memory's file")
    return str(found)


def _wait_for(db: str, seconds: float) -> None:
    # A node that is started beside the console may not have made its file yet.
    end = time.monotonic() + seconds
    while not resolve(db).is_file() and time.monotonic() < end:
        time.sleep(_LOOK)


def _own_names() -> tuple[str, ...]:
    name = socket.gethostname()
    return (name, f"{name}.local")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} must be a port, from 0 (any free one) to 65535")
    return port


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 86_400.0:
        raise argparse.ArgumentTypeError(f"{text} must be seconds, from 0 to 86400")
    return value


COMMANDS = (
    Command(
        "web", "show a memory in a browser",
        "Serve the console of a memory, beside a running node or without one, until it is stopped. On addresses other "
        "than the loopback one, callers need a token: that of --token-file or of the variable ROBOTMEM_WEB_TOKEN, else "
        "a new one, which is printed.", _web,
        (
            option("--db", help=f"database file; by default that of --config, else {Parameters().db_path}"),
            option("--host", default="127.0.0.1", help="address to listen at; default: %(default)s"),
            option("--port", type=_port, default=8765, metavar="N", help="0 for any free one; default: %(default)s"),
            option("--token-file", metavar="FILE", help="file of the token; made with a new one if it is missing"),
            option(
                "--allow-host", action="append", default=[], metavar="NAME",
                help="name by which a proxy calls the console; may be given several times",
            ),
            option("--read-only", action="store_true", help="change nothing, not even count what was searched"),
            option("--config", help="parameter file of the node, for its model, areas and weights"),
            option("--areas-file", metavar="FILE", help="file of the named areas, made if it is missing"),
            option("--no-model", action="store_true", help="search by words alone"),
            option(
                "--wait", type=_seconds, default=0.0, metavar="SECONDS", help="for a database that a node is to make"
            ),
        ),
    ),
)  # fmt: skip
"""The command, as the other modules give theirs."""
