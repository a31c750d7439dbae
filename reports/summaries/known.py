"""Fingerprints of known implementations, and how a run's observed behaviours compare with them.

The behaviours of a run are its fingerprint, and ``dmlcts probe --json`` writes it alone. Those shipped with the
project stand in ``reports/examples/``, as ``*.results.json`` and ``*.fingerprint.json``. What a known
implementation does where the pages are silent is no rule: it only shows which implementations behave alike.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KINDS = {".results.json": "results-1", ".fingerprint.json": "fingerprint-1"}
"""The schema of each kind of file, by how its name ends."""

Row = tuple[str, str, str]
"""Clause id, operator name, data type name."""


@dataclass(frozen=True)
class Known:
    """What one implementation was seen to do where the pages are silent.

    Attributes:
        name: the implementation, its device and version.
        behaviours: the behaviour by clause, operator and data type.
    """

    name: str
    behaviours: Mapping[Row, str]


@dataclass(frozen=True)
class Likeness:
    """How far a run agrees with a known implementation.

    Attributes:
        name: the known implementation.
        shared: how many behaviours both show.
        alike: how many of these are the same.
        differing: what the known implementation does instead, where it is not the same.
    """

    name: str
    shared: int
    alike: int
    differing: Mapping[Row, str]


def behaviours_of(document: Mapping[str, Any]) -> dict[Row, str]:
    """The behaviours of a results document or fingerprint, by clause, operator and data type."""
    return {
        (behaviour["clause"], behaviour["operator"], behaviour["data_type"]): behaviour["behaviour"]
        for behaviour in document["behaviours"]
    }


def named(document: Mapping[str, Any]) -> str:
    """The implementation that a results document or fingerprint is about: "wgpu on a GPU (wgpu 0.32.0)"."""
    device = document["device"]
    library, adapter = (
        " ".join(str(device[name]) for name in names if device.get(name))
        for names in (("library", "version"), ("adapter",))
    )
    name = str(device.get("name") or document["backend"])
    on = f" on {adapter}" if adapter and adapter != name else ""
    return f"{name}{on}{f' ({library})' if library else ''}"


@functools.cache
def known_implementations() -> tuple[Known, ...]:
    """The implementations that are shipped, by file name; none where an installation left them out.

    Where a results document and a fingerprint are of one implementation, the results count. The files came with
    this package and are checked against their schemas in its tests, not each time they are read.
    """
    folder = importlib.resources.files("dmlcts.reports").joinpath("examples")
    if not folder.is_dir():
        return ()
    by_name: dict[str, Known] = {}
    for kind in KINDS:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(kind):
                document = json.loads(entry.read_text("utf-8"))
                name = named(document)
                by_name.setdefault(name, Known(name, behaviours_of(document)))
    return tuple(by_name.values())


def likenesses(results: Mapping[str, Any], known: Iterable[Known]) -> tuple[Likeness, ...]:
    """How far a run's behaviours agree with each known implementation, the likest first.

    An implementation that shares no behaviour with the run is left out.
    """
    seen = behaviours_of(results)
    ranking = []
    for implementation in known:
        shared = seen.keys() & implementation.behaviours.keys()
        differing = {
            row: implementation.behaviours[row] for row in shared if implementation.behaviours[row] != seen[row]
        }
        if shared:
            ranking.append(Likeness(implementation.name, len(shared), len(shared) - len(differing), differing))
    return tuple(sorted(ranking, key=lambda likeness: (-likeness.alike / likeness.shared, likeness.name)))
