"""A number that no enumerator has: how it travels, who refuses it, and that harm which comes of it is seen."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument
from dmlcts.backends.cpu import CpuBackend
from dmlcts.backends.directml.descriptions import Description
from dmlcts.reports.views.dxdispatch import DxDispatchError, model
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.description_data import read_operator, write_operator
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import unconditional_violations, violations
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.findings import attribute_text

NUMBERS = (3, 255, 1 << 31, (1 << 32) - 1)
LEVEL = FeatureLevel("5.0")


def rounding(mode: str | np.uint32) -> OperatorDesc:
    tensor = TensorDesc(DataType.FLOAT32, (4,))
    return OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor}, {"RoundingMode": mode})


def rounding_case(mode: str | np.uint32) -> Case:
    values = Values.of([1.5], DataType.FLOAT32)
    return Case(rounding(mode), values, "round.enumerator.undefined", None, "harmless")


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_itself_and_nothing_else(number: int) -> None:
    operator = rounding(np.uint32(number))
    assert operator == rounding(np.uint32(number))
    assert hash(operator) == hash(rounding(np.uint32(number)))
    assert operator != rounding("TOWARD_ZERO")
    assert operator != rounding(np.uint32(number - 1))
    assert attribute_text(operator.attributes["RoundingMode"]) == str(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_it_may_be_refused_but_need_not_be(number: int) -> None:
    tables = load_tables()
    (violation,) = violations(rounding(np.uint32(number)), LEVEL, tables)
    assert (violation.clause, violation.text) == (
        "round.enumerator.undefined",
        f"RoundingMode is {number}, which has no name",
    )
    assert unconditional_violations(rounding(np.uint32(number)), tables) == ()
    assert violations(rounding("TOWARD_INFINITY"), LEVEL, tables) == ()


def test_the_cpu_backend_refuses_it() -> None:
    with CpuBackend().open() as device:
        with pytest.raises(InvalidArgument, match="RoundingMode is 3, which has no name"):
            device.create(rounding(np.uint32(3)))
        device.create(rounding("TOWARD_ZERO")).close()


@pytest.mark.parametrize("number", NUMBERS)
def test_directml_is_given_the_number_as_it_is(number: int) -> None:
    description = Description(rounding(np.uint32(number)))
    layout = description.layout.structure
    there = ctypes.string_at(description.desc.Desc + layout.RoundingMode.offset, 4)
    assert int.from_bytes(there, "little") == number


@pytest.mark.parametrize("number", NUMBERS)
def test_it_travels_between_processes_and_in_failure_files(number: int) -> None:
    case = rounding_case(np.uint32(number))
    assert read_operator(json.loads(json.dumps(write_operator(case.operator)))) == case.operator
    written = json.loads(json.dumps(case.to_json()))
    assert written["attributes"] == {"RoundingMode": {"enumerator": number}}
    again = Case.from_json(written)
    assert again == case
    assert isinstance(again.operator.attributes["RoundingMode"], np.uint32)


@pytest.mark.parametrize("number", [-1, 1 << 32, "3", True, None])
def test_a_failure_file_with_another_number_is_refused(number: Any) -> None:
    written = rounding_case(np.uint32(3)).to_json()
    written["attributes"]["RoundingMode"] = {"enumerator": number}
    with pytest.raises(UsageError, match="enumerator"):
        Case.from_json(written)


def test_no_dxdispatch_model_holds_it() -> None:
    with pytest.raises(DxDispatchError, match="no name"):
        model(rounding_case(np.uint32(3)).to_json())
    assert model(rounding_case("TOWARD_ZERO").to_json())["commands"]


@pytest.mark.size("thorough")
def test_a_crash_is_reported_with_the_number_and_replayed(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    """The run tries every number and reports the first that crashes; a refusal passes, and is characterised."""
    chosen = ("--operator", "ROUND", "--data-type", "FLOAT32", "--clause", "round.enumerator.undefined")
    folder = "dmlcts.suites.mutants.combined.descriptions"
    ran = dmlcts("run", "--backend", f"{folder}:UndefinedHighModeCrashes", *chosen)
    assert ran.code == 1, ran.out + ran.err
    (failure,) = ran.results["failures"]
    assert (failure["outcome"], failure["clause"]) == ("crash", "round.enumerator.undefined")
    assert failure["details"]["RoundingMode"] == str(1 << 31)
    path = str(tmp_path / "results" / "failures" / failure["file"])
    assert dmlcts("replay", path, "--backend", f"{folder}:UndefinedHighModeCrashes").code == 1
    again = dmlcts("replay", path, "--backend", "cpu")
    assert (again.code, "refused, as feature level" in again.out) == (0, True), again.out + again.err
    control = dmlcts("run", "--backend", "cpu", *chosen)
    assert (control.code, control.outcomes("round.enumerator.undefined")) == (0, {"characterised"})
