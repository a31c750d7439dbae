"""Relations that the tables state between inputs and the results of one or several operators, without an oracle."""

from __future__ import annotations

from dmlcts.specs.statements.relations import relation_clauses
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


@checks("relation")
def test_relations_hold(subject: Subject, judge: Judge) -> None:
    """Every relation of the table on the boundary lattice."""
    inputs = edge_values.inputs(subject.data_type)
    for attributes in subject.attribute_sets():
        operator = subject.describe(subject.flat(len(inputs)), attributes)
        judge.all(
            subject.case(clause.id, inputs, attributes, expectation="stated relation")
            for clause in relation_clauses(subject.table, operator)
        )
