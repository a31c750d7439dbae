"""The oracles of ADD1 with an activation: they agree, and accept what each reading of the page gives, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, UsageError
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.mutants.approximate import activations
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.activations.fused import ADD1, EXACT, TABLES, TYPES, add_with, every, typed
from dmlcts.suites.selftest.approximation.probing import disagreements

Array = np.ndarray[Any, np.dtype[Any]]
NAMES = [activation.short_name for activation in TABLES.activations.values()]
on_every_activation = pytest.mark.parametrize("name", NAMES)
on_both_types = pytest.mark.parametrize("data_type", TYPES)


def members(values: dict[str, Array]) -> dict[str, Array]:
    return {ADD1.formula_names[name]: array for name, array in values.items()}


def admitted(operator: OperatorDesc, a: float, b: float, output: float, *, strict: bool = False) -> bool:
    kind = operator.output.data_type
    inputs = {"ATensor": typed(kind, a), "BTensor": typed(kind, b)}
    return bool(oracle_of(TABLES, operator, strict=strict).admits(inputs, typed(kind, output))[0])


@pytest.mark.sampled(5)
@on_every_activation
@on_both_types
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.size("thorough", brief=6)
def test_the_oracles_agree(name: str, data_type: DataType, strict: bool) -> None:
    generator = np.random.Generator(np.random.PCG64(5))
    for operator, inputs in every(data_type, name):
        chosen = generator.choice(len(inputs["a"]), 25, replace=False)
        few = {name: np.ascontiguousarray(array[chosen]) for name, array in inputs.items()}
        assert disagreements(TABLES, operator, few, strict=strict) == []


@on_every_activation
@on_both_types
@pytest.mark.parametrize("strict", [False, True])
def test_a_sum_that_is_rounded_before_the_activation_is_right(name: str, data_type: DataType, strict: bool) -> None:
    for operator, inputs in every(data_type, name):
        with np.errstate(all="ignore"):
            output = Reference().compute_exact(operator, [inputs["a"], inputs["b"]])
        wrong = np.flatnonzero(~oracle_of(TABLES, operator, strict=strict).admits(members(inputs), output))
        assert not wrong.size, [(inputs["a"][item], inputs["b"][item], output[item]) for item in wrong[:3]]


@pytest.mark.parametrize("name", EXACT)
@on_both_types
def test_a_sum_that_is_not_rounded_before_the_activation_is_right(name: str, data_type: DataType) -> None:
    """FLOAT16 in FLOAT32, and FLOAT32 in FLOAT64, so that a sum beyond the type comes back into it."""
    wide = np.float32 if data_type is DataType.FLOAT16 else np.float64
    for operator, inputs in every(data_type, name):
        fused = operator.activation
        assert fused is not None
        with np.errstate(all="ignore"):
            total = inputs["a"].astype(wide) + inputs["b"].astype(wide)
            output = Reference().activate(fused, total, []).astype(data_type.numpy)
        wrong = np.flatnonzero(~oracle_of(TABLES, operator, strict=False).admits(members(inputs), output))
        assert not wrong.size, [(inputs["a"][item], inputs["b"][item], output[item]) for item in wrong[:3]]


@on_both_types
def test_a_sum_beyond_the_type_may_come_back_or_not(data_type: DataType) -> None:
    most = float(np.finfo(data_type.numpy).max)
    operator = add_with(data_type, "LINEAR", Alpha=0.25, Beta=0)
    assert admitted(operator, most, most, most / 2)
    assert admitted(operator, most, most, np.inf)
    assert not admitted(operator, most, most, most / 8)
    assert not admitted(operator, most, most, -np.inf)


@on_both_types
def test_the_other_side_of_each_number(data_type: DataType) -> None:
    after = float(np.nextafter(data_type.numpy.type(1), data_type.numpy.type(2)))
    threshold = add_with(data_type, "THRESHOLDED_RELU", Alpha=1)
    assert admitted(threshold, 1, 0, 0)
    assert not admitted(threshold, 1, 0, 1)
    assert admitted(threshold, after, 0, after)
    assert not admitted(threshold, after, 0, 0)
    shrink = add_with(data_type, "SHRINK", Bias=0.25, Threshold=1)
    for sign in (1, -1):
        assert admitted(shrink, sign, 0, 0)
        assert not admitted(shrink, sign, 0, sign * 0.75)
        assert admitted(shrink, 3 * sign, -sign, sign * 1.75)
        assert not admitted(shrink, 3 * sign, -sign, sign * 2.25)
    leaky = add_with(data_type, "LEAKY_RELU", Alpha=0.5)
    assert admitted(leaky, 1, 2, 3)
    assert not admitted(leaky, 1, 2, 1.5)
    assert admitted(leaky, 1, -3, -1)
    assert not admitted(leaky, 1, -3, -2)


@on_both_types
def test_a_choice_by_an_inexact_sum_may_go_either_way(data_type: DataType) -> None:
    """1 and a little more than a half of the distance to the next number: either is a sum."""
    step = float(np.finfo(data_type.numpy).eps)
    threshold = add_with(data_type, "THRESHOLDED_RELU", Alpha=1)
    assert admitted(threshold, 1, 0.75 * step, 1 + step)
    assert admitted(threshold, 1, 0.75 * step, 0)
    assert not admitted(threshold, 1, 0.75 * step, 1 + 2 * step)


def test_shrink_asks_in_either_order_below_a_threshold_of_zero() -> None:
    """Both pages: both conditions hold, and the two give the sides in another order."""
    shrink = add_with(DataType.FLOAT32, "SHRINK", Bias=0.25, Threshold=-2)
    assert admitted(shrink, 1, 0, 0.75)
    assert admitted(shrink, 1, 0, 1.25)
    assert not admitted(shrink, 1, 0, 0)


@on_both_types
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("RELU", {0.0, np.nan}),
        ("IDENTITY", {np.nan}),
        ("LEAKY_RELU", {np.nan}),
        ("THRESHOLDED_RELU", {0.0, np.nan}),
        ("HARD_SIGMOID", {0.0, 1.0, np.nan}),
        ("LINEAR", {np.nan}),
        ("SHRINK", {0.0, np.nan}),
    ],
)
def test_what_a_sum_that_is_no_number_may_give(data_type: DataType, name: str, values: set[float]) -> None:
    numbers = TABLES.activations[f"ACTIVATION_{name}"].number_sets[0]
    operator = add_with(data_type, name, **numbers)
    for output in (0.0, 1.0, np.nan, np.inf, 2.0):
        wanted = any(output == value or (np.isnan(output) and np.isnan(value)) for value in values)
        assert admitted(operator, np.inf, -np.inf, output) == wanted, output


def _inside(low: float, high: float) -> Callable[[float], bool]:
    return lambda output: low <= output <= high


@on_both_types
@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("SIGMOID", _inside(-0.02, 1.02)),
        ("TANH", _inside(-1.02, 1.02)),
        ("SOFTSIGN", _inside(-1.02, 1.02)),
    ],
)
def test_the_wide_bounds_keep_the_range_of_a_function(
    data_type: DataType, name: str, allowed: Callable[[float], bool]
) -> None:
    operator = add_with(data_type, name)
    for total in (-50.0, -3.0, -0.5, 0.0, 0.5, 3.0, 50.0):
        for output in (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0):
            assert allowed(output) or not admitted(operator, total, 0, output), (total, output)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mutant", activations.ROWS)
def test_the_oracle_refuses_every_mutant(mutant: str) -> None:
    device = getattr(activations, mutant)()
    for data_type in TYPES:
        refused = 0
        for operator, inputs in every(data_type, device.activation):
            with np.errstate(all="ignore"):
                output = device.compute_exact(operator, [inputs["a"], inputs["b"]])
            refused += np.count_nonzero(~oracle_of(TABLES, operator, strict=False).admits(members(inputs), output))
        assert refused, data_type


def test_what_no_table_has_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="ADD1 cannot be given ACTIVATION_SWISH; known activations: LINEAR"):
        TABLES.fused(add_with(DataType.FLOAT32, "SWISH"))
    add = TABLES.operator("ADD")
    fused = add_with(DataType.FLOAT32, "RELU")
    with pytest.raises(UsageError, match="ADD cannot be given ACTIVATION_RELU"):
        TABLES.fused(OperatorDesc(add.operator, fused.tensors, dict(fused.attributes)))


def test_without_an_activation_nothing_of_them_is_left_open() -> None:
    """What clauses on activations leave open acts where one is fused, and nowhere else."""
    open_with = TABLES.fused(add_with(DataType.FLOAT32, "RELU"))[0].latitudes(DataType.FLOAT32, strict=False)
    open_without = TABLES.law(ADD1).latitudes(DataType.FLOAT32, strict=False)
    assert {"nan", "wider-activation"} <= open_with
    assert not {"nan", "wider-activation", "inexact-threshold"} & open_without
