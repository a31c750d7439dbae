"""A fault of one, two or three conditions is one block on the terminal, under its clause, and what it needs is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.explained.wrong import FAULTS, Fault

MODULE = "dmlcts.suites.selftest.explained.wrong"
THOROUGH = ("NegateIntoStrides", "ThresholdInPlaceScaled", "AbsOfThree")
"""One of each number of conditions; the others take minutes together."""


def type_of(fault: Fault) -> str:
    """One type on which the fault strikes."""
    table = load_tables().operator(f"ELEMENT_WISE_{fault.operator}")
    listed = [data_type.name for data_type in table.data_types]
    return fault.types[0] if fault.types else next(name for name in ("FLOAT32", "INT32", "UINT32") if name in listed)


def judged(name: str, dmlcts: Callable[..., Ran], *more: str) -> Ran:
    fault = FAULTS[name]
    return dmlcts(
        "run",
        "-q",
        "--backend",
        f"{MODULE}:{name}",
        "--isolation",
        "none",
        "--operator",
        fault.operator,
        "--data-type",
        type_of(fault),
        *more,
    )


def heads(ran: Ran) -> list[str]:
    return [line.split()[1] for line in ran.out.splitlines() if line.startswith("FAIL  ")]


def replayed_needs(ran: Ran) -> str:
    lines = [line for line in ran.out.splitlines() if line.startswith("  needs  ")]
    return " ".join(lines[0].split()[1:]) if lines else ""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.size("thorough" if name in THOROUGH else "all")) for name in FAULTS]
)
def test_one_fault_is_one_block_and_what_it_needs_is_true(
    name: str, tmp_path: Path, dmlcts: Callable[..., Ran]
) -> None:
    """Without any one of the conditions that it names its case comes out right; with all of them it fails."""
    fault = FAULTS[name]
    ran = judged(name, dmlcts)
    assert ran.code == 1, ran.out
    (head,) = heads(ran)
    strides = "tensor.strides."  # which kind of them a fault of two tensors is about is no matter of right and wrong
    assert head == fault.clause or (head.startswith(strides) and fault.clause.startswith(strides)), ran.out
    failures: list[dict[str, Any]] = (ran.results or {})["failures"]
    first = next(
        failure
        for failure in failures
        if failure["clause"] == head and failure["file"] and f"/{failure['file']}" in ran.out
    )
    assert frozenset(first.get("needs", ())) == fault.factors, ran.out
    path = tmp_path / "results" / "failures" / first["file"]
    again = dmlcts("replay", str(path), "--backend", f"{MODULE}:{name}", "--isolation", "none")
    assert again.code == 1, again.out
    assert replayed_needs(again) == " ".join(first["details"].get("needs", "").split()), again.out
    assert dmlcts("replay", str(path), "--backend", "cpu").code == 0
