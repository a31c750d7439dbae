"""A failing case made simpler in one factor at a time: what the cases of ``needs`` are tried without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vector_scale_bias import Operands, plainly_scaled
from dmlcts.suites.attribution.inputs import ordinary_inputs, unusual_inputs_text
from dmlcts.suites.attribution.shrink import (
    DISTINGUISHING_COUNT,
    distinguishing_values,
    layouts,
    resizable,
    resized,
    spread,
)
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values, text
from dmlcts.suites.combinations.sizes import layout_text
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding, streams_of

_STANDARD = Placement()
_MOST_SCALED = 1 << 16
_FEWEST_OF_AN_ORDER = 2  # dimensions
_MOST_STRETCHED = 1 << 20  # elements from the first to the last in memory

SCALING = "scaling"
"""The factor that is a scale and bias, whatever the operator calls it."""

_HISTORIES = {
    "again": ("an earlier dispatch of the kernel", "at its first dispatch"),
    "many times": ("many earlier dispatches of the kernel", "at its first dispatch"),
    "beside others": ("other kernels", "alone"),
    "dispatched again": ("an earlier dispatch of the kernel", "at its first dispatch"),
    "after another": ("other kernels before it", "alone"),
    "beside another": ("other kernels", "alone"),
    "beside other tensors": ("kernels on other tensors", "alone"),
    "after a refusal": ("a refused description before it", "alone"),
}


@dataclass(frozen=True)
class Factor:
    """A factor.

    Attributes:
        name: its name.
        without: cases that have it at its base level; it is needed where all of them come out right.
        wording: its level in a case, in words.
        right: its base level, in words.
        replaces: whether a case without it takes the case's place: the guards before an offset are worth keeping,
            and no enumerator is simpler than another.
    """

    name: str
    without: Callable[[Bench, Finding], Iterator[Case]]
    wording: Callable[[Case], str]
    right: Callable[[Bench, Case], str]
    replaces: bool = True


def _without_history(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.expectation in _HISTORIES:
        yield replace(finding.case, expectation="oracle", beside=())


def _out_of_place(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.placement.in_place:
        yield replace(finding.case, placement=replace(finding.case.placement, in_place=False))


def _standard_placement(bench: Bench, finding: Finding) -> Iterator[Case]:
    """The standard place; then that with the first input at the offset that it had, which may be what matters."""
    placement, operator = finding.case.placement, finding.case.operator
    standard = replace(
        _STANDARD,
        front=placement.front,
        in_place=placement.in_place,
        alias=placement.alias,
        one_region=placement.one_region,
    )
    if placement != standard:
        yield replace(finding.case, placement=standard)
        offset = placement.regions(operator)[0][operator.input_name].offset
        if offset != standard.front:
            yield replace(finding.case, placement=replace(standard, front=offset))


def _without_offset(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.placement.front:
        yield replace(finding.case, placement=replace(finding.case.placement, front=0))


def _exact_total_size(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if resizable(case):
        exact = resized(case, case.operator.output.sizes, layouts(case), excess=False)
        if exact.operator != case.operator:
            yield exact


def _packed_output(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if case.operator.output.strides is not None and not case.placement.in_place:
        yield resized(case, case.operator.output.sizes, {**layouts(case), case.operator.output_name: None})


def strided_inputs(case: Case) -> list[str]:
    """The names of the inputs that have strides."""
    return [name for name, tensor in spread(case).items() if tensor.strides is not None]


def _packed_input(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    strided = strided_inputs(case)
    if strided:
        yield resized(case, case.operator.output.sizes, {**layouts(case), **dict.fromkeys(strided)})


def _apart(bench: Bench, finding: Finding) -> Iterator[Case]:
    if finding.case.placement.one_region:
        yield replace(finding.case, placement=replace(finding.case.placement, one_region=False))


def long_axes(case: Case) -> list[int]:
    """The output's dimensions that hold more than one element."""
    return [axis for axis, size in enumerate(case.operator.output.sizes) if size > 1]


def _one_long_axis(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    whole, laid = case.operator.output.sizes, layouts(case)
    axes = long_axes(case)
    if len(axes) < 2:
        return
    rank = len(whole)
    if not any(laid.values()):
        yield resized(case, (*([1] * (rank - 1)), math.prod(whole)), {})
    else:
        yield from _all_in_a_row(case)
        yield from _all_in_two_rows(case)
    if case.expectation == "one value":
        return  # fewer elements may lack those that show what its bounds became
    for kept in axes:
        sizes = tuple(size if axis == kept else 1 for axis, size in enumerate(whole))
        yield resized(case, sizes, laid)


def _all_in_a_row(case: Case) -> Iterator[Case]:
    """As many elements along the last dimension alone, in each tensor with one of its strides that is not packed."""
    whole, laid, axes = case.operator.output.sizes, layouts(case), long_axes(case)
    count, last = math.prod(whole), len(whole) - 1
    in_a_row: dict[str, tuple[int, ...] | None] = {}
    for name, strides in laid.items():
        own = [] if strides is None else sorted(strides[axis] for axis in axes if strides[axis] != 1)
        in_a_row[name] = None if strides is None else (*strides[:last], *(own[:1] or [1]))
    if max(strides[last] for strides in in_a_row.values() if strides is not None) * count <= _MOST_STRETCHED:
        yield resized(case, (*([1] * last), count), in_a_row)


def _all_in_two_rows(case: Case) -> Iterator[Case]:
    """As many elements along two dimensions, where there are more: the fewest that strides of another order take."""
    tensors, laid, whole = case.operator.tensors, layouts(case), case.operator.output.sizes
    kinds = {name: kind_of(tensors[name]) for name in laid}
    if len(long_axes(case)) <= _FEWEST_OF_AN_ORDER or "permuted" not in kinds.values():
        return
    half = -(-math.prod(whole) // 2)
    strides = {"permuted": (1, 2), "broadcast": (0, 1), "padded": (2 * half, 2), "packed": (half, 1)}
    ones = [1] * (len(whole) - 2)
    in_two = {name: None if laid[name] is None else (*ones, *strides[kinds[name]]) for name in laid}
    yield resized(case, (*ones, 2, half), in_two)


def kind_of(tensor: TensorDesc) -> str:
    """What kind of strides a tensor has, along the dimensions that are longer than one."""
    seen = [(stride, size) for stride, size in zip(tensor.element_strides, tensor.sizes, strict=True) if size > 1]
    strides = [stride for stride, _ in seen]
    if 0 in strides:
        return "broadcast"
    if strides != sorted(strides, reverse=True):
        return "permuted"
    packed = 1
    for stride, size in reversed(seen):
        if stride != packed:
            return "padded"
        packed *= size
    return "packed"


def in_order(case: Case) -> Case | None:
    """The case with gaps alone where its strides repeat elements or change their order; ``None`` where none do."""
    tensors = case.operator.tensors
    sizes = case.operator.output.sizes
    padded = tuple(2 * math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
    laid = layouts(case)
    turned = [name for name in laid if kind_of(tensors[name]) in ("broadcast", "permuted")]
    return resized(case, sizes, {**laid, **dict.fromkeys(turned, padded)}) if turned else None


def _lower_ranks(bench: Bench, case: Case) -> list[int]:
    """The ranks below the case's that the level obliges, the lowest first; a rank that may be refused shows nothing.

    Where the case's own rank is of a later level, those that any level lists.
    """
    subject = subject_of(bench, case)
    own = case.operator.output.rank
    level = bench.level if subject.listed(own, bench.level) else None
    return [rank for rank in range(1, own) if subject.listed(rank, level)]


def _lower_rank(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    whole, laid = case.operator.output.sizes, layouts(case)
    for rank in _lower_ranks(bench, case):
        surplus = len(whole) - rank
        ones = [axis for axis, size in enumerate(whole) if size == 1][:surplus]
        kept = [axis for axis in range(len(whole)) if axis not in ones]
        if len(kept) == rank:
            fewer = {
                name: None if strides is None else tuple(strides[axis] for axis in kept)
                for name, strides in laid.items()
            }
            yield resized(case, tuple(whole[axis] for axis in kept), fewer)
        elif not any(strides is not None for strides in laid.values()):
            yield resized(case, (math.prod(whole[: surplus + 1]), *whole[surplus + 1 :]), {})


def _one_element(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    output, laid = case.operator.output, layouts(case)
    if output.element_count < 2:
        return
    if case.expectation == "one value":
        if not any(strides is not None for strides in laid.values()) and output.element_count > DISTINGUISHING_COUNT:
            fewest = resized(case, (*([1] * (output.rank - 1)), DISTINGUISHING_COUNT), {})
            for suspect in finding.suspects:
                yield replace(fewest, values=distinguishing_values(case, suspect))
        return
    alone = resized(case, (1,) * output.rank, laid)
    suspects = finding.suspects or (tuple(values.array(1)[0] for values in case.values.values()),)
    for suspect in suspects:
        yield replace(alone, values=streams_of(case, suspect))


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


def scaled_clauses(table: OperatorTable) -> frozenset[str | None]:
    """The clauses of an operator on a scale and bias."""
    exact, inexact = table.clause_of("scale-bias.integer"), table.clause_of("scale-bias.integer-inexact")
    return frozenset({table.clause_of("scale-bias"), exact, inexact})


def _bounds(case: Case) -> dict[str, np.float32]:
    return {name: value for name, value in case.operator.attributes.items() if isinstance(value, np.float32)}


def _with_attributes(case: Case, changes: Mapping[str, Attribute | float]) -> Case:
    attributes = {**case.operator.attributes, **changes}
    return case.with_operator(OperatorDesc(case.operator.name, case.operator.tensors, attributes))


def _ordinary_bounds(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    bounds = _bounds(case)
    if not subject_of(bench, case).of_one_type:
        return
    table = bench.tables.operator(case.operator.name)
    ordered = bounds.get(table.lower or "", np.float32(-np.inf)) < bounds.get(table.upper or "", np.float32(np.inf))
    if not bounds or (ordered and all(_is_ordinary(value, case.data_type) for value in bounds.values())):
        return
    subject = subject_of(bench, case)
    for attributes in (subject.revealing(), subject.between(2.0, 6.0)):
        yield _with_attributes(case, {name: attributes[name] for name in bounds})


def subject_of(bench: Bench, case: Case) -> Subject:
    """What a test would be given to make such a case."""
    return Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)


def _bounds_text(case: Case) -> str:
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


def _enumerator_text(case: Case) -> str:
    return " and ".join(value for value in case.operator.attributes.values() if isinstance(value, str))


def _scaled(case: Case) -> dict[str, Attribute]:
    return {name: None for name, value in case.operator.attributes.items() if isinstance(value, ScaleBias)}


def without_scale_bias(bench: Bench, finding: Finding) -> Iterator[Case]:
    """The same inputs without it; then what it makes of the only input, for what comes after it may be at fault.

    Where a scale is negative, the infinity that meets an infinite Min is one of the other sign.
    """
    case = finding.case
    scale_bias = case.operator.scale_bias
    if scale_bias is None:
        return
    plain = _with_attributes(case, _scaled(case))
    yield plain
    operation = bench.tables.law(bench.tables.operator(case.operator.name)).scale_bias
    if operation is not None and case.data_type.is_floating and subject_of(bench, case).of_one_type:
        stream = case.values.first
        count = min(len(stream) or case.operator.input.element_count, _MOST_SCALED)  # a recipe's has no end
        scaled = plainly_scaled(stream.array(count), Operands.of(operation, scale_bias), case.data_type)
        yield replace(plain, values=Streams(((case.operator.input_name, Values.of(scaled, case.data_type)),)))


def _without_activation(bench: Bench, finding: Finding) -> Iterator[Case]:
    fused = {name: None for name, value in finding.case.operator.attributes.items() if isinstance(value, OperatorDesc)}
    if fused:
        yield _with_attributes(finding.case, fused)


def _activation_text(case: Case) -> str:
    return "" if case.operator.activation is None else case.operator.activation.name


def _fixed(words: str) -> Callable[[Case], str]:
    return lambda case: words


def _base(words: str) -> Callable[[Bench, Case], str]:
    return lambda bench, case: words


def _strides_text(case: Case) -> str:
    """How the strided inputs are laid out; of an only input no more than that it has strides."""
    inputs = spread(case)
    if len(inputs) == 1:
        return "input strides"
    names = strided_inputs(case)
    descriptions = [layout_text(name, inputs[name]) for name in names]
    if all(words.startswith("strides of") for words in descriptions):
        return f"strides of {' and '.join(names)}"  # of one element each, or as packed tensors have them
    return " and ".join(descriptions)


def _packed_text(bench: Bench, case: Case) -> str:
    return "with a packed input" if len(spread(case)) == 1 else "with packed inputs"


FACTORS = (
    Factor(
        "history",
        _without_history,
        lambda case: _HISTORIES[case.expectation][0],
        lambda bench, case: _HISTORIES[case.expectation][1],
    ),
    Factor("in place", _out_of_place, _fixed("in place"), _base("out of place")),
    Factor("one region", _apart, _fixed("inputs in one region"), _base("with each in its own")),
    Factor(
        "placement",
        _standard_placement,
        _fixed("this place of the output or slack"),
        _base("with the output 256 bytes after the input, without slack"),
    ),
    Factor(
        "offset",
        _without_offset,
        lambda case: f"an offset of {case.placement.front} bytes",
        _base("at 0"),
        replaces=False,
    ),
    Factor("total size", _exact_total_size, _fixed("a larger total size"), _base("with the exact one")),
    Factor("output strides", _packed_output, _fixed("output strides"), _base("with a packed output")),
    Factor("input strides", _packed_input, _strides_text, _packed_text),
    Factor("shape", _one_long_axis, lambda case: f"{len(long_axes(case))} dimensions above 1", _base("with one")),
    Factor(
        "rank",
        _lower_rank,
        lambda case: f"rank {case.operator.output.rank}",
        lambda bench, case: (
            "at rank "
            f"{', '.join(str(lower.operator.output.rank) for lower in _lower_rank(bench, Finding('', '', case, '')))}"
        ),
    ),
    Factor("count", _one_element, lambda case: f"{case.operator.output.element_count} elements", _base("with 1")),
    Factor("inputs", ordinary_inputs, unusual_inputs_text, _base("with ordinary inputs")),
    Factor("bounds", _ordinary_bounds, _bounds_text, _base("with ordinary bounds")),
    Factor(
        "enumerator",
        _other_enumerators,
        _enumerator_text,
        lambda bench, case: (
            "with " + " and ".join(other for others in _enumerators(bench, case).values() for other in others)
        ),
        replaces=False,
    ),
    Factor(
        SCALING,
        without_scale_bias,
        lambda case: "".join(_scaled(case)),
        lambda bench, case: f"without {''.join(_scaled(case))}",
    ),
    Factor("activation", _without_activation, _activation_text, _base("without an activation")),
)
