"""What an operator has to have for a test to find something to try; without it the test is not collected.

Each predicate is given a table and a signature, and follows from them alone: what depends on the feature level as well
is found out when the test runs, which is then recorded as not supported, with its reason.
"""

from __future__ import annotations

from dmlcts.specs import FeatureLevel
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.specs.tables.signatures import Signature, is_approximate
from dmlcts.suites.generation.covering_subjects import of_few_bytes
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

_ANY_LEVEL = FeatureLevel("1.0")  # what tensors a signature has is the same at every level


def _subject(table: OperatorTable, signature: Signature) -> Subject:
    return Subject.shared(table, signature, _ANY_LEVEL, 0, QUICK)


def function_of_one_input(table: OperatorTable, signature: Signature) -> bool:
    """Whether the operator applies a function with an accuracy to its only input."""
    return len(table.formula_names) == 1 and is_approximate(table, signature)


def several_inputs(table: OperatorTable, signature: Signature) -> bool:
    """Whether several inputs have as many elements as the output."""
    return len(_subject(table, signature).inputs) > 1


def single_elements(table: OperatorTable, signature: Signature) -> bool:
    """Whether some inputs have one element."""
    return bool(_subject(table, signature).single)


def few_bytes(table: OperatorTable, signature: Signature) -> bool:
    """Whether no signature whose widest element is of that size takes fewer bytes."""
    return signature in of_few_bytes(table)


def scale_bias(table: OperatorTable, signature: Signature) -> bool:
    """Whether the operator takes a ScaleBias."""
    return table.has_scale_bias


def numeric_bounds(table: OperatorTable, signature: Signature) -> bool:
    """Whether one of the operator's numbers is a lower or an upper bound."""
    return any(item.is_number and item.role in ("low", "high") for item in table.attributes)


def other_attributes(table: OperatorTable, signature: Signature) -> bool:
    """Whether there are attributes beside the ordinary ones: a ScaleBias, an enumerator, a number, an activation."""
    return table.has_scale_bias or any(
        item.is_number or item.type == FUSED or (item.type == "ENUM" and len(item.enumerators) > 1)
        for item in table.attributes
    )
