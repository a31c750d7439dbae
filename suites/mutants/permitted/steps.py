"""The reference with finer steps, so that a class can choose what becomes of each and two classes can be combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import Violation, violations
from dmlcts.suites.mutants.reference import Array, Reference

FLOATING, INTEGER = "floating", "integer"


class Permitted(Reference):
    """The base with finer steps.

    Attributes:
        choice: what the class chooses among; two classes with one choice in common exclude each other.
        touches: the kinds of tensor whose results it may change; two classes that touch none in common never meet.
        alone: whether it is one of many variants of a choice, of which others stand for all in pairs.
        among: short names of the operators whose results it may change; empty: the first three.
    """

    choice: tuple[str, ...] = ()
    touches: tuple[str, ...] = (FLOATING, INTEGER)
    alone = False
    among: tuple[str, ...] = ()

    # -- descriptions ----------------------------------------------------------------------------------

    def overlooks(self, violation: Violation) -> bool:
        """Whether a description is accepted in spite of this."""
        return False

    def refuses(self, operator: OperatorDesc) -> str:
        """For what is not overlooked."""
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        reasons = [violation for violation in rule_violations if not self.overlooks(violation)]
        return "; ".join(f"{violation.clause}: {violation.text}" for violation in reasons)

    # -- floating-point ScaleBias ----------------------------------------------------------------------

    def flush_step(self, values: Any) -> Any:
        """What becomes of a scale, a bias, a product or a sum."""
        return values

    def settled(self, rounded: Array, exact: Array) -> Array:
        """What becomes of a rounded result; ``exact``, in FLOAT64, shows how large it was before rounding."""
        return rounded

    def factors(self, scale_bias: ScaleBias, data_type: DataType) -> tuple[Any, Any]:
        """Scale and bias as they enter the arithmetic; a subnormal FLOAT32 is a normal FLOAT64."""
        wide = np.float64 if data_type is DataType.FLOAT64 else np.float32
        return np.asarray(scale_bias.scale, wide), np.asarray(scale_bias.bias, wide)

    def narrowed(self, wide: Array, dtype: np.dtype[Any]) -> Array:
        """What ScaleBias computed in a wider format, in the tensor's."""
        return self.settled(wide.astype(dtype), wide.astype(np.float64))

    def widened(self, x: Array) -> Array:
        """The elements in the format of the arithmetic."""
        return x if x.dtype == np.float64 else x.astype(np.float32)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """X * scale + bias in x's format, each operation rounded."""
        wide = np.asarray(x, np.float64)
        product = self.flush_step(self.settled(x * scale.astype(x.dtype), wide * scale))
        total = product + bias.astype(x.dtype)
        return self.settled(total, np.asarray(product, np.float64) + bias)

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """The steps in their order."""
        if not data_type.is_floating:
            same = scale_bias.scale == 1 and scale_bias.bias == 0
            return x if same else self.integer_scale_bias(x, scale_bias, data_type)
        scale, bias = (self.flush_step(value) for value in self.factors(scale_bias, data_type))
        result = self.flush_step(self.multiply_add(self.widened(x), scale, bias))
        if result.dtype != x.dtype:
            result = self.flush_step(self.narrowed(result, x.dtype))
        return result  # type: ignore[no-any-return]  # flush_step takes scalars too

    def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """The reference's; not called for scale 1 and bias 0."""
        return super().scale_bias(x, scale_bias, data_type)
