"""What the suite would try and no clause speaks of: a fault there could be reported under none."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.errors import Fault
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.reading.yaml_source import Document, KeyPath


def unrunnable(document: Document, table: OperatorTable) -> Iterator[Fault]:
    """What an operator's table permits without a clause on it."""
    wanted: list[tuple[bool, OwnCheck, KeyPath, str]] = [
        (table.in_place, "in-place", ("tensors", table.output), "execution in place"),
        (not table.checked_by("rounding"), "values", ("formula",), "the formula's values"),
    ]
    for index, attribute in enumerate(table.attributes):
        if attribute.type == "DML_SCALE_BIAS":
            path: KeyPath = ("attributes", index)
            floating = any(data_type.is_floating for data_type in table.data_types)
            integer = any(not data_type.is_floating for data_type in table.data_types)
            wanted.append((floating, "scale-bias", path, "ScaleBias on floating-point types"))
            wanted.append((integer, "scale-bias.integer", path, "ScaleBias on integer types"))
    for needed, check, path, what in wanted:
        if needed and not table.checked_by(check):
            cause = f"the suite cannot run {what} where no clause speaks of it"
            yield document.fault(path, cause, f"add a clause with `check: {check}`", at_key=True)
