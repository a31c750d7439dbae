"""Waivers: what they cover, what they never cover, and when they are refused."""

from __future__ import annotations

import io
import platform
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import build_results, describe_device, suite_version
from dmlcts.reports.documents.validation import DocumentError, validate_results
from dmlcts.reports.documents.waivers import FORMAT, WaiverError, Waivers, load, read, unexpected_passes, unmatched
from dmlcts.reports.views.html import page as html
from dmlcts.reports.views.junit import junit_xml
from dmlcts.reports.views.markdown import summary as markdown
from dmlcts.reports.views.terminal import summary
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.running.test_results import RUN

CLIP = "ELEMENT_WISE_CLIP"
ROW = ("clip.formula", CLIP, "FLOAT32")
TODAY = date(2026, 11, 21)
TABLES = load_tables()
GOOD = {
    "clause": "clip.formula",
    "operator": "CLIP",
    "data_type": ["FLOAT32", "FLOAT16"],
    "vendor": "acme*",
    "device": "RX 1",
    "reason": "The driver is wrong.",
    "issue": "https://example.org/issues/7",
    "expires": "2027-01-31",
    "suite": "0.1.*",
}
DEVICE = {"name": "wgpu", "adapter": "RX 1", "details": {"vendor": "ACME Inc."}}


def waivers(**changed: Any) -> Waivers:
    return read({"format": FORMAT, "waivers": [{**GOOD, **changed}]}, "w.yaml")


def failing(*outcomes: Outcome, row: tuple[str, str, str] = ROW) -> ItemRecord:
    worst = min(outcomes)
    return ItemRecord(
        "test_a.py::test_a",
        worst,
        0.5,
        tuple(ClauseTally(*row, outcome, 1, 10, 1) for outcome in outcomes),
        (),
        tuple(FailureRecord(*row, outcome, "test_a.py::test_a", "wrong", "all of it", {}) for outcome in outcomes),
    )


def results(items: list[ItemRecord], value: Waivers, **more: Any) -> dict[str, Any]:
    run = replace(RUN, selection=more.pop("selection", {}))
    required = [(*row, "required") for row in (ROW, ("clip.cast.integer", CLIP, "INT32"))]
    passed = ItemRecord("test_b.py::test_b", Outcome.PASS, 0.1, (ClauseTally(*required[1][:3], Outcome.PASS, 1, 1, 0),))
    result = build_results(value.apply([*items, passed]), required, run, TABLES)
    result |= value.reported(result)
    validate_results(result)
    return result


def test_a_waived_failure_leaves_the_verdict_alone_and_stays_visible() -> None:
    value = waivers()
    result = results([failing(Outcome.FAIL)], value)
    assert result["verdict"] == "CONFORMANT"
    assert {row["id"]: row["outcome"] for row in result["clauses"]} == {
        "clip.formula": "waived",
        "clip.cast.integer": "pass",
    }
    assert [failure["outcome"] for failure in result["failures"]] == ["waived"]
    assert result["waivers"] == [
        {**GOOD, "rows": 1, "waived": [{"id": "clip.formula", "operator": CLIP, "data_type": "FLOAT32"}]}
    ]
    assert unexpected_passes(result) == []
    assert b"skipped" in junit_xml(value.apply([failing(Outcome.FAIL)]), result)
    page = io.StringIO()
    summary(result, TABLES, Console(file=page, width=80))
    words = "1 waived clause (1 of 2 rows, 50.0 %)"
    for text in (page.getvalue(), markdown(result, TABLES), html(result, TABLES)):
        for texts in ("waived", "clip.formula", words, "The driver is wrong.", GOOD["issue"], "2027-01-31"):
            assert texts in " ".join(text.replace("\\", "").split())


def test_without_the_waiver_the_same_failure_is_one() -> None:
    result = results([failing(Outcome.FAIL)], Waivers())
    assert result["verdict"] == "NOT_CONFORMANT"
    assert "waivers" not in result


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.FAIL])
def test_nothing_but_a_failure_can_be_waived(outcome: Outcome) -> None:
    item = failing(outcome)
    assert waivers().apply([item]) == [item]
    assert waivers().apply([failing(Outcome.FAIL)])[0].outcome is Outcome.WAIVED


def test_a_crash_beside_a_waived_failure_still_counts() -> None:
    item = waivers().apply([failing(Outcome.FAIL, Outcome.CRASH)])[0]
    assert item.outcome is Outcome.CRASH
    assert [tally.outcome for tally in item.tallies] == [Outcome.WAIVED, Outcome.CRASH]


def test_a_test_with_another_failure_is_not_waived() -> None:
    other = failing(Outcome.FAIL, row=("clip.formula", CLIP, "INT8"))
    both = ItemRecord("t", Outcome.FAIL, 0.0, (*failing(Outcome.FAIL).tallies, *other.tallies))
    assert waivers().apply([both])[0].outcome is Outcome.FAIL
    assert waivers(data_type=["FLOAT32", "INT8"]).apply([both])[0].outcome is Outcome.WAIVED


@pytest.mark.parametrize(
    "changed, covered",
    [
        ({}, True),
        ({"clause": "clip.cast.integer"}, False),
        ({"operator": CLIP}, True),
        ({"operator": "clip"}, True),
        ({"operator": "ROUND"}, False),
        ({"data_type": "float32"}, True),
        ({"data_type": ["INT8", "FLOAT32"]}, True),
        ({"data_type": "INT8"}, False),
        ({"data_type": ["INT8"]}, False),
    ],
)
def test_what_is_covered(changed: dict[str, str], covered: bool) -> None:
    assert (waivers(**changed).covering(*ROW) is not None) == covered


@pytest.mark.parametrize(
    "changed, fits",
    [
        ({}, True),
        ({"vendor": "0x1002"}, False),
        ({"device": "rx 1"}, True),
        ({"device": "WGPU"}, True),
        ({"device": "RX 2"}, False),
        ({"vendor": "rx*"}, True),
        ({"vendor": "r 1*"}, False),
    ],
)
def test_a_waiver_is_for_its_device_only(changed: dict[str, str], fits: bool) -> None:
    if fits:
        waivers(**changed).check_device(DEVICE)
    else:
        with pytest.raises(WaiverError, match=r"^w.yaml: waiver 1 \(clip.formula\): is for vendor .*; this is RX 1"):
            waivers(**changed).check_device(DEVICE)


@pytest.mark.parametrize(
    "changed, stated, absent",
    [
        ({"vendor": "0x1002"}, ["the vendor differs (", "adapter is "], ["the device differs", "states no"]),
        ({"device": "RX 2"}, ["the device differs (name is "], ["the vendor differs", "states no"]),
        ({"vendor": "0x1002", "device": "RX 2"}, ["the vendor differs (", "the device differs ("], ["states no"]),
    ],
)
def test_a_waiver_for_another_device_names_the_fields_that_differ(
    changed: dict[str, str], stated: list[str], absent: list[str]
) -> None:
    with pytest.raises(WaiverError) as caught:
        waivers(**changed).check_device(DEVICE)
    assert all(words in caught.value.cause for words in stated), caught.value.cause
    assert not any(words in caught.value.cause for words in absent), caught.value.cause


def test_a_device_that_states_nothing_has_no_waivers() -> None:
    nameless = describe_device(object())
    with pytest.raises(WaiverError, match="an unnamed device") as caught:
        waivers().check_device(nameless)
    assert "the device states no vendor (details.vendor, details.vendor_id, adapter)" in caught.value.cause
    assert "the device states no device (name, adapter)" in caught.value.cause
    assert "DeviceInfo" in caught.value.mend


@pytest.mark.parametrize(
    "changed, text",
    [
        ({"vendor": "*"}, "its vendor '\\*' names nothing"),
        ({"vendor": "**"}, "its vendor"),
        ({"vendor": "a*"}, "its vendor"),
        ({"vendor": "--*"}, "its vendor"),
        ({"vendor": "*cme"}, "its vendor"),
        ({"vendor": "a?me"}, "its vendor"),
        ({"vendor": "[!x]acme*"}, "its vendor"),
        ({"device": "*"}, "its device"),
        ({"device": "?*"}, "its device"),
        ({"device": "  *"}, "its device"),
        ({"suite": "*"}, "its suite"),
        ({"suite": "0*"}, "its suite"),
        ({"suite": "0.*"}, "its suite"),
        ({"suite": "0.1*"}, "its suite"),
        ({"suite": "[0-9].1.0"}, "its suite"),
        ({"reason": " "}, "its reason"),
        ({"reason": "known"}, "its reason"),
        ({"reason": "............................"}, "its reason"),
        ({"reason": "aaaaaaaaaaaaaaaaaaaaaaaa"}, "its reason"),
        ({"issue": "https://example.org"}, "its issue"),
        ({"issue": "https://example.org/"}, "its issue"),
        ({"issue": "https:///7"}, "its issue"),
        ({"issue": "https://[x/7"}, "its issue"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_waiver_that_names_nothing_is_refused(changed: dict[str, str], text: str) -> None:
    with pytest.raises(WaiverError, match=f"waiver 1 \\(clip.formula\\): {text}"):
        waivers(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"vendor": "ac*"},
        {"vendor": "株式会社*"},
        {"device": "RX 1*"},
        {"suite": "0.1.0rc1"},
        {"suite": "0.1.*"},
        {"reason": "この装置では端数が偶数に丸められない場合がある。"},
        {"issue": "http://tracker/7"},
        {"issue": "https://example.org/?id=7"},
    ],
)
def test_a_waiver_that_states_something_is_accepted(changed: dict[str, str]) -> None:
    assert waivers(**changed).entries


def test_a_waiver_holds_a_year_at_most() -> None:
    day = date(2026, 1, 30)
    waivers(expires="2027-01-31").check_run(TABLES, "0.1.0", day)
    with pytest.raises(WaiverError, match="holds until 2027-02-01, more than a year from 2026-01-30"):
        waivers(expires="2027-02-01").check_run(TABLES, "0.1.0", day)
    with pytest.raises(WaiverError, match="more than a year"):
        waivers(expires="9999-12-31").check_run(TABLES, "0.1.0", day)
    waivers(expires="2027-01-31").check_run(TABLES, "0.1.0", date(2027, 1, 31), day)


def test_a_waiver_holds_through_its_last_day_and_not_longer() -> None:
    last = date(2027, 1, 31)
    waivers().check_run(TABLES, "0.1.0", last)
    with pytest.raises(WaiverError, match=r"expired on 2027-01-31; see whether https://\S+ is mended"):
        waivers().check_run(TABLES, "0.1.0", last + timedelta(days=1))


def test_a_waiver_is_for_one_version_of_the_suite() -> None:
    waivers(suite="0.1.0").check_run(TABLES, "0.1.0", TODAY)
    with pytest.raises(WaiverError, match=r"is for suite 0\.1\.0, this is 0\.2\.0"):
        waivers(suite="0.1.0").check_run(TABLES, "0.2.0", TODAY)


@pytest.mark.parametrize("changed", [{"clause": "clop.formula"}, {"operator": "ROUND"}, {"data_type": "BFLOAT16"}])
def test_a_waiver_about_nothing_in_the_tables_is_refused_before_the_run(changed: dict[str, str]) -> None:
    with pytest.raises(WaiverError, match="matches no clause, operator and data type of the tables"):
        waivers(**changed).check_run(TABLES, "0.1.0", TODAY)


def test_a_waiver_about_no_row_of_a_whole_run_is_refused_after_it() -> None:
    idle = waivers(clause="clip.cast.float16", data_type="FLOAT16")
    result = results([failing(Outcome.FAIL)], idle)
    assert len(unmatched(result)) == 1
    with pytest.raises(WaiverError, match="matches nothing that ran or was required"):
        idle.check_matched(result)
    with pytest.raises(WaiverError, match="matches nothing"):  # all of the waiver's operator ran
        idle.check_matched(results([failing(Outcome.FAIL)], idle, selection={"operators": [CLIP]}))
    for part in ({"operators": ["ELEMENT_WISE_ROUND"]}, {"operators": [CLIP], "data_types": ["FLOAT32"]}):
        idle.check_matched(results([failing(Outcome.FAIL)], idle, selection=part))  # only another part ran


def test_an_unexpected_pass_is_reported() -> None:
    result = results([failing(Outcome.PASS)], waivers())
    assert [waiver["clause"] for waiver in unexpected_passes(result)] == ["clip.formula"]
    page = io.StringIO()
    summary(result, TABLES, Console(file=page, width=80))
    assert "unexpected pass  clip.formula" in page.getvalue()
    assert "remove it" in markdown(result, TABLES)
    assert "remove it" in html(result, TABLES)
    assert unexpected_passes(results([failing(Outcome.CRASH)], waivers())) == []


MACHINE = platform.machine()
NEXT = f"{datetime.now(UTC).date() + timedelta(days=200)}"
VERSION = suite_version()
WRITTEN = f"""format: dmlcts/waivers/1
waivers:
  - clause: round.toward-zero
    operator: ROUND
    data_type: FLOAT32
    vendor: "{MACHINE}"
    device: "{MACHINE}"
    reason: The driver rounds 1 to 2.
    issue: https://example.org/issues/7
    expires: "{NEXT}"
    suite: "{VERSION}"
"""


@pytest.mark.parametrize(
    "old, new, message",
    [
        (f'expires: "{NEXT}"', 'expires: "2999-02-31"', "2999-02-31 is no date; write it as 2027-01-31"),
        (f'expires: "{NEXT}"', "expires: 2999-01-31", "as a date"),
        (f'expires: "{NEXT}"', 'expires: "soon"', "expires"),
        ("clause: round.toward-zero", 'clause: "*"', "/clause"),
        ("clause: round.toward-zero", "clause: round.toward-z?ro", "/clause"),
        ("operator: ROUND", 'operator: "*"', "/operator"),
        ("    operator: ROUND\n", "", "lacks operator"),
        ("data_type: FLOAT32", "data_type: FLOAT*", "/data_type"),
        ("data_type: FLOAT32", "data_type: []", "/data_type"),
        ("data_type: FLOAT32", 'data_type: [FLOAT32, "*"]', "/data_type/1"),
        ("    data_type: FLOAT32\n", "", "lacks data_type"),
        ("    issue: https://example.org/issues/7\n", "", "lacks issue"),
        ("issue: https://", "issue: javascript:", "issue"),
        (f'    suite: "{VERSION}"\n', "", "lacks suite"),
        ("reason:", "because:", "lacks reason"),
        ("waivers/1", "waivers/2", "/format"),
        (f'vendor: "{MACHINE}"', 'vendor: ""', "/waivers/0/vendor: is empty"),
        (f'vendor: "{MACHINE}"', "vendor: !!python/object/apply:os.getcwd []", "no YAML"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(WRITTEN, encoding="utf-8")
    assert load(path).entries[0].data_types == ("FLOAT32",)
    assert old in WRITTEN
    path.write_text(WRITTEN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises((DocumentError, WaiverError)) as caught:
        load(path)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text


WRONG = """
import numpy as np
from dmlcts.backends.cpu import CpuBackend


class Backend:
    name = "wrong"

    def open(self):
        device = CpuBackend().open()
        made = device.create

        def create(operator):
            kernel = made(operator)
            dispatch = kernel.dispatch

            def wrong(memory, bindings):
                dispatch(memory, bindings)
                tensor, region = operator.output, bindings["OutputTensor"]
                if operator.attributes["RoundingMode"] == "TOWARD_ZERO":
                    steps = [4 * stride for stride in tensor.element_strides]
                    view = np.ndarray(tensor.sizes, np.float32, memory, region.offset, steps)
                    view[view == 1] = 2

            kernel.dispatch = wrong
            return kernel

        device.create = create
        return device
"""
SELECTED = ("--operator=ROUND", "--data-type=FLOAT32", "--clause=round.toward-zero")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "w.yaml").write_text(WRITTEN, encoding="utf-8")
    return "--backend=wrong.py:Backend"


@pytest.mark.size("thorough")
def test_a_run_takes_waivers(wrong: str, dmlcts: Any) -> None:
    plain: Ran = dmlcts("run", wrong, *SELECTED)
    assert plain.code == 1
    assert plain.outcomes("round.toward-zero") == {"fail"}
    held: Ran = dmlcts("run", wrong, *SELECTED, "--waivers", "w.yaml")
    assert held.code == 0, held.out + held.err
    assert held.outcomes("round.toward-zero") == {"waived"}
    assert "https://example.org/issues/7" in held.out
    assert "CONFORMANT with 1 waived clause (1 of 1 row, 100.0 %): no other row holds" in " ".join(held.out.split())


def test_an_expired_waiver_stops_the_run(wrong: str, dmlcts: Any, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WRITTEN.replace(NEXT, "2020-01-31"), encoding="utf-8")
    ran: Ran = dmlcts("run", wrong, *SELECTED, "--waivers", "w.yaml")
    assert ran.code == 2
    assert ran.results is None
    assert "expired on 2020-01-31" in ran.err


@pytest.mark.size("all")
def test_pytest_takes_them_too(wrong: str, pytester_like: Any) -> None:
    assert pytester_like(wrong, *SELECTED) == 1
    assert pytester_like(wrong, *SELECTED, "--waivers=w.yaml") == 0


@pytest.fixture
def pytester_like(tmp_path: Path) -> Any:
    import subprocess
    import sys

    def run(*arguments: str) -> int:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "dmlcts.suites.plugin",
            "-p",
            "no:cacheprovider",
            "--pyargs",
            "dmlcts.suites.conformance.values.test_rounding",
            *arguments,
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False).returncode

    return run
