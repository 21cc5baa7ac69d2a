"""Make a fleet, add robots to it, and send it what they remember: `robotmem fleet`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..fleet import scope
from ..memory.batch import Batch
from ..memory.config.parameters import Parameters
from ..memory.search.request import Scope
from ..memory.text.letters import beginning
from ..replay import load_config
from .command import DATABASE, FLEET_URL, Command, fleet_url, open_memory
from .export_file import read_parts, rewrite_without
from .listing import LISTING, CommandError, option, show, table
from .output import write_result
from .reading import RECALL, recalled

if TYPE_CHECKING:
    from ..fleet.connection import Connection

_PATIENCE = 30.0
"""Seconds that an operator waits at least."""
_FILES = ("*.jsonl", "*.jsonl.gz")


def _fleet(arguments: argparse.Namespace) -> None:
    try:
        from ..fleet import connection
    except ImportError as cause:
        # Without its library psycopg names none.
        raise CommandError(f"fleet needs {cause.name or 'libpq'} (pip install 'robotmem_ros[fleet]')") from cause
    action = _action([arguments.what, *arguments.words])
    url = fleet_url(arguments)
    if action in (_push, _pull):
        action(arguments, url)
        return
    may_be_empty = action is _init or arguments.source
    with closing((connection.open_database if may_be_empty else connection.connect)(url)) as opened:
        action(arguments, opened)


def _action(words: list[str]) -> Callable[[argparse.Namespace, Any], None]:
    for form, action in _ACTIONS.items():
        names = form.split()
        if len(names) == len(words) and all(map(_is_word_of, names, words)):
            return action
    raise CommandError(f"{' '.join(words)!r} is none of: {', '.join(_ACTIONS)}")


def _is_word_of(name: str, word: str) -> bool:
    return name.isupper() or name == word


def _init(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import initialize

    write_result(f"fleet: at version {initialize(connection)}\n")


def _login(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet import administration

    who, (verb, name, file) = arguments.what, arguments.words
    makers = {("robot", "add"): administration.add_robot, ("robot", "renew"): administration.renew_robot}
    role = makers.get((who, verb), administration.add_operator)(connection, name, Path(file))
    write_result(f"{who} {name}: logs in as {role}; its fleet_url names its password file {file} as passfile\n")


def _grant(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import grant

    verb, name, collection = arguments.words
    grant(connection, name, collection, revoke=verb == "revoke")
    may = "may read" if verb == "grant" else "may no longer read"
    write_result(f"robot {name}: {may} the collection {collection} of other robots\n")


def _push(arguments: argparse.Namespace, url: str) -> None:
    from ..fleet.push import Push

    with open_memory(arguments.db, read_only=True) as memory:
        if arguments.config:
            node = load_config(arguments.config).parameters
            memory.parameters = memory.parameters.changed(
                fleet_collections=node.fleet_collections, fleet_max_data=node.fleet_max_data
            )
        with closing(Push(memory, url, keeps_policy=not arguments.config)) as push:
            for _ in push.pieces():
                pass
        write_result(f"pushed: {push.sent} memories, up to revision {push.acknowledged.revision}\n")


def _pull(arguments: argparse.Namespace, url: str) -> None:
    from ..fleet.pull import Pull

    with open_memory(arguments.db) as memory:
        if arguments.config:
            node = load_config(arguments.config).parameters
            changes = {"fleet_subscriptions": node.fleet_subscriptions, "map_id": node.map_id}
        else:
            changes = {"fleet_subscriptions": "*"}
        memory.parameters = memory.parameters.changed(**changes)
        with closing(Pull(memory, url)) as pull:
            for _ in pull.pieces():
                pass
        write_result(f"pulled: {pull.stored} memories of other robots\n")


def _request(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.requests import ask

    verb, robot, memory, *content, reason = arguments.words
    number = ask(connection, robot, memory, content[0] if verb == "correct" else None, reason)
    write_result(f"request {number}: {robot} will answer; `robotmem fleet requests` shows it\n")


def _requests(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.requests import requests

    asked = requests(connection)
    head = ("request", "robot", "memory", "to", "reason", "asked by", "state", "answer")
    rows = [
        (request.id, request.robot, request.memory, *map(_brief, (
            "withdraw" if request.content is None else f"correct: {request.content}",
            request.reason, request.asked_by, request.state, request.answer,
        )))
        for request in asked
    ]  # fmt: skip
    show(arguments, {"requests": [*map(asdict, asked)]}, table(head, rows) or "no requests\n", "requests")


def _brief(text: str) -> str:
    return beginning(" ".join(text.split()), 60)


def _recall(arguments: argparse.Namespace, connection: Connection) -> None:
    # Who runs the robots has no memory: an empty one reads the question, and has the model.
    url, name = fleet_url(arguments), "" if arguments.no_model else Parameters().embedding_model
    with scope.open_memory(":memory:", fleet_url=url, embedding_model=name, session_maintenance=False) as memory:
        memory.wait_for_model()
        arguments.scope, arguments.deadline = Scope.FLEET, max(arguments.deadline, _PATIENCE)
        arguments.query = "".join(arguments.words)
        shown = recalled(memory, arguments)
    show(arguments, shown.result, shown.text, "memories")


def _load(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import load

    files = _exports(arguments)
    parts = (part for file in files for part in read_parts(file))
    stored = load(connection, (part for part in parts if isinstance(part, Batch)), arguments.robot)
    write_result(f"loaded: {stored} memories from {len(files)} files\n")


def _rebuild(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import rebuild

    if arguments.source:
        _init(arguments, connection)
        arguments.words = [arguments.source]
        _load(arguments, connection)
    write_result(f"rebuilt: words of {rebuild(connection)} memories were others, and all indexes\n")


def _clean(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import deletions

    files, deleted = _exports(arguments), deletions(connection)
    removed = sum(rewrite_without(file, deleted) for file in files)
    write_result(f"cleaned: {removed} units that were deleted, from {len(files)} files\n")


def _exports(arguments: argparse.Namespace) -> list[Path]:
    (folder,) = arguments.words
    files = sorted(file for pattern in _FILES for file in Path(folder).glob(pattern))
    if not files:
        raise CommandError(f"{folder!r} has no files named {' or '.join(_FILES)}")
    return files


def _status(arguments: argparse.Namespace, connection: Connection) -> None:
    from ..fleet.administration import status

    robots = status(connection)
    rows = [
        (robot.name, robot.contact or "never", robot.memories, robot.vectors, robot.revision, robot.backlog)
        for robot in robots
    ]
    head = ("robot", "last contact", "memories", "vectors", "revision", "backlog")
    records = [{**asdict(robot), "backlog": robot.backlog} for robot in robots]
    show(arguments, {"robots": records}, table(head, rows) or "no robots\n", "robots")


_ACTIONS: dict[str, Callable[[argparse.Namespace, Any], None]] = {
    "init": _init,
    "robot add NAME PASSWORD_FILE": _login,
    "robot renew NAME PASSWORD_FILE": _login,
    "robot grant NAME COLLECTION": _grant,
    "robot revoke NAME COLLECTION": _grant,
    "operator add NAME PASSWORD_FILE": _login,
    "push": _push,
    "pull": _pull,
    "load FOLDER": _load,
    "rebuild": _rebuild,
    "clean FOLDER": _clean,
    "request withdraw ROBOT MEMORY REASON": _request,
    "request correct ROBOT MEMORY CONTENT REASON": _request,
    "requests": _requests,
    "status": _status,
    "recall": _recall,
    "recall WORDS": _recall,
}
"""The subcommands by their words; those in capital letters are the caller's."""
COMMANDS = (
    Command(
        "fleet", "send what robots remember into one PostgreSQL database",
        "Make the database of a fleet (init), or bring it up to date; add a robot or an operator, whose password is "
        "written into a new file; give a robot a new password and let another file push as this robot (robot renew); "
        "let a robot read a collection of the others (robot grant, robot revoke); send the fleet the changes of a "
        "file (push), or exports in a folder (load); store what others know in a file (pull); compute again what "
        "follows from the memories, or load a fleet that is lost from a folder (rebuild); write exports again without "
        "what was deleted since (clean); ask a robot to withdraw or correct a memory (request), and show what became "
        "of that (requests); show its robots (status); ask all of them (recall, with the options of that).", _fleet,
        (
            option("what", choices=tuple(dict.fromkeys(form.split()[0] for form in _ACTIONS)), help="what to do"),
            option("words", nargs="*", metavar="ARGUMENT", help=f"as in: {', '.join(_ACTIONS)}"),
            FLEET_URL,
            option("--config", help="parameter file of the node, for its fleet_..."),
            option("--robot", default="", metavar="NAME", help="robot of a loaded file that the fleet does not know"),
            option("--from", dest="source", default="", metavar="FOLDER", help="exports from which a fleet is rebuilt"),
            DATABASE,
            *(entry for entry in RECALL if entry.names != ("--scope",)),
            *LISTING,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
