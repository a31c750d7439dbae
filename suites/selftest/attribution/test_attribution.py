"""A fault is reported under the clause it breaks, whichever test happens to meet it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import _anywhere, _of_its_tensor, needing, smallest
from dmlcts.suites.attribution.shrink import Effort, later
from dmlcts.suites.attribution.simpler import _lower_rank, _one_long_axis, kind_of
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.combinations.magnitudes import in_exact_domain
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, streams_of
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.test_judging import bench, f32


class WrongInPairs(Reference):
    """Leaves elements from 64 on alone where another element follows: a vector path that compares wrongly."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        flat, values = y.reshape(-1), x.reshape(-1)
        paired = flat.size // 2 * 2
        flat[:paired] = np.where(values[:paired] >= 64, values[:paired], flat[:paired])
        return y


class WrongInPlace(Reference):
    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
        super().dispatch(operator, memory, bindings)
        if bindings["InputTensor"] == bindings["OutputTensor"]:
            self.view(memory, bindings["OutputTensor"], operator.output)[...] = 1


class Refusing(Reference):
    """Refuses the bounds that ``refused`` names."""

    refused: tuple[float, ...] = ()

    def refuses(self, operator: OperatorDesc) -> str:
        argument = [operator.attributes.get(name) for name in ("Min", "Max")]
        return "not that bound" if any(value in self.refused for value in argument) else super().refuses(operator)


def blamed(backend: Any, example: Case) -> str:
    on = bench(backend)
    (finding,) = judge_case(on, example).findings
    return smallest(on, finding).clause


@pytest.mark.parametrize(
    "clause, changes",
    [
        ("clip.in-place", {"placement": Placement(in_place=True)}),
        ("execution.repeatable", {"expectation": "again"}),
        ("execution.independent", {"expectation": "beside others"}),
        ("tensor.strides.padded", {}),
    ],
)
def test_what_is_wrong_in_any_packed_tensor_of_that_length_is_about_position(
    clause: str, changes: dict[str, Any]
) -> None:
    operator = clip(tensor(strides=(2,))) if clause.startswith("tensor") else clip()
    values = Values.of([-100, 100, 0, 3, 7], DataType.INT8)
    example = case(operator, layout_clause=clause, values=values, **changes)
    assert blamed(WrongInPairs(), example) == "tensor.position"


@pytest.mark.parametrize(
    "clause, elsewhere",
    [
        ("tensor.strides.padded", True),
        ("tensor.position", False),
        ("tensor.output.complete", False),
        ("binding.offset", False),
    ],
)
def test_a_clause_that_a_packed_tensor_has_too_is_not_looked_for_in_one(clause: str, elsewhere: bool) -> None:
    values = Values.of([-100, 100, 0, 3, 7], DataType.INT8)
    on = bench(WrongInPairs())
    (finding,) = judge_case(on, case(clip(tensor(strides=(2,))), layout_clause=clause, values=values)).findings
    anywhere = _anywhere(on, finding, Effort())
    assert (anywhere is finding, anywhere.case.operator.input.strides is None) == (not elsewhere, elsewhere)


@pytest.mark.parametrize("count, elsewhere", [(1 << 16, True), ((1 << 16) + 1, False)])
def test_a_packed_tensor_is_tried_up_to_a_length(count: int, elsewhere: bool) -> None:
    operator = clip(tensor((count,), strides=(2,)))
    on = bench(WrongInPairs())
    (finding,) = judge_case(on, case(operator, layout_clause="tensor.strides.padded")).findings
    assert (_anywhere(on, finding, Effort()) is not finding) is elsewhere


@pytest.mark.parametrize("changes", [{"outcome": "unspecified"}, {"wrong": ()}, {"clause": "clip.formula"}], ids=str)
def test_only_wrong_values_under_the_clause_of_the_layout_are_looked_for_in_a_packed_tensor(
    changes: dict[str, Any],
) -> None:
    on = bench(WrongInPairs())
    values = Values.of([-100, 100, 0, 3, 7], DataType.INT8)
    example = case(clip(tensor(strides=(2,))), layout_clause="tensor.strides.padded", values=values)
    (finding,) = judge_case(on, example).findings
    assert _anywhere(on, finding, Effort()) is not finding, "the control"
    other = replace(finding, **changes)
    assert _anywhere(on, other, Effort()) is other


@pytest.mark.parametrize(
    "expectation, clause, kept",
    [
        ("one value", "clip.cast.nan", "one value"),
        ("again", "tensor.position", "oracle"),
    ],
)
def test_in_a_packed_tensor_open_bounds_are_one_value_still(expectation: str, clause: str, kept: str) -> None:
    described = TensorDesc(DataType.INT8, (5,), strides=(2,))
    attributes = {"ScaleBias": None, "Min": f32(np.nan if expectation == "one value" else -2), "Max": f32(3)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": described, "OutputTensor": described}, attributes)
    values = Values.of([-128, 127, 0, 3, 2], DataType.INT8)
    changes = {"clause": "clip.cast.nan"} if expectation == "one value" else {}
    example = case(operator, values=values, layout_clause="tensor.strides.padded", expectation=expectation, **changes)
    on = bench(WrongInPairs())
    findings = [finding for finding in judge_case(on, example).findings if finding.clause == "tensor.strides.padded"]
    assert findings
    anywhere = _anywhere(on, findings[0], Effort())
    assert (anywhere.clause, anywhere.case.expectation) == (clause, kept)


def test_fewer_elements_are_tried_again_without_what_is_not_needed() -> None:
    """As found here, the case has not been shrunk before."""
    on = bench(WrongInPairs())
    values = Values.of([-100, 100, 0, 3] * 8, DataType.INT8)
    operator = clip(tensor((32,)))
    (finding,) = judge_case(on, case(operator, values=values)).findings
    finding = needing(on, finding, Effort())
    assert (finding.clause, finding.case.operator.output.sizes) == ("tensor.position", (2,))


@pytest.mark.parametrize(
    "needs, clause, text",
    [
        (("output strides",), "tensor.strides.padded", "tensor.strides.output"),
        (("input strides",), "tensor.strides.padded", "tensor.strides.padded"),
        (("input strides", "output strides"), "tensor.strides.padded", "tensor.strides.padded"),
        (("output strides",), "tensor.position", "tensor.position"),
    ],
)
def test_what_needs_the_outputs_strides_alone_is_about_those(needs: tuple[str, ...], clause: str, text: str) -> None:
    finding = _of_its_tensor(Finding(clause, "fail", case(layout_clause=clause), "", needs=needs))
    assert (finding.clause, finding.case.layout_clause) == (text, text)


def shapes(cases: Any) -> list[tuple[int, ...]]:
    return [item.operator.output.sizes for item in cases]


@pytest.mark.parametrize(
    "strides, sizes",
    [
        (None, [(1, 1, 6), (2, 1, 1), (1, 1, 3)]),
        ((8, 8, 2), [(1, 1, 6), (2, 1, 1), (1, 1, 3)]),
    ],
)
def test_of_several_long_dimensions_one_is_tried_of_as_many_elements_and_each_alone(
    strides: tuple[int, ...] | None, sizes: list[tuple[int, ...]]
) -> None:
    """Where there are strides, one of them carries all."""
    finding = Finding("", "fail", case(clip(tensor((2, 1, 3), strides=strides))), "")
    assert shapes(_one_long_axis(bench(Reference()), finding)) == sizes


def of_strides(source: tuple[int, ...] | None, target: tuple[int, ...] | None) -> Finding:
    """A finding in tensors of two long dimensions, with these strides."""
    tensors = {
        "InputTensor": TensorDesc(DataType.INT8, (2, 3), source),
        "OutputTensor": TensorDesc(DataType.INT8, (2, 3), target),
    }
    return Finding("", "fail", case(OperatorDesc(clip().name, tensors, clip().attributes)), "")


@pytest.mark.parametrize(
    "source, target, lower",
    [
        (None, None, [(6,)]),
        ((8, 2), None, []),
        (None, (8, 2), []),
        ((8, 2), (8, 2), []),
    ],
)
def test_dimensions_are_joined_to_a_lower_rank_where_no_tensor_has_strides(
    source: tuple[int, ...] | None, target: tuple[int, ...] | None, lower: list[tuple[int, ...]]
) -> None:
    assert shapes(_lower_rank(bench(Reference()), of_strides(source, target))) == lower


@pytest.mark.parametrize(
    "source, target, joined",
    [
        (None, None, (None, None)),
        ((8, 2), None, ((8, 2), None)),
        (None, (8, 2), (None, (8, 2))),
        ((8, 1), (1, 4), ((8, 8), (1, 4))),
        ((0, 3), None, ((0, 0), None)),
        ((3, 1), None, ((3, 3), None)),
    ],
)
def test_one_long_dimension_is_tried_of_all_elements_with_one_of_the_strides(
    source: tuple[int, ...] | None, target: tuple[int, ...] | None, joined: tuple[Any, Any]
) -> None:
    """The number of elements may be needed besides: each dimension alone has fewer."""
    first, *others = _one_long_axis(bench(Reference()), of_strides(source, target))
    assert (first.operator.output.sizes, shapes(others)) == ((1, 6), [(2, 1), (1, 3)])
    assert (first.operator.input.strides, first.operator.output.strides) == joined


@pytest.mark.parametrize(
    "sizes, strides, lower",
    [
        ((1, 2, 1, 3), None, [((6,), None), ((2, 3), None), ((2, 1, 3), None)]),
        ((1, 2, 1, 3), (9, 8, 7, 2), [((2, 3), (8, 2)), ((2, 1, 3), (8, 7, 2))]),
        ((2, 3, 2), None, [((12,), None), ((6, 2), None)]),
    ],
)
def test_a_lower_rank_loses_dimensions_of_one_element_first(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, lower: list[Any]
) -> None:
    finding = Finding("", "fail", case(clip(tensor(sizes, strides=strides))), "")
    tensor_descs = [example.operator.input for example in _lower_rank(bench(Reference()), finding)]
    assert [(it.sizes, it.strides) for it in tensor_descs] == lower


def test_of_several_dimensions_the_first_elements_of_the_long_one_are_left_out() -> None:
    example = case(clip(tensor((1, 2, 1))), values=Values.of([1, 2], DataType.INT8))
    assert shapes(later(example)) == [(1, 1, 1)]


@pytest.mark.parametrize(
    "values, strides, left",
    [
        ([1, 2], None, [[2]]),
        ([1, 2], (2,), [[2]]),
        ([1], None, []),
        ([1, 2], (0,), []),
    ],
)
def test_the_first_elements_are_left_out_where_each_has_a_value_of_its_own(
    values: list[int], strides: tuple[int, ...] | None, left: list[list[int]]
) -> None:
    example = case(clip(tensor((2,), strides=strides)), values=Values.of(values, DataType.INT8))
    assert [it.values.first.array(1).tolist() for it in later(example)] == left


def test_an_input_of_one_element_keeps_it_where_the_first_of_the_others_are_left_out() -> None:
    kinds = {
        "InputTensor": (DataType.FLOAT32, 3),
        "ScaleTensor": (DataType.FLOAT32, 1),
        "OutputTensor": (DataType.UINT8, 3),
    }
    tensors = {name: TensorDesc(kind, (count,)) for name, (kind, count) in kinds.items()}
    quantize = OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {})
    example = replace(case(clip(tensor((3,)))), operator=quantize)
    (left,) = later(replace(example, values=streams_of(example, ([1, 2, 3], [4]))))
    assert dict(left.values.items()) == {
        "InputTensor": Values.of([2, 3], DataType.FLOAT32),
        "ScaleTensor": Values.of([4], DataType.FLOAT32),
    }


def test_what_is_wrong_only_there_keeps_its_clause() -> None:
    in_place = case(layout_clause="clip.in-place", placement=Placement(in_place=True))
    assert blamed(WrongInPlace(), in_place) == "clip.in-place"


class OneMore(Reference):
    """ScaleBias on integers gives one more than it should."""

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return super().scale_bias(x, scale_bias, data_type) - np.asarray(1, x.dtype)


@pytest.mark.parametrize(
    "scale, bias, value, clause",
    [
        (2, 3, 20, "integer"),
        (2, 3, 100, "integer-inexact"),
        (0.5, 0, 20, "integer-inexact"),
        (1, 0.5, 20, "integer-inexact"),
        (1, -30, -120, "integer-inexact"),
        (-1, 0, -128, "integer-inexact"),
        (-1, 0, -127, "integer"),
    ],
)
@pytest.mark.parametrize("found_under", ["integer", "integer-inexact"])
def test_a_wrong_integer_after_scale_bias_is_about_its_own_domain(
    scale: float, bias: float, value: int, clause: str, found_under: str
) -> None:
    tensor = TensorDesc(DataType.INT8, (1,))
    attributes = {"ScaleBias": ScaleBias(scale, bias), "Min": f32(-128), "Max": f32(127)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    example = Case(operator, Values.of([value], DataType.INT8), f"clip.scale-bias.{found_under}")
    on = bench(OneMore())
    findings = judge_case(on, example).findings
    if not findings:
        pytest.skip("the value that comes out is permitted here")
    least = smallest(on, findings[0])
    assert least.clause == least.case.clause == f"clip.scale-bias.{clause}"


def test_the_exact_domain_ends_where_float32_counts_no_more() -> None:
    assert in_exact_domain(1 << 23, ScaleBias(2, 0), DataType.INT32)
    assert not in_exact_domain(1 << 23, ScaleBias(2, 1), DataType.INT32)
    assert not in_exact_domain((1 << 24) + 1, ScaleBias(1, 0), DataType.INT64)
    assert not in_exact_domain(5, ScaleBias(1, -6), DataType.UINT8)
    assert in_exact_domain(6, ScaleBias(1, -6), DataType.UINT8)


def bounded(low: float, high: float, clause: str, expectation: str = "monotone") -> Case:
    half = TensorDesc(DataType.FLOAT16, (3,))
    attributes = {"ScaleBias": None, "Min": f32(low), "Max": f32(high)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": half, "OutputTensor": half}, attributes)
    return Case(operator, Values.of([0, 1, 2], DataType.FLOAT16), clause, None, expectation)


@pytest.mark.parametrize(
    "high, clause",
    [
        (65505.0, "clip.cast.float16"),
        (65520.0, "clip.cast.float16-overflow"),
        (7.0, "clip.monotone"),
    ],
)
def test_a_bound_refused_for_its_cast_breaks_the_clause_on_casts(high: float, clause: str) -> None:
    assert blamed(type("Backend", (Refusing,), {"refused": (high,)})(), bounded(0, high, "clip.monotone")) == clause
    assert judge_case(bench(Reference()), bounded(0, high, "clip.monotone")).findings == ()


def test_a_refused_bound_keeps_a_clause_that_is_about_bounds() -> None:
    backend = type("Backend", (Refusing,), {"refused": (65505.0,)})()
    assert blamed(backend, bounded(65505.0, 3, "clip.bounds.inverted", "oracle")) == "clip.bounds.inverted"


def test_inverted_bounds_are_a_clause_of_their_own() -> None:
    tables = load_tables()
    subject = Subject.on(tables.operator("CLIP"), DataType.INT8, FeatureLevel("5.0"), 0, QUICK)
    assert subject.values_clause(subject.attributes(Min=f32(2), Max=f32(1))) == "clip.bounds.inverted"
    assert subject.values_clause(subject.attributes(Min=f32(1), Max=f32(1))) == "clip.formula"
    threshold = Subject.on(tables.operator("THRESHOLD"), DataType.INT8, FeatureLevel("5.0"), 0, QUICK)
    assert threshold.values_clause(threshold.attributes(Min=f32(2))) == "threshold.formula"


@pytest.mark.parametrize(
    "sizes, strides, kind",
    [
        ((2, 3), None, "packed"),
        ((2, 3), (3, 1), "packed"),
        ((1, 3), (9, 1), "packed"),
        ((2, 3), (4, 1), "padded"),
        ((2, 3), (6, 2), "padded"),
        ((2, 3), (1, 2), "permuted"),
        ((2, 1, 3), (1, 9, 2), "permuted"),
        ((2, 3), (0, 1), "broadcast"),
        ((2, 3), (1, 0), "broadcast"),
        ((1, 3), (0, 1), "packed"),
    ],
)
def test_strides_are_named_by_the_dimensions_that_are_longer_than_one(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, kind: str
) -> None:
    assert kind_of(TensorDesc(DataType.INT8, sizes, strides)) == kind


class WrongAt(Reference):
    """One element of a type comes out as 1."""

    struck: float

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(x == x.dtype.type(self.struck), x.dtype.type(1), super().compute(operator, x))


LEAST_NORMAL = float(np.finfo(np.float32).smallest_normal)


@pytest.mark.parametrize(
    "named, struck, clause",
    [
        ("zero-sign", 0.0, "clip.zero-sign"),
        ("zero-sign", 0.25, "clip.formula"),
        ("subnormal", LEAST_NORMAL, "clip.subnormal"),
        ("subnormal", 2 * LEAST_NORMAL, "clip.formula"),
    ],
)
def test_a_clause_on_special_values_is_blamed_for_those_alone(named: str, struck: float, clause: str) -> None:
    """A test of zeros or subnormals has ordinary elements beside them."""
    backend = type("Wrong", (WrongAt,), {"struck": struck})()
    values = Values.of([-0.5, struck, 0.5, 1.5], DataType.FLOAT32)
    example = Case(clip(tensor((4,), DataType.FLOAT32)), values, f"clip.{named}")
    assert blamed(backend, example) == clause
