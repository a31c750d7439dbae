"""What a checkout has and an installed copy lacks: the catalogues of broken and of permitted implementations."""

from __future__ import annotations

import importlib
from types import ModuleType


def proof_of_the_suite() -> ModuleType | None:
    """What ``dmlcts selftest`` runs; ``None`` in an installed copy, which lacks the catalogues of a checkout."""
    try:
        return importlib.import_module("dmlcts.suites.selftest.proof.prove")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("dmlcts.suites.selftest"):
            raise
        return None
