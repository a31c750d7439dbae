"""The description rules: which operator descriptions must be refused, and by which clause.

For backends that have no validation of their own, and for the suite; what the tables say stands in the tables.
"""

from dmlcts.specs.rules.violations import Violation, unconditional_violations, violations

__all__ = ["Violation", "unconditional_violations", "violations"]
