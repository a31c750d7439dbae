"""Outputs: values against the oracle, memory against what was there before.

Elements are compared with their acceptable values by the oracle: :meth:`dmlcts.suites.cases.oracles.Oracle.judge`,
which asks :meth:`dmlcts.specs.oracle.outcome.Acceptance.admits`. Changed bytes outside the output are listed by
:meth:`dmlcts.suites.cases.memory.Arena.strays`.

NaNs and their payloads are compared by :meth:`dmlcts.specs.oracle.outcome.Acceptable.admits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.number_text import many
from dmlcts.specs.statements.silent_points import silent_points
from dmlcts.suites.batches.notes import Notes
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Mask, period_of
from dmlcts.suites.cases.oracles import Oracle
from dmlcts.suites.cases.outcomes import Execution, Mishap, Outcome, Refusal
from dmlcts.suites.cases.values import repeated, text_with_bits
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import (
    MEMORY_CLAUSES,
    Array,
    Finding,
    Judgement,
    acceptable_text,
    index_text,
    inputs_text,
    shown,
    simplest_first,
    suspects_of,
    value_clauses,
)
from dmlcts.suites.judging.refusals import stopped

PIECE = 1 << 20  # elements of a larger output are judged so many at once
_AS_IT_WAS = "what its output held before"
_FURTHER_CHANGES = (0x33, 0x0F)  # of the second poison: the first differs from it by 0x55, or is a plain value


def _beside_output(case: Case, offset: int) -> str:
    """Where a byte of the memory stands, seen from the output tensor."""
    target = case.operator.output
    region = case.placement.regions(case.operator)[0][case.operator.output_name]
    end = region.offset + target.total_size_in_bytes
    before, after = region.offset - offset, offset - end
    seen = f"{after} bytes after the output's end" if after >= 0 else f"{before} bytes before the output's beginning"
    return f"{seen} (offset {offset} of the memory)"


def _memory_findings(case: Case, execution: Execution, unwritten: Array) -> list[Finding]:
    findings = []
    if execution.strays_in_input:
        count = len(execution.strays_in_input)
        details = (("bytes", f"{count} changed, the first at offset {execution.strays_in_input[0]} of the memory"),)
        title = f"{many(count, 'byte')} of the input changed"
        findings.append(
            Finding("tensor.input.unchanged", "fail", case, title, details, deviation=Deviation.INPUT_CHANGED)
        )
    if execution.strays:
        count = len(execution.strays)
        details = (("bytes", f"{count} changed, the first {_beside_output(case, execution.strays[0])}"),)
        title = f"{many(count, 'byte')} outside the output's total size changed"
        findings.append(
            Finding("tensor.output.bounds", "fail", case, title, details, deviation=Deviation.OUTSIDE_CHANGED)
        )
    if unwritten.size:
        details = (("element", f"the first at index {index_text(case.operator.output, int(unwritten[0]))}"),)
        title = f"{unwritten.size} of {execution.output.size} output elements were not written"
        wrong, deviation = int(unwritten.size), Deviation.UNWRITTEN
        findings.append(Finding("tensor.output.complete", "fail", case, title, details, wrong, deviation=deviation))
    return findings


def _wrong_values(case: Case, oracle: Oracle, execution: Execution, wrong: Array, clause: str, held: Array) -> Finding:
    """The finding on wrong elements; of those that hold their poison nothing shows that they were written."""
    wrong = simplest_first(execution.inputs, wrong)
    worst = int(wrong[0])
    acceptance = oracle.acceptance({name: array[worst : worst + 1] for name, array in execution.inputs.items()})
    input_text = inputs_text(execution.inputs, worst, text_with_bits)
    details = (
        ("input", f"{input_text} at index {index_text(case.operator.output, worst)}"),
        ("acceptable", acceptable_text(acceptance, case.operator.output.data_type)),
        ("got", _AS_IT_WAS if worst in held else text_with_bits(execution.output[worst])),
        ("wrong", f"{wrong.size} of {execution.output.size} elements"),
    )
    title = shown(execution.inputs, worst, _AS_IT_WAS if worst in held else execution.output[worst])
    suspects = suspects_of(execution.inputs, wrong)
    deviation = Deviation.WRONG_VALUE
    return Finding(clause, "fail", case, title, details, int(wrong.size), suspects, index=worst, deviation=deviation)


_MOST_DISTINGUISHING = 3  # of three values at most two can be acceptable where zero or a bound may come out either way

_MARKS = (1, 2, 3, 5, 0, 7, 50, 100, -1, -2, -7, 0.25, 0.5, -0.5, 2.5, 1000, -1000)


def marks(data_type: DataType) -> Array:
    """Plain values of the type, with its limits: what is put where it must not be read.

    The result is 1-D, of ``data_type``.
    """
    if data_type.is_floating:
        greatest = float(np.finfo(data_type.numpy).max)
        return np.array([*_MARKS, greatest, -greatest], data_type.numpy)
    limits = np.iinfo(data_type.numpy)
    kept = [int(value) for value in _MARKS if float(value).is_integer() and limits.min <= value <= limits.max]
    return np.array([*kept, limits.min, limits.max, int(limits.max) // 3], data_type.numpy)


def _distinguishing_poison(oracle: Oracle, execution: Execution, suspected: Array) -> Array:
    """Another poison, whose suspected elements hold what no input becomes.

    A value that the operator changes cannot come out of an element that was written with what was read where the poison
    stands. Where the operator changes no value, or accepts them all, any other bits have to do.
    """
    poison, suspected = execution.poison, suspected[:PIECE]  # of further ones any other bits have to do too
    bits = np.dtype(f"u{poison.dtype.itemsize}")
    other: Array = (poison.view(bits) ^ bits.type(0x55)).view(poison.dtype).copy()
    values = marks(oracle.data_type)
    suspects = {name: array[suspected] for name, array in execution.inputs.items()}
    held = poison[suspected].view(bits)  # which the other must not hold again: an element may have been written so
    with np.errstate(all="ignore"):
        if len(suspects) == 1 and oracle.operator.input.data_type is oracle.data_type:
            values = values[~oracle.admits(dict.fromkeys(suspects, values), values)]
    for value in values[:_MOST_DISTINGUISHING][::-1]:
        filled = np.full(suspected.size, value, poison.dtype)
        other[suspected[~oracle.admits(suspects, filled) & (filled.view(bits) != held)]] = value
    return other


def _wrong(case: Case, oracle: Oracle, execution: Execution, expected: Array | Mask) -> Array:
    """The indices of wrong elements, ascending."""
    size, piece_size = execution.output.size, _closely(case)
    first = _wrong_before(oracle, execution, expected, piece_size)
    bits, wrong = execution.output.view(f"u{execution.output.dtype.itemsize}"), [first]
    for start in range(piece_size, size, piece_size or 1):
        piece = bits[start : start + piece_size]
        unlike = np.flatnonzero(piece != bits[: piece.size])
        there = np.setdiff1d(first[first < piece.size], unlike, assume_unique=True) + start
        if unlike.size:
            inputs = {name: array[unlike + start] for name, array in execution.inputs.items()}
            others = unlike[oracle.judge(inputs, execution.output[unlike + start])] + start
            there = np.sort(np.concatenate([there, others]))
        wrong.append(there)
    return np.concatenate(wrong)


def _closely(case: Case) -> int:
    """How many elements of the output are judged closely: of many that repeat some periods, of others all."""
    size = case.operator.output.element_count
    period = period_of(case) if size > PIECE else 0
    return min(size, period * max(1, PIECE // period)) if period else size


def _wrong_before(oracle: Oracle, execution: Execution, expected: Array | Mask, end: int) -> Array:
    """The indices of wrong elements before ``end``, ascending."""
    if not isinstance(expected, Mask):
        inputs = {name: array[:end] for name, array in execution.inputs.items()}
        return oracle.judge(inputs, execution.output[:end], expected[:end])
    wrong = []
    for start in range(0, end, PIECE):
        place = slice(start, min(start + PIECE, end))
        inputs = {name: array[place] for name, array in execution.inputs.items()}
        outputs = expected.over(execution.poison[place])
        wrong.append(oracle.judge(inputs, execution.output[place], outputs) + start)
    return np.concatenate(wrong)


def _as_before(execution: Execution) -> Array:
    """The indices of elements that hold the poison, ascending."""
    bits = np.dtype(f"u{execution.output.dtype.itemsize}")
    return np.flatnonzero(execution.output.view(bits) == execution.poison.view(bits))


def judge_execution(
    case: Case,
    oracle: Oracle,
    execution: Execution,
    expected: Array | Mask,
    again: Callable[[Array], Execution | None],
    by_clause: Callable[[Mapping[str, Array], Array], Iterable[tuple[Case, Array]]],
) -> Judgement:
    """Judge the values and the memory of one dispatch.

    Args:
        case: what was dispatched.
        oracle: the oracle of its description.
        execution: what came back.
        expected: the oracle's expected outputs; or the mask that the poison is changed by to be these, a piece after
            another.
        again: dispatches once more with another poison, ``None`` where that failed. It distinguishes an element
            that was not written from one that equals the poison by chance, or was read from where the poison stands.
        by_clause: parts the indices of wrong elements, given with all inputs, by the case whose clause they break.
    """
    wrong = _wrong(case, oracle, execution, expected)
    unwritten = wrong[:0]
    # The poison is no expected value, but may be another that is acceptable: what is right may be unwritten as well.
    held = wrong[:0] if case.placement.in_place else _as_before(execution)
    if held.size:  # so often whatever the poison was
        other = again(_distinguishing_poison(oracle, execution, held))
        if other is not None:
            unwritten, held = _left_alone(held, wrong, other, again), held[:0]
            execution = replace(execution, unwritten=unwritten)
            wrong = np.setdiff1d(wrong, unwritten, assume_unique=True)
    findings = _memory_findings(case, execution, unwritten)
    if wrong.size:
        findings += [
            _wrong_values(part_case, oracle, execution, part, part_case.layout_clause or part_case.clause, held)
            for part_case, part in by_clause(execution.inputs, wrong)
        ]
    checked = (*value_clauses(case), *MEMORY_CLAUSES)
    return Judgement(tuple(findings), checked, int(execution.output.size), (execution,))


def _left_alone(held: Array, wrong: Array, other: Execution, again: Callable[[Array], Execution | None]) -> Array:
    """Which elements hold what they did before in each of some dispatches, over another poison each time.

    Where any value is right, an implementation may give another at each dispatch, and of thousands of bytes one is the
    poison by chance, twice: so what is right and left after two dispatches is dispatched again.

    Args:
        held: the indices of those of which it is so in the first dispatch.
        wrong: the indices of those whose value was not acceptable there.
        other: the second dispatch.
        again: dispatches once more with another poison, ``None`` where that failed.
    """
    bits = np.dtype(f"u{other.poison.dtype.itemsize}")
    first = other.poison.view(bits)
    held = np.intersect1d(held, _as_before(other), assume_unique=True)
    for change in _FURTHER_CHANGES:
        if np.setdiff1d(held, wrong, assume_unique=True).size:
            further = again((first ^ bits.type(change)).view(other.poison.dtype))
            if further is None:
                break
            held = np.intersect1d(held, _as_before(further), assume_unique=True)
    return held


def expected_outputs(oracle: Oracle, case: Case, inputs: Mapping[str, Array]) -> Array:
    """One acceptable output for each element, as :meth:`Oracle.expected` gives it; where inputs repeat, so does it.

    Args:
        oracle: the oracle of the case's description.
        case: whose streams fill the inputs.
        inputs: the logical elements of each input by tensor name, 1-D.
    """
    count = max(x.size for x in inputs.values())
    period = period_of(case)
    if not period or count <= 2 * period:
        return oracle.expected(inputs)
    first_period = {name: x[:period] if x.size == count else x for name, x in inputs.items()}
    return repeated(oracle.expected(first_period), count)


def judge_dispatch(bench: Bench, kernel: Any, case: Case, oracle: Oracle) -> Judgement:
    """Dispatch an existing kernel on the case's values and placement, and judge what comes back."""
    if isinstance(bench, Notes):
        bench.note(kernel, case)
        return Judgement((), (*value_clauses(case), *MEMORY_CLAUSES), case.operator.output.element_count)
    return judge_run(
        bench,
        case,
        oracle,
        lambda arena: bench.run_on(kernel, case, arena),
        lambda poison: bench.run_on(kernel, case, bench.prepare(case, poisoned=True), poison),
    )


def poison(bench: Bench, case: Case, arena: Arena, outputs: Array) -> Array | Mask:
    """Fill an output with what each element must not be, which reveals nothing of what it must be.

    Args:
        bench: draws the poison.
        case: what is about to be dispatched; in place nothing is filled.
        arena: its memory.
        outputs: one acceptable output for each element; where they are fewer, they repeat.

    Returns:
        The outputs; of many the mask that the poison is changed by to be these, which takes little memory.
    """
    if case.placement.in_place:
        return outputs
    target = case.operator.output
    mask = bench.masks.mask(target.element_count * outputs.itemsize, arena.x)
    arena.mask_output(case, mask, outputs, PIECE)
    return mask if target.strides is None and outputs.size == target.element_count > PIECE else outputs


def judge_run(
    bench: Bench, case: Case, oracle: Oracle, run: Callable[[Arena], Outcome], repeat: Callable[[Array], Outcome]
) -> Judgement:
    """Judge a dispatch of the case.

    ``repeat`` is given the poison: a value for each output element, of the output's type.

    Args:
        bench: the bench.
        case: what is judged.
        oracle: of its description.
        run: dispatches on a memory whose output elements hold a poison.
        repeat: dispatches once more, with a poison.
    """
    arena, piece_size = bench.prepare(case, poisoned=True), _closely(case)
    outputs = expected_outputs(oracle, case, {name: x[:piece_size] for name, x in arena.inputs.items()})
    expected = poison(bench, case, arena, outputs)
    del outputs
    return judge_outcome(bench, case, oracle, run(arena), expected, repeat)


def judge_outcome(
    bench: Bench,
    case: Case,
    oracle: Oracle,
    execution: Outcome,
    expected: Array | Mask,
    repeat: Callable[[Array], Outcome],
) -> Judgement:
    """Judge the outcome of a dispatch of the case.

    Args:
        bench: the bench.
        case: what was dispatched.
        oracle: of its description.
        execution: its outcome.
        expected: as :func:`judge_execution` takes it.
        repeat: dispatches once more, with a poison.
    """
    if not isinstance(execution, Execution):
        return stopped(bench, case, execution)

    def again(poison: Array) -> Execution | None:
        with bench.unwatched():
            other = repeat(poison)
        return other if isinstance(other, Execution) else None

    def by_clause(inputs: Mapping[str, Array], wrong: Array) -> list[tuple[Case, Array]]:
        return _by_silent_point(bench, case, inputs, wrong)

    return judge_execution(case, oracle, execution, expected, again, by_clause)


def _by_silent_point(bench: Bench, case: Case, inputs: Mapping[str, Array], wrong: Array) -> list[tuple[Case, Array]]:
    """The wrong elements of a case about a silent point: those at it, at another one, and at none.

    The case has ordinary elements beside those at its point: what is wrong with them breaks the clause on values.
    """
    if bench.tables.clause(case.clause).check != "silent":
        return [(case, wrong)]
    table = bench.tables.operator(case.operator.name)
    few = {name: inputs[member][wrong] for name, member in table.formula_names.items() if member in inputs}
    points = silent_points(table, case.operator)
    parts, left = [], np.ones(wrong.size, np.bool_)
    for point in sorted(points, key=lambda silent_point: silent_point.clause.id != case.clause):  # its own first
        with np.errstate(all="ignore"):
            here = left & point.where(few)
        parts.append((replace(case, clause=point.clause.id), wrong[here]))
        left &= ~here
    values = Subject.of(table, case.operator, bench.level).values_clause(case.operator.attributes)
    parts.append((replace(case, clause=values), wrong[left]))
    return [(part_case, part) for part_case, part in parts if part.size]


def judge_oracle(bench: Bench, case: Case) -> Judgement:
    """Every output element is one that the oracle accepts, and the memory rules hold."""
    oracle = bench.oracle(case.operator)
    if bench.at_once(case):
        return judge_run(
            bench, case, oracle, lambda arena: bench.live(case, arena), lambda poison: bench.run(case, poison)
        )
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    judgement = judge_dispatch(bench, kernel, case, oracle)
    mishap = bench.closed(kernel)
    return judgement if mishap is None else stopped(bench, case, mishap)


def judge_harmless(bench: Bench, case: Case) -> Judgement:
    """The description may be refused; where it is accepted, a dispatch comes back and leaves other memory alone."""
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    return Judgement((), (*value_clauses(case), *MEMORY_CLAUSES[1:]), int(run.output.size), (run,))


def judge_left_open(bench: Bench, case: Case) -> Judgement:
    """How the tensors are bound is left open: a dispatch may be refused, or give anything, and leaves other memory."""
    run = bench.run(case)
    if isinstance(run, Mishap) and run.refusing:
        return Judgement(refused=True)
    if not isinstance(run, Execution):
        return stopped(bench, case, run)
    findings = tuple(_memory_findings(case, run, np.zeros(0, np.intp)))
    return Judgement(findings, (*value_clauses(case), *MEMORY_CLAUSES[1:]), int(run.output.size), (run,))


def executed(bench: Bench, case: Case, turn: int = 0) -> Execution | Judgement:
    """A dispatch of ``case`` whose memory is in order, or the judgement that stops here.

    Args:
        bench: the bench.
        case: what to dispatch.
        turn: the number of the dispatch in a relation. What stands in the output before follows from it alone: no
            relation holds between outputs that were made of that.
    """
    outcome = bench.run(case, turn=turn)
    if not isinstance(outcome, Execution):
        return stopped(bench, case, outcome)
    findings = _memory_findings(case, outcome, np.zeros(0, np.intp))
    if findings:
        return Judgement(tuple(findings), (*value_clauses(case), *MEMORY_CLAUSES[1:]), outcome.output.size, (outcome,))
    return outcome
