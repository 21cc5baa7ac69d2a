"""Print what a command found: as it is read best, as JSON, as CSV, or some of its columns."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from textwrap import indent
from types import MappingProxyType
from typing import Any, NamedTuple

from tabulate import tabulate

from ..memory.conditions.condition import ABSENT, value_at
from ..memory.context_path import split
from ..memory.display import is_time, json_values, position_text, time_text
from ..memory.errors import RobotMemoryError, did_you_mean
from .output import write_result


class CommandError(RobotMemoryError):
    """A command cannot do what its options ask for."""


class Option(NamedTuple):
    """Arguments of `argparse.ArgumentParser.add_argument`."""

    names: tuple[str, ...]
    settings: dict[str, Any]


def option(*names: str, **settings: Any) -> Option:
    """Declare an option or a positional argument."""
    return Option(names, settings)


JSON = option("--json", action="store_true", help="print one JSON object")
LISTING = (
    (JSON, option("--csv", action="store_true", help="print comma-separated values, a line for each with a head")),
    option(
        "--columns",
        metavar="NAMES",
        help="only these, such as id,content,context.task.name; their names are those of --json",
    ),
)
"""Options of a command that lists."""
_NAME = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,])+')
"""A name in a list of them; what stands in quotes may have a comma."""


def show(
    arguments: argparse.Namespace, result: object, text: str = "", listed: str = "", columns: str | None = None
) -> None:
    """Print a result: as text, as JSON, or what it lists under a name as CSV, or only some columns of that.

    Args:
        arguments: The options of the command.
        result: What it found.
        text: How people read it; by default by its fields.
        listed: Name of what it lists.
        columns: Those of the list that people read by default; None for all.

    Raises:
        CommandError: a column is unknown.
    """
    values: Any = json_values(result)
    if not listed or not (arguments.csv or arguments.columns is not None):
        write_result(_json(values) if arguments.json else text or text_of(values, {listed: columns}))
        return
    records = values[listed]
    names = _columns(arguments.columns, records)
    if arguments.json:
        selection = [{name: _value(record, name) for name in names} for record in records]
        write_result(_json({**values, listed: selection}))
    elif arguments.csv:
        write_result(_csv(names, [[_cell(_value(record, name)) for name in names] for record in records]))
    else:
        write_result(_table_of(records, names))


def text_of(values: Mapping[str, Any], columns: Mapping[str, str | None] = MappingProxyType({})) -> str:
    """Return a record as people read it: a line for each field that has something, and a table for each list.

    `columns` are those of tables by the names of their lists; without, and of them, those in which something stands.
    """
    lists = [name for name, value in values.items() if _is_list(value) or (name in columns and not value)]
    text = ""
    for name, value in values.items():
        if name not in lists:
            line = _text_of_value(name, value)
            text += f"{name.replace('_', ' ')}: {line}\n" if line else ""
        elif len(values) == 1 or name in columns:
            text += _table(value, columns.get(name)) or f"no {name}\n"
        elif value:
            text += f"{name.replace('_', ' ')}:\n{indent(_table(value, columns.get(name)), '  ')}"
    return text


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _table(records: Sequence[Mapping[str, object]], columns: str | None) -> str:
    names = dict.fromkeys(name for record in records for name in record) if columns is None else columns.split(",")
    return _table_of(
        records, [name for name in names if any(_text_of_value(name, _value(one, name)) for one in records)]
    )


def _table_of(records: Sequence[Mapping[str, object]], names: Sequence[str]) -> str:
    rows = [[_text_of_value(name, _value(record, name)) for name in names] for record in records]
    numbers = [all(type(_value(record, name)) in {int, float} for record in records) for name in names]
    return table(names, rows, numbers)


def _text_of_value(name: str, value: Any) -> str:
    """Return a value of a field as people read it; empty if there is nothing to tell."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return time_text(value) if is_time(name) else str(value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list) and all(isinstance(part, float) for part in value):
        return position_text(value)
    if isinstance(value, list) and not any(isinstance(part, (list, Mapping)) for part in value):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping) and not any(isinstance(part, (list, Mapping)) for part in value.values()):
        return ", ".join(f"{key}: {part}" for key, part in value.items())
    return " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())


def table(head: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[bool] = ()) -> str:
    """Align rows below a head, if any, one line each, columns of numbers to the right; empty without rows."""
    if not rows:
        return ""
    cells = [[f"{cell:,}" if isinstance(cell, int) else " ".join(str(cell).split()) for cell in row] for row in rows]
    columns = zip(*rows, strict=True)
    is_number = numbers or [all(isinstance(cell, (int, float)) for cell in column) for column in columns]
    align = ["right" if right else "left" for right in is_number]
    text: str = tabulate([head, *cells] if head else cells, tablefmt="plain", colalign=align, disable_numparse=True)
    return f"{text}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _columns(names: str | None, records: Sequence[Mapping[str, object]]) -> list[str]:
    all_columns = list(dict.fromkeys(name for record in records for name in record))
    if names is None:
        return all_columns
    columns = [name.strip() for name in _NAME.findall(names) if name.strip()]
    unknown = [name for name in columns if _first_key(name) not in all_columns] if columns else [names]
    if all_columns and unknown:
        guess = did_you_mean(unknown[0], all_columns)
        raise CommandError(f"--columns: {unknown[0]!r} is no column{guess}; there are {', '.join(all_columns)}")
    return columns


def _first_key(name: str) -> str:
    try:
        return split(name)[0]
    except ValueError:
        return name


def _value(record: Mapping[str, object], column: str) -> object:
    value = value_at(record, column)
    return None if value is ABSENT else value


def _cell(value: object) -> object:
    if value is None:
        return ""
    return value if isinstance(value, (str, int, float)) else json.dumps(value, ensure_ascii=False)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not columns:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
