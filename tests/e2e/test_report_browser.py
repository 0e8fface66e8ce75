"""The page of a study as a browser shows it."""

import os
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from helpers import browser
from helpers.small_report import LAST, LONG, UNKNOWN, write_small_study
from planner_r1.paper.report.notebook import write_report

WIDTHS = (1280, 400)
# The text of the page by the size of its letters: the smallest that is not empty.
SMALLEST = """
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = [];
while (texts.nextNode()) {
  const inside = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !inside.getClientRects().length) continue;
  sizes.push(parseFloat(getComputedStyle(inside).fontSize));
}
return Math.min(...sizes);
"""
# What reaches beyond the window and lies in no box that scrolls.
BEYOND = """
return [...document.querySelectorAll("main *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll"))
  .map((e) => `${e.tagName} ${e.className}`);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_small_study(folder)
    write_report(folder / "config.yaml", folder, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    if why := browser.install():
        pytest.skip(why)
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def seen(window, page):
    """The page, opened anew at a desk's width."""
    window.resize(WIDTHS[0])
    window.driver.get("about:blank")
    window.messages(), window.requests()
    go(window, page.as_uri())
    return window


def go(window, address: str) -> None:
    window.driver.get(address)
    WebDriverWait(window.driver, 30).until(lambda d: d.find_elements(By.CSS_SELECTOR, "#episode .outcome"))


def choose(window, **fields: str) -> None:
    for field, shown in fields.items():
        Select(window.driver.find_element(By.ID, f"choose-{field}")).select_by_visible_text(shown)


def chosen(window, field: str) -> str:
    return Select(window.driver.find_element(By.ID, f"choose-{field}")).first_selected_option.text


def texts(window, selector: str) -> list[str]:
    return [element.text for element in window.driver.find_elements(By.CSS_SELECTOR, selector)]


def test_it_needs_nothing_and_complains_of_nothing(seen, page):
    assert seen.requests() == [page.as_uri()]
    assert seen.messages() == []
    pictures = seen.run("return [...document.images].map((i) => [i.naturalWidth, i.alt])")
    assert pictures and all(width > 0 and alternative for width, alternative in pictures)
    assert seen.run("return performance.getEntriesByType('resource').map((e) => e.name)") == []


@pytest.mark.parametrize("width", WIDTHS)
def test_it_can_be_read_at_any_width(seen, page, width):
    seen.resize(width)
    assert seen.run("return document.documentElement.scrollWidth <= innerWidth")
    assert seen.run(BEYOND) == []
    assert seen.run(SMALLEST) >= 12
    if folder := os.environ.get("REPORT_SCREENSHOTS"):
        seen.screenshot(Path(folder) / f"report-{width}.png", width)


def test_every_entry_of_the_contents_leads_somewhere(seen):
    anchors = seen.run("return [...document.querySelectorAll('nav a')].map((a) => a.hash.slice(1))")
    assert {"tables", "figures", "episodes", "table1", "figure3_left", "configuration"} <= set(anchors)
    assert seen.run("return arguments[0].filter((id) => !document.getElementById(id))", anchors) == []
    ids = seen.run("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_what_is_chosen_is_shown(seen):
    choose(seen, source="validation during training", run="tiny, stage1, seed 0", step=str(LAST))
    assert "official pass ✓" in texts(seen, "#viewer-say")[0]
    assert "Blue Spoon" in texts(seen, ".days")[0] and UNKNOWN not in texts(seen, ".days")[0]
    assert "✗ failed" not in texts(seen, ".outcome")[0]

    choose(seen, step="20")
    assert "official fail ✗, strict fail ✗" in texts(seen, "#viewer-say")[0]
    assert UNKNOWN in texts(seen, ".days")[0]
    failed = [row for row in texts(seen, ".outcome tr") if "✗ failed" in row]
    assert any("information in sandbox" in row and UNKNOWN in row for row in failed)

    (other,) = [t for t in texts(seen, "#choose-query option") if t.startswith("3:")]
    choose(seen, query=other)
    assert texts(seen, ".said.user .words") == ["Trip 3, please."]
    choose(seen, source="evaluation on the test split", run="qwen3-8b, base, seed 0")
    assert chosen(seen, "step") == "0"
    assert chosen(seen, "query") == other  # stays where it can


def test_by_the_keyboard_alone(seen):
    choose(seen, source="validation during training", run="tiny, stage1, seed 0", step="0")
    on = seen.driver.find_element(By.ID, "step-on")
    on.send_keys(Keys.ENTER)
    assert chosen(seen, "step") == "20"
    on.send_keys(Keys.SPACE)
    assert chosen(seen, "step") == str(LAST)
    assert not on.is_enabled() and seen.driver.find_element(By.ID, "step-back").is_enabled()
    fold = seen.driver.find_element(By.CSS_SELECTOR, ".said.tool summary")
    fold.send_keys(Keys.ENTER)
    shown = seen.driver.find_element(By.CSS_SELECTOR, ".said.tool pre")
    assert shown.is_displayed() and len(shown.text) < 4000
    seen.driver.find_element(By.CSS_SELECTOR, ".said.tool button").send_keys(Keys.ENTER)
    whole = seen.run("return document.querySelector('.said.tool pre').textContent")
    assert "Place 399" in whole and len(whole) > len(LONG)
    assert all(seen.run("return [...document.querySelectorAll('select')].map((s) => s.labels.length)"))


def test_an_address_leads_to_an_episode(seen, page):
    choose(seen, source="validation during training", run="qwen3-8b, stage3, seed 0", step="20")
    address = seen.driver.current_url
    said = texts(seen, "#viewer-say")
    seen.driver.get("about:blank")
    go(seen, address)
    assert texts(seen, "#viewer-say") == said
    assert texts(seen, ".absent") == []
    assert seen.messages() == []


def test_an_address_of_an_episode_that_is_not_there_says_so(seen, page):
    links = {
        "#episode/%": "none",
        "#episode": "none",
        "#episode/a/b/%3Cb%3Ec/d": "a, b, <b>c, d",
        f"#episode/validation%20during%20training/tiny%2C%20stage1%2C%20seed%200/{LAST}/99": f"seed 0, {LAST}, 99",
    }
    for link, told in links.items():
        seen.driver.get("about:blank")
        go(seen, page.as_uri() + link)
        (said,) = texts(seen, ".absent")
        assert said.startswith("The link's episode (") and f"{told}) is not in this report; another is shown:" in said
    assert f"tiny, stage1, seed 0, step {LAST}, query 1: official pass" in texts(seen, "#viewer-say")[0]
    choose(seen, step="20")
    assert texts(seen, ".absent") == [] and seen.messages() == []


def test_the_papers_tables_fit_a_desk(seen):
    """Both tables of the paper to their last column, as wide as their numbers make them."""
    for table in ("table1", "table2"):
        box, inner = seen.run(
            "const box = document.querySelector(`#${arguments[0]} .scroll`);"
            "return [box.clientWidth, box.querySelector('table').offsetWidth]",
            table,
        )
        assert 0 < inner <= box, table


def test_what_a_model_wrote_is_never_run(seen, page):
    choose(seen, source="validation during training", run="tiny, stage1, seed 0", step="0")
    words = texts(seen, ".said.assistant .words")[-1]
    assert "<script>window.hurt = 1</script></script><img src=http://example.org/x" in words
    assert "\"quotes\" & 'quotes'" in words
    assert "half \ufffd turned" in words
    assert "⟨U+202E⟩ around ⟨U+200F⟩" in words
    assert seen.run("return window.hurt ?? null") is None
    assert seen.run("return document.querySelectorAll('#viewer img, #viewer script').length") == 0
    assert seen.requests() == [page.as_uri()]
    assert seen.messages() == []
