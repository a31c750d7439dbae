"""Which suite this is: its version, its commit, whether it is a release, and the digest of what judges.

A release is a version without a development, pre-release or local part, and in a checkout an unmodified commit
that carries the tag ``v<version>``. An installed copy has no commit; there the version decides, and the digest
of the files that judge, which a verifier compares with its own.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from dmlcts.reports.documents.results import suite_identity, suite_tags
from dmlcts.specs.tables import Tables

_RELEASE = re.compile(r"[0-9]+(\.[0-9]+)*(\.post[0-9]+)?")
_ROOMS = ("specs", "suites", "reports")
_JUDGING = (".py", ".yaml", ".json", ".ini")
_NOT_JUDGING = {"selftest", "__pycache__", "examples"}


@dataclass(frozen=True)
class Reference:
    """What a submission is compared with: the suite and the tables of whoever looks.

    Attributes:
        version: the suite's version.
        commit: its commit, ``None`` outside a checkout.
        modified: whether tracked files differ from it, ``None`` outside a checkout.
        tagged: whether the commit carries the version's tag, ``None`` outside a checkout.
        digest: :func:`suite_digest`.
        tables: the tables that certification rests on.
    """

    version: str
    commit: str | None
    modified: bool | None
    tagged: bool | None
    digest: str
    tables: Tables

    @classmethod
    def here(cls, tables: Tables) -> Reference:
        """What is installed here, with the built-in ``tables``."""
        suite = suite_identity()
        version, commit = suite["version"], suite["commit"]
        tagged = None if commit is None else f"v{version}" in suite_tags()
        return cls(version, commit, suite["modified"], tagged, suite_digest(), tables)

    @property
    def unreleased(self) -> tuple[str, ...]:
        """Why this is no release; empty where it is one."""
        return unreleased(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """What a statement says of the suite."""
        return {
            "version": self.version, "commit": self.commit, "modified": self.modified, "tagged": self.tagged,
            "digest": self.digest,
        }  # fmt: skip


def unreleased(suite: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a suite, as a statement describes it, is no release; empty where it is one."""
    found = []
    if not _RELEASE.fullmatch(suite["version"]):
        found.append(f"version {suite['version']} is not a release")
    if suite["modified"]:
        found.append("the checkout is modified")
    if suite["commit"] is not None and suite["modified"] is None:
        found.append("whether the checkout is modified is unknown")
    if suite["commit"] is not None and not suite["tagged"]:
        found.append(f"the commit does not carry the tag v{suite['version']}")
    return tuple(found)


def suite_digest() -> str:
    """SHA-256 over every file that judges: ``specs``, ``suites`` and ``reports``, without the selftests.

    Line ends are counted as LF, so that a checkout on Windows has the digest of every other.
    """
    state = hashlib.sha256()
    for room in _ROOMS:
        files = dict(_files(importlib.resources.files(f"dmlcts.{room}"), room))
        for name in sorted(files):
            content = files[name].read_bytes().replace(b"\r\n", b"\n")
            state.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return state.hexdigest()


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in _NOT_JUDGING:
            yield from _files(entry, f"{prefix}/{entry.name}")
        elif entry.is_file() and entry.name.endswith(_JUDGING):
            yield f"{prefix}/{entry.name}", entry
