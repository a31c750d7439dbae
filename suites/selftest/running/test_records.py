"""Records check themselves, travel as JSON unchanged, and are refused by name when malformed."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.documents.outcomes import Outcome, Verdict, exit_code, worst
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord, RecordError
from dmlcts.specs import DataType, DmlctsError

TALLY = ClauseTally("clip.formula", "ELEMENT_WISE_CLIP", "FLOAT32", Outcome.FAIL, 7, 700, 1)
BEHAVIOUR = Behaviour("clip.nan.input", "ELEMENT_WISE_CLIP", "FLOAT32", "NaN input gives Max", "x = NaN")
FAILURE = FailureRecord(
    clause="clip.formula",
    operator="ELEMENT_WISE_CLIP",
    data_type="FLOAT32",
    outcome=Outcome.FAIL,
    test="suites/test_clip.py::test_formula[FLOAT32]",
    title="2 where 3 is due",
    text="The whole account,\nin two lines.",
    case={"sizes": [1, 2], "Min": "0x40400000", "inputs": {"x": [1.5, None, True]}},
    file="clip.yaml",
)
ITEM = ItemRecord(FAILURE.test, Outcome.FAIL, 0.25, (TALLY,), (BEHAVIOUR,), (FAILURE,))


def test_outcomes_are_ordered_worst_first() -> None:
    errors = ["crash", "timeout", "device_lost", "resource_error", "harness_error"]
    others = ["fail", "waived", "skipped", "not_supported", "characterised", "pass"]
    shuffled = [*list(Outcome)[6:], *list(Outcome)[:6]]
    assert [outcome.value for outcome in sorted(shuffled)] == errors + others
    assert Outcome.CRASH < Outcome.PASS
    assert Outcome.PASS >= Outcome.PASS > Outcome.CHARACTERISED >= Outcome.NOT_SUPPORTED


def test_outcomes_state_what_they_mean() -> None:
    breaking = {outcome.value for outcome in Outcome if outcome.breaks_conformance}
    assert breaking == {"crash", "timeout", "device_lost", "resource_error", "harness_error", "fail"}
    assert breaking - {outcome.value for outcome in Outcome if outcome.accuses} == {"harness_error"}
    assert {outcome.value for outcome in Outcome if outcome.did_not_run} == {"skipped", "not_supported"}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(Outcome), min_size=1))
def test_the_worst_is_the_first_of_the_list(outcomes: list[Outcome]) -> None:
    assert worst(iter(outcomes)) is next(outcome for outcome in Outcome if outcome in outcomes)


def test_the_worst_of_nothing_did_not_run() -> None:
    assert worst([]) is Outcome.SKIPPED


def test_outcomes_do_not_compare_with_words() -> None:
    with pytest.raises(TypeError):
        sorted([Outcome.PASS, "pass"])  # type: ignore[type-var]


def test_exit_codes() -> None:
    assert {verdict.value: exit_code(verdict.value) for verdict in Verdict} == {
        "CONFORMANT": 0,
        "NOT_CONFORMANT": 1,
        "INCOMPLETE": 4,
    }


@pytest.mark.parametrize("record", [TALLY, BEHAVIOUR, FAILURE, ITEM], ids=lambda record: type(record).__name__)
def test_a_record_travels_as_json_unchanged(record: Any) -> None:
    travelled = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert type(record).from_json(travelled) == record


texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from([data_type.name for data_type in DataType])
outcomes = st.sampled_from(Outcome)
counts = st.integers(0, 2**40)
names = st.text(min_size=1, max_size=8)
tallies = st.builds(ClauseTally, names, names, types, outcomes, counts, counts, counts)
behaviours = st.builds(Behaviour, texts, texts, types, texts, texts)
failures = st.builds(
    FailureRecord,
    texts,
    texts,
    types,
    outcomes,
    texts,
    texts,
    texts,
    st.dictionaries(texts, values, max_size=3),
)
items = st.builds(
    ItemRecord,
    texts,
    outcomes,
    st.floats(0, 1e6),
    st.lists(tallies, max_size=3).map(tuple),
    st.lists(behaviours, max_size=3).map(tuple),
    st.lists(failures, max_size=3).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(items)
def test_any_record_travels_as_json_unchanged(item: ItemRecord) -> None:
    assert ItemRecord.from_json(json.loads(json.dumps(item.to_json(), allow_nan=False))) == item


def test_numpy_numbers_and_tuples_become_json() -> None:
    tally = ClauseTally("a.b", "X", "INT8", Outcome.PASS, np.int64(3), np.uint8(4), np.int32(0))  # type: ignore[arg-type]
    assert (type(tally.cases), tally.elements) == (int, 4)
    failure = FailureRecord("", "", "", Outcome.CRASH, "t", "t", "t", {"sizes": (np.int64(1), np.float32(0.5))})
    assert failure.case == {"sizes": [1, 0.5]}


def test_a_failure_keeps_its_own_copy_of_the_case() -> None:
    case = {"sizes": [1, 2]}
    failure = FailureRecord("", "", "", Outcome.FAIL, "t", "t", "t", case)
    case["sizes"].append(3)
    assert failure.case == {"sizes": [1, 2]}


def _with(path: str, value: object) -> dict[str, Any]:
    """The item as JSON, with one member replaced."""
    whole = ITEM.to_json()
    *parents, last = path.strip("/").split("/")
    target: Any = whole
    for part in parents:
        target = target[int(part)] if isinstance(target, list) else target[part]
    target[last] = value
    return whole


@pytest.mark.parametrize(
    "pointer, value, cause",
    [
        ("/outcome", "passed", "'passed' is no outcome"),
        ("/outcome", None, "None is no outcome"),
        ("/seconds", -1, "-1 is no duration"),
        ("/seconds", float("nan"), "nan is no duration"),
        ("/seconds", True, "True is no duration"),
        ("/test", 7, "7 is no string"),
        ("/tallies", {}, "{} is no list"),
        ("/tallies/0/cases", -1, "-1 is no count"),
        ("/tallies/0/cases", 1.5, "1.5 is no count"),
        ("/tallies/0/elements", "7", "'7' is no count"),
        ("/tallies/0/data_type", "FLOAT8", "'FLOAT8' is no data type"),
        ("/tallies/0/data_type", "", "is empty"),
        ("/tallies/0/clause", "", "is empty"),
        ("/tallies/0/outcome", "good", "'good' is no outcome"),
        ("/behaviours/0/behaviour", None, "None is no string"),
        ("/failures/0/case", [], "[] is no object"),
        ("/failures/0/case/sizes", {1, 2}, "{1, 2} is no JSON value"),
        ("/failures/0/case/Min", float("inf"), "inf is no JSON value"),
        ("/failures/0/file", "../elsewhere.yaml", "'../elsewhere.yaml' is no plain file name"),
        ("/failures/0/file", "case.txt", "'case.txt' is no plain file name"),
    ],
)
def test_a_malformed_member_is_refused_by_name(pointer: str, value: object, cause: str) -> None:
    assert ItemRecord.from_json(ITEM.to_json()) == ITEM, "the control: unaltered it is accepted"
    with pytest.raises(RecordError) as refused:
        ItemRecord.from_json(_with(pointer, value))
    assert (refused.value.pointer, refused.value.cause) == (pointer, cause)
    assert refused.value.mend
    assert str(refused.value).startswith(f"ItemRecord {pointer}: {cause}; ")


def test_missing_and_unknown_members_are_refused_by_name() -> None:
    lacking = TALLY.to_json()
    del lacking["cases"]
    with pytest.raises(RecordError, match="ClauseTally: lacks 'cases'; its members are clause, "):
        ClauseTally.from_json(lacking)
    with pytest.raises(RecordError, match="ClauseTally: has the unknown member 'colour'; "):
        ClauseTally.from_json(TALLY.to_json() | {"colour": "red"})
    with pytest.raises(RecordError, match="ItemRecord /tallies/0: lacks 'cases'"):
        ItemRecord.from_json(ITEM.to_json() | {"tallies": [lacking]})


@pytest.mark.parametrize("value", [None, [], "item", 3])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(RecordError, match="is no object"):
        ItemRecord.from_json(value)


def test_a_case_with_other_keys_than_strings_is_refused() -> None:
    with pytest.raises(RecordError, match="FailureRecord /case: has the key 1; keys are strings"):
        FailureRecord("", "", "", Outcome.FAIL, "t", "t", "t", {1: "x"})  # type: ignore[dict-item]


def test_the_error_is_one_a_user_can_read_and_survives_pickling() -> None:
    error = RecordError("ItemRecord", "/x", "is wrong", "mend it")
    assert isinstance(error, DmlctsError)
    assert str(pickle.loads(pickle.dumps(error))) == "ItemRecord /x: is wrong; mend it"  # noqa: S301
