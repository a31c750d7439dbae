"""One fault is told once: of all the cases in which tests met it, the smallest stands for the others.

Failing cases are taken for one fault where they break one clause in one way, with the same needs. A case that was not
examined is never taken for one that was: nobody knows what it needs.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord, ItemRecord

UNEXAMINED = "unexamined"
"""The label, among a failing case's details, of why nobody looked for a smaller case and what it needs."""

_BY_CHANCE = "not repeatable"
_BESIDE_PACKED = " here and # in a packed tensor"  # a wrong value all the same
_THOUGH = re.compile(r", though .* show .*")  # a wrong value as well, where the pages leave a bound open
_FOLDED = (Outcome.FAIL, Outcome.WAIVED)
_NUMBER = re.compile(
    r"(?<![A-Za-z_.])[-+]?(?:0x[0-9a-f]+|\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?![A-Za-z_])", re.IGNORECASE
)
_VALUE = re.compile(r"(?<![A-Za-z_])[-+]?(?:nan|inf)(?![A-Za-z_])", re.IGNORECASE)
_NUMBERS = re.compile(r"#(?:(?:, | or | and )#)+")


@dataclass(frozen=True)
class Fault:
    """What makes failing cases of all operators and types one fault.

    Attributes:
        clause: the clause that they break.
        outcome: how.
        needs: what they need, or else what the implementation said, without its numbers: "41 elements" is needed as
            43 are.
        kind: what is wrong, without the values: "input # gives #".
        origin: what else the wrong values change with, without numbers; "" where nothing is known.
        examined: whether the suite looked for the smallest case, and for what it needs.
    """

    clause: str
    outcome: Outcome
    needs: str
    kind: str
    origin: str
    examined: bool


def fault(clause: str, outcome: Outcome, title: str, details: Mapping[str, str]) -> Fault:
    """The fault that a failing case shows.

    Args:
        clause: the id of the clause that it breaks.
        outcome: how it ended.
        title: its title, as "input -2 gives 3".
        details: its labelled details.
    """
    examined = UNEXAMINED not in details
    if outcome in _FOLDED and details.get("again"):
        return Fault(clause, outcome, "", _BY_CHANCE, "", examined)  # in how many of how many tries is chance itself
    needs, origin = (numberless(str(details.get(label) or "")) for label in ("needs", "origin"))
    said = numberless(str(details.get("said") or "")) if outcome in _FOLDED else ""  # last words are never alike
    kind = numberless(_VALUE.sub("#", _THOUGH.sub("", title))).removesuffix(_BESIDE_PACKED)
    return Fault(clause, outcome, needs or said, kind, origin, examined)


def numberless(text: str) -> str:
    """The text with a # for each number, and for each list of numbers."""
    return _NUMBERS.sub("#", _NUMBER.sub("#", text))


Key = tuple[Fault, str, str]


def fault_of(failure: FailureRecord) -> Fault | None:
    """The fault that a record shows; ``None`` for those that stand for themselves."""
    if failure.outcome not in _FOLDED or not failure.clause or not failure.file:
        return None
    return fault(failure.clause, failure.outcome, failure.title, failure.details)


def _key(failure: FailureRecord) -> Key | None:
    found = fault_of(failure)
    return None if found is None else (found, failure.operator, failure.data_type)


def _size(failure: FailureRecord) -> tuple[int, int, int, str]:
    """How much there is to read: elements, parts of the account, and the length of the title.

    So an input of -0.5 is told rather than 0.49999997. The file's name is there so that no order matters.
    """
    return elements_of(failure.case), len(failure.details), len(failure.title), failure.file


def elements_of(case: Any) -> int:
    """How many elements the tensors of a case have; 0 where a stranger's case, which no schema binds, does not say."""
    try:
        return int(sum(math.prod(tensor["sizes"]) for tensor in case["tensors"].values()))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return 0


def told_once(items: Iterable[ItemRecord]) -> list[ItemRecord]:
    """The records with each fault's smallest case in the place of all others, under the test that met it.

    Args:
        items: the records of a run, in any order.
    """
    items = list(items)
    smallest: dict[Key, FailureRecord] = {}
    for item in items:
        for failure in item.failures:
            key = _key(failure)
            if key is not None and (key not in smallest or _size(failure) < _size(smallest[key])):
                smallest[key] = failure

    def told(failure: FailureRecord) -> FailureRecord:
        key = _key(failure)
        if key is None or smallest[key].file == failure.file:
            return failure
        text = f"{failure.title}; the smallest case of the same fault:\n\n{smallest[key].text}"
        return dataclasses.replace(smallest[key], test=failure.test, text=text)

    found = []
    for item in items:
        failures = {(one.test, one.file, one.title, one.outcome): one for one in map(told, item.failures)}
        found.append(dataclasses.replace(item, failures=tuple(failures.values())))
    return found
