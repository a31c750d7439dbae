"""Elements of approximate operators, and where two oracles' answers for one of them differ."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.outcome import Acceptable, order_of
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

LEVEL = FeatureLevel("6.4")
_SIGNATURES = 6
_SETS = 4
"""Sets of attributes, or of the elements of tensors that have only one, that are tried."""


def approximate(tables: Tables) -> list[tuple[OperatorTable, Signature]]:
    """Every operator and signature that accuracy rules are about; of an operator with many some, drawn."""
    result = []
    for table in tables.operators.values():
        about = [signature for signature in signatures(table) if is_approximate(table, signature)]
        drawn = random.Random(table.code).sample(about, min(_SIGNATURES, len(about)))  # noqa: S311 - no secret
        result += [(table, signature) for signature in about if signature in drawn]
    return result


def elements_of(
    table: OperatorTable, signature: Signature, count: int, seed: int
) -> Iterator[tuple[OperatorDesc, dict[str, Any]]]:
    """Descriptions, and some elements for each by the names of the formula: edge values, and seeded ones."""
    subject = Subject(table, signature, LEVEL, seed, profile=QUICK)
    generator = np.random.Generator(np.random.PCG64(seed))
    sets = list(subject.edge_sets())
    chosen_sets = sets[:: max(1, len(sets) // _SETS)]
    attribute_sets = list(subject.attribute_sets())
    most = max(_SETS, len(attribute_sets)) if len(chosen_sets) == 1 else _SETS  # every exponent of CONSTANT_POW
    for attributes, edges in itertools.islice(itertools.product(attribute_sets, chosen_sets), most):
        chosen = generator.choice(edges.count, min(count, edges.count), replace=False)
        spread = edges[chosen].joined(subject.bulk_elements(seed, count // 2).with_single(edges.single)).spread
        operator = subject.describe(subject.flat(len(next(iter(spread.values())))), attributes)
        yield (
            operator,
            {
                name: np.ascontiguousarray(spread[member])
                for name, member in table.formula_names.items()
                if member in spread
            },
        )


def probes(answers: list[Acceptable], kind: DataType) -> set[int]:
    """Patterns at which answers could differ: every end of an interval with its neighbours, and the special ones."""
    count = 1 << 8 * kind.itemsize
    numbers = {0, count >> 1}
    for answer in answers:
        numbers |= set(answer.patterns)
        numbers |= {(end + step) % count for span in answer.intervals for end in span for step in (-1, 0, 1)}
    if kind.is_floating:
        special = np.array([np.nan, np.inf, -np.inf, np.finfo(kind.numpy).max], kind.numpy)
        numbers |= set(special.view(kind.bits_dtype).tolist())
    return numbers


def _widened(kind: DataType, span: tuple[int, int]) -> tuple[int, int]:
    """An interval with the next number at each end; one that holds a power of two three times as wide."""
    half, digits = 1 << 8 * kind.itemsize - 1, int(np.finfo(kind.numpy).nmant)
    low, high = (order_of(end, kind) for end in span)
    more = high - low if low * high > 0 and abs(low) - 1 >> digits != abs(high) + 1 >> digits else 1
    low, high = low - max(more, 1), high + max(more, 1)
    return (half - low if low < 0 else low, half - high if high < 0 else high)


class Difference(NamedTuple):
    """An element for which the exact and the vectorised oracle do not admit the same patterns.

    Attributes:
        text: the inputs, the patterns and both answers, as a sentence of a report.
        apart: whether the vectorised oracle admits less, or more than its stated error lets it.
    """

    text: str
    apart: bool


def differences(
    tables: Tables, operator: OperatorDesc, value: Mapping[str, Any], *, strict: bool
) -> Iterator[Difference]:
    """The elements for which the two oracles admit different patterns, at either end of an interval or next to it.

    Bounds that are expressions, and functions with an error, are widened by the vectorised one: it may also admit what
    is next to an end of the exact intervals, and at a power of two, where the spacing changes, what twice the bound
    would.
    Where further formulas are permitted, or several functions of an activation have bounds of their own, their steps
    may meet powers of two on the way: it must not admit less.
    """
    kind = operator.output.data_type
    fused = operator.activation is not None
    law, operator = tables.fused(operator)
    several = fused and len({rule.function for rule in law.table.accuracy if not rule.judged.neighbours}) > 1
    exactly = ApproximateOracle(law, operator, strict=strict)
    answers = ApproximateVectorOracle(law, operator, strict=strict).acceptance(value).elements()
    patterns = {name: array.view(f"u{array.dtype.itemsize}").tolist() for name, array in value.items()}
    for index, answer in enumerate(answers):
        exact = exactly.acceptable({name: bits[index] for name, bits in patterns.items()})
        wider = Acceptable(frozenset(), any_value=True) if several or law.table.permitted_formulas else exact
        if kind.is_floating and not wider.any_value:
            wider = replace(exact, intervals=frozenset(map(partial(_widened, kind), exact.intervals)))
        places = probes([exact, answer], kind)
        unlike = [bits for bits in places if exact.admits(bits, kind) != answer.admits(bits, kind)]
        apart = [bits for bits in unlike if not answer.admits(bits, kind) or not wider.admits(bits, kind)]
        if unlike:
            inputs = {name: array[index] for name, array in value.items()}
            yield Difference(f"{inputs}: {list(map(hex, apart or unlike))} of {exact} and {answer}", bool(apart))


def disagreements(tables: Tables, operator: OperatorDesc, value: Mapping[str, Any], *, strict: bool) -> list[str]:
    """The elements for which the two oracles are further apart than the vectorised one's stated error."""
    return [difference.text for difference in differences(tables, operator, value, strict=strict) if difference.apart]
