"""A condition that the page has no word of, but the server describes."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from ...support.web import console
from .conftest import OpenPage, Visit
from .test_search import conditions

_WITH_MORE = """
from __future__ import annotations
import sys
from dataclasses import dataclass
from functools import partial
from robotmem_ros.memory import Kind, RobotMemory
from robotmem_ros.memory.argument import NEAR, Names, Where, argument, names, read_times
from robotmem_ros.memory.conditions.attributes import Confidence, Kinds, OneOf, Window
from robotmem_ros.memory.search import request
from robotmem_ros.memory.search.query import by_names, circle, if_set
from robotmem_ros.memory.times import Time

def sureness(reader, field):
    value = getattr(reader.request, field)
    return Confidence(value, reader.decay) if value else None

def if_given(make):
    def read(reader, field):
        value = getattr(reader.request, field)
        return make(value) if value else None
    return read

@dataclass
class Request(request.RecallRequest):
    objects: Names = names("perceptions of these objects", condition=by_names(partial(OneOf, "label")))
    only_facts: bool = argument(False, "facts alone", condition=if_set(Kinds((Kind.FACT,), suffices=True)))
    sureness: float | None = argument(None, "least sureness", within=(0.0, 1.0), condition=sureness)
    since: Time | None = argument(None, "perceived since", condition=if_given(lambda time: Window(time, None)))
    about: str = argument("", "label in words", condition=if_given(lambda text: OneOf("label", (text,))))
    around: Where = argument(None, "memories around", shape=NEAR, condition=circle)

def recall(memory, **values):
    return memory._recall(Request(**read_times(Request, values, memory.moment)))

request.RecallRequest, RobotMemory.recall = Request, recall
from robotmem_ros.cli.main import main
sys.exit(main())
"""
"""The command with six conditions more, each declared by its field alone."""


def test_conditions_that_the_server_describes_appear_by_themselves(open_page: OpenPage, own_db: Path) -> None:
    with console(own_db, code=_WITH_MORE, imports=["robotmem_ros.memory"]) as server:
        page = open_page(server.url, "/?q=glass&objects=glass")
        expect(page.locator("#summary")).to_contain_text(re.compile("^3 results"))
        page.get_by_role("button", name="Remove the condition glass").click()
        expect(page.locator("#summary")).to_contain_text("23 results")
        page.get_by_role("button", name="Conditions").click()
        box = page.get_by_label("Perceptions of these objects")
        box.fill("glass")
        box.press("Enter")
        expect(page.locator("#summary")).to_contain_text(re.compile("^3 results"))
        page.get_by_label("Least sureness").fill("1")
        page.get_by_role("button", name="Remove the condition Least sureness 1").click()
        page.get_by_label("Facts alone").check()
        expect(page.get_by_role("button", name="Remove the condition Facts alone")).to_be_visible()
        assert conditions(page)["objects"] == ["glass"]
        assert conditions(page)["only_facts"] == ["1"]
        page.get_by_role("button", name="Remove the condition glass").click()
        expect(page.get_by_role("option").locator(".kind-fact").first).to_be_visible()
        expect(page.get_by_role("option").locator(".kind-perception")).to_have_count(0)
        page.get_by_role("button", name="Clear all conditions").click()
        assert not conditions(page).keys() & {"objects", "only_facts"}
        for name, value in (
            ("Perceived since", "2100-01-01"),
            ("Label in words", "spoon"),
            ("Memories around", "1e5, 0"),
        ):
            page.get_by_label(name).fill(value)
            page.get_by_label(name).press("Enter")
            expect(page.locator("#summary")).to_contain_text("Nothing found.")
            page.get_by_role("button", name=f"Remove the condition {name} {value}").click()
            expect(page.locator("#summary")).not_to_contain_text("Nothing found.")


def test_how_a_search_answers_is_no_condition(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Conditions").click()
    flags = page.locator("fieldset.flags label").all_text_contents()
    assert flags == [
        "only in the visible part of the map",
        "within the radius, but best first",
        "since the last visit to the target",
        "same text one by one",
        "also forgotten ones (list only)",
        "also unconfirmed objects",
        "of similar facts, one",
    ]
