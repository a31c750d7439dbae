"""A fault in a combination only: the report names the smallest one that is needed, and blames its clause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.attribution.needs import _applicable, confirmed, needed, with_needs
from dmlcts.suites.attribution.shrink import Effort
from dmlcts.suites.attribution.simpler import FACTORS
from dmlcts.suites.attribution.simpler import without_scale_bias as simpler_without
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.bases import permuted, strided
from dmlcts.suites.mutants.layout import packed
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.proof.probes import probes
from dmlcts.suites.running.accounts import account, evidence
from dmlcts.suites.selftest.descriptions import case
from dmlcts.suites.selftest.judging.test_judging import bench, f32

SCALED = ScaleBias(2, 1)


def without_scale_bias(operator: OperatorDesc) -> OperatorDesc:
    attributes = {name: None if isinstance(value, ScaleBias) else value for name, value in operator.attributes.items()}
    return OperatorDesc(operator.name, operator.tensors, attributes)


class Losing(Reference):
    """Loses ScaleBias where :meth:`loses` says so."""

    def loses(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return super().compute(without_scale_bias(operator) if self.loses(operator) else operator, x)


class LostWhereStrided(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return operator.input.strides is not None


class LostWhereWrittenApart(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return operator.output.strides is not None and operator.input.strides is None


class LostInTwoDimensions(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return sum(size > 1 for size in operator.input.sizes) > 1


class LostAboveRankFour(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return operator.input.rank > 4


class LostInLongTensors(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return operator.input.element_count > 40


class Lost(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return True


class InfiniteBoundsAreFinite(Reference):
    """Takes an infinite bound for the largest finite number, with ScaleBias and without."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        most = np.finfo(np.float32).max
        finite = {
            name: np.clip(value, -most, most) if isinstance(value, np.float32) else value
            for name, value in operator.attributes.items()
        }
        return super().compute(OperatorDesc(operator.name, operator.tensors, finite), x)


@pytest.mark.parametrize(
    "device, clause", [(InfiniteBoundsAreFinite, "clip.bounds.infinite"), (Lost, "clip.scale-bias")]
)
@pytest.mark.parametrize(("scale_bias", "most"), [(SCALED, np.inf), (ScaleBias(-3, 1), 1.5)], ids=["same", "turned"])
def test_scale_bias_is_blamed_for_what_needs_it_alone(
    device: type[Reference], clause: str, scale_bias: ScaleBias, most: float
) -> None:
    tensor = TensorDesc(DataType.FLOAT32, (3,))
    attributes = {"ScaleBias": scale_bias, "Min": f32(-np.inf), "Max": f32(most)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    example = Case(operator, Values.of([1.0, np.inf, 2.5], DataType.FLOAT32), "clip.scale-bias")
    (finding,) = judge_case(bench(device()), example).findings
    assert finding.clause == "clip.scale-bias"
    least = smallest(bench(device()), finding)
    assert (least.clause, least.case.clause, least.case.layout_clause) == (clause, clause, None)
    assert (least.case.operator.attributes["ScaleBias"] is None) == (clause != "clip.scale-bias")


def test_scale_bias_is_blamed_for_what_it_makes_of_bulk_values() -> None:
    """A recipe of values has no length of its own."""
    tensor = TensorDesc(DataType.FLOAT32, (9,))
    attributes = {"ScaleBias": SCALED, "Min": f32(-np.inf), "Max": f32(np.inf)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    example = Case(operator, Values.bulk(DataType.FLOAT32, 3), "clip.scale-bias")
    findings = judge_case(bench(Lost()), example).findings
    assert {finding.clause for finding in findings} == {"clip.scale-bias"}
    assert smallest(bench(Lost()), findings[0]).clause == "clip.scale-bias"
    (bulk,) = list(simpler_without(bench(Lost()), findings[0]))[1:]
    assert len(bulk.values.first) == 9


class StridesIgnored(Reference):
    """Reads the input as if it were packed, where :meth:`ignores` says so."""

    def ignores(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> bool:
        return True

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if self.ignores(operator, bindings):
            tensor = operator.input
            seen = TensorDesc(tensor.data_type, tensor.sizes, packed(tensor.sizes), tensor.total_size_in_bytes)
            operator = OperatorDesc(operator.name, {**operator.tensors, "InputTensor": seen}, operator.attributes)
        super().dispatch(operator, memory, bindings)


class StridesIgnoredInPlace(StridesIgnored):
    def ignores(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> bool:
        return bindings["InputTensor"] == bindings["OutputTensor"]


class StridesIgnoredWithoutAnUpperBound(StridesIgnored):
    def ignores(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> bool:
        return operator.attributes["Max"] == np.inf


class OffsetIgnored(Reference):
    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        moved = Region(0, bindings["InputTensor"].size)
        super().dispatch(operator, memory, {**bindings, "InputTensor": moved})


class ModeLostInLongTensors(Reference):
    def round(self, x: Array, mode: str) -> Array:
        lost = x.size > 40 and mode == "TOWARD_INFINITY"
        return super().round(x, "TOWARD_ZERO" if lost else mode)


class WrongBesideNaN(Reference):
    """A NaN spoils the element after it, in strided tensors."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        if operator.input.strides is not None:
            after = np.r_[False, np.isnan(x.reshape(-1)[:-1])].reshape(x.shape)
            y = np.where(after, np.asarray(1, y.dtype), y)
        return y


class OneWrong(Reference):
    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(x == 3, np.asarray(2, x.dtype), super().compute(operator, x))


class SecondDispatchDoesNothing(Reference):
    done: tuple[OperatorDesc, ...] = ()

    def create(self, operator: OperatorDesc) -> Any:
        kernel = super().create(operator)
        run, counted = kernel.dispatch, []

        def dispatch_first_only(memory: Array, bindings: Mapping[str, Region]) -> None:
            if not counted:
                run(memory, bindings)
            counted.append(1)

        kernel.dispatch = dispatch_first_only  # type: ignore[method-assign]  # a kernel that remembers
        return kernel


def lay(
    sizes: tuple[int, ...] = (6,),
    source: Any = None,
    target: Any = None,
    scale_bias: ScaleBias | None = SCALED,
    bounds: tuple[float, float] = (-100, 100),
    name: str = "ELEMENT_WISE_CLIP",
) -> OperatorDesc:
    tensors = {
        "InputTensor": TensorDesc(DataType.FLOAT32, sizes, source),
        "OutputTensor": TensorDesc(DataType.FLOAT32, sizes, target),
    }
    attributes: dict[str, Any] = {"RoundingMode": "TOWARD_INFINITY"}
    if name == "ELEMENT_WISE_CLIP":
        attributes = {"ScaleBias": scale_bias, "Min": f32(bounds[0]), "Max": f32(bounds[1])}
    return OperatorDesc(name, tensors, attributes)


def ramp(operator: OperatorDesc, layout_clause: str | None = "tensor.position", **changes: Any) -> Case:
    return case(operator, **{"values": np.arange(1, 60) * 1.5 - 20, "layout_clause": layout_clause, **changes})


def least(backend: Any, example: Case) -> Finding:
    """The finding as it is reported; the same case must pass where nothing is planted."""
    assert not judge_case(bench(Reference()), example).findings, "the control"
    on = bench(backend)
    return smallest(on, judge_case(on, example).findings[0])


def test_where_tensors_differ_in_sizes_no_other_sizes_and_strides_are_tried() -> None:
    tensors = {"InputTensor": TensorDesc(DataType.FLOAT32, (2, 3)), "OutputTensor": TensorDesc(DataType.FLOAT32, (6,))}
    unlike = Finding("", "fail", ramp(OperatorDesc("ELEMENT_WISE_CLIP", tensors, lay().attributes)), "")
    tried = {factor.name for factor in _applicable(unlike)}
    laid = {"input strides", "output strides", "shape", "rank", "count"}
    assert tried == {factor.name for factor in FACTORS} - laid


STRIDED = ramp(lay(source=(3,)), "tensor.strides.padded")
WIDE = (1, 1, 1, 1, 2, 30)
COMBINATIONS = {
    "strides": (LostWhereStrided, STRIDED, "tensor.strides.padded", ("scaling", "input strides")),
    "strides, met elsewhere": (
        LostWhereStrided,
        replace(STRIDED, layout_clause="tensor.position"),
        "tensor.strides.packed",
        ("scaling", "input strides"),
    ),
    "output strides": (
        LostWhereWrittenApart,
        ramp(lay(target=(3,)), "tensor.strides.output"),
        "tensor.strides.output",
        ("scaling", "output strides"),
    ),
    "two dimensions": (
        LostInTwoDimensions,
        ramp(lay((3, 4), (9, 1)), "tensor.strides.padded"),
        "tensor.position",
        ("scaling", "shape"),
    ),
    "rank": (
        LostAboveRankFour,
        ramp(lay(WIDE, packed(WIDE)), "tensor.strides.packed"),
        "tensor.position",
        ("scaling", "rank"),
    ),
    "count": (
        LostInLongTensors,
        ramp(lay((59,), (2,)), "tensor.strides.padded"),
        "tensor.position",
        ("scaling", "count"),
    ),
    "a value": (Lost, STRIDED, "clip.formula", ("scaling",)),
    "in place": (
        StridesIgnoredInPlace,
        ramp(lay((6,), (2,), (2,)), "tensor.strides.padded", placement=Placement(in_place=True)),
        "clip.in-place",
        ("in place", "input strides"),
    ),
    "bounds": (
        StridesIgnoredWithoutAnUpperBound,
        ramp(lay((6,), (2,), bounds=(-9, np.inf)), "tensor.strides.padded"),
        "tensor.strides.padded",
        ("bounds", "input strides"),
    ),
    "strides alone": (
        StridesIgnored,
        ramp(lay((2, 6), (8, 1), (1, 2)), "tensor.strides.output"),
        "tensor.strides.padded",
        ("input strides",),
    ),
    "broadcast": (
        StridesIgnored,
        ramp(lay((6,), (0,), (2,)), "tensor.strides.output"),
        "tensor.strides.broadcast",
        ("input strides",),
    ),
    "offset": (OffsetIgnored, ramp(lay((6,), (2,)), "tensor.strides.padded"), "binding.offset", ("offset",)),
    "mode": (
        ModeLostInLongTensors,
        ramp(lay((59,), (2,), name="ELEMENT_WISE_ROUND"), "tensor.strides.padded", clause="round.toward-infinity"),
        "tensor.position",
        ("count", "enumerator"),
    ),
    "history": (
        SecondDispatchDoesNothing,
        ramp(lay(), "execution.repeatable", expectation="again"),
        "execution.repeatable",
        ("history",),
    ),
    "nothing": (
        OneWrong,
        ramp(lay((6,), (2,), scale_bias=None), "tensor.strides.padded", values=Values.of([1, 3, 5], DataType.FLOAT32)),
        "clip.formula",
        (),
    ),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_smallest_combination_is_named_and_its_clause_blamed(name: str) -> None:
    backend, example, clause, needs = COMBINATIONS[name]
    finding = least(backend(), example)
    assert (finding.clause, finding.needs) == (clause, tuple(sorted(needs)))
    assert ("needs" in evidence(finding)) == bool(needs)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_smallest_case_shows_the_same_again_and_not_without_what_it_needs(name: str) -> None:
    backend, example, clause, _ = COMBINATIONS[name]
    finding = least(backend(), example)
    assert [(again.clause, again.outcome) for again in judge_case(bench(backend()), finding.case).findings] == [
        (clause, "fail")
    ]
    if "scaling" in finding.needs:
        bare = finding.case.with_operator(without_scale_bias(finding.case.operator))
        assert not judge_case(bench(backend()), bare).findings


def test_what_is_not_needed_is_left_out_of_the_case() -> None:
    operator = lay((2, 6), (8, 1), (1, 2), bounds=(-9, np.inf))
    wide = ramp(operator, "tensor.strides.output", placement=Placement(front=32))
    finding = least(StridesIgnored(), wide)
    operator = finding.case.operator
    assert operator.attributes["ScaleBias"] is None
    assert np.isfinite(operator.attributes["Max"])  # type: ignore[arg-type]  # a FLOAT
    assert (operator.output.strides, finding.case.placement) == (None, Placement())
    assert finding.needs == ("input strides",)


class WrongOfStrided(Reference):
    """MAX gets its first element wrong where all of some operands are strided."""

    level = LEVEL
    strided: tuple[str, ...] = ("BTensor",)

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        """Right first, then one byte turned over."""
        super().dispatch_exact(operator, table, memory, bindings)
        if all(operator.tensors[name].strides is not None for name in self.strided):
            memory[bindings[operator.output_name].offset] ^= 0x3F


class WrongOfBothStrided(WrongOfStrided):
    """Of two."""

    strided = ("ATensor", "BTensor")


@pytest.mark.parametrize(
    ("backend", "needs"),
    [
        (WrongOfStrided, "strides of BTensor (right with packed inputs)"),
        (WrongOfBothStrided, "strides of ATensor and BTensor (right with packed inputs)"),
    ],
)
@pytest.mark.size("thorough")
def test_of_several_strided_inputs_those_are_named_whose_strides_matter(
    backend: type[WrongOfStrided], needs: str
) -> None:
    tables = load_tables()
    on = Bench("x", backend(), {}, tables)
    (probe,) = [
        candidate
        for candidate in probes(tables)
        if candidate.table.short_name == "MAX"
        and str(candidate.signature) == "INT32"
        and "test_padded_strides[" in candidate.test
    ]
    findings = [smallest(on, finding) for finding in probe.run(on, 0).ledger.findings]
    assert {dict(finding.details).get("needs") for finding in findings} == {needs}


@pytest.mark.parametrize(
    ("strides", "text"),
    [
        ((0, 1), "BTensor repeated"),
        ((1, 0), "BTensor repeated"),
        ((0, 2), "BTensor repeated with gaps"),
        ((0, 0), "one element of BTensor for all"),
        ((4, 1), "gaps in BTensor"),
        ((1, 2), "BTensor permuted"),
        ((2, 5), "BTensor permuted with gaps"),
        ((3, 1), "strides of BTensor"),  # those of a packed tensor
    ],
)
def test_how_one_of_several_inputs_is_laid_out_is_named(strides: tuple[int, int], text: str) -> None:
    plain, laid = TensorDesc(DataType.INT32, (2, 3)), TensorDesc(DataType.INT32, (2, 3), strides)
    operator = OperatorDesc("ELEMENT_WISE_MAX", {"ATensor": plain, "BTensor": laid, "OutputTensor": plain}, {})
    elements = {name: np.arange(6, dtype=np.int32) for name in ("ATensor", "BTensor")}
    example = Case(operator, Streams.of(elements, operator), "max.formula")
    (factor,) = [item for item in FACTORS if item.name == "input strides"]
    assert factor.wording(example) == text


class RefusesOtherRanks(Reference):
    """Refuses what has not four dimensions, and adds 1 too much to what it accepts."""

    level = "1.0"

    def refuses(self, operator: OperatorDesc) -> str:
        """All other ranks, obliged or not."""
        return "" if operator.output.rank == 4 else "four dimensions only"

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """One more."""
        return np.asarray(super().compute_exact(operator, inputs) + inputs[0].dtype.type(1))


class RightAtOtherRanks(RefusesOtherRanks):
    """Wrong with four dimensions, right with fewer."""

    level = "6.4"

    def refuses(self, operator: OperatorDesc) -> str:
        """What the tables refuse."""
        return Reference.refuses(self, operator)

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """One more where there are four dimensions."""
        right = Reference.compute_exact(self, operator, inputs)
        return np.asarray(right + right.dtype.type(1)) if operator.output.rank == 4 else right


@pytest.mark.parametrize(
    ("backend", "needs"),
    [
        (RefusesOtherRanks, None),
        (RightAtOtherRanks, "rank 4 (right at rank 1, 2, 3)"),
    ],
)
def test_what_is_refused_at_another_rank_is_not_right_there(backend: type[Reference], needs: str | None) -> None:
    tensor = TensorDesc(DataType.INT16, (1, 1, 1, 2))
    names = ("ATensor", "BTensor", "OutputTensor")
    operator = OperatorDesc("ELEMENT_WISE_ADD", dict.fromkeys(names, tensor), {})
    elements = {name: np.array([3, 5], np.int16) for name in names[:2]}
    example = Case(operator, Streams.of(elements, operator), "add.formula")
    on = Bench("x", backend(), {}, load_tables())
    first = replace(judge_case(on, example).findings[0], suspects=())
    result = needed(on, first, Effort())
    assert dict(with_needs(result).details).get("needs") == needs


class LostWherePermuted(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return permuted(operator.input)


class LostInManyFromStrides(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and operator.output.element_count > 11


class LostInManyWherePermuted(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return permuted(operator.input) and operator.output.element_count > 11


class LostInTwoFromStrides(Losing):
    def loses(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and sum(size > 1 for size in operator.input.sizes) > 1


@pytest.mark.parametrize(
    ("backend", "sizes", "source", "needs"),
    [
        (
            LostWherePermuted,
            (2, 3),
            (1, 2),
            "ScaleBias and input strides (right without ScaleBias; right with a packed input)",
        ),
        (
            LostWherePermuted,
            (2, 3, 4),
            (1, 2, 6),
            "ScaleBias and input strides (right without ScaleBias; right with a packed input)",
        ),
        (
            LostInManyFromStrides,
            (2, 3, 4),
            (48, 8, 1),
            "ScaleBias, 12 elements and input strides (right without ScaleBias; "
            "right with 11; right with a packed input)",
        ),
        (
            LostInManyWherePermuted,
            (2, 3, 4),
            (1, 2, 6),
            "ScaleBias, 12 elements and input strides "
            "(right without ScaleBias; right with 9; right with a packed input)",
        ),
        (
            LostInTwoFromStrides,
            (2, 3),
            (9, 2),
            "ScaleBias, 2 dimensions above 1 and input strides (right without "
            "ScaleBias; right with one; right with a packed input)",
        ),
    ],
)
def test_no_shape_is_needed_that_strides_bring_with_them(
    backend: type[Reference], sizes: tuple[int, ...], source: tuple[int, ...], needs: str
) -> None:
    """Strides of another order need two dimensions; as many elements may stand in one with the same gaps."""
    finding = least(backend(), ramp(lay(sizes, source), "tensor.strides.padded"))
    assert evidence(finding)["needs"] == needs


def test_values_that_nothing_follows_from_do_not_keep_a_case_large() -> None:
    """All elements are given the wrong one's value: others are right because of what they hold."""

    class SmallFromStrides(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return np.where((x == 7) & (operator.input.strides is not None), f32(50), y).astype(y.dtype)

    values = Values.of([1, 2, 3, 4, 5, 7], DataType.FLOAT32)
    operator = lay((2, 3), (9, 2), scale_bias=None)
    finding = least(SmallFromStrides(), ramp(operator, "tensor.strides.padded", values=values))
    assert finding.case.operator.output.element_count <= 2
    assert finding.needs == ("input strides",)


def test_a_nan_beside_it_is_needed() -> None:
    values = Values.of([1, np.nan, 5, 7, 9], DataType.FLOAT32)
    finding = least(WrongBesideNaN(), ramp(lay((5,), (2,), scale_bias=None), "tensor.strides.padded", values=values))
    assert finding.clause == "tensor.strides.padded"
    assert finding.needs == ("input strides", "inputs")
    assert np.array_equal(finding.case.values.first.array(2), [np.nan, 5], equal_nan=True)
    assert "NaN inputs" in evidence(finding)["needs"]


def test_the_account_states_what_is_needed_and_what_each_is_needed_for() -> None:
    finding = least(LostWhereStrided(), STRIDED)
    text = "ScaleBias and input strides (right without ScaleBias; right with a packed input)"
    assert evidence(finding)["needs"] == text
    assert f"  needs        {text}" in account(bench(Reference()).tables, finding, "dmlcts replay x").splitlines()
    long = least(LostInLongTensors(), ramp(lay((59,)), "tensor.position"))
    assert evidence(long)["needs"] == "ScaleBias and 41 elements (right without ScaleBias; right with 40)"


def test_a_value_test_that_needs_neighbours_is_about_position() -> None:
    finding = least(LostInLongTensors(), ramp(lay((59,)), None, clause="clip.scale-bias"))
    assert (finding.clause, finding.case.layout_clause) == ("tensor.position", "tensor.position")
    alone = least(Lost(), ramp(lay((59,)), None, clause="clip.scale-bias"))
    assert (alone.clause, alone.needs) == ("clip.scale-bias", ("scaling",))


def test_a_clause_on_what_may_be_refused_is_about_its_values_too() -> None:
    wide = ramp(lay(WIDE), None, clause="clip.support.later-level")
    assert least(LostAboveRankFour(), wide).clause == "clip.support.later-level"
    assert least(LostAboveRankFour(), replace(wide, clause="clip.formula")).clause == "tensor.position"


def test_what_could_not_be_tried_is_not_claimed() -> None:
    on = bench(LostWhereStrided())
    first = judge_case(on, ramp(lay((3, 4), (9, 2)), "tensor.strides.padded")).findings[0]
    enough, too_few = (smallest(on, first, Effort(removals=removals)) for removals in (120, 3))
    assert (enough.clause, enough.needs) == ("tensor.strides.padded", ("input strides", "scaling"))
    assert (too_few.clause, too_few.needs, "needs" in evidence(too_few)) == ("tensor.strides.padded", (), False)


@pytest.mark.parametrize("value, seen", [(np.inf, True), (2.5, False)], ids=["infinite", "ordinary"])
def test_a_need_is_confirmed_only_where_the_case_has_it(value: float, seen: bool) -> None:
    """A known fault of infinite inputs is not that of a case that goes wrong without any."""

    class Large(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return np.where(np.isinf(x) | (x == f32(2.5)), f32(1e38), y).astype(y.dtype)

    tensor = TensorDesc(DataType.FLOAT32, (1,))
    tensors = {"InputTensor": tensor, "OutputTensor": tensor}
    operator = OperatorDesc("ELEMENT_WISE_ROUND", tensors, {"RoundingMode": "TOWARD_ZERO"})
    on = bench(Large())
    (finding,) = judge_case(on, Case(operator, Values.of([value], DataType.FLOAT32), "round.toward-zero")).findings
    needs = confirmed(on, finding, ("inputs",))
    assert (needs is not None) is seen
    if needs is not None:
        assert needs.wording() == "infinite inputs (right with ordinary inputs)"
