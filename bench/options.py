"""Options that several suites have in common."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from bench import ROOT
from bench.internals.stages import find_model
from robotmem_ros.memory import Parameters


def add_model(parser: ArgumentParser, *, default: str = "", required: bool = True) -> None:
    """Add `--model`, the folder of one; if not `required`, it is empty if there is no such model."""
    parser.add_argument(
        "--model",
        type=_required_model if required else find_model,
        default=default or os.environ.get("ROBOTMEM_MODEL") or Parameters().embedding_model,
        help="folder or name of the embedding model",
    )


def add_results(parser: ArgumentParser) -> None:
    """Add `--results`."""
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", help="folder of the report")


def add_environments(parser: ArgumentParser) -> None:
    """Add `--environments`."""
    parser.add_argument(
        "--environments",
        type=lambda text: Path(text).expanduser(),
        default="~/.cache/robotmem_ros/bench",
        help="folder of the peers' virtual environments, which are created if missing",
    )


def _required_model(name: str) -> str:
    folder = find_model(name)
    if not folder:
        raise ArgumentTypeError(f"there is no model {name!r}; `robotmem model fetch {name}` may fetch it")
    return folder
