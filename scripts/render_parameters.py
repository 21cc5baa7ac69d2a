#!/usr/bin/env python3
"""Write what is derived from the tables of parameters and topic keys: config/memory.yaml, and the tables in docs/.

python3 scripts/render_parameters.py
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
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


def main() -> int:
    """Write the files, or with --check report those that are stale."""
    parameters, topics = ROOT / "docs" / "parameters.md", ROOT / "docs" / "topics.md"
    texts = {
        ROOT / "config" / "memory.yaml": as_yaml(),
        parameters: with_table(parameters.read_text(), "parameters", as_markdown()),
        topics: with_table(topics.read_text(), "topic keys", topic_keys_as_markdown()),
    }
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/render_parameters.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(texts[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
