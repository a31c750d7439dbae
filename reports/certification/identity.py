"""Which suite this is: the digest of its files, and with it its version, its commit and the files that were modified.

The digest alone is the identity: a wheel, a clean checkout and another one of the same files are the same suite. A
commit and its tag are recorded where there are any, and decide on nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmlcts.reports.certification.files import changed_files, digest_of, suite_files
from dmlcts.reports.documents.results import suite_identity, suite_tags
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

_MOST_NAMED = 3


@dataclass(frozen=True)
class Reference:
    """What a submission is compared with: the suite and the tables of whoever looks.

    Attributes:
        version: the suite's version.
        commit: its commit, ``None`` outside a checkout.
        modified: whether its files differ from what it was made of, ``None`` where nothing says so.
        tagged: whether the commit carries the version's tag, ``None`` outside a checkout.
        digest: of its files, the suite's identity.
        tables: the tables that certification rests on.
        files: SHA-256 of each file.
        changed: the files that differ from what it was made of.
    """

    version: str
    commit: str | None
    modified: bool | None
    tagged: bool | None
    digest: str
    tables: Tables
    files: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    @classmethod
    def here(cls, tables: Tables) -> Reference:
        """What is installed here, with the built-in ``tables``."""
        suite, files = suite_identity(), suite_files()
        version, commit = suite["version"], suite["commit"]
        tagged = None if commit is None else f"v{version}" in suite_tags()
        changed = changed_files(files)
        modified = None if changed is None else bool(changed)
        return cls(version, commit, modified, tagged, digest_of(files), tables, files, tuple(changed or ()))

    @property
    def modifications(self) -> tuple[str, ...]:
        """Why this is not the suite as it was made; empty where it is."""
        return modifications(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """What a statement says of the suite."""
        document: dict[str, Any] = {
            "version": self.version,
            "commit": self.commit,
            "modified": self.modified,
            "tagged": self.tagged,
            "digest": self.digest,
            "files": dict(self.files),
        }
        return document | ({"changed": list(self.changed)} if self.changed else {})


def modifications(suite: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a suite, as a statement describes it, is not as it was made; empty where it is, as far as is known."""
    reasons = []
    if suite["version"] == "unknown":
        reasons.append("the version of the suite is unknown: it is not installed")
    if suite["modified"]:
        reasons.append(f"the suite is modified{named(suite.get('changed', ()))}")
    if suite["commit"] is not None and suite["modified"] is None:
        reasons.append("whether the suite is modified is unknown")
    return tuple(reasons)


def named(files: Sequence[str]) -> str:
    """The first files of some, for the end of a sentence: ": suites/plugin.py and 2 more files"."""
    if not files:
        return ""
    more = len(files) - _MOST_NAMED
    shown = f": {', '.join(files[:_MOST_NAMED])}"
    return f"{shown} and {many(more, 'more file')}" if more > 0 else shown


def origin(suite: Mapping[str, Any]) -> str:
    """Where a suite comes from, in words: "commit 0123456789ab, tag v0.1.0"."""
    if suite["commit"] is None:
        return "not from a checkout"
    tag = f"tag v{suite['version']}" if suite["tagged"] else "no tag"
    return f"commit {suite['commit'][:12]}, {tag}"


def other_files(theirs: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """In which files two suites differ: kind and sentence of each."""
    for name in sorted({*theirs, *ours}):
        if name not in ours:
            yield "there", f"{name} is not here"
        elif name not in theirs:
            yield "here", f"{name} is only here"
        elif theirs[name] != ours[name]:
            yield "other", f"{name} is another file than here"
