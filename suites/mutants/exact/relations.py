"""Relations that do not hold: for each that a table states, its operator's results spoiled on half of all inputs.

Which half depends on the first operand's bits, so that what exchanges, repeats or mirrors operands meets both halves.
"""

from __future__ import annotations

from dmlcts.specs.loading import load_tables
from dmlcts.suites.mutants.approximate.relations import is_bounded
from dmlcts.suites.mutants.formulas import Array, bit_count, unsigned
from dmlcts.suites.mutants.making import Row, made

CHECKS = ("relation", "idempotent", "monotone")


def spoiled(y: Array, *xs: Array) -> Array:
    """The lowest bit of the results changed where the first operand has an odd number of bits."""
    if y.dtype == bool:
        return y ^ (bit_count(xs[0]) % 2 == 1)
    bits = unsigned(y)
    return (bits ^ (bit_count(xs[0]) % 2).astype(bits.dtype)).view(y.dtype)


def unequal(y: Array, *xs: Array) -> Array:
    """The lowest bit of every result changed: done twice, it is as it was before."""
    bits = unsigned(y)
    return (bits ^ bits.dtype.type(1)).view(y.dtype)


def name_of(clause: str) -> str:
    """``AddCommutativeBroken`` of ``add.commutative``."""
    return "".join(word.capitalize() for part in clause.split(".") for word in part.split("-")) + "Broken"


ROWS = {
    name_of(clause.id): Row(
        table.short_name,
        f"Results are off by one bit, mostly where the first operand has an odd number of bits: {clause.text}",
        unequal if clause.check == "idempotent" else spoiled,
        clause.id.partition(".")[2],
    )
    for table in load_tables().operators.values()
    if table.short_name not in ("CLIP", "ROUND", "THRESHOLD")
    for clause in table.clauses
    if clause.check in CHECKS and not is_bounded(table, clause)
}

globals().update(made(__name__, ROWS))
