"""A failing case made simpler in one factor at a time: what the cases of ``needs`` are tried without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.specs.descriptions import Attribute
from dmlcts.suites.attribution.shrink import TELLING, again, resizable, resized, telling_values
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case, Placement
from dmlcts.suites.cases.values import Values, text
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding

_STANDARD = Placement()

_HISTORIES = {
    "again": ("an earlier dispatch of the kernel", "at its first dispatch"),
    "beside others": ("other kernels", "alone"),
    "dispatched again": ("an earlier dispatch of the kernel", "at its first dispatch"),
    "after another": ("other kernels before it", "alone"),
    "beside another": ("other kernels", "alone"),
}


@dataclass(frozen=True)
class Factor:
    """A factor.

    Attributes:
        name: its name.
        without: cases that have it at its base level; it is needed where all of them come out right.
        said: its level in a case, in words.
        right: its base level, in words.
        replaces: whether a case without it takes the case's place: the guards before an offset are worth keeping,
            and no enumerator is simpler than another.
    """

    name: str
    without: Callable[[Bench, Finding], Iterator[Case]]
    said: Callable[[Case], str]
    right: Callable[[Bench, Case], str]
    replaces: bool = True


def _without_history(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.expectation in _HISTORIES:
        yield replace(finding.case, expectation="oracle", beside=())


def _out_of_place(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.placement.in_place:
        yield replace(finding.case, placement=replace(finding.case.placement, in_place=False))


def _standard_placement(bench: Bench, finding: Finding) -> Iterator[Case]:
    placement = finding.case.placement
    standard = replace(_STANDARD, front=placement.front, in_place=placement.in_place)
    if placement != standard:
        yield replace(finding.case, placement=standard)


def _without_offset(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.placement.front:
        yield replace(finding.case, placement=replace(finding.case.placement, front=0))


def _exact_total_size(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    source, target = case.operator.input, case.operator.output
    if resizable(case):
        exact = resized(case, source.sizes, source.strides, target.strides, excess=False)
        if exact.operator != case.operator:
            yield exact


def _packed_output(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if case.operator.output.strides is not None and not case.placement.in_place:
        yield resized(case, case.operator.input.sizes, case.operator.input.strides, None)


def _packed_input(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if case.operator.input.strides is not None:
        yield resized(case, case.operator.input.sizes, None, case.operator.output.strides)


def long_axes(case: Case) -> list[int]:
    """The input's dimensions that hold more than one element."""
    return [axis for axis, size in enumerate(case.operator.input.sizes) if size > 1]


def _one_long_axis(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    source, target = case.operator.input, case.operator.output
    axes = long_axes(case)
    if len(axes) < 2:
        return
    rank = source.rank
    if source.strides is None and target.strides is None:
        yield resized(case, (*([1] * (rank - 1)), source.element_count), None, None)
    if case.expectation == "one value":
        return  # fewer elements may lack those that show what its bounds became
    for kept in axes:
        sizes = tuple(size if axis == kept else 1 for axis, size in enumerate(source.sizes))
        yield resized(case, sizes, source.strides, target.strides)


def _lower_ranks(bench: Bench, case: Case) -> list[int]:
    """The ranks below the case's that the level obliges, the lowest first; a rank that may be refused shows nothing.

    Where the case's own rank is of a later level, those that any level lists.
    """
    table = bench.tables.operator(case.operator.name)
    ranks = range(1, case.operator.input.rank)
    if table.obliged(case.data_type, case.operator.input.rank, bench.level):
        return [rank for rank in ranks if table.obliged(case.data_type, rank, bench.level)]
    return [rank for rank in ranks if table.listed(case.data_type, rank)]


def _lower_rank(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    source, target = case.operator.input, case.operator.output
    packed = source.strides is None and target.strides is None
    for rank in _lower_ranks(bench, case):
        surplus = source.rank - rank
        ones = [axis for axis, size in enumerate(source.sizes) if size == 1][:surplus]
        kept = [axis for axis in range(source.rank) if axis not in ones]
        if len(kept) == rank:
            strides = [
                None if tensor.strides is None else tuple(tensor.strides[axis] for axis in kept)
                for tensor in (source, target)
            ]
            yield resized(case, tuple(source.sizes[axis] for axis in kept), *strides)
        elif packed:
            yield resized(case, (math.prod(source.sizes[: surplus + 1]), *source.sizes[surplus + 1 :]), None, None)


def _one_element(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    source, target = case.operator.input, case.operator.output
    if source.element_count < 2:
        return
    if case.expectation == "one value":
        if source.strides is None and target.strides is None and source.element_count > TELLING:
            fewest = resized(case, (*([1] * (source.rank - 1)), TELLING), None, None)
            for value in finding.suspects:
                yield replace(fewest, values=telling_values(case, value))
        return
    alone = resized(case, (1,) * source.rank, source.strides, target.strides)
    suspects = finding.suspects or tuple(case.values.array(1))
    for value in suspects:
        yield replace(alone, values=Values.of([value], case.data_type))


def _one_fewer(bench: Bench, case: Case) -> str:
    """How many elements come out right: one fewer where that was seen, else a single one."""
    source, target = case.operator.input, case.operator.output
    axis = int(np.argmax(source.sizes))
    sizes = (*source.sizes[:axis], source.sizes[axis] - 1, *source.sizes[axis + 1 :])
    fewer = resized(case, sizes, source.strides, target.strides)
    least = TELLING if case.expectation == "one value" else 1
    return f"with {math.prod(sizes) if again(bench, fewer, 'fail') is None else least}"


def _kinds(values: Any) -> list[str]:
    """What is out of the ordinary among floating-point values."""
    if values.dtype.kind != "f":
        return []
    small = np.finfo(values.dtype).smallest_normal
    kinds = {
        "NaN": np.isnan(values),
        "infinite": np.isinf(values),
        "subnormal": (values != 0) & (np.abs(values) < small),
        "-0.0": (values == 0) & np.signbit(values),
    }
    return [name for name, found in kinds.items() if found.any()]


def _special(values: Any) -> Any:
    small = np.finfo(values.dtype).smallest_normal
    with np.errstate(invalid="ignore"):
        return ~np.isfinite(values) | ((np.abs(values) < small) & ((values != 0) | np.signbit(values)))


def _ordinary_inputs(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if not case.data_type.is_floating or not len(case.values):
        return  # integers are all of one kind, and the recipes of bulk values have ordinary ones only
    values = case.values.array(len(case.values)).copy()
    special = _special(values)
    if not special.any():
        return
    others = np.resize(np.array([3.0, -5.5, 7.25, 0.5, 11.0], values.dtype), values.size)
    yield replace(case, values=Values.of(np.where(special, others, values), case.data_type))


def _inputs_said(case: Case) -> str:
    return " and ".join(_kinds(case.values.array(len(case.values)))) + " inputs"


def _is_ordinary(value: np.float32, data_type: DataType) -> bool:
    """Whether a bound is a plain number of the tensor's type: finite, exact, neither zero nor subnormal."""
    if not np.isfinite(value):
        return False
    if data_type is DataType.FLOAT32:
        return bool(abs(value) >= np.finfo(np.float32).smallest_normal)
    if data_type.is_floating:
        with np.errstate(over="ignore", under="ignore"):
            cast = value.astype(data_type.numpy)
        return bool(np.float32(cast) == value and abs(value) >= np.finfo(data_type.numpy).smallest_normal)
    limits = np.iinfo(data_type.numpy)
    return float(value).is_integer() and int(limits.min) <= int(value) <= int(limits.max)


def _bounds(case: Case) -> dict[str, np.float32]:
    return {name: value for name, value in case.operator.attributes.items() if isinstance(value, np.float32)}


def _with_attributes(case: Case, given: Mapping[str, Attribute | float]) -> Case:
    attributes = {**case.operator.attributes, **given}
    return case.with_operator(OperatorDesc(case.operator.name, case.operator.tensors, attributes))


def _ordinary_bounds(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    bounds = _bounds(case)
    ordered = bounds.get("Min", np.float32(-np.inf)) < bounds.get("Max", np.float32(np.inf))
    if not bounds or (ordered and all(_is_ordinary(value, case.data_type) for value in bounds.values())):
        return
    subject = subject_of(bench, case)
    for attributes in (subject.revealing(), subject.attributes(Min=2.0, Max=6.0)):
        yield _with_attributes(case, {name: attributes[name] for name in bounds})


def subject_of(bench: Bench, case: Case) -> Subject:
    """What a test would be given to make such a case."""
    return Subject(bench.tables.operator(case.operator.name), case.data_type, bench.level, 0, thorough=False)


def _bounds_said(case: Case) -> str:
    return " and ".join(f"{name} = {text(value)}" for name, value in _bounds(case).items())


def _enumerators(bench: Bench, case: Case) -> dict[str, tuple[str, ...]]:
    """The other enumerators of each attribute that has them."""
    table = bench.tables.operator(case.operator.name)
    return {
        item.name: tuple(name for name in item.enumerators if name != case.operator.attributes[item.name])
        for item in table.attributes
        if item.type == "ENUM"
    }


def _other_enumerators(bench: Bench, finding: Finding) -> Iterator[Case]:
    for name, others in _enumerators(bench, finding.case).items():
        for other in others:
            yield _with_attributes(finding.case, {name: other})


def _enumerator_said(case: Case) -> str:
    return " and ".join(value for value in case.operator.attributes.values() if isinstance(value, str))


def _scaled(case: Case) -> dict[str, Attribute]:
    return {name: None for name, value in case.operator.attributes.items() if isinstance(value, ScaleBias)}


def _without_scale_bias(bench: Bench, finding: Finding) -> Iterator[Case]:
    if _scaled(finding.case):
        yield _with_attributes(finding.case, _scaled(finding.case))


def _fixed(words: str) -> Callable[[Case], str]:
    return lambda case: words


def _base(words: str) -> Callable[[Bench, Case], str]:
    return lambda bench, case: words


FACTORS = (
    Factor("history", _without_history, lambda case: _HISTORIES[case.expectation][0],
            lambda bench, case: _HISTORIES[case.expectation][1]),
    Factor("in place", _out_of_place, _fixed("in place"), _base("out of place")),
    Factor("placement", _standard_placement, _fixed("this place of the output or slack"),
            _base("with the output 256 bytes after the input, without slack")),
    Factor("offset", _without_offset, lambda case: f"an offset of {case.placement.front} bytes", _base("at 0"),
            replaces=False),
    Factor("total size", _exact_total_size, _fixed("a larger total size"), _base("with the exact one")),
    Factor("output strides", _packed_output, _fixed("output strides"), _base("with a packed output")),
    Factor("input strides", _packed_input, _fixed("input strides"), _base("with a packed input")),
    Factor("shape", _one_long_axis, lambda case: f"{len(long_axes(case))} dimensions above 1", _base("with one")),
    Factor("rank", _lower_rank, lambda case: f"rank {case.operator.input.rank}", lambda bench, case: (
        f"at rank {', '.join(str(one.operator.input.rank) for one in _lower_rank(bench, Finding('', '', case, '')))}"
    )),
    Factor("count", _one_element, lambda case: f"{case.operator.input.element_count} elements", _one_fewer),
    Factor("inputs", _ordinary_inputs, _inputs_said, _base("with ordinary inputs")),
    Factor("bounds", _ordinary_bounds, _bounds_said, _base("with ordinary bounds")),
    Factor("enumerator", _other_enumerators, _enumerator_said, lambda bench, case: "with " + " and ".join(
        other for others in _enumerators(bench, case).values() for other in others
    ), replaces=False),
    Factor("ScaleBias", _without_scale_bias, _fixed("ScaleBias"), _base("without ScaleBias")),
)  # fmt: skip
