"""The summary: what a person sees at 80 columns, without colour, and without Unicode."""

import io
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.views.terminal import GAPS_SHOWN, summary
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import (
    Clause,
    OperatorTable,
    Quotation,
    Source,
    StructField,
    SupportTable,
    TensorRow,
)
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

TYPES = ("FLOAT32", "FLOAT16", "INT32", "INT16", "INT8")
FLOATS = ("FLOAT32", "FLOAT16")


def operator(short: str, types: tuple[Any, ...]) -> OperatorTable:
    prefix = short.lower().replace("_", "-")
    return OperatorTable(
        format="dmlcts/operator/2",
        operator=f"ELEMENT_WISE_{short}",
        code=8,
        introduced="1.0",
        summary=short,
        sources=(Source(id="page", title=f"The page of {short}", revision="today"),),
        struct=(StructField(name="InputTensor", type="T"), StructField(name="OutputTensor", type="T")),
        tensors={
            "InputTensor": TensorRow(name="x", kind="input", type="T"),
            "OutputTensor": TensorRow(kind="output", type="T", may_alias=("InputTensor",)),
        },
        support=(SupportTable(level="1.0", dimension_counts=(1, 8), types={"T": types}),),
        formula="x",
        clauses=(
            Clause(
                id=f"{prefix}.formula",
                check="values",
                text="It computes.",
                obligation="required",
                subject="formula",
                quotation=Quotation(source="page", words="f(x) = “x”"),
            ),
            Clause(
                id=f"{prefix}.same",
                check="idempotent",
                text="It stays.",
                obligation="implied",
                subject="formula",
                sources=("page",),
            ),
            Clause(
                id=f"{prefix}.unlisted",
                check="support.unlisted",
                text="It refuses.",
                obligation="required",
                subject="descriptions",
                data_types="unlisted",
                sources=("page",),
            ),
            Clause(
                id=f"{prefix}.nan",
                check="nan.input",
                text="Silence.",
                obligation="unspecified",
                subject="formula",
                sources=("page",),
            ),
        ),
    )


def tables_of(*operators: OperatorTable) -> Tables:
    return Tables(operators={each.operator: each for each in operators}, rules=(), latitudes={}, digests={})


TABLES = tables_of(operator("CLIP", TYPES), operator("ROUND", FLOATS))


def ordered() -> Tables:
    clip = operator("CLIP", TYPES)
    words = {"id": "clip.ordered", "check": "monotone", "text": "It keeps order."}
    clause = Clause.model_validate({**words, "obligation": "implied", "subject": "properties", "sources": ("page",)})
    return tables_of(clip.model_copy(update={"clauses": (*clip.clauses, clause)}), operator("ROUND", FLOATS))


ORDERED = ordered()


def tally(clause: str, data_type: str, outcome: Outcome = Outcome.PASS, cases: int = 4) -> ClauseTally:
    short = clause.partition(".")[0].upper().replace("-", "_")
    failures = 3 if outcome.breaks_conformance else 0
    return ClauseTally(clause, f"ELEMENT_WISE_{short}", data_type, outcome, cases, 1000, failures)


def failure(
    clause: str, data_type: str, outcome: Outcome = Outcome.FAIL, title: str = "2 where 3 is due"
) -> FailureRecord:
    short = clause.partition(".")[0].upper()
    name = f"ELEMENT_WISE_{short}" if clause else ""
    file = f"{clause}-{data_type.lower()}.yaml" if clause else ""
    test, deviation = "suites/test_x.py::test_x[b]", Deviation.WRONG_VALUE
    return FailureRecord(clause, name, data_type, outcome, test, title, "text", {}, file, deviation=deviation)


def results_of(
    *items: ItemRecord, obligations: Iterable[tuple[str, str, str, str]] = (), tables: Tables = TABLES, **more: Any
) -> dict[str, Any]:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    device = describe_device(
        type("Info", (), {"name": "Some GPU", "driver": "31.0", "library": "DirectML", "version": "1.15"})
    )
    selection = {"operators": ["CLIP", "ROUND"], "shard": None}
    run = RunInfo("directml", device, "5.0", "quick", 42, True, selection, now, now + timedelta(seconds=9.5))
    return build_results(items, obligations, run, tables, **more)


GOOD = ItemRecord(
    "t",
    Outcome.PASS,
    1,
    (
        *(tally("clip.formula", data_type) for data_type in TYPES),
        *(tally("round.formula", data_type) for data_type in FLOATS),
        tally("round.unlisted", "INT8"),
        tally("clip.nan", "FLOAT32", Outcome.CHARACTERISED),
    ),
)


def shown(
    results: dict[str, Any], tables: Tables = TABLES, encoding: str = "utf-8", width: int = 80, **more: Any
) -> str:
    """What the summary prints, checked to fit the width and to hold no control codes."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    summary(results, tables, Console(file=stream, width=width, color_system=None, legacy_windows=False), **more)
    stream.seek(0)
    text = stream.read()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width, text
    return text


def cells(text: str, label: str) -> list[str]:
    """The cells of a line of the matrix."""
    line = next(line for line in text.splitlines() if line.startswith(f"{label} "))
    return [cell.strip() for cell in line.split("  ") if cell.strip()][1:]


def test_a_good_run() -> None:
    text = shown(results_of(GOOD), written=["results/results.json", "results/junit.xml"])
    lines = text.splitlines()
    assert lines[0] == "CONFORMANT  directml · Some GPU (DirectML 1.15, driver 31.0)"
    assert lines[1] == "level 5.0 · profile quick · seed 42 · strict · selected: operators CLIP, ROUND"
    assert lines[2] == "9 clause rows: 1 characterised, 8 pass · 36 cases, 9,000 elements in 9.5 s"
    assert cells(text, "FLOAT32") == ["✓ pass", "✓ pass"]
    assert cells(text, "INT8") == ["✓ pass", "✓ unlisted"]
    assert cells(text, "INT16") == ["✓ pass", "—"]
    assert "unlisted = no feature level" in text
    assert "\n  results/results.json\n  results/junit.xml\n" in text
    assert lines[-1] == "CONFORMANT: 9 clause rows hold (exit code 0)"


def test_failures_are_grouped_by_clause() -> None:
    bad = ItemRecord(
        "u",
        Outcome.FAIL,
        1,
        (
            tally("clip.formula", "INT8", Outcome.FAIL),
            tally("clip.formula", "INT16", Outcome.FAIL),
            tally("clip.same", "INT8", Outcome.FAIL),
        ),
        (),
        (
            failure("clip.formula", "INT8"),
            failure("clip.formula", "INT16", title="9 where 8 is due"),
            failure("clip.same", "INT8"),
        ),
    )
    text = shown(results_of(GOOD, bad), folder="results")
    assert text.startswith("NOT CONFORMANT  directml")
    assert cells(text, "INT8") == ["✗ FAIL 2", "✓ unlisted"]
    assert cells(text, "INT16") == ["✗ FAIL 1", "—"]
    assert "FAIL  clip.formula (required): 6 cases fail · CLIP on INT16, INT8\n" in text
    assert "  “f(x) = “x”” (The page of CLIP)\n" in text
    assert "FAIL  clip.same (implied): 3 cases fail · CLIP on INT8\n  It stays.\n" in text
    assert "  first: CLIP INT16: 9 where 8 is due\n  replay: results/failures/clip.formula-int16.yaml\n" in text
    assert text.endswith("NOT CONFORMANT: 2 clauses fail (exit code 1)\n")


def test_a_failure_s_line_has_what_it_takes_to_understand_it() -> None:
    case = {"attributes": {"Min": {}, "Max": {}, "ScaleBias": None}}
    details = {"Min": "-1.0 (0xbf800000)", "Max": "2.0 (0x40000000)", "ScaleBias": "none", "acceptable": "-1 (0xff)"}
    wrong = replace(failure("clip.formula", "INT8", title="input -2 gives -2"), case=case, details=details)
    record = ItemRecord("u", Outcome.FAIL, 1, (tally("clip.formula", "INT8", Outcome.FAIL),), (), (wrong,))
    text = " ".join(shown(results_of(GOOD, record)).split())
    assert "first: CLIP INT8 with Min -1.0 (0xbf800000), Max 2.0 (0x40000000): -2 gives -2, must be -1 (0xff)" in text


def test_what_a_fault_explains_is_reported_under_it() -> None:
    """A property fails because values are wrong; one exception is seen under several clauses."""
    broken = tuple(tally(f"clip.{name}", "INT8", Outcome.FAIL) for name in ("formula", "same", "ordered"))
    crashed = tuple(tally(f"round.{name}", "FLOAT32", Outcome.CRASH) for name in ("formula", "same"))
    raised = [
        replace(failure(f"round.{name}", "FLOAT32", Outcome.CRASH, "it raised"), details={"said": "KeyError: 'x'"})
        for name in ("formula", "same")
    ]
    item = ItemRecord("u", Outcome.CRASH, 1, (*broken, *crashed), (), (failure("clip.formula", "INT8"), *raised))
    text = shown(results_of(GOOD, item, tables=ORDERED), ORDERED)
    heads = [line for line in text.splitlines() if line.startswith(("FAIL  ", "CRASH  "))]
    assert [head.split()[1] for head in heads] == ["round.formula", "clip.formula", "clip.same"]
    assert "  the same fault fails: round.same (ROUND on FLOAT32)\n" in text
    assert "  it may also cause: clip.ordered (CLIP on INT8)\n" in text
    assert text.endswith("NOT CONFORMANT: 5 clauses fail (exit code 1)\n"), "what is folded counts all the same"
    elsewhere = ItemRecord("v", Outcome.FAIL, 1, (tally("clip.ordered", "INT16", Outcome.FAIL),))
    text = shown(results_of(GOOD, item, elsewhere, tables=ORDERED), ORDERED)
    assert "FAIL  clip.ordered (implied)" in text, "where no value is wrong, the property stands for itself"


@pytest.mark.parametrize(
    "outcome, word",
    [
        (Outcome.CRASH, "CRASH"),
        (Outcome.TIMEOUT, "TIMEOUT"),
        (Outcome.DEVICE_LOST, "LOST"),
        (Outcome.RESOURCE_ERROR, "RESOURCE"),
        (Outcome.HARNESS_ERROR, "ERROR"),
        (Outcome.FAIL, "FAIL"),
    ],
    ids=str,
)
def test_every_way_to_break_has_its_word(outcome: Outcome, word: str) -> None:
    text = shown(results_of(GOOD, ItemRecord("u", outcome, 1, (tally("clip.same", "INT8", outcome),))))
    assert cells(text, "INT8")[0] == f"✗ {word} 1"
    assert f"{word} = " in text
    assert f"{word}  clip.same (implied)" in text


def test_the_worst_word_stands_for_a_cell() -> None:
    crashed = tally("clip.same", "INT8", Outcome.CRASH)
    text = shown(
        results_of(GOOD, ItemRecord("u", Outcome.CRASH, 1, (crashed, tally("clip.formula", "INT8", Outcome.FAIL))))
    )
    assert cells(text, "INT8")[0] == "✗ CRASH 2"
    assert text.index("CRASH  clip.same") < text.index("FAIL  clip.formula"), "the worst first"


def test_gaps_are_reported() -> None:
    obligations = [
        (f"clip.{name}", "ELEMENT_WISE_CLIP", data_type, "required")
        for name in ("formula", "same")
        for data_type in TYPES
    ]
    obligations += [("round.formula", "ELEMENT_WISE_ROUND", data_type, "required") for data_type in FLOATS]
    tallies = [tally("clip.formula", data_type) for data_type in TYPES]
    ran = ItemRecord("t", Outcome.PASS, 1, (*tallies, tally("clip.same", "INT8", Outcome.WAIVED)))
    text = shown(results_of(ran, obligations=obligations, unsupported={("ELEMENT_WISE_ROUND", "FLOAT16")}))
    assert cells(text, "FLOAT32") == ["skip 1", "not run"]
    assert cells(text, "FLOAT16") == ["skip 1", "n/s"]
    assert cells(text, "INT8") == ["waived 1", "—"]
    gaps_text = "Did not run: 6 clause rows\n  nothing ran on: ROUND on FLOAT32, FLOAT16\n"
    assert gaps_text + "  clip.same: CLIP on all types but INT8\n" in text
    share = "1 waived clause (1 of 12 rows, 8.3 %)"
    verdict_line = f"INCOMPLETE with {share}: 6 clause rows did not run, 5 other rows hold (exit code 4)"
    assert " ".join(text.split()).endswith(verdict_line)


def test_a_relation_that_did_not_run_names_the_other_operators_that_it_runs() -> None:
    tables = load_tables()
    obligations = [
        (f"sign.{name}", "ELEMENT_WISE_SIGN", "INT64", "implied") for name in ("formula", "odd", "idempotent")
    ]
    ran = ItemRecord("t", Outcome.PASS, 1, (tally("sign.formula", "INT64"),))
    text = shown(results_of(ran, obligations=obligations, tables=tables) | {"selection": {}}, tables)
    assert "  sign.odd: SIGN on INT64 (it also runs NEGATE on the same type)\n" in text
    assert "  sign.idempotent: SIGN on INT64\n" in text


def test_a_check_that_is_about_another_operator_names_it_as_relations_do() -> None:
    """The check of clip.threshold-equivalence runs THRESHOLD, which no statement of the clause names."""
    tables = load_tables()
    obligations = [
        (f"clip.{name}", "ELEMENT_WISE_CLIP", "INT8", "implied") for name in ("formula", "threshold-equivalence")
    ]
    ran = ItemRecord("t", Outcome.PASS, 1, (tally("clip.formula", "INT8"),))
    text = shown(results_of(ran, obligations=obligations, tables=tables) | {"selection": {}}, tables)
    line = "clip.threshold-equivalence: CLIP on INT8 (it also runs THRESHOLD on the same type)"
    assert line in " ".join(text.split())
    assert "--clause" not in text, "the device claims THRESHOLD"
    unclaimed = results_of(ran, obligations=obligations, tables=tables) | {"selection": {}}
    unclaimed["device"] = unclaimed["device"] | {"data_types": {"ELEMENT_WISE_THRESHOLD": ["FLOAT32"]}}
    text = " ".join(shown(unclaimed, tables).split())
    mend = " The device does not claim THRESHOLD there: implement it, or leave out what needs it:"
    assert f"{line}{mend} --clause '!clip.threshold-equivalence'" in text
    unclaimed["clauses"] = [row for row in unclaimed["clauses"] if row["id"] != "clip.formula"]
    text = " ".join(shown(unclaimed, tables).split())
    assert "nothing ran on" not in text
    assert line + mend in text


def test_what_is_missing_where_nearly_everything_ran_is_listed_first() -> None:
    """A type that is not claimed lacks many clauses, and would hide the one that needs another operator."""
    names = [f"part{number}" for number in range(GAPS_SHOWN + 1)]
    obligations = [(f"clip.{name}", "ELEMENT_WISE_CLIP", "FLOAT32", "implied") for name in ("formula", *names)]
    obligations += [("clip.undone", "ELEMENT_WISE_CLIP", "INT8", "implied")]
    ran = ItemRecord("t", Outcome.PASS, 1, (tally("clip.formula", "FLOAT32"), tally("clip.formula", "INT8")))
    text = shown(results_of(ran, obligations=obligations))
    gaps = text[text.index("Did not run") :].splitlines()
    assert gaps[1:3] == ["  clip.undone: CLIP on INT8", "  clip.part0: CLIP on FLOAT32"]
    assert "  … and 2 more clauses, in results.json" in gaps


def test_observed_behaviour_is_grouped_by_its_sentence() -> None:
    seen = [("CLIP", data_type, "casts saturate") for data_type in TYPES[2:]]
    seen += [(short, data_type, "NaN input gives Max") for short in ("CLIP", "ROUND") for data_type in FLOATS]
    behaviours = tuple(
        Behaviour(f"{short.lower()}.nan", f"ELEMENT_WISE_{short}", data_type, words, "")
        for short, data_type, words in seen
    )
    text = shown(results_of(GOOD, ItemRecord("u", Outcome.PASS, 0, (), behaviours)))
    assert "this implementation:\n  NaN input gives Max · CLIP, ROUND on FLOAT32, FLOAT16\n" in text
    assert "  casts saturate · CLIP on integer types\n" in text


def test_a_test_that_ended_badly_outside_any_clause_is_reported() -> None:
    text = shown(results_of(GOOD, ItemRecord("suites/test_x.py::test_[red]", Outcome.HARNESS_ERROR, 1)))
    assert "ERROR  no single clause: 1 case, the worst: harness error\n" in text
    assert "  test: suites/test_x.py::test_[red]\n" in text, "square brackets are no markup"
    assert text.endswith("INCOMPLETE: 1 test failed outside any clause (exit code 4)\n")


def test_an_interrupted_run_states_so() -> None:
    assert "The run was stopped before its end." in shown(results_of(GOOD, interrupted=True))


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "latin-1"])
def test_without_unicode_everything_is_still_stated(encoding: str) -> None:
    bad = ItemRecord(
        "u",
        Outcome.FAIL,
        1,
        (tally("clip.formula", "INT8", Outcome.FAIL),),
        (),
        (failure("clip.formula", "INT8", title="ü → 日本"),),
    )
    text = shown(results_of(GOOD, bad), encoding=encoding)
    assert cells(text, "INT8") == ["FAIL 1", "unlisted"]
    assert cells(text, "INT16")[0] == "pass"
    assert '"f(x) = "x""' in text
    assert "\\u65e5" in text


def test_colour_only_repeats_the_words() -> None:
    stream = io.StringIO()
    summary(
        results_of(GOOD),
        TABLES,
        Console(file=stream, width=80, force_terminal=True, color_system="standard", legacy_windows=False),
    )
    assert "\x1b[1;32mCONFORMANT" in stream.getvalue()


def test_many_operators_are_shown_in_blocks_that_fit() -> None:
    shorts = [f"OPERATOR_{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    tables = tables_of(*(operator(short, TYPES) for short in shorts))
    tallies = tuple(tally(f"{short.lower().replace('_', '-')}.formula", "FLOAT32") for short in shorts)
    document = results_of(ItemRecord("t", Outcome.PASS, 0, tallies), tables=tables)
    text = shown(document | {"selection": {}}, tables)
    assert all(f" {short} " in f"{text} ".replace("\n", " ") for short in shorts)
    assert text.count("✓ pass") == len(shorts)


def test_many_failing_clauses_are_cut_short() -> None:
    tables = tables_of(*(operator(f"O{number}", TYPES) for number in range(12)))
    tallies = tuple(tally(f"o{number}.formula", "INT8", Outcome.FAIL) for number in range(12))
    text = shown(results_of(ItemRecord("t", Outcome.FAIL, 0, tallies), tables=tables), tables)
    assert text.count("FAIL  o") == 8
    assert "… and 4 more faults, in results.json" in text


def test_a_clause_that_the_tables_lack_is_no_obstacle() -> None:
    results = results_of(GOOD, ItemRecord("u", Outcome.FAIL, 1, (tally("clip.same", "INT8", Outcome.FAIL),)))
    assert "these tables have no such clause" in shown(results, tables_of())


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_empty_results_are_summarised(width: int) -> None:
    stream = io.StringIO()
    for results in ({}, results_of()):
        summary(results, TABLES, Console(file=stream, width=width))
    assert stream.getvalue().replace("\n", " ").count("nothing ran") == 2
    assert "INCOMPLETE" in stream.getvalue()


@pytest.mark.parametrize(
    "others, message",
    [(0, "no other row holds"), (1, "1 other row holds"), (2, "2 other rows hold")],
)
def test_beside_waivers_the_rows_that_hold_are_counted_in_words(others: int, message: str) -> None:
    held = tuple(tally("clip.formula", name) for name in ("INT8", "FLOAT32")[:others])
    waived = tally("clip.same", "INT8", Outcome.WAIVED)
    text = shown(results_of(ItemRecord("u", Outcome.WAIVED, 1, (*held, waived))))
    share = f"1 of {many(others + 1, 'row')}, {100 / (others + 1):.1f} %"
    assert " ".join(text.split()).endswith(f" CONFORMANT with 1 waived clause ({share}): {message} (exit code 0)")


def test_counted_nouns_have_their_plural() -> None:
    assert [many(count, "row") for count in (0, 1, 2, 1786)] == ["0 rows", "1 row", "2 rows", "1,786 rows"]
    assert [many(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]


def test_one_fault_is_at_most_one_screen_of_eighty_columns() -> None:
    """On all operators, with long needs, and with others under it."""
    tables = load_tables()
    operators = tuple(tables.operators)

    def failing(operator: str, clause: str, needs: tuple[str, ...], words: str) -> FailureRecord:
        details = {"needs": f"{words} (right {'with a packed input; ' * 20})", "acceptable": "3 or 4 " * 50}
        made = replace(failure(clause, "FLOAT32", title="input 2 gives 3 " * 10), operator=operator, details=details)
        file = f"{clause}-{operator.lower()}-{len(needs)}.yaml"
        return replace(made, deviation=Deviation.WRONG_VALUE, needs=needs, file=file)

    kinds = [
        (clause, ("input strides", *more), "strides of the input and " * (1 + len(more)))
        for clause in ("tensor.strides.broadcast", "tensor.strides.padded", "tensor.position")
        for more in ((), ("count",), ("count", "rank"), ("rank", "offset"))
    ]
    cases = tuple(failing(operator, *kind) for operator in operators for kind in kinds)
    rows = tuple(
        replace(tally(clause, "FLOAT32", Outcome.FAIL), operator=operator)
        for operator in operators
        for clause in dict.fromkeys(kind[0] for kind in kinds)
    )
    text = shown(results_of(ItemRecord("u", Outcome.FAIL, 1, rows, (), cases), tables=tables), tables, width=80)
    blocks = [block for block in text.split("\n\n") if block.startswith("FAIL  ")]
    assert len(blocks) == 1, text
    assert 8 < len(blocks[0].splitlines()) <= 24, blocks[0]
    assert max(map(len, blocks[0].splitlines())) <= 80, blocks[0]
