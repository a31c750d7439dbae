"""What ``probe`` names: what silent points give, several behaviours at once, subnormals, and claimed types only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.documents.wording import behaviour_text
from dmlcts.specs import DataType
from dmlcts.specs.loading import load_tables
from dmlcts.specs.statements.explanations import NAMELESS, explanation
from dmlcts.specs.statements.silent_points import silent_points
from dmlcts.suites.selftest.family.stated_tables import stated_tables, without_attributes

BACKEND = '''
import numpy as np
from dmlcts.backends import DeviceInfo, InvalidArgument
from dmlcts.reports.documents.wording import behaviour_text
from dmlcts.specs import DataType
from dmlcts.suites.mutants.permitted import StrictIeee
from dmlcts.suites.mutants.permitted.subnormals import flushed

class Flushing(StrictIeee):
    """Every operator flushes FLOAT32 subnormals, read or written."""
    level = "6.4"
    def compute_exact(self, operator, inputs):
        zeros = [np.asarray(flushed(x, signed=True)) for x in inputs]
        return np.asarray(flushed(super().compute_exact(operator, zeros), signed=True))

class Float32Only(StrictIeee):
    """Claims FLOAT32, and refuses all else."""
    level = "6.4"
    @property
    def info(self):
        return DeviceInfo(name="x", feature_level="6.4", data_types={"ELEMENT_WISE_LOG": {DataType.FLOAT32}})
    def refuses(self, operator):
        return super().refuses(operator) or ("" if operator.data_type is DataType.FLOAT32 else "not here")
'''


def seen(tmp_path: Path, dmlcts: Callable[..., Any], backend: str, *arguments: str) -> dict[tuple[str, str], str]:
    """What a backend does, by clause and type."""
    (tmp_path / "other.py").write_text(BACKEND, encoding="utf-8")
    ran = dmlcts("probe", "--backend", backend, *arguments, "--json", "seen.json")
    assert ran.code == 0, ran.out + ran.err
    document = json.loads((tmp_path / "seen.json").read_text(encoding="utf-8"))
    return {
        (behaviour["clause"], behaviour["data_type"]): behaviour["behaviour"] for behaviour in document["behaviours"]
    }


def named(name: str, data_type: DataType, a: list[Any], b: list[Any], output: list[Any]) -> str:
    tables = stated_tables()
    (point,) = silent_points(tables.operator(name), without_attributes(tables, name, T=data_type))
    first, second, actual = (np.array(values, data_type.numpy) for values in (a, b, output))
    return explanation(point, {"a": first, "b": second}, actual)


@pytest.mark.parametrize(
    ("name", "data_type", "a", "b", "output", "wanted"),
    [
        ("PLUS", "INT8", [127, 100, 3], [1, 100, 4], [-128, -56, 0], "wraps"),
        ("PLUS", "INT8", [127, 100], [1, 100], [127, -56], "mixed: wraps and saturates"),
        ("PLUS", "INT8", [127, 100, 120], [1, 100, 9], [127, -56, 127], "mixed: saturates and wraps"),
        ("PLUS", "INT8", [127, 100], [1, 100], [127, 5], NAMELESS),
        ("LARGER", "FLOAT32", [np.nan, 1], [2, np.nan], [2, np.nan], "mixed: gives NaN and gives the other operand"),
        (
            "LARGER",
            "FLOAT32",
            [np.nan, 1],
            [1e-40, np.nan],
            [0, 1],
            "gives the other operand, subnormal inputs flushed",
        ),
        ("LARGER", "FLOAT32", [np.nan, 1], [1e-40, np.nan], [7, 1], NAMELESS),
        ("LARGER", "FLOAT32", [np.nan, 1], [5, np.nan], [0, np.inf], "mixed: gives an infinity and gives 0"),
    ],
)
def test_each_element_may_follow_a_behaviour_of_its_own(
    name: str, data_type: str, a: list[Any], b: list[Any], output: list[Any], wanted: str
) -> None:
    assert named(name, DataType[data_type], a, b, output) == wanted


def test_float16_may_be_computed_in_float32() -> None:
    """In FLOAT16 the difference is rounded before it is squared: of these operands that gives another pattern."""
    tables = load_tables()
    table, operator = (
        tables.operator("DIFFERENCE_SQUARE"),
        without_attributes(tables, "DIFFERENCE_SQUARE", T=DataType.FLOAT16),
    )
    (point,) = [
        silent_point
        for silent_point in silent_points(table, operator)
        if silent_point.clause.id == "difference-square.floating"
    ]
    a, b = np.array([3.0, 1.0009765625], np.float16), np.array([1.0, 3e-4], np.float16)
    step = (a - b) * (a - b)
    wide = a.astype(np.float32) - b.astype(np.float32)
    wide = (wide * wide).astype(np.float16)
    assert (wide != step).any()
    assert explanation(point, {"a": a, "b": b}, step) == "rounds in each step"
    assert explanation(point, {"a": a, "b": b}, wide) == "rounds in each step, in FLOAT32"


def test_a_function_is_recognised_by_how_near_it_is() -> None:
    tables = load_tables()
    table, operator = tables.operator("SIN"), without_attributes(tables, "SIN", T=DataType.FLOAT32)
    (point,) = [
        silent_point for silent_point in silent_points(table, operator) if silent_point.clause.id == "sin.beyond"
    ]
    x = np.array([512.0, 700.5], np.float32)
    right = np.sin(x.astype(np.float64)).astype(np.float32)

    def real(inputs: Any) -> Any:
        return np.sin(inputs["x"].astype(np.float64))

    near = "gives the function's value within 1 ULP"
    assert explanation(point, {"x": x}, right, real) == near
    assert explanation(point, {"x": x}, np.nextafter(right, np.float32(9)), real) == near
    off = right + np.float32(0.001)
    assert explanation(point, {"x": x}, off, real) == "gives values up to 2^-9 from the function's"
    assert explanation(point, {"x": x}, right * np.array([1, 0], np.float32), real) == f"mixed: gives 0 and {near}"
    assert explanation(point, {"x": x}, off) == NAMELESS, "where nothing is known of it"


def test_every_point_that_behaviours_speak_of_is_named() -> None:
    """A point named "counts it as a number" alone would not say which."""
    without = [
        clause.id
        for clause in load_tables().clauses
        if clause.check == "silent" and clause.obligation == "unspecified" and clause.point is None
    ]
    assert not without


def test_points_have_a_subject_and_functions_a_name(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    clauses = "atan-yx.origin,atan-yx.infinity,sign.*"
    behaviours = seen(tmp_path, dmlcts, "cpu", "--operator", "ATAN_YX,SIGN", "--clause", clauses)
    tables = load_tables()
    sentences = {clause: behaviour_text(clause, behaviour, tables) for (clause, _), behaviour in behaviours.items()}
    assert sentences["sign.subnormal"] == "a subnormal: counts it as a number"
    assert sentences["atan-yx.origin"] == "the origin: gives the function's value within 1 ULP"
    assert behaviour_text("tensor.output.padding", "padding is kept", tables) == "padding is kept", "no silent point"
    assert behaviour_text("no.such", "wraps", tables) == "wraps", "of a record of other tables"
    assert not [behaviour for behaviour in behaviours.values() if NAMELESS in behaviour]


@pytest.mark.parametrize(("backend", "word"), [("cpu", "kept"), ("other.py:Flushing", "flushed to zero")])
def test_what_becomes_of_subnormals_of_functions_is_named(
    tmp_path: Path, dmlcts: Callable[..., Any], backend: str, word: str
) -> None:
    behaviours = seen(tmp_path, dmlcts, backend, "--operator", "EXP,LOG", "--clause", "exp.accuracy,log.accuracy")
    assert behaviours == {
        ("exp.accuracy", "FLOAT32"): f"subnormal results are {word}",
        ("log.accuracy", "FLOAT32"): f"subnormal inputs are {word}",
    }


@pytest.mark.parametrize(
    ("backend", "types"),
    [
        ("cpu", {"FLOAT32", "FLOAT16"}),
        ("other.py:Float32Only", {"FLOAT32"}),
    ],
)
def test_only_types_that_the_device_claims_are_reported(
    tmp_path: Path, dmlcts: Callable[..., Any], backend: str, types: set[str]
) -> None:
    clauses = "tensor.*,log.accuracy"
    behaviours = seen(tmp_path, dmlcts, backend, "--operator", "LOG", "--clause", clauses)
    assert {data_type for _, data_type in behaviours} == types


def test_behaviours_of_a_flushing_implementation_have_names(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    clauses = "mean.floating,max.subnormal,min.subnormal,divide.floating,clip-grad.nan,modulus-floor.floating"
    operators = "MEAN,MAX,MIN,DIVIDE,CLIP_GRAD,MODULUS_FLOOR"
    behaviours = seen(tmp_path, dmlcts, "other.py:Flushing", "--operator", operators, "--clause", clauses)
    assert len(behaviours) >= 10
    assert not [behaviour for behaviour in behaviours.values() if NAMELESS in behaviour]
    assert behaviours["mean.floating", "FLOAT32"] == "rounds the sum, then its half, subnormals flushed"
