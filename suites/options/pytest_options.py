"""The table's options as those of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmlcts.suites.options.option import PYTEST, Kind, OptionTable
from dmlcts.suites.options.table import OPTIONS

if TYPE_CHECKING:
    import pytest


def _destination(name: str) -> str:
    return f"dmlcts_{name}"


def add_options(group: pytest.OptionGroup, table: OptionTable = OPTIONS) -> None:
    """Add the options that apply to pytest to a group of its options."""
    for row in table.of(PYTEST):
        default = f" (default: {row.default})" if row.default else ""
        described: dict[str, Any] = {"help": f"{row.help}{default}".replace("%", "%%")}
        if row.kind is Kind.FLAG:
            described["action"] = "store_true"
        else:
            described |= {"metavar": row.metavar} if row.metavar else {}
            described |= {"choices": row.choices} if row.choices else {}
            described |= {"action": "append", "default": []} if row.repeatable else {"default": row.default}
        group.addoption(*row.spellings, dest=_destination(row.name), **described)


def typed_options(config: pytest.Config, table: OptionTable = OPTIONS) -> dict[str, Any]:
    """What was typed for the settings, as arguments of ``Settings.read``; a default is left to the settings."""
    typed = {row.name: config.getoption(_destination(row.name)) for row in table.of(PYTEST) if row.setting}
    return {name: value for name, value in typed.items() if value is not None}
