"""What an acceptance admits, and what lies one bit beside it: payloads of NaNs, intervals of numbers, and zeros."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.oracle.outcome import (
    INFINITIES,
    Acceptable,
    Acceptance,
    Unconstrained,
    is_nan,
    order_of,
    payload_bits,
)

FLOATING = [data_type for data_type in DataType if data_type.is_floating]
QUIET = {DataType.FLOAT16: 9, DataType.FLOAT32: 22, DataType.FLOAT64: 51}


def bits_of(data_type: DataType) -> range:
    return range(8 * data_type.itemsize)


@pytest.mark.parametrize("data_type", FLOATING)
def test_a_payload_is_every_bit_of_the_significand_but_the_quiet_one(data_type: DataType) -> None:
    assert payload_bits(data_type) == (1 << QUIET[data_type]) - 1


@pytest.mark.parametrize("data_type", FLOATING)
def test_a_nan_that_must_keep_its_payload_may_change_its_sign_and_its_quiet_bit_alone(data_type: DataType) -> None:
    """IEEE 754, 6.2.3: the payload is kept; neither the sign nor whether it signals is part of it."""
    number = INFINITIES[data_type] | (1 << QUIET[data_type]) | 5
    answer = Acceptable(frozenset(), any_nan=True, payload=number)
    free = {QUIET[data_type], 8 * data_type.itemsize - 1}
    significand = [bit for bit in bits_of(data_type) if not INFINITIES[data_type] >> bit & 1]
    assert answer.admits(number, data_type)
    assert {bit for bit in significand if answer.admits(number ^ 1 << bit, data_type)} == free
    array = np.array([number], data_type.bits_dtype).view(data_type.numpy)
    together = Acceptance(data_type, (array,), None, strict=True, payloads=array)
    changed = np.array([number ^ 1 << bit for bit in significand], data_type.bits_dtype).view(data_type.numpy)
    admitted = [bool(together.admits(changed[place : place + 1])[0]) for place in range(changed.size)]
    assert {bit for bit, right in zip(significand, admitted, strict=True) if right} == free


@pytest.mark.parametrize("data_type", FLOATING)
def test_a_payload_is_kept_of_nans_alone_from_the_first_to_the_last(data_type: DataType) -> None:
    """What comes of an infinity (times zero, say) may be any NaN; the first pattern beyond infinity has a payload."""
    infinite = INFINITIES[data_type]
    last = (1 << 8 * data_type.itemsize - 1) - 1
    numbers = [infinite, infinite + 1, infinite + 2, last]
    inputs = np.array(numbers, data_type.bits_dtype).view(data_type.numpy)
    nans = np.full(len(numbers), np.nan, data_type.numpy)
    together = Acceptance(data_type, (nans,), None, strict=True, payloads=inputs)
    assert [element.payload for element in together.elements()] == [None, *numbers[1:]]


@pytest.mark.parametrize("data_type", FLOATING)
def test_a_number_where_a_payload_is_to_be_kept_is_refused(data_type: DataType) -> None:
    nan, values = np.full(1, np.nan, data_type.numpy), np.ones(1, data_type.numpy)
    together = Acceptance(data_type, (nan,), None, strict=True, payloads=nan)
    assert together.admits(nan).all()
    assert not together.admits(values).any()


@pytest.mark.parametrize("data_type", FLOATING)
def test_the_first_pattern_beyond_infinity_is_a_nan(data_type: DataType) -> None:
    sign = 1 << 8 * data_type.itemsize - 1
    for beyond in (1, 2, 3):
        assert is_nan(INFINITIES[data_type] + beyond, data_type)
        assert is_nan(INFINITIES[data_type] + beyond | sign, data_type)
    assert not is_nan(INFINITIES[data_type], data_type)
    assert not is_nan(INFINITIES[data_type] | sign, data_type)


def test_no_integer_is_a_nan() -> None:
    assert not any(is_nan(0xFFFF, data_type) for data_type in DataType if not data_type.is_floating)


@pytest.mark.parametrize("data_type", FLOATING)
def test_an_interval_up_to_the_infinities_holds_every_number_and_no_nan(data_type: DataType) -> None:
    sign, infinite = 1 << 8 * data_type.itemsize - 1, INFINITIES[data_type]
    answer = Acceptable(frozenset(), intervals=frozenset({(infinite | sign, infinite)}))
    for pattern in (0, sign, 1, sign | 1, infinite - 1, infinite, infinite | sign):
        assert answer.admits(pattern, data_type)
    for pattern in (infinite + 1, infinite + 1 | sign, 2 * sign - 1, sign - 1):
        assert not answer.admits(pattern, data_type)


@pytest.mark.parametrize(
    "data_type, low, high",
    [
        (DataType.INT8, -3, 2),
        (DataType.UINT8, 0, 3),
        (DataType.UINT64, 1, 2**63 + 1),
        (DataType.INT64, -(2**63), -1),
    ],
)
def test_an_interval_of_integers_ends_where_it_states(data_type: DataType, low: int, high: int) -> None:
    whole = 1 << 8 * data_type.itemsize
    answer = Acceptable(frozenset(), intervals=frozenset({(low % whole, high % whole)}))
    assert order_of(low % whole, data_type) == low
    for number, right in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
        assert answer.admits(number % whole, data_type) == right


def test_what_nothing_follows_from_is_stated_with_its_cause() -> None:
    error = Unconstrained("Min = nan has no INT8 value that the pages fix")
    assert str(error) == "no acceptance follows from the pages: Min = nan has no INT8 value that the pages fix"
    assert error.cause == "Min = nan has no INT8 value that the pages fix"
