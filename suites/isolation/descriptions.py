"""Device descriptions as plain data, for the way between two processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dmlcts.backends import DeviceInfo
from dmlcts.backends.contract import describe

_MOST_LEVELS = 20  # of a third party's details, which may hold themselves


def write_info(info: object) -> dict[str, Any]:
    """What a device says of itself, as plain data.

    Raises:
        ContractError: it makes no sense.
    """
    description = describe(info)
    claimed = description.data_types
    return {
        **{name: getattr(description, name) for name in ("name", "adapter", "driver", "library", "version")},
        "feature_level": str(description.feature_level),
        "data_types": claimed
        and {name: sorted(data_type.name for data_type in types) for name, types in claimed.items()},
        "details": _plain(description.details),
        "only": None if description.only is None else sorted(description.only),
    }


def _plain(value: object, levels: int = _MOST_LEVELS) -> Any:
    """JSON's own types stay; whatever else a third party puts into its details travels as text."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if not levels:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _plain(member, levels - 1) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member, levels - 1) for member in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(member, levels - 1) for member in value), key=str)
    return str(value)


def read_info(written: dict[str, Any]) -> DeviceInfo:
    """The description that :func:`write_info` wrote.

    Raises:
        ContractError: it makes no sense.
    """
    return describe(written)
