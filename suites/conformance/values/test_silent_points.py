"""Silent points: inputs of which no page says what they give. What they give is named, and harms nothing."""

from __future__ import annotations

from typing import Any

from dmlcts.specs.statements.silent_points import silent_points
from dmlcts.suites.cases.values import text, text_with_bits
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


@checks("silent")
def test_silent_points_are_characterised(subject: Subject, judge: Judge) -> None:
    """Every silent point of the table among ordinary inputs: all is judged, and what the point gives is named."""
    inputs: Any = edge_values.inputs(subject.data_type)
    for attributes in subject.attribute_sets():
        operator = subject.describe(subject.flat(len(inputs)), attributes)
        for point in silent_points(subject.table, operator):
            run = judge.run(subject.case(point.clause.id, inputs, attributes))
            if run is None:
                continue
            given = {next(iter(subject.table.formula_names)): run.x}
            there = point.where(given)
            if not there.any():
                continue
            first = int(there.argmax())
            example = f"{text(run.x[first])} gives {text_with_bits(run.output[first])}"
            named = point.behaviour(given, run.output) or "none of the behaviours that have a name"
            judge.characterise(point.clause.id, operator, named, example)
