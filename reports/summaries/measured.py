"""What was measured of errors, said in words: alike in the terminal, in Markdown and on pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.reports.documents.wording import short, type_order
from dmlcts.specs import DataType
from dmlcts.specs.number_text import text_with_bits

Row = Mapping[str, Any]

NOTICED = 1.1
"""A largest error that grew by less than this factor is no loss of accuracy: other operands may have been drawn."""


def rows_of(results: Mapping[str, Any]) -> dict[tuple[str, str], Row]:
    """The rows of a results document by operator and signature, in the order of both; none in versions without."""
    rows = {(row["operator"], row["types"]): row for row in results.get("accuracy", ())}
    return dict(sorted(rows.items(), key=lambda item: (item[0][0], type_order(item[1]["data_type"]), item[0][1])))


def side_by_side(columns: Sequence[Mapping[str, Any] | None]) -> list[tuple[str, str, list[Row | None]]]:
    """The rows of several results documents: operator, signature, and each one's row, ``None`` where it has none."""
    each = [{} if results is None else rows_of(results) for results in columns]
    keys = {key: row["data_type"] for rows in each for key, row in rows.items()}
    order = sorted(keys, key=lambda key: (key[0], type_order(keys[key]), key[1]))
    return [(*key, [rows.get(key) for rows in each]) for key in order]


def error_text(error: float | None) -> str:
    """An error in up to four digits: "0.5", "1.942e-07"; "none" where there is none."""
    return "none" if error is None else f"{error:.4g}"


def operands(row: Row, element: Mapping[str, Any]) -> str:
    """The operands of an element with their bits, several with their tensors' names, and the attributes."""
    values = {name: _valued(bits, row["tensors"][name]) for name, bits in element["inputs"].items()}
    parts = list(values.values()) if len(values) == 1 else [f"{name} {value}" for name, value in values.items()]
    for name, attribute in element.get("attributes", {}).items():
        value = attribute.get("value", attribute.get("bits", "")) if isinstance(attribute, Mapping) else attribute
        parts.append(f"{name} {value}")
    return ", ".join(parts)


def result(row: Row, element: Mapping[str, Any]) -> str:
    """What came out of an element, with its bits."""
    (output,) = set(row["tensors"]) - set(element["inputs"])
    return _valued(element["got"], row["tensors"][output])


def _valued(bits: str, kind: str) -> str:
    data_type = DataType[kind]
    pattern = int(bits, 16) & (1 << 8 * data_type.itemsize) - 1
    return text_with_bits(np.array([pattern], data_type.bits_dtype).view(data_type.numpy)[0])


def error_sentences(results: Mapping[str, Any]) -> Iterator[str]:
    """The largest error of each operator and signature, a sentence each."""
    for (operator, types), row in rows_of(results).items():
        if row["ulp"]:
            example = f"{operands(row, row['ulp'])} gives {result(row, row['ulp'])}"
            yield f"{short(operator)} on {types}: the largest error is {row['ulp']['error']:g} ULP: {example}"


def remark(row: Row) -> str:
    """That acceptable results have no correct digit below some real number, with an example; "" where there is none."""
    element = row.get("digitless")
    if not element:
        return ""
    example = f"{operands(row, element)} gives {result(row, element)}"
    return f"within the bound ({element['bound']}), yet no correct digit below {element['error']:.2g}: {example}"


def share_within(row: Row, units: float) -> float:
    """The share of the measured results whose error is at most so many units, one of 0, 1/2, 1, 2, 4 and so on."""
    last = 0 if units == 0 else 2 + int(np.log2(units))
    return sum(row["bins"][: last + 1]) / row["elements"] if row["elements"] else 1.0


def percent(share: float) -> str:
    """A share in percent that is 100 only of all: "99.9 %"."""
    return "100 %" if share == 1 else f"{min(99.9, 100 * share):.1f} %"


def bound_near_worst(row: Row, *, strict: bool) -> float | None:
    """How far the bound reaches at the worst element, in units of the last place; ``None`` where any value will do."""
    worst = max(row["range"], key=lambda bucket: bucket[3], default=None)
    return None if worst is None else worst[5 if strict else 4]


def share_of_bound(row: Row) -> float:
    """The largest error as a share of the bound that is judged there; -1 where any value will do."""
    bound = bound_near_worst(row, strict=False)
    if row["ulp"] is None or bound is None:
        return -1.0
    return float(row["ulp"]["error"] / bound) if bound else 0.0


def ulp_text(error: float) -> str:
    """An error in units of the last place as people write numbers: "719.7", "26,800", "4.823e+40"."""
    return f"{error:,.0f}" if 1000 <= error < 1e7 else f"{error:.4g}"


def error_of_bound(row: Row) -> str:
    """The largest error and the bound that is judged there: "719.7 of 26,800 ULP"."""
    if row["ulp"] is None:
        return "no error in ULP"
    error, bound = ulp_text(row["ulp"]["error"]), bound_near_worst(row, strict=False)
    if bound is not None:
        return f"{error} of {ulp_text(bound)} ULP"
    bounded = bounded_error(row)
    return f"{error} ULP" + (f" ({ulp_text(bounded)} where bounded)" if bounded is not None else "")


def bounded_error(row: Row) -> float | None:
    """The largest error where a bound is judged, if it is another than the largest of all; else ``None``."""
    bounded = [bucket[3] for bucket in row["range"] if bucket[4] is not None]
    return max(bounded) if bounded and bound_near_worst(row, strict=False) is None else None


def losses(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the largest error in units of the last place grew from one run to another, in both of which it is known.

    Each has ``operator``, ``data_type``, ``types``, ``before`` and ``after``, and ``at``, the operands of the latter.
    """
    entries = []
    for operator, types, (before, after) in side_by_side([first, second]):
        if before is None or after is None or before["ulp"] is None or after["ulp"] is None:
            continue
        old, new = before["ulp"]["error"], after["ulp"]["error"]
        if new > old * NOTICED:
            entries.append(
                {
                    "operator": operator,
                    "data_type": after["data_type"],
                    "types": types,
                    "before": old,
                    "after": new,
                    "at": operands(after, after["ulp"]),
                }
            )
    return entries


def chosen(results: Mapping[str, Any], operators: Sequence[str], data_types: Sequence[str]) -> dict[str, Any]:
    """The results with the rows of some operators and data types alone; of all where none are named."""
    kept = [
        row
        for row in results.get("accuracy", ())
        if (not operators or row["operator"] in operators) and (not data_types or row["data_type"] in data_types)
    ]
    return {**results, "accuracy": kept}


def measured(columns: Iterable[Mapping[str, Any] | None]) -> bool:
    """Whether anything was measured in one of the runs."""
    return any(results is not None and results.get("accuracy") for results in columns)
