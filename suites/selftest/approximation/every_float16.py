"""The two oracles on every FLOAT16 input: ``python -m dmlcts.suites.selftest.approximation.every_float16``.

For each operator of one input that has an accuracy rule, each set of its attributes and each of the 65,536 patterns:
the vectorised oracle must admit what the exact one admits, at both ends of every interval and one pattern beyond. Takes
about two minutes an operator; a test runs it on a sample.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import click
import numpy as np

from dmlcts.specs import DataType
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.selftest.approximation.probing import LEVEL, differences
from dmlcts.suites.selftest.family.family_tables import family

ALL = 1 << 16
_PIECE = 1 << 12
_SHOWN = 5
_EXPONENTS = 3
"""Of sets of attributes as many are tried: an exponent of 1 and two others."""


@dataclass
class Compared:
    """The result of an operator's comparison.

    Attributes:
        inputs: how many elements were compared.
        apart: those for which the vectorised oracle admits less than the exact one, or more than its stated error
            lets it.
        wider: for how many more the vectorised one admits more than the exact one, within that error.
    """

    inputs: int = 0
    apart: list[str] = field(default_factory=list)
    wider: int = 0


def of_one_float16(tables: Tables) -> list[tuple[OperatorTable, Signature]]:
    """The operators of one input, and their FLOAT16 signatures, that accuracy rules are about."""
    return [
        (table, signature)
        for table in tables.operators.values()
        if len(table.formula_names) == 1
        for signature in signatures(table)
        if signature.data_type is DataType.FLOAT16 and is_approximate(table, signature)
    ]


def attribute_sets(subject: Subject) -> Iterator[Mapping[str, Attribute]]:
    """The sets of attributes that are tried: all where there are few, else some that are evenly apart."""
    result = list(subject.attribute_sets())
    yield from result[:: -(-len(result) // _EXPONENTS)]


def compared(
    tables: Tables, table: OperatorTable, signature: Signature, *, strict: bool, step: int = 1, first: int = 0
) -> Compared:
    """Compare the oracles on every ``step``-th pattern from ``first`` on."""
    subject, result = Subject(table, signature, LEVEL, seed=3, profile=QUICK), Compared()
    patterns = np.arange(first, ALL, step, dtype=np.uint16).view(np.float16)
    (name,) = table.formula_names
    for attributes in attribute_sets(subject):
        for start in range(0, patterns.size, _PIECE):
            piece = patterns[start : start + _PIECE]
            operator = subject.describe(subject.flat(piece.size), attributes)
            result.inputs += piece.size
            for difference in differences(tables, operator, {name: piece}, strict=strict):
                if difference.apart:
                    result.apart.append(difference.text)
                else:
                    result.wider += 1
    return result


@click.command()
@click.option("--operator", "chosen", multiple=True, help="Only these, by short name: EXP. All by default.")
@click.option("--strict", is_flag=True, help="Compare what --strict asks for.")
@click.option("--step", default=1, show_default=True, help="Compare every so-manieth pattern.")
def main(chosen: tuple[str, ...], strict: bool, step: int) -> None:
    """Compare the exact and the vectorised oracle; exit code 1 where they are apart."""
    tables, failed = family(), False
    for table, signature in of_one_float16(tables):
        if chosen and table.short_name not in chosen:
            continue
        started = time.perf_counter()
        result = compared(tables, table, signature, strict=strict, step=step)
        seconds = time.perf_counter() - started
        click.echo(
            f"{table.short_name}: {result.inputs} inputs, {result.wider} wider by the stated error, "
            f"{len(result.apart)} apart ({seconds:.0f} s)"
        )
        for line in result.apart[:_SHOWN]:
            click.echo(f"  {line}")
        failed |= bool(result.apart)
    sys.exit(failed)


if __name__ == "__main__":
    main()
