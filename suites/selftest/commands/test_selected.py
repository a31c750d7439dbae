"""``dmlcts run --list`` shows what a run would judge, and a misspelled name is answered with the likely one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dmlcts.reports.documents.selecting import selects
from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.spelling import did_you_mean, likely
from dmlcts.suites.commands.selected import print_selected
from dmlcts.suites.families.family import families
from dmlcts.suites.families.selected import selected_by
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import collected_tests

CLIP_ON_INT8: dict[str, Any] = {"backend": "cpu", "operators": ("CLIP",), "data_types": ("INT8",)}


def listed(verbose: bool = False, **options: Any) -> str:
    settings = Settings.read(**{"backend": "cpu", **options})
    lines: list[str] = []
    print_selected(selected_by(settings), settings, lines.append, verbose=verbose)
    return "\n".join(lines)


def test_a_list_names_operators_types_clauses_and_the_number_of_items() -> None:
    text = listed(operators=("CLIP,ROUND",), clauses=("clip.bounds.*", "round.odd"), data_types=("INT8,FLOAT16",))
    assert "CLIP   1 item, 3 clauses: FLOAT16, INT8\n" in text
    assert "ROUND  1 item, 1 clause: FLOAT16\n" in text
    assert "\n  clip.bounds.inverted\n" in text
    assert "2 items (" in text
    assert text.endswith("Nothing was judged.")
    assert "THRESHOLD" not in text


def test_a_long_list_of_clauses_is_counted_and_listed_when_asked() -> None:
    assert "-v lists them" in listed(operators=("bounds",))
    assert "\n  clip.formula\n" in listed(operators=("bounds",), verbose=True)


def test_the_items_are_those_that_pytest_collects() -> None:
    (clip,) = selected_by(Settings.read(**CLIP_ON_INT8))
    assert [data_type.name for data_type in clip.data_types] == ["INT8"]
    (whole,) = selected_by(Settings.read(backend="cpu", operators=("CLIP",)))
    assert whole.items == len(collected_tests(("CLIP",), profile="quick"))


def test_the_shards_of_a_list_are_the_list() -> None:
    whole = selected_by(Settings.read(**CLIP_ON_INT8))
    parts = [selected_by(Settings.read(**CLIP_ON_INT8, shard=f"{part}/2")) for part in (1, 2)]
    assert sum(clip.items for part in parts for clip in part) == whole[0].items
    assert 0 < parts[0][0].items < whole[0].items < len(families()) + 1


MAX_ON_UINT8: dict[str, Any] = {"operators": ("MAX",), "data_types": ("UINT8",)}


def test_clauses_are_left_out_of_all_or_of_those_that_are_selected() -> None:
    (whole,) = selected_by(Settings.read(backend="cpu", **MAX_ON_UINT8))
    (without,) = selected_by(Settings.read(backend="cpu", **MAX_ON_UINT8, clauses=("!max.pair",)))
    assert set(whole.clauses) - set(without.clauses) == {"max.pair"}
    for clauses in (("max.*,!max.pair",), ("!max.pair", "max.*")):
        (own,) = selected_by(Settings.read(backend="cpu", **MAX_ON_UINT8, clauses=clauses))
        assert set(own.clauses) == {name for name in without.clauses if name.startswith("max.")}
    assert "max.pair" not in listed(**MAX_ON_UINT8, clauses=("!max.pair",), verbose=True)
    with pytest.raises(UsageError, match="leaves out every clause"):
        Settings.read(backend="cpu", clauses=("max.pair", "!max.*"))


def test_what_is_left_out_stays_so_in_a_resumed_run_its_shards_and_its_results() -> None:
    settings = Settings.read(backend="cpu", **MAX_ON_UINT8, clauses=("!max.pair,!tensor.*",))
    again = Settings.of(settings.described(), "results", "a journal")
    assert again.clauses == settings.clauses == ("!max.pair", "!tensor.*")
    assert "--clause=!max.pair" in settings.arguments()
    assert not settings.names_clauses
    rows = {clause for clause, *_ in settings.obliged(FeatureLevel.parse("5.0"))}
    assert "max.idempotent" in rows
    assert not {clause for clause in rows if clause == "max.pair" or clause.startswith("tensor.")}
    assert all(settings.selects_clause(clause) == selects(settings.selection, clause) for clause in (*rows, "max.pair"))


def test_an_empty_selection_is_an_error() -> None:
    with pytest.raises(UsageError, match="the selection is empty"):
        selected_by(Settings.read(backend="cpu", data_types=("INT64",), clauses=("round.nan",)))


def test_a_list_needs_no_backend_and_writes_nothing(dmlcts: Callable[..., Any], tmp_path: Any) -> None:
    ran = dmlcts("run", "--operator", "ROUND", "--clause", "round.odd", "--list")
    assert ran.code == 0, ran.err
    assert "Nothing was judged." in ran.out
    assert list(tmp_path.iterdir()) == []
    assert dmlcts("run", "--resume", "results", "--list").code == 2


@pytest.mark.parametrize(
    "options, meant",
    [
        ({"operators": ("CLOP",)}, "did you mean CLIP?"),
        ({"operators": ("DML_OPERATOR_ELEMENT_WISE_CLOP",)}, "did you mean CLIP?"),
        ({"operators": ("ronding",)}, "did you mean rounding?"),
        ({"operators": ("ASB",)}, "did you mean ABS?"),
        ({"operators": ("ABZ",)}, "did you mean ABS?"),
        ({"operators": ("AS",)}, "did you mean ABS?"),
        ({"operators": ("CELI",)}, "did you mean CEIL?"),
        ({"operators": ("NEGATION",)}, "did you mean NEGATE?"),
        ({"data_types": ("FLAOT16",)}, "did you mean FLOAT16?"),
        ({"clauses": ("clip.boudns.inverted",)}, "did you mean clip.bounds.inverted?"),
        ({"clauses": ("!max.piar",)}, "no clause matches '!max.piar'; did you mean !max.pair?"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_likely_one(options: dict[str, Any], meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings.read(backend="cpu", **options)
    assert meant in str(caught.value)


@pytest.mark.parametrize("name", ["xyz", "rotation", "gather", "matmul", "maximum"])
def test_a_name_like_no_other_is_answered_with_all(name: str) -> None:
    with pytest.raises(UsageError, match=r"choose one of ABS, .*, or a group: ") as caught:
        Settings.read(backend="cpu", operators=(name,))
    assert "did you mean" not in str(caught.value), "rotation is no quantisation"


def test_case_is_no_misspelling() -> None:
    assert likely("clip", ["CLIP", "ROUND"]) == "CLIP"
    assert likely("nothing", ["CLIP", "ROUND"]) == ""


def test_one_slip_is_found_however_short_the_name_and_preferred_to_likeness() -> None:
    assert likely("CELI", ["CLIP", "CEIL"]) == "CEIL", "as like to the one as to the other"
    assert likely("in", ["if", "it"]) == "", "of two letters every change makes another word"
    for written in ("calmp", "clmp", "clamqp", "clomp", "lamp", "clam"):
        assert likely(written, ["exponentials", "clamp"]) == "clamp", written


def test_a_mend_begins_with_the_likely_name() -> None:
    assert did_you_mean("nothing", ["CLIP"], "write CLIP") == "write CLIP"
