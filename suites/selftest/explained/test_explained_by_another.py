"""What a known fault of another clause explains keeps its clause, and says which one explains it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.attribution.faults import Faults
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.bases import broadcast, permuted, strided
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.judging.test_judging import bench

Strides = tuple[int, ...] | None


def laid_clip(
    sizes: tuple[int, ...] = (3, 4),
    source: Strides = None,
    target: Strides = None,
    data_type: DataType = DataType.INT8,
    scale_bias: ScaleBias | None = None,
) -> OperatorDesc:
    tensors = {
        "InputTensor": TensorDesc(data_type, sizes, source),
        "OutputTensor": TensorDesc(data_type, sizes, target),
    }
    attributes = {"ScaleBias": scale_bias, "Min": np.float32(-100), "Max": np.float32(100)}
    return OperatorDesc("ELEMENT_WISE_CLIP", tensors, attributes)


def tried(operator: OperatorDesc, layout_clause: str | None, clause: str = "clip.formula") -> Case:
    return Case(operator, Values.of(np.arange(2, 60), operator.data_type), clause, layout_clause)


class Spoilt(Reference):
    """Wrong where :meth:`strikes` says so."""

    def strikes(self, operator: OperatorDesc) -> bool:
        return True

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        return y ^ 1 if self.strikes(operator) else y


class IntoStrides(Spoilt):
    def strikes(self, operator: OperatorDesc) -> bool:
        return strided(operator.output)


class FromStrides(Spoilt):
    def strikes(self, operator: OperatorDesc) -> bool:
        return strided(operator.input)


class FromRepeated(Spoilt):
    def strikes(self, operator: OperatorDesc) -> bool:
        return broadcast(operator.input)


class FromPermuted(Spoilt):
    def strikes(self, operator: OperatorDesc) -> bool:
        return permuted(operator.input)


class OfMany(Spoilt):
    def strikes(self, operator: OperatorDesc) -> bool:
        return operator.output.element_count > 39


def reported(backend: type[Reference], *cases: Case) -> list[Finding]:
    on = bench(backend())
    faults = Faults(on)
    return [faults.reported(judge_case(on, case).findings[0]) for case in cases]


@pytest.mark.parametrize(
    "backend, source, target, made_for, because",
    [
        (IntoStrides, None, (8, 2), "padded", "output"),
        (IntoStrides, (8, 2), (8, 2), "permuted", "output"),
        (IntoStrides, None, (8, 2), "output", ""),
        (FromStrides, (8, 2), None, "padded", ""),
        (FromStrides, (8, 2), None, "packed", "padded"),
        (FromStrides, (1, 3), None, "permuted", "padded"),
        (FromPermuted, (1, 3), None, "permuted", ""),
        (FromPermuted, (1, 3), None, "padded", "permuted"),
        (FromRepeated, (0, 1), None, "broadcast", ""),
    ],
)
def test_what_is_about_other_strides_than_its_test_states_which(
    backend: type[Reference], source: Strides, target: Strides, made_for: str, because: str
) -> None:
    (finding,) = reported(backend, tried(laid_clip(source=source, target=target), f"tensor.strides.{made_for}"))
    assert finding.clause == finding.case.layout_clause == f"tensor.strides.{made_for}", (
        "the row that fails is the test's"
    )
    assert finding.because == (because and f"tensor.strides.{because}")
    assert finding.needs == (("output strides",) if backend is IntoStrides else ("input strides",))


POSITION = tried(laid_clip((60,)), "tensor.position")
SUPPORT = tried(laid_clip((60,)), None, "clip.support.later-level")


def test_a_support_test_is_explained_by_what_is_known_of_positions() -> None:
    known, finding = reported(OfMany, POSITION, SUPPORT)
    assert (known.clause, known.because, known.needs) == ("tensor.position", "", ("count",))
    assert (finding.clause, finding.because, finding.needs) == (
        "clip.support.later-level",
        "tensor.position",
        ("count",),
    )
    assert dict(finding.details)["needs"] == "40 elements (right with 39)"
    (unknown,) = reported(OfMany, SUPPORT)
    assert (unknown.clause, unknown.because) == ("clip.support.later-level", ""), "the control: nothing is known"


def test_a_wrong_value_in_a_support_test_is_the_values() -> None:
    known, finding, again = reported(
        Spoilt, tried(laid_clip((4,)), None), SUPPORT, replace(SUPPORT, operator=laid_clip((7,)))
    )
    assert (known.clause, known.because) == ("clip.formula", "")
    assert [(item.clause, item.because) for item in (finding, again)] == [
        ("clip.support.later-level", "clip.formula")
    ] * 2
    (unknown,) = reported(Spoilt, SUPPORT)
    assert unknown.because == "", "the control"


def test_another_fault_of_the_operator_explains_nothing() -> None:
    class Two(OfMany):
        def strikes(self, operator: OperatorDesc) -> bool:
            return super().strikes(operator) or permuted(operator.input)

    known, finding = reported(Two, POSITION, tried(laid_clip((3, 4), (1, 3)), "tensor.strides.permuted"))
    assert (known.needs, finding.needs, finding.because) == (("count",), ("input strides",), "")


def test_a_value_that_is_wrong_unscaled_too_is_explained_where_a_test_of_scales_recognises_it() -> None:
    scaled = [
        tried(laid_clip((4,), scale_bias=ScaleBias(literal, 0)), None, "clip.scale-bias.integer")
        for literal in (1, 2, 1)
    ]
    first, *others = reported(Spoilt, *scaled)
    assert (first.clause, first.because) == ("clip.formula", "")
    assert {(other.clause, other.because) for other in others} == {("clip.scale-bias.integer", "clip.formula")}

    class OfScaled(Spoilt):
        def strikes(self, operator: OperatorDesc) -> bool:
            return operator.attributes["ScaleBias"] is not None

    assert {(finding.clause, finding.because) for finding in reported(OfScaled, *scaled)} == {
        ("clip.scale-bias.integer", "")
    }
