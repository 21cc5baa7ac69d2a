"""Labelled sentences, pairs and queries that the quality suites measure with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent


def read_table(name: str) -> list[list[str]]:
    """Return the rows of a file of tab-separated values; empty lines and comments (#) are skipped."""
    lines = (DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read_records(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
