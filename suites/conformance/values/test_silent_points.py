"""Silent points: inputs of which the operator's page does not say what they give.

What they give is judged where another Microsoft page says it, and else named; it harms nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dmlcts.specs.statements.explanations import explanation
from dmlcts.specs.statements.silent_points import SilentPoint
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import ApproximateResults
from dmlcts.suites.cases.values import Array, text_with_bits
from dmlcts.suites.generation.silence import at_silent_points
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Judgement, inputs_text
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.relations import by_formula_names
from dmlcts.suites.running.markers import checks


@checks("silent")
def test_silent_points_are_characterised(subject: Subject, judge: Judge) -> None:
    """Every silent point of the table beside ordinary inputs: all is judged, and what the point gives is named."""
    points: list[SilentPoint] = []

    def cases() -> Iterator[Case]:
        for attributes, point, elements in at_silent_points(subject):
            points.append(point)
            yield subject.case(point.clause.id, elements, attributes)

    def characterise(case: Case, judgement: Judgement) -> None:
        point = points[-1]
        named = _named(subject, judge, point, case, judgement)
        if named is not None:
            run = judgement.executions[0]
            example = f"{inputs_text(run.inputs, 0)} gives {text_with_bits(run.output[0])}"
            judge.characterise(point.clause.id, case.operator, named, example)

    judge.all(cases(), characterise, dispatches=True)


def _named(subject: Subject, judge: Judge, point: SilentPoint, case: Case, judgement: Judgement) -> str | None:
    """What the point gives; ``None`` where that is wrong, or another page says what it is."""
    if point.clause.obligation != "unspecified" or not judgement.executions:
        return None
    if any(finding.clause == point.clause.id for finding in judgement.findings):
        return None
    run = judgement.executions[0]
    if run.unwritten is not None and run.unwritten.size:
        return None  # what stands there is nothing that the point gives
    oracle, members = judge.bench.oracle(case.operator), subject.table.formula_names

    def by_name(arrays: Mapping[str, Array]) -> Array:
        assert isinstance(oracle, ApproximateResults), "no other has a function's values"
        return oracle.real({members[name]: array for name, array in arrays.items()})

    real = by_name if isinstance(oracle, ApproximateResults) else None
    with np.errstate(all="ignore"):
        return explanation(point, by_formula_names(subject.table, run.inputs), run.output, real)
