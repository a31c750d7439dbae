"""Silent points: inputs of which the operator's page does not say what they give.

What they give is judged where another Microsoft page says it, and else named; it harms nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmlcts.specs.statements.silent_points import SilentPoint
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import text_with_bits
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

    judge.all(
        cases(), lambda case, judgement: _characterise(subject, judge, points[-1], case, judgement), dispatches=True
    )


def _characterise(subject: Subject, judge: Judge, point: SilentPoint, case: Case, judgement: Judgement) -> None:
    """Name what the point gives, unless that is wrong, or another page says what it is."""
    if point.clause.obligation != "unspecified" or not judgement.executions:
        return
    if any(finding.clause == point.clause.id for finding in judgement.findings):
        return
    run = judgement.executions[0]
    if run.unwritten is not None and run.unwritten.size:
        return  # what stands there is nothing that the point gives
    example = f"{inputs_text(run.inputs, 0)} gives {text_with_bits(run.output[0])}"
    given = by_formula_names(subject.table, run.inputs)
    with np.errstate(all="ignore"):
        named = point.behaviour(given, run.output) or "none of the behaviours that have a name"
    judge.characterise(point.clause.id, case.operator, named, example)
