"""The shape of the spec tables: frozen pydantic models, from which the JSON Schemas are generated.

A table that fits these models and passes :mod:`dmlcts.specs.loading`'s checks is one the oracle,
the suites and the reports can rely on without looking again.
"""

from dmlcts.specs.models.accuracy import AccuracyRule, PermittedFormula, Tolerance
from dmlcts.specs.models.activations import Activation, ActivationsTable
from dmlcts.specs.models.base import (
    ClauseId,
    DataTypeName,
    Identifier,
    LevelName,
    Model,
    Obligation,
    Source,
    Text,
    TypeVariable,
    Word,
)
from dmlcts.specs.models.clauses import (
    Clause,
    Disagreement,
    Quotation,
)
from dmlcts.specs.models.factors import (
    ConstraintRow,
    EconomyRow,
    FactorRow,
    FactorsTable,
    LevelRow,
    LevelsByFactor,
    Strengths,
)
from dmlcts.specs.models.formats import (
    MODELS,
    AnyTable,
)
from dmlcts.specs.models.operators import (
    AttributeTable,
    ConstraintGroup,
    Example,
    OperatorTable,
    StructField,
    TensorRow,
)
from dmlcts.specs.models.shared import (
    CastRule,
    CastsTable,
    DataTypeRow,
    DataTypesTable,
    FeatureLevelRow,
    FeatureLevelsTable,
    Latitude,
    LatitudeTable,
    RulesTable,
)
from dmlcts.specs.models.support import SupportRow, SupportTable
from dmlcts.specs.models.templates import ClauseTemplate, ClauseTemplatesTable

__all__ = [
    "MODELS",
    "AccuracyRule",
    "Activation",
    "ActivationsTable",
    "AnyTable",
    "AttributeTable",
    "CastRule",
    "CastsTable",
    "Clause",
    "ClauseId",
    "ClauseTemplate",
    "ClauseTemplatesTable",
    "ConstraintGroup",
    "ConstraintRow",
    "DataTypeName",
    "DataTypeRow",
    "DataTypesTable",
    "Disagreement",
    "EconomyRow",
    "Example",
    "FactorRow",
    "FactorsTable",
    "FeatureLevelRow",
    "FeatureLevelsTable",
    "Identifier",
    "Latitude",
    "LatitudeTable",
    "LevelName",
    "LevelRow",
    "LevelsByFactor",
    "Model",
    "Obligation",
    "OperatorTable",
    "PermittedFormula",
    "Quotation",
    "RulesTable",
    "Source",
    "Strengths",
    "StructField",
    "SupportRow",
    "SupportTable",
    "TensorRow",
    "Text",
    "Tolerance",
    "TypeVariable",
    "Word",
]
