#!/usr/bin/env python3
"""Write what is derived from parameters, topic keys and the schema: config/memory.yaml, and the tables in docs/.

python3 scripts/render_parameters.py
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from robotmem_ros.memory.config.parameters import Parameters  # noqa: E402
from robotmem_ros.perception.topic_config import key_of, table  # noqa: E402


def as_yaml() -> str:
    """Return all parameters with their defaults, as a parameter file for the node."""
    lines = [
        "# Every parameter of the memory node with its default; unit and range stand behind it.",
        "# Written by scripts/render_parameters.py. Only `/**:` here, so that `-p name:=value` wins over this file.",
        "/**:",
        "  ros__parameters:",
    ]
    for entry in fields(Parameters):
        lines.append(f"    # {entry.metadata['description']}")
        note = "; ".join(_limits(entry))
        lines.append(f"    {entry.name}: {_as_json(entry.default)}" + (f"  # {note}" if note else ""))
    return "\n".join(lines) + "\n"


def as_markdown() -> str:
    """Return all parameters as a table."""
    rows = ["| parameter | type | default | unit, range | meaning |", "|---|---|---|---|---|"]
    for entry in fields(Parameters):
        limits = "; ".join(_limits(entry)) or " "
        kind = "list of str" if isinstance(entry.default, tuple) else type(entry.default).__name__
        rows.append(
            f"| `{entry.name}` | {kind} | `{_as_json(entry.default)}` | {limits} | {entry.metadata['description']} |"
        )
    return "\n".join(rows)


def topic_keys_as_markdown() -> str:
    """Return the keys of a configured topic as a table."""
    rows = ["| parameter `<name>.` | default | unit, range | meaning |", "|---|---|---|---|"]
    for entry in table():
        default = {} if isinstance(entry.default_factory, type) else entry.default
        value = "*source*" if "source" in entry.metadata else f"`{json.dumps(default)}`"
        limits = "; ".join(_limits(entry)) or " "
        rows.append(f"| `{key_of(entry.name)}` | {value} | {limits} | {entry.metadata['description']} |")
    return "\n".join(rows)


_STABLE = {
    "memories": "id type collection session_id content human_summary context source tags label perception_type "
    "category times_learned confidence status status_reason superseded_by observed_at frame_id map_id x qx size_x "
    "access_count uuid created_at updated_at perception_metadata perception_data",
    "objects": "memory_id first_seen last_seen times_seen confirmed",
    "sightings": "memory_id observed_at x confidence label session_id",
    "stays": "memory_id first_seen last_seen first_absent label area confidence x",
    "sessions": "external_id collection context status started_at ended_at end_reason outcome",
    "memory_history": "memory_id changed_at change reason before",
    "path_points": "observed_at collection session_id frame_id map_id x yaw segment",
    "occupancy_grids": "map_id frame_id resolution origin_x width height observed_at cells",
}
"""Tables that other programs may count on, with their columns; the first of several on one line stands for all."""


def schema_as_markdown() -> str:
    """Return the tables that other programs may read, with the comments of their columns."""
    schema = (ROOT / "robotmem_ros" / "memory" / "storage" / "schema.sql").read_text()
    sections = []
    for name, columns in _STABLE.items():
        match = re.search(rf"((?:^-- [^\n]*\n)*)^CREATE TABLE {name} \(\n(.*?)^\)", schema, re.DOTALL | re.MULTILINE)
        assert match is not None
        about = textwrap.fill(" ".join(line.removeprefix("-- ") for line in match[1].splitlines()), 120)
        rows = [_column(match[2], column) for column in columns.split()]
        head = ["| column | type | meaning |", "|---|---|---|"]
        sections.append("\n".join([f"### {name}\n", *([f"{about}\n"] if about else []), *head, *rows]))
    return "\n\n".join(sections)


def _column(table: str, name: str) -> str:
    match = re.search(rf"^    {name} (\w+)(.*?),?(?:  -- (.*))?$", table, re.MULTILINE)
    assert match is not None, name
    names = ", ".join(f"`{column}`" for column in [name, *re.findall(r", (\w+) [A-Z]", match[2])])
    choices = re.search(r"IN \((.*?)\)", match[2])
    meaning = "; ".join(filter(None, (match[3], choices and choices[1].replace("'", "`"))))
    return f"| {names} | {match[1]} | {meaning or ' '} |"


def with_table(page: str, name: str, table: str) -> str:
    """Return the text of a page with the table between the markers of its name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{table}\n{end}", page)


def _as_json(default: object) -> str:
    # ROS has no empty list.
    return json.dumps(list(default) or [""] if isinstance(default, tuple) else default)


def _limits(entry: Field[Any]) -> Iterator[str]:
    limits = entry.metadata
    if limits["unit"]:
        yield limits["unit"]
    if limits["minimum"] is not None:
        yield f"{limits['minimum']} to {limits['maximum']}"
    if limits["choices"]:
        yield " or ".join(limits["choices"])
    if limits["read_only"]:
        yield "at start only"


def write(texts: Mapping[Path, str]) -> int:
    """Write files that differ, or with --check report them; return the exit code."""
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/{Path(sys.argv[0]).name}", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(texts[path])
    return 0


def main() -> int:
    """Write the files, or with --check report those that are stale."""
    parameters, topics, schema = (ROOT / "docs" / f"{name}.md" for name in ("parameters", "topics", "schema"))
    texts = {
        ROOT / "config" / "memory.yaml": as_yaml(),
        parameters: with_table(parameters.read_text(), "parameters", as_markdown()),
        topics: with_table(topics.read_text(), "topic keys", topic_keys_as_markdown()),
        schema: with_table(schema.read_text(), "tables", schema_as_markdown()),
    }
    return write(texts)


if __name__ == "__main__":
    sys.exit(main())
