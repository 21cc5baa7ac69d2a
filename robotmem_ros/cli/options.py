"""The options that commands share."""

from __future__ import annotations

import argparse

from ..memory.config.parameters import Parameters


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add `--db`, the file of the memory: the node's own where none is given."""
    parser.add_argument("--db", default=Parameters().db_path, help="database file; default: %(default)s")


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`, for programs that read the output."""
    parser.add_argument("--json", action="store_true", help="one JSON object")
