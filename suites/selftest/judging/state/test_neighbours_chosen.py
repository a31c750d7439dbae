"""Which descriptions stand beside a case, and what is said of those that are wrong by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import NotSupported
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Unsupported
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.generation.neighbouring_kernels import _nearest, _nearly_alike, on_nearly_the_same_tensors
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging import neighbours
from dmlcts.suites.judging.neighbours import by_itself, is_out, judged_before, own_case, stops_by_itself
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import case, clip

f32 = np.float32
TABLES = load_tables()
F32 = DataType.FLOAT32
LEVEL = FeatureLevel("6.4")


def bench(backend: Any) -> Bench:
    return Bench("planted", backend, {}, TABLES, LEVEL)


def value_case(operator: OperatorDesc | None = None) -> Case:
    """A case about the value alone."""
    return case(operator or clip(TensorDesc(F32, (5,))), layout_clause=None)


# ---------------------------------------------------------------------------------------------- beside a case


def test_nearly_the_same_tensors_differ_in_one_respect_each() -> None:
    """The strides of each tensor, whether an input is broadcast, the total sizes, and the order of sizes."""
    packed = TensorDesc(F32, (2, 3))
    spread, larger = TensorDesc(F32, (2, 3), (6, 2)), replace(packed, total_size_in_bytes=40)
    subject = Subject.of(TABLES.operator("CLIP"), clip(packed), LEVEL)
    assert on_nearly_the_same_tensors(subject, clip(packed)) == [
        clip(spread, packed),
        clip(packed, spread),
        clip(TensorDesc(F32, (2, 3), (0, 1)), packed),
        clip(larger),
        clip(TensorDesc(F32, (3, 2))),
    ]


def test_of_strided_tensors_each_is_packed_once_and_sizes_keep_their_order() -> None:
    packed, strided = TensorDesc(F32, (2, 3)), TensorDesc(F32, (2, 3), (6, 2))
    subject = Subject.of(TABLES.operator("CLIP"), clip(strided), LEVEL)
    for source, target in ((strided, strided), (strided, packed), (packed, strided)):
        operators = on_nearly_the_same_tensors(subject, clip(source, target))
        assert clip(TensorDesc(F32, (3, 2))) not in operators
        assert len(operators) == 4
        assert operators[0] == clip(packed if source == strided else strided, target)


def test_nearly_the_same_tensors_take_another_type_of_the_output_and_other_optional_tensors() -> None:
    source = TensorDesc(F32, (2, 3), (6, 2))
    target = TensorDesc(DataType.UINT8, (2, 3))
    tensors = {"ATensor": source, "BTensor": source, "OutputTensor": target}
    operator = OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", tensors, {})
    subject = Subject.of(TABLES.operator("LOGICAL_EQUALS"), operator, LEVEL)
    wider = replace(operator, tensors={**tensors, "OutputTensor": TensorDesc(DataType.UINT32, (2, 3))})
    assert on_nearly_the_same_tensors(subject, operator)[-1] == wider


def test_the_nearest_signatures_change_one_type_but_the_first_or_the_optional_tensors() -> None:
    table = TABLES.operator("QUANTIZE_LINEAR")
    single, source = TensorDesc(F32, (1,)), TensorDesc(F32, (2,))
    tensors = {"InputTensor": source, "ScaleTensor": single, "OutputTensor": TensorDesc(DataType.INT8, (2,))}
    own = Signature.of(OperatorDesc(table.operator, tensors, {}), table)
    signatures = _nearest(table, own)
    assert [(dict(signature.types)["U"], sorted(signature.present)) for signature in signatures] == [
        (DataType.INT8, ["ZeroPointTensor"]),
        (DataType.UINT8, []),
    ]
    assert {dict(signature.types)["T"] for signature in signatures} == {F32}
    logical = TABLES.operator("LOGICAL_EQUALS")
    tensors = {"ATensor": source, "BTensor": source, "OutputTensor": TensorDesc(DataType.UINT8, (2,))}
    own = Signature.of(OperatorDesc(logical.operator, tensors, {}), logical)
    assert [dict(signature.types) for signature in _nearest(logical, own)] == [{"T": F32, "U": DataType.UINT32}]


def test_of_many_types_of_a_second_variable_one_is_nearest() -> None:
    table, tensor = TABLES.operator("POW"), TensorDesc(F32, (2,))
    tensors = {"InputTensor": tensor, "ExponentTensor": tensor, "OutputTensor": tensor}
    own = Signature.of(OperatorDesc(table.operator, tensors, {"ScaleBias": None}), table)
    (signature,) = _nearest(table, own)
    assert [nearest_type == other for nearest_type, other in zip(signature.types, own.types, strict=True)] == [
        True,
        False,
    ]


def test_nearly_alike_are_each_bound_a_scale_and_a_bias_changed_alone() -> None:
    test_bench, table = bench(Reference()), TABLES.operator("CLIP")
    attribute_sets = [operator.attributes for operator in _nearly_alike(test_bench, table, value_case())]
    changes = [(attributes["Min"], attributes["Max"], attributes["ScaleBias"]) for attributes in attribute_sets]
    near = f32(6 + 6 * 2.0**-20)
    assert changes == [
        (1, 6, None),
        (2, 40, None),
        (2, 6, ScaleBias(2, 0)),
        (2, 6, ScaleBias(1, 1)),
        (-2, 6, None),
        (2, near, None),
        (2, 6, ScaleBias(2, -1)),
        (2, 6, ScaleBias(2 + 2.0**-19, 1)),
    ]
    again = value_case(clip(TensorDesc(F32, (5,)), Min=f32(1), Max=f32(6)))
    assert len(_nearly_alike(test_bench, table, again)) == len(changes) - 1, "the case itself is none"


def test_a_whole_bound_has_a_neighbour_with_the_same_low_word() -> None:
    tensor = TensorDesc(DataType.UINT64, (5,))
    operator = OperatorDesc(
        "ELEMENT_WISE_CLIP1",
        {"InputTensor": tensor, "OutputTensor": tensor},
        {
            "MinMaxDataType": "UINT64",
            "ScaleBias": None,
            **{name: ScalarUnion.of(DataType.UINT64, 1) for name in ("Min", "Max")},
        },
    )
    test_case = Case(operator, Values.of([1], DataType.UINT64), "clip1.formula")
    variants = _nearly_alike(bench(Reference()), TABLES.operator("CLIP1"), test_case)
    upper_bounds = [variant.attributes["Max"] for variant in variants]
    assert ScalarUnion.of(DataType.UINT64, 7 + (1 << 32)) in upper_bounds


def test_a_single_bound_alone_changes_its_sign_and_its_last_bits() -> None:
    test_bench, tensor = bench(Reference()), TensorDesc(F32, (5,))
    threshold = OperatorDesc(
        "ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None, "Min": f32(-2)}
    )
    operators = _nearly_alike(test_bench, TABLES.operator("THRESHOLD"), value_case(threshold))
    bounds = [operator.attributes["Min"] for operator in operators if operator.attributes["ScaleBias"] is None]
    assert bounds == [f32(2 + 2.0**-19)], "-2 is the case's own"


def test_of_a_single_bound_and_of_strided_tensors_none_are_changed_further() -> None:
    test_bench, tensor = bench(Reference()), TensorDesc(F32, (5,))
    threshold = OperatorDesc(
        "ELEMENT_WISE_THRESHOLD", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None, "Min": f32(-2)}
    )
    operators = _nearly_alike(test_bench, TABLES.operator("THRESHOLD"), value_case(threshold))
    scaled = [operator.attributes["ScaleBias"] for operator in operators]
    assert [*filter(None, scaled)] == [ScaleBias(2, 0), ScaleBias(1, 1), ScaleBias(2, -1), ScaleBias(2 + 2.0**-19, 1)]
    strided = TensorDesc(F32, (5,), (2,))
    for operator in (clip(strided), clip(strided, tensor), clip(tensor, strided)):
        assert _nearly_alike(test_bench, TABLES.operator("CLIP"), value_case(operator)) == []


# ---------------------------------------------------------------------------------------------- by themselves


class Wrong(Reference):
    """Gives one for everything, and writes before its output."""

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        super().write(memory, region, tensor, np.ones_like(values))
        memory[region.offset - 1] ^= 1


class Unable(Reference):
    """Makes no kernel."""

    def create(self, operator: OperatorDesc) -> Kernel:
        raise NotSupported("none")


def test_of_a_neighbour_that_is_wrong_by_itself_one_fault_is_reported() -> None:
    test_bench = bench(Wrong())
    assert len(by_itself(test_bench, value_case(), value_case()) or ()) == 1
    assert by_itself(bench(Reference()), value_case(), value_case()) is None


@pytest.mark.parametrize("backend, stops", [(Unable, True), (Reference, False)])
def test_a_kernel_that_is_not_made_by_itself_either_is_out(
    backend: type[Reference], stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_bench = bench(backend())
    closed: list[Bench] = []
    fresh = test_bench.fresh

    def noted() -> Bench:
        made = fresh()
        made._stack.callback(lambda: closed.append(made))
        return made

    monkeypatch.setattr(test_bench, "fresh", noted)
    assert stops_by_itself(test_bench, value_case()) is stops
    assert len(closed) == 1
    for kernel in (Mishap("fail", "not made", "why"), Unsupported("none", False)):
        assert is_out(test_bench, value_case(), value_case(), kernel, []) is stops


def test_a_neighbour_is_judged_by_its_strides_where_any_tensor_has_some() -> None:
    packed, strided = TensorDesc(F32, (5,)), TensorDesc(F32, (5,), (2,))
    test_bench = bench(Reference())
    for operator, clause in (
        (clip(packed), None),
        (clip(strided), "tensor.strides.padded"),
        (clip(packed, strided), "tensor.strides.output"),
    ):
        values = Streams.of({"InputTensor": [1]}, operator)
        assert own_case(test_bench, value_case(), operator, values).layout_clause == clause


@pytest.mark.parametrize("neighbour_count, expected_count", [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_a_kernel_that_is_right_by_itself_is_wrong_beside_at_least_one_other(
    neighbour_count: int, expected_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_bench = bench(Wrong())
    monkeypatch.setattr(neighbours, "by_itself", lambda *arguments: None)
    kernel = test_bench.create(value_case().operator)
    findings = judged_before(test_bench, value_case(), kernel, [value_case().operator] * neighbour_count)
    assert [finding.clause for finding in findings] == ["execution.independent"] * expected_count
