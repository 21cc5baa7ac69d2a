"""The blocks of the README, of CONTRIBUTING and of docs/, and the commands in their sentences, as a reader types them.

A block that needs more than the installed package says so in a comment before it: `<!-- needs: ROS -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_FILES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = {page.name: page.read_text() for page in _FILES}
TEXT = "".join(PAGES.values())
NEEDS = {
    "ROS": "test/node/test_docs_on_a_graph.py runs it",
    "rclcpp": "test/node/test_docs_on_a_graph.py builds it and runs it where rclcpp is there",
    "behaviortree_cpp": "test/node/test_trees_in_cpp.py builds it and runs it where BehaviorTree.CPP is there, too",
    "nav2_msgs in C++": "test/node/test_docs_on_a_graph.py builds it and runs it where rclcpp_action is there, too",
    "a plugin of behaviortree_cpp": "test/node/test_trees_in_cpp.py loads it there",
    "a machine to set up": "test_docs.py runs what does not take minutes, in copies of the repository",
    "Ctrl-C": "it runs until it is stopped: test/cli/test_web.py starts it",
    "the console": "test_docs.py starts one",
    "sqlite3": "test_docs.py runs it where the command is there",
    "a memory with trouble": "test/cli/test_doctor.py makes some",
    "PostgreSQL": "test/fleet/test_contents.py runs it",
    "an action that failed": "test/node/test_watched_actions.py makes one, and reads the file",
    "another store": "it was run by hand, with the versions that the page names",
}
"""What blocks need, and what becomes of them."""
_BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$"
    r"(?:\n\n^```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_WILD = ((r"\\\.\\\.\\\.", ".*"), (r"(\\ |\\?\n)+", r"\\s+"), (r"\d(\d|,|\\\.|\\-|:)*", r"[\\d,.:-]+"))
"""Parts of what a page shows, escaped for a regular expression, with what they stand for."""
_PROGRAMS = {".", "colcon", "make", "pip", "python3", "robotmem", "ros2", "rosdep", "sqlite3"}


class Block(NamedTuple):
    """A block of a page that a reader runs."""

    page: str
    needs: str
    kind: str
    text: str
    output: str
    """Text of the block behind one of Python: what it prints."""

    def commands(self) -> Iterator[tuple[str, str]]:
        """Yield the commands of a shell, each with what it prints, as far as it is shown."""
        text = self.text.replace("\\\n", " ")
        parts = text.splitlines() if self.kind == "sh" else re.split(r"^\$ ", text, flags=re.MULTILINE)
        for command, _, shown in (part.partition("\n") for part in parts):
            if command := re.sub(r"\s+#.*", "", command):
                yield command, shown


BLOCKS = [
    Block(page, *(match[name] or "" for name in ("needs", "kind", "text", "output")))
    for page, text in PAGES.items()
    for match in _BLOCK.finditer(text)
    if match["kind"] in {"python", "sh", "console", "cpp", "cmake", "xml"}
]


def looks_like(shown: str, printed: str) -> bool:
    """Tell whether a text is what a page shows, with other numbers and widths, and anything for `...`."""
    pattern = re.escape(shown.strip())
    for part, instead in _WILD:
        pattern = re.sub(part, instead, pattern)
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def inline() -> list[str]:
    """Return the commands within sentences; a program's name alone is none."""
    text = re.sub(r"^ *```.*?^ *```$", "", TEXT, flags=re.DOTALL | re.MULTILINE)
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text))
    return list(dict.fromkeys(span for span in spans if " " in span and span.split()[0] in _PROGRAMS))
