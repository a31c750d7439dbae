"""The formats that a table may have, each with its model."""

from __future__ import annotations

from dmlcts.specs.models.activations import ActivationsTable
from dmlcts.specs.models.factors import FactorsTable
from dmlcts.specs.models.operators import OperatorTable
from dmlcts.specs.models.shared import CastsTable, DataTypesTable, FeatureLevelsTable, LatitudeTable, RulesTable
from dmlcts.specs.models.templates import ClauseTemplatesTable

AnyTable = (
    OperatorTable
    | RulesTable
    | LatitudeTable
    | CastsTable
    | DataTypesTable
    | FeatureLevelsTable
    | FactorsTable
    | ActivationsTable
    | ClauseTemplatesTable
)

MODELS: dict[str, type[AnyTable]] = {
    "dmlcts/operator/2": OperatorTable,
    "dmlcts/rules/1": RulesTable,
    "dmlcts/latitude/1": LatitudeTable,
    "dmlcts/casts/1": CastsTable,
    "dmlcts/data-types/1": DataTypesTable,
    "dmlcts/feature-levels/1": FeatureLevelsTable,
    "dmlcts/factors/1": FactorsTable,
    "dmlcts/activations/1": ActivationsTable,
    "dmlcts/clause-templates/1": ClauseTemplatesTable,
}
