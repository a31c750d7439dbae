"""Signatures: what a description's is, which are tried where, and what a row is called."""

from __future__ import annotations

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import Signature, signatures
from dmlcts.suites.generation.covering_subjects import covering_subjects, form_of, of_few_bytes, whole
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

LEVEL = FeatureLevel("6.4")


def test_a_description_states_which_signature_and_which_row_it_is_of() -> None:
    """For every table there is: records name the type of the first type variable."""
    for table in load_tables().operators.values():
        for signature in signatures(table):
            subject = Subject(table, signature, LEVEL, 0, profile=QUICK)
            operator = subject.describe(subject.flat(3), subject.attributes())
            assert Signature.of(operator, table) == signature
            assert operator.data_type is signature.data_type
            assert operator.output_name == table.output
            assert tuple(operator.inputs) == tuple(name for name in table.inputs if name in operator.tensors)


def test_places_are_shared_out_among_signatures_and_every_type_is_taken() -> None:
    tables = load_tables()
    for seed in (0, 1, 7):
        chosen = covering_subjects(tables, seed)
        assert set(chosen) == set(tables.operators)
        for name, table in tables.operators.items():
            every = set(signatures(table))
            assert chosen[name] <= every
            assert len(chosen[name]) >= min(2, len(every))
            assert not whole(table) or chosen[name] == every
        for form in {form_of(table) for table in tables.operators.values()}:
            alike = [table for table in tables.operators.values() if form_of(table) == form and not whole(table)]
            listed = {
                signature.types for table in alike for signature in signatures(table) if len(table.type_variables) == 1
            }
            taken = {signature.types for table in alike for signature in chosen[table.operator]}
            assert listed <= taken, form
    subjects = covering_subjects(tables, 0)
    if any(len(chosen) < len(signatures(tables.operators[name])) for name, chosen in subjects.items()):
        assert subjects != covering_subjects(tables, 1), "the seed turns what is chosen"


def test_at_every_level_there_is_a_signature_of_few_bytes_for_the_largest_tensor() -> None:
    for name, table in load_tables().operators.items():
        few = of_few_bytes(table)
        for level in FeatureLevel:
            assert not signatures(table, level) or set(few) & set(signatures(table, level)), (name, level)
    short = {
        name: [str(signature) for signature in of_few_bytes(load_tables().operator(name))]
        for name in ("IDENTITY", "TANH")
    }
    assert short["IDENTITY"][0] in ("INT8", "UINT8")
    assert short["TANH"] == ["FLOAT16", "FLOAT32"]
