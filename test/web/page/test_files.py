"""The files of the page."""

from __future__ import annotations

import re

from robotmem_ros.web.page import STATIC

INDEX = (STATIC / "index.html").read_text()
MODULES = {file.relative_to(STATIC).as_posix() for folder in ("js", "text") for file in (STATIC / folder).glob("*.js")}


def test_the_page_names_every_module_so_that_none_waits_for_another() -> None:
    assert set(re.findall(r'(?:href|src)="/static/((?:js|text)/[^"]+)"', INDEX)) == MODULES


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r'(?:href|src)="/static/([^"]+)"', INDEX)
    assert [name for name in named if not (STATIC / name).is_file()] == []


def test_each_library_has_its_licence() -> None:
    assert {folder.name for folder in (STATIC / "vendor").iterdir()} == {"leaflet", "uplot"}
    assert all((folder / "LICENSE").is_file() for folder in (STATIC / "vendor").iterdir())


def test_no_module_makes_html_of_text_and_no_style_stands_in_the_page() -> None:
    for module in MODULES:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", (STATIC / module).read_text()
        )
    assert not re.search(r"\sstyle=|<style|\son\w+=|<script>", INDEX)
