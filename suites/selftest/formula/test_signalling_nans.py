"""A signalling NaN is a NaN: whatever the machine's conversions and C library make of one, the oracles' answers stay.

Conversions to FLOAT64 quiet a FLOAT16 signalling NaN on some machines and keep it on others, and C's pow gives 1 of a
quiet NaN to the power 0, but NaN of a signalling one.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature, signatures
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.looped_cases import looped

TABLES = family()
_SIGNATURES, _ELEMENTS = 6, 40


def _of_floats(table: OperatorTable) -> list[Signature]:
    """The signatures that have a floating-point type."""
    return [signature for signature in signatures(table) if any(kind.is_floating for _, kind in signature.types)]


def _drawn(table: OperatorTable) -> dict[str, Signature]:
    """Some of an operator's signatures that have a floating-point type, by what a test calls them."""
    about = _of_floats(table)
    drawn = random.Random(table.code).sample(about, min(_SIGNATURES, len(about)))  # noqa: S311 - no secret
    return {str(signature): signature for signature in drawn}


def _nan(kind: DataType, *, signalling: bool) -> np.generic:
    infinity = np.array([np.inf], kind.numpy).view(kind.bits_dtype)
    quiet = kind.bits_dtype.type(1 << np.finfo(kind.numpy).nmant - 1)
    generic: np.generic = (infinity | (kind.bits_dtype.type(1) if signalling else quiet)).view(kind.numpy)[0]
    return generic


ON_NUMBERS = [operator for operator in TABLES.operators.values() if operator.domain != "bits" and _of_floats(operator)]


@pytest.mark.parametrize("table", ON_NUMBERS, ids=lambda item: item.short_name)
@looped("strict", [False, True], ids=lambda strict: "strict" if strict else "lenient")
@looped("signature", _drawn)
def test_the_same_is_acceptable_of_a_signalling_nan_and_of_a_quiet_one(
    table: OperatorTable, signature: Signature, strict: bool
) -> None:
    about = Subject(table, signature, FeatureLevel("6.4"), seed=0, profile=QUICK)
    attributes, edges = next(iter(about.attribute_sets())), next(iter(about.edge_sets()))
    chosen = np.linspace(0, edges.count - 1, _ELEMENTS).astype(np.intp)
    values = {name: np.array(array) for name, array in edges[chosen].with_single(edges.single).spread.items()}
    operator = about.describe(about.flat(_ELEMENTS), attributes)
    oracle = oracle_of(TABLES, operator, strict=strict)
    for name in (text for text, kind in about.inputs.items() if kind.is_floating):
        answers = [
            list(
                oracle.acceptance(
                    {**values, name: np.full_like(values[name], _nan(about.types[name], signalling=kind))}
                ).elements()
            )
            for kind in (False, True)
        ]
        assert answers[0] == answers[1], name
