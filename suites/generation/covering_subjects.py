"""Which signatures of an operator the quick profile takes for what does not depend on values: layouts, memory, state.

Forty operators on up to a dozen types each cannot all be tried in every layout within minutes. The operators whose
kernels differ most (those with bounds or modes on one input) are, and every operator is on a few signatures, chosen so
that together all types are taken by operators of every form. The signatures left out meet pairs
of levels of the factors, but for the largest tensors. Tests of values take every signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dmlcts.specs import FeatureLevel
from dmlcts.specs.checks import SHARED
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, signatures
from dmlcts.suites.cases.oracles import of_one_type

_FEW = 48  # so many pairs of an operator and a signature are all taken
_EACH = 2  # signatures of an operator at least
_LEVEL = FeatureLevel("5.0")


def is_shared_out(check: str) -> bool:
    """Whether what checks a clause is about places, not about values: then the signatures may share it out."""
    return check in SHARED or check == "in-place"


def form_of(table: OperatorTable) -> tuple[object, ...]:
    """What operators have in common that their kernels may share a path for."""
    return len(table.inputs), len(table.type_variables), table.domain, bool(table.in_place)


def whole(table: OperatorTable) -> bool:
    """Whether an operator is tried on all of its signatures."""
    modes = any(item.type == "ENUM" for item in table.attributes)
    return of_one_type(table) and bool(table.float_attributes or modes)


def covering_subjects(tables: Tables, seed: int) -> Mapping[str, frozenset[Signature]]:
    """The signatures of each operator, by its name, on which tests of layouts, memory and state are run in quick."""
    return _chosen(ByIdentity(tables), seed)


def of_few_bytes(table: OperatorTable) -> tuple[Signature, ...]:
    """At each level, for each size of the widest element, the signature of the fewest bytes; those come first.

    Where the narrowest is not obliged, or an implementation does not have it, another one is taken.
    """
    return _of_few_bytes(ByIdentity(table))


@lru_cache(maxsize=256)
def _of_few_bytes(table_key: ByIdentity[OperatorTable]) -> tuple[Signature, ...]:
    table = table_key.value

    def sizes(signature: Signature) -> tuple[int, int]:
        each = [
            signature[row.type].itemsize
            for name, row in table.tensors.items()
            if row.elements is None and (not row.optional or name in signature.present)
        ]
        return max(each), sum(each)

    sizes_by_signature: dict[Signature, tuple[int, int]] = {}
    for level in FeatureLevel:
        least: dict[int, Signature] = {}
        known = [
            known_signature for known_signature in sizes_by_signature if known_signature in signatures(table, level)
        ]  # before others of as many bytes
        for signature in sorted((*known, *signatures(table, level)), key=sizes):
            least.setdefault(sizes(signature)[0], signature)
        sizes_by_signature |= {signature: sizes(signature) for signature in least.values()}
    return tuple(sorted(sizes_by_signature, key=lambda entry: sizes_by_signature[entry]))


def _count(tables: Tables) -> int:
    return sum(len(_signatures(table)) for table in tables.operators.values() if not whole(table))


def _signatures(table: OperatorTable) -> tuple[Signature, ...]:
    """Those that today's implementations take come first."""
    usual = signatures(table, _LEVEL)
    return (*usual, *(signature for signature in signatures(table) if signature not in usual))


@lru_cache(maxsize=8)
def _chosen(keyed: ByIdentity[Tables], seed: int) -> Mapping[str, frozenset[Signature]]:
    tables = keyed.value
    signatures_by_operator = {name: set(signatures(table)) for name, table in tables.operators.items()}
    if _count(tables) <= _FEW:
        return {name: frozenset(chosen) for name, chosen in signatures_by_operator.items()}
    covered: set[tuple[object, ...]] = set()
    shared = [table for table in tables.operators.values() if not whole(table)]
    for place, table in enumerate(shared):
        usual = signatures(table, _LEVEL) or signatures(table)
        turn = seed + place
        chosen = {usual[(turn + step * max(1, len(usual) // _EACH)) % len(usual)] for step in range(_EACH)}
        signatures_by_operator[table.operator] = chosen
        covered |= {(form_of(table), signature.types) for signature in chosen}
    for table in shared:
        for item in _signatures(table):
            key = (form_of(table), item.types)
            if key not in covered and len(table.type_variables) == 1:
                covered.add(key)
                signatures_by_operator[table.operator].add(item)
    return {name: frozenset(chosen) for name, chosen in signatures_by_operator.items()}
