"""The site in a real Chromium, opened from its folder: it reads, scrolls and filters, and loads nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.site.folder import write_site
from dmlcts.reports.site.pages import site_files
from dmlcts.suites.selftest.chromium import AVAILABLE, CONTRAST, MISSING, emulate, started
from dmlcts.suites.selftest.site.site_samples import hostile_sources, sources, wide_sources

By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=MISSING)

PAGES = ["index.html", "operators/round.html", "implementation", "results.html", "changes.html", "reading.html"]
PAGES += ["adding.html", "upstream/round.html", "pairs.html"]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDTHS = pytest.mark.parametrize("width", [1400, 390])

MOST_NODES = 6_000
"""More than twice of what a page of 65 rows and 20 columns needs, whatever fonts there are."""


class Browser:
    """The pages of sites, and what the tests ask of them."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    def folder(self, name: str) -> Path:
        """The folder of a site, written where it is not there yet."""
        place = self._folder / name
        if not place.is_dir():
            made = {"usual": sources, "hostile": hostile_sources, "wide": lambda folder: wide_sources(folder, 20)}
            write_site(place, site_files(made[name](self._folder)))
        return place

    def show(self, page: str, fragment: str = "", width: int = 1400, site: str = "usual", **features: str) -> None:
        """Load a page afresh; "implementation" is one of those, whatever its name."""
        place = self.folder(site)
        path = min((place / "implementations").glob("*.html")) if page == "implementation" else place / page
        emulate(self.driver, width, **features)
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def shown_rows(self) -> list[str]:
        return self.run(  # type: ignore[no-any-return]
            "return [...document.querySelectorAll('.grid tbody tr:not([hidden])')].map(e => e.cells[0].textContent)"
        )


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium that resolves no name."""
    folder = tmp_path_factory.mktemp("sites")
    with started(folder) as driver:
        yield Browser(driver, folder)


@EVERY_PAGE
@pytest.mark.parametrize("site", ["usual", "hostile"])
def test_the_console_stays_empty_and_only_the_sites_own_files_are_loaded(
    browser: Browser, page: str, site: str
) -> None:
    if site == "hostile" and not (browser.folder(site) / page).is_file() and page != "implementation":
        pytest.skip("the hostile site has no such page")
    browser.driver.get_log("browser")
    browser.show(page, site=site)
    assert browser.driver.get_log("browser") == []
    loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    home = browser.folder(site).as_uri()
    assert [name for name in loaded if not name.startswith(home)] == []
    assert {name.rpartition(".")[2] for name in loaded} <= {"css", "js", "svg"}
    assert browser.run("return document.styleSheets.length") == 1, "the policy lets the style in"
    assert browser.run("return window.harmed") is None


def test_a_script_that_gets_in_is_stopped(browser: Browser) -> None:
    browser.show("index.html")
    browser.run("""
        const script = document.createElement("script");
        script.textContent = "window.harmed = 1";
        document.body.append(script);
    """)
    assert browser.run("return window.harmed") is None
    messages = [entry["message"] for entry in browser.driver.get_log("browser")]
    assert any("Content Security Policy" in message for message in messages)


@EVERY_PAGE
@WIDTHS
def test_no_page_is_wider_than_the_window(browser: Browser, page: str, width: int) -> None:
    browser.show(page, width=width)
    assert browser.run("return innerWidth") == width
    assert browser.run("return document.scrollingElement.scrollWidth") <= width


def test_a_page_that_is_too_wide_would_be_noticed(browser: Browser) -> None:
    browser.show("index.html", width=390)
    browser.run("document.querySelector('h1').style.width = '500px'")
    assert browser.run("return document.scrollingElement.scrollWidth") > 390


@EVERY_PAGE
@SCHEMES
def test_text_stands_out_from_what_is_behind_it(browser: Browser, page: str, scheme: str) -> None:
    browser.show(page, **{"prefers-color-scheme": scheme})
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
    count, faint = browser.run(CONTRAST)
    assert faint == {}
    assert count > 10


def test_a_page_reads_without_its_script(browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show("operators/round.html")
        text = browser.driver.find_element(By.TAG_NAME, "main").text
        assert "ROUND FLOAT32 with RoundingMode TOWARD_INFINITY" in text
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        assert not any(button.is_displayed() for button in browser.driver.find_elements(By.TAG_NAME, "button"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_two_clicks_lead_from_a_cell_to_its_evidence(browser: Browser) -> None:
    browser.show("index.html")
    browser.driver.find_element(By.CSS_SELECTOR, ".grid tbody td.f a").click()
    assert "/operators/round.html#" in browser.run("return location.href")
    browser.driver.find_element(By.CSS_SELECTOR, ".grid tbody td.f a").click()
    top, target = browser.run(
        "const e = document.querySelector(':target'); return [e.getBoundingClientRect().top, e.className]"
    )
    assert target == "breach"
    assert 0 <= top < 450


def test_filters_narrow_rows_and_columns_and_are_in_the_address(browser: Browser) -> None:
    browser.show("index.html")
    assert len(browser.shown_rows()) == 3
    browser.driver.find_element(By.ID, "f-q").send_keys("ou")
    assert browser.shown_rows() == ["ROUND"]
    assert browser.run("return location.hash") == "#q=ou"
    browser.show("index.html", "#show=differ")
    assert browser.shown_rows() == ["ROUND"]
    browser.show("index.html", "#show=hold")
    assert browser.shown_rows() == ["CLIP", "THRESHOLD"]
    column = browser.run("return document.querySelectorAll('thead th[id]')[1].id")
    browser.show("index.html", f"#show=fail&column={column}")
    assert browser.shown_rows() == [], "that version breaks nothing"
    assert browser.driver.find_element(By.ID, "nothing").is_displayed()
    assert browser.run("return [...document.querySelectorAll('thead th[id]')].filter(e => !e.hidden).length") == 1
    browser.driver.find_element(By.ID, "f-clear").click()
    assert (len(browser.shown_rows()), browser.run("return location.hash")) == (3, "")


def test_a_filter_of_clauses_leaves_their_evidence_alone(browser: Browser) -> None:
    browser.show("operators/round.html", "#show=fail")
    proofs = browser.run("return [...document.querySelectorAll('.proof')].filter(e => !e.hidden).map(e => e.id)")
    assert proofs == browser.shown_rows() == ["round.toward-infinity"]
    browser.run("location.hash = 'round.nan'")
    assert "round.nan" in browser.shown_rows(), "a link to what is filtered away shows it"


def test_an_address_made_to_do_harm_does_none(browser: Browser) -> None:
    browser.driver.get_log("browser")
    browser.show("index.html", "#q=%3Cscript%3E&show=%22&column=nonsense&__proto__=1&%E0%A4%A")
    assert browser.shown_rows() == []
    assert browser.driver.get_log("browser") == []


def test_the_keyboard_reaches_filters_and_cells_and_shows_where_it_is(browser: Browser) -> None:
    browser.show("index.html")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("/")
    assert browser.run("return document.activeElement.id") == "f-q"
    browser.driver.find_element(By.ID, "f-q").send_keys("round", Keys.ESCAPE)
    assert len(browser.shown_rows()) == 3
    bare = []
    for _ in range(20):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        bare += browser.run("""
            const style = getComputedStyle(document.activeElement);
            const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
            return outlined ? [] : [document.activeElement.outerHTML.slice(0, 90)];
        """)
    assert bare == []
    assert browser.run("return document.activeElement.closest('.grid') !== null")
    cell = browser.driver.find_element(By.CSS_SELECTOR, ".grid tbody td.f a")
    cell.send_keys(Keys.ENTER)
    assert "/operators/round.html#" in browser.run("return location.href")


def test_copying_puts_the_replay_command_on_the_clipboard(browser: Browser) -> None:
    from selenium.webdriver.support.ui import WebDriverWait  # slow to import: not where tests are collected

    browser.show("operators/round.html")
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    button = browser.driver.find_element(By.CSS_SELECTOR, ".breach .copy")
    button.click()
    WebDriverWait(browser.driver, 10).until(lambda _: button.text == "Copied")
    copied = browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], arguments[0])")
    assert copied.startswith("dmlcts replay cases/")


@pytest.mark.size("thorough")
@WIDTHS
def test_65_operators_by_20_columns_scroll_under_their_heads(browser: Browser, width: int) -> None:
    browser.show("index.html", width=width, site="wide")
    assert len(browser.shown_rows()) == 65
    assert browser.run("return document.scrollingElement.scrollWidth") <= width
    offsets = browser.run("""
        const grid = document.querySelector(".grid");
        grid.scrollTo(700, 900);
        const box = grid.getBoundingClientRect();
        const head = grid.querySelectorAll("thead th[id]")[10].getBoundingClientRect();
        const row = grid.querySelectorAll("tbody tr th")[40].getBoundingClientRect();
        const corner = grid.querySelector(".corner").getBoundingClientRect();
        const at = (x, y) => document.elementFromPoint(x, y)?.closest("th, td")?.className;
        grid.scrollIntoView();
        const moved = grid.getBoundingClientRect();
        return [grid.scrollLeft, grid.scrollTop, head.top - box.top, row.left - box.left, row.width / innerWidth,
                corner.top - box.top, corner.left - box.left,
                at(moved.left + 9, moved.top + 9)];
    """)
    left, down, head, row, share, corner_top, corner_left, above = offsets
    assert (left, down) == (700, 900)
    assert 0 <= head <= 2 >= row >= 0
    assert 0 <= corner_top <= 2 >= corner_left >= 0
    assert above == "corner", "nothing lies over the corner"
    assert share < 0.45


@pytest.mark.size("thorough")
@pytest.mark.parametrize("page", ["index.html", "operators/round.html", "operators/clip.html"])
def test_a_wide_site_is_painted_of_few_nodes(browser: Browser, page: str) -> None:
    browser.show(page, site="wide")
    assert browser.run("return document.querySelectorAll('*').length") < MOST_NODES
    painted = browser.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        new PerformanceObserver((list, observer) => {
          const first = list.getEntriesByName("first-contentful-paint")[0];
          if (first) { observer.disconnect(); done(first.startTime); }
        }).observe({ type: "paint", buffered: true });
    """)
    assert 0 < painted < 60_000, "milliseconds: it is painted at all, on the slowest machine"
