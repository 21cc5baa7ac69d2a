"""Serve a memory: to people in a browser (web), and to language-model agents as tools (mcp, tools, call)."""

from __future__ import annotations

import argparse
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..fleet.scope import open_memory
from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..memory.storage.connection import default_path, resolve
from ..memory.validation import expanded_path
from ..replay import load_config
from .command import DATABASE, NO_MODEL, Command, existing_path, within
from .listing import LISTING, CommandError, Option, option, show, table
from .output import write_notice, write_result

if TYPE_CHECKING:
    from ..agents.toolbox import Toolbox

_NICE = 10
_PATIENCE = 3.0
"""Longest wait of a search for the model in seconds; after that it uses words alone."""
_LOOK = 0.2
_OF_THE_NODE = {
    "db_path", "max_memories", "retention_age", "retention_budgets", "retention_bytes", "retention_export",
    "retention_sightings",
}  # fmt: skip
"""Parameters that only the node applies: it enforces the budgets."""


def _web(arguments: argparse.Namespace) -> None:
    try:
        from ..web.access import TOKEN_VARIABLE, new_token, read_token
        from ..web.app import Settings, create_console
        from ..web.server import bound, is_loopback, serve, url
    except ImportError as cause:
        raise CommandError(f"web needs {cause.name} (pip install 'robotmem_ros[web]')") from cause
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    token = read_token(arguments.token_file, os.environ)
    os.environ.pop(TOKEN_VARIABLE, None)
    with bound(arguments.host, arguments.port) as listening:
        is_made = not token and not is_loopback(listening)
        if is_made:
            token = new_token()
        address = url(listening, arguments.host)
        settings = Settings(
            token=token,
            hosts=(arguments.host, *_own_names(), *arguments.allow_host),
            read_only=arguments.read_only,
            is_fleet_alone=_is_fleet_alone(arguments),
        )
        os.nice(_NICE)
        with _console_file(arguments) as path, _console_memory(arguments, path) as memory:
            message = f"console: {address}#token={token}\n" if is_made else f"console: {address}\n"

            def announce() -> None:
                write_result(message)

            console = create_console(memory, settings)
            serve(console.asgi, listening, limits=console.limits, on_start=announce, on_end=console.events.close)


def _tools(arguments: argparse.Namespace) -> None:
    from ..agents.tool import as_functions, as_tools
    from ..agents.tools import TOOLS

    tools = [tool for tool in TOOLS if not (arguments.read_only and tool.writes)]
    definitions = as_functions(tools) if arguments.functions else as_tools(tools)
    rows = [(tool.name, "changes" if tool.writes else "reads", tool.title) for tool in tools]
    show(arguments, {"tools": definitions}, table(("tool", "", "purpose"), rows), "tools")


def _call(arguments: argparse.Namespace) -> None:
    try:
        values = json.loads(arguments.arguments)
    except (ValueError, RecursionError) as cause:
        raise CommandError(f"{arguments.arguments!r} is no JSON: {cause}") from None
    with _toolbox(arguments) as toolbox:
        toolbox.wait_for_model()
        answer = toolbox.call(arguments.tool, values)
    if answer.is_error:
        raise CommandError(answer.text)
    write_result(f"{answer.text}\n")


def _mcp(arguments: argparse.Namespace) -> None:
    try:
        from ..agents import server, transports
    except ImportError as cause:
        raise CommandError(f"mcp needs {cause.name} (pip install 'robotmem_ros[mcp]')") from cause
    # Nothing but messages of the protocol goes to stdout.
    logging.basicConfig(format="robotmem mcp: %(message)s", level=logging.WARNING, stream=sys.stderr)
    logging.getLogger("robotmem_ros.agents").setLevel(logging.INFO)
    with _toolbox(arguments) as toolbox:
        mcp = server.build(toolbox, _version())
        if arguments.http:
            _serve_http(arguments, mcp)
        else:
            if sys.stdin.isatty():
                write_notice("robotmem mcp: a client starts this, and speaks to it on stdin; Ctrl-C ends it\n")
            transports.serve_stdio(mcp)


def _serve_http(arguments: argparse.Namespace, server: Any) -> None:
    from ..agents import transports
    from ..web.access import Access, new_token, read_token
    from ..web.guard import Guard, Limits
    from ..web.server import bound, serve, url

    token = read_token(arguments.token_file, {})
    with bound(arguments.host, arguments.port) as listening:
        message = f"MCP at {url(listening, arguments.host).rstrip('/')}{transports.PATH}\n"
        if not token:
            token = new_token()
            message += f"token: {token}\n"

        def announce() -> None:
            write_notice(message)

        limits = Limits(body=transports.BODY)
        app = Guard(transports.http_application(server), Access(token), hosts=(arguments.host,), limits=limits)
        serve(app, listening, on_start=announce)


def _is_fleet_alone(arguments: argparse.Namespace) -> bool:
    return bool(arguments.fleet_url) and not (arguments.db or _parameters(arguments).db_path)


@contextmanager
def _console_file(arguments: argparse.Namespace) -> Iterator[Path]:
    """Return the file to show. Who runs the robots has none: an empty one reads the queries, and has the model."""
    if _is_fleet_alone(arguments):
        with TemporaryDirectory(prefix="robotmem-") as folder:
            yield Path(folder) / "memory.db"
    else:
        _wait_for(_database(arguments), arguments.wait)
        yield existing_path(_database(arguments))


def _console_memory(arguments: argparse.Namespace, path: Path) -> RobotMemory:
    overrides = _overrides(arguments) | {"session_maintenance": False}
    if arguments.fleet_url:
        overrides["fleet_url"] = arguments.fleet_url
    if arguments.areas_file is not None:
        overrides["areas_file"] = arguments.areas_file
        if not arguments.read_only:
            _make_areas_file(arguments.areas_file)
    read_only = arguments.read_only and not _is_fleet_alone(arguments)
    return open_memory(path, patience=_PATIENCE, read_only=read_only, **overrides)


def _toolbox(arguments: argparse.Namespace) -> AbstractContextManager[Toolbox]:
    from ..agents.toolbox import opened

    path = resolve(arguments.db) if getattr(arguments, "create", False) else existing_path(arguments.db)
    overrides = _overrides(arguments)
    if arguments.collection is not None:
        overrides["collection"] = arguments.collection
    return opened(path, overrides, read_only=arguments.read_only)


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    options = load_config(arguments.config).options if arguments.config else {}
    values = {name: value for name, value in options.items() if name not in _OF_THE_NODE}
    return values | ({"embedding_model": ""} if arguments.no_model else {})


def _database(arguments: argparse.Namespace) -> str:
    return arguments.db or _parameters(arguments).db_path or default_path(arguments.namespace)


def _parameters(arguments: argparse.Namespace) -> Parameters:
    return load_config(arguments.config).parameters if arguments.config else Parameters()


def _make_areas_file(name: str) -> None:
    file = expanded_path("--areas-file", name)
    try:
        with suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
            stream.write("areas: {}\n")
    except OSError as cause:
        raise CommandError(f"--areas-file: {name!r} cannot be made ({cause.strerror or cause})") from cause


def _wait_for(db: str, seconds: float) -> None:
    # A node that is started beside the console may not have made its file yet.
    end = time.monotonic() + seconds
    while not resolve(db).is_file() and time.monotonic() < end:
        time.sleep(_LOOK)


def _own_names() -> tuple[str, ...]:
    name = socket.gethostname()
    return (name, f"{name}.local")


def _address(port: int) -> tuple[Option, ...]:
    about = "0 for any free one; default: %(default)s"
    return (
        option("--host", default="127.0.0.1", help="address to listen at; default: %(default)s"),
        option("--port", type=within(0, 65_535, int), default=port, metavar="N", help=about),
    )


def _version() -> str:
    try:
        return metadata.version("robotmem_ros")
    except metadata.PackageNotFoundError:
        return ""


_READ_ONLY = option("--read-only", action="store_true", help="only the tools that change nothing")
_OPENING: tuple[Option, ...] = (
    DATABASE,
    option("--collection", help="namespace of memories; by default that of --config, else the one in use in the file"),
    option("--config", help="parameter file of the node, for its collection, model, map, areas and weights"),
    NO_MODEL,
    _READ_ONLY,
)
COMMANDS = (
    Command(
        "web", "show a memory in a browser",
        "Serve the console of a memory, beside a running node or without one, until it is stopped. On addresses other "
        "than the loopback one, callers need a token: that of --token-file or of the variable ROBOTMEM_WEB_TOKEN, else "
        "a new one, which is printed.", _web,
        (
            option("--db", help=f"database file; by default that of --config, else {default_path()}"),
            option(
                "--namespace", default="", metavar="NAME",
                help="namespace of the node, which has a file of its own there if nothing names one",
            ),
            *_address(8765),
            option("--token-file", metavar="FILE", help="file of the token; made with a new one if it is missing"),
            option(
                "--allow-host", action="append", default=[], metavar="NAME",
                help="name by which a proxy calls the console; may be given several times",
            ),
            option("--read-only", action="store_true", help="change nothing, not even count what was searched"),
            option("--config", help="parameter file of the node, for its model, areas and weights"),
            option("--areas-file", metavar="FILE", help="file of the named areas, made if it is missing"),
            option(
                "--fleet-url", default="", metavar="URL",
                help="fleet to show too, a libpq URI or service; without a file of --db or --config, the fleet alone",
            ),
            NO_MODEL,
            option(
                "--wait", type=within(0.0, 86_400.0), default=0.0, metavar="SECONDS",
                help="for a database that a node is to make",
            ),
        ),
    ),
    Command(
        "mcp", "serve a memory to agents by MCP",
        "Serve the tools of a memory by the Model Context Protocol, beside a running node or without one: on stdin and "
        "stdout, or with --http by streamable HTTP to callers with a token. It ends with its client, or on SIGTERM.",
        _mcp,
        (
            *_OPENING,
            option("--create", action="store_true", help="make the database file if there is none"),
            option("--http", action="store_true", help="streamable HTTP instead of stdin and stdout"),
            *_address(8766),
            option("--token-file", metavar="FILE", help="file of the token; else one is made and told"),
        ),
    ),
    Command(
        "tools", "list the tools for agents",
        "List the tools that `robotmem mcp` serves and `robotmem call` calls; with --json their descriptions and the "
        "JSON Schemas of their arguments, for agents that do not speak MCP.", _tools,
        (
            _READ_ONLY,
            option("--functions", action="store_true", help="in JSON, as functions of a chat completion"),
            *LISTING,
        ),
    ),
    Command(
        "call", "call one of the tools for agents",
        "Call a tool as an agent does, and print what it answers.", _call,
        (
            option("tool", help="name of the tool, as `robotmem tools` lists it"),
            option("arguments", nargs="?", default="{}", metavar="JSON", help="arguments, a JSON object"),
            *_OPENING,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
