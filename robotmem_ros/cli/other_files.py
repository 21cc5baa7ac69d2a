"""Read the files of other memories as items, each with its place: JSON, CSV, the graph of the MCP memory server."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..memory.errors import InvalidFieldError
from ..memory.yaml_file import parse_yaml

_LISTS = ("memories", "results", "facts", "items", "entries", "records", "rows", "data")
"""Keys under which a document may have its list."""
_GRAPH = {"entities": "entity", "relations": "relation"}
"""Keys under which a graph in one document has its lists, with the type of what is in them."""
_DELIMITERS = ",;\t|"
_LONGEST_CELL = 2**31 - 1


class Item(NamedTuple):
    """One memory, as a file has it."""

    place: str
    """Where it stands, for errors, such as `line 3 of facts.csv`."""
    values: Mapping[str, Any]
    is_text: bool = False
    """Whether all values are texts, as in CSV."""


Items = Iterator[Item | InvalidFieldError]
"""What a file holds in its order; an error stands for what is no item."""


def _json_items(text: str, path: Path, types: Mapping[str, str] = dict.fromkeys(_LISTS, "")) -> Items:
    """Yield objects of JSON lines, or of one document: a list, or an object with lists under the keys of `types`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield _parsed(f"line {number} of {path}", line)
        return
    if isinstance(document, list):
        yield from (_item(f"entry {number} of {path}", entry) for number, entry in enumerate(document, start=1))
    elif isinstance(document, dict) and any(isinstance(document.get(key), list) for key in types):
        for key, value in document.items():
            if key in types and isinstance(value, list):
                yield from (_item(f"{key}[{index}] of {path}", entry, types[key]) for index, entry in enumerate(value))
            else:
                yield InvalidFieldError(f"{key} of {path}", value, "is no list of memories")
    else:
        yield _item(f"line 1 of {path}", document)


def _parsed(place: str, line: str) -> Item | InvalidFieldError:
    try:
        return _item(place, json.loads(line))
    except (ValueError, RecursionError) as cause:
        return InvalidFieldError(place, line.strip(), f"is no JSON ({cause})")


def _item(place: str, value: object, type_name: str = "") -> Item | InvalidFieldError:
    if isinstance(value, str):
        return Item(place, {"text": value})
    if isinstance(value, dict):
        return Item(place, {"type": type_name, **value} if type_name else value)
    return InvalidFieldError(place, value, "must be a JSON object, or a text")


def _csv_items(text: str, path: Path) -> Items:
    """Yield the rows of CSV below its head, whose delimiter is a comma, a semicolon, a tab or a bar."""
    csv.field_size_limit(_LONGEST_CELL)
    head_line = text.lstrip("\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    head: list[str] = []
    line = 1
    try:
        for row in rows:
            place, line = f"line {line} of {path}", rows.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if not head:
                head = _distinct([cell.strip() for cell in row])
            elif any(cell.strip() for cell in row[len(head) :]):
                problem = f"has {len(row)} cells, and the head has {len(head)}; quote what holds a {delimiter!r}"
                yield InvalidFieldError(place, delimiter.join(row), problem)
            else:
                yield Item(place, dict(zip(head, row, strict=False)), is_text=True)
    except csv.Error as cause:
        yield InvalidFieldError(
            f"line {line} of {path}", text.split("\n")[line - 1], f"is no CSV ({cause}); nothing from here on was read"
        )


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of columns with a number for each that stands there again, so that none hides another."""
    return [name if name not in names[:index] else f"{name} ({index + 1})" for index, name in enumerate(names)]


def _graph_items(text: str, path: Path) -> Items:
    """Yield a memory for each observation and each relation of a graph, and for each entity without observations."""
    for item in _json_items(text, path, _GRAPH):
        if isinstance(item, InvalidFieldError):
            yield item
        elif item.values.get("type") == "entity":
            yield from _observations(item)
        elif item.values.get("type") == "relation":
            yield _relation(item)
        else:
            yield InvalidFieldError(f"{item.place}, type", item.values.get("type"), "must be entity or relation")


def _observations(item: Item) -> Items:
    place, values = item.place, dict(item.values)
    values.pop("type", None)
    name, observations = values.pop("name", None), values.pop("observations", None) or ()
    entity_type = values.pop("entityType", "")
    if not isinstance(name, str) or not name.strip():
        yield InvalidFieldError(f"{place}, name", name, "must be the name of the entity")
        return
    if isinstance(observations, str) or not isinstance(observations, Sequence):
        yield InvalidFieldError(f"{place}, observations", observations, "must be a list of texts")
        return
    about = {"scope_entities": [name], "entity": {"name": name, "type": entity_type}, **values}
    for index, observation in enumerate(observations):
        own_place = f"{place}, observations[{index}]"
        entry = _item(own_place, observation)
        if isinstance(entry, InvalidFieldError):
            yield entry
            continue
        key = next((key for key in ("text", "content", "observation", "contents") if key in entry.values), "text")
        text = entry.values.get(key)
        sentence = {key: _about(name, text)} if isinstance(text, str) else {}
        yield Item(own_place, {**about, **entry.values, **sentence})
    if not observations:
        yield Item(place, {**about, "text": f"{_words(name)}: {_words(str(entity_type)) or 'an entity'}"})


def _about(name: str, observation: str) -> str:
    """Return an observation as a sentence that stands alone."""
    words = _words(name)
    return observation if words.lower() in _words(observation).lower() else f"{words}: {observation}"


def _relation(item: Item) -> Item | InvalidFieldError:
    values = dict(item.values)
    values.pop("type", None)
    parts = [values.pop(key, None) for key in ("from", "relationType", "to")]
    for key, part in zip(("from", "relationType", "to"), parts, strict=True):
        if not isinstance(part, str) or not part.strip():
            return InvalidFieldError(f"{item.place}, {key}", part, "must be a name")
    start, relation_type, end = parts
    relation = {"from": start, "type": relation_type, "to": end}
    text = " ".join(_words(part) for part in parts)
    return Item(item.place, {"text": text, "scope_entities": [start, end], "relation": relation, **values})


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


def _place_items(text: str, path: Path) -> Items:
    """Yield the named places of YAML, such as the waypoints that the RViz panel of Nav2 saves, or of CSV."""
    document = _yaml(text, path)
    if isinstance(document, dict):
        document = next((document[key] for key in ("waypoints", "places") if key in document), document)
    if isinstance(document, dict):
        entries = [
            (f"{name} of {path}", {"name": name, **value} if isinstance(value, dict) else value)
            for name, value in document.items()
        ]
    elif isinstance(document, list):
        entries = [(f"entry {number} of {path}", value) for number, value in enumerate(document, start=1)]
    else:
        yield from (_place(item) if isinstance(item, Item) else item for item in _csv_items(text, path))
        return
    for place, value in entries:
        if isinstance(value, dict):
            yield _place(Item(place, {str(key): part for key, part in value.items()}))
        else:
            yield InvalidFieldError(place, value, "must be a mapping, such as {x: 1.0, y: 2.0, yaw: 0.0}")


def _yaml(text: str, path: Path) -> object:
    try:
        return parse_yaml("file", path, text)
    except InvalidFieldError:
        if {".yaml", ".yml"} & {*path.suffixes}:
            raise
        return None  # it is CSV


def _place(item: Item) -> Item | InvalidFieldError:
    values = dict(item.values)
    key = next((key for key in values if key.strip().lower() in {"name", "label"}), "")
    name = str(values.pop(key, None) or "").strip()
    if not name:
        return InvalidFieldError(f"{item.place}, name", None, "is missing; a place has a name")
    turned = values.get("orientation")
    if isinstance(turned, list) and len(turned) == 4:  # Nav2 writes w first
        del values["orientation"]
        values |= zip(("qw", "qx", "qy", "qz"), turned, strict=True)
    elif isinstance(turned, dict) and isinstance(values.get("position"), dict):
        values["pose"] = {"position": values.pop("position"), "orientation": values.pop("orientation")}
    return item._replace(values={**values, "label": name, "perception_type": "place"})


FORMATS: Mapping[str, Callable[[str, Path], Items]] = {
    "jsonl": _json_items, "csv": _csv_items, "mcp": _graph_items, "places": _place_items,
}  # fmt: skip
"""Readers of a text, which stood in a file, by the name of its format."""
