"""The README, docs/ and the parameter file say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.conditions.comparison import JOINS, OPERATORS, OWN_FIELDS

from .support.docs import PAGES, ROOT, TEXT


def section(page: str, title: str) -> str:
    """Return the text below a heading of a page, up to the next heading."""
    return re.split(r"^#+ ", PAGES[page].partition(f"# {title}\n")[2], flags=re.MULTILINE)[0]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of the tables in a text, without their heads."""
    for line in text.splitlines():
        if line.startswith("| ") and not re.match(r"\| (service|topic|parameter) ", line):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def names_in_code(pattern: str) -> set[str]:
    """Return what a pattern finds in the code of the node."""
    code = "".join(path.read_text() for path in (ROOT / "robotmem_ros" / "node").glob("*.py"))
    return set(re.findall(pattern, code))


def test_the_parameter_file_and_the_table_are_those_of_the_code(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "render_parameters.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_table_of_services_is_that_of_the_node() -> None:
    told = {
        (name.strip("`"), re.sub(r"\[(\w+)\]\(../srv/\1.srv\)", r"\1", kind))
        for name, kind, _ in rows(section("interfaces.md", "Services"))
    }
    code = [ROOT / "robotmem_ros" / name for name in ("messages/verbs.py", "node/services.py")]
    served = {name for file in code for name in re.findall(r"srv\.(\w+)", file.read_text())}
    assert told == {(f"~/{re.sub('(?<=[a-z])(?=[A-Z])', '_', kind).lower()}", kind) for kind in served}
    assert served == {path.stem for path in (ROOT / "srv").glob("*.srv")}


def test_the_table_of_topics_is_that_of_the_node() -> None:
    told = {name.strip("`") for name, *_ in rows(section("interfaces.md", "Topics"))}
    told = {name for cell in told for name in re.findall(r"[~/][\w/]+", cell)}
    assert told == names_in_code(r'"(~/(?:perception|status|events|objects|markers)|/diagnostics|/tf|/tf_static)"')
    published = names_in_code(r"create_(?:publisher|subscription)\(\s*(\w+)")
    messages = {"Perception", "MemoryStatus", "EventMessage", "MatchMessage", "MarkerArray", "DiagnosticArray"}
    assert published == {*messages, "self"}


def test_the_launch_arguments_are_those_of_the_launch_file() -> None:
    declared = re.findall(r'DeclareLaunchArgument\(\s*"(\w+)"', (ROOT / "launch" / "memory.launch.py").read_text())
    told = section("parameters.md", "Launch arguments").partition(" takes ")[2]
    assert re.findall(r"`(\w+)`", told) == declared


def test_the_operators_and_own_fields_are_those_of_the_code() -> None:
    assert sorted(re.findall(r"`(\$\w+)`", section("recall.md", "Operators"))) == sorted({*OPERATORS, *JOINS})
    named = section("recall.md", "Fields of the memory").partition("\n\n`context.label`")[0]
    names = re.findall(r"`([\w.]+)`", named)
    assert names[:-1] == list(OWN_FIELDS)


def test_the_readme_leads_to_every_page() -> None:
    assert set(PAGES) - {"README.md"} <= set(re.findall(r"\((?:docs/)?([\w.]+\.md)", PAGES["README.md"]))


def test_the_navigation_of_the_site_has_every_page() -> None:
    index = (ROOT / "index.rst").read_text()
    named = re.findall(r"^   (?:[^:\n]+<)?([\w/]+)>?$", index, re.MULTILINE)
    assert sorted(Path(name).name for name in named) == sorted(
        {"CHANGELOG", "SECURITY", *(Path(page).stem for page in PAGES)}
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_resolves(page: str) -> None:
    folder = ROOT if (ROOT / page).exists() else ROOT / "docs"
    text = re.sub(r"^ *```.*?^ *```$", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        file = folder / path if path else folder / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text()), target


def test_the_commands_and_files_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.MULTILINE))
    assert {"demo", "test", "bench"} <= told <= targets
    paths = re.findall(r"(?<![\w/])((?:scripts|config|srv|msg|bench)/[\w./-]+\.\w+)", TEXT)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert "robotmem model fetch" in TEXT


def test_the_defaults_the_text_tells_are_those_of_the_parameters() -> None:
    assert f"k = {Parameters().rrf_k}," in PAGES["recall.md"]
    assert f"count {Parameters().real_weight} times (`real_weight`)" in PAGES["recall.md"]
