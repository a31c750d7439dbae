"""Ordinary values that distinguish places: how far they reach, how many are small, zero, alike, infinite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array, Streams
from dmlcts.suites.generation import distinct, distinguishing_values

COUNT = 6000
FLOATS = [DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT64]
INTEGERS = [DataType.INT8, DataType.UINT8, DataType.INT32, DataType.UINT32, DataType.INT64, DataType.UINT64]


def generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(5))


class Scripted:
    """A generator that draws what is set."""

    def __init__(self, *drawn: Sequence[int] | Array) -> None:
        self.drawn = list(drawn)

    def integers(self, *_: Any, **__: Any) -> Array:
        """The next numbers."""
        return np.asarray(self.drawn.pop(0))


@pytest.mark.parametrize("data_type", FLOATS)
def test_floats_are_quarters_up_to_3000_and_every_eighth_is_within_8_of_zero(data_type: DataType) -> None:
    values = distinct.of_type(data_type, COUNT, generator())
    wide = values.astype(np.float64)
    assert values.dtype == data_type.numpy
    if data_type is not DataType.FLOAT16:  # whose large numbers are no quarters
        assert (wide * 4 == np.round(wide * 4)).all()
        assert len({float(item) % 1 for item in wide}) == 4
    assert -3000 <= wide.min() < -2900
    assert 2900 < wide.max() <= 3000
    assert 0.1 < (np.abs(wide) <= 8).mean() < 0.16


@pytest.mark.parametrize("data_type", FLOATS)
def test_small_floats_are_all_quarters_from_minus_8_to_8(data_type: DataType) -> None:
    scripted: Any = Scripted(np.zeros(200, int), np.arange(-100, 100))
    assert set(distinct.of_type(data_type, 200, scripted).tolist()) == {number / 4 for number in range(-32, 33)}


@pytest.mark.parametrize("data_type", INTEGERS)
def test_integers_take_the_whole_range_and_every_eighth_is_small(data_type: DataType) -> None:
    values, limits = distinct.of_type(data_type, COUNT, generator()), np.iinfo(data_type.numpy)
    span = int(limits.max) - int(limits.min)
    assert values.dtype == data_type.numpy
    assert int(values.min()) < int(limits.min) + span // 100 + 1
    assert int(values.max()) > int(limits.max) - span // 100 - 1
    if span < 256:
        assert (values.min(), values.max()) == (limits.min, limits.max)
    low, high = (-8, 8) if limits.min < 0 else (0, 16)
    share = ((values >= low) & (values <= high)).mean()
    assert 0.1 < share - 17 / (span + 1) < 0.15


@pytest.mark.parametrize("data_type", INTEGERS)
def test_small_integers_are_seventeen_with_zero_among_them(data_type: DataType) -> None:
    drawn = np.arange(100).astype(data_type.numpy)
    scripted: Any = Scripted(np.zeros(100, int), drawn)
    low = -8 if np.iinfo(data_type.numpy).min < 0 else 0
    assert set(distinct.of_type(data_type, 100, scripted).tolist()) == set(range(low, low + 17))


def test_every_twelfth_integer_or_so_becomes_zero_and_no_other_changes() -> None:
    arange = np.arange(1, COUNT + 1)
    values = distinct.with_zeros(arange, generator())
    assert 1 / 15 < (values == 0).mean() < 1 / 9
    assert ((values == arange) | (values == 0)).all()
    assert values.dtype == arange.dtype


def test_two_inputs_of_one_type_are_alike_zero_and_near_zero_at_some_places() -> None:
    kinds = {"a": DataType.FLOAT32, "b": DataType.FLOAT32}
    a, b = distinct.together(kinds, COUNT, generator(), DataType.FLOAT32).values()
    assert 0.2 < (a == b).mean() < 0.5
    for values in (a, b):
        assert 0.08 < (values == 0).mean() < 0.16
        assert 0.09 < ((np.abs(values) < 1) & (values != 0)).mean() < 0.16
    near = (np.abs(a) < 1) & (np.abs(b) < 1)
    assert 0.1 < near.mean() < 0.2
    assert ((a < 0) & (a > -1)).any()
    assert np.isfinite(a).all()
    assert np.isfinite(b).all()


@pytest.mark.parametrize("data_type", [DataType.UINT32, DataType.UINT64])
def test_a_second_integer_is_sometimes_one_that_bits_are_shifted_by(data_type: DataType) -> None:
    _, b = distinct.together({"a": data_type, "b": data_type}, COUNT, generator(), data_type).values()
    bits = 8 * data_type.itemsize
    assert set(range(1, bits)) <= set(b.tolist())
    assert not ((b >= bits) & (b < 2 * bits)).any()


@pytest.mark.parametrize("data_type", [DataType.INT32, DataType.UINT8])
def test_integers_near_zero_are_one_two_and_three(data_type: DataType) -> None:
    near_zero = distinct._near_zero(np.dtype(data_type.numpy), COUNT, generator())
    assert (near_zero.dtype, set(near_zero.tolist())) == (data_type.numpy, {1, 2, 3})


def test_floats_near_zero_are_within_one_of_it() -> None:
    near_zero = distinct._near_zero(np.dtype(np.float16), COUNT, generator())
    assert set(near_zero.astype(float).tolist()) == {number / 64 for number in range(-63, 64)}


@pytest.mark.parametrize("output, special", [(DataType.UINT8, True), (DataType.FLOAT32, False)])
def test_one_float_that_gives_another_type_is_sometimes_nan_or_infinite_with_either_sign(
    output: DataType, special: bool
) -> None:
    (values,) = distinct.together({"x": DataType.FLOAT32}, COUNT, generator(), output).values()
    for item in (np.isnan(values), values == np.inf, values == -np.inf):
        assert bool(item.mean() > 0.05) is special
        assert bool(item.any()) is special


def test_zeros_and_subnormals_become_ones() -> None:
    tiny = np.finfo(np.float32).smallest_normal
    values = np.array([0, -0.0, tiny / 2, -tiny / 2, tiny, -tiny, 5, np.inf], np.float32)
    assert distinct.without_zero(values).tolist() == [1, 1, 1, 1, tiny, -tiny, 5, np.inf]
    assert distinct.without_zero(np.array([0, 1, -3], np.int8)).tolist() == [1, 1, -3]


def test_a_scale_divides_exactly_and_brings_values_down_to_eight_bits() -> None:
    singles = distinct.singles({"ScaleTensor": DataType.FLOAT16, "ZeroPointTensor": DataType.UINT8})
    (scale,), (zero_point,) = singles["ScaleTensor"], singles["ZeroPointTensor"]
    assert np.frexp(scale)[0] == 0.5
    assert 3000 / 127 < scale < 3000 / 60
    assert 0 < zero_point < 8
    assert [values.dtype for values in singles.values()] == [np.float16, np.uint8]


def test_the_middle_third_is_turned() -> None:
    assert distinct.middle_reversed(np.arange(9)).tolist() == [0, 1, 2, 5, 4, 3, 6, 7, 8]
    assert distinct.middle_reversed(np.arange(5)).tolist() == [0, 3, 2, 1, 4]


def test_what_distinguishes_an_input_is_where_the_result_is_not_what_it_holds() -> None:
    a, b = np.array([1, 2, 3]), np.array([1, 5, 3])
    assert [values.tolist() for values in distinct.distinguishing({"a": a, "b": b}, np.array([1, 5, 4]))] == [
        [1, 2],
        [2],
    ]
    assert [values.tolist() for values in distinct.distinguishing({"a": a, "b": b}, b)] == [[1]]
    assert [values.tolist() for values in distinct.distinguishing({"a": a, "b": a}, a)] == [[0, 1, 2]]


def changed(output: Sequence[int], **arrays: Sequence[int]) -> list[dict[str, list[int]]]:
    """What stands in the inputs of an operator that gave ``output``, dispatch after dispatch."""
    tensor = TensorDesc(DataType.INT8, (len(output),))
    kind = "MAX" if len(arrays) > 1 else "ABS"
    operator = OperatorDesc(f"ELEMENT_WISE_{kind}", dict.fromkeys([*arrays, "OutputTensor"], tensor), {})
    case = Case(operator, Streams.of(arrays, operator), "tensor.position")
    return [
        {name: values.array(len(output)).tolist() for name, values in state.items()}
        for state in distinct.little_changed(case, np.array(output))
    ]


UP, DOWN = [1, 2, 3, 4, 5, 6], [9, 8, 7, 6, 5, 4]


def test_then_one_element_changes_to_that_of_another_result() -> None:
    assert changed([1, 2, 3, 4, 5, 6], InputTensor=UP) == [
        {"InputTensor": UP},
        {"InputTensor": [1, 2, 3, 3, 5, 6]},  # of the five places whose results differ, the middle one
    ]
    assert changed([4, 4, 4, 4, 4, 6], InputTensor=UP)[1] == {"InputTensor": [1, 2, 3, 6, 5, 6]}
    assert changed([4, 4, 4, 4, 4, 4], InputTensor=UP) == [{"InputTensor": UP}], "where results are alike there is none"


def test_then_the_middle_of_each_of_several_inputs_is_turned() -> None:
    left, right = [1, 2, 4, 3, 5, 6], [9, 8, 6, 7, 5, 4]
    assert changed([4] * 6, ATensor=UP, BTensor=DOWN) == [
        {"ATensor": UP, "BTensor": DOWN},
        {"ATensor": left, "BTensor": DOWN},
        {"ATensor": left, "BTensor": right},
    ]
    assert changed([1, 4, 4, 4, 4, 4], ATensor=UP, BTensor=DOWN) == [
        {"ATensor": UP, "BTensor": DOWN},
        {"ATensor": [1, 2, 3, 1, 5, 6], "BTensor": [9, 8, 7, 9, 5, 4]},  # of both inputs the same place
        {"ATensor": [1, 2, 1, 3, 5, 6], "BTensor": [9, 8, 7, 9, 5, 4]},
        {"ATensor": [1, 2, 1, 3, 5, 6], "BTensor": [9, 8, 9, 7, 5, 4]},
    ]


@pytest.mark.parametrize("place", [0, 1])
def test_each_distinguishing_number_has_a_turn_beside_itself_and_its_multiples(place: int) -> None:
    for data_type in (DataType.INT32, DataType.INT8, DataType.FLOAT32):
        rows = distinguishing_values.beside((data_type, data_type), place)
        own, partners = rows[place], rows[1 - place]
        assert all(np.unique(row).size == 1 for row in own if not np.isnan(row[0]))
        (turn,) = np.flatnonzero(own[:, 0] == 49)[:1]
        assert {49, 98, 0, 1} <= set(partners[turn].tolist())
    small = distinguishing_values.turns(DataType.FLOAT32)
    assert ((small > -1e-8) & (small < -1e-12)).any()


def test_an_only_input_holds_ties_both_sides_of_seams_and_nan_on_demand() -> None:
    for data_type in FLOATS:
        alone = distinguishing_values.alone(data_type)
        half_pi = data_type.numpy.type(np.pi / 2)
        assert not np.isnan(alone).any()
        assert np.isnan(distinguishing_values.alone(data_type, nan=True)).any()
        if data_type is not DataType.FLOAT64:  # of which a part is taken
            below = np.nextafter(half_pi, data_type.numpy.type(0))
            assert {0.5, -2.5, float(half_pi), float(below)} <= set(alone.tolist())
    assert np.unique(distinguishing_values.alone(DataType.INT8)).size == 256
    above = float(np.nextafter(np.float32(6), np.float32(7)))
    assert {6.0, above} <= set(distinguishing_values.alone(DataType.FLOAT32, (6.0,)).tolist())


def test_what_one_input_holds_for_all_is_one_number_a_case_and_each_once() -> None:
    for_all_beside = distinguishing_values.for_all_beside((DataType.INT16, DataType.INT16), 1, (), 128)
    assert all(len(values.array(2)) == 2 and len(set(values.array(2).tolist())) == 1 for _, values in for_all_beside)
    assert (
        len({int(values.array(1)[0]) for _, values in for_all_beside})
        == len(for_all_beside)
        == distinguishing_values.TURNS
    )
