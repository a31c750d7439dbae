"""What stands in an output before a dispatch reveals nothing: who answers with it holds no row, no record shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.memory import Masks, aligned_memory, drawn_masks, steady_masks
from dmlcts.suites.selftest.conftest import Ran

MODULE = "dmlcts.suites.selftest.memory.reading_backends"
TABLES = load_tables()
VALUES = {
    "ROUND": ("round.nearest-even", "round.toward-*", "round.nan", "round.infinity", "round.zero-sign"),
    "LOGICAL_EQUALS": ("logical-equals.formula",),
    "IS_NAN": ("is-nan.formula",),
}
"""The clauses on values. What holds between results alone may hold between wrong ones."""

READING = [
    ("Inverts", "ROUND", "FLOAT16"),
    ("Inverts", "IS_NAN", "FLOAT16"),
    ("InvertsLowestBits", "IS_NAN", "FLOAT16"),
    ("InvertsTheDispatchBefore", "ROUND", "FLOAT16"),
    ("TakesTheGuardsForAMask", "IS_NAN", "FLOAT16"),
    pytest.param("Inverts", "LOGICAL_EQUALS", "INT8", marks=pytest.mark.size("all")),
    pytest.param("KeepsATable", "IS_NAN", "FLOAT16", marks=pytest.mark.size("all")),
    pytest.param("InvertsLowestBits", "LOGICAL_EQUALS", "INT8", marks=pytest.mark.size("all")),
]
NOTHING = np.zeros(0, np.int8)


def asked(backend: str, operator: str, data_type: str, *clauses: str) -> tuple[str, ...]:
    chosen = [word for clause in clauses or VALUES[operator] for word in ("--clause", clause)]
    subject = ["--operator", operator, "--data-type", data_type, "--seed", "3"]
    return ("run", "--backend", f"{MODULE}:{backend}", *subject, *chosen)


def held(ran: Ran) -> list[str]:
    """The rows on values that an implementation holds."""
    assert ran.results is not None, ran.out + ran.err
    rows = [row for row in ran.results["clauses"] if TABLES.clause(row["id"]).subject != "state"]
    assert rows
    return [row["id"] for row in rows if row["outcome"] in ("pass", "characterised")]


@pytest.mark.parametrize("backend, operator, data_type", READING)
@pytest.mark.size("thorough", brief=1)
def test_who_answers_with_what_is_in_the_memory_holds_no_value(
    backend: str, operator: str, data_type: str, dmlcts: Callable[..., Ran]
) -> None:
    ran = dmlcts(*asked(backend, operator, data_type))
    assert ran.code == 1, ran.out + ran.err
    assert held(ran) == []


@pytest.mark.parametrize(
    "operator, data_type", [("ROUND", "FLOAT16"), ("LOGICAL_EQUALS", "INT8"), ("IS_NAN", "FLOAT16")]
)
@pytest.mark.size("thorough", brief=1)
def test_who_computes_is_conformant_beside_them(operator: str, data_type: str, dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts(*asked("Right", operator, data_type))
    assert ran.code == 0, ran.out + ran.err
    assert len(held(ran)) >= len(VALUES[operator])


def _records(folder: Path) -> dict[str, Any]:
    """What a run wrote of its verdict, but for times: the results and the failures' files."""
    failure_texts = {
        path.name: path.read_text(encoding="utf-8") for path in (folder / "results" / "failures").glob("*")
    }
    results = json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))
    return {"files": failure_texts, **_timeless(results)}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        times = ("seconds", "started", "finished", "timings", "environment")
        return {name: _timeless(item) for name, item in value.items() if name not in times}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("backend", ["Right", "LeavesTheLast", "WritesLowBytes"])
@pytest.mark.size("all", thorough=1)
def test_the_records_of_two_runs_with_one_seed_are_equal(
    backend: str, dmlcts: Callable[..., Ran], tmp_path: Path
) -> None:
    """An element that was not written, or in part, is reported in the same words whatever stood there."""
    folders = [tmp_path / name for name in ("one", "other")]
    clauses = ("round.toward-zero", "tensor.output.complete", "tensor.position")
    for folder in folders:
        folder.mkdir()
        ran = dmlcts(*asked(backend, "ROUND", "FLOAT16", *clauses), folder=folder)
        assert ran.code == int(backend != "Right"), ran.out + ran.err
    assert _records(folders[0]) == _records(folders[1])


def _bytes(masks: Masks, count: int, inputs: Any = NOTHING) -> Any:
    return masks.mask(count, inputs).over(np.zeros(count, np.uint8))


@pytest.mark.parametrize("count", [1 << 16, 1 << 20], ids=["few", "many"])
def test_each_byte_of_a_mask_changes_and_its_outer_bits_are_even_chances(count: int) -> None:
    """So that the poison of 0 and 1, and of either sign, is the same to whoever sees it."""
    drawn = _bytes(Masks(7), count)
    assert (drawn & 0x7E).all()
    for bit in range(8):
        chance = float(np.mean(drawn >> bit & 1))
        assert abs(chance - 0.5) < (0.01 if bit != 6 else 0.03), bit


@pytest.mark.parametrize("count", [5, 1 << 17], ids=["few", "many"])
def test_every_dispatch_has_a_mask_of_its_own_unless_it_is_steady(count: int) -> None:
    first, second = _bytes(drawn_masks(), count), _bytes(drawn_masks(), count)
    assert (first != second).any()
    assert (_bytes(Masks(7), count) == _bytes(Masks(7), count)).all()
    values, other = np.array([1.5]), np.array([2.5])
    assert (_bytes(steady_masks(), count, values) == _bytes(steady_masks(), count, values)).all()
    assert (_bytes(steady_masks(), count, values) != _bytes(steady_masks(), count, other)).any()


@pytest.mark.parametrize("count", [3, 1 << 17], ids=["few", "many"])
@pytest.mark.parametrize("data_type", [np.uint8, np.float16, np.float32, np.int64])
def test_a_mask_laid_twice_over_values_gives_them_back(data_type: Any, count: int) -> None:
    values = (np.arange(count) % 250).astype(data_type)
    mask = Masks().mask(values.nbytes, values)
    for some in (values, values[: count // 2]):
        poison = mask.over(some)
        assert poison.dtype == some.dtype
        assert (poison.view(np.uint8) != some.view(np.uint8)).all()
        assert (mask.over(poison).view(np.uint8) == some.view(np.uint8)).all()


def test_a_mask_of_many_bytes_repeats_after_64_kib() -> None:
    drawn = _bytes(Masks(7), 3 << 16)
    assert len(np.unique(drawn[: 1 << 16].reshape(-1, 8), axis=0)) == 1 << 13
    assert np.array_equal(drawn, np.tile(drawn[: 1 << 16], 3))


@pytest.mark.parametrize("turn", [0, 3])
@pytest.mark.parametrize("written", [[], [(0, 9)], [(70_000, 80_000), (5, 60_000)], [(5, 3_000_000), (7, 90)]])
def test_memory_holds_the_pattern_outside_of_what_the_caller_fills(turn: int, written: list[tuple[int, int]]) -> None:
    size = 3_000_001
    kept = np.ones(size, bool)
    for begin, end in written:
        kept[begin:end] = False

    def allocate(count: int) -> Any:
        return np.full(count, 0xFF, np.uint8)

    whole, filled_memory = aligned_memory(size, allocate, turn), aligned_memory(size, allocate, turn, written)
    assert not np.any(whole == 0xFF)
    assert np.array_equal(filled_memory[kept], whole[kept])
    assert np.all(filled_memory[~kept] == 0xFF)
