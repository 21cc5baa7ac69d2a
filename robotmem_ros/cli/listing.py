"""Print what a command found: as it is read best, as JSON, as CSV, or some of its columns."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tabulate import tabulate

from ..memory.conditions.condition import ABSENT, value_at
from ..memory.context_path import split
from ..memory.display import json_values
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


def show(arguments: argparse.Namespace, result: object, text: str, listed: str = "") -> None:
    """Print a result: its text, as JSON, or what it lists under a name as CSV, or only some columns of that.

    Raises:
        CommandError: a column is unknown.
    """
    if not listed or not (arguments.csv or arguments.columns is not None):
        write_result(_json(result) if arguments.json else text)
        return
    values: Any = json_values(result)
    records = values[listed]
    columns = _columns(arguments.columns, records)
    if arguments.json:
        selection = [{column: _value(record, column) for column in columns} for record in records]
        write_result(_json({**values, listed: selection}))
        return
    rows = [[_cell(_value(record, column)) for column in columns] for record in records]
    write_result(_csv(columns, rows) if arguments.csv else table(columns, rows))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Align rows below a head, if any, one line each, columns of numbers to the right; empty without rows."""
    if not rows:
        return ""
    cells = [[f"{cell:,}" if isinstance(cell, int) else " ".join(str(cell).split()) for cell in row] for row in rows]
    columns = zip(*rows, strict=True)
    align = ["right" if all(isinstance(cell, (int, float)) for cell in column) else "left" for column in columns]
    text: str = tabulate([head, *cells] if head else cells, tablefmt="plain", colalign=align, disable_numparse=True)
    return f"{text}\n"


def _json(value: object) -> str:
    return json.dumps(json_values(value), ensure_ascii=False, indent=2) + "\n"


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
