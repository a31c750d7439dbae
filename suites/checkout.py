"""What a checkout has and an installed copy lacks: catalogues of implementations and kept results."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

_HOUSE = Path(__file__).resolve().parents[1]


def proof_of_the_suite() -> ModuleType | None:
    """What ``dmlcts selftest`` runs; ``None`` in an installed copy, which lacks the catalogues of a checkout."""
    try:
        return importlib.import_module("dmlcts.suites.proof.prove")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("dmlcts.suites.proof", "dmlcts.suites.mutants")):
            raise
        return None


def checkout() -> Path | None:
    """The folder of the checkout that this is; ``None`` in an installed copy."""
    return _HOUSE if (_HOUSE / "pyproject.toml").is_file() else None


def kept_results() -> list[Path]:
    """The results files that are kept in the repository, all operators' last; an installed copy has some of them."""
    kept = _HOUSE / "reports/examples"
    return [*sorted(kept.glob("*.results.json")), *sorted(kept.glob("all_operators/*.results.json.gz"))]


def kept_histories() -> list[Path]:
    """The histories of packages that are kept in the repository."""
    return sorted((_HOUSE / "reports/examples").glob("history-*.json"))


def kept_pairs() -> Path | None:
    """The folder of ready pages for pairs of implementations; ``None`` where none are kept."""
    folder = _HOUSE / "reports/examples/pairs"
    return folder if folder.is_dir() else None
