"""A value that is wrong for many inputs is shown at an ordinary one, with the range of those that are wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.faults import Faults
from dmlcts.suites.attribution.inputs import WRONG_FOR
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.bases import Bindings
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference


def bench(backend: Reference) -> Bench:
    return Bench("x", backend, {}, load_tables())


def wrong_where(chosen: Callable[[Array], Array]) -> Reference:
    """TANH gives NaN for chosen inputs."""

    class Wrong(Reference):
        level = LEVEL

        def dispatch_exact(
            self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings
        ) -> None:
            super().dispatch_exact(operator, table, memory, bindings)
            x = self.read(memory, bindings["InputTensor"], operator.input)
            y = self.read(memory, bindings["OutputTensor"], operator.output)
            wrong = np.where(chosen(x), y.dtype.type(np.nan), y)
            self.write(memory, bindings["OutputTensor"], operator.output, wrong)

    return Wrong()


def tanh(values: list[float], data_type: DataType = DataType.FLOAT32) -> Case:
    tensor = TensorDesc(data_type, (len(values),))
    operator = OperatorDesc("ELEMENT_WISE_TANH", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None})
    return Case(operator, Values.of(values, data_type), "tanh.accuracy")


def reported(chosen: Callable[[Array], Array], values: list[float], data_type: DataType = DataType.FLOAT32) -> Finding:
    on = bench(wrong_where(chosen))
    return Faults(on).reported(judge_case(on, tanh(values, data_type)).findings[0])


@pytest.mark.parametrize(
    "chosen, values, title, text",
    [
        (lambda x: x > 45, [1, np.inf], "input 64.0 gives NaN", "x >= 45.000004"),
        (lambda x: x >= 45, [1, 50], "input 64.0 gives NaN", "x >= 45.0"),
        (lambda x: x < -45, [1, -np.inf], "input -64.0 gives NaN", "x <= -45.000004"),
        (lambda x: np.abs(x) >= 45, [1, np.inf], "input 64.0 gives NaN", "x <= -45.0 or x >= 45.0"),
        (lambda x: (x >= 2) & (x < 3), [1, 2.75], "input 2.0 gives NaN", "2.0 <= x <= 2.9999998"),
        (lambda x: np.isposinf(x), [1, np.inf], "input inf gives NaN", "x = inf"),
        (lambda x: x == x, [1, 2], "input 0.5 gives NaN", "every x"),
    ],
)
def test_an_ordinary_input_is_shown_with_the_range(
    chosen: Callable[[Array], Array], values: list[float], title: str, text: str
) -> None:
    finding = reported(chosen, values)
    assert (finding.clause, finding.title) == ("tanh.accuracy", title)
    words = dict(finding.details)[WRONG_FOR].rsplit(", ", 1) if text != "every x" else ["every x", "values"]
    assert words[0].startswith(text) and words[1].endswith("values")  # noqa: PT018  # one sentence
    assert ("inputs" in finding.needs) == (title == "input inf gives NaN")


def test_no_range_is_stated_where_right_values_lie_inside_it() -> None:
    finding = reported(lambda x: (x > 45) & (np.floor(x) % 2 == 0) & (x < 200), [1, 64])
    text = dict(finding.details)[WRONG_FOR]
    assert " values between " in text
    assert ">=" not in text


def test_wrong_values_that_are_all_halves_are_called_so() -> None:
    halves = reported(lambda x: (np.abs(x) < 31) & (np.abs(x - np.trunc(x)) == 0.5), [0.25, 1.5])
    assert dict(halves.details)[WRONG_FOR].endswith(", each halfway between two integers")
    others = reported(lambda x: (np.abs(x) < 31) & (np.abs(x - np.trunc(x)) >= 0.5), [0.25, 1.5])
    assert "halfway" not in dict(others.details)[WRONG_FOR]


def test_a_range_is_found_once_and_known_values_cost_no_further_case() -> None:
    on = bench(wrong_where(lambda x: x > 45))
    faults = Faults(on)
    first = faults.reported(judge_case(on, tanh([1, np.inf])).findings[0])
    again = faults.reported(judge_case(on, tanh([1, 2, 1e30])).findings[0])
    assert again is first
    half = faults.reported(judge_case(on, tanh([1, np.inf], DataType.FLOAT16)).findings[0])
    assert dict(half.details)[WRONG_FOR].startswith("x >= 45.03")
    other = bench(wrong_where(lambda x: (x > 45) | (x == 2)))
    faults = Faults(other)
    shown = [faults.reported(judge_case(other, tanh([1, item])).findings[0]).title for item in (np.inf, 2)]
    assert shown[1] == "input 2.0 gives NaN", "the control: outside the range"
