"""The backend contract: errors by class name, and device descriptions of every shape."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dmlcts.backends as contract_names
from dmlcts.backends import BackendUnavailable, DeviceInfo, DeviceLost, ExecutionFailed, InvalidArgument
from dmlcts.backends.contract import ContractError, describe, error_kind
from dmlcts.specs import DataType, DmlctsError, FeatureLevel
from dmlcts.specs.loading import load_tables


def _foreign(name: str, *bases: type) -> Exception:
    error = type(name, bases or (Exception,), {})("text")
    assert isinstance(error, Exception)
    return error


@pytest.mark.parametrize(
    "error, kind",
    [
        (InvalidArgument("x"), "invalid_argument"),
        (DeviceLost("x"), "device_lost"),
        (ExecutionFailed("x"), "execution_failed"),
        (BackendUnavailable("x"), "unavailable"),
        (_foreign("InvalidArgument"), "invalid_argument"),
        (_foreign("DeviceLost", OSError), "device_lost"),
        (_foreign("Hung", type("DeviceLost", (RuntimeError,), {})), "device_lost"),
        (_foreign("ExecutionFailed", InvalidArgument), "execution_failed"),
        (_foreign("InvalidArgumentError"), None),
        (ValueError("InvalidArgument"), None),
    ],
)
def test_errors_are_recognised_by_class_name(error: Exception, kind: str | None) -> None:
    assert error_kind(error) == kind


def test_unavailable_is_one_line_with_cause_and_mend() -> None:
    error = BackendUnavailable("no adapter:\n  none found", "install a driver")
    assert str(error) == "no adapter: none found; install a driver"
    assert (error.cause, error.mend) == ("no adapter:\n  none found", "install a driver")
    assert str(BackendUnavailable("no adapter")) == "no adapter"
    assert isinstance(error, DmlctsError)


def test_the_package_exports_the_contract_and_imports_nothing_heavy() -> None:
    assert set(contract_names.__all__) == {
        "Backend",
        "Device",
        "Kernel",
        "DeviceInfo",
        "InvalidArgument",
        "NotSupported",
        "DeviceLost",
        "ExecutionFailed",
        "BackendUnavailable",
    }
    heavy = "{'pydantic', 'yaml', 'pytest', 'hypothesis', 'jsonschema', 'rich', 'click'}"
    program = f"import sys, dmlcts.backends; print(sorted({heavy} & set(sys.modules)))"
    # The check has to happen in an interpreter that has not imported the suite.
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {program}"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


@pytest.mark.parametrize("written", ["5.0", 5.0, "5_0", "DML_FEATURE_LEVEL_5_0", FeatureLevel("5.0")])
def test_a_level_may_be_written_in_several_ways(written: Any) -> None:
    assert DeviceInfo("a", written).feature_level is FeatureLevel("5.0")
    assert describe({"name": "a", "feature_level": written}).feature_level is FeatureLevel("5.0")


def test_a_description_is_returned_as_it_is() -> None:
    info = DeviceInfo("a", "3.0", adapter="b")
    assert describe(info) is info


def test_attributes_and_mappings_describe_alike() -> None:
    fields: dict[str, Any] = {
        "name": "theirs",
        "feature_level": "3.0",
        "adapter": "GPU 1",
        "driver": None,
        "version": 1.5,
        "data_types": {"CLIP": ["FLOAT32", DataType.INT8], "ELEMENT_WISE_ROUND": {"float16"}},
        "details": {"warp": 32},
    }
    expected = DeviceInfo(
        "theirs",
        "3.0",
        adapter="GPU 1",
        version="1.5",
        data_types={
            "ELEMENT_WISE_CLIP": frozenset({DataType.FLOAT32, DataType.INT8}),
            "ELEMENT_WISE_ROUND": frozenset({DataType.FLOAT16}),
        },
        details={"warp": 32},
    )
    assert describe(fields) == expected
    assert describe(SimpleNamespace(**fields, unknown="ignored")) == expected
    assert expected.driver == ""


def test_types_of_a_foreign_enumeration_and_empty_claims() -> None:
    theirs = SimpleNamespace(name="UINT64")
    info = describe({"name": "a", "feature_level": "5.0", "data_types": {"clip": [theirs], "round": ()}})
    assert info.data_types == {
        "ELEMENT_WISE_CLIP": frozenset({DataType.UINT64}),
        "ELEMENT_WISE_ROUND": frozenset(),
    }


KNOWN_OPERATORS = ["ELEMENT_WISE_ABS", "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND"]


def test_only_claims_every_other_operator_on_no_type() -> None:
    """The claims beside it stay, and without it nothing changes."""
    claimed = {"name": "a", "feature_level": "5.0", "data_types": {"ROUND": ["FLOAT32"]}}
    info = describe(claimed | {"only": ["CLIP", "DML_OPERATOR_ELEMENT_WISE_ROUND"]})
    assert info.among(KNOWN_OPERATORS).data_types == {
        "ELEMENT_WISE_ABS": frozenset(),
        "ELEMENT_WISE_ROUND": frozenset({DataType.FLOAT32}),
    }
    assert describe(claimed).among(KNOWN_OPERATORS) == describe(claimed)
    assert describe({"name": "a", "feature_level": "5.0", "only": ()}).only == frozenset()


@pytest.mark.parametrize(
    "name, mend",
    [("CLIPP", "names CLIPP, which is no operator; did you mean CLIP?"), ("X", "`dmlcts spec show` lists")],
)
def test_only_with_an_unknown_operator_is_refused(name: str, mend: str) -> None:
    info = describe({"name": "a", "feature_level": "5.0", "only": ["ROUND", name]})
    with pytest.raises(ContractError) as caught:
        info.among(KNOWN_OPERATORS)
    assert mend in str(caught.value)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"feature_level": None}, "no feature_level"),
        ({"feature_level": "9.9"}, "no feature level '9.9'; choose one of 1.0"),
        ({"feature_level": object()}, "feature_level is wrong"),
        ({"name": None}, "no name"),
        ({"name": ["a"]}, "name is of type list"),
        ({"data_types": {"CLIP": ["FLOAT31"]}}, "data_types of CLIP hold 'FLOAT31', which is no data type"),
        ({"data_types": {"CLIP": [7]}}, "hold 7, which is no data type"),
        ({"data_types": {"CLIP": "FLOAT32"}}, "give a set of data types"),
        ({"data_types": {"CLIP": None}}, "give a set of data types"),
        ({"data_types": ["FLOAT32"]}, "give a dictionary of operator name"),
        ({"data_types": {"CLIP": [], "ELEMENT_WISE_CLIP": []}}, "name ELEMENT_WISE_CLIP twice"),
        ({"details": "fast"}, "details are of type str"),
        ({"only": "CLIP"}, "only is 'CLIP'; give a list of operators"),
        (
            {"only": ["CLIP"], "data_types": {"ROUND": ["FLOAT32"]}},
            "data_types claim ROUND, and its only leaves it out",
        ),
    ],
)
def test_nonsense_is_a_named_error(change: dict[str, Any], words: str) -> None:
    sound = {"name": "a", "feature_level": "5.0"}
    assert describe(sound).name == "a"
    with pytest.raises(ContractError) as caught:
        describe(sound | change)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.cause
    assert caught.value.mend


def test_an_object_without_any_field_is_a_named_error() -> None:
    with pytest.raises(ContractError, match="no name"):
        describe(object())


def test_a_description_is_frozen_and_travels_between_processes() -> None:
    info = DeviceInfo("a", "5.0", data_types={"CLIP": ["INT8"]}, details={"cores": 4}, only=["CLIP"])
    assert pickle.loads(pickle.dumps(info)) == info  # noqa: S301 - our own bytes
    with pytest.raises(AttributeError):
        info.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        info.details["cores"] = 8  # type: ignore[index]


def cited_clauses(source: str) -> set[str]:
    """What reads like a clause in a program's strings: at their beginning, or all of them."""
    groups = {clause.id.partition(".")[0] for clause in load_tables().clauses}
    pattern = re.compile(rf"(?:{'|'.join(sorted(groups))})(?:\.[a-z0-9-]+)+(?=$|: )")
    strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {result[0] for text in strings if isinstance(text, str) and (result := pattern.match(text))}


def test_backends_cite_clauses_that_the_tables_have() -> None:
    known = {clause.id for clause in load_tables().clauses}
    folder = Path(contract_names.__file__).parent
    cited = {clause for path in folder.rglob("*.py") for clause in cited_clauses(path.read_text(encoding="utf-8"))}
    assert "tensor.strides.zero-output" in cited, "the control: they are found"
    assert cited_clauses('raise X(f"tensor.strides: {name}")') - known == {"tensor.strides"}
    assert cited - known == set()


def test_what_info_holds_beside_its_fields_is_recorded_as_details() -> None:
    info = describe({"name": "mine", "feature_level": "5.0", "vendor": "ACME", "chip": 7, "details": {"chip": 8}})
    assert dict(info.details) == {"vendor": "ACME", "chip": 8}
