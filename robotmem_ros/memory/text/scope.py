"""Find what a text names: files, and entities such as identifiers, topics, modules, part numbers and places."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..models import Decision

_EXTENSIONS = (
    "py|pyi|c|cc|cpp|h|hpp|rs|go|js|ts|java|sh|yaml|yml|json|xml|toml|ini|cfg|conf|env|txt|md|rst|csv|urdf|xacro|sdf|"
    "launch|world|pgm|png|jpg|bag|mcap|db|db3|msg|srv|action|log|pt|onnx|stl|dae|service"
)
_FILE = re.compile(rf"(?<![\w/.@-])(?:~|\.{{1,2}})?/?(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_EXTENSIONS})(?![\w])", re.ASCII)
_PATTERNS = (
    ("topic", re.compile(r"(?<![\w/.:~-])~?/[a-z][a-z0-9_]*(?:/[a-z0-9_]+)*(?![\w/.])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])_*[A-Za-z][A-Za-z0-9]*_\w*[A-Za-z0-9](?![\w/])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])(?:[A-Z][a-z0-9]+){2,}(?![\w/])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])[A-Za-z_]\w*(?=\(\))", re.ASCII)),
    ("module", re.compile(r"(?<![\w./])[a-z_]\w+(?:\.[a-z_]\w+)+(?![\w/(])", re.ASCII)),
    ("part number", re.compile(r"(?<![\w./-])(?=[A-Z0-9-]*\d)[A-Z]{1,6}[A-Z0-9]*-?[0-9]+[A-Za-z]?(?![\w/])", re.ASCII)),
    (
        "place",
        re.compile(
            r"(?<!\w)(?:room|dock|station|door|floor|aisle|shelf|gate|bay|lift|elevator|lab|zone|bin|rack)"
            r" (?:\d+[a-z]?|[A-Z])(?!\w)",
            re.ASCII,
        ),
    ),
    ("place", re.compile(r"\d+[号號][\u4e00-\u9fff]{1,3}|[A-Z]\d?[区區]")),
)
_CODE = re.compile(r"`[^`]+`|\w\(\)|(?<!\S)--\w+|\$\w+|\b[A-Z_]{3,}=\S", re.ASCII)
_MOST = 16


class Scope(NamedTuple):
    """Names in a text."""

    files: tuple[str, ...]
    entities: tuple[str, ...]
    has_code: bool
    decisions: tuple[Decision, ...]


@lru_cache(maxsize=64)  # a fact is classified, and parsed as a statement
def scope(text: str) -> Scope:
    """Return the files and entities that a text names, each once, in order of kind and position."""
    files = tuple(dict.fromkeys(_FILE.findall(text)))[:_MOST]
    rest = _FILE.sub(" ", text) if files else text
    entities: dict[str, str] = {}
    for kind, pattern in _PATTERNS:
        for found in pattern.findall(rest):
            entities.setdefault(found, kind)
    kept = dict(list(entities.items())[:_MOST])
    decisions = [Decision("scope_file", file, "scope.file path") for file in files]
    decisions += [Decision("scope_entity", entity, f"scope.{kind}") for entity, kind in kept.items()]
    return Scope(files, tuple(kept), _CODE.search(rest) is not None, tuple(decisions))
