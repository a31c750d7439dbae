"""A submission in memory: its members, parsed and checked for their form, nothing in them believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.archive import ArchiveError
from dmlcts.reports.documents import waivers as waiving
from dmlcts.reports.documents.records import ItemRecord, RecordError
from dmlcts.reports.documents.validation import MOST_VALUES, parse_document, parse_yaml, validate_results, values_in
from dmlcts.specs import DmlctsError

FORMAT, EVIDENCE_FORMAT, ENVIRONMENT_FORMAT = "dmlcts/submission/1", "dmlcts/evidence/1", "dmlcts/environment/1"
_NEEDED = (
    archive.STATEMENT,
    archive.RESULTS,
    archive.LOG,
    archive.ENVIRONMENT,
    archive.EVIDENCE,
    archive.OUTPUTS,
)
_MOST_LINE = 8 << 20
_MOST_VALUES = 2_000_000  # of all records; they are read line by line


def written(document: Mapping[str, Any]) -> bytes:
    """A document as a member of the archive."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")


def written_records(items: Sequence[ItemRecord]) -> bytes:
    """Records as a member of the archive: one a line, sorted by test."""
    lines = (json.dumps(item.to_json(), ensure_ascii=True) for item in sorted(items, key=lambda item: item.test))
    return "".join(f"{line}\n" for line in lines).encode()


def timestamp(moment: datetime) -> str:
    """A moment as statements write it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def seal(members: Mapping[str, bytes], statement: Mapping[str, Any], key: Any = None) -> dict[str, bytes]:
    """All members of a submission: those given, and the statement with their digests, signed with ``key``.

    Args:
        members: every member but the statement and its signature.
        statement: the statement, without ``files`` and ``key``.
        key: an Ed25519 private key, or ``None`` for an unsigned draft.
    """
    files = {name: digest(data) for name, data in sorted(members.items())}
    public = None if key is None else signing.raw(key).hex()
    sealed = written({**statement, "files": files, "key": public})
    contents = {**members, archive.STATEMENT: sealed}
    if key is not None:
        contents[archive.SIGNATURE] = signing.sign(key, sealed)
    return contents


@dataclass(frozen=True)
class Submission:
    """The members of an archive; each is parsed, and its form checked, when it is first asked for.

    Attributes:
        members: name to bytes, as :func:`~dmlcts.reports.certification.archive.read` gives them.
    """

    members: Mapping[str, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in _NEEDED if name not in self.members]
        if missing:
            raise ArchiveError(f"lacks {', '.join(missing)}")
        if not any(archive.RECORDS.fullmatch(name) for name in self.members):
            raise ArchiveError("lacks records")
        records = [data for name, data in self.members.items() if archive.RECORDS.fullmatch(name)]
        documents = [data for name, data in self.members.items() if name.endswith(".json")]
        for kind, members, most in (("documents", documents, MOST_VALUES), ("records", records, _MOST_VALUES)):
            if sum(map(values_in, members)) > most:
                raise ArchiveError(f"may hold more than {most:,} values in its {kind}")

    def _document(self, name: str, schema: str) -> dict[str, Any]:
        return parse_document(self.members[name], schema, name)

    @cached_property
    def statement(self) -> dict[str, Any]:
        """``statement.json``."""
        return self._document(archive.STATEMENT, "submission-1")

    @cached_property
    def results(self) -> dict[str, Any]:
        """``results.json``, whose verdict follows from its rows."""
        document = self._document(archive.RESULTS, "results-1")
        validate_results(document, archive.RESULTS)
        return document

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """``evidence.json``."""
        return self._document(archive.EVIDENCE, "evidence-1")

    @cached_property
    def environment(self) -> dict[str, Any]:
        """``environment.json``."""
        return self._document(archive.ENVIRONMENT, "environment-1")

    def faults(self) -> Iterator[str]:
        """What is wrong with the form of any member but the statement, one fault for each member."""
        read: dict[str, Callable[[], object]] = {
            archive.RESULTS: lambda: self.results,
            archive.ENVIRONMENT: lambda: self.environment,
            archive.EVIDENCE: lambda: self.evidence,
            archive.WAIVERS: lambda: self.waivers,
            archive.SWEEP: lambda: self.sweep,
            "records": lambda: self.records,
        }
        for parsed in read.values():
            try:
                parsed()
            except DmlctsError as error:
                yield str(error)

    @property
    def outputs(self) -> bytes:
        """``evidence.bin``."""
        return self.members[archive.OUTPUTS]

    @cached_property
    def waivers(self) -> waiving.Waivers:
        """``waivers.yaml``; none where the submission has no such member."""
        data = self.members.get(archive.WAIVERS)
        if data is None:
            return waiving.Waivers()
        return waiving.read(parse_yaml(data, "waivers-1", archive.WAIVERS), archive.WAIVERS)

    @cached_property
    def sweep(self) -> dict[str, Any] | None:
        """``sweep.json``; ``None`` where the submission has no such member."""
        return self._document(archive.SWEEP, "sweep-1") if archive.SWEEP in self.members else None

    @property
    def record_files(self) -> list[str]:
        """The names of the members that hold records."""
        return sorted(name for name in self.members if archive.RECORDS.fullmatch(name))

    @cached_property
    def records(self) -> list[ItemRecord]:
        """All records of all shards.

        Raises:
            RecordError: a line is no record.
        """
        return [record for name in self.record_files for record in self.shard(name)]

    def lines(self, name: str) -> int:
        """How many lines a member has."""
        return self.members[name].count(b"\n")

    def shard(self, name: str) -> list[ItemRecord]:
        """The records of one member.

        Raises:
            RecordError: a line is no record.
        """
        records = []
        for number, line in enumerate(self.members[name].split(b"\n")[:-1], 1):
            where = f"{name}, line {number}"
            if len(line) > _MOST_LINE:
                raise RecordError(where, "", f"is longer than {_MOST_LINE >> 20} MiB", "no test writes so much")
            try:
                records.append(ItemRecord.from_json(parse_document(line, None, where)))
            except OverflowError:
                raise RecordError(where, "", "holds a number beyond all bounds", "no test takes so long") from None
        if not self.members[name].endswith(b"\n"):
            raise RecordError(name, "", "ends in the middle of a line", "take the whole file")
        return records
