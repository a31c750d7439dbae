"""Activations that are fused to an operator: what they give, in which layouts, and which of them are taken."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.models import Activation
from dmlcts.specs.tables.fusing import fused_attribute
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import ApproximateResults
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import text
from dmlcts.suites.conformance.tensors.describing import at_every_rank
from dmlcts.suites.generation import activations
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Judgement
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_FAR = 1 << 12
_MANY = (1 << 15) + 1
_FEW = tuple(sorted({(1 << power) + beside for power in range(9) for beside in (-1, 1)} - {0}))
"""Behind every number of whole vectors one element is left over, or all but one."""
_SMALL, _LARGE = 0.0625, 64.0
_BOUNDS = {"Min": np.float32(-1), "Max": np.float32(1), "ScaleBias": None}
_UNLISTED = (OperatorDesc("ELEMENT_WISE_CLIP", {}, _BOUNDS), OperatorDesc("ELEMENT_WISE_ABS", {}, {"ScaleBias": None}))


def _name(subject: Subject) -> str:
    attribute = fused_attribute(subject.table)
    assert attribute is not None, "the clauses are of operators that take one"
    return attribute.name


def _spoken_of(subject: Subject, judge: Judge, *, later: bool) -> list[Activation]:
    """The activations that the judged level has, or those that only later ones have."""
    name, known = _name(subject), judge.bench.tables.activations
    named = [clause.when[name] for clause in subject.table.checked_by("activation")]
    return [known[activation] for activation in named if (known[activation].feature_level > subject.level) == later]


@checks("activation")
def test_activations(subject: Subject, judge: Judge) -> None:
    """Each activation, with each set of its numbers, of results around these, of every magnitude, and special ones."""
    listed = _spoken_of(subject, judge, later=False)
    judge.all(_valued(subject, listed), lambda case, judgement: _characterise(judge, case, judgement), dispatches=True)


def _characterise(judge: Judge, case: Case, judgement: Judgement) -> None:
    """Name how near results are that no page binds, and what sums that are no finite numbers give, unless they fail."""
    clause = judge.bench.tables.clause(case.clause)
    if clause.obligation != "unspecified" or not judgement.executions or judgement.findings:
        return
    run = judgement.executions[0]
    oracle = judge.bench.oracle(case.operator)
    assert isinstance(oracle, ApproximateResults), "an activation is of what accuracy rules are about"
    with np.errstate(all="ignore"):
        real, total = oracle.real(run.inputs), sum(array.astype(np.float64) for array in run.inputs.values())
        measured = (np.abs(total) <= _LARGE) & np.isfinite(run.output)
        unit = np.spacing(np.maximum(np.abs(real), _SMALL).astype(run.output.dtype))
        error = np.abs(run.output.astype(np.float64) - real) / unit
    phrases = [_near(float(np.max(error, initial=0, where=measured)))]
    for value in (np.inf, -np.inf, np.nan):
        outputs = run.output[np.isnan(total) if np.isnan(value) else total == value]
        if outputs.size:
            phrases.append(f"{text(run.output.dtype.type(value))} gives {text(outputs[0])}")
    judge.characterise(case.clause, case.operator, ", ".join(phrases))


def _near(error: float) -> str:
    """The largest error in units of the last place, as the next power of two from 1/2 on.

    That of small results counts as of numbers of 1/16: below, FLOAT64 is no reference for differences such as
    exp(x) - 1, nor is it for exponentials of large sums.
    """
    if error > _FAR:
        return f"further than {_FAR} ULP from its formula"
    bound = 0.5
    while bound < error:
        bound *= 2
    return f"within {bound:g} ULP of its formula"


def _valued(subject: Subject, listed: list[Activation]) -> Iterator[Case]:
    name = _name(subject)
    for activation in listed:
        for number, described in enumerate(activations.descriptions(activation)):
            attributes = subject.attributes(**{name: described})
            numbers = activation.number_sets[number]
            yield subject.case(subject.values_clause(attributes), activations.elements(subject, numbers), attributes)


@checks("activation")
def test_activations_of_few_elements(subject: Subject, judge: Judge) -> None:
    """Each activation of one element and of a few, whose results are all negative, or all positive."""
    judge.all(_short(subject, _spoken_of(subject, judge, later=False)))


def _short(subject: Subject, listed: list[Activation]) -> Iterator[Case]:
    name = _name(subject)
    for activation in listed:
        attributes = subject.attributes(**{name: next(activations.descriptions(activation))})
        for count in _FEW:
            for sign in (-1, 1):
                elements = activations.of_one_sign(subject, count, sign)
                yield subject.case(subject.values_clause(attributes), elements, attributes)


@checks("activation")
def test_activations_in_every_layout(subject: Subject, judge: Judge) -> None:
    """Each activation with strides of every kind, in place of each input, at every rank, on many elements.

    Each input is padded, broadcast and one element alone as well.
    """
    judge.all(_laid_out(subject, _spoken_of(subject, judge, later=False)))


def _laid_out(subject: Subject, listed: list[Activation]) -> Iterator[Case]:
    name, count = _name(subject), 3 * 5 * 23
    rank = max(subject.ranks)
    sizes = ((*([1] * (rank - 3)), 3, 5, 23) if rank > 2 else (*([1] * (rank - 1)), count))[-rank:]
    packed = TensorDesc(subject.data_type, sizes).element_strides
    spread = tuple(2 * stride for stride in packed)
    turned = TensorDesc(subject.data_type, sizes[::-1]).element_strides[::-1]
    repeated = (*packed[:-1], 0)
    values, many = (_of_both_signs(subject, number) for number in (count, _MANY))
    first = next(iter(subject.inputs))
    for activation in listed:
        attributes = subject.attributes(**{name: next(activations.descriptions(activation))})
        clause = subject.values_clause(attributes)
        for layout, source, target in (
            ("padded", spread, None),
            ("output", None, spread),
            ("permuted", turned, None),
            ("broadcast", repeated, None),
        ):
            operator = subject.describe(sizes, attributes, source, target)
            yield Case(operator, values.streams, clause, f"tensor.strides.{layout}")
        for layout, strides in (("padded", spread), ("broadcast", repeated), ("broadcast", (0,) * rank)):
            for member in subject.inputs:
                operator = subject.describe(sizes, attributes, layouts={member: strides})
                yield Case(operator, values.streams, clause, f"tensor.strides.{layout}")
        for alias in subject.table.tensors[subject.table.output].may_alias:
            placement = Placement(in_place=True, alias="" if alias == first else alias)
            operator = subject.describe(sizes, attributes)
            yield Case(operator, values.streams, clause, subject.in_place_clause, placement=placement)
        yield subject.case(clause, many, attributes, layout_clause="tensor.position")
        yield from at_every_rank(subject, attributes, values.streams)


def _of_both_signs(subject: Subject, count: int) -> Elements:
    """Ordinary elements, of which every third sum is negative, the last one as well: there loops over vectors end."""
    negative = np.arange(count)[::-1] % 3 == 0
    return subject.distinct(count).each(lambda array: np.where(negative, -np.abs(array) - 1, np.abs(array) + 1))


@checks("activation", "execution.independent")
def test_activations_beside_each_other(subject: Subject, judge: Judge) -> None:
    """Kernels that differ in the numbers of their activation alone, and one without it, alive at the same time."""
    judge.all(_beside(subject, _spoken_of(subject, judge, later=False)))


def _beside(subject: Subject, listed: list[Activation]) -> Iterator[Case]:
    name, values = _name(subject), _of_both_signs(subject, 61)
    for activation in listed:
        sets = [*activations.descriptions(activation), None]
        operators = tuple(
            subject.describe(subject.flat(61), subject.attributes(**{name: description})) for description in sets
        )
        for operator in (operators[0], operators[-2])[: len(sets) - 1]:
            yield Case(
                operator,
                values.streams,
                subject.values_clause(operator.attributes),
                "execution.independent",
                "beside others",
                beside=operators,
            )


def _answers(subject: Subject, judge: Judge, clause: str, asked: list[OperatorDesc], expectation: str) -> None:
    """Name which activations are refused, and which are accepted."""
    answers: dict[str, list[str]] = {"refuses": [], "accepts": []}
    for described in asked:
        attributes = subject.attributes(**{_name(subject): described})
        case = subject.case(clause, subject.distinct(61), attributes, expectation=expectation)
        judgement = judge(case)
        answers["refuses" if judgement.refused else "accepts"].append(described.name)
    behaviour = " and ".join(f"{answer} {', '.join(named)}" for answer, named in answers.items() if named)
    judge.characterise(clause, case.operator, behaviour)


@checks("activation.unlisted")
def test_unlisted_activations_are_characterised(subject: Subject, judge: Judge) -> None:
    """Operators that the list of activations lacks: refused, or accepted; nothing is dispatched."""
    _answers(subject, judge, subject.clause("activation.unlisted"), [*_UNLISTED], "either")


@checks("activation.later-level")
def test_later_activations_are_characterised(subject: Subject, judge: Judge) -> None:
    """Activations that only a later level has: refused, or accepted and then right."""
    later = _spoken_of(subject, judge, later=True)
    if not later:
        pytest.skip(f"feature level {subject.level} has every activation")
    described = [next(activations.descriptions(activation)) for activation in later]
    _answers(subject, judge, subject.clause("activation.later-level"), described, "oracle")
