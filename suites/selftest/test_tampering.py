"""Tampered submissions: each is refused, and for its own reason.

Unless a forgery is about the signature, the forger has the vendor's key: everything is listed and signed again
after the change, so that the check for this very thing has to notice it.
"""

from __future__ import annotations

import io
import json
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.verdict import Standing, Status, Verification
from dmlcts.suites import evidence
from dmlcts.suites.selftest.submissions import COMMAND, NOW, RECORDS, STARTED, Parts, build, rezipped

Tampering = Callable[[Parts], bytes]
ROW = ("clip.formula", "ELEMENT_WISE_CLIP", "FLOAT32")
WAIVER = {
    "clause": "clip.formula",
    "vendor": "*",
    "device": "*",
    "reason": "known",
    "issue": "https://example.org/1",
    "expires": "2027-01-31",
    "suite": "0.1.*",
}


@pytest.fixture(scope="session")
def genuine() -> Parts:
    return build()


@pytest.fixture(scope="session")
def _judged_once() -> Iterator[None]:
    """Plans and judgements of equal outputs are made once, so that a hundred verifications take a minute."""
    patch = pytest.MonkeyPatch()
    planned: dict[Any, Any] = {}
    judged: dict[Any, Any] = {}
    plan, judge = evidence.plan, evidence.judge

    def plan_once(tables: Any, level: Any, seed: int) -> Any:
        key = (str(level), seed)
        if key not in planned:
            planned[key] = plan(tables, level, seed)
        return planned[key]

    def judge_once(cases: Any, outputs: bytes, absent: Any, tables: Any) -> Any:
        key = (id(cases), outputs, absent)
        if key not in judged:
            judged[key] = judge(cases, outputs, absent, tables)
        return judged[key]

    patch.setattr(evidence, "plan", plan_once)
    patch.setattr(evidence, "judge", judge_once)
    yield
    patch.undo()


@pytest.fixture
def parts(genuine: Parts, _judged_once: None) -> Parts:
    return genuine.copy()


# Tampering with the parts of a submission, before it is signed again.

EDITS: dict[str, tuple[Callable[[Parts], object], str, str]] = {}
"""Name to: the change, the check that must notice it, and what it must say."""


def edit(check: str, said: str) -> Callable[[Callable[[Parts], object]], Callable[[Parts], object]]:
    def add(change: Callable[[Parts], object]) -> Callable[[Parts], object]:
        EDITS[change.__name__.replace("_", " ")] = (change, check, said)
        return change

    return add


def state(**changed: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.statement.update(changed)


def both(name: str, value: Any) -> Callable[[Parts], object]:
    """Change a member of the statement and of the results alike."""

    def change(parts: Parts) -> None:
        parts.statement[name] = value
        parts.edit(archive.RESULTS, lambda results: results.__setitem__(name, value))

    return change


def result(name: str, value: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.edit(archive.RESULTS, lambda results: results.__setitem__(name, value))


def suite(**changed: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.statement["suite"].update(changed)


def tally_of(record: dict[str, Any], row: tuple[str, str, str] = ROW) -> dict[str, Any] | None:
    rows = (tally for tally in record["tallies"] if (tally["clause"], tally["operator"], tally["data_type"]) == row)
    return next(rows, None)


def holder(records: list[dict[str, Any]], row: tuple[str, str, str] = ROW) -> dict[str, Any]:
    return next(record for record in records if tally_of(record, row))


EDITS |= {
    # the suite and the tables
    "another version of the suite": (suite(version="0.2.0"), "suite", "judged by suite 0.2.0, this is 0.1.0"),
    "another suite of this version": (suite(digest="0" * 64), "suite", "the digests of its files differ"),
    "another commit": (suite(commit="f" * 40), "suite", "judged by commit ffffffffffff"),
    "a modified checkout": (
        lambda parts: (
            suite(modified=True)(parts), parts.edit(archive.RESULTS, lambda told: told["suite"].update(modified=True)),
        ),
        "release", "the checkout is modified",
    ),
    "a modified checkout in the results": (
        lambda parts: parts.edit(archive.RESULTS, lambda told: told["suite"].update(modified=True)),
        "suite", "the results name another suite",
    ),
    "an untagged commit": (suite(tagged=False), "release", r"does not carry the tag v0\.1\.0"),
    "other tables": (state(tables={"operators/clip.yaml": "0" * 64}), "tables", "the statement rests on other tables"),
    "other tables in the run": (result("specs", {}), "tables", "the run rests on other tables"),
    # the options
    "a quick profile": (both("profile", "quick"), "options", "profile is quick, a certification needs certification"),
    "a quick profile relabelled": (
        result("profile", "quick"), "options", "profile is certification in the statement, quick in the results",
    ),
    "a selection": (result("selection", {"operators": ["ELEMENT_WISE_CLIP"]}), "options", "only a part was run"),
    "a strict run": (result("strict", True), "options", "the run was strict"),
    "no isolation": (state(isolation="none"), "options", "isolation is none"),
    "another backend": (state(backend="wgpu"), "options", "backend is wgpu in the statement, cpu in the results"),
    "a level above the device's": (both("feature_level", "5.0"), "level", "level 5.0 is submitted, the device"),
    "another seed than the command's": (both("seed", 7), "command", "seed: the command says 0, the statement 7"),
    "an option that is not allowed": (
        state(command=[*COMMAND, "--clause", "clip.*"]), "command", "No such option:? '?--clause",
    ),
    "another command": (state(command=["run", *COMMAND[1:]]), "command", "is not `dmlcts certify`"),
    "a quick command": (
        state(command=[*COMMAND, "--profile", "quick"]), "command", "profile: the command says 'quick'",
    ),
    "another vendor than the command's": (state(vendor="Evil"), "command", "vendor: the command says 'ACME'"),
    "a draft's command": (state(command=[*COMMAND, "--draft"]), "command", "draft: the command says True"),
    # the device
    "another device's results": (
        lambda parts: parts.edit(archive.RESULTS, lambda results: results["device"].update(adapter="other")),
        "device", "the results are another device's",
    ),
    "another device's environment": (
        lambda parts: parts.edit(archive.ENVIRONMENT, lambda told: told["device"].update(driver="other")),
        "device", "the environment is another device's",
    ),
    "another machine's environment": (
        lambda parts: parts.edit(archive.ENVIRONMENT, lambda told: told["environment"].update(machine="other")),
        "device", "the environment is not the one that the results name",
    ),
    # the clock
    "ended before it began": (
        state(finished=(STARTED - timedelta(hours=1)).isoformat()), "clock", "it ended before it began",
    ),
    "submitted in the future": (
        state(made=(NOW + timedelta(days=3)).isoformat()), "clock", "submitted 2026-11-24, which is yet to come",
    ),
    "older than the suite": (state(started="1999-12-31T23:59:59+00:00"), "clock", "before there was a suite"),
    "a day that does not exist": (state(started="2026-02-31T00:00:00+00:00"), "clock", "does not exist"),
    "other times than the results'": (
        state(started=(STARTED - timedelta(minutes=1)).isoformat()), "clock", "the results name other times",
    ),
    # the draft's marks
    "a verdict that does not follow": (both("verdict", "NOT_CONFORMANT"), "form", "/verdict: is NOT_CONFORMANT where"),
    "a draft that hides why": (
        lambda parts: (state(draft=["for fun"], isolation="none")(parts), parts.statement["command"].append("--draft")),
        "draft", "the draft does not say that the implementation did not run in a process of its own",
    ),
}  # fmt: skip


@edit("options", "the run was interrupted")
def an_interrupted_run(parts: Parts) -> None:
    parts.edit(archive.RESULTS, lambda results: results.update(interrupted=True, verdict="INCOMPLETE"))
    parts.statement["verdict"] = "INCOMPLETE"


@edit("clock", "a test took 90000 s, longer than the run")
def a_test_longer_than_the_run(parts: Parts) -> None:
    parts.edit_records(lambda records: records[0].update(seconds=90000.0))


@edit("digests", "sweep.json is in the statement and not in the archive")
def a_file_listed_and_left_out(parts: Parts) -> None:
    parts.members[archive.SWEEP] = b"{}\n"


@edit("signature", "signed by key .*, which is not trusted")
def signed_with_another_key(parts: Parts) -> None:
    parts.key = Ed25519PrivateKey.generate()


@edit("signature", "the statement is not signed")
def not_signed(parts: Parts) -> None:
    parts.key = None


# Shards.


def sharded(parts: Parts, count: int) -> None:
    """The same records in ``count`` parts."""
    lines = parts.members.pop(RECORDS).splitlines(keepends=True)
    parts.statement["shards"] = []
    for index in range(1, count + 1):
        name = archive.records_name(index, count)
        mine = lines[index - 1 :: count]
        parts.members[name] = b"".join(mine)
        shard = {"file": name, "index": index, "count": count, "records": len(mine)}
        parts.statement["shards"].append(shard)


@edit("shards", "^part 10 of 16 is missing$")
def a_missing_shard(parts: Parts) -> None:
    sharded(parts, 16)
    del parts.members[parts.statement["shards"].pop(9)["file"]]


@edit("shards", "the records of part 2 are missing")
def a_shard_without_records(parts: Parts) -> None:
    sharded(parts, 3)
    del parts.members[archive.records_name(2, 3)]


@edit("shards", "part 2 is there 2 times")
def a_shard_twice(parts: Parts) -> None:
    sharded(parts, 3)
    parts.statement["shards"].append(parts.statement["shards"][1])


@edit("shards", "records-2-of-2.jsonl belongs to no part")
def records_of_no_part(parts: Parts) -> None:
    parts.members[archive.records_name(2, 2)] = parts.members[RECORDS]


@edit("shards", r"the parts disagree on how many there are: 1, 2")
def shards_of_two_runs(parts: Parts) -> None:
    name = archive.records_name(2, 2)
    parts.members[name] = parts.members[RECORDS]
    parts.statement["shards"].append({"file": name, "index": 2, "count": 2, "records": 1214})


@edit("shards", r"part 1 names records-1-of-2\.jsonl for its records")
def a_shard_that_names_another_file(parts: Parts) -> None:
    name = archive.records_name(1, 2)
    parts.members[name] = parts.members.pop(RECORDS)
    parts.statement["shards"][0]["file"] = name


@edit("shards", r"has \d+ records, not 7")
def a_shard_with_another_count(parts: Parts) -> None:
    parts.statement["shards"][0]["records"] = 7


# Records and results.


@edit("records", r"test_\S+ has 2 records")
def a_duplicated_record(parts: Parts) -> None:
    parts.edit_records(lambda records: records.append({**records[5], "tallies": []}))


@edit("records", r"test_\S+ has no record")
def a_removed_record(parts: Parts) -> None:
    def remove(records: list[dict[str, Any]]) -> None:
        records.remove(next(record for record in records if not record["tallies"]))

    parts.edit_records(remove)


@edit("records", "test_evil.py::test_evil is no test of this suite")
def a_record_of_no_test(parts: Parts) -> None:
    parts.edit_records(lambda records: records.append({**records[0], "test": "test_evil.py::test_evil", "tallies": []}))


@edit("records", "is pass with a fail in it")
def a_failure_inside_a_passing_record(parts: Parts) -> None:
    parts.edit_records(lambda records: tally_of(holder(records)).update(outcome="fail"))  # type: ignore[union-attr]


@edit("records", "is waived in its record, where a run never writes that")
def a_waiver_written_into_a_record(parts: Parts) -> None:
    parts.edit_records(lambda records: tally_of(holder(records)).update(outcome="waived"))  # type: ignore[union-attr]


@edit("form", "is no JSON")
def a_line_that_is_no_record(parts: Parts) -> None:
    parts.members[RECORDS] += b"{\n"
    parts.statement["shards"][0]["records"] += 1


@edit("form", "ends in the middle of a line")
def half_a_line(parts: Parts) -> None:
    parts.members[RECORDS] = parts.members[RECORDS][:-1]
    parts.statement["shards"][0]["records"] -= 1


@edit("form", 'the key "outcome" stands twice')
def a_key_twice(parts: Parts) -> None:
    once, twice = b'"outcome": "pass"', b'"outcome": "fail", "outcome": "pass"'
    parts.members[RECORDS] = parts.members[RECORDS].replace(once, twice, 1)


@edit("results", "clip.formula ELEMENT_WISE_CLIP FLOAT32: the results say outcome pass, not fail; failures 0, not 3")
def a_flipped_outcome(parts: Parts) -> None:
    def fail(records: list[dict[str, Any]]) -> None:
        record = holder(records)
        record["outcome"] = "fail"
        tally_of(record).update(outcome="fail", failures=3)  # type: ignore[union-attr]

    parts.edit_records(fail)


@edit("results", "the results lack the row clip.formula ELEMENT_WISE_CLIP FLOAT32")
def a_removed_clause(parts: Parts) -> None:
    def remove(results: dict[str, Any]) -> None:
        rows = results["clauses"]
        rows.remove(next(row for row in rows if (row["id"], row["operator"], row["data_type"]) == ROW))

    parts.edit(archive.RESULTS, remove)


@edit("results", "the records amount to INCOMPLETE, the statement says CONFORMANT")
def a_clause_removed_from_records_and_results(parts: Parts) -> None:
    parts.edit_records(lambda records: holder(records).update(tallies=[]))
    a_removed_clause(parts)


@edit("results", "which no record supports")
def an_invented_row(parts: Parts) -> None:
    def add(results: dict[str, Any]) -> None:
        results["clauses"].append({**results["clauses"][0], "id": "round.toward-zero", "data_type": "FLOAT16"})

    parts.edit(archive.RESULTS, add)


@edit("results", "the results say elements 30000, not 30")
def inflated_counts(parts: Parts) -> None:
    parts.edit(archive.RESULTS, lambda results: results["clauses"][0].update(elements=30000))


@edit("results", "behaviours of the results does not follow from the records")
def an_invented_behaviour(parts: Parts) -> None:
    seen = dict(zip(("clause", "operator", "data_type"), ROW, strict=True), behaviour="is good", example="")
    parts.edit(archive.RESULTS, lambda results: results.update(behaviours=[seen]))


def skipped(parts: Parts) -> None:
    def skip(records: list[dict[str, Any]]) -> None:
        tally_of(holder(records)).update(outcome="skipped", cases=0, elements=0)  # type: ignore[union-attr]

    parts.edit_records(skip)
    parts.rebuild()


@edit("draft", "the verdict is INCOMPLETE; only CONFORMANT can be certified")
def an_incomplete_run(parts: Parts) -> None:
    skipped(parts)
    assert parts.statement["verdict"] == "INCOMPLETE"


@edit("results", "the records amount to INCOMPLETE, the statement says CONFORMANT")
def an_incomplete_run_relabelled_in_the_statement(parts: Parts) -> None:
    skipped(parts)
    parts.statement["verdict"] = "CONFORMANT"


@edit("form", "/verdict: is CONFORMANT where the rows and failures amount to INCOMPLETE")
def an_incomplete_run_relabelled_everywhere(parts: Parts) -> None:
    an_incomplete_run_relabelled_in_the_statement(parts)
    parts.edit(archive.RESULTS, lambda results: results.update(verdict="CONFORMANT"))


@edit("draft", "the verdict is NOT_CONFORMANT; only CONFORMANT can be certified")
def a_failing_run(parts: Parts) -> None:
    a_flipped_outcome(parts)
    parts.rebuild()


# Waivers.


def waived(parts: Parts, **changed: str) -> None:
    """A genuine waived failure; ``changed`` is what its waiver says otherwise."""
    a_flipped_outcome(parts)
    parts.members[archive.WAIVERS] = _waivers(**changed)
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


def _waivers(**changed: str) -> bytes:
    return json.dumps({"format": "dmlcts/waivers/1", "waivers": [{**WAIVER, **changed}]}).encode()


@edit("waivers", "the results name waivers that are not in the submission")
def a_removed_waiver(parts: Parts) -> None:
    waived(parts)
    del parts.members[archive.WAIVERS]


@edit("waivers", "the results name other waivers than those in the submission")
def an_edited_waiver(parts: Parts) -> None:
    waived(parts)
    parts.members[archive.WAIVERS] = _waivers(reason="better known")


@edit("waivers", "expired on 2026-11-20")
def an_expired_waiver(parts: Parts) -> None:
    waived(parts, expires="2026-11-20")


@edit("waivers", "is for vendor other")
def a_waiver_for_another_device(parts: Parts) -> None:
    waived(parts, vendor="other")


@edit("waivers", r"is for suite 0\.0\.\*, this is 0\.1\.0")
def a_waiver_for_another_suite(parts: Parts) -> None:
    waived(parts, suite="0.0.*")


@edit("waivers", "matches nothing that ran or was owed")
def a_waiver_about_nothing(parts: Parts) -> None:
    parts.members[archive.WAIVERS] = _waivers(clause="clip.cast.integer", data_type="INT8")
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


@edit("draft", "the verdict is NOT_CONFORMANT")
def a_crash_under_a_waiver(parts: Parts) -> None:
    def crash(records: list[dict[str, Any]]) -> None:
        record = holder(records)
        record["outcome"] = "crash"
        tally_of(record).update(outcome="crash", failures=3)  # type: ignore[union-attr]

    parts.edit_records(crash)
    parts.members[archive.WAIVERS] = _waivers()
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


# Evidence.


@edit("evidence", r"in ELEMENT_WISE_CLIP FLOAT32 lattice 0: element 0: input -1\.0 \(0xbf800000\) gives 42\.0")
def a_wrong_output(parts: Parts) -> None:
    outputs = parts.members[archive.OUTPUTS]
    parts.members[archive.OUTPUTS] = struct.pack("<f", 42.0) + outputs[4:]


@edit("evidence", r"wrong output in \S+ \S+ sample 31")
def a_wrong_output_in_the_sample(parts: Parts) -> None:
    outputs = parts.members[archive.OUTPUTS]
    parts.members[archive.OUTPUTS] = outputs[:-4] + b"\x55\xf0\x55\xf0"


@edit("evidence", "wrong output in")
def outputs_of_zeros(parts: Parts) -> None:
    parts.members[archive.OUTPUTS] = bytes(len(parts.members[archive.OUTPUTS]))


@edit("evidence", r"evidence\.bin has [\d,]+ bytes, the plan asks for")
def missing_outputs(parts: Parts) -> None:
    parts.members[archive.OUTPUTS] = parts.members[archive.OUTPUTS][:-4]


@edit("evidence", "the statement is of another plan: plan is 000")
def evidence_of_another_plan(parts: Parts) -> None:
    parts.statement["evidence"] = {**parts.statement["evidence"], "plan": "0" * 64}


@edit("evidence", "the evidence is of another plan: cases is 3")
def evidence_of_fewer_cases(parts: Parts) -> None:
    parts.edit(archive.EVIDENCE, lambda told: told.update(cases=3))


@edit("evidence", "ELEMENT_WISE_CLIP FLOAT32 lattice 0 has no output: refused")
def an_absent_output(parts: Parts) -> None:
    told = {"case": 0, "outcome": "refused", "said": ""}
    parts.edit(archive.EVIDENCE, lambda evidence: evidence.update(absent=[told]))


@edit("evidence", "names absent cases twice, or some that are not planned")
def an_absent_output_that_was_not_planned(parts: Parts) -> None:
    told = {"case": 99999, "outcome": "refused", "said": ""}
    parts.edit(archive.EVIDENCE, lambda evidence: evidence.update(absent=[told]))


@edit("statement", "has the unknown key sponsor")
def an_unknown_member_of_the_statement(parts: Parts) -> None:
    parts.statement["sponsor"] = "me"


@edit("statement", "lacks log.txt")
def no_log(parts: Parts) -> None:
    del parts.members[archive.LOG]


@edit("statement", "lacks records")
def no_records(parts: Parts) -> None:
    del parts.members[RECORDS]


# Tampering with the archive, after it was signed.

ARCHIVES: dict[str, tuple[Tampering, str, str]] = {}


def altered(check: str, said: str) -> Callable[[Tampering], Tampering]:
    def add(change: Tampering) -> Tampering:
        ARCHIVES[change.__name__.replace("_", " ")] = (change, check, said)
        return change

    return add


def with_member(name: str, data: bytes = b"evil", **information: Any) -> Tampering:
    """The archive with one more member, of any name and kind."""

    def tamper(parts: Parts) -> bytes:
        def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
            members.pop(name, None)
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for attribute, value in information.items():
                setattr(entry, attribute, value)
            made.writestr(entry, data)

        return rezipped(parts.packed(), add)

    return tamper


ARCHIVES |= {
    "an extra file": (with_member("notes.txt"), "archive", "holds 'notes.txt', which is no part of a submission"),
    "a path traversal": (with_member("../evil.txt"), "archive", r"holds the path '\.\./evil\.txt'"),
    "an absolute path": (with_member("/etc/evil"), "archive", "holds the path '/etc/evil'"),
    "a path of Windows": (with_member("..\\evil.txt"), "archive", "holds the path"),
    "a folder": (with_member("more/", b""), "archive", "holds the path 'more/'"),
    "a hidden file": (with_member(".results.json"), "archive", r"holds the path '\.results\.json'"),
    "a symbolic link": (
        with_member("log.txt", b"/etc/passwd", create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16),
        "archive", "holds 'log.txt' as something else than a plain file",
    ),
    "a zip bomb": (with_member("log.txt", bytes(60 << 20)), "archive", "holds 'log.txt' compressed more than 400:1"),
    "a member that is too large": (
        with_member("environment.json", bytes(2 << 20)), "archive", r"holds 'environment\.json' of 2,097,152 bytes",
    ),
    "another compression": (
        with_member("log.txt", compress_type=zipfile.ZIP_BZIP2), "archive", "compressed with method 12",
    ),
    "a shard without a number": (with_member("records-0-of-0.jsonl"), "archive", "is no part of a submission"),
}  # fmt: skip


@altered("archive", "holds 'results.json' twice")
def a_member_twice(parts: Parts) -> bytes:
    def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        made.writestr(archive.RESULTS, members[archive.RESULTS])

    with pytest.warns(UserWarning, match="Duplicate name"):
        return rezipped(parts.packed(), add)


@altered("archive", "holds 120 members")
def too_many_members(parts: Parts) -> bytes:
    def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        for index in range(120 - len(members)):
            made.writestr(f"{index}", b"")

    return rezipped(parts.packed(), add)


@altered("archive", "carries a comment")
def a_comment(parts: Parts) -> bytes:
    return rezipped(parts.packed(), lambda made, _: setattr(made, "comment", b"hello"))


@altered("archive", "something before or after the ZIP file")
def something_before_it(parts: Parts) -> bytes:
    return b"#!/bin/sh\nexit\n" + parts.packed()


@altered("archive", "something before or after the ZIP file")
def something_after_it(parts: Parts) -> bytes:
    return parts.packed() + b"more"


@altered("archive", "is no ZIP file that can be read")
def half_an_archive(parts: Parts) -> bytes:
    packed = parts.packed()
    return packed[: len(packed) // 2]


@altered("archive", "encrypted")
def an_encrypted_member(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    start = packed.index(b"PK\x01\x02")
    packed[start + 8] |= 1
    return bytes(packed)


@altered("archive", "is no ZIP file that can be read")
def a_member_that_lies_about_its_size(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    start = packed.index(b"PK\x01\x02")
    packed[start + 24 : start + 28] = (3).to_bytes(4, "little")
    return bytes(packed)


@altered("archive", "is no ZIP file that can be read")
def a_damaged_member(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    packed[packed.index(b"PK\x01\x02") // 2] ^= 0xFF
    return bytes(packed)


def swapped(parts: Parts, **members: bytes | None) -> bytes:
    """The signed archive with members exchanged, ``None`` for removed."""
    found = parts.sealed()
    for name, data in members.items():
        real = name.replace("__", ".")
        found.pop(real, None)
        if data is not None:
            found[real] = data
    return archive.pack(found)


@altered("digests", "log.txt is not the file that the statement lists")
def an_edited_log(parts: Parts) -> bytes:
    return swapped(parts, log__txt=b"edited")


@altered("digests", "waivers.yaml is in the archive and not in the statement")
def an_unlisted_file(parts: Parts) -> bytes:
    return swapped(parts, waivers__yaml=_waivers())


@altered("signature", "the signature is not the named key's over this statement")
def a_statement_edited_after_signing(parts: Parts) -> bytes:
    edited = parts.sealed()[archive.STATEMENT].replace(b"Driver 1.2", b"Driver 1.3")
    return swapped(parts, statement__json=edited)


@altered("signature", "the signature is not the named key's over this statement")
def a_swapped_signature(parts: Parts) -> bytes:
    other = parts.copy()
    other.statement["product"] = "Driver 1.3"
    return swapped(parts, statement__sig=other.sealed()[archive.SIGNATURE])


@altered("signature", "the signature is not the named key's over this statement")
def a_signature_that_is_none(parts: Parts) -> bytes:
    return swapped(parts, statement__sig=b"ed25519 trust me\n")


@altered("signature", "a key without a signature")
def a_removed_signature(parts: Parts) -> bytes:
    return swapped(parts, statement__sig=None)


@altered("signature", "the signature is not the named key's over this statement")
def the_trusted_key_named_and_another_used(parts: Parts) -> bytes:
    forged = parts.sealed()[archive.STATEMENT]
    return swapped(parts, statement__sig=signing.sign(Ed25519PrivateKey.generate(), forged))


@altered("statement", "is no JSON")
def a_statement_that_is_none(parts: Parts) -> bytes:
    return swapped(parts, statement__json=b"CONFORMANT")


@altered("statement", "is no JSON")
def a_statement_nested_without_end(parts: Parts) -> bytes:
    return swapped(parts, statement__json=b"[" * 500_000)


def refused(found: Verification, check: str, said: str) -> None:
    faults = [line for line in found.lines if line.status is Status.FAIL]
    assert found.standing is Standing.FAIL, "\n".join(found.text())
    assert found.exit_code == 1
    assert faults[0].check == check, "\n".join(found.text())
    assert any(re.search(said, fault.said) for fault in faults if fault.check == check), "\n".join(found.text())


def test_the_untampered_submission_passes(parts: Parts) -> None:
    found = parts.verifier.verify(parts.packed())
    assert found.standing is Standing.PASS, "\n".join(found.text())
    assert found.exit_code == 0
    assert {line.status for line in found.lines} == {Status.PASS}
    assert parts.packed() == parts.packed()
    by_hand = rezipped(parts.packed(), lambda made, members: None)
    assert parts.verifier.verify(by_hand).standing is Standing.PASS


@pytest.mark.parametrize("name", EDITS)
def test_a_submission_tampered_with_and_signed_again_is_refused(name: str, parts: Parts) -> None:
    change, check, said = EDITS[name]
    change(parts)
    if name == "a file listed and left out":
        sealed = parts.sealed()
        del sealed[archive.SWEEP]
        packed = archive.pack(sealed)
    else:
        packed = parts.packed()
    refused(parts.verifier.verify(packed), check, said)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_tampered_with_after_it_was_signed_is_refused(name: str, parts: Parts) -> None:
    tamper, check, said = ARCHIVES[name]
    refused(parts.verifier.verify(tamper(parts)), check, said)


@pytest.mark.parametrize("count", [2, 16])
def test_a_genuine_submission_in_shards_passes(count: int, parts: Parts) -> None:
    sharded(parts, count)
    found = parts.verifier.verify(parts.packed())
    assert found.standing is Standing.PASS, "\n".join(found.text())


def test_a_genuine_waiver_passes_and_is_told(parts: Parts) -> None:
    waived(parts)
    found = parts.verifier.verify(parts.packed())
    assert found.standing is Standing.PASS, "\n".join(found.text())
    assert any("1 waivers cover 1 rows" in line.said for line in found.lines)
    assert "1 waivers cover 1 rows" in found.markdown("s.zip")


def test_without_a_trusted_key_nothing_passes(parts: Parts) -> None:
    nobody = replace(parts.verifier, trusted=())
    assert nobody.verify(parts.packed()).standing is Standing.INCOMPLETE
    stranger = replace(parts.verifier, trusted=(bytes(32),))
    assert stranger.verify(parts.packed()).standing is Standing.FAIL


def test_a_verifier_that_is_no_release_accepts_nothing(parts: Parts) -> None:
    modified = replace(parts.verifier.reference, modified=True)
    found = replace(parts.verifier, reference=modified).verify(parts.packed())
    assert found.standing is Standing.INCOMPLETE
    assert found.exit_code == 4


def test_a_draft_is_a_draft(parts: Parts) -> None:
    a_flipped_outcome(parts)
    parts.rebuild()
    parts.statement["draft"] = ["the verdict is NOT_CONFORMANT", "it is not signed"]
    command = parts.statement["command"]
    del command[command.index("--key") : command.index("--key") + 2]
    command.append("--draft")
    parts.key = None
    found = parts.verifier.verify(parts.packed())
    assert found.standing is Standing.DRAFT, "\n".join(found.text())
    assert found.exit_code == 4
    assert found.about["verdict claimed"] == "NOT_CONFORMANT"
    wrong = parts.copy()
    a_wrong_output(wrong)
    assert wrong.verifier.verify(wrong.packed()).standing is Standing.DRAFT, "a draft may be wrong, and says so"
    forged = parts.copy()
    forged.statement["verdict"] = "CONFORMANT"
    assert forged.verifier.verify(forged.packed()).standing is Standing.FAIL


def test_markup_in_a_submission_stays_text(parts: Parts) -> None:
    parts.statement["product"] = "<script>alert(1)</script> | [x](javascript:1)"
    page = parts.verifier.verify(parts.packed()).markdown("s.zip")
    assert "<script>" not in page
    assert "[x](" not in page


def test_the_archive_keeps_nothing_of_the_day(parts: Parts) -> None:
    with zipfile.ZipFile(io.BytesIO(parts.packed())) as made:
        assert {entry.date_time for entry in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert made.namelist() == sorted(made.namelist())


def test_there_are_enough_of_them() -> None:
    assert len(EDITS) + len(ARCHIVES) >= 80
