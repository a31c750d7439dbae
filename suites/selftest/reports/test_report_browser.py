"""results.html in a real Chromium: nothing runs, nothing loads, filters work, everyone can read and reach it."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.views import html
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.chromium import AVAILABLE, CONTRAST, MISSING, emulate, started
from dmlcts.suites.selftest.reports.report_samples import conformant, failing, hostile

By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=MISSING)

SAMPLES = {"conformant": conformant, "failing": failing, "hostile": hostile}
EVERY_SAMPLE = pytest.mark.parametrize("sample", list(SAMPLES))
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


class Browser:
    """A page of a sample, and what the tests ask of it."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    @functools.cache  # noqa: B019  # one browser lives as long as the module's tests
    def _address(self, sample: str) -> str:
        path = self._folder / f"{sample}.html"
        path.write_text(html.page(SAMPLES[sample](), load_tables()), encoding="utf-8")
        return path.as_uri()

    def show(self, sample: str, fragment: str = "", width: int = 1200, **features: str) -> None:
        """Load a sample's page afresh, 1200 pixels wide, light and on a screen by default."""
        emulate(self.driver, width, **features)
        self.driver.get("about:blank")
        self.driver.get(self._address(sample) + fragment)

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def open_all(self) -> None:
        """Open every section, which builds what it holds."""
        self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            const open = () => document.querySelectorAll("details:not([open])").forEach(e => { e.open = true; });
            const wait = () => (document.querySelector("details noscript") ? (open(), setTimeout(wait, 20)) : done());
            wait();
        """)

    def open_clause(self, clause: str) -> None:
        """Click on the summary of a clause, and wait for its rows: they are built after the click."""
        self.driver.find_element(By.CSS_SELECTOR, f"[id='{clause}'] > summary").click()
        self.driver.execute_async_script(
            """
            const [clause, done] = arguments;
            const section = document.getElementById(clause);
            const wait = () => (section.querySelector("[data-row]") ? done() : setTimeout(wait, 20));
            wait();
            """,
            clause,
        )

    def field(self, name: str) -> Any:
        return self.driver.find_element(By.ID, f"f-{name}")

    def shown(self, kind: str) -> list[str]:
        """Ids of the failures or clauses that the filter leaves."""
        return self.run(  # type: ignore[no-any-return]
            "return [...document.querySelectorAll(`[data-item=${arguments[0]}]`)]"
            ".filter(e => !e.hidden).map(e => e.id)",
            kind,
        )

    @property
    def fragment(self) -> str:
        return self.run("return location.hash")  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium that resolves no name."""
    folder = tmp_path_factory.mktemp("pages")
    with started(folder) as driver:
        yield Browser(driver, folder)


# Nothing runs, nothing loads.


@EVERY_SAMPLE
def test_the_console_stays_empty_and_nothing_is_fetched(browser: Browser, sample: str) -> None:
    browser.driver.get_log("browser")
    browser.show(sample)
    assert browser.driver.get_log("browser") == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return window.harmed") is None
    assert browser.run("return document.querySelectorAll('script').length") == 1


def test_the_policy_stops_a_script_that_got_in(browser: Browser) -> None:
    browser.show("failing")
    browser.run("""
        document.body.insertAdjacentHTML("beforeend", "<p style='color: red' id=late>late</p>");
        const script = document.createElement("script");
        script.textContent = "window.harmed = 1";
        document.body.append(script);
    """)
    assert browser.run("return window.harmed") is None
    assert browser.run("return getComputedStyle(document.getElementById('late')).color") != "rgb(255, 0, 0)"
    messages = [entry["message"] for entry in browser.driver.get_log("browser")]
    assert len(messages) == 2
    assert all("Content Security Policy" in message for message in messages)


def test_the_page_reads_without_its_script(browser: Browser) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.show("failing")
        text = browser.driver.find_element(By.TAG_NAME, "main").text
        assert "input -0.5 gives 0.0" in text
        assert "round.toward-infinity" in text
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        assert not any(button.is_displayed() for button in browser.driver.find_elements(By.TAG_NAME, "button"))
        summary = browser.driver.find_element(By.CSS_SELECTOR, "#failure-5 > summary")
        evidence = browser.driver.find_element(By.CSS_SELECTOR, "#failure-5 .evidence")
        assert not summary.is_displayed(), "it lies folded under the first of its cause"
        browser.driver.find_element(By.CSS_SELECTOR, "details.rest > summary").click()
        assert not evidence.is_displayed()
        summary.click()
        assert evidence.is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


# Filters and links.


def test_a_search_narrows_failures_and_clauses_and_is_in_the_address(browser: Browser) -> None:
    browser.show("failing")
    everything = browser.shown("clause")
    assert len(browser.shown("failure")) == 5
    browser.field("q").send_keys("toward-infinity -1.5")
    assert len(browser.shown("failure")) == 1
    assert browser.fragment == "#q=toward-infinity+-1.5"
    assert browser.run("return document.getElementById('f-count').value").startswith("1 of 5 failures, ")
    browser.driver.refresh()
    assert len(browser.shown("failure")) == 1
    assert browser.field("q").get_attribute("value") == "toward-infinity -1.5"
    browser.field("clear").click()
    assert (browser.shown("clause"), browser.fragment) == (everything, "")


def test_a_section_is_built_when_it_is_opened(browser: Browser) -> None:
    browser.show("failing")
    rows = "return document.querySelectorAll('[id=\"clip.cast.integer\"] [data-row]').length"
    assert browser.run(rows) == 0
    browser.open_clause("clip.cast.integer")
    assert browser.run(rows) > 3
    browser.open_all()
    assert browser.run("return document.querySelectorAll('noscript').length") == 0
    assert browser.run("return window.harmed") is None


def test_a_search_reads_sections_that_are_not_built_yet(browser: Browser) -> None:
    browser.show("hostile")
    everything = browser.shown("clause")
    browser.field("q").send_keys("<noscript>")
    assert browser.shown("clause") == []
    browser.field("clear").click()
    browser.field("q").send_keys("link to this clause")
    assert browser.shown("clause") == everything


def test_the_fields_narrow_together(browser: Browser) -> None:
    browser.show("failing", "#type=INT8&operator=ELEMENT_WISE_CLIP&outcome=pass&subject=casting")
    assert browser.shown("failure") == []
    assert browser.shown("clause") == ["clip.cast.integer"]
    browser.open_clause("clip.cast.integer")
    rows = browser.run(
        "return [...document.getElementById('clip.cast.integer').querySelectorAll('[data-row]')]"
        ".filter(row => !row.hidden).map(row => row.dataset.type)"
    )
    assert rows == ["INT8"]
    assert browser.run("return document.querySelector('[data-nothing=failure]').hidden") is False
    assert not browser.driver.find_element(By.TAG_NAME, "figure").is_displayed()
    browser.field("q").send_keys("no such words anywhere")
    assert browser.shown("clause") == []
    assert browser.run("return document.querySelector('[data-nothing=clause]').hidden") is False


def test_an_address_made_to_do_harm_does_none(browser: Browser) -> None:
    browser.driver.get_log("browser")
    browser.show("failing", "#q=%3Cscript%3E&type=%22%3E&outcome=nonsense&constructor=1&%E0%A4%A")
    assert browser.shown("failure") == []
    browser.show("failing", "#%E0%A4%A")
    assert len(browser.shown("failure")) == 5
    assert browser.driver.get_log("browser") == []


def test_a_cell_of_the_matrix_shows_its_clauses(browser: Browser) -> None:
    browser.show("failing")
    cell = browser.driver.find_element(By.CSS_SELECTOR, ".cell.c-fail")
    assert "ROUND FLOAT32, rounding: fail, 1 of 3 clauses broken" in cell.get_attribute("title")
    cell.click()
    assert browser.fragment == "#operator=ELEMENT_WISE_ROUND&type=FLOAT32&subject=rounding"
    assert browser.shown("clause") == ["round.toward-infinity", "round.nearest-even", "round.toward-zero"]
    assert len(browser.shown("failure")) == 5


def test_a_filter_link_leads_to_what_it_leaves(browser: Browser) -> None:
    browser.show("failing")
    browser.driver.find_element(By.CSS_SELECTOR, "[data-set-outcome=fail]").click()
    assert browser.run("return document.activeElement.parentElement.id") == "failure-1"
    assert 0 <= browser.run("return document.getElementById('failure-1').getBoundingClientRect().top") < 450
    browser.driver.find_element(By.CSS_SELECTOR, "[data-set-outcome=pass]").click()
    assert browser.run("return document.activeElement.parentElement.dataset.item") == "clause"


def test_an_outcome_of_the_legend_shows_its_clauses(browser: Browser) -> None:
    browser.show("failing")
    browser.driver.find_element(By.CSS_SELECTOR, "[data-set-outcome=fail]").click()
    assert browser.shown("clause") == ["round.toward-infinity"]


def test_a_deep_link_opens_its_clause(browser: Browser) -> None:
    browser.show("failing", "#clip.cast.integer")
    clause = browser.driver.find_element(By.ID, "clip.cast.integer")
    assert clause.get_attribute("open") is not None
    top = browser.run("return arguments[0].getBoundingClientRect().top", clause)
    covered = browser.run("return document.getElementById('filter').getBoundingClientRect().bottom")
    assert 0 < covered <= top < 450
    control = browser.driver.find_element(By.ID, "clip.idempotent")
    assert control.get_attribute("open") is None


def test_a_deep_link_to_a_clause_that_is_filtered_away_shows_it(browser: Browser) -> None:
    browser.show("failing", "#type=INT8")
    assert "round.toward-infinity" not in browser.shown("clause")
    browser.run("location.hash = 'round.toward-infinity'")
    assert "round.toward-infinity" in browser.shown("clause")


def test_copying_the_case_takes_the_yaml_alone_or_with_its_command(browser: Browser) -> None:
    from selenium.webdriver.support.ui import WebDriverWait  # slow to import: not where tests are collected

    browser.show("failing")
    browser.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open_all()
    texts = []
    for selector in ("button[aria-label='Copy the command with the case']", "button[data-part]"):
        button = browser.driver.find_element(By.CSS_SELECTOR, f"#failure-1 {selector}")
        button.click()
        WebDriverWait(browser.driver, 10).until(lambda _, button=button: button.text == "Copied")
        texts.append(browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])"))
    command, case = texts
    assert case.startswith("format: dmlcts/failure/1\n")
    assert command == f"dmlcts replay - --backend nx.py:Nx <<'CASE'\n{case}CASE\n"


def test_copying_puts_the_replay_command_on_the_clipboard(browser: Browser) -> None:
    from selenium.webdriver.support.ui import WebDriverWait  # slow to import: not where tests are collected

    browser.show("failing")
    browser.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    button = browser.driver.find_element(By.CSS_SELECTOR, "#failure-1 .copy")
    button.click()
    WebDriverWait(browser.driver, 10).until(lambda _: button.text == "Copied")
    copied = browser.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](e + ''))"
    )
    assert copied.startswith("dmlcts replay failures/round.toward-infinity-")


# Everyone can read and reach it.


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Browser) -> None:
    browser.show("failing")
    body = browser.driver.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    assert browser.run("return document.activeElement.id") == "f-q"
    browser.field("q").send_keys("1.5")
    browser.field("q").send_keys(Keys.ESCAPE)
    assert (browser.field("q").get_attribute("value"), len(browser.shown("failure"))) == ("", 5)
    browser.run("document.activeElement.blur()")
    focusable = browser.run(
        "return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true})).length"
    )
    reached = browser.driver.execute_async_script("""
        const done = arguments[arguments.length - 1]; const seen = new Set(); const bare = [];
        document.addEventListener("focusin", (event) => {
          seen.add(event.target);
          const style = getComputedStyle(event.target);
          const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
          if (!outlined) bare.push(event.target.outerHTML.slice(0, 90));
        });
        window.reached = () => [seen.size, bare];
        done(null);
    """)
    assert reached is None
    for _ in range(40):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    count, bare = browser.run("return window.reached()")
    assert count == 40  # forty presses, forty places: no trap, nothing twice
    assert bare == []
    assert focusable > 200
    first = browser.run("document.activeElement.blur(); return document.querySelector('.skip').getAttribute('href')")
    assert first == "#main"


def test_a_cell_opens_with_the_keyboard(browser: Browser) -> None:
    browser.show("failing")
    cell = browser.driver.find_element(By.CSS_SELECTOR, ".cell.c-fail")
    browser.run("arguments[0].focus()", cell)
    cell.send_keys(Keys.ENTER)
    assert browser.fragment == "#operator=ELEMENT_WISE_ROUND&type=FLOAT32&subject=rounding"


@SCHEMES
@pytest.mark.parametrize("sample", ["conformant", "failing"])
def test_text_and_glyphs_stand_out_from_what_is_behind_them(browser: Browser, sample: str, scheme: str) -> None:
    browser.show(sample, **{"prefers-color-scheme": scheme})
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
    browser.open_all()
    count, faint = browser.run(CONTRAST)
    assert faint == {}
    assert count > 1000


def test_faint_text_would_be_noticed(browser: Browser) -> None:
    browser.show("failing")
    browser.run("document.querySelector('.sentence').style.color = '#999'")
    assert browser.run(CONTRAST)[1] == {"sentence P rgb(153, 153, 153)": "2.85"}


def test_no_outcome_is_shown_by_colour_alone(browser: Browser) -> None:
    browser.show("failing")
    shapes = browser.run(
        "return [...document.querySelectorAll('symbol')].map(s => s.innerHTML.replace(/fill=\\S+|stroke=\\S+/g, ''))"
    )
    assert len(set(shapes)) == len(shapes) == 11
    silent = browser.run(
        "return [...document.querySelectorAll('.cell, .badge')].filter(e => !e.textContent.trim()).length"
    )
    assert silent == 0


@EVERY_SAMPLE
def test_a_narrow_phone_scrolls_down_only(browser: Browser, sample: str) -> None:
    browser.show(sample, width=360)
    wide = browser.run("return [document.scrollingElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1] == 360


def test_printing_opens_the_failures_on_white(browser: Browser) -> None:
    browser.show("failing", media="print", **{"prefers-color-scheme": "dark"})
    assert browser.driver.find_element(By.ID, "failure-5").get_attribute("open") is None
    browser.run("dispatchEvent(new Event('beforeprint'))")
    for name in ("failure-1", "failure-5"):
        assert browser.driver.find_element(By.CSS_SELECTOR, f"#{name} .evidence").size["height"] > 50
    assert browser.driver.find_element(By.ID, "clip.idempotent").size["height"] < 60
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.driver.find_element(By.ID, "failure-5").get_attribute("open") is None


def test_printing_without_a_script_opens_the_failures_too(browser: Browser) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)  # the style sheet alone must do it
    try:
        browser.show("failing", media="print", **{"prefers-color-scheme": "dark"})
        closed = browser.driver.find_element(By.ID, "failure-5")
        assert closed.get_attribute("open") is None
        assert browser.driver.find_element(By.CSS_SELECTOR, "#failure-5 .evidence").size["height"] > 50
        assert browser.driver.find_element(By.CSS_SELECTOR, "#failure-1 .evidence").size["height"] > 50
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        passing = browser.driver.find_element(By.ID, "clip.idempotent")
        assert passing.size["height"] < 60
        printed = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
        assert printed.startswith(b"%PDF")
        assert len(printed) > 20_000
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
