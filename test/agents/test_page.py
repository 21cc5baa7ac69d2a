"""docs/agents.md tells the tools and options that there are."""

from __future__ import annotations

import re
from pathlib import Path

from robotmem_ros.agents.tools import TOOLS
from robotmem_ros.cli.listing import Option
from robotmem_ros.cli.serving import COMMANDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text()


def test_the_table_of_tools_is_that_of_the_code() -> None:
    told = re.findall(r"^\| `(\w+)` \| (yes|no) \| (.+) \|$", PAGE, re.MULTILINE)
    assert told == [(tool.name, "yes" if tool.writes else "no", tool.title) for tool in TOOLS]


def test_each_option_of_the_server_is_told() -> None:
    (server,) = [command for command in COMMANDS if command.name == "mcp"]
    options = [name for entry in server.options if isinstance(entry, Option) for name in entry.names]
    table = PAGE.partition("| option |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(--[\w-]+)`", table)) == set(options)
