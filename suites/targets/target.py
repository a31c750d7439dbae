"""The targets: a table of runtimes, each with its packages, its backend and the machines that it runs on."""

from __future__ import annotations

import functools
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dmlcts.reports.documents.validation import DocumentError, load_yaml
from dmlcts.specs import UsageError

FILE = Path(__file__).with_name("targets.yaml")
_HINT = "targets.yaml of the package is such a table"


@dataclass(frozen=True)
class Terms:
    """The terms of a licence that is not a free one.

    Attributes:
        holder: whose they are.
        title: what they are.
        address: where they can be read.
        file: where they are in the environment's packages; "" where they are not.
    """

    holder: str
    title: str
    address: str
    file: str = ""


@dataclass(frozen=True)
class Target:
    """A runtime that can be judged in an environment of its own.

    Attributes:
        name: what users call it.
        title: what it is.
        packages: requirements of pip, each with one version.
        backend: the backend that judges it.
        platforms: where its packages can be installed, as "linux-x86_64".
        options: of the backend.
        index: the index of packages; "" for pip's own.
        hardware: what a machine must have: "nvidia", "gpu", "intel"; "" for a CPU alone.
        terms: to be accepted before it is fetched; ``None`` where there are none.
        note: what else a user must know.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    backend: str
    platforms: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    index: str = ""
    hardware: str = ""
    terms: Terms | None = None
    note: str = ""

    @property
    def arguments(self) -> list[str]:
        """The arguments of ``dmlcts run`` that judge it."""
        options = (word for name, value in self.options.items() for word in ("-o", f"{name}={value}"))
        return ["--backend", self.backend, *options]

    def lacking(self) -> str:
        """Why this machine cannot run it, in a few words; "" where nothing speaks against it."""
        here = this_platform()
        if here not in self.platforms:
            return f"there are no packages for {here}, only for {', '.join(self.platforms)}"
        if self.hardware == "nvidia" and not has_nvidia():
            return "there is no NVIDIA GPU here"
        return ""


def this_platform() -> str:
    """The system and the processor, as "linux-x86_64"."""
    return f"{platform.system()}-{platform.machine()}".lower()


def has_nvidia() -> bool:
    """Whether a driver of NVIDIA's is here."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def load_targets(path: Path = FILE) -> tuple[Target, ...]:
    """Read a table of targets.

    Raises:
        DocumentError: it cannot be read, does not fit its schema, or names a target twice.
    """
    targets: dict[str, Target] = {}
    for number, row in enumerate(load_yaml(path, "targets-1", _HINT)["targets"]):
        if row["name"] in targets:
            raise DocumentError(
                str(path), f"/targets/{number}/name", f"{row['name']!r} stands twice", "give it another name"
            )
        terms = Terms(**row["terms"]) if "terms" in row else None
        lists = {name: tuple(row[name]) for name in ("packages", "platforms")}
        targets[row["name"]] = Target(**{**row, **lists, "terms": terms})
    return tuple(targets.values())


@functools.cache
def shipped_targets() -> tuple[Target, ...]:
    """The targets of the suite, read and checked at the first call."""
    return load_targets()


def target_of(name: str) -> Target:
    """The target of a name.

    Raises:
        UsageError: there is none.
    """
    for target in shipped_targets():
        if target.name == name:
            return target
    raise UsageError(
        f"there is no target {name!r}", f"choose one of {', '.join(item.name for item in shipped_targets())}"
    )
