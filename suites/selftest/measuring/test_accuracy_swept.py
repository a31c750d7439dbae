"""A sweep measures every input: the worst one is found, exactly, however the blocks come together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.measuring.dispatches import gauge_of
from dmlcts.suites.selftest.measuring.inexact import OPERANDS, UNITS
from dmlcts.suites.selftest.signatures.five_operators import FOLDER
from dmlcts.suites.selftest.signatures.five_tables import write_tables
from dmlcts.suites.sweeping.blocks.totals import MalformedTotals, Totals

MODULES = "dmlcts.suites.selftest"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = write_tables(tmp_path / "tables")
    monkeypatch.setenv(FOLDER, str(made))
    return made


def sweep(dmlcts: Callable[..., Any], folder: Path, backend: str, results: str) -> Any:
    return dmlcts(
        "sweep",
        "--backend",
        f"{MODULES}.{backend}",
        "--isolation",
        "none",
        "--tables",
        str(folder),
        "--operator",
        "OWN_SQRT",
        "--data-type",
        "FLOAT16",
        "--results",
        results,
        "--tensor-elements",
        "8192",
        "--lanes",
        "2",
        "-n",
        "1",
    )


@pytest.mark.size("thorough")
def test_a_sweep_finds_the_worst_of_all_inputs(folder: Path, tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    done = sweep(dmlcts, folder, "measuring.inexact:SqrtIsFiveUnitsOffAtOneOperand", "wrong")
    assert done.code == 1, done.out + done.err
    (row,) = load_sweep(tmp_path / "wrong")["accuracy"]
    assert row["ulp"]["inputs"] == {"InputTensor": f"0x{OPERANDS['FLOAT16']:04x}"}
    assert UNITS - 0.5 <= row["ulp"]["error"] <= UNITS + 0.5
    assert row["elements"] + sum(row["apart"].values()) == 1 << 16, "every input once"
    assert "OWN_SQRT on FLOAT16: the largest error is 5." in done.out
    assert "plot errors" in (tmp_path / "wrong" / "sweep.html").read_text(encoding="utf-8")
    right = sweep(dmlcts, folder, "signatures.five_operators:Right", "right")
    assert right.code == 0, right.out + right.err
    (row,) = load_sweep(tmp_path / "right")["accuracy"]
    assert 0.49 < row["ulp"]["error"] <= 0.5
    assert len(row["bins"]) == 2


def test_totals_with_errors_add_up_in_any_order_and_travel(folder: Path) -> None:
    tables = load_tables(folder)
    tensors = {name: TensorDesc(DataType.FLOAT16, (1,)) for name in ("InputTensor", "OutputTensor")}
    gauge = gauge_of(tables, OperatorDesc("ELEMENT_WISE_OWN_SQRT", tensors, {}), strict=False)
    assert gauge is not None
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        output = np.sqrt(x.astype(np.float64)).astype(np.float16)
    output.view(np.uint16)[[0x3C10, 0x4248]] += 3
    parts = []
    for start in range(0, x.size, 1 << 13):
        measurement = gauge.begun()
        gauge.add(measurement, {"InputTensor": x[start : start + (1 << 13)]}, output[start : start + (1 << 13)])
        part = Totals(blocks=1)
        part.measured(measurement)
        parts.append(part)

    def reported(order: list[int]) -> Any:
        whole = Totals()
        for place in order:
            whole.add(Totals.from_json(json.loads(json.dumps(parts[place].to_json()))))
        assert whole.accuracy is not None
        return whole.accuracy.record("ELEMENT_WISE_OWN_SQRT", "FLOAT16")

    whole = gauge.begun()
    gauge.add(whole, {"InputTensor": x}, output)
    expected = whole.record("ELEMENT_WISE_OWN_SQRT", "FLOAT16")
    assert reported(list(range(len(parts)))) == expected
    assert reported(np.random.default_rng(3).permutation(len(parts)).tolist()) == expected
    broken = parts[0].to_json()
    broken["accuracy"]["ulp"] = {"error": -1}
    with pytest.raises(MalformedTotals):
        Totals.from_json(broken)
