"""A bound that the integer type cannot hold: what a maximum in a wider type may store, and what it may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.one_value import distinguishing_places, stored_beyond, wider_maximum
from dmlcts.suites.mutants.reference import Array, Reference


@pytest.mark.parametrize(
    "bound, data_type, stored",
    [
        (300.0, DataType.UINT8, {255, 44}),  # saturated, 300 - 256
        (300.0, DataType.INT8, {127, 44}),
        (256.0, DataType.UINT8, {255, 0}),
        (255.5, DataType.UINT8, set()),  # its truncation lies within the type
        (-5.0, DataType.UINT8, set()),  # every value is above it
        (40000.0, DataType.INT16, {32767, 40000 - 65536}),
        # 3 * 2^30 by way of INT32's greatest value (-1), of itself (0), of the indefinite 2^31 (0)
        (3 * 2.0**30, DataType.INT16, {32767, -1, 0}),
        (2.0**33 + 1024, DataType.UINT16, {65535, 1024, 0}),
        (2.0**32, DataType.UINT32, {(1 << 32) - 1, 0, 1 << 31}),
        (np.inf, DataType.INT16, {32767, -1, 0}),
        (np.inf, DataType.INT32, {(1 << 31) - 1, -(1 << 31), 0}),
        (2.0**33, DataType.INT32, {(1 << 31) - 1, 0, -(1 << 31)}),  # no 2^32 - 1, which is -1
        (2.0**33, DataType.UINT32, {(1 << 32) - 1, 0, 1 << 31}),  # no 2^31 - 1
        (2.0**63, DataType.INT64, {(1 << 63) - 1, 1 << 31, -(1 << 63)}),
        (2.0**64, DataType.UINT64, {(1 << 64) - 1, 0, 1 << 31, 1 << 63}),
        (-np.inf, DataType.INT8, set()),
        (-np.inf, DataType.INT64, set()),
        (np.nan, DataType.INT8, {127, -128, 0}),
        (np.nan, DataType.UINT32, {(1 << 32) - 1, 0, 1 << 31}),
        (np.nan, DataType.INT64, {(1 << 63) - 1, 0, 1 << 31, -(1 << 63)}),
        (np.nan, DataType.UINT64, {(1 << 64) - 1, 0, 1 << 31, 1 << 63}),
    ],
)
def test_what_a_wider_maximum_may_store(bound: float, data_type: DataType, stored: set[int]) -> None:
    assert stored_beyond(np.float32(bound), data_type) == stored


@pytest.mark.parametrize(
    "outputs, stored",
    [
        ([44, 44, 44], 44),
        ([44, 44, 45], None),
        ([45, 44, 44], None),
        ([44, 255, 44], None),
        ([45, 45], None),
        ([44], 44),
        ([255, 255], 255),
    ],
)
def test_a_wider_maximum_is_the_same_for_every_element(outputs: list[int], stored: int | None) -> None:
    tensor = TensorDesc(DataType.UINT8, (len(outputs),))
    attributes = {"ScaleBias": None, "Min": np.float32(300)}
    operator = OperatorDesc("ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    case = Case(operator, Values.of([0], DataType.UINT8), "threshold.cast.out-of-range")
    values = np.array(outputs, np.uint8)
    run = Execution({"InputTensor": np.zeros_like(values)}, values, values, (), (), None)
    assert wider_maximum(Bench("x", Reference(), {}, load_tables()), case, run) == stored


@pytest.mark.parametrize("bound", [-np.inf, np.inf, np.nan, -1e10, 1e10])
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT16, DataType.INT32])
def test_a_constant_between_the_limits_is_no_threshold(bound: float, data_type: DataType) -> None:
    class Fives(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return np.full_like(x, 5)

    limits, tensor = np.iinfo(data_type.numpy), TensorDesc(data_type, (3,))
    attributes = {"ScaleBias": None, "Min": np.float32(bound)}
    operator = OperatorDesc("ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    values = Values.of([limits.min, 7, limits.max], data_type)
    case = Case(operator, values, "threshold.cast.out-of-range", None, "one value")
    (finding,) = judge_case(Bench("x", Fives(), {}, load_tables()), case).findings
    assert (finding.outcome, finding.wrong) == ("fail", 2)


@pytest.mark.parametrize("scale, bias, places", [(2, 1000, (1, 2)), (2, -1000, (1, 2)), (-2, 1000, (2, 1))])
def test_the_extremes_after_scale_bias_show_what_open_bounds_became(
    scale: float, bias: float, places: tuple[int, int]
) -> None:
    tensor = TensorDesc(DataType.INT16, (4,))
    attributes: dict[str, Any] = {"ScaleBias": ScaleBias(scale, bias), "Min": np.float32(np.nan)}
    operator = OperatorDesc("ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    assert distinguishing_places(operator, np.array([3, -90, 80, 5], np.int16)) == places


class _WiderMaximum(Reference):
    """THRESHOLD takes the maximum in INT64 and stores what ``stored`` makes of it."""

    stored = staticmethod(lambda maximum, limits: maximum)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if x.dtype.kind == "f" or operator.name != "ELEMENT_WISE_THRESHOLD":
            return super().compute(operator, x)
        low = int(np.clip(np.float64(operator.attributes["Min"]), -(2.0**40), 2.0**40))
        return type(self).stored(np.maximum(x.astype(np.int64), low), np.iinfo(x.dtype)).astype(x.dtype)


class Wrapped(_WiderMaximum):
    """Modulo 2^bits."""


class Saturated(_WiderMaximum):
    """The nearest limit of the type."""

    stored = staticmethod(lambda maximum, limits: np.minimum(maximum, limits.max))


class OffByOne(_WiderMaximum):
    """One more than it is."""

    stored = staticmethod(lambda maximum, limits: np.where(maximum > limits.max, maximum + 1, maximum))


@pytest.mark.parametrize(
    "implementation, accepted", [(Reference, True), (Wrapped, True), (Saturated, True), (OffByOne, False)]
)
@pytest.mark.parametrize("bound", [70000.0, 3e9])
@pytest.mark.parametrize("data_type", [DataType.INT16, DataType.UINT16], ids=lambda kind: kind.name)
def test_a_threshold_beyond_the_type(
    implementation: type[Reference], accepted: bool, bound: float, data_type: DataType
) -> None:
    limits = np.iinfo(data_type.numpy)
    values = Values.of([limits.min, 0, 7, 4464, 4465, limits.max], data_type)
    tensor = TensorDesc(data_type, (6,))
    attributes = {"ScaleBias": None, "Min": np.float32(bound)}
    operator = OperatorDesc("ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    case = Case(operator, values, "threshold.cast.out-of-range", None, "one value")
    bench = Bench("x", implementation(), {}, load_tables())
    assert (not judge_case(bench, case).findings) is accepted


def test_clip_documents_its_cast_and_has_no_wider_clamp() -> None:
    class WrappedClip(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return np.full_like(x, 44)  # 300 stored into UINT8, as a wider clamp would

    tensor = TensorDesc(DataType.UINT8, (3,))
    attributes = {"ScaleBias": None, "Min": np.float32(300), "Max": np.float32(400)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    case = Case(operator, Values.of([0, 7, 255], DataType.UINT8), "clip.cast.out-of-range", None, "one value")
    judged = judge_case(Bench("x", Reference(), {}, load_tables()), case)
    assert not judged.findings
    # 44 for every input is what one value of the type gives as well: nothing distinguishes them
    assert not judge_case(Bench("x", WrappedClip(), {}, load_tables()), case).findings
    one_bound = OperatorDesc(
        "ELEMENT_WISE_CLIP",
        {"InputTensor": tensor, "OutputTensor": tensor},
        attributes | {"Min": np.float32(0), "Max": np.float32(300)},
    )
    alone = case.with_operator(one_bound)
    assert not judge_case(Bench("x", Reference(), {}, load_tables()), alone).findings
    assert judge_case(Bench("x", WrappedClip(), {}, load_tables()), alone).findings


@pytest.mark.parametrize("name", ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_THRESHOLD"])
@pytest.mark.parametrize(
    "data_type, x, scale, bias, low, stored",
    [
        # 8191 * 5 = 40955: Min after saturation or wrapping; for THRESHOLD also 40955 - 65536, the maximum's low bits
        (DataType.INT16, 8191, 5, 0, -16384, 40955 - 65536),
        (DataType.UINT16, 65534, 1, 226, 65535, 224),
        (DataType.INT8, 100, 2, 0, 3, 200 - 256),
    ],
)
def test_only_a_maximum_can_carry_an_overflow_into_the_store(
    name: str, data_type: DataType, x: int, scale: float, bias: float, low: float, stored: int
) -> None:
    tables = load_tables()
    tensor = TensorDesc(data_type, (1,))
    limits = np.iinfo(data_type.numpy)
    attributes = {"ScaleBias": ScaleBias(scale, bias), "Min": np.float32(low)}
    if name == "ELEMENT_WISE_CLIP":
        attributes["Max"] = np.float32(limits.max)
    operator = OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    table = tables.operator(name)
    array = np.array([x], data_type.numpy)
    bits = int(array.view(data_type.bits_dtype)[0])
    exact = ExactOracle(tables.law(table), operator).acceptable(bits)
    vector = VectorOracle(tables.law(table), operator).acceptance(array).element(0)
    assert exact == vector
    wide = stored % (1 << limits.bits)
    assert exact.admits(wide, data_type) is (name == "ELEMENT_WISE_THRESHOLD")
    assert exact.admits(int(limits.max), data_type)  # saturated
    assert not exact.admits((wide + 1) % (1 << limits.bits), data_type)


class StridedReadAsPacked(Reference):
    """Strided inputs are read as packed ones."""

    def view(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        return super().view(memory, region, TensorDesc(tensor.data_type, tensor.sizes))


class WrongPast1000Elements(Reference):
    """What stands after a thousand elements is zero."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x).copy()
        y.reshape(-1)[1000:] = 0
        return y


class OddValuesAreOneMore(Reference):
    """Whatever the layout."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        return np.where((x % 2 == 1) & (x < 100), y + 1, y).astype(y.dtype)


def open_case(scale_bias: ScaleBias | None, max_: float, *, in_place: bool = False) -> Case:
    values = np.arange(-50, 50, dtype=np.int8) if scale_bias else np.arange(-128, 128).astype(np.int8)
    sizes, strides = (41, 61), (63, 1)
    source = TensorDesc(DataType.INT8, sizes, strides)
    target = source if in_place else TensorDesc(DataType.INT8, sizes)
    attributes = {"ScaleBias": scale_bias, "Min": np.float32(-90), "Max": np.float32(max_)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": source, "OutputTensor": target}, attributes)
    clause = "clip.scale-bias.integer" if scale_bias else "clip.cast.out-of-range"
    made_for = "clip.in-place" if in_place else "tensor.strides.padded"
    return Case(
        operator,
        Values.of(np.roll(values, 20), DataType.INT8),
        clause,
        made_for,
        "one value",
        Placement(in_place=in_place),
    )


@pytest.mark.parametrize("max_", [300.0, np.nan])
@pytest.mark.parametrize("scale_bias", [None, ScaleBias(2, 5), ScaleBias(-1, 7)])
def test_what_layout_count_and_value_have_wrong_under_an_open_bound(scale_bias: ScaleBias | None, max_: float) -> None:
    case = open_case(scale_bias, max_)
    assert not judge_case(Bench("x", Reference(), {}, load_tables()), case).findings, "the control"

    def blamed(implementation: type[Reference]) -> str:
        bench = Bench("x", implementation(), {}, load_tables())
        return smallest(bench, judge_case(bench, case).findings[0]).clause

    assert blamed(StridedReadAsPacked) == "tensor.strides.padded"
    assert blamed(WrongPast1000Elements) == "tensor.position"
    assert blamed(OddValuesAreOneMore) == case.clause


def test_what_is_wrong_in_place_alone_under_an_open_bound() -> None:
    class WrongInPlace(Reference):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            if bindings["InputTensor"] == bindings["OutputTensor"]:
                self.view(memory, bindings["OutputTensor"], operator.output)[1:] = 3

    bench = Bench("x", WrongInPlace(), {}, load_tables())
    assert not judge_case(bench, open_case(None, 300.0)).findings, "the control"
    finding = smallest(bench, judge_case(bench, open_case(None, 300.0, in_place=True)).findings[0])
    assert (finding.clause, "in place" in finding.needs) == ("clip.in-place", True)
