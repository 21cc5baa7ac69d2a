"""The options that commands share."""

from __future__ import annotations

import argparse


def add_database(parser: argparse.ArgumentParser) -> None:
    """`--db`, the file of the memory."""
    parser.add_argument("--db", required=True, help="database file")


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`, for programs that read the output."""
    parser.add_argument("--json", action="store_true", help="one JSON object")
