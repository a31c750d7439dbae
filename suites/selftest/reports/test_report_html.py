"""results.html: self-contained, escaping whatever the document holds, complete, and the same each time."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import failure_of_bytes, load_document, validate_results
from dmlcts.reports.summaries.characters import visible
from dmlcts.reports.summaries.known import KINDS, Known, known_implementations, likenesses, named
from dmlcts.reports.summaries.overview import SUBJECTS, grouped, judged_name, overview
from dmlcts.reports.summaries.plotting import Bucket, Track, drawing, position
from dmlcts.reports.summaries.reasons import KnownReasons, cause_lines
from dmlcts.reports.views import html
from dmlcts.reports.views.markdown import summary
from dmlcts.specs import DataType
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.reports.report_samples import (
    CLIP,
    HARM,
    ROUND,
    conformant,
    failing,
    failing_among_all,
    filed,
    hostile,
)

TABLES = load_tables()
ADDRESSES = {source.address for table in (*TABLES.operators.values(), *TABLES.rules) for source in table.sources}
"""Where the tables' sources can be read: a page may lead there, and loads nothing from there."""


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, and the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style", "title", "h1", "pre", "blockquote"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.setdefault("", []).append(data)
        for tag in self.open:
            self.texts[tag][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts[""])


def made(document: dict[str, Any], **options: Any) -> Page:
    return Page(html.page(document, TABLES, **options))


@functools.cache
def page_of(sample: Callable[[], dict[str, Any]]) -> Page:
    """The page of one of the samples, made once."""
    return made(sample())


SAMPLES = pytest.mark.parametrize("sample", [conformant, failing, hostile], ids=lambda sample: sample.__name__)


@SAMPLES
def test_the_samples_are_valid_documents(sample: Any) -> None:
    document = sample()
    document["verdict"] = {"conformant": "CONFORMANT"}.get(sample.__name__, "NOT_CONFORMANT")
    validate_results(document)


@SAMPLES
def test_a_page_loads_nothing(sample: Any) -> None:
    page = page_of(sample)
    loading = {"src", "srcset", "data", "poster", "action", "formaction", "background", "ping", "cite"}
    for tag, attributes in page.elements:
        assert not loading & set(attributes), (tag, attributes)
        assert tag not in ("link", "base", "iframe", "object", "embed", "img", "image"), tag
        for name in ("href", "xlink:href"):
            address = attributes.get(name) or "#"
            assert address.startswith("#") or (tag == "a" and address in ADDRESSES), (tag, attributes)
    assert not re.search(r"@import|url\(", "".join(page.texts["style"]))


@SAMPLES
def test_the_policy_permits_the_page_s_own_style_and_script_only(sample: Any) -> None:
    page = page_of(sample)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    (style,), (script,) = page.texts["style"], page.texts["script"]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {digest(style)}",
        f"script-src {digest(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]


@SAMPLES
def test_no_attribute_runs_or_styles_anything(sample: Any) -> None:
    for tag, attributes in page_of(sample).elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)


def test_harmful_strings_are_shown_and_nothing_more() -> None:
    page, control = page_of(hostile), page_of(failing)
    assert [tag for tag, _ in page.elements].count("script") == 1
    tags = {tag for tag, _ in control.elements}
    assert {tag for tag, _ in page.elements} <= tags | {"p"}
    for harm in HARM[:7]:
        assert harm in page.text
    assert "49" not in page.texts["h1"][0]
    for character in "\x00\x07\x1b\u202e\u2028\ud800":
        assert character not in page.text
    assert "\\u{202e}TNAMROFNOC\\u{1b}[31m" in page.text
    assert HARM[-1] not in page.text
    assert "a" * 20_000 + "… (30,000 characters)" in page.text


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=40))
def test_no_device_name_changes_the_elements_of_the_page(name: str) -> None:
    document = conformant()
    document["clauses"] = document["clauses"][:3]
    document["behaviours"] = []
    plain = [tag for tag, _ in made(document, known=[]).elements]
    document["device"]["name"] = document["backend"] = f"x{name}"
    page = made(document, known=[])
    assert [tag for tag, _ in page.elements] == plain
    assert str(visible(f"x{name}")) in page.text.replace("\r", "") or "\r" in name


def test_every_id_is_there_once_and_every_link_leads_somewhere() -> None:
    for sample in (conformant, failing, hostile):
        page = page_of(sample)
        identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(identifiers) == len(set(identifiers))
        links = {attributes["href"] for tag, attributes in page.elements if tag in ("a", "use")}
        assert {f"#{identifier}" for identifier in identifiers} | ADDRESSES >= links


def test_the_page_names_who_was_judged_and_by_what() -> None:
    document, page = failing(), page_of(failing)
    for wanted in (
        "NOT CONFORMANT",
        "Example NX-2 Accelerator",
        "31.0.101",
        "nxdml 2.3.1",
        "5.0",
        "quick",
        "nx.py:Nx",
        "dmlcts 0.1.0, abababababab",
        "everything",
        *document["specs"].values(),
    ):
        assert wanted in page.text, wanted
    assert page.texts["title"][:1] == [
        "NOT CONFORMANT: Example NX-2 (nxdml 2.3.1) on Example NX-2 Accelerator · dmlcts"
    ]


@pytest.mark.parametrize(
    ("name", "library", "words"),
    [
        ("directml", "DirectML.dll", "DirectML.dll 1.15.4.0 on an adapter"),
        ("cpu", "numpy", "cpu (numpy 1.15.4.0) on an adapter"),
        ("", "", "cpu.py:Cpu (1.15.4.0) on an adapter"),
    ],
)
def test_a_headline_names_the_library_that_was_judged(name: str, library: str, words: str) -> None:
    device = {"name": name, "library": library, "version": "1.15.4.0", "adapter": "an adapter"}
    assert judged_name("cpu.py:Cpu", device) == words
    assert judged_name(words, {"name": words, "adapter": words}) == words


REASON = {
    "because": "ROUND `adds` a half <b>and</b> truncates\n\nBy [FMad](https://example.invalid/fmad).",
    "since": "1.0 ([history](history.md))",
    "upstream": [
        {"report": "round.md", "state": "filed", "address": "https://example.invalid/7"},
        {"report": "round-2.md", "state": "fixed", "fixed_in": "1.2"},
    ],
}


def test_the_head_lists_causes_and_not_clauses() -> None:
    document = failing()
    other = {"clause": "clip.formula", "operator": CLIP, "data_type": "INT8", "title": "input 3 gives 4", "file": ""}
    document["failures"].append(document["failures"][0] | other)
    for row in document["clauses"]:
        if (row["id"], row["operator"], row["data_type"]) == ("clip.formula", CLIP, "INT8"):
            row["outcome"] = "fail"
    key = ("round.toward-infinity", ROUND, "FLOAT32")
    text = " ".join(Page(html.page(document, TABLES, [], KnownReasons("nxdml 1.0", {key: REASON}))).text.split())
    assert "2 causes. 2 of " in text
    assert "ROUND adds a half <b>and</b> truncates ROUND on FLOAT32 · since: 1.0 (history)" in text
    assert "reported upstream: https://example.invalid/7 (filed) · round-2.md (fixed in 1.2)" in text
    assert "By FMad." in text
    assert "the baseline of nxdml 1.0" in text
    assert text.count("Known cause: ROUND adds a half") == 1
    unknown = " ".join(made(document).text.split())
    assert "2 causes. 2 of " in unknown
    assert "Known cause" not in unknown
    assert "ROUND FLOAT32 with RoundingMode TOWARD_INFINITY: -0.5 gives 0.0, must be -1.0 (0xbf800000)" in unknown


def test_a_failing_row_without_a_case_is_listed_by_its_clause() -> None:
    document = failing()
    document["failures"] = []
    view = overview(document, TABLES)
    (line,) = cause_lines(grouped(view.failures, TABLES), document["clauses"], KnownReasons(), TABLES)
    assert (line.title, line.where, line.shown) == ("round.toward-infinity: fail", "ROUND on FLOAT32", ())
    known = KnownReasons("", {("round.toward-infinity", ROUND, "FLOAT32"): REASON})
    (line,) = cause_lines((), document["clauses"], known, TABLES)
    assert line.known
    assert cause_lines((), conformant()["clauses"], known, TABLES) == ()


def test_a_failure_is_reported_with_its_evidence_its_clause_and_its_reproducers() -> None:
    page = page_of(failing)
    clause = TABLES.clause("round.toward-infinity")
    assert clause.quotation is not None
    assert f"“{clause.quotation.words}”" in page.texts["blockquote"]
    for wanted in ("-0.5 (0xbf000000) at index [0]", "-1.0 (0xbf800000)", "0.0 (0x00000000)", clause.text):
        assert wanted in page.text
    replays = [text for text in page.texts["pre"] if text.startswith("dmlcts replay failures/")]
    models = [json.loads(text) for text in page.texts["pre"] if text.startswith("{")]
    assert len(replays) == len(models) == 5
    assert models[0]["dispatchables"]["operator"]["type"] == "DML_OPERATOR_ELEMENT_WISE_ROUND"


def cases_in(page: Page) -> list[str]:
    """The failure documents that a page shows below commands that read them."""
    marked = [text.partition(" <<'CASE'\n")[2] for text in page.texts["pre"]]
    return [text.removesuffix("CASE\n") for text in marked if text.endswith("\nCASE\n")]


def test_the_case_of_a_failure_is_in_the_page_as_in_its_file() -> None:
    texts = cases_in(page_of(failing))
    assert len(texts) == 5
    cases = [failure_of_bytes(text.encode(), "the page")["case"] for text in texts]
    assert sorted(map(json.dumps, cases)) == sorted({json.dumps(each["case"]) for each in failing()["failures"]})
    document = failing()
    first = document["failures"][0]
    document["failures"] = [first | {"replay": replay} for replay in ("", "a 'b", "rm -r /", "dmlcts")]
    assert cases_in(made(document)) == []


def test_one_failure_of_each_cause_is_open_and_the_rest_is_folded_under_it() -> None:
    document = failing()
    first = document["failures"][0]
    for clause in ("round.odd", "tensor.position"):  # a property follows from wrong values, a layout does not
        other = first | {"clause": clause, "title": f"{clause} does not hold", "file": ""}
        document["failures"] += [other | {"test": f"t{number}"} for number in range(3)]
    page = made(document)
    details = [attributes for tag, attributes in page.elements if tag == "details"]
    open_flags = ["open" in attributes for attributes in details if attributes.get("class") == "failure"]
    assert open_flags == [True, *([False] * 7), True, False, False]
    assert [attributes.get("class") for attributes in details].count("rest") == 2
    sentence = "it explains round.toward-infinity (ROUND on FLOAT32); round.odd (ROUND on FLOAT32)"
    assert "7 cases more of it, or that" in page.text
    assert sentence in " ".join(page.text.split())


def test_a_case_that_several_tests_reach_is_reported_once_with_all_of_them() -> None:
    view = overview(failing(), TABLES)
    assert [failure.document["title"] for failure in view.failures].count("input -0.5 gives 0.0") == 1
    (failure,) = [candidate for candidate in view.failures if candidate.document["title"] == "input -0.5 gives 0.0"]
    assert failure.tests == (
        "test_rounding.py::test_drawn[ROUND-FLOAT32]",
        "test_rounding.py::test_ties[ROUND-FLOAT32]",
    )


def test_a_case_without_a_model_states_why() -> None:
    document = failing()
    document["failures"] = document["failures"][1:3]
    document["failures"][0]["case"] = filed() | {"values": {"bulk": {"seed": 7}}}
    document["failures"][1]["case"] = {"tensors": 3, "values": {"bits": []}}
    text = made(document).text
    assert "no DxDispatch model: its values are a seeded recipe" in text
    assert "no DxDispatch model: the case is malformed (" in text


@pytest.mark.parametrize(
    "strides, text",
    [(None, '"initialValues": ['), ([0, 1, 1], "its elements overlap too often")],
    ids=["beyond", "overlap"],
)
def test_a_description_of_billions_of_elements_is_reported_at_once(strides: list[int] | None, text: str) -> None:
    document = failing()
    document["failures"] = document["failures"][:1]
    tensor = {"data_type": "FLOAT32", "sizes": [1 << 20, 2000, 2000], "strides": strides, "total_size_in_bytes": 16384}
    document["failures"][0]["case"] = filed() | {"tensors": {"InputTensor": tensor, "OutputTensor": tensor}}
    assert text in made(document).text


def test_endless_failures_are_counted_and_not_drawn() -> None:
    document = failing()
    first = document["failures"][0]
    document["failures"] = [first | {"title": f"input {number} gives 0.0"} for number in range(html.MOST_FAILURES + 7)]
    page = made(document)
    classes = [attributes.get("class") for tag, attributes in page.elements if tag == "details"]
    assert classes.count("failure") == html.MOST_FAILURES
    assert "7 further failures in results.json" in page.text


@pytest.mark.size("thorough")
def test_many_operators_begin_with_an_overview_and_are_folded() -> None:
    results = failing_among_all()
    wrong = {row["operator"] for row in results["clauses"] if row["failures"]}
    view = overview(results, TABLES)
    assert len(view.matrices) > html.FEW_OPERATORS
    text = html.page(results, TABLES, [])
    for matrix in view.matrices:
        (section,) = re.findall(f'<details class="operator" id="{matrix.anchor}"[^>]*>', text)
        assert not section.endswith(" open>"), section
        assert ("fail" in re.findall('data-outcome="([^"]*)"', section)[0].split()) == (matrix.operator in wrong)
        assert f'<a href="#{matrix.anchor}">' in text
        for name, cell in zip(matrix.data_types, matrix.whole, strict=True):
            rows = [row for row in results["clauses"] if (row["operator"], row["data_type"]) == (matrix.operator, name)]
            assert (cell.clauses, cell.broken) == (len(rows), sum(row["failures"] > 0 for row in rows))
    few = results | {"clauses": [row for row in results["clauses"] if row["operator"] == "ELEMENT_WISE_CLIP"]}
    assert 'class="matrix operators"' in text
    assert 'class="matrix operators"' not in html.page(few, TABLES, [])


def test_the_matrix_has_the_worst_outcome_of_each_subject_and_type() -> None:
    matrices = {matrix.operator: matrix for matrix in overview(failing(), TABLES).matrices}
    rounding = matrices[ROUND]
    cells = {subject: dict(zip(rounding.data_types, line, strict=True)) for subject, line in rounding.lines}
    broken = cells["rounding"]["FLOAT32"]
    assert broken is not None
    assert (broken.outcome, broken.broken, broken.anchor) == (Outcome.FAIL, 1, "round.toward-infinity")
    held = cells["rounding"]["FLOAT16"]
    assert held is not None
    assert (held.outcome, held.broken) == (Outcome.PASS, 0)
    assert cells["rounding"]["INT8"] is None
    assert "INT8" in rounding.unlisted
    assert "INT8" not in matrices[CLIP].unlisted
    assert [subject for subject, _ in rounding.lines] == sorted(cells, key=SUBJECTS.index)


@pytest.mark.parametrize("outcome", Outcome, ids=str)
def test_every_outcome_has_its_glyph_and_its_words_everywhere(outcome: Outcome) -> None:
    document = conformant()
    document["clauses"] = [row for row in document["clauses"] if row["id"].startswith("round.")]
    document["behaviours"] = []
    for row in document["clauses"]:
        row["outcome"] = outcome.value
    page = made(document, known=[])
    identifiers = {attributes.get("id") for _, attributes in page.elements}
    used = [attributes["href"] for tag, attributes in page.elements if tag == "use"]
    assert {reference[1:] for reference in used if reference} <= identifiers
    words = outcome.value.replace("_", " ")
    cells = [
        attributes["title"] or "" for tag, attributes in page.elements if "cell" in (attributes.get("class") or "")
    ]
    assert cells
    assert used.count(f"#g-{outcome.value}") > len(cells)
    assert all(f": {words}, " in title for title in cells)
    badges = [attributes for _, attributes in page.elements if attributes.get("class") == f"badge b-{outcome.value}"]
    assert len(badges) > len(document["clauses"])
    text = summary(document, TABLES, known=[])
    assert ("### Broken clauses" in text) is outcome.breaks_conformance
    assert ("**✗" in text) is outcome.breaks_conformance


def test_a_clause_of_other_tables_is_shown_all_the_same() -> None:
    document = failing()
    document["clauses"][0]["id"] = "foreign.clause"
    document["specs"] = {}
    text = made(document).text
    assert "foreign.clause" in text
    assert "These results were made with other spec tables" in text
    assert "These results were made with other spec tables" not in page_of(failing).text


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({}, "1 of "),
        ({"clauses": [], "failures": [], "verdict": "INCOMPLETE"}, "Nothing ran."),
        ({"interrupted": True}, "the run was stopped before its end"),
    ],
)
def test_the_verdict_comes_with_its_reason(change: dict[str, Any], sentence: str) -> None:
    assert sentence in made(failing() | change).text


def test_the_page_is_the_same_each_time() -> None:
    assert html.page(failing(), TABLES) == html.page(failing(), TABLES)


# Fingerprints.


def test_the_shipped_fingerprints_are_of_implementations_that_differ() -> None:
    known = known_implementations()
    assert len({implementation.name for implementation in known}) == len(known) >= 3
    assert all(implementation.behaviours for implementation in known)


def test_the_shipped_fingerprints_are_what_their_names_state() -> None:
    folder = Path(html.__file__).parents[1] / "examples"
    files = [(path, schema) for kind, schema in KINDS.items() for path in folder.glob(f"*{kind}")]
    assert len(files) >= 3
    for path, schema in files:
        load_document(path, schema, "")


def test_a_run_is_likest_to_itself() -> None:
    document = failing()
    rows = {
        (behaviour["clause"], behaviour["operator"], behaviour["data_type"]): behaviour["behaviour"]
        for behaviour in document["behaviours"]
    }
    other = rows | {("clip.subnormal", CLIP, "FLOAT32"): "subnormals are flushed to zero"}
    known = [Known("other", other), Known("itself", rows), Known("stranger", {("x.y", CLIP, "INT8"): "?"})]
    similarities = likenesses(document, known)
    assert [(likeness.name, likeness.alike, likeness.shared) for likeness in similarities] == [
        ("itself", 3, 3),
        ("other", 2, 3),
    ]
    assert list(similarities[1].differing.values()) == ["subnormals are flushed to zero"]
    assert named(document) == "Example NX-2 on Example NX-2 Accelerator (nxdml 2.3.1)"
    text = made(document, known=known).text
    assert "2 of 3 as other" in " ".join(text.split())
    assert "≠ subnormals are flushed to zero" in " ".join(text.split())


def test_without_known_implementations_the_fingerprint_stands_alone() -> None:
    text = made(failing(), known=[]).text
    assert "NaN input gives Max" in text
    assert "known implementations" not in text


# Plots.

FLOATS = [DataType.FLOAT16, DataType.FLOAT32]


@pytest.mark.parametrize("data_type", [*FLOATS, DataType.INT8, DataType.UINT8, DataType.INT64, DataType.UINT64])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_greater_value_stands_further_right(data_type: DataType, data: st.DataObject) -> None:
    width = 8 * data_type.itemsize
    patterns = st.integers(0, (1 << width) - 1)
    bits = [data.draw(patterns, label=name) for name in ("one", "other")]

    def value(pattern: int) -> float | int:
        import numpy as np

        return np.array(pattern, data_type.bits_dtype).view(data_type.numpy)[()].item()  # type: ignore[no-any-return]

    placed = sorted(
        (value(pattern), position(data_type, pattern)) for pattern in bits if value(pattern) == value(pattern)
    )
    for number, place in placed:
        assert place is not None, number
        assert 0 <= place <= 1
    assert [place for _, place in placed] == sorted(place for _, place in placed if place is not None)


@pytest.mark.parametrize(
    "data_type, bits, place",
    [
        (DataType.FLOAT32, 0xFF800000, 0.0),
        (DataType.FLOAT32, 0x00000000, 0.5),
        (DataType.FLOAT32, 0x80000000, 0.5),
        (DataType.FLOAT32, 0x7F800000, 1.0),
        (DataType.FLOAT32, 0x7FC00000, None),
        (DataType.FLOAT16, 0xFE00, None),
        (DataType.INT8, 0x80, 0.0),
        (DataType.INT8, 0, 0.5),
        (DataType.UINT8, 0, 0.0),
        (DataType.UINT8, 0xFF, 1.0),
    ],
)
def test_the_ends_of_the_axis_are_those_of_the_type(data_type: DataType, bits: int, place: float | None) -> None:
    value = position(data_type, bits)
    assert value is place if place is None else value == pytest.approx(place)


def test_a_histogram_is_drawn_as_bars_and_single_values_as_marks() -> None:
    buckets = (
        Bucket(0x3F000000, 0x3F7FFFFF, 5, 10),
        Bucket(0x40000000, 0x407FFFFF, 0, 10),
        Bucket(0x7FC00000, 0x7FC00000, 1),
    )
    drawn = drawing(DataType.FLOAT32, [Track("a <track>", buckets)], 'it\'s "so"')
    assert drawn.count('class="bar"') == 1
    assert drawn.count('class="mark"') == 1
    assert "5 of 10 wrong" in drawn
    assert "a &lt;track&gt;" in drawn
    assert Page(drawn).elements[0][1]["aria-label"] == 'it\'s "so"'


def test_the_inputs_of_numeric_failures_are_plotted() -> None:
    inputs_by_type = html.failing_inputs(overview(failing(), TABLES).failures)
    inputs_by_clause = inputs_by_type["FLOAT32"]
    assert list(inputs_by_clause) == ["round.toward-infinity · ROUND"]
    places = {bucket.first for bucket in inputs_by_clause["round.toward-infinity · ROUND"]}
    assert places == {0xBF000000, 0xBFC00000, 0x7FC00000, 0xC0200000, 0xC0600000}
    assert [tag for tag, _ in page_of(failing).elements].count("figure") == 1
    assert "figure" not in [tag for tag, _ in page_of(conformant).elements]
