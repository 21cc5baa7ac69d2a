"""Search with conditions, why each result ranked, and the address that holds it all."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from .conftest import Visit


def conditions(page: Page) -> dict[str, list[str]]:
    """Return what the address of the page holds."""
    return parse_qs(urlsplit(page.url).query)


def test_a_search_marks_its_words_and_tells_how_relevant_each_result_is(visit: Visit) -> None:
    page = visit()
    page.get_by_role("searchbox").fill("red mug")
    expect(page.locator("#summary")).to_contain_text(re.compile(r"^\d+ results"))
    best = page.get_by_role("option").first
    expect(best.locator("mark")).to_have_text(["red", "mug"])
    expect(best.locator(".relevance")).to_have_text(re.compile(r"^relevance \d+ %$"))
    expect(page.locator("#reason")).to_contain_text("no embedding model")
    assert conditions(page)["q"] == ["red mug"]


def test_what_the_list_is_sorted_by_stands_at_each_result(visit: Visit) -> None:
    page = visit("/?q=red mug")
    expect(page.locator("#results .score").first).to_contain_text("1.00")
    scores = [float(text) for text in page.locator("#results .score").all_text_contents()]
    assert len(scores) > 3
    assert scores == sorted(scores, reverse=True)
    page = visit("/?q=red mug&target=1,1")
    expect(page.locator("#results .distance").first).to_be_visible()
    expect(page.locator("#results .score")).to_have_count(0)  # by distance
    page = visit("/?labels=mug")
    expect(page.get_by_role("option").first).to_be_visible()
    expect(page.locator("#results .score")).to_have_count(0)  # by time


def test_without_a_search_the_newest_memories_are_listed_page_by_page(visit: Visit) -> None:
    page = visit()
    expect(page.locator("#summary")).to_have_text("The newest 50 memories")
    expect(page.get_by_role("option").first).to_contain_text("rinse the glass before the robot takes it")
    page.locator("#results").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(page.locator("#summary")).to_contain_text(re.compile(r"^\d+ memories, newest first"))
    assert page.get_by_role("option").count() < 40  # of many more, only those in sight


def test_conditions_narrow_the_list_and_go_one_by_one(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="facts").click()
    expect(page.get_by_role("option").locator(".kind-perception")).to_have_count(0)
    expect(page.get_by_role("option").locator(".kind-fact").first).to_be_visible()
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("Categories").fill("gotcha")
    page.get_by_label("Categories").press("Enter")
    expect(page.locator("#summary")).to_contain_text("6 memories")
    page.get_by_label("All of these tags").fill("kitchen")
    page.get_by_label("All of these tags").press("Enter")
    expect(page.locator("#summary")).to_contain_text("3 memories")
    page.get_by_role("button", name="Remove the condition gotcha").click()
    expect(page.locator("#summary")).to_contain_text("8 memories")
    page.get_by_role("button", name="Clear all conditions").click()
    expect(page.locator("#summary")).to_have_text("The newest 50 memories")
    assert not conditions(page).keys() & {"kinds", "tags", "categories"}


def test_names_that_there_are_are_offered(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Conditions").click()
    labels = page.get_by_label("Labels", exact=True)
    labels.focus()
    expect(page.locator(f"#{labels.get_attribute('list')} option[value=mug]")).to_have_text("9")


def test_a_filter_on_the_context_is_a_search_and_a_wrong_one_is_told(visit: Visit) -> None:
    page = visit(expecting="400")
    page.get_by_role("button", name="Conditions").click()
    box = page.get_by_label("Filter on the context (JSON)")
    box.fill('{"task.success": true, "params.force": {"$gte": 10}}')
    box.blur()
    expect(page.locator("#summary")).to_contain_text("7 results")
    expect(page.locator("#summary")).to_contain_text("by conditions")
    box.fill('{"task.success": ')
    box.blur()
    expect(page.locator("#summary .problem")).to_contain_text("context_filter")


def test_confidence_time_and_ids_are_conditions(visit: Visit) -> None:
    page = visit("/?after=1790000000000000000&before=1790000300000000000&kinds=fact")
    expect(page.locator("#summary")).to_contain_text("10 memories")
    page.get_by_role("button", name=re.compile("^Remove the condition until")).click()
    expect(page.locator("#summary")).to_contain_text("19 memories")
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("Confidence at least").fill("0.95")
    expect(page.locator("#summary")).to_contain_text("No memories here.")
    page.get_by_role("button", name="Clear all conditions").click()
    page.get_by_label("Ids").fill("2, 4")
    page.get_by_label("Ids").press("Enter")
    expect(page.locator("#summary")).to_contain_text("2 results")


def test_the_address_holds_the_question_and_one_can_go_back(visit: Visit) -> None:
    page = visit("/?q=glass&labels=glass")
    expect(page.get_by_role("searchbox")).to_have_value("glass")
    expect(page.locator("#summary")).to_contain_text("3 results")
    page.get_by_role("option").first.click()
    expect(page.get_by_role("heading", name=re.compile("^Memory"))).to_be_visible()
    assert conditions(page)["panel"] == ["memory"]
    page.go_back()
    expect(page.locator("#panel")).to_be_hidden()
    page.go_forward()
    expect(page.get_by_role("heading", name=re.compile("^Memory"))).to_be_visible()


def test_why_a_result_ranked_is_told_step_by_step(visit: Visit) -> None:
    page = visit("/?q=red mug on the bedside table")
    page.get_by_role("option").first.click()
    page.get_by_text("Why this result?").click()
    why = page.locator("[data-part=why]")
    expect(why.get_by_role("row").nth(1)).to_contain_text("words")
    expect(why).to_contain_text("Words of the query: red, mug, bedside, table")
    expect(why).to_contain_text("Number 1 by words")


def test_one_memory_is_shown_in_full_with_its_picture_and_its_sightings(visit: Visit) -> None:
    page = visit("/?q=dishwasher pump leaks")
    page.get_by_role("option").first.click()
    picture = page.get_by_role("img", name="Picture of: leak")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 160
    page.get_by_role("searchbox").fill("kettle on the stove")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("option", name="kettle").first.click()
    expect(page.get_by_text("4 sightings")).to_be_visible()
    expect(page.locator("[data-part=sightings] tbody tr")).to_have_count(4)
    expect(page.locator("dl.fields")).to_contain_text("confirmed object")
    page.locator("dl.fields").get_by_role("button", name="kettle").click()
    assert conditions(page)["labels"] == ["kettle"]


def test_text_is_text_whatever_it_looks_like(visit: Visit) -> None:
    page = visit("/?q=script on a note")
    best = page.get_by_role("option").first
    expect(best).to_contain_text("<script>document.title = 'broken'</script>")
    best.click()
    expect(page.locator("#panel .content")).to_contain_text("<img src=x onerror=")
    expect(page).to_have_title("robotmem")
    assert page.locator("#panel img[src=x], #results img").count() == 0
