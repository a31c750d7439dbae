"""What is published: a table of implementations, each with its backend and what a machine needs to judge it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from dmlcts.reports.documents.validation import DocumentError, load_yaml
from dmlcts.specs import UsageError
from dmlcts.specs.spelling import did_you_mean
from dmlcts.suites.targets import target as targets
from dmlcts.suites.targets.target import Target

FILE = Path(__file__).with_name("implementations.yaml")
_HINT = "implementations.yaml of the package is such a table"


@dataclass(frozen=True)
class Implementation:
    """An implementation with a kept result.

    Attributes:
        name: of the kept result; no other implementation has it.
        title: what it is.
        backend: the backend that judges it.
        options: of the backend.
        target: the runtime that it is, where it can be fetched into an environment; ``None`` for others.
        platforms: the machines that can judge it, as "linux-x86_64"; empty for all.
        hardware: what the machine must have: "nvidia", "gpu", "intel"; "" for a CPU alone.
        drivers: manifests of the Vulkan driver that it needs; the first that is there is taken. Empty where it needs
            none.
        mend: the command that installs its driver or its runtime; "" where its backend says what to do.
    """

    name: str
    title: str
    backend: str
    options: Mapping[str, str] = field(default_factory=dict)
    target: Target | None = None
    platforms: tuple[str, ...] = ()
    hardware: str = ""
    drivers: tuple[str, ...] = ()
    mend: str = ""

    @property
    def arguments(self) -> list[str]:
        """The arguments of ``dmlcts run`` that judge it."""
        options = (word for name, value in self.options.items() for word in ("-o", f"{name}={value}"))
        return ["--backend", self.backend, *options]

    @property
    def driver(self) -> str:
        """The manifest of its Vulkan driver; "" where it needs none, or none is there."""
        return next((path for path in self.drivers if Path(path).is_file()), "")

    @property
    def missing_package(self) -> str:
        """The package of its runtime, where that is not installed here; "" where it is, or where it is no runtime."""
        if self.target is None:
            return ""
        name = Requirement(self.target.packages[0]).name
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return name
        return ""

    def lacking(self) -> str:
        """Why this machine cannot judge it, with what to do; "" where nothing speaks against it."""
        if self.target is not None:
            return self.target.lacking()
        here = targets.this_platform()
        if self.platforms and here not in self.platforms:
            return f"it needs {' or '.join(self.platforms)}, and this is {here}"
        if self.hardware == "nvidia" and not targets.has_nvidia():
            return "there is no NVIDIA GPU here"
        if self.drivers and not self.driver:
            return f"its Vulkan driver is not installed ({self.drivers[0]}); {self.mend}".removesuffix("; ")
        return ""


def _read(row: Mapping[str, Any]) -> Implementation:
    """An implementation from its row.

    Raises:
        UsageError: it names a target that there is not.
    """
    lists = {name: tuple(row[name]) for name in ("platforms", "drivers") if name in row}
    if "target" not in row:
        return Implementation(**{**row, **lists})
    target = targets.target_of(row["target"])
    return Implementation(
        name=row["name"],
        title=target.title,
        backend=target.backend,
        options=target.options,
        target=target,
        hardware=target.hardware,
        mend=row.get("mend", f"dmlcts providers fetch {target.name}{' --accept-terms' if target.terms else ''}"),
        drivers=lists.get("drivers", ()),
    )


def load_implementations(path: Path = FILE) -> tuple[Implementation, ...]:
    """Read a table of implementations.

    Raises:
        DocumentError: it cannot be read, does not fit its schema, or names an implementation twice.
        UsageError: it names a target that there is not.
    """
    implementations: dict[str, Implementation] = {}
    for number, row in enumerate(load_yaml(path, "implementations-1", _HINT)["implementations"]):
        if row["name"] in implementations:
            raise DocumentError(
                str(path), f"/implementations/{number}/name", f"{row['name']!r} is there twice", "give it another name"
            )
        implementations[row["name"]] = _read(row)
    return tuple(implementations.values())


def selected(implementations: Sequence[Implementation], names: Sequence[str]) -> tuple[Implementation, ...]:
    """The implementations of some names, in the order of the table; all where no name is there.

    Raises:
        UsageError: a name means none of them.
    """
    known = [implementation.name for implementation in implementations]
    for name in names:
        if name not in known:
            mend = f"choose from {', '.join(known)}"
            raise UsageError(f"there is no implementation {name!r}", did_you_mean(name, known, mend))
    return tuple(each for each in implementations if not names or each.name in names)
