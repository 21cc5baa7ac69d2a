"""The commands of the README and of docs/, as a reader types them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.name: page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
TEXT = "".join(PAGES.values())
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROGRAMS = {".", "colcon", "make", "pip", "python3", "robotmem", "ros2", "rosdep"}


def blocks() -> list[list[str]]:
    """Return the commands of each block that shows a shell."""
    return [list(_commands(kind, text)) for kind, text in _FENCE.findall(TEXT) if kind in {"sh", "console"}]


def replies(program: str) -> list[tuple[str, str]]:
    """Return the commands of a program in the blocks with a prompt, and what they print there."""
    shown = "\n".join(text for kind, text in _FENCE.findall(TEXT) if kind == "console")
    pairs = (part.replace("\\\n", " ").partition("\n") for part in re.split(r"^\$ ", shown, flags=re.MULTILINE))
    return [(command, printed) for command, _, printed in pairs if command.startswith(program)]


def inline() -> list[str]:
    """Return the commands within sentences; a program's name alone is none."""
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", _FENCE.sub("", TEXT)))
    return [span for span in spans if " " in span and span.split()[0] in _PROGRAMS]


def _commands(kind: str, text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        command = re.sub(r"\s+#.*", "", line)
        if kind == "sh" and command:
            yield command
        elif command.startswith("$ "):
            yield command.removeprefix("$ ")
