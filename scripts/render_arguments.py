#!/usr/bin/env python3
"""Write what is derived from the requests of verbs: written signatures, comments of services, and tables in docs/.

python3 scripts/render_arguments.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from textwrap import fill, indent
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
_PACKAGE = "robotmem_ros.memory"
WRITTEN = f"{_PACKAGE}.verbs.written"


class _Unwritten(ModuleType):
    """Stands for the module that is to be written, whose classes may lack what their heirs have."""

    def __getattr__(self, name: str) -> type:
        return type(name, (), {"__module__": WRITTEN})


sys.modules[WRITTEN] = _Unwritten(WRITTEN)

from render_parameters import with_table, write  # noqa: E402

from robotmem_ros.memory import argument, times  # noqa: E402
from robotmem_ros.memory.argument import arguments_of  # noqa: E402
from robotmem_ros.memory.maps.maps import Maps  # noqa: E402
from robotmem_ros.memory.models import MemoryUpdate, NewFact  # noqa: E402
from robotmem_ros.memory.notes.notes import Notes  # noqa: E402
from robotmem_ros.memory.robot_memory import RobotMemory  # noqa: E402
from robotmem_ros.memory.search.request import CountsRequest, RecallRequest  # noqa: E402
from robotmem_ros.memory.verbs.requests import EventsRequest, TagsRequest, WatchRequest  # noqa: E402
from robotmem_ros.memory.verbs.sessions import Sessions  # noqa: E402
from robotmem_ros.memory.verbs.tags import Tags  # noqa: E402

_OWNERS = (RobotMemory, Sessions, Tags, Maps, Notes)
_WIDTH = 120
_ALIASES = {"Json": argument, "Names": argument, "Where": argument, "Time": times}
_HEAD = '''"""The verbs with their arguments written out, for readers and editors: `Verbs` makes each do its work.

Written by scripts/render_arguments.py; what is to be changed stands in the requests and their verbs.
"""

# ruff: noqa: PLR0917

from __future__ import annotations

'''


def verbs_of(owner: type) -> Iterator[tuple[str, Callable[..., object], Any]]:
    """Give the verbs of a class that take a request: name, method and request."""
    for name, method in vars(owner).items():
        if inspect.isfunction(method) and list(inspect.signature(method).parameters) == ["self", "request"]:
            request = vars(sys.modules[owner.__module__]).get(method.__annotations__["request"])
            if is_dataclass(request):
                yield name.removeprefix("_"), method, request


def written_verbs() -> str:
    """Return the module of the verbs that are written out."""
    names: dict[str, set[str]] = {}
    classes = [_class(owner, names) for owner in _OWNERS]
    imports = [_import(module, sorted(found)) for module, found in sorted(names.items(), key=_place_of_import)]
    own = next(number for number, line in enumerate(imports) if line.startswith("from ."))
    groups = "\n".join(imports[:own]), "\n".join(imports[own:])
    return f"{_HEAD}{groups[0]}\n\n{groups[1]}\n\n\n" + "\n\n\n".join(classes) + "\n"


def _place_of_import(entry: tuple[str, set[str]]) -> tuple[bool, bool, str]:
    return entry[0].startswith("."), not entry[0].startswith(".."), entry[0]


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    return line if len(line) <= _WIDTH else "\n".join((f"from {module} import (", *(f"    {n}," for n in names), ")"))


def _class(owner: type, names: dict[str, set[str]]) -> str:
    (base,) = (base for base in owner.__bases__ if base.__module__ == WRITTEN)
    names.setdefault("..argument", set()).add("Verbs")
    names.setdefault("collections.abc", set()).add("Callable")
    verbs = [_verb(owner, *verb, names) for verb in verbs_of(owner)]
    takers = [
        f"_{name}: Callable[[{request.__name__}], {method.__annotations__['return']}]"
        for name, method, request in verbs_of(owner)
    ]
    head = f'class {base.__name__}(Verbs):\n    """Verbs of `{owner.__name__}`."""\n\n'
    return head + indent("\n".join(takers), "    ") + "\n\n" + "\n\n".join(indent(verb, "    ") for verb in verbs)


def _verb(owner: type, name: str, method: Callable[..., object], request: Any, names: dict[str, set[str]]) -> str:
    result = method.__annotations__["return"]
    entries = sorted(fields(request), key=lambda entry: bool(entry.kw_only))
    scope = {**vars(sys.modules[request.__module__]), **vars(sys.modules[owner.__module__]), **_ALIASES}
    for word in re.findall(
        r"[A-Za-z]\w+", " ".join((request.__name__, result, *(str(entry.type) for entry in entries)))
    ):
        _note(names, word, scope.get(word, int))
    texts = [_parameter(entry) for entry in entries]
    if keywords := [number for number, entry in enumerate(entries) if entry.kw_only]:
        texts.insert(keywords[0], "*")
    told = inspect.getdoc(method) or ""
    told += "\n" if "\n" in told else ""
    quotes = 'r"""' if "\\" in told else '"""'
    return "\n".join((
        _filled(f"def {name}(", ", ".join(("self", *texts)), f") -> {result}:"),
        indent(f'{quotes}{told}"""', "    "),
        "    raise NotImplementedError",
    ))  # fmt: skip


def _note(names: dict[str, set[str]], name: str, thing: Any) -> None:
    module = thing.__name__ if inspect.ismodule(thing) else thing.__module__
    if module != "builtins":
        names.setdefault(_relative(module), set()).add(name)


def _relative(module: str) -> str:
    if not module.startswith(_PACKAGE):
        return module
    rest = module.removeprefix(f"{_PACKAGE}.")
    return f".{rest.removeprefix('verbs.')}" if rest.startswith("verbs.") else f"..{rest}"


def _parameter(entry: Field[Any]) -> str:
    default = "" if entry.default is MISSING else f" = {entry.default!r}".replace("'", '"')
    return f"{entry.name}: {entry.type}{default}"


def _filled(head: str, arguments: str, tail: str) -> str:
    line = f"{head}{arguments}{tail}"
    if len(line) <= _WIDTH - 4:
        return line
    # A blank within an argument must not end a line.
    parts = re.sub(r"(?<!,) ", "\0", arguments)
    lines = fill(parts, _WIDTH - 13, break_long_words=False, break_on_hyphens=False).replace("\0", " ")
    return f"{head}\n{indent(lines, '    ')},\n{tail}  # fmt: skip"


_SERVICES = {
    "Learn": NewFact,
    "Update": MemoryUpdate,
    "List": CountsRequest,
    "ListTags": TagsRequest,
    "GetEvents": EventsRequest,
    "Watch": WatchRequest,
}
"""Requests of the services that have another name than their service."""
_NAMES = {"observed_at": "stamp"}
"""Names of fields, by the arguments that have other ones."""
_KINDS = {
    "bool": "bool", "int": "uint32", "int | None": "int64[<=1]", "float": "float32", "float | None": "float32[<=1]",
    "Names": "string[]",
    "Iterable[str]": "string[]", "Iterable[str] | None": "string[]", "Iterable[int] | int | None": "int64[]",
    "Time | None": "builtin_interfaces/Time", "Where": "Place[<=1]",
}  # fmt: skip
"""Types of new fields, by those of their arguments; all others are texts. In the file a field may have another one."""
_PLURALS = {"string": "characters", "string[]": "entries", "int64[]": "ids"}


def services() -> Iterator[tuple[Path, Any]]:
    """Give the files of the services that have a request, each with it."""
    requests = {
        request.__name__.removesuffix("Request"): request for owner in _OWNERS for *_, request in verbs_of(owner)
    }
    for file in sorted((ROOT / "srv").glob("*.srv")):
        if request := _SERVICES.get(file.stem) or requests.get(file.stem):
            yield file, request


def commented(text: str, request: Any) -> str:
    """Return the text of a service with the fields and comments of the arguments of its request.

    What stands at the beginning, fields that are no argument, and the response are written by hand.
    """
    asked, line, answered = text.partition("---\n")
    entries = {_NAMES.get(entry.name, entry.name): entry for entry in arguments_of(request)}
    blocks = [_commented(block, entries) for block in asked.rstrip("\n").split("\n\n")]
    known = re.findall(r"^[^#\s]\S* (\w+)", asked, re.MULTILINE)
    blocks += [_field(entry, _line_of(entry, name)) for name, entry in entries.items() if name not in known]
    return "\n\n".join(blocks) + "\n" + line + answered


def _commented(block: str, entries: Mapping[str, Field[Any]]) -> str:
    # Of fields alone: what stands before and between them is written by hand.
    lines = [line for line in block.split("\n") if not line.startswith("#")]
    if not lines or any(line.split()[1] not in entries for line in lines):
        return block
    return "\n\n".join(_field(entries[line.split()[1]], line) for line in lines)


def _line_of(entry: Field[Any], name: str) -> str:
    value = f" {entry.default}".lower() if entry.default and isinstance(entry.default, (int, float)) else ""
    return f"{_KINDS.get(str(entry.type), 'string')} {name}{value}"


def _field(entry: Field[Any], line: str) -> str:
    kind = line.split(maxsplit=1)[0]
    text = " ".join(filter(None, (sentences(entry), *_limits(entry, kind))))
    return fill(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False) + f"\n{line}"


def _limits(entry: Field[Any], kind: str) -> Iterator[str]:
    limit = entry.metadata["limit"] or (0 if entry.metadata["condition"] else entry.metadata["entries"])
    if limit and kind in _PLURALS:
        yield f"At most {f'`{limit}`' if isinstance(limit, str) else f'{limit:,}'} {_PLURALS[kind]}."
    if kind == "uint32" and (limits := entry.metadata["range"]):
        yield f"0 means {entry.default}; more than {limits.high:,} means {limits.high:,}."
    if kind == "builtin_interfaces/Time":
        yield "Zero if it is not given."
    if entry.default is MISSING:
        yield "Required."


def sentences(entry: Field[Any]) -> str:
    """Return what is told about an argument where there is room, without the forms of values at other doors."""
    about = entry.metadata["about"].partition(", such as")[0].partition(", as in")[0].partition(", or ids")[0]
    lead = "Only " if about.split()[0] in {"memories", "facts", "perceptions", "these"} else ""
    return f"{lead}{about if lead else about[:1].upper() + about[1:]}. {entry.metadata['more']}".rstrip()


def as_markdown(request: type) -> str:
    """Return the arguments of a request as a table."""
    rows = ["| argument | default | range | meaning |", "|---|---|---|---|"]
    for entry in arguments_of(request):
        value = " " if entry.default in {None, ()} else f"`{entry.default!r}`".replace("'", '"')
        limits = entry.metadata["range"]
        span = f"{limits.low:g} to {limits.high:g}" if limits else " "
        page, _, section = entry.metadata["see"].partition("#")
        target = f"{'' if page == 'recall.md' else page}#{section}"
        link = f" See [{section.replace('-', ' ').capitalize()}]({target})." if page else ""
        rows.append(f"| `{entry.name}` | {value} | {span} | {sentences(entry)}{link} |")
    return "\n".join(rows)


def main() -> int:
    """Write the files, or with --check report those that are stale."""
    recall = ROOT / "docs" / "recall.md"
    texts = {
        ROOT.joinpath(*WRITTEN.split(".")).with_suffix(".py"): written_verbs(),
        **{file: commented(file.read_text(), request) for file, request in services()},
        recall: with_table(recall.read_text(), "arguments", as_markdown(RecallRequest)),
    }
    return write(texts)


if __name__ == "__main__":
    sys.exit(main())
