"""Which kernels it takes: of all that were alive beside one that is wrong, the fewest that make it wrong."""

from __future__ import annotations

from dataclasses import replace

from dmlcts.specs import OperatorDesc
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, plain, streams_of

_MOST_DEVICES = 48
_CONFIRMED = 2
_REPEATABLE = "execution.repeatable"


def fewest_kernels(bench: Bench, finding: Finding) -> Finding | None:
    """The finding beside as few kernels as suffice, each time on a device that has run nothing yet.

    A pair is looked for first, the other kernel made before the wrong one or after it; where none suffices, kernels
    are left out one at a time.

    Returns:
        The finding on its smallest case; ``None`` where it does not come again on a fresh device, each time.
    """
    case = finding.case
    own = case.operator
    left = _MOST_DEVICES

    def shows(smaller_case: Case) -> Finding | None:
        nonlocal left
        left -= 1
        fresh = bench.fresh()
        try:
            findings = judge_case(fresh, smaller_case).findings
            matches = [seen for seen in findings if seen.case.beside and seen.case.operator == smaller_case.operator]
        finally:
            fresh.close()
        return matches[0] if matches and matches[0].outcome == finding.outcome else None

    others = [operator for operator in case.beside if operator != own]
    pairs = [pair for operator in others for pair in ((operator, own), (own, operator))]
    best = next((candidate for pair in pairs if left > 0 and (candidate := shows(replace(case, beside=pair)))), None)
    if best is None:
        best = shows(case)
        for operator in others:
            if best is not None and left > 0:
                fewer = tuple(neighbour for neighbour in best.case.beside if neighbour != operator)
                best = shows(replace(case, beside=fewer)) or best
    if best is None or not all(shows(best.case) for _ in range(_CONFIRMED)):
        return None  # of so many tries one may have gone wrong by chance
    if any(shows(replace(case, beside=(own,))) for _ in range(_CONFIRMED)):
        return None  # as often dispatched with no other kernel alive it goes wrong as well
    return shows(_one_element(bench, best)) or best


def repeated(bench: Bench, finding: Finding) -> Finding | None:
    """The finding as one of its kernel alone that is dispatched more than once, where no other needs to be alive.

    Returns:
        That, under ``execution.repeatable``; ``None`` where the kernel is right then, once of a few times or always.
    """
    alone = replace(finding.case, expectation="again", beside=(), layout_clause=_REPEATABLE, recipe=None)
    seen: list[Finding] = []
    for _ in range(_CONFIRMED):
        fresh = bench.fresh()
        try:
            seen += judge_case(fresh, alone).findings[:1]
        finally:
            fresh.close()
    is_repeated = len(seen) == _CONFIRMED and all(
        repetition.outcome == "fail" and repetition.clause == _REPEATABLE for repetition in seen
    )
    return seen[0] if is_repeated else None


def _one_element(bench: Bench, finding: Finding) -> Case:
    """The case on the one element that is shown, for all kernels; the case itself where its input is strided."""
    case = finding.case
    if finding.index < 0 or any(tensor.strides is not None for tensor in case.operator.inputs.values()):
        return case
    counts = {name: tensor.element_count for name, tensor in case.operator.inputs.items()}
    shown = (
        values.array(counts[name])[finding.index if counts[name] > 1 else 0] for name, values in case.values.items()
    )
    alone = plain(bench, case, streams_of(case, shown), 1)
    tensors = alone.operator.tensors
    beside = tuple(OperatorDesc(neighbour.name, tensors, neighbour.attributes) for neighbour in case.beside)
    return replace(case, operator=alone.operator, values=alone.values, beside=beside)
