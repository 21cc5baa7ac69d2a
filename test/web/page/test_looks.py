"""How the page looks: languages, themes, a phone, and what a checker of accessibility says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from ...support.page.accessible import assert_accessible
from .conftest import OpenPage, Visit

LOOKS = [
    ("en-GB", "light"),
    ("zh-CN", "dark"),
    pytest.param("en-GB", "dark", marks=pytest.mark.rare),
    pytest.param("zh-CN", "light", marks=pytest.mark.rare),
]
"""Languages and themes; where all is right in the first two, hardly anything is wrong in the others."""
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_the_language_is_that_of_the_browser_and_a_choice_is_kept(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console, "/?panel=health", locale="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    expect(page.get_by_role("heading", name="状态")).to_be_visible()
    expect(page.locator("#summary")).to_contain_text("条记忆")
    page.get_by_role("button", name="语言：中文").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "en"


def test_both_languages_have_all_words(visit: Visit) -> None:
    page = visit()
    english, chinese = page.evaluate(
        "Promise.all([import('/static/text/en.js'), import('/static/text/zh.js')])"
        ".then(([en, zh]) => [Object.keys(en.english), Object.keys(zh.chinese)])"
    )
    assert {key for key in english if not key.endswith("_one")} == set(chinese)


def test_the_theme_is_that_of_the_system_and_a_choice_is_kept(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console, color_scheme="dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="Dark colours").click()
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "light"


@pytest.mark.parametrize(("locale", "theme"), LOOKS)
def test_a_checker_of_accessibility_finds_nothing(
    open_page: OpenPage, shared_console: str, theme: str, locale: str
) -> None:
    page = open_page(shared_console, "/?q=mug&target=4.00,3.00", color_scheme=theme, locale=locale)
    page.get_by_role("option").first.click()
    expect(page.locator("#panel .content")).to_be_visible()
    page.locator("[data-part=why] summary").click()
    expect(page.locator("[data-part=why] table")).to_be_visible()
    page.locator(".toggle").click()
    assert_accessible(page)
    page.locator("[data-act=correct]").click()
    assert_accessible(page)


@pytest.mark.rare
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_checker_of_accessibility_finds_nothing_in_the_other_views(
    open_page: OpenPage, shared_console: str, theme: str
) -> None:
    page = open_page(shared_console, "/?at=1790000300000000000", color_scheme=theme)
    for name in ("Sessions", "Problems", "Health"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        expect(page.locator("#panel .loading")).to_have_count(0)
        assert_accessible(page)
    page.get_by_role("slider", name="Moment").press("ArrowLeft")
    expect(page.get_by_role("heading", name=re.compile("^At "))).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Keys and help").click()
    assert_accessible(page)


def test_what_the_server_says_is_told_in_the_language_of_the_page(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console, "/?q=red mug&min_relevance=1&labels=mugg", locale="zh-CN", expected="400")
    expect(page.locator("#reason")).to_have_text(
        re.compile("^未配置嵌入模型.*；没有记忆的 label 是 'mugg'；是否指 'mug'？$")
    )
    page.get_by_role("button", name="状态").click()
    expect(page.locator(".verdict")).to_contain_text("未配置嵌入模型")
    page.locator(".toggle").click()
    page.get_by_label("按上下文筛选（JSON）").fill('{"task.success": {"$is": true}}')
    page.get_by_label("按上下文筛选（JSON）").blur()
    expect(page.locator("#summary .problem")).to_contain_text("未知的运算符 '$is'，可用的有 $eq")
    page.get_by_role("button", name="语言：中文").click()
    expect(page.locator(".verdict")).to_contain_text("no embedding model is configured")


def test_all_is_within_reach_on_a_phone(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console, **PHONE)
    overflow = "document.documentElement.scrollWidth - innerWidth"
    page.get_by_role("searchbox").fill("kettle")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("option").first).to_contain_text("kettle")
    assert page.evaluate(overflow) <= 0
    page.get_by_role("option").first.tap()
    expect(page.locator("#panel .content")).to_be_visible()
    assert page.evaluate(overflow) <= 0
    page.get_by_role("button", name="Show on map").tap()
    expect(page.locator("#map")).to_be_visible()
    expect(page.locator("#panel")).to_be_hidden()
    strip = page.locator(".u-over").bounding_box()
    assert strip is not None
    page.touchscreen.tap(strip["x"] + strip["width"] / 2, strip["y"] + 10)
    expect(page.get_by_role("heading", name=re.compile("^At "))).to_be_visible()
    assert page.evaluate(overflow) <= 0
    page.get_by_role("button", name="Memories", exact=True).tap()
    expect(page.get_by_role("option").first).to_be_visible()
    assert_accessible(page)


def test_nothing_moves_by_itself_where_that_is_not_wanted(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console)  # by a browser that says so
    page.get_by_role("button", name="Zoom in", exact=True).click()
    assert page.locator(".leaflet-zoom-anim").count() == 0
