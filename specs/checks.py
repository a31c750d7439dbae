"""What checks a clause: the names that a table's ``check:`` may hold, and what the suite does under each.

The conformance tests find their clauses by these names, so that a clause that names none of them, and would be
checked by nothing, is refused when the table is read. A clause's id is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

OwnCheck = Literal[
    "values",
    "rounding",
    "bounds.equal",
    "bounds.inverted",
    "bounds.infinite",
    "cast.integer",
    "cast.float16",
    "cast.float16-overflow",
    "cast.out-of-range",
    "cast.nan",
    "cast.exact",
    "cast.inexact",
    "scale-bias",
    "scale-bias.integer",
    "scale-bias.integer-inexact",
    "rounding.infinity",
    "rounding.nan",
    "nan.input",
    "nan.bound",
    "zero-sign",
    "subnormal",
    "subnormal.float16",
    "in-place",
    "in-place.together",
    "constraint.data-type",
    "constraint.dimension-count",
    "constraint.sizes",
    "constraint.type-pair",
    "constraint.attribute-type",
    "support.level",
    "support.unlisted",
    "support.later-level",
    "enumerator.undefined",
    "idempotent",
    "monotone",
    "odd",
    "contained",
    "threshold-equivalence",
    "silent",
    "relation",
    "activation",
    "activation.unlisted",
    "activation.later-level",
]
SharedCheck = Literal[
    "tensor.rank.minimum",
    "tensor.rank.maximum",
    "tensor.size.zero",
    "tensor.elements.maximum",
    "tensor.total-size.minimum",
    "tensor.total-size.larger",
    "tensor.strides.packed",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.broadcast",
    "tensor.strides.output",
    "tensor.strides.zero-output",
    "tensor.position",
    "tensor.output.complete",
    "tensor.output.bounds",
    "tensor.output.padding",
    "tensor.input.unchanged",
    "binding.offset",
    "binding.same-resource",
    "execution.repeatable",
    "execution.independent",
]

OWN: Mapping[OwnCheck, str] = {
    "values": "the values of the formula, over the boundary lattice, drawn and bulk values",
    "rounding": "the values of a rounding to integers: ties, near ties, integers, every input of narrow types",
    "bounds.equal": "the values where Min equals Max",
    "bounds.inverted": "the values where Min is greater than Max",
    "bounds.infinite": "the values with infinite bounds, and infinite inputs",
    "cast.integer": "FLOAT attributes with fractions on integer tensors, truncated toward zero",
    "cast.float16": "FLOAT attributes that FLOAT16 does not hold, rounded to the nearest",
    "cast.float16-overflow": "finite FLOAT attributes beyond the range of FLOAT16; what they become is named",
    "cast.out-of-range": "FLOAT attributes outside the integer type; what they become is named",
    "cast.nan": "NaN as a FLOAT attribute on integer tensors; what it becomes is named",
    "cast.exact": "FLOAT attributes that the type holds",
    "cast.inexact": "FLOAT attributes that the type does not hold, where no page says how they are rounded",
    "scale-bias": "ScaleBias on floating-point tensors",
    "scale-bias.integer": "ScaleBias on integer tensors, where all arithmetic gives the same",
    "scale-bias.integer-inexact": "ScaleBias on integer tensors, elsewhere; what it does is named",
    "rounding.infinity": "infinite inputs of a rounding",
    "rounding.nan": "NaN inputs of a rounding",
    "nan.input": "NaN inputs where the pages are silent; what they give is named",
    "nan.bound": "NaN as a FLOAT attribute of floating-point tensors; what it does is named",
    "zero-sign": "which zero comes out; it is named",
    "subnormal": "subnormals, kept or flushed; it is named",
    "subnormal.float16": "subnormals that have to be kept",
    "in-place": "the output bound to the input's region",
    "in-place.together": "all inputs and the output in one region, where the page lets the output alias one of them; "
    "whether that is refused, and what it gives, is named",
    "constraint.data-type": "tensors of different data types are refused",
    "constraint.dimension-count": "tensors of different ranks are refused",
    "constraint.sizes": "tensors of different sizes are refused",
    "constraint.type-pair": "a tensor of a data type that does not go with another's is refused",
    "constraint.attribute-type": "a DML_TENSOR_DATA_TYPE that is not the tensor's type is refused",
    "support.level": "every type and rank that the support table of the clause's level lists",
    "support.unlisted": "types that no support table lists; whether they are refused is named",
    "support.later-level": "types and ranks that only a later level lists; whether they are refused is named",
    "enumerator.undefined": "numbers that an enumeration does not define; whether they are refused is named",
    "idempotent": "the operator applied to its own output",
    "monotone": "outputs in the order of the inputs",
    "odd": "the negated input gives the negated output",
    "contained": "outputs between the bounds",
    "silent": "inputs of which the operator's page does not say what they give (`where:`); what they give is named "
    "(`behaviours:`), or judged by the formula where another page says it",
    "relation": "what holds between inputs and the results of one or several operators (`holds:`), without an oracle",
    "activation": "an activation fused to the operator (`when:` names it), with the numbers that its table has",
    "activation.unlisted": "operators as activations that the list has not; whether they are refused is named",
    "activation.later-level": "activations that only a later level has; whether they are refused is named",
    "threshold-equivalence": "CLIP without an upper bound beside THRESHOLD",
}
"""What checks an operator's own clause, and what is done under that name."""

COMPARED_OPERATORS: Mapping[OwnCheck, str] = {"threshold-equivalence": "THRESHOLD"}
"""The operator, by its short name, that a check runs beside the clause's own, where the clause does not name it."""

SHARED: tuple[SharedCheck, ...] = get_args(SharedCheck)
"""What checks a clause of the shared rules: each name has one clause, whose id it is."""
