"""Relations that the tables state between inputs and the results of one or several operators, without an oracle."""

from __future__ import annotations

import pytest

from dmlcts.specs.statements.relations import Relation, relation_clauses
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


@checks("relation")
def test_relations_hold(subject: Subject, judge: Judge) -> None:
    """Every relation of the table on the boundary lattice, or on pairs of operands made on purpose."""
    tables = judge.bench.tables
    tried = False
    for attributes in subject.attribute_sets():
        operator = subject.describe(subject.flat(1), attributes)
        related = [
            Relation(tables.operators, subject.table, clause, operator)
            for clause in relation_clauses(subject.table, operator)
        ]
        clauses = [relation.clause for relation in related if relation.supported(subject.level, operator.output.rank)]
        tried = tried or bool(clauses)
        judge.all(
            subject.case(clause.id, elements, attributes, expectation="stated relation")
            for clause in clauses
            for elements in subject.edge_sets()
        )
    if not tried:
        pytest.skip(f"feature level {subject.level} has not every operator of the relations of {subject}")
