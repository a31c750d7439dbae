"""Faults that break a property, or a rule for one operator alone, that the other modules leave out."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import unconditional_violations, violations
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


class InteriorHalved(Reference):
    """CLIP halves what lies within the bounds: applied again it halves once more."""

    clause = "clip.idempotent"

    def clip(self, x: Array, low: object, high: object) -> Array:
        """Half of x where it is within the bounds."""
        clipped = super().clip(x, low, high)
        half = (clipped / 2).astype(x.dtype)
        return np.where((half > low) & (half < high), half, clipped)


class JustBelowMinPasses(Reference):
    """THRESHOLD lets values less than 1 below Min through."""

    clause = "threshold.contained"

    def threshold(self, x: Array, low: object) -> Array:
        """What is just below Min stays."""
        wide = x.astype(np.float64)
        return np.where((wide < low) & (wide > np.float64(low) - 1), x, super().threshold(x, low))


class _Lenient(Reference):
    """Accepts descriptions of one operator that break one constraint."""

    def refuses(self, operator: OperatorDesc) -> str:
        """All violations but those of the mutant's clause."""
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        return "; ".join(violation.text for violation in rule_violations if violation.clause != self.clause)


class RoundAcceptsOtherOutputType(_Lenient):
    """ROUND accepts an output of another data type."""

    clause = "round.constraint.data-type"


class ThresholdAcceptsOtherRank(_Lenient):
    """THRESHOLD accepts an output of another dimension count with the same number of elements."""

    clause = "threshold.constraint.dimension-count"

    def refuses(self, operator: OperatorDesc) -> str:
        """Different sizes come with different ranks."""
        tolerated = (self.clause, "threshold.constraint.sizes")
        ranks_differ = operator.input.rank != operator.output.rank
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        return "; ".join(
            violation.text for violation in rule_violations if not (ranks_differ and violation.clause in tolerated)
        )


class ThresholdRefusesFloat16(Reference):
    """THRESHOLD refuses FLOAT16 at four dimensions."""

    clause = "threshold.support.level-1-0"

    def refuses(self, operator: OperatorDesc) -> str:
        """One type at one rank."""
        is_float16_threshold = (
            operator.name == "ELEMENT_WISE_THRESHOLD" and operator.input.data_type is DataType.FLOAT16
        )
        return "no FLOAT16" if is_float16_threshold and operator.input.rank == 4 else super().refuses(operator)


class LaterLevelThresholdIsZero(Reference):
    """At level 2.1 THRESHOLD accepts one dimension, which only 3.0 lists, and gives zeros."""

    clause = "threshold.support.later-level"
    level = "2.1"

    def refuses(self, operator: OperatorDesc) -> str:
        """Only what every level refuses."""
        return "; ".join(violation.text for violation in unconditional_violations(operator, load_tables()))

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Zeros where the rank is not four."""
        right = super().compute(operator, x)
        return right * 0 if operator.name == "ELEMENT_WISE_THRESHOLD" and operator.input.rank == 1 else right


class ZeroOutputStrideRaises(Reference):
    """A stride of zero on the output raises ZeroDivisionError."""

    clause = "tensor.strides.zero-output"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Divides by the strides."""
        if operator.output.strides is not None and 0 in operator.output.strides:
            raise ZeroDivisionError("stride")
        return super().create(operator)
