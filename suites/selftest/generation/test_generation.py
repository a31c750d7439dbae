"""The generators make what they promise: the ties, neighbours and limits that random values never find."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.specs import DataType, FeatureLevel, TensorDesc
from dmlcts.specs.description_data import DataReader
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, elements
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values, simplicity
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn.draws import case_of
from dmlcts.suites.generation.drawn.layouts import Form, Kinds, layouts, sizes, strides
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TYPES = [data_type for data_type in DataType if data_type is not DataType.FLOAT64]
FLOATS = [DataType.FLOAT32, DataType.FLOAT16]
INTEGERS = [data_type for data_type in TYPES if not data_type.is_floating]
named = pytest.mark.parametrize


def subject(name: str, data_type: DataType, level: str = "5.0") -> Subject:
    return Subject.on(load_tables().operator(name), data_type, FeatureLevel(level), 0, profile=QUICK)


def holds(values: np.ndarray, *wanted: float) -> bool:
    return all((values == np.asarray(value).astype(values.dtype)).any() for value in wanted)


def test_float32_inputs_hold_the_famous_values() -> None:
    values = edge_values.inputs(DataType.FLOAT32)
    assert holds(values, 0.49999997, 0.50000006, 8388608, 8388609, 8388607.5, 2.0**-149, -np.inf, np.finfo("f4").max)
    assert np.signbit(values[values == 0]).any()
    assert not np.signbit(values[values == 0]).all()
    assert not np.isnan(values).any()


@named("data_type", INTEGERS)
def test_integer_inputs_hold_the_limits_and_powers_of_two(data_type: DataType) -> None:
    values = edge_values.inputs(data_type).tolist()
    limits = np.iinfo(data_type.numpy)
    assert {int(limits.min), int(limits.max), int(limits.max) - 1, 0, 1, 63, 64, 65} <= set(values)
    assert len(values) == len(set(values))


@named("data_type", FLOATS)
def test_ties_are_ties_and_reach_every_exponent_that_has_them(data_type: DataType) -> None:
    ties = edge_values.ties(data_type).astype(np.float64)
    assert (np.abs(ties) % 1 == 0.5).all()
    exponents = {math.frexp(abs(value))[1] for value in ties}
    assert exponents == set(range(np.finfo(data_type.numpy).nmant + 1))
    assert (np.sort(ties) == np.sort(-ties)).all()


@named("data_type", FLOATS)
def test_near_ties_are_one_ulp_away(data_type: DataType) -> None:
    near = edge_values.near_ties(data_type)
    assert not (np.abs(near.astype(np.float64)) % 1 == 0.5).any()
    assert holds(near, np.nextafter(data_type.numpy.type(0.5), data_type.numpy.type(0)))


@named("data_type", FLOATS)
def test_integers_are_integers_up_to_the_largest(data_type: DataType) -> None:
    whole = edge_values.integers(data_type)
    assert (np.rint(whole) == whole).all()
    odd = 2 ** np.finfo(data_type.numpy).nmant + 1
    assert holds(whole, odd, -odd, float(np.finfo(data_type.numpy).max))


@named("data_type", TYPES)
def test_bounds_are_representable_and_ordered(data_type: DataType) -> None:
    for low, high in edge_values.bounds(data_type):
        assert low <= high
        for bound in (low, high):
            if data_type.is_floating:
                assert float(data_type.numpy.type(bound)) == float(bound)
            else:
                limits = np.iinfo(data_type.numpy)
                assert int(limits.min) <= int(bound) <= int(limits.max)
                assert float(bound).is_integer()
    assert all(low > high for low, high in edge_values.inverted_bounds(data_type))
    assert all(low == high for low, high in edge_values.equal_bounds(data_type))


@named("data_type", TYPES)
def test_usual_bounds_are_of_the_type_and_of_float_where_they_have_to_be(data_type: DataType) -> None:
    for low, high in edge_values.usual_bounds(data_type, as_float=True):
        assert low < high
        for bound in (low, high):
            assert np.array(bound, data_type.numpy) == bound
            assert int(np.float32(bound)) == int(bound) if np.isfinite(bound) else data_type.is_floating
    highest = np.inf if data_type.is_floating else np.iinfo(data_type.numpy).max
    assert (0, highest) in edge_values.usual_bounds(data_type, as_float=False)


@named("data_type", FLOATS)
def test_nans_are_nans_of_both_kinds_and_signs(data_type: DataType) -> None:
    values = edge_values.nans(data_type)
    assert np.isnan(values).all()
    quiet = 1 << (np.finfo(data_type.numpy).nmant - 1)
    bits = values.view(data_type.bits_dtype)
    assert {bool(pattern & quiet) for pattern in bits.tolist()} == {True, False}
    assert {bool(value) for value in np.signbit(values)} == {True, False}
    payloads = {pattern & (2 * quiet - 1) for pattern in bits.tolist()}
    assert payloads >= {1 << bit for bit in range(quiet.bit_length())}, "a NaN may be looked for in some bits alone"


@named("data_type", TYPES)
def test_values_of_a_kind_are_of_that_kind(data_type: DataType) -> None:
    kinds = edge_values.kinds(data_type)
    assert all(values.dtype == data_type.numpy and values.size for values in kinds.values())
    assert (kinds["zero"] == 0).all()
    assert (kinds["small"] > 0).all()
    if data_type.is_floating:
        assert np.isnan(kinds["NaN"]).all()
        assert np.isinf(kinds["infinite"]).all()
        assert (kinds["large and negative"] < -4095).all()
        smallest = np.finfo(data_type.numpy).smallest_normal
        assert all((size < smallest) and size for size in np.abs(kinds["subnormal"]).tolist())
    else:
        limits = np.iinfo(data_type.numpy)
        assert kinds["greatest"].max() == limits.max
        assert data_type.is_signed == ("least" in kinds) == ("negative" in kinds)
        assert kinds.get("least", np.array([limits.min])).min() == limits.min


def test_overlapping_inputs_hold_what_is_stored_last() -> None:
    """Each begins 16 bytes behind the one before, in its region; the output stands apart from all of them."""
    item = subject("ADD", DataType.FLOAT32)
    operator = item.describe((1, 1, 1, 9), item.attributes())
    streams = Streams.of({"ATensor": np.arange(9), "BTensor": np.arange(9) + 100}, operator)
    case = Case(operator, streams, "add.accuracy", placement=Placement(overlapping=True))
    arena = Arena.prepare(case)
    first, second, output = (arena.bindings[name] for name in operator.tensors)
    assert second.offset == first.offset + 16 < first.end < second.end <= output.offset
    assert arena.inputs["ATensor"].tolist() == [0, 1, 2, 3, 100, 101, 102, 103, 104]
    assert arena.inputs["BTensor"].tolist() == list(range(100, 109))
    apart = Arena.prepare(replace(case, placement=Placement()))
    assert apart.inputs["ATensor"].tolist() == list(range(9))
    assert Placement.from_json(DataReader(case.placement.to_json(), "placement")) == case.placement


@named("data_type", TYPES)
def test_the_beginning_of_a_bulk_stream_is_the_same_whatever_its_length_and_whoever_changed_it(
    data_type: DataType,
) -> None:
    """What is kept of a stream is nobody's to change."""
    stream = Values.bulk(data_type, 3)
    whole = stream.array(300_000)  # more than is kept
    for count in (1, 7, 1023, 1024, 1025, 5000, 1 << 18):
        values = stream.array(count)
        assert values.tobytes() == whole[:count].tobytes()
        values[...] = 1
        assert stream.array(count).tobytes() == whole[:count].tobytes()


@named("data_type", TYPES)
def test_bulk_values_repeat_with_their_seed_and_cover_the_range(data_type: DataType) -> None:
    values = Values.bulk(data_type, 3).array(10_000)
    assert (values == Values.bulk(data_type, 3).array(10_000)).all()
    assert (values[:100] == Values.bulk(data_type, 3).array(100)).all()
    assert (values != Values.bulk(data_type, 4).array(10_000)).any()
    if data_type.is_floating:
        magnitudes = np.abs(values.astype(np.float64))
        assert np.isfinite(values).all()
        assert (magnitudes >= float(np.finfo(data_type.numpy).smallest_normal)).all()
        exponents = np.finfo(data_type.numpy).maxexp - np.finfo(data_type.numpy).minexp
        assert len({math.frexp(value)[1] for value in magnitudes.tolist()}) >= exponents - 1
    else:
        assert int(values.max()) > np.iinfo(data_type.numpy).max // 4 * 3


def test_an_explicit_stream_repeats() -> None:
    assert Values.of([1, 2, 3], DataType.INT8).array(7).tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert Values.of([1, 2, 3], DataType.INT8).array(2).tolist() == [1, 2]


def test_simple_values_come_first() -> None:
    values = np.array([1.7182818, 0.5, -0.5, 8388609.0, 1.0, 0.49999997, np.nan], np.float32)
    order = values[np.argsort(simplicity(values), kind="stable")]
    assert order[0] in (1.0, 0.5)
    assert np.isnan(order[-1])
    assert order.tolist().index(0.5) < order.tolist().index(-0.5) < order.tolist().index(np.float32(0.49999997))


@given(data=st.data())
def test_drawn_strides_never_overlap(data: st.DataObject) -> None:
    shape = data.draw(sizes((1, 2, 3, 4, 8)))
    tensor = TensorDesc(DataType.INT32, shape, data.draw(strides(shape, padded=True, permuted=True)))
    memory = np.zeros(tensor.total_size_in_bytes, np.uint8)
    from dmlcts.specs import Region

    elements(memory, Region(0, memory.size), tensor)[...] = 1
    assert np.count_nonzero(memory.view(np.int32)) == tensor.element_count


@named("level, ranks", [("1.0", (4,)), ("2.1", (4,)), ("3.0", tuple(range(1, 9)))])
def test_ranks_are_those_that_the_level_obliges(level: str, ranks: tuple[int, ...]) -> None:
    item = subject("CLIP", DataType.FLOAT32, level)
    assert item.ranks == ranks
    assert math.prod(item.flat(5)) == 5
    assert len(item.flat(5)) == ranks[0]


@given(data=st.data())
def test_drawn_cases_are_such_as_an_implementation_must_take(data: st.DataObject) -> None:
    from dmlcts.specs.rules import violations

    data_type = data.draw(st.sampled_from(TYPES))
    level = data.draw(st.sampled_from(["2.1", "5.0"] if data_type.itemsize < 8 else ["5.0"]))
    item = subject("CLIP", data_type, level)
    layout = data.draw(layouts(Form.of(item), Kinds(padded=True, permuted=True, broadcast=True, output=True)))
    case = case_of(item, layout, None, "oracle", data.draw(st.integers(0, 1000)))
    assert not violations(case.operator, item.level, load_tables())


def test_no_module_that_happens_to_be_loaded_changes_what_is_drawn() -> None:
    """The plugin runs here as in every run: Hypothesis knows its own special numbers, and none of anybody's source."""
    from hypothesis.internal.conjecture import providers

    if not hasattr(providers, "_get_local_constants"):
        pytest.skip("this Hypothesis looks into no module")
    assert len(providers.GLOBAL_CONSTANTS) > 0
    assert len(providers._get_local_constants()) == 0
