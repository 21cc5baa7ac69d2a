#!/usr/bin/env python3
"""Writes what is derived from the table of parameters: config/memory.yaml, and the table in the README.

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

from robotmem_ros.memory.parameters import Parameters  # noqa: E402

_BEGIN, _END = "<!-- parameters: begin -->", "<!-- parameters: end -->"


def as_yaml() -> str:
    """All parameters with their defaults, as a parameter file for the node."""
    lines = [
        "# Every parameter of the memory node with its default; unit and range stand behind it.",
        "# Written by scripts/render_parameters.py. Only `/**:` here, so that `-p name:=value` wins over this file.",
        "/**:",
        "  ros__parameters:",
    ]
    for entry in fields(Parameters):
        lines.append(f"    # {entry.metadata['description']}")
        note = "; ".join(_limits(entry))
        lines.append(f"    {entry.name}: {json.dumps(entry.default)}" + (f"  # {note}" if note else ""))
    return "\n".join(lines) + "\n"


def as_markdown() -> str:
    """All parameters as a table for the README."""
    rows = ["| parameter | type | default | unit, range | meaning |", "|---|---|---|---|---|"]
    for entry in fields(Parameters):
        limits = "; ".join(_limits(entry)) or " "
        kind = type(entry.default).__name__
        rows.append(
            f"| `{entry.name}` | {kind} | `{json.dumps(entry.default)}` | {limits} | {entry.metadata['description']} |"
        )
    return "\n".join(rows)


def with_table(readme: str) -> str:
    """The text of the README with the table in its place."""
    pattern = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{_BEGIN}\n{as_markdown()}\n{_END}", readme)


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
    """Writes the files, or with --check says whether they are as they would be written."""
    readme = ROOT / "README.md"
    wanted = {ROOT / "config" / "memory.yaml": as_yaml(), readme: with_table(readme.read_text())}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/render_parameters.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
