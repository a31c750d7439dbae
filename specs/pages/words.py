"""What pages and tables write alike: names, C types and formulas, free of white space that means nothing."""

from __future__ import annotations

import re

from dmlcts.specs.models import OperatorTable

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad`"))  # and marks of code, which some leave
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
HEADER = re.compile(r"\b[A-Za-z0-9_]+\.h\b", re.ASCII)
TENSOR = re.compile(r"\b[A-Za-z_]\w*Tensor\w*\b", re.ASCII)


def normal(text: str) -> str:
    """The text without invisible characters, its white space normalised."""
    return " ".join(text.translate(_INVISIBLE).split())


def c_type(text: str) -> str:
    """A C type as the tables write it: ``const DML_TENSOR_DESC*``."""
    return re.sub(r" ?\*", "*", " ".join(text.split()))


def compact(formula: str) -> str:
    """The formula without the white space that means nothing."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", normal(formula))


def tensors_of(table: OperatorTable) -> tuple[str, ...]:
    """The tensors among the fields of the operator's struct."""
    return tuple(field.name for field in table.struct if "DML_TENSOR_DESC" in field.type)
