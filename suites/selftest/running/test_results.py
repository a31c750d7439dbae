"""The results document: merging, the verdict's truth table, its schema, and reading it back."""

import copy
import dataclasses
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.documents.outcomes import Outcome, Verdict, exit_code
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import (
    SCHEMA,
    VOLATILE,
    RunInfo,
    build_results,
    describe_device,
    environment,
    stable,
    suite_identity,
    verdict_of,
)
from dmlcts.reports.documents.validation import (
    DocumentError,
    load_failure,
    load_results,
    schema,
    validate_failure,
    validate_results,
)
from dmlcts.reports.documents.writing import failure_document
from dmlcts.specs import DataType, FeatureLevel, UsageError
from dmlcts.specs.models import Clause, RulesTable, Source
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.first_three import first_three
from dmlcts.suites.selftest.reports import report_samples

CLIP = "ELEMENT_WISE_CLIP"
SOURCE = Source(id="page", title="A page", revision="today")
CLAUSES = tuple(
    Clause(id=name, check="tensor.position", text=text, obligation=obligation, subject="formula", sources=("page",))
    for name, text, obligation in (
        ("a.required", "It must.", "required"),
        ("a.implied", "It follows.", "implied"),
        ("a.silent", "Who knows.", "unspecified"),
    )
)
RULES = RulesTable(format="dmlcts/rules/1", title="Rules", sources=(SOURCE,), clauses=CLAUSES)
TABLES = Tables(operators={}, rules=(RULES,), latitudes={}, digests={"shared/rules.yaml": "0f" * 32})
STARTED = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
DEVICE = SimpleNamespace(name="A device", feature_level=FeatureLevel("5.0"), library="lib", version="1.2")
RUN = RunInfo(
    backend="cpu",
    device=describe_device(DEVICE),
    feature_level=FeatureLevel("5.0"),
    profile="quick",
    seed=0,
    strict=False,
    selection={"operators": [CLIP], "shard": None},
    started=STARTED,
    finished=STARTED + timedelta(seconds=3.25),
)
REQUIRED = [(clause.id, CLIP, "FLOAT32", clause.obligation) for clause in CLAUSES]


def tally(clause: str, outcome: Outcome = Outcome.PASS, cases: int = 1, data_type: str = "FLOAT32") -> ClauseTally:
    failed = int(outcome.breaks_conformance)
    return ClauseTally(clause, CLIP, data_type, outcome, cases, 10 * cases, failed)


def item(*tallies: ClauseTally, outcome: Outcome = Outcome.PASS, test: str = "suites/test_a.py::test_a") -> ItemRecord:
    return ItemRecord(test, outcome, 0.5, tallies)


ALL = item(*(tally(clause.id) for clause in CLAUSES))


def results_of(
    *items: ItemRecord, obligations: Iterable[tuple[str, str, str, str]] = REQUIRED, **more: Any
) -> dict[str, Any]:
    results = build_results(items, obligations, RUN, TABLES, **more)
    validate_results(json.loads(json.dumps(results)))
    return results


def row_of(results: dict[str, Any], clause: str, data_type: str = "FLOAT32") -> dict[str, Any]:
    rows = [row for row in results["clauses"] if (row["id"], row["data_type"]) == (clause, data_type)]
    assert len(rows) == 1
    return dict(rows[0])


def test_a_full_run_is_conformant() -> None:
    results = results_of(ALL)
    assert results["verdict"] == "CONFORMANT"
    assert exit_code(results["verdict"]) == 0
    assert results["schema"] == SCHEMA
    assert row_of(results, "a.implied") == {
        "id": "a.implied",
        "operator": CLIP,
        "data_type": "FLOAT32",
        "obligation": "implied",
        "outcome": "pass",
        "cases": 1,
        "elements": 10,
        "failures": 0,
    }
    assert results["specs"] == {"shared/rules.yaml": "0f" * 32}
    assert results["timings"] == {
        "started": "2026-11-21T12:00:00+00:00",
        "finished": "2026-11-21T12:00:03+00:00",
        "seconds": 3.25,
        "slowest": [{"test": "suites/test_a.py::test_a", "seconds": 0.5}],
    }


def test_the_document_has_the_promised_members() -> None:
    promised = (
        "schema verdict backend device feature_level profile seed strict selection suite specs clauses "
        "behaviours failures timings environment"
    )
    assert {*results_of(ALL)} == {*promised.split(), "interrupted", "shard", "left_out"}


VERDICTS = {
    Outcome.CRASH: Verdict.NOT_CONFORMANT,
    Outcome.TIMEOUT: Verdict.NOT_CONFORMANT,
    Outcome.DEVICE_LOST: Verdict.NOT_CONFORMANT,
    Outcome.RESOURCE_ERROR: Verdict.NOT_CONFORMANT,
    Outcome.HARNESS_ERROR: Verdict.INCOMPLETE,
    Outcome.FAIL: Verdict.NOT_CONFORMANT,
    Outcome.WAIVED: Verdict.CONFORMANT,
    Outcome.SKIPPED: Verdict.INCOMPLETE,
    Outcome.NOT_SUPPORTED: Verdict.INCOMPLETE,
    Outcome.CHARACTERISED: Verdict.CONFORMANT,
    Outcome.PASS: Verdict.CONFORMANT,
}


@pytest.mark.parametrize("clause", [clause.id for clause in CLAUSES])
@pytest.mark.parametrize("outcome", list(Outcome), ids=str)
def test_one_row_decides_the_verdict(outcome: Outcome, clause: str) -> None:
    results = results_of(ALL, item(tally(clause, outcome), test="suites/test_a.py::test_b"))
    assert results["verdict"] == VERDICTS[outcome]
    assert row_of(results, clause)["outcome"] == min(outcome, Outcome.PASS).value


@pytest.mark.parametrize("outcome", list(Outcome), ids=str)
def test_a_test_without_a_tally_decides_too_if_it_breaks(outcome: Outcome) -> None:
    results = results_of(ALL, item(outcome=outcome, test="suites/test_a.py::test_b"))
    breaking = outcome.breaks_conformance
    assert results["verdict"] == (VERDICTS[outcome] if breaking else Verdict.CONFORMANT)
    failures = [(failure["test"], failure["outcome"], failure["clause"]) for failure in results["failures"]]
    assert failures == ([("suites/test_a.py::test_b", outcome.value, "")] if breaking else [])


def test_an_implementation_s_fault_outweighs_everything() -> None:
    harness = item(outcome=Outcome.HARNESS_ERROR, test="b")
    results = results_of(item(tally("a.required", Outcome.FAIL)), harness, interrupted=True)
    assert results["verdict"] == "NOT_CONFORMANT"


def test_a_test_worse_than_its_tallies_decides() -> None:
    unclear = item(tally("a.required", Outcome.HARNESS_ERROR), outcome=Outcome.CRASH, test="b")
    results = results_of(ALL, unclear)
    assert results["verdict"] == "NOT_CONFORMANT"
    assert [failure["outcome"] for failure in results["failures"]] == ["crash"]
    document = results_of(ALL, item(tally("a.required", Outcome.CRASH), outcome=Outcome.CRASH, test="b"))
    assert (document["verdict"], document["failures"]) == ("NOT_CONFORMANT", []), "its row says it already"


def test_an_interrupted_run_is_incomplete() -> None:
    results = results_of(ALL, interrupted=True)
    assert (results["verdict"], exit_code(results["verdict"])) == ("INCOMPLETE", 4)


def test_a_run_of_nothing_is_incomplete() -> None:
    assert results_of(obligations=[])["verdict"] == "INCOMPLETE"
    assert results_of(item(outcome=Outcome.SKIPPED), obligations=[])["verdict"] == "INCOMPLETE"


@pytest.mark.parametrize("clause", [clause.id for clause in CLAUSES])
def test_a_required_row_that_nobody_checked_is_skipped(clause: str) -> None:
    kept = item(*(tally(other.id) for other in CLAUSES if other.id != clause))
    results = results_of(kept)
    assert (results["verdict"], row_of(results, clause)["outcome"]) == ("INCOMPLETE", "skipped")


@pytest.mark.parametrize(
    "records", [[], [item(tally("a.required", Outcome.SKIPPED, 0))], [item(tally("a.required", cases=0))]]
)
def test_a_required_row_that_the_device_does_not_claim_is_not_supported(records: list[ItemRecord]) -> None:
    results = results_of(*records, obligations=REQUIRED[:1], unsupported={(CLIP, "FLOAT32")})
    assert (results["verdict"], row_of(results, "a.required")["outcome"]) == ("INCOMPLETE", "not_supported")
    other = results_of(*records, obligations=REQUIRED[:1], unsupported={(CLIP, "INT8")})
    assert row_of(other, "a.required")["outcome"] == "skipped"


def test_a_pass_without_a_case_is_no_pass() -> None:
    results = results_of(item(*(tally(clause.id, cases=0) for clause in CLAUSES)))
    assert {row["outcome"] for row in results["clauses"]} == {"skipped"}


def test_rows_that_are_not_required_count_only_if_they_ran() -> None:
    extra = [tally("a.implied", Outcome.SKIPPED, 0, "INT8"), tally("a.required", cases=0, data_type="INT8")]
    accepted = tally("a.silent", Outcome.CHARACTERISED, 2, "INT8")
    results = results_of(ALL, item(*extra, accepted, test="b"))
    assert results["verdict"] == "CONFORMANT"
    assert [row["id"] for row in results["clauses"] if row["data_type"] == "INT8"] == ["a.silent"]
    assert row_of(results, "a.silent", "INT8")["obligation"] == "unspecified"
    broken = results_of(ALL, item(tally("a.silent", Outcome.CRASH, 0, "INT8"), test="b"))
    assert broken["verdict"] == "NOT_CONFORMANT"


def test_a_partly_skipped_required_row_is_a_gap() -> None:
    results = results_of(ALL, item(tally("a.required", Outcome.SKIPPED, 0), test="b"))
    assert results["verdict"] == "INCOMPLETE"
    assert row_of(results, "a.required")["cases"] == 1


def test_a_tally_of_an_unknown_clause_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no clause 'b\.unknown'"):
        build_results([item(tally("b.unknown"))], [], RUN, TABLES)


def test_a_reported_failure_is_listed_once_without_its_long_text() -> None:
    failure = FailureRecord(
        "a.required",
        CLIP,
        "FLOAT32",
        Outcome.FAIL,
        "t",
        "title",
        "long text",
        {"x": 1},
        "a.yaml",
        {"input": "0.5"},
        "dmlcts replay failures/a.yaml",
    )
    results = results_of(ItemRecord("t", Outcome.FAIL, 0, (tally("a.required", Outcome.FAIL),), (), (failure,)))
    assert results["failures"] == [
        {
            "clause": "a.required",
            "operator": CLIP,
            "data_type": "FLOAT32",
            "outcome": "fail",
            "title": "title",
            "file": "a.yaml",
            "test": "t",
            "details": {"input": "0.5"},
            "replay": "dmlcts replay failures/a.yaml",
            "case": {"x": 1},
        }
    ]


def test_behaviours_are_listed_once_each() -> None:
    seen = [Behaviour("a.silent", CLIP, "FLOAT32", "saturates", example) for example in ("late", "early")]
    results = results_of(
        ItemRecord("t", Outcome.PASS, 0, (), tuple(seen)), ItemRecord("u", Outcome.PASS, 0, (), tuple(seen))
    )
    assert results["behaviours"] == [
        {
            "clause": "a.silent",
            "operator": CLIP,
            "data_type": "FLOAT32",
            "behaviour": "saturates",
            "example": "early",
        }
    ]


some_outcomes = st.sampled_from(Outcome)
some_tallies = st.builds(
    tally,
    st.sampled_from([clause.id for clause in CLAUSES]),
    some_outcomes,
    st.integers(0, 5),
    st.sampled_from(["FLOAT32", "INT8"]),
)
some_behaviours = st.builds(
    Behaviour,
    st.just("a.silent"),
    st.just(CLIP),
    st.just("FLOAT32"),
    st.sampled_from(["wraps", "saturates"]),
    st.sampled_from("xyz"),
)
some_failures = st.builds(
    FailureRecord,
    st.sampled_from(["", "a.required"]),
    st.just(CLIP),
    st.just("INT8"),
    some_outcomes,
    st.just("t"),
    st.sampled_from(["one", "two"]),
    st.just("text"),
    st.just({}),
    st.sampled_from(["", "a.yaml"]),
)
some_items = st.builds(
    ItemRecord,
    st.sampled_from(["t::a", "t::b", "u::a"]),
    some_outcomes,
    st.sampled_from([0.0, 0.5, 1.0]),
    st.lists(some_tallies, max_size=4).map(tuple),
    st.lists(some_behaviours, max_size=2).map(tuple),
    st.lists(some_failures, max_size=2).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(some_items, max_size=6).flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
def test_the_order_of_records_changes_nothing(pair: tuple[list[ItemRecord], list[ItemRecord]]) -> None:
    first, second = pair
    assert json.dumps(results_of(*first)) == json.dumps(results_of(*second))


@settings(max_examples=50, deadline=None)
@given(st.lists(some_tallies, max_size=8), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_how_tallies_are_spread_over_workers_changes_nothing(tallies: list[ClauseTally], spread: list[int]) -> None:
    parts = [
        tuple(entry for entry, place in zip(tallies, spread, strict=False) if place == worker) for worker in range(4)
    ]
    together = results_of(item(*tallies))
    apart = results_of(*(item(*part, test=f"t{number}") for number, part in enumerate(parts)))
    assert together["clauses"] == apart["clauses"]
    assert together["verdict"] == apart["verdict"]


def test_only_the_volatile_fields_differ_between_equal_runs() -> None:
    later = RunInfo(**{**vars(RUN), "started": STARTED + timedelta(days=1), "environment": {**RUN.environment, "x": 1}})
    first, second = build_results([ALL], REQUIRED, RUN, TABLES), build_results([ALL], REQUIRED, later, TABLES)
    assert {key for key in first if first[key] != second[key]} <= set(VOLATILE)
    assert stable(first) == stable(second)
    assert {*first} - {*stable(first)} == set(VOLATILE)


def test_a_device_is_described_whatever_it_lacks() -> None:
    assert describe_device(object()) == {
        "name": "",
        "adapter": "",
        "driver": "",
        "library": "",
        "version": "",
        "feature_level": "",
        "data_types": None,
        "details": {},
    }
    claimed = SimpleNamespace(
        data_types={CLIP: frozenset({DataType.FLOAT32, DataType.FLOAT16})},
        details={"limits": (1, 2.5, float("nan")), "path": Path("x"), 3: {"b", "a"}},
    )
    described = describe_device(claimed)
    assert described["data_types"] == {CLIP: ["FLOAT16", "FLOAT32"]}
    assert described["details"] == {"limits": [1, 2.5, "nan"], "path": "x", "3": ["a", "b"]}


def test_the_suite_and_its_surroundings_are_named() -> None:
    assert {"version", "commit", "modified"} == {*suite_identity()}
    assert {"python", "numpy", "platform", "processors", "packages"} <= {*environment()}


@pytest.mark.parametrize("name", ["results-1", "failure-1"])
def test_the_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_the_schemas_know_every_outcome_and_data_type() -> None:
    for name in ("results-1", "failure-1"):
        assert schema(name)["$defs"]["outcome"]["enum"] == [outcome.value for outcome in Outcome]
    assert schema("results-1")["$defs"]["data_type"]["enum"] == [data_type.name for data_type in DataType]
    assert schema("results-1")["properties"]["feature_level"]["enum"] == [level.value for level in FeatureLevel]
    assert schema("results-1")["properties"]["verdict"]["enum"] == [verdict.value for verdict in Verdict]


def _altered(path: str, value: object) -> dict[str, Any]:
    document = json.loads(json.dumps(build_results([ALL], REQUIRED, RUN, TABLES)))
    *parents, last = path.strip("/").split("/")
    target: Any = document
    for part in parents:
        target = target[int(part)] if isinstance(target, list) else target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return dict(document)


@pytest.mark.parametrize(
    "path, value, pointer, cause",
    [
        ("/schema", "dmlcts-results/9", "/schema", 'is "dmlcts-results/9" where this version'),
        ("/schema", ..., "", "lacks schema"),
        ("/verdict", "FINE", "/verdict", '"FINE" is not known here'),
        (
            "/verdict",
            "NOT_CONFORMANT",
            "/verdict",
            "is NOT_CONFORMANT where the rows and failures amount to CONFORMANT",
        ),
        (
            "/clauses/0/outcome",
            "fail",
            "/verdict",
            "is CONFORMANT where the rows and failures amount to NOT_CONFORMANT",
        ),
        ("/clauses/0/outcome", "skipped", "/verdict", "is CONFORMANT where"),
        (
            "/clauses/1/id",
            "a.implied",
            "/clauses",
            "the row a.implied ELEMENT_WISE_CLIP FLOAT32 stands twice",
        ),
        ("/clauses/1/cases", -1, "/clauses/1/cases", "-1 is too small"),
        ("/clauses/1/cases", "1", "/clauses/1/cases", '"1" has the wrong type'),
        ("/clauses/1/data_type", "FLOAT8", "/clauses/1/data_type", '"FLOAT8" is not known here'),
        ("/clauses/1/colour", "red", "/clauses/1", "has the unknown key colour"),
        ("/clauses/2/id", "Clip!", "/clauses/2/id", '"Clip!" is malformed'),
        ("/device/name", None, "/device/name", "null has the wrong type"),
        ("/backend", "", "/backend", "is empty"),
        ("/suite", ..., "", "lacks suite"),
        ("/interrupted", True, "/verdict", "is CONFORMANT where the rows and failures amount to INCOMPLETE"),
        ("/environment/python", ..., "/environment", "lacks python"),
    ],
)
def test_a_malformed_document_is_refused_by_name(path: str, value: object, pointer: str, cause: str) -> None:
    validate_results(_altered("/seed", 7))
    with pytest.raises(DocumentError) as refused:
        validate_results(_altered(path, value), "some.json")
    assert refused.value.pointer == pointer
    assert refused.value.cause.startswith(cause)
    assert refused.value.mend
    assert str(refused.value).startswith("some.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [None, [], 3, "results"])
def test_what_is_no_document_is_refused(value: object) -> None:
    with pytest.raises(DocumentError, match="wrong type"):
        validate_results(value)


def test_results_are_read_from_a_file_or_its_folder(tmp_path: Path) -> None:
    results = build_results([ALL], REQUIRED, RUN, TABLES)
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert load_results(tmp_path) == load_results(tmp_path / "results.json") == results
    assert verdict_of(load_results(tmp_path)) is Verdict.CONFORMANT


@pytest.mark.parametrize(
    "content, cause",
    [
        (None, "does not exist"),
        (b"", "is no JSON: Expecting value at line 1, column 1"),
        (b'{"schema": \n', "is no JSON: Expecting value at line 2, column 1"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b'{"schema": NaN}', "is no JSON: NaN is no JSON number"),
        (b"[" * 200_000, "is no JSON: "),
        (b"{}", "lacks schema"),
    ],
)
def test_a_file_that_holds_no_results_is_refused(tmp_path: Path, content: bytes | None, cause: str) -> None:
    path = tmp_path / "results.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DocumentError) as refused:
        load_results(path)
    assert refused.value.cause.startswith(cause)
    assert str(path) in str(refused.value)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"results\.json: does not exist; give the results\.json"):
        load_results(tmp_path)


FAILURE = {
    "format": "dmlcts/failure/1",
    "title": "t",
    "clause": "a.required",
    "operator": CLIP,
    "data_type": "INT8",
    "outcome": "fail",
    "test": "t",
    "suite_version": "1",
    "text": "x",
    "case": {"anything": [1]},
}


@pytest.mark.parametrize(
    "changed, pointer",
    [
        ({"format": "dmlcts/failure/2"}, "/format"),
        ({"case": []}, "/case"),
        ({"more": 1}, ""),
        ({"data_type": "X"}, "/data_type"),
    ],
)
def test_a_malformed_failure_is_refused_by_name(changed: dict[str, Any], pointer: str) -> None:
    validate_failure(copy.deepcopy(FAILURE))
    with pytest.raises(DocumentError) as refused:
        validate_failure(FAILURE | changed)
    assert refused.value.pointer == pointer


@pytest.mark.parametrize(
    "content, cause",
    [
        ("a: [1\nb: 2\n", "is no YAML that can be read: .* at line 2, column 2"),
        ("a: \x00", "is no YAML"),
        ("- 1\n", "wrong type"),
        ("", "is no YAML that can be read: .*empty"),
        ("!!python/object/apply:os.getcwd []\n", "the tag .* is not allowed at line 1, column 1"),
        ("a: &a [1]\nb: [*a, *a]\n", "is no YAML that can be read: .* at line 1, column 4"),
    ],
)
def test_a_file_that_holds_no_failure_is_refused(tmp_path: Path, content: str, cause: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match=cause):
        load_failure(path)


def test_the_values_of_a_large_case_are_in_its_own_file_alone() -> None:
    """Hundreds of cases that cannot be made smaller were more than a results.json may hold."""
    small = report_samples.failure("input -0.5 gives 0.0", "0xbf000000")
    values = {"InputTensor": {"data_type": "FLOAT32", "bits": ["0xbf000000"] * 2000}}
    large = dataclasses.replace(small, case={**small.case, "values": values}, file="large.yaml")
    record = ItemRecord("test_all.py::test_all", Outcome.FAIL, 1.0, (), (), (small, large))
    document = build_results([record], [], report_samples.RUN, first_three())
    cases_by_file = {failure["file"]: failure["case"] for failure in document["failures"]}
    assert cases_by_file[small.file] == small.to_json()["case"]
    assert cases_by_file["large.yaml"] == {
        name: value for name, value in small.to_json()["case"].items() if name != "values"
    }
    assert failure_document(large, "1")["case"]["values"] == values
