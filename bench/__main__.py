"""List the suites, or run one: `python3 -m bench SUITE [options]`."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def suites() -> dict[str, str]:
    """Return the name of each suite with the first line of its docstring, without importing it."""
    folder = Path(__file__).with_name("suites")
    files = {file.stem: file for file in folder.glob("*.py") if file.stem != "__init__"}
    files |= {file.parent.name: file for file in folder.glob("*/__init__.py")}
    docs = {name: ast.get_docstring(ast.parse(files[name].read_text())) or "" for name in sorted(files)}
    return {name: doc.partition("\n")[0] for name, doc in docs.items()}


def parser_of(name: str) -> tuple[Any, argparse.ArgumentParser]:
    """Import a suite and return it with the parser of its options."""
    suite = import_module(f"bench.suites.{name}")
    parser = argparse.ArgumentParser(
        f"python3 -m bench {name}", description=suite.__doc__, formatter_class=_HelpFormatter
    )
    suite.add_options(parser)
    return suite, parser


def main(arguments: list[str]) -> int:
    """Run the suite that the first argument names, or list all."""
    suite_names = suites()
    parser = argparse.ArgumentParser(
        "python3 -m bench",
        usage="python3 -m bench SUITE [options]\n       python3 -m bench SUITE --help",
        description="\n".join(f"  {name:16}{summary}" for name, summary in suite_names.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    if not arguments or arguments[0] in {"-h", "--help"}:
        parser.print_help()
        return 0
    name, *rest = arguments
    if name not in suite_names:
        parser.error(f"no suite is named {name!r}; there are {', '.join(suite_names)}")
    suite, parser = parser_of(name)
    return suite.run(parser.parse_args(rest)) or 0


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keep the line breaks of a docstring, and add defaults to the help of options."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
