"""Give a memory to language-model agents: tools, call, mcp."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from contextlib import AbstractContextManager
from dataclasses import fields
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ..memory.config.parameters import Parameters
from ..memory.errors import DatabaseUnusableError
from ..memory.storage.connection import resolve
from ..replay import load_config
from .command import DATABASE, JSON, Command, CommandError, Option, option, printable, show, table

if TYPE_CHECKING:
    from ..agents.toolbox import Toolbox

_OF_THE_NODE = {
    "db_path", "disk_reserve", "max_memories", "retention_age", "retention_budgets", "retention_bytes",
    "retention_export", "retention_sightings",
}  # fmt: skip
"""Parameters of work that is the node's: it keeps the budgets."""


def _tools(arguments: argparse.Namespace) -> None:
    from ..agents.tool import as_functions, as_tools
    from ..agents.tools import TOOLS

    tools = [tool for tool in TOOLS if not (arguments.read_only and tool.writes)]
    listed = as_functions(tools) if arguments.functions else as_tools(tools)
    rows = [(tool.name, "changes" if tool.writes else "reads", tool.title) for tool in tools]
    show(arguments, {"tools": listed}, table(("tool", "", "purpose"), rows))


def _call(arguments: argparse.Namespace) -> int:
    try:
        given = json.loads(arguments.arguments)
    except (ValueError, RecursionError) as cause:
        raise CommandError(f"{arguments.arguments!r} is no JSON: {cause}") from None
    with _toolbox(arguments) as toolbox:
        answer = toolbox.call(arguments.tool, given)
    (sys.stderr if answer.is_error else sys.stdout).write(f"{printable(answer.text)}\n")
    return int(answer.is_error)


def _mcp(arguments: argparse.Namespace) -> None:
    try:
        from ..agents import server, transports
    except ImportError as cause:
        raise CommandError(f"mcp needs {cause.name} (pip install 'robotmem_ros[mcp]')") from cause
    # Nothing but messages of the protocol goes to stdout.
    logging.basicConfig(format="robotmem mcp: %(message)s", level=logging.WARNING, stream=sys.stderr)
    logging.getLogger("robotmem_ros.agents").setLevel(logging.INFO)
    with _toolbox(arguments) as toolbox:
        built = server.build(toolbox, _version())
        if arguments.http:
            _serve_http(arguments, built)
        else:
            if sys.stdin.isatty():
                sys.stderr.write("robotmem mcp: a client starts this, and speaks to it on stdin; Ctrl-C ends it\n")
            transports.serve_stdio(built)


def _serve_http(arguments: argparse.Namespace, server: Any) -> None:
    from ..agents import transports
    from ..web.access import Access, given_token, new_token
    from ..web.guard import Guard, Limits
    from ..web.server import bound, serve, url

    token = given_token(arguments.token_file, {})
    with bound(arguments.host, arguments.port) as listening:
        told = f"MCP at {url(listening, arguments.host).rstrip('/')}{transports.PATH}\n"
        if not token:
            token = new_token()
            told += f"token: {token}\n"

        def started() -> None:
            sys.stderr.write(told)
            sys.stderr.flush()

        limits = Limits(body=transports.BODY)
        app = Guard(transports.http_application(server), Access(token), hosts=(arguments.host,), limits=limits)
        serve(app, listening, started=started)


def _toolbox(arguments: argparse.Namespace) -> AbstractContextManager[Toolbox]:
    from ..agents.toolbox import opened

    path = resolve(arguments.db)
    if not path.is_file() and not getattr(arguments, "create", False):
        raise DatabaseUnusableError(arguments.db, "does not exist", "give the path of a memory's file")
    given: dict[str, object] = {}
    if arguments.config is not None:
        read = load_config(arguments.config).parameters
        given = {one.name: getattr(read, one.name) for one in fields(Parameters) if one.name not in _OF_THE_NODE}
    if arguments.collection is not None:
        given["collection"] = arguments.collection
    if arguments.no_model:
        given["embedding_model"] = ""
    return opened(path, given, read_only=arguments.read_only)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} must be a port, from 0 (any free one) to 65535")
    return port


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
    option("--no-model", action="store_true", help="search by words alone"),
    _READ_ONLY,
)
COMMANDS = (
    Command(
        "mcp", "serve a memory to agents by MCP",
        "Serve the tools of a memory by the Model Context Protocol, beside a running node or without one: on stdin and "
        "stdout, or with --http by streamable HTTP to callers with a token. It ends with its client, or on SIGTERM.",
        _mcp,
        (
            *_OPENING,
            option("--create", action="store_true", help="make the database file if there is none"),
            option("--http", action="store_true", help="streamable HTTP instead of stdin and stdout"),
            option("--host", default="127.0.0.1", help="address to listen at; default: %(default)s"),
            option("--port", type=_port, default=8766, metavar="N", help="0 for any free one; default: %(default)s"),
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
            JSON,
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
