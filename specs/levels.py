"""DirectML feature levels (``DML_FEATURE_LEVEL``), an ordered scale written "1.0" to "6.4".

From which level on an operator takes a type stands in its table (``support:``) and is looked up there:
:meth:`dmlcts.specs.models.operators.OperatorTable.lowest_levels`.
"""

from __future__ import annotations

import enum
from functools import cached_property
from typing import Any

from dmlcts.specs.errors import UsageError


class FeatureLevel(enum.Enum):
    """A feature level; ``FeatureLevel("3.0")`` finds one by the way it is written, ``<`` orders them."""

    LEVEL_1_0 = "1.0"
    LEVEL_2_0 = "2.0"
    LEVEL_2_1 = "2.1"
    LEVEL_3_0 = "3.0"
    LEVEL_3_1 = "3.1"
    LEVEL_4_0 = "4.0"
    LEVEL_4_1 = "4.1"
    LEVEL_5_0 = "5.0"
    LEVEL_5_1 = "5.1"
    LEVEL_5_2 = "5.2"
    LEVEL_6_0 = "6.0"
    LEVEL_6_1 = "6.1"
    LEVEL_6_2 = "6.2"
    LEVEL_6_3 = "6.3"
    LEVEL_6_4 = "6.4"

    __hash__ = object.__hash__  # see DataType

    @classmethod
    def parse(cls, text: object) -> FeatureLevel:
        """Read a level from "5.0", "5_0", "DML_FEATURE_LEVEL_5_0", 5.0 or an existing level.

        Raises:
            UsageError: no such level; the message lists those that exist.
        """
        if isinstance(text, FeatureLevel):
            return text
        written = str(text).removeprefix("DML_FEATURE_LEVEL_").replace("_", ".")
        try:
            return cls(written)
        except ValueError:
            known = ", ".join(level.value for level in cls)
            raise UsageError(f"no feature level {str(text)!r}", f"choose one of {known}") from None

    @cached_property
    def dml_value(self) -> int:
        """The enumerator's number in ``DirectML.h``: 0x5000 for level 5.0."""
        major, minor = self.value.split(".")
        return int(major) << 12 | int(minor) << 8

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"FeatureLevel({self.value!r})"

    def __lt__(self, other: Any) -> bool:
        return self.dml_value < other.dml_value if isinstance(other, FeatureLevel) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.dml_value <= other.dml_value if isinstance(other, FeatureLevel) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.dml_value > other.dml_value if isinstance(other, FeatureLevel) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.dml_value >= other.dml_value if isinstance(other, FeatureLevel) else NotImplemented
