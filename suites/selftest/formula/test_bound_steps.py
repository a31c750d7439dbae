"""Bounds as lists of steps give what the expression says, also where evaluations share what does not change."""

import numpy as np
import pytest

from dmlcts.specs.approximation.rules import NAMES
from dmlcts.specs.approximation.steps import Steps, steps_of
from dmlcts.specs.formula import Call, Name, Number, parse
from dmlcts.specs.functions import FUNCTIONS


def _plainly(expression, names):
    """The expression's value, every part of it found where it stands."""
    if isinstance(expression, Name):
        return names[expression.name]
    if isinstance(expression, Number):
        return np.asarray(expression.value, np.float64)
    operands = [_plainly(part, names) for part in expression.arguments]
    arrays = FUNCTIONS[expression.function].arrays if expression.function != "select" else None
    function = np.where if arrays is None else arrays.truth or arrays.compared or arrays.real or arrays.ufunc
    return function(*operands)


def _names(seed, results):
    values = np.random.default_rng(seed).normal(size=(3, 40)) * 10.0 ** np.arange(-20, 20)
    values[:, :4] = [[0.0, -0.0, np.inf, np.nan], [1.0, -1.0, 2.0, 0.5], [0.0, 3.0, np.inf, np.nan]]
    return {"x": values[0], "y": values[1], "t": values[2] * results, "ulp": np.abs(values[2]) * 2.0**-23}


TEXTS = ["x + y", "abs(t) * 2 + 2 * ulp", "exp(x) * t + exp(x)", "(t if x > 0 else y) + 2 * ulp", "ulp", "t", "3"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_shared_values_do_not_change_what_comes_out(text):
    expression, known = parse(text, NAMES), {}
    for results in (1.0, -3.0, 0.25):
        names = _names(1, results)
        wanted = np.asarray(_plainly(expression, names))
        for result in (Steps(expression).value(names), steps_of(expression).value(names, known)):
            assert np.asarray(result).tobytes() == wanted.tobytes()


def test_zeros_of_both_signs_are_two_numbers():
    both = Call("divide", (Number(1.0), Number(-0.0)))
    sum_ = Call("min", (both, Call("divide", (Number(1.0), Number(0.0)))))
    with np.errstate(divide="ignore"):
        assert Steps(sum_).value({}) == -np.inf


def test_what_is_shared_is_of_the_arguments_alone():
    """Shared values of other arguments would go unnoticed: the results show that they were taken."""
    expression, known = parse("x + t", NAMES), {}
    steps = steps_of(expression)
    assert steps.value({"x": np.ones(1), "t": np.ones(1), "ulp": np.ones(1)}, known) == 2
    assert steps.value({"x": np.ones(1), "t": np.full(1, 5.0), "ulp": np.ones(1)}, known) == 6
