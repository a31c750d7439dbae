"""The rows of ``accuracy`` in the results: what tests measured, merged, the worst elements computed again exactly.

Counts are added and the worst element wins; of equally wrong ones the one with the least patterns. So neither the order
of the records nor the number of processes that found them changes anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import zip_longest
from math import isnan
from typing import Any

import numpy as np

from dmlcts.reports.documents.records import AccuracySeen, ItemRecord, RecordError
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.accuracy.bounds import reach
from dmlcts.specs.accuracy.exact_reference import ExactReference
from dmlcts.specs.accuracy.measurable import is_measured
from dmlcts.specs.accuracy.places import described
from dmlcts.specs.description_data import DataReader, read_attributes
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.law import Law

DIGITS, FEW_DIGITS = 6, 3
"""Significant digits of a stated error, and of those by bucket."""

_Key = tuple[str, str, str]


def rows(items: Iterable[ItemRecord], tables: Tables) -> list[dict[str, Any]]:
    """One row for each operator and signature that was measured.

    Args:
        items: the records, in any order.
        tables: the spec tables that the run rests on.
    """
    groups: dict[_Key, list[AccuracySeen]] = defaultdict(list)
    for item in items:
        for seen in item.accuracy:
            groups[seen.operator, seen.data_type, seen.types].append(seen)
    return [_row(seen, tables) for _, seen in sorted(groups.items())]


def _row(seen: list[AccuracySeen], tables: Tables) -> dict[str, Any]:
    first = seen[0]
    apart: Counter[str] = Counter()
    buckets: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for record in seen:
        apart.update(record.apart)
        for bucket in record.buckets:
            buckets[bucket["bucket"]].append(bucket)
    measured = _Measured(first, tables)
    ulp, absolute = _worst(record.ulp for record in seen), _worst(record.absolute for record in seen)
    digitless = _worst(record.digitless for record in seen)
    return {
        "operator": first.operator,
        "data_type": first.data_type,
        "types": first.types,
        "tensors": dict(first.tensors),
        "elements": sum(record.elements for record in seen),
        "bins": [sum(counts) for counts in zip_longest(*(record.bins for record in seen), fillvalue=0)],
        "apart": dict(sorted(apart.items())),
        "ulp": None if ulp is None else measured.reported(ulp, absolute=False),
        "absolute": None if absolute is None else measured.reported(absolute, absolute=True),
        "range": measured.range(buckets),
    } | ({} if digitless is None else {"digitless": measured.digitless(digitless)})


def _worst(elements: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The element with the largest error; of those the one with the least patterns."""
    there = [element for element in elements if element]
    return min(there, key=_badness, default=None)


def _badness(element: Mapping[str, Any]) -> tuple[float, list[int], int, str]:
    attributes = repr(sorted(element.get("attributes", {}).items()))
    return -element["error"], list(element["inputs"]), element["got"], attributes


class _Measured:
    """Worst elements of one operator on one signature, computed again exactly."""

    def __init__(self, seen: AccuracySeen, tables: Tables) -> None:
        self.law: Law = tables.law(tables.operator(seen.operator))
        self.operator = seen.operator
        self.tensors = {name: TensorDesc(DataType[kind], (1,)) for name, kind in seen.tensors.items()}
        known = self.law.table.tensors
        if not {name for name, row in known.items() if not row.optional} <= set(self.tensors) <= set(known):
            raise self._malformed(f"its tensors are {', '.join(self.tensors)}")
        self._references: dict[str, ExactReference] = {}

    def _malformed(self, cause: str) -> RecordError:
        return RecordError("AccuracySeen", "", f"{self.operator}: {cause}", "take the records as they were written")

    def _description(self, element: Mapping[str, Any]) -> OperatorDesc:
        """The description of an element, whose record is a stranger's."""
        return self._reference(element).operator

    def _reference(self, element: Mapping[str, Any]) -> ExactReference:
        """What computes an element again, whose record is a stranger's; the same for elements of equal attributes."""
        attributes = repr(element.get("attributes", {}))
        reference = self._references.get(attributes)
        if reference is None:
            reference = self._references[attributes] = self._described(element)
        operator = reference.operator
        kinds = [tensor.data_type for tensor in (*operator.inputs.values(), operator.output)]
        patterns = [*element["inputs"], element["got"]]
        if len(patterns) != len(kinds) or any(
            bits >> 8 * kind.itemsize for bits, kind in zip(patterns, kinds, strict=True)
        ):
            raise self._malformed(f"{patterns} are no elements of its tensors")
        return reference

    def _described(self, element: Mapping[str, Any]) -> ExactReference:
        """What computes elements of an element's attributes again, once those are found to be the operator's."""
        attribute_values = read_attributes(DataReader({"attributes": element.get("attributes", {})}, self.operator))
        attributes = {item.name: attribute_values.get(item.name) for item in self.law.table.attributes}
        for item in self.law.table.attributes:
            value = attributes[item.name]
            right = isinstance(value, np.float32) if item.type == "FLOAT" else value in item.enumerators
            if item.type in ("FLOAT", "ENUM") and not right:
                raise self._malformed(f"{item.name} is {value}")
        operator = OperatorDesc(self.operator, self.tensors, attributes)
        if not is_measured(self.law, operator):
            raise self._malformed("its results are exact")
        return ExactReference(self.law, operator)

    def reported(self, element: Mapping[str, Any], *, absolute: bool) -> dict[str, Any]:
        """An element for the results: its exact error, its operands and result with their bits."""
        operator = self._description(element)
        inputs = dict(zip(operator.inputs, element["inputs"], strict=True))
        shown: dict[str, Any] = {"error": rounded(self._errors(element)[absolute])}
        shown["inputs"] = {name: _hex(bits, operator.tensors[name].data_type) for name, bits in inputs.items()}
        shown["got"] = _hex(element["got"], operator.output.data_type)
        return shown | ({"attributes": element["attributes"]} if element.get("attributes") else {})

    def digitless(self, element: Mapping[str, Any]) -> dict[str, Any]:
        """An element without a correct digit: the real number's magnitude, and whose bound accepts it all the same."""
        reference = self._reference(element)
        operator = reference.operator
        real = reference.result(dict(zip(operator.inputs, element["inputs"], strict=True)))
        if real is None or real.low.infinite:
            raise self._malformed(f"the element {element['inputs']} has no real result")
        kind, table = operator.output.data_type.name, self.law.table
        rule = next((accuracy_rule for accuracy_rule in table.accuracy if kind in accuracy_rule.data_types), None)
        titles = {source.id: source.title for source in table.sources}
        bound = titles[rule.source] if rule else "its clauses"
        return self.reported(element, absolute=True) | {"error": rounded(abs(real.low.fraction)), "bound": bound}

    def _errors(self, element: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
        """The exact errors of an element, in units of the last place and absolutely."""
        reference = self._reference(element)
        inputs = dict(zip(reference.operator.inputs, element["inputs"], strict=True))
        errors = reference.error(inputs, element["got"])
        if errors is None:
            raise self._malformed(f"the element {element['inputs']} has no error")
        return errors

    def range(self, buckets: Mapping[int, list[Mapping[str, Any]]]) -> list[list[Any]]:
        """The buckets: sign, least exponent, how many elements, the largest error, and what the law permits there."""
        bucket_rows = []
        worst = {number: min(members, key=_badness) for number, members in sorted(buckets.items())}
        bounds = self._bounds(worst)
        for number, element in worst.items():
            count = sum(member["count"] for member in buckets[number])
            bucket_rows.append(
                [*described(number), count, rounded(self._errors(element)[0], FEW_DIGITS), *bounds[number]]
            )
        return bucket_rows

    def _bounds(self, worst: Mapping[int, Mapping[str, Any]]) -> dict[int, list[float | None]]:
        """How far the judged and the strict bound reach at each element, in units of the last place."""
        alike: dict[str, list[int]] = defaultdict(list)
        for number, element in worst.items():
            alike[repr(element.get("attributes"))].append(number)
        bounds: dict[int, list[float | None]] = {number: [] for number in worst}
        for numbers in alike.values():
            operator = self._description(worst[numbers[0]])
            kinds = [tensor.data_type for tensor in operator.inputs.values()]
            columns = zip(*(worst[number]["inputs"] for number in numbers), strict=True)
            inputs = {
                name: np.array(column, kind.bits_dtype).view(kind.numpy)
                for name, kind, column in zip(operator.inputs, kinds, columns, strict=True)
            }
            for strict in (False, True):
                reached = reach(self.law, operator, inputs, strict=strict).tolist()
                for number, most in zip(numbers, reached, strict=True):
                    bounds[number].append(None if isnan(most) else rounded(Fraction(most), FEW_DIGITS))
        return bounds


def rounded(exact: Fraction, digits: int = DIGITS) -> float:
    """A number to so many significant digits, the nearest such one."""
    if exact == 0:
        return 0.0
    scale = Fraction(10) ** (digits - 1 - _decimal_exponent(exact))
    return float(Fraction(round(exact * scale)) / scale)


def _decimal_exponent(value: Fraction) -> int:
    """The greatest e with 10^e not above a positive number."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess - 1 if Fraction(10) ** guess > value else guess


def _hex(bits: int, kind: DataType) -> str:
    return f"0x{bits:0{2 * kind.itemsize}x}"
