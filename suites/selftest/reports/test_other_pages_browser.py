"""The pages of `compare`, `migrate`, `history` and `sweep` in a real Chromium: they share the style of results.html."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dmlcts.reports.comparing import comparison_views, history
from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.migrating.migration import migration
from dmlcts.reports.migrating.page import page as migration_page
from dmlcts.reports.migrating.specification import shipped
from dmlcts.reports.views import sweeps
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.chromium import AVAILABLE, CONTRAST, MISSING, emulate, started
from dmlcts.suites.selftest.installing import HOUSE
from dmlcts.suites.selftest.reports.report_samples import conformant, failing_among_all

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=MISSING)
pytest.importorskip("selenium")

KEPT = HOUSE / "reports" / "examples"


def columns() -> tuple[Column, Column]:
    return Column("here", conformant()), Column("nx[adapter=LONG_NAMES_OF_AN_ADAPTER]", failing_among_all())


def migrated() -> str:
    first, second = columns()
    return migration_page(migration(first, second, load_tables(), shipped(), mixed=True))


def swept() -> str:
    record = sweeps.load_sweep(KEPT / "wgpu-nvidia.sweep.json")
    exponents = {str(exponent): 10**3 for exponent in range(24, 32)}
    row = next(row for row in record["sweeps"] if row["data_type"] == "FLOAT32")
    wrong = {"wrong": 8_000, "wrong_by_exponent": exponents, "wrong_by_fraction": {}, "simplest_wrong": []}
    record["sweeps"] = [{**row, **wrong}]
    return sweeps.page(record)


PAGES: dict[str, Callable[[], str]] = {
    "compare": lambda: comparison_views.html(compare(columns(), load_tables(), mixed=True)),
    "migrate": migrated,
    "history": lambda: history.html(history.load_history(KEPT / "history-torch.json")),
    "sweep": swept,
}
EVERY_PAGE = pytest.mark.parametrize("page", PAGES)


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Loads a page afresh and returns the driver."""
    if not KEPT.exists():
        pytest.skip("the kept results are in the checkout only")
    folder = tmp_path_factory.mktemp("pages")
    for name, made in PAGES.items():
        (folder / f"{name}.html").write_text(made(), encoding="utf-8")
    with started(folder) as driver:

        def shown(page: str, width: int = 1400, **features: str) -> Any:
            emulate(driver, width, **features)
            driver.get("about:blank")
            driver.get((folder / f"{page}.html").as_uri())
            return driver

        yield shown


@EVERY_PAGE
@pytest.mark.parametrize("width", [1400, 390])
def test_no_page_is_wider_than_the_window(show: Callable[..., Any], page: str, width: int) -> None:
    driver = show(page, width)
    driver.execute_script("for (const e of document.querySelectorAll('details, section')) e.open = true")
    assert driver.execute_script("return document.scrollingElement.scrollWidth") <= width


@EVERY_PAGE
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(show: Callable[..., Any], page: str, scheme: str) -> None:
    driver = show(page, **{"prefers-color-scheme": scheme})
    assert (
        driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        == {
            "light": "rgb(255, 255, 255)",
            "dark": "rgb(20, 23, 28)",
        }[scheme]
    )
    count, faint = driver.execute_script(CONTRAST)
    assert faint == {}
    assert count > 30


@EVERY_PAGE
def test_the_filters_narrow_the_page(show: Callable[..., Any], page: str) -> None:
    driver = show(page)
    assert driver.get_log("browser") == []
    seen = driver.execute_script("""
        const operators = document.getElementById("f-operator");
        operators.value = operators.options[1].value;
        operators.dispatchEvent(new Event("input", { bubbles: true }));
        const items = [...document.querySelectorAll("[data-item]")];
        return [operators.value, items.filter(e => !e.hidden).map(e => e.dataset.operator), location.hash];
    """)
    operator, left, fragment = seen
    assert set(left) == {operator}
    assert fragment == f"#operator={operator}"


@pytest.mark.parametrize("page", ["compare", "migrate"])
def test_a_narrow_table_names_the_column_in_each_cell(show: Callable[..., Any], page: str) -> None:
    driver = show(page, 390)
    shown = driver.execute_script("""
        const cell = document.querySelector(".stacked [data-label=verdict]");
        const head = document.querySelector(".stacked thead").getBoundingClientRect();
        return [getComputedStyle(cell).display, getComputedStyle(cell, "::before").content, head.width, head.height];
    """)
    assert shown[0] == "block"
    assert "data-label" in shown[1] or "verdict" in shown[1]
    assert shown[2:] == [1, 1], "the headings are for those who listen"


def test_the_labels_below_the_bars_do_not_touch(show: Callable[..., Any]) -> None:
    boxes = show("sweep").execute_script(
        "return [...document.querySelectorAll('.plot .tick')].map(e => e.getBoundingClientRect())"
        ".map(box => [box.left, box.right])"
    )
    assert len(boxes) > 4
    assert all(before[1] < after[0] for before, after in itertools.pairwise(boxes))
