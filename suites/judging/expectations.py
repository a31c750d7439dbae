"""What a case may expect: each expectation runs the case and says what is wrong.

An expectation is a function of the bench and the case; it is found by its name, so that a failure file can
name it and ``dmlcts replay`` can judge the same thing again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.wording import many
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import Acceptance, VectorOracle
from dmlcts.suites.cases.bench import Bench, Execution, Mishap, Refusal, Unsupported
from dmlcts.suites.cases.case import Case, Placement
from dmlcts.suites.cases.values import Values, simplicity, text, text_with_bits
from dmlcts.suites.generation.subject import Subject

Array = NDArray[Any]

MEMORY_CLAUSES = ("tensor.output.complete", "tensor.output.bounds", "tensor.input.unchanged")
WITHOUT_DISPATCH = ("refused", "accepted", "either")
_MOST_SUSPECTS = 6
_MOST_PACKED = 1 << 16


@dataclass(frozen=True)
class Finding:
    """Something wrong.

    Attributes:
        clause: id of the clause it breaks.
        outcome: ``fail``, ``crash``, ``timeout``, ``device_lost``, ``resource_error``.
        case: the case that showed it.
        title: one short line.
        details: label and text pairs, for the full account.
        wrong: how many elements are wrong.
        suspects: input values of wrong elements, the simplest first; single-element cases are made of them.
        settled: whether it stays as it is: trying smaller cases would lose the process, or show nothing.
        needs: the factors that it needs, by name; see :mod:`dmlcts.suites.attribution.needs`.
        index: the flat index of the wrong element that is shown, -1 where it is not about one.
        repeat: how often a replay has to try, for what does not come every time; 0 where it does.
    """

    clause: str
    outcome: str
    case: Case
    title: str
    details: tuple[tuple[str, str], ...] = ()
    wrong: int = 0
    suspects: tuple[Any, ...] = ()
    settled: bool = False
    needs: tuple[str, ...] = ()
    index: int = -1
    repeat: int = 0


@dataclass(frozen=True)
class Judgement:
    """What judging a case came to.

    Attributes:
        findings: all that is wrong; empty where the case passes.
        clauses: ids of the clauses that were checked.
        elements: how many elements were judged.
        executions: the dispatches, in order; empty where the implementation legitimately refused.
        refused: the implementation refused the description, and had the right to.
        unsupported: why the backend cannot express the description; ``clauses`` then holds the one for whose
            sake it cannot, and nothing was checked. ``None`` where it can.
        unreached: ids of the further clauses that the case would have checked.
    """

    findings: tuple[Finding, ...] = ()
    clauses: tuple[str, ...] = ()
    elements: int = 0
    executions: tuple[Execution, ...] = ()
    refused: bool = False
    unsupported: str | None = None
    unreached: tuple[str, ...] = ()


Expectation = Callable[[Bench, Case], Judgement]


def value_clauses(case: Case) -> tuple[str, ...]:
    """The clauses that the values of a dispatch of ``case`` speak about."""
    return (case.clause,) if case.layout_clause is None else (case.clause, case.layout_clause)


def support_clause(bench: Bench, operator: OperatorDesc) -> str:
    """The clause that obliges an implementation of the bench's level to accept ``operator``: the lowest level's."""
    table = bench.tables.operator(operator.name)
    data_type, rank = operator.input.data_type, operator.input.rank
    levels = [
        support.level for support in table.support_at(bench.level)
        if data_type in support.data_types and rank in support.ranks
    ]  # fmt: skip
    wanted = levels[-1] if levels else None
    return next((clause.id for clause in table.clauses if clause.level == wanted), f"{table.prefix}.formula")


def _stopped(bench: Bench, case: Case, outcome: Refusal | Mishap) -> Judgement:
    """The judgement of a case whose dispatch did not come back; nothing but the broken clause was checked."""
    if isinstance(outcome, Mishap):
        title = (
            outcome.title
            or {
                "fail": "the dispatch failed",
                "crash": "the implementation raised an exception",
                "device_lost": "the device was lost",
                "resource_error": "the implementation ran out of resources",
            }[outcome.outcome]
        )
        clause = case.clause
        if case.layout_clause is not None and isinstance(bench.run(_packed(bench, case)), Execution):
            clause = case.layout_clause  # the values alone do no harm
        finding = Finding(clause, outcome.outcome, case, title, (("said", outcome.text),))
        return Judgement((finding,), (clause,))
    if isinstance(outcome, Unsupported):
        return _unsupported(bench, case, outcome)
    if not outcome.obliged:
        return Judgement(refused=True)
    clause = _refused_clause(bench, case)
    title = f"refused, though feature level {bench.level} obliges it to accept"
    return Judgement((Finding(clause, "fail", case, title, (("said", outcome.text),)),), (clause,))


def _unsupported(bench: Bench, case: Case, outcome: Unsupported) -> Judgement:
    """The judgement of a case that the backend cannot express, under the clause for whose sake it cannot."""
    clause = _lacking(bench, case)
    others = value_clauses(case) if case.expectation in WITHOUT_DISPATCH else (*value_clauses(case), *MEMORY_CLAUSES)
    unreached = tuple(name for name in others if name != clause)
    return Judgement(clauses=(clause,), unsupported=outcome.text, unreached=unreached)


def _lacking(bench: Bench, case: Case) -> str:
    """Which clause a case cannot be expressed for: ScaleBias's or the strides' own, the layout's, or the values'.

    A test about something else that happens to draw ScaleBias or strides loses those cases and keeps its others.
    """

    def expressible(operator: OperatorDesc) -> bool:
        return not isinstance(_attempt(bench, operator), Unsupported)

    operator, packed = case.operator, _packed(bench, case).operator
    table = bench.tables.operator(operator.name)
    plain_attributes: dict[str, Attribute] = {
        name: None if isinstance(value, ScaleBias) else value for name, value in operator.attributes.items()
    }
    unscaled = OperatorDesc(operator.name, operator.tensors, plain_attributes)
    strided = any(tensor.strides is not None for tensor in operator.tensors.values())
    if expressible(unscaled):
        own = f"{table.prefix}.scale-bias{'' if case.data_type.is_floating else '.integer'}"
        return next((clause.id for clause in table.clauses if clause.id == own), case.clause)
    if strided and expressible(OperatorDesc(operator.name, packed.tensors, plain_attributes)):
        named = case.layout_clause or case.clause
        return named if named.startswith("tensor.strides.") else _stride_clause(operator)
    if case.layout_clause is not None and expressible(packed):
        return case.layout_clause
    return case.clause


def _stride_clause(operator: OperatorDesc) -> str:
    """The clause on the kind of strides that a description has."""
    packed = TensorDesc(operator.input.data_type, operator.input.sizes).element_strides
    source, target = operator.input.element_strides, operator.output.element_strides
    if source == target == packed:
        return "tensor.strides.packed"
    if 0 in source:
        return "tensor.strides.broadcast"
    if any(list(strides) != sorted(strides, reverse=True) for strides in (source, target)):
        return "tensor.strides.permuted"
    return "tensor.strides.padded" if source == target else "tensor.strides.output"


def _packed(bench: Bench, case: Case) -> Case:
    """As many elements with the same attributes on a packed tensor, out of place."""
    return plain(bench, case, case.values, min(max(1, case.operator.input.element_count), _MOST_PACKED))


def _attempt(bench: Bench, operator: OperatorDesc) -> Refusal | Mishap | None:
    """Create a kernel and close it again; ``None`` where both went well."""
    kernel = bench.create(operator)
    return kernel if isinstance(kernel, (Refusal, Mishap)) else bench.closed(kernel)


def _refused_clause(bench: Bench, case: Case) -> str:
    """Which clause a refusal breaks: the layout's, the attributes', or the support table's.

    Where the same attributes are accepted on a packed tensor it is the layout that is refused; where the same
    tensors are accepted with ordinary attributes, it is the attributes.
    """
    packed = _packed(bench, case).operator
    if case.layout_clause is not None and packed != case.operator and _attempt(bench, packed) is None:
        return case.layout_clause
    table = bench.tables.operator(case.operator.name)
    ordinary: dict[str, Attribute] = dict(case.operator.attributes)
    for item in table.attributes:
        if item.type == "FLOAT":
            ordinary[item.name] = np.float32(0 if item.name == "Min" else 1)
        elif item.type == "DML_SCALE_BIAS":
            ordinary[item.name] = None
    usual = OperatorDesc(case.operator.name, case.operator.tensors, ordinary)
    if usual != case.operator and _attempt(bench, usual) is None:
        general = case.clause == f"{table.prefix}.formula" or bench.tables.clause(case.clause).subject == "properties"
        return (general and _cast_clause(bench, case.operator)) or case.clause
    return support_clause(bench, case.operator)


def _cast_clause(bench: Bench, operator: OperatorDesc) -> str | None:
    """The clause on the cast of the bounds, where one of them is not a value of the tensor's type."""
    table = bench.tables.operator(operator.name)
    data_type = operator.input.data_type
    wanted: list[str] = []
    for name in table.float_attributes:
        value = operator.attributes[name]
        if not isinstance(value, np.float32) or not np.isfinite(value):
            continue
        if data_type is DataType.FLOAT16:
            with np.errstate(over="ignore"):
                half = np.float16(value)
            if np.isinf(half):
                wanted.insert(0, "float16-overflow")
            elif np.float32(half) != value:
                wanted += ["float16", "inexact"]
        elif not data_type.is_floating and not float(value).is_integer():
            wanted += ["integer", "inexact"]
    known = {clause.id for clause in table.clauses}
    return next((clause for clause in (f"{table.prefix}.cast.{name}" for name in wanted) if clause in known), None)


def _beside_output(case: Case, offset: int) -> str:
    """Where a byte of the memory stands, seen from the output tensor."""
    target = case.operator.output
    region = case.placement.regions(case.operator.input, target)[1]
    end = region.offset + target.total_size_in_bytes
    seen = f"{offset - end} bytes after the output's end" if offset >= end \
        else f"{region.offset - offset} bytes before the output's beginning"  # fmt: skip
    return f"{seen} (offset {offset} of the memory)"


def _memory_findings(case: Case, execution: Execution, unwritten: Array) -> list[Finding]:
    found = []
    if execution.strays_in_input:
        count = len(execution.strays_in_input)
        details = (("bytes", f"{count} changed, the first at offset {execution.strays_in_input[0]} of the memory"),)
        title = f"{many(count, 'byte')} of the input changed"
        found.append(Finding("tensor.input.unchanged", "fail", case, title, details))
    if execution.strays:
        count = len(execution.strays)
        details = (("bytes", f"{count} changed, the first {_beside_output(case, execution.strays[0])}"),)
        title = f"{many(count, 'byte')} outside the output's total size changed"
        found.append(Finding("tensor.output.bounds", "fail", case, title, details))
    if unwritten.size:
        details = (("element", f"the first at index {index_text(case.operator.output, int(unwritten[0]))}"),)
        title = f"{unwritten.size} of {execution.output.size} output elements were not written"
        found.append(Finding("tensor.output.complete", "fail", case, title, details, int(unwritten.size)))
    return found


def index_text(tensor: TensorDesc, flat: int) -> str:
    """The coordinates of an element, from its place in row-major order."""
    return str([int(part) for part in np.unravel_index(flat, tensor.sizes)])


def _acceptable_text(acceptance: Acceptance, data_type: DataType) -> str:
    element = acceptance.element(0)
    bits = np.array(sorted(element.patterns), data_type.bits_dtype)
    shown = [text_with_bits(value) for value in bits.view(data_type.numpy)]
    if element.any_nan:
        shown.append("any NaN")
    return " or ".join(shown) if shown else "any value"


def _wrong_values(case: Case, oracle: VectorOracle, execution: Execution, wrong: Array, clause: str) -> Finding:
    order = np.argsort(simplicity(execution.x[wrong]), kind="stable")
    worst = int(wrong[order[0]])
    acceptance = oracle.acceptance(execution.x[worst : worst + 1])
    acceptable = _acceptable_text(acceptance, case.data_type)
    got = text_with_bits(execution.output[worst])
    details = (
        ("input", f"{text_with_bits(execution.x[worst])} at index {index_text(case.operator.output, worst)}"),
        ("acceptable", acceptable),
        ("got", got),
        ("wrong", f"{wrong.size} of {execution.output.size} elements"),
    )
    title = f"input {text(execution.x[worst])} gives {text(execution.output[worst])}"
    ranked = execution.x[wrong[order]]
    distinct = list(dict.fromkeys(value.tobytes() for value in ranked[: 8 * _MOST_SUSPECTS]))[:_MOST_SUSPECTS]
    suspects = tuple(np.frombuffer(value, case.data_type.numpy)[0] for value in distinct)
    return Finding(clause, "fail", case, title, details, int(wrong.size), suspects, index=worst)


_MOST_TELLING = 3  # of three values at most two can be acceptable where zero or a bound may come out either way
_MARKS = (1, 2, 3, 5, 0, 7, 50, 100, -1, -2, -7, 0.25, 0.5, -0.5, 2.5, 1000, -1000)


def marks(data_type: DataType) -> Array:
    """Plain values of the type, with its limits: what is put where it must not be read."""
    if data_type.is_floating:
        greatest = float(np.finfo(data_type.numpy).max)
        return np.array([*_MARKS, greatest, -greatest], data_type.numpy)
    limits = np.iinfo(data_type.numpy)
    kept = [int(value) for value in _MARKS if float(value).is_integer() and limits.min <= value <= limits.max]
    return np.array([*kept, limits.min, limits.max, int(limits.max) // 3], data_type.numpy)


def complement(expected: Array, data_type: DataType) -> Array:
    """The bitwise complement of the expected outputs: a poison that no expected output equals."""
    return (~expected.view(data_type.bits_dtype)).view(data_type.numpy)


def _telling_poison(oracle: VectorOracle, execution: Execution, suspected: Array) -> Array:
    """Another poison, whose suspected elements hold what no input becomes.

    A value that the operator changes cannot come out of an element that was written with what was read where the poison
    stands. Where the operator changes no value, or accepts them all, any other bits have to do.
    """
    poison = execution.poison
    bits = np.dtype(f"u{poison.dtype.itemsize}")
    other = (poison.view(bits) ^ bits.type(0x55)).view(poison.dtype).copy()
    values = marks(oracle.operator.input.data_type)
    with np.errstate(all="ignore"):
        moved = values[~oracle.acceptance(values).admits(values)]
    acceptance = oracle.acceptance(execution.x[suspected])
    for value in moved[:_MOST_TELLING][::-1]:
        usable = ~acceptance.admits(np.full(suspected.size, value, poison.dtype))
        other[suspected[usable]] = value
    return other


def judge_execution(
    case: Case,
    oracle: VectorOracle,
    execution: Execution,
    expected: Array,
    again: Callable[[Array], Execution | None],
) -> Judgement:
    """Judge the values and the memory of one dispatch.

    Args:
        case: what was dispatched.
        oracle: the oracle of its description.
        execution: what came back.
        expected: the oracle's expected outputs, whose complement was the poison.
        again: dispatches once more with another poison, ``None`` where that failed; it tells a wrong value
            that happens to equal the poison, or was read from where the poison stands, from an element that was not
            written.
    """
    wrong = oracle.judge(execution.x, execution.output, expected)
    unwritten = wrong[:0]
    if wrong.size and not case.placement.in_place:
        bits = case.operator.output.data_type.bits_dtype
        suspected = wrong[execution.output[wrong].view(bits) == execution.poison[wrong].view(bits)]
        if suspected.size:
            other = again(_telling_poison(oracle, execution, suspected))
            if other is not None:
                kept = other.output[suspected].view(bits) == other.poison[suspected].view(bits)
                unwritten = suspected[kept]
                wrong = np.setdiff1d(wrong, unwritten, assume_unique=True)
    findings = _memory_findings(case, execution, unwritten)
    if wrong.size:
        findings.append(_wrong_values(case, oracle, execution, wrong, case.layout_clause or case.clause))
    checked = (*value_clauses(case), *MEMORY_CLAUSES)
    return Judgement(tuple(findings), checked, int(execution.output.size), (execution,))


def judge_dispatch(bench: Bench, kernel: Any, case: Case, oracle: VectorOracle) -> Judgement:
    """Dispatch an existing kernel on the case's values and placement, and judge what comes back."""
    arena = bench.prepare(case)
    expected = oracle.expected(arena.x)
    execution = bench.run_on(kernel, case, arena, complement(expected, case.data_type))
    if isinstance(execution, Mishap):
        return _stopped(bench, case, execution)

    def again(poison: Array) -> Execution | None:
        other = bench.run_on(kernel, case, bench.prepare(case), poison)
        return None if isinstance(other, Mishap) else other

    return judge_execution(case, oracle, execution, expected, again)


def judge_oracle(bench: Bench, case: Case) -> Judgement:
    """Every output element is one that the oracle accepts, and the memory rules hold."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return _stopped(bench, case, kernel)
    judgement = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    mishap = bench.closed(kernel)
    return judgement if mishap is None else _stopped(bench, case, mishap)


def judge_refused(bench: Bench, case: Case) -> Judgement:
    """The description is refused with InvalidArgument."""
    answer = _attempt(bench, case.operator)
    if isinstance(answer, Refusal) and not isinstance(answer, Unsupported):
        # a type that only a later level lists may be refused for that alone: it says nothing about the clause
        table = bench.tables.operator(case.operator.name)
        known = any(case.data_type in support.data_types for support in table.support_at(bench.level))
        return Judgement((), value_clauses(case), refused=not known and case.data_type in table.data_types)
    if answer is not None:
        return _stopped(bench, case, answer)
    finding = Finding(case.clause, "fail", case, "accepted, though it must be refused")
    return Judgement((finding,), value_clauses(case))


def judge_accepted(bench: Bench, case: Case) -> Judgement:
    """The description is accepted where the level obliges it; nothing is dispatched."""
    answer = _attempt(bench, case.operator)
    return Judgement((), value_clauses(case)) if answer is None else _stopped(bench, case, answer)


def judge_either(bench: Bench, case: Case) -> Judgement:
    """The description may be refused or accepted, but nothing worse may happen; nothing is dispatched."""
    answer = _attempt(bench, case.operator)
    if isinstance(answer, (Mishap, Unsupported)):
        return _stopped(bench, case, answer)
    return Judgement((), value_clauses(case), refused=answer is not None)


def judge_harmless(bench: Bench, case: Case) -> Judgement:
    """The description may be refused; where it is accepted, a dispatch comes back and leaves other memory alone."""
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    return Judgement((), (*value_clauses(case), *MEMORY_CLAUSES[1:]), int(run.output.size), (run,))


def _executed(bench: Bench, case: Case) -> Execution | Judgement:
    """A dispatch of ``case`` whose memory is in order, or the judgement that stops here."""
    outcome = bench.run(case)
    if not isinstance(outcome, Execution):
        return _stopped(bench, case, outcome)
    findings = _memory_findings(case, outcome, np.zeros(0, np.intp))
    if findings:
        return Judgement(tuple(findings), (*value_clauses(case), *MEMORY_CLAUSES[1:]), outcome.output.size, (outcome,))
    return outcome


def _relation(case: Case, executions: tuple[Execution, ...], wrong: Array, told: Callable[[int], str]) -> Judgement:
    """The judgement of a property; ``told(i)`` says what element i shows."""
    first = executions[0]
    findings: tuple[Finding, ...] = ()
    if wrong.size:
        order = np.argsort(simplicity(first.x[wrong]), kind="stable")
        worst = int(wrong[order[0]])
        details = (
            ("input", f"{text_with_bits(first.x[worst])} at index {index_text(case.operator.output, worst)}"),
            ("got", text_with_bits(first.output[worst])),
            ("property", told(worst)),
            ("wrong", f"{wrong.size} of {first.output.size} elements"),
        )
        suspects = tuple(first.x[wrong[order[:_MOST_SUSPECTS]]])
        findings = (Finding(case.clause, "fail", case, told(worst), details, int(wrong.size), suspects),)
    return Judgement(findings, value_clauses(case), int(first.output.size), executions)


def compared(values: Array) -> Array:
    """What a comparison may take values for: FLOAT32 subnormals for zeros (latitude ``subnormals``)."""
    if values.dtype != np.float32:
        return values
    return np.where(np.abs(values) < np.finfo(values.dtype).smallest_normal, values.dtype.type(0), values)


def same_values(a: Array, b: Array) -> NDArray[np.bool_]:
    """Element-wise sameness with every latitude that two runs of one implementation may use between them."""
    same = compared(a) == compared(b)
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    return np.asarray(same)


def judge_idempotent(bench: Bench, case: Case) -> Judgement:
    """Applying the operator to its own output changes nothing."""
    first = _executed(bench, case)
    if isinstance(first, Judgement):
        return first
    again = _executed(bench, replace(case, values=Values.of(first.output, case.data_type)))
    if isinstance(again, Judgement):
        return again
    wrong = np.flatnonzero(~same_values(first.output, again.output))
    return _relation(case, (first, again), wrong, lambda i: (
        f"applied again to {text(first.output[i])} it gives {text(again.output[i])}"
    ))  # fmt: skip


def judge_monotone(bench: Bench, case: Case) -> Judgement:
    """Outputs never decrease where inputs increase; NaN inputs stand outside the order."""
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    order = np.argsort(run.x, kind="stable")
    if run.x.dtype.kind == "f":
        order = order[~np.isnan(run.x[order])]
    y = compared(run.output[order])
    falls = np.flatnonzero(~(y[1:] >= y[:-1]))
    before = {int(order[i + 1]): int(order[i]) for i in falls}
    return _relation(case, (run,), order[falls + 1], lambda i: (
        f"input {text(run.x[before[i]])} gives {text(run.output[before[i]])}, "
        f"the larger input {text(run.x[i])} gives {text(run.output[i])}"
    ))  # fmt: skip


def judge_odd(bench: Bench, case: Case) -> Judgement:
    """The operator of -x is the negated operator of x."""
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    mirrored = _executed(bench, replace(case, values=Values.of(-run.x, case.data_type)))
    if isinstance(mirrored, Judgement):
        return mirrored
    wrong = np.flatnonzero(~same_values(run.output, -mirrored.output))
    return _relation(case, (run, mirrored), wrong, lambda i: (
        f"input {text(run.x[i])} gives {text(run.output[i])}, input {text(-run.x[i])} gives {text(mirrored.output[i])}"
    ))  # fmt: skip


def _range(bench: Bench, operator: OperatorDesc) -> tuple[Array, Array]:
    """The least and the greatest output that the formula admits for any input, without ScaleBias."""
    attributes = {**operator.attributes, **({"ScaleBias": None} if "ScaleBias" in operator.attributes else {})}
    plain = OperatorDesc(operator.name, operator.tensors, attributes)
    data_type = operator.input.data_type
    if data_type.is_floating:
        ends = np.array([-np.inf, np.inf], data_type.numpy)
    else:
        limits = np.iinfo(data_type.numpy)
        ends = np.array([limits.min, limits.max], data_type.numpy)
    alternatives = bench.oracle(plain).acceptance(ends).alternatives
    return np.min([array[0] for array in alternatives]), np.max([array[1] for array in alternatives])


def judge_contained(bench: Bench, case: Case) -> Judgement:
    """Every output lies in the formula's range, whatever ScaleBias did to the input; NaN is let through."""
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    low, high = _range(bench, case.operator)
    y = compared(run.output)
    outside = (y < compared(low)) | (y > compared(high))
    return _relation(case, (run,), np.flatnonzero(outside), lambda i: (
        f"input {text(run.x[i])} gives {text(run.output[i])}, outside {text(low)} to {text(high)}"
    ))  # fmt: skip


def judge_threshold_equivalence(bench: Bench, case: Case) -> Judgement:
    """CLIP gives what THRESHOLD with the same Min gives; the case's Max is the greatest of the type."""
    clipped = _executed(bench, case)
    if isinstance(clipped, Judgement):
        return clipped
    attributes = {"ScaleBias": case.operator.attributes["ScaleBias"], "Min": case.operator.attributes["Min"]}
    threshold = OperatorDesc("ELEMENT_WISE_THRESHOLD", case.operator.tensors, attributes)
    other = _executed(bench, case.with_operator(threshold))
    if isinstance(other, Judgement):
        return other
    wrong = np.flatnonzero(~same_values(clipped.output, other.output))
    return _relation(case, (clipped, other), wrong, lambda i: (
        f"CLIP gives {text(clipped.output[i])}, THRESHOLD {text(other.output[i])}"
    ))  # fmt: skip


def plain(bench: Bench, case: Case, values: Values, count: int) -> Case:
    """The same attributes on a packed tensor of ``count`` elements, out of place, at the lowest rank there is."""
    table = bench.tables.operator(case.operator.name)
    data_type = case.data_type
    ranks = [rank for rank in range(1, 9) if table.obliged(data_type, rank, bench.level)]
    ranks = ranks or [rank for rank in range(1, 9) if table.listed(data_type, rank)] or [1]
    tensor = TensorDesc(data_type, (*([1] * (ranks[0] - 1)), count))
    tensors = {"InputTensor": tensor, "OutputTensor": tensor}
    operator = OperatorDesc(case.operator.name, tensors, case.operator.attributes)
    return Case(operator, values, case.clause, None, case.expectation)


def judge_plain_layout(bench: Bench, case: Case) -> Judgement:
    """The same elements give the same results in a packed tensor, out of place, whatever rank, strides, position."""
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    flat = _executed(bench, plain(bench, case, Values.of(run.x, case.data_type), run.x.size))
    if isinstance(flat, Judgement):
        return flat
    wrong = np.flatnonzero(~same_values(run.output, flat.output))
    judgement = _relation(case, (run, flat), wrong, lambda i: (
        f"input {text(run.x[i])} gives {text(run.output[i])} here and {text(flat.output[i])} in a packed tensor"
    ))  # fmt: skip
    findings = tuple(replace(finding, clause=case.layout_clause or case.clause) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def judge_one_value(bench: Bench, case: Case) -> Judgement:
    """Bounds that no integer follows from act as one integer each, whichever it is.

    The case's values must hold the least and the greatest value of the type: what those become shows which
    integers the implementation took. Under a ScaleBias, whose sums must all be exact, the least and the greatest of
    them show it: beyond them a bound may be anything. Where the page documents no cast (THRESHOLD's Min), the
    maximum may also be taken in a wider type and stored wrapped or saturated.
    """
    run = _executed(bench, case)
    if isinstance(run, Judgement):
        return run
    oracle, casts = adopted_oracle(bench, case, run)
    wrong = oracle.judge(run.x, run.output)
    if wrong.size and wider_maximum(bench, case, run) is not None:
        wrong = wrong[:0]
    taken = ", ".join(f"{name} = {value}" for name, value in casts.items())
    judgement = _relation(case, (run,), wrong, lambda i: (
        f"input {text(run.x[i])} gives {text(run.output[i])}, though {_telling_said(case)} show {taken}"
    ))  # fmt: skip
    findings = tuple(replace(finding, clause=case.layout_clause or case.clause) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def _telling_said(case: Case) -> str:
    scaled = case.operator.attributes.get("ScaleBias") is not None
    return "the least and the greatest scaled values" if scaled else "the limits of the type"


def telling_places(operator: OperatorDesc, x: Array) -> tuple[int, int]:
    """Where the elements stand that show what open bounds became: the type's limits, or the extremes after ScaleBias.

    Args:
        operator: what was dispatched. Under a ScaleBias all products and sums must be exact and within the type, so
            that there is one value that meets the bounds.
        x: the elements; without ScaleBias the type's limits are among them.
    """
    given = operator.attributes.get("ScaleBias")
    if isinstance(given, ScaleBias):
        scaled = x.astype(np.float64) * float(given.scale) + float(given.bias)
        return int(np.argmin(scaled)), int(np.argmax(scaled))
    limits = np.iinfo(x.dtype)
    return int(np.flatnonzero(x == limits.min)[0]), int(np.flatnonzero(x == limits.max)[0])


def wider_maximum(bench: Bench, case: Case, run: Execution) -> int | None:
    """The value that every output has, where it is a bound that the type cannot hold, as a wider type stores it.

    Only for a single FLOAT attribute of undocumented cast: its page leaves open in which type the maximum is taken.
    """
    table = bench.tables.operator(case.operator.name)
    names = table.float_attributes
    attribute = table.attribute(names[0]) if len(names) == 1 else None
    if attribute is None or attribute.cast != "undocumented" or not (run.output == run.output[0]).all():
        return None
    stored, bound = int(run.output[0]), case.operator.attributes[names[0]]
    assert isinstance(bound, np.float32), "a FLOAT attribute"  # noqa: S101  # OperatorDesc makes it one
    return stored if stored in stored_beyond(bound, case.data_type) else None


def stored_beyond(bound: np.float32, data_type: DataType) -> frozenset[int]:
    """What a ``bound`` above the integer type may become where it is stored into it; none for one that is not above.

    Saturated; wrapped; saturated in a 32-bit integer and then wrapped, as Direct3D's conversions and stores do; or
    wrapped from the indefinite integer, 2^31 or 2^63, that x86 makes of a number beyond that range. A NaN, which the
    maximum may give too, becomes 0, a limit of the type, or what the indefinite integer becomes.
    """
    limits = np.iinfo(data_type.numpy)
    found = {int(limits.max)}
    if np.isnan(bound):
        found |= {0, int(limits.min), 1 << 31, 1 << 63}
    elif np.isfinite(bound) and int(bound) <= int(limits.max):
        return frozenset()
    else:
        if np.isfinite(bound):
            found.add(int(bound))
        found.update((1 << power) for power in (31, 63) if bound >= 2.0**power)
        if limits.bits < 32:
            found.update(int(min(float(bound), most)) for most in ((1 << 31) - 1, (1 << 32) - 1))
    span = 1 << limits.bits
    return frozenset((value - int(limits.min)) % span + int(limits.min) for value in found)


def adopted_oracle(bench: Bench, case: Case, run: Execution) -> tuple[VectorOracle, dict[str, int]]:
    """The oracle with the integers that the implementation took for the bounds that the pages leave open."""
    low, high = telling_places(case.operator, run.x)
    seen = {"Min": int(run.output[low]), "Max": int(run.output[high])}
    table = bench.tables.operator(case.operator.name)
    casts: dict[str, int] = {}
    for name in table.float_attributes:
        attributes = dict.fromkeys(table.float_attributes, np.float32(0)) | {name: case.operator.attributes[name]}
        alone = OperatorDesc(case.operator.name, case.operator.tensors, {**case.operator.attributes, **attributes})
        try:
            _ = bench.oracle(alone).attributes
        except Unconstrained:
            casts[name] = seen[name]
    oracle = VectorOracle(
        table, bench.tables.formula(table), case.operator, strict=bench.strict, casts=casts
    )  # fmt: skip
    return oracle, casts


def _together(judgements: list[Judgement], clause: str) -> Judgement:
    """Several dispatches as one judgement; what is wrong with a value breaks ``clause``."""
    findings = tuple(finding for judgement in judgements for finding in judgement.findings)
    checked = dict.fromkeys(name for judgement in judgements for name in judgement.clauses)
    executions = tuple(execution for judgement in judgements for execution in judgement.executions)
    elements = sum(judgement.elements for judgement in judgements)
    return Judgement(findings[:1], (clause, *checked), elements, executions)


def judge_again(bench: Bench, case: Case) -> Judgement:
    """A kernel judged four times: on other values, at other places, in place, and on the first values again."""
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if alone.findings or alone.refused or alone.unsupported is not None:
        return alone
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return _stopped(bench, case, kernel)
    oracle = bench.oracle(case.operator)
    values = case.values.array(case.operator.input.element_count)
    streams = [values, values[::-1], np.roll(values, max(1, values.size // 3)), values]
    places = [case.placement, Placement(front=1040, gap=48), Placement(in_place=True), Placement(output_first=True)]
    judgements = []
    for stream, place in zip(streams, places, strict=True):
        again = replace(case, values=Values.of(stream, case.data_type), placement=place)
        judgement = judge_dispatch(bench, kernel, again, oracle)
        judgements.append(judgement)
    return _finished(bench, case, [kernel], judgements)


def _finished(bench: Bench, case: Case, kernels: list[Any], judgements: list[Judgement]) -> Judgement:
    """Close the kernels, and put the judgements together under the case's state clause, pointing at the case."""
    mishaps = [mishap for mishap in map(bench.closed, kernels) if mishap is not None]
    judgements += [_stopped(bench, case, mishap) for mishap in mishaps]
    clause = case.layout_clause or case.clause
    whole = _together(judgements, clause)
    told = tuple(
        replace(finding, case=finding.case if finding.case.beside else case, clause=clause, suspects=())
        for finding in whole.findings
    )
    return replace(whole, findings=told)


def _neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """Descriptions of the same tensors with other attributes, and of other operators that take them."""
    found = []
    for table in bench.tables.operators.values():
        low, high = (2, 6) if case.data_type.is_floating or table.operator != case.operator.name else (3, 7)
        attributes: dict[str, Attribute] = {}
        for item in table.attributes:
            if item.type == "FLOAT":
                attributes[item.name] = np.float32(low if item.name == "Min" else high)
            else:
                attributes[item.name] = item.enumerators[-1] if item.type == "ENUM" else None
        variants = [attributes]
        for item in table.attributes:
            if item.type == "DML_SCALE_BIAS":
                variants.append({**attributes, item.name: ScaleBias(2, 1)})
            elif item.type == "ENUM":
                variants += [{**attributes, item.name: name} for name in item.enumerators[:-1]]
        found += [OperatorDesc(table.operator, case.operator.tensors, variant) for variant in variants]
    return [operator for operator in found if operator != case.operator and bench.obliged(operator)]


def judge_beside_others(bench: Bench, case: Case) -> Judgement:
    """The kernel judged while kernels of other attributes and operators live, and after those were closed.

    What is wrong with one of the others is told as a case of its own, with all kernels that were alive.
    """
    if case.beside:
        return _judge_among(bench, case)
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if alone.findings or alone.refused or alone.unsupported is not None:
        return alone
    cases = [replace(case, operator=operator, expectation="oracle") for operator in _neighbours(bench, case)]
    cases.insert(len(cases) // 2, case)
    kernels = [bench.create(other.operator) for other in cases]
    wanted = [
        other is case or not isinstance(kernel, (Refusal, Mishap)) or not _stops_by_itself(bench, other)
        for kernel, other in zip(kernels, cases, strict=True)
    ]
    kernels, cases = list(compress(kernels, wanted)), list(compress(cases, wanted))
    for kernel, other in zip(kernels, cases, strict=True):
        if isinstance(kernel, (Refusal, Mishap)):
            made = [one for one in kernels if not isinstance(one, (Refusal, Mishap))]
            return _finished(bench, case, made, [_stopped(bench, replace(other, expectation="oracle"), kernel)])
    judgements = []
    for kernel, other in [*zip(kernels, cases, strict=True), *zip(kernels[::-1], cases[::-1], strict=True)]:
        judged = judge_dispatch(bench, kernel, other, bench.oracle(other.operator))
        if judged.findings and other is not case and _wrong_by_itself(bench, other):
            continue  # another clause's business
        judgements.append(_as_state(_told_of(bench, judged, other, cases), other))
    mine = cases.index(case)
    others = kernels[:mine] + kernels[mine + 1 :]
    judgements += [_stopped(bench, case, mishap) for mishap in map(bench.closed, others) if mishap is not None]
    last = judge_dispatch(bench, kernels[mine], case, bench.oracle(case.operator))
    judgements.append(_told_of(bench, last, case, cases))
    return _finished(bench, case, [kernels[mine]], judgements)


def _told_of(bench: Bench, judgement: Judgement, case: Case, everyone: list[Case]) -> Judgement:
    """What is wrong with one of several kernels, as its own case, which holds all of them."""
    clause = case.clause
    if case.layout_clause is not None:
        table = bench.tables.operator(case.operator.name)
        clause = Subject(table, case.data_type, bench.level, 0, thorough=False).values_clause(case.operator.attributes)
    company = tuple(one.operator for one in everyone)
    own = replace(case, clause=clause, expectation="beside others", beside=company, recipe=None)
    return replace(judgement, findings=tuple(replace(finding, case=own) for finding in judgement.findings))


def _judge_among(bench: Bench, case: Case) -> Judgement:
    """The kernel among those that the case names; each is dispatched in their order and in the reverse of it."""
    made: list[tuple[OperatorDesc, Any]] = []
    for operator in case.beside:
        kernel = bench.create(operator)
        if not isinstance(kernel, (Refusal, Mishap)):
            made.append((operator, kernel))
        elif operator == case.operator:
            return _finished(bench, case, [one for _, one in made], [_stopped(bench, case, kernel)])
    given: dict[OperatorDesc, Array] = {}
    judgements = []
    for operator, kernel in [*made, *made[::-1]]:
        if operator == case.operator:
            judgements.append(judge_dispatch(bench, kernel, case, bench.oracle(operator)))
            continue
        arena = bench.prepare(case)
        if bench.dispatch(kernel, arena) is None:
            given[operator] = arena.output(case)
    (own,) = [kernel for operator, kernel in made if operator == case.operator]
    others = [kernel for operator, kernel in made if operator != case.operator]
    judgements += [_stopped(bench, case, mishap) for mishap in map(bench.closed, others) if mishap is not None]
    judgements.append(judge_dispatch(bench, own, case, bench.oracle(case.operator)))
    judgement = _finished(bench, case, [own], judgements)
    if judgement.findings and _wrong_by_itself(bench, replace(case, expectation="oracle", beside=())):
        return judge_oracle(bench, replace(case, expectation="oracle", beside=()))
    told = tuple(_with_company(finding, given) for finding in judgement.findings)
    return replace(judgement, findings=told)


def _with_company(finding: Finding, given: Mapping[OperatorDesc, Array]) -> Finding:
    """The finding with each kernel that was alive, and what it gave for the element that is shown."""
    case = finding.case
    details = []
    for number, operator in enumerate(case.beside, start=1):
        said = _said(operator)
        if operator == case.operator:
            said += ": this one, which is wrong"
        elif operator in given and finding.index >= 0:
            said += f": gives {text_with_bits(given[operator][finding.index])} for this element"
        details.append((f"kernel {number}", said))
    return replace(finding, details=(*finding.details, *details))


def _said(operator: OperatorDesc) -> str:
    """An operator with its attributes, on one line."""
    attributes = ", ".join(f"{name} {_attribute_text(value)}" for name, value in operator.attributes.items())
    return f"{operator.name}, {attributes}"


def _attribute_text(value: Attribute) -> str:
    if isinstance(value, ScaleBias):
        return f"({text(value.scale)}, {text(value.bias)})"
    return text(value) if isinstance(value, np.float32) else value or "none"


def _wrong_by_itself(bench: Bench, case: Case) -> bool:
    """Whether a case is wrong also where nothing ran before it."""
    fresh = bench.fresh()
    try:
        return bool(judge_oracle(fresh, case).findings)
    finally:
        fresh.close()


def _stops_by_itself(bench: Bench, case: Case) -> bool:
    """Whether there is no kernel for a case also where nothing ran before it: that is another clause's business."""
    fresh = bench.fresh()
    try:
        return _attempt(fresh, case.operator) is not None
    finally:
        fresh.close()


def _as_state(judgement: Judgement, case: Case) -> Judgement:
    """The values of a neighbouring kernel speak about the state's clause only."""
    return replace(judgement, clauses=(case.layout_clause or case.clause, *MEMORY_CLAUSES))


def judge_dispatched_again(bench: Bench, case: Case) -> Judgement:
    """A kernel that ran on other values at another place before: the cheap part of :func:`judge_again`."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return _stopped(bench, case, kernel)
    return _with_history(bench, case, "execution.repeatable", kernel, [(kernel, case.operator)])


def judge_after_another(bench: Bench, case: Case) -> Judgement:
    """A kernel of other attributes on equal tensors, and one of another operator, ran before and were closed."""
    return _behind_others(bench, case, alive=False)


def judge_beside_another(bench: Bench, case: Case) -> Judgement:
    """The kernel runs while such kernels, which ran before, are alive: :func:`judge_beside_others` at less cost."""
    return _behind_others(bench, case, alive=True)


def _behind_others(bench: Bench, case: Case, *, alive: bool) -> Judgement:
    kernel = bench.create(case.operator) if alive else None
    if isinstance(kernel, (Refusal, Mishap)):
        return _stopped(bench, case, kernel)
    others = []
    for operator in _two_neighbours(bench, case):
        other = bench.create(operator)
        if not isinstance(other, (Refusal, Mishap)):  # one that cannot be had is another clause's business
            others.append((other, operator))
    return _with_history(bench, case, "execution.independent", kernel, others, closed_first=not alive)


def _two_neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """The operator with other attributes and another operator, both on equal tensors, where there are such."""
    found = _neighbours(bench, case)
    same = [operator for operator in found if operator.name == case.operator.name]
    others = [operator for operator in found if operator.name != case.operator.name]
    return [*same[-1:], *others[:1]]


def _with_history(
    bench: Bench, case: Case, clause: str, kernel: Any, before: list[tuple[Any, OperatorDesc]], *,
    closed_first: bool = False,
) -> Judgement:  # fmt: skip
    """Dispatch what runs before, whatever comes of it, then the case.

    What only its history makes wrong breaks ``clause``.

    Args:
        bench: the bench.
        case: what is judged.
        clause: the clause on its history.
        kernel: its kernel, ``None`` where it is made only after the others.
        before: kernels with their descriptions; the case's own may be among them.
        closed_first: whether the others are closed before the case's kernel is made.
    """
    values = case.values.array(case.operator.input.element_count)
    for other, operator in before:
        earlier = replace(case, operator=operator, values=Values.of(values[::-1], case.data_type),
                          placement=replace(case.placement, front=1040))  # fmt: skip
        mishap = bench.run_unjudged(other, earlier)
        if mishap is not None and other is kernel:
            return _stopped(bench, case, mishap)
    mishaps: list[Mishap | None] = []
    others = [other for other, _ in before if other is not kernel]
    if closed_first:
        mishaps += [bench.closed(other) for other in others]
        kernel = bench.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return _stopped(bench, case, kernel)
    judgement = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    mishaps.append(bench.closed(kernel))
    if not closed_first:
        mishaps += [bench.closed(other) for other in others]
    for mishap in mishaps:
        if mishap is not None:
            return _stopped(bench, case, mishap)
    checked = (*judgement.clauses, clause)
    if not judgement.findings:
        return replace(judgement, clauses=checked)
    fresh = bench.fresh()
    try:
        alone = judge_oracle(fresh, replace(case, expectation="oracle"))
    finally:
        fresh.close()
    if alone.findings or alone.refused or alone.unsupported is not None:
        return alone  # wrong whatever ran before
    company = [operator for other, operator in before if other is not kernel]
    ran = tuple((f"kernel {number}", f"{_said(operator)}: ran before")
                for number, operator in enumerate(company, start=1))  # fmt: skip
    told = tuple(replace(finding, clause=clause, suspects=(), details=(*finding.details, *ran))
                 for finding in judgement.findings[:1])  # fmt: skip
    return replace(judgement, findings=told, clauses=checked)


EXPECTATIONS: Mapping[str, Expectation] = {
    "oracle": judge_oracle,
    "refused": judge_refused,
    "accepted": judge_accepted,
    "either": judge_either,
    "harmless": judge_harmless,
    "idempotent": judge_idempotent,
    "monotone": judge_monotone,
    "odd": judge_odd,
    "contained": judge_contained,
    "threshold equivalence": judge_threshold_equivalence,
    "plain layout": judge_plain_layout,
    "one value": judge_one_value,
    "again": judge_again,
    "beside others": judge_beside_others,
    "dispatched again": judge_dispatched_again,
    "after another": judge_after_another,
    "beside another": judge_beside_another,
}


def judge_case(bench: Bench, case: Case) -> Judgement:
    """Judge ``case`` by the expectation it names, after what it says has to run before."""
    for earlier in case.earlier:
        judge_case(bench, earlier)
    bench.remember(case)
    return EXPECTATIONS[case.expectation](bench, case)
