"""Relations that the tables state between inputs and the results of one or several operators, without an oracle."""

from __future__ import annotations

from dmlcts.specs.statements.relations import relation_clauses
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


@checks("relation")
def test_relations_hold(subject: Subject, judge: Judge) -> None:
    """Every relation of the table on the boundary lattice, or on pairs of operands made on purpose."""
    for attributes in subject.attribute_sets():
        clauses = relation_clauses(subject.table, subject.describe(subject.flat(1), attributes))
        judge.all(
            subject.case(clause.id, elements, attributes, expectation="stated relation")
            for clause in clauses
            for elements in subject.edge_sets()
        )
