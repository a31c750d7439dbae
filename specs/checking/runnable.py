"""What the suite cannot run yet: tables that the format allows, refused by name before anything is judged by them."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.errors import Fault
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.reading.yaml_source import Document, KeyPath

_MEND = "leave the table out until the suite can"
_NUMBERS = {"low": "Min", "high": "Max"}


def unrunnable(document: Document, table: OperatorTable) -> Iterator[Fault]:
    """Everything in an operator's table that the suite could not run."""

    def fault(path: KeyPath, what: str) -> Fault:
        return document.fault(path, f"the suite cannot run {what} yet", _MEND, at_key=True)

    for name in table.inputs[1:]:
        yield fault(("tensors", name), "operators of several inputs")
    for name, row in table.tensors.items():
        if row.type != table.type_variables[0]:
            yield fault(("tensors", name), f"tensors of different types ({row.type} beside {table.type_variables[0]})")
        if row.optional:
            yield fault(("tensors", name), "optional tensors")
        if row.elements is not None:
            yield fault(("tensors", name), "tensors of one element")
    if table.inputs[:1] not in ((), ("InputTensor",)) or table.output != "OutputTensor":
        yield fault(("tensors",), "tensors of other names than InputTensor and OutputTensor")
    if table.inputs[:1] and "x" not in table.formula_names:
        yield fault(("tensors", table.inputs[0]), "inputs that the formula calls otherwise than x")
    if table.domain == "bits":
        yield fault(("domain",), "formulas of bit patterns")
    if table.accuracy:
        yield fault(("accuracy",), "approximate results")
    yield from _unspoken(document, table)
    for index, support in enumerate(table.support):
        if support.tensor_dimension_counts:
            yield fault(("support", index, "tensor_dimension_counts"), "tensors of ranks of their own")
        for variable, names in support.types.items():
            if "FLOAT64" in names:
                item = names.index("FLOAT64")
                yield document.fault(("support", index, "types", variable, item),
                                     "the suite cannot run FLOAT64 as an obliged type yet", _MEND)  # fmt: skip
    for index, attribute in enumerate(table.attributes):
        path: KeyPath = ("attributes", index)
        if attribute.type in ("INT", "UINT", "BOOL", "DML_SCALAR_UNION", "DML_TENSOR_DATA_TYPE"):
            yield fault((*path, "type"), f"attributes of the type {attribute.type}")
        elif attribute.type == "FLOAT" and attribute.name != _NUMBERS.get(attribute.role or ""):
            yield fault((*path, "name"), "numbers other than a low Min and a high Max")


def _unspoken(document: Document, table: OperatorTable) -> Iterator[Fault]:
    """What a table permits and the suite would try, without a clause that a fault could be told under."""
    wanted: list[tuple[bool, OwnCheck, KeyPath, str]] = [
        (table.in_place, "in-place", ("tensors", table.output), "execution in place"),
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
