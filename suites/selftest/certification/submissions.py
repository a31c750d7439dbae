"""A small submission, made in a moment: real outputs of the cpu backend at level 1.0, records as a run leaves them."""

from __future__ import annotations

import copy
import io
import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.files import digest_of, suite_files
from dmlcts.reports.certification.identity import Reference
from dmlcts.reports.certification.operators import obliged_operators
from dmlcts.reports.certification.submission import (
    ENVIRONMENT_FORMAT,
    EVIDENCE_FORMAT,
    FORMAT,
    seal,
    written,
    written_records,
)
from dmlcts.reports.certification.verdict import Verification
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device, environment, suite_version
from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification import evidence
from dmlcts.suites.certification.verify import verify_members
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings, required_rows

LEVEL = FeatureLevel("1.0")
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
STARTED, FINISHED = NOW - timedelta(hours=3), NOW - timedelta(hours=1)
VERSION = suite_version()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
RECORDS = archive.records_name(1, 1)
FEW = ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_THRESHOLD")
"""What the small submission certifies, so that it is made and verified in a moment."""
IDLE = "test_types_and_ranks_of_level_2_1[{}-INT8]"
"""Of these tests the small submission's records say that nothing was judged, as nothing need be at its level."""
COMMAND = (
    "certify",
    "--backend",
    "cpu",
    "--option",
    "feature_level=1.0",
    "--product",
    "Driver 1.2",
    "--vendor",
    "ACME",
    "--key",
    "acme.key",
    "-o",
    "submission.zip",
    "--operators",
    "clip,threshold",
)


@dataclass(frozen=True)
class Verifier:
    """Whoever verifies: suite, tests, clock, trusted keys."""

    reference: Reference
    expected: tuple[str, ...]
    trusted: tuple[bytes, ...]
    now: datetime = NOW
    day: date | None = None
    challenge: str = ""

    def verify(self, packed: bytes) -> Verification:
        """Verify an archive's bytes, as `dmlcts verify` does a file's."""
        from dmlcts.reports.certification.verdict import Line, Status

        try:
            members = archive.unpack(packed)
        except archive.ArchiveError as error:
            return Verification((Line("archive", Status.FAIL, str(error)),), draft=False, about={})
        return self.verify_members(members)

    def verify_members(self, members: Mapping[str, bytes]) -> Verification:
        """Verify the members of an archive."""
        return verify_members(
            members,
            self.reference,
            self.expected,
            trusted=self.trusted,
            now=self.now,
            day=self.day,
            challenge=self.challenge,
        )


@dataclass
class Parts:
    """A submission before it is sealed, to be tampered with by someone who may even have the vendor's key."""

    members: dict[str, bytes]
    statement: dict[str, Any]
    key: Ed25519PrivateKey | None
    verifier: Verifier = field(repr=False)

    def copy(self) -> Parts:
        """Parts of one's own."""
        return Parts(dict(self.members), copy.deepcopy(self.statement), self.key, self.verifier)

    def sealed(self) -> dict[str, bytes]:
        """The members, with a statement that lists them, signed."""
        return seal(self.members, self.statement, self.key)

    def packed(self) -> bytes:
        """The archive."""
        return archive.pack(self.sealed())

    def edit(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON member in place."""
        document = json.loads(self.members[name])
        change(document)
        self.members[name] = written(document)

    def edit_records(self, change: Callable[[list[dict[str, Any]]], object], name: str = RECORDS) -> None:
        """Change the records in place."""
        records = [json.loads(line) for line in self.members[name].splitlines()]
        change(records)
        self.members[name] = "".join(f"{json.dumps(record)}\n" for record in records).encode()
        for part in self.statement["shards"]:
            if part["file"] == name:
                part["records"] = len(records)

    def rebuild(self) -> None:
        """Make the results follow from the records again, as a careful forger would."""
        from dmlcts.reports.certification.submission import Submission

        submission = Submission(self.sealed())
        report = json.loads(self.members[archive.RESULTS])
        waivers, level = submission.waivers, FeatureLevel(self.statement["feature_level"])
        results = build_results(
            waivers.apply(submission.records),
            required_rows(self.verifier.reference.tables, level, self.statement["operators"]),
            _run(report["device"], report["environment"], report["selection"], level),
            self.verifier.reference.tables,
        )
        self.members[archive.RESULTS] = written(results | waivers.reported(results))
        self.statement["verdict"] = results["verdict"]


def _run(device: dict[str, Any], here: dict[str, Any], selection: dict[str, list[str]], level: FeatureLevel) -> RunInfo:
    suite = {"version": VERSION, "commit": COMMIT, "modified": False}
    return RunInfo("cpu", device, level, "certification", 0, False, selection, STARTED, FINISHED, suite, here)


def build(operators: tuple[str, ...] = FEW, level: FeatureLevel = LEVEL) -> Parts:
    """A submission that verifies as PASS.

    Args:
        operators: full names of those that it certifies, sorted; none for all.
        level: at which they are certified.
    """
    tables = load_tables()
    files = suite_files()
    reference = Reference(VERSION, COMMIT, False, True, digest_of(files), tables, files)
    expected = tuple(pytest_run.collected_tests(operators))
    named = operators or obliged_operators(tables, level)
    selection = {"operators": list(operators)} if operators else {}
    rows = list(required_rows(tables, level, named))
    records = []
    for index, test in enumerate(expected):
        mine = rows[index :: len(expected)] or rows[-1:]
        tallies = tuple(ClauseTally(*row[:3], Outcome.PASS, 3, 30, 0) for row in mine)
        family, _, operator = test.partition("::")[2].rstrip("]").partition("[")
        idle = {IDLE.format(operator): "may be refused"} if operators == FEW and family == "descriptions" else {}
        records.append(ItemRecord(test, Outcome.PASS, 0.01, tallies, idle=idle))
    settings = Settings.read(options=[f"feature_level={level}"])
    bench = settings.open()
    try:
        device = json.loads(json.dumps(describe_device(bench.info)))
        planned = evidence.plan(tables, level, 0, "", named)
        outputs, absent = evidence.gather(bench, planned)
    finally:
        bench.close()
    assert not absent
    here = environment()
    results = build_results(records, rows, _run(device, here, selection, level), tables)
    report = {"cases": len(planned), "bytes": len(outputs), "plan": evidence.digest(planned)}
    members = {
        archive.RESULTS: written(results),
        archive.LOG: b"CONFORMANT\n",
        archive.ENVIRONMENT: written({"format": ENVIRONMENT_FORMAT, "environment": here, "device": device}),
        archive.EVIDENCE: written({"format": EVIDENCE_FORMAT, **report, "absent": []}),
        archive.OUTPUTS: outputs,
        RECORDS: written_records(records),
    }
    key = Ed25519PrivateKey.generate()
    statement = {
        "format": FORMAT,
        "draft": [],
        "product": "Driver 1.2",
        "vendor": "ACME",
        "suite": reference.to_json(),
        "tables": dict(tables.digests),
        "backend": "cpu",
        "options": {"feature_level": str(level)},
        "device": device,
        "feature_level": str(level),
        "profile": "certification",
        "seed": 0,
        "isolation": "process",
        "verdict": results["verdict"],
        "started": STARTED.isoformat(),
        "finished": FINISHED.isoformat(),
        "made": NOW.isoformat(),
        "operators": list(named),
        "command": [
            *(word.replace("feature_level=1.0", f"feature_level={level}") for word in COMMAND[:-1]),
            ",".join(operators) or "all",
        ],
        "shards": [{"file": RECORDS, "index": 1, "count": 1, "records": len(records)}],
        "evidence": report,
    }
    return Parts(members, statement, key, Verifier(reference, expected, (signing.raw(key),)))


def rezipped(packed: bytes, change: Callable[[zipfile.ZipFile, dict[str, bytes]], object]) -> bytes:
    """The archive written again, as `archive.pack` does; ``change`` writes what it wants, and may take members out."""
    members = archive.unpack(packed)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        change(made, members)
        for name in sorted(members):
            made.writestr(entry(name), members[name])
    return stream.getvalue()


def entry(name: str, **changed: Any) -> zipfile.ZipInfo:
    """A member's entry as a submission has it, but for what is changed."""
    made = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    made.create_system, made.external_attr = 3, (stat.S_IFREG | 0o644) << 16
    for attribute, value in changed.items():
        setattr(made, attribute, value)
    return made
