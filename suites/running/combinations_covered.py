"""What the results of a run say of combinations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dmlcts.reports.documents.records import ItemRecord
from dmlcts.specs import FeatureLevel
from dmlcts.suites.combinations.coverage import combinations_of
from dmlcts.suites.running.options import Settings


def combinations_members(records: Iterable[ItemRecord], settings: Settings, level: FeatureLevel) -> dict[str, Any]:
    """The members ``combinations`` and ``shared_out`` of a results document, for all that the settings select."""
    subjects = {(operator, data_type) for _, operator, data_type, _ in settings.obliged(level)}
    return combinations_of(records, settings.tables, level, settings.profile, subjects, settings.seed)
