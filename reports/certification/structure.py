"""What can be checked of a submission without judging anything again: one function a check.

Every check is given the submission and what it is compared with, believes nothing that the submission says,
and yields each fault it finds, or one PASS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.drafts import ISOLATED, PROFILE, draft_reasons, requires_sweep, sweep_fault
from dmlcts.reports.certification.files import digest_of
from dmlcts.reports.certification.identity import Reference, modifications, origin, other_files
from dmlcts.reports.certification.operators import certified, operator_faults, operators_text
from dmlcts.reports.certification.submission import Submission, digest
from dmlcts.reports.certification.verdict import Statements, Status, first_of_each
from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.waivers import WaiverError
from dmlcts.specs import FeatureLevel
from dmlcts.specs.number_text import many

_EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
_SKEW = timedelta(days=1)
_TOLERANCE = timedelta(seconds=2)


@dataclass(frozen=True)
class Context:
    """What a check is given.

    Attributes:
        submission: the submission.
        reference: the verifier's own suite and tables.
        now: the verifier's clock.
        challenge: what the verifier handed out beforehand; "" for nothing.
        day: the day on which waivers have to hold; ``None`` for the clock's.
        trusted: the public keys that the verifier trusts, 32 bytes each.
    """

    submission: Submission
    reference: Reference
    now: datetime
    trusted: tuple[bytes, ...] = ()
    day: date | None = None
    challenge: str = ""

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that the statement certifies."""
        return certified(self.statement, self.reference.tables)

    @property
    def statement(self) -> dict[str, Any]:
        """The submission's statement."""
        return self.submission.statement

    @property
    def draft(self) -> bool:
        """Whether the submission calls itself a draft."""
        return bool(self.statement["draft"])


Check = Callable[[Context], Statements]


def _wrong(context: Context, because: str) -> tuple[Status, str]:
    """A fault that a draft may have, if it says so; that it says so is checked under ``draft``."""
    return (Status.OPEN if context.draft else Status.FAIL), because


def check_digests(context: Context) -> Statements:
    """Every member is listed with its digest, and nothing else is."""
    listed, members = context.statement["files"], context.submission.members
    held = {name for name in members if name not in (archive.STATEMENT, archive.SIGNATURE)}
    faults = [f"{name} is in the archive and not in the statement" for name in sorted(held - set(listed))]
    faults += [f"{name} is in the statement and not in the archive" for name in sorted(set(listed) - held)]
    faults += [
        f"{name} is not the file that the statement lists"
        for name in sorted(held & set(listed))
        if digest(members[name]) != listed[name]
    ]
    yield from ((Status.FAIL, fault) for fault in faults)
    if not faults:
        yield Status.PASS, f"{many(len(held), 'file')}, as the statement lists them"


def check_signature(context: Context) -> Statements:
    """The statement is signed by the key it names, and that key is one that the verifier trusts."""
    signature, key = context.submission.members.get(archive.SIGNATURE), context.statement["key"]
    if signature is None and key is None:
        yield _wrong(context, "the statement is not signed")
        return
    if signature is None or key is None:
        yield Status.FAIL, "the statement has a key without a signature, or a signature without a key"
        return
    public = bytes.fromhex(key)
    try:
        held = signing.holds(public, context.submission.members[archive.STATEMENT], signature)
    except signing.KeyProblem as error:
        yield Status.OPEN, str(error)
        return
    if not held:
        yield Status.FAIL, "the signature is not the named key's over this statement"
    elif not context.trusted:
        cause = f"nobody said whether key {signing.fingerprint(public)} is the vendor's"
        yield Status.OPEN, f"{cause}; give it with --trust"
    elif public not in context.trusted:
        yield Status.FAIL, f"signed by key {signing.fingerprint(public)}, which is not trusted"
    else:
        yield Status.PASS, f"signed by trusted key {signing.fingerprint(public)}"


def check_suite(context: Context) -> Statements:
    """The suite that judged is the one that verifies, file by file; what differs is named."""
    theirs, ours = context.statement["suite"], context.reference
    if theirs["version"] != ours.version:
        yield Status.FAIL, f"judged by suite {theirs['version']}, this is {ours.version}: verify with the same version"
    elif "files" in theirs and digest_of(theirs["files"]) != theirs["digest"]:
        yield Status.FAIL, "the files of the suite that the statement lists do not amount to the digest that it names"
    elif theirs["digest"] != ours.digest:
        yield Status.FAIL, f"judged by another suite that calls itself {ours.version}: the digests of its files differ"
        yield from first_of_each(Status.FAIL, other_files(theirs.get("files", ours.files), ours.files))
    elif not _is_of(context.submission.results["suite"], theirs):
        yield Status.FAIL, "the results name another suite than the statement"
    else:
        yield Status.PASS, f"suite {ours.version}, the same files as here: digest {ours.digest[:16]}"


def _is_of(run: Mapping[str, Any], suite: Mapping[str, Any]) -> bool:
    """Whether the suite that results name may be the statement's; of an installed copy they know no modification."""
    same = all(run[name] == suite[name] for name in ("version", "commit"))
    return same and not (run["modified"] and not suite["modified"])


def check_tables(context: Context) -> Statements:
    """The tables are the verifier's own, in the statement and in the results."""
    ours = dict(context.reference.tables.digests)
    named = {"the statement": context.statement["tables"], "the run": context.submission.results["specs"]}
    faults = [
        f"{who} rests on other tables: {', '.join(_differing(theirs, ours))}"
        for who, theirs in named.items()
        if theirs != ours
    ]
    yield from ((Status.FAIL, fault) for fault in faults)
    if not faults:
        yield Status.PASS, f"{many(len(ours), 'table')}, the same as here"


def _differing(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*theirs, *ours} if theirs.get(name) != ours.get(name))[:3]


def check_unmodified(context: Context) -> Statements:
    """No file of the suite was modified since it was made, by its own account and by the verifier's."""
    theirs = context.statement["suite"]
    reasons = modifications(theirs)
    for reason in reasons:
        yield _wrong(context, reason)
    for reason in context.reference.modifications:
        yield Status.OPEN, f"this dmlcts cannot accept anything: {reason}"
    if not reasons and not context.reference.modifications:
        yield Status.PASS, f"no file of the suite was modified; {origin(theirs)}"


def check_options(context: Context) -> Statements:
    """The options are those of a certification, in the statement and in the results."""
    statement, results = context.statement, context.submission.results
    wanted = {"profile": PROFILE, "isolation": ISOLATED}
    faults = [
        f"{name} is {statement[name]}, a certification needs {value}"
        for name, value in wanted.items()
        if statement[name] != value
    ]
    if results["strict"]:
        faults.append("the run was strict: it judged by other rules")
    selected = sorted(set(results["selection"]) - {"operators"})
    if selected:
        faults.append(f"only a part was run: {', '.join(selected)} selected")
    if results.get("shard") is not None:
        faults.append(f"only shard {results['shard']} was run")
    if results["interrupted"]:
        faults.append("the run was interrupted")
    yield from (_wrong(context, fault) for fault in faults)
    contradicting = [
        name for name in ("profile", "seed", "backend", "feature_level") if statement[name] != results[name]
    ]
    yield from (
        (Status.FAIL, f"{name} is {statement[name]} in the statement, {results[name]} in the results")
        for name in contradicting
    )
    if not faults and not contradicting:
        yield Status.PASS, "the options of a certification, nothing left out"


def check_operators(context: Context) -> Statements:
    """The operators that the statement names are known and obliged, and are those that were run and judged."""
    faults = operator_faults(context.statement, context.submission.results, context.reference.tables)
    yield from first_of_each(Status.FAIL, faults)
    if not faults:
        yield Status.PASS, operators_text(context.statement, context.reference.tables)


def check_level(context: Context) -> Statements:
    """The device claims the level, and the level obliges something."""
    level = FeatureLevel.parse(context.statement["feature_level"])
    claimed = str(context.statement["device"].get("feature_level", ""))
    tables = context.reference.tables
    if claimed not in {known.value for known in FeatureLevel} or FeatureLevel.parse(claimed) < level:
        yield Status.FAIL, f"level {level} is submitted, the device claims {claimed or 'none'}"
    elif not any(table.support_at(level) for table in tables.operators.values()):
        yield Status.FAIL, f"level {level} obliges nothing"
    else:
        yield Status.PASS, f"level {level}, the device claims {claimed}"


def check_device(context: Context) -> Statements:
    """Statement, results and environment describe one device on one machine."""
    submission = context.submission
    faults = []
    if submission.results["device"] != context.statement["device"]:
        faults.append("the results are another device's than the statement's")
    if submission.environment["device"] != context.statement["device"]:
        faults.append("the environment is another device's than the statement's")
    if submission.environment["environment"] != submission.results["environment"]:
        faults.append("the environment is not the one that the results name")
    yield from ((Status.FAIL, fault) for fault in faults)
    if not faults:
        yield Status.PASS, f"{context.statement['device'].get('name') or 'one device'} throughout"


def moment(text: str) -> datetime | None:
    """The moment that a stranger wrote; ``None`` where there is none, or its time zone is missing."""
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        return None
    return timestamp if timestamp.tzinfo is not None else None


def check_clock(context: Context) -> Statements:
    """The run began, ended and was submitted in this order, in our time, took some, and no test outlasted it."""
    names = ("started", "finished", "made")
    moments = [moment(context.statement[name]) for name in names]
    if None in moments:
        yield Status.FAIL, "a time in the statement does not exist"
        return
    started, finished, made = (timestamp for timestamp in moments if timestamp is not None)
    faults = []
    if not started <= finished <= made:
        faults.append("it ended before it began, or was submitted before it ended")
    short = started == finished or not any(record.seconds for record in context.submission.records)
    if started < _EARLIEST:
        faults.append(f"it began {started:%Y-%m-%d}, before there was a suite")
    if made > context.now + _SKEW:
        faults.append(f"it was submitted {made:%Y-%m-%d}, which is yet to come")
    timings = context.submission.results["timings"]
    if (moment(timings["started"]), moment(timings["finished"])) != (started, finished):
        faults.append("the results name other times than the statement")
    slowest = max((record.seconds for record in context.submission.records), default=0.0)
    if slowest > (finished - started + _TOLERANCE).total_seconds():
        faults.append(f"a test took {slowest:.0f} s, longer than the run")
    yield from ((Status.FAIL, fault) for fault in faults)
    if short:
        yield _wrong(context, "the run, or every test of it, took no time at all")
    elif not faults:
        yield Status.PASS, f"{(finished - started).total_seconds():.0f} s, begun {started:%Y-%m-%d}"


def check_challenge(context: Context) -> Statements:
    """The evidence is drawn from the challenge that the verifier handed out, where one was."""
    stated, challenge = context.statement.get("challenge", ""), context.challenge
    if challenge and stated != challenge:
        stated_challenge = f"challenge {stated}" if stated else "no challenge"
        yield Status.FAIL, f"the evidence is drawn from {stated_challenge}, not from the one that was handed out"
    elif challenge:
        yield Status.PASS, "the evidence is drawn from the challenge that was handed out"
    elif stated:
        yield Status.PASS, f"drawn from challenge {stated}; who handed it out is not known here"
    else:
        yield Status.PASS, "none: nothing says that the evidence was not prepared beforehand"


def check_shards(context: Context) -> Statements:
    """Every part of the run is there exactly once, with as many records as the statement says."""
    parts, files = context.statement["shards"], context.submission.record_files
    counts = sorted({part["count"] for part in parts})
    faults = []
    if len(counts) != 1:
        faults.append(f"the parts disagree on how many there are: {', '.join(map(str, counts))}")
    missing = sorted(set(range(1, max(counts) + 1)) - {part["index"] for part in parts})
    faults += [f"part {index} of {max(counts)} is missing" for index in missing]
    faults += [
        f"part {index} is there {times} times"
        for index, times in sorted(Counter(part["index"] for part in parts).items())
        if times > 1
    ]
    for part in parts:
        name = archive.records_name(part["index"], part["count"])
        if part["file"] != name:
            faults.append(f"part {part['index']} names {part['file']} for its records, not {name}")
        elif name not in files:
            faults.append(f"the records of part {part['index']} are missing")
        elif context.submission.lines(name) != part["records"]:
            faults.append(f"{name} has {context.submission.lines(name)} records, not {part['records']}")
    faults += [f"{name} belongs to no part" for name in files if name not in {part["file"] for part in parts}]
    yield from ((Status.FAIL, fault) for fault in faults)
    if not faults:
        yield Status.PASS, f"{len(parts)} of {len(parts)} parts"


def check_waivers(context: Context) -> Statements:
    """The waivers held when the run began, hold today, fit the device, and are those that the results name."""
    waivers, results = context.submission.waivers, context.submission.results
    named = results.get("waivers", [])
    if not waivers.entries:
        waived = any(row["outcome"] == Outcome.WAIVED.value for row in results["clauses"])
        if named or waived:
            yield Status.FAIL, "the results name waivers that are not in the submission"
        else:
            yield Status.PASS, "none"
        return
    if waivers.used(results["clauses"]) != named:
        yield Status.FAIL, "the results name other waivers than those in the submission"
        return
    started = moment(context.statement["started"])
    try:
        begun = (started or context.now).date()
        waivers.check_run(context.reference.tables, context.reference.version, begun)
        day = context.day or max(context.now.date(), begun)
        waivers.check_run(context.reference.tables, context.reference.version, day, begun)
        waivers.check_device(results["device"])
        waivers.check_matched(results)
    except WaiverError as error:
        yield Status.FAIL, str(error)
        return
    used = sum(row["outcome"] == Outcome.WAIVED.value for row in rows_with_waived(context.submission))
    on = "" if context.day is None else f", as of {context.day}"
    counted = f"{many(len(named), 'waiver')} for {many(used, 'row')}"
    yield Status.PASS, f"{counted}{on}; a person has to agree with the reasons"


def rows_with_waived(submission: Submission) -> tuple[dict[str, Any], ...]:
    """The results' clause rows; a row whose sweep fails under a waiver is waived as well."""
    sweep, waivers = submission.sweep, submission.waivers
    swept = {
        (row["id"], row["operator"], row["data_type"])
        for row in (sweep or {"clauses": ()})["clauses"]
        if row["outcome"] == Outcome.FAIL.value
    }
    waived = {row for row in swept if waivers.covering(*row) is not None}

    def reported(row: Mapping[str, Any]) -> dict[str, Any]:
        clean = row["outcome"] in (Outcome.PASS.value, Outcome.CHARACTERISED.value)
        hidden = clean and (row["id"], row["operator"], row["data_type"]) in waived
        return {**row, "outcome": Outcome.WAIVED.value if hidden else row["outcome"]}

    return tuple(reported(row) for row in submission.results["clauses"])


def check_draft(context: Context) -> Statements:
    """A submission proper is CONFORMANT; a draft says every reason why it is one."""
    statement = context.statement
    verdict = statement["verdict"]
    sweep_required = requires_sweep(context.reference.tables, statement["feature_level"], context.operators)
    due = draft_reasons(
        suite=statement["suite"],
        profile=statement["profile"],
        isolation=statement["isolation"],
        verdict=verdict,
        signed=statement["key"] is not None,
        sweep=sweep_fault(context.submission) if sweep_required else "",
    )
    if context.draft:
        silent = [reason for reason in due if reason not in statement["draft"]]
        yield from ((Status.FAIL, f"the draft does not say that {reason}") for reason in silent)
        if not silent:
            yield Status.OPEN, f"a draft: {'; '.join(statement['draft'])}"
        return
    if verdict != Verdict.CONFORMANT.value:
        yield Status.FAIL, f"the verdict is {verdict}; only CONFORMANT can be certified"
    elif due:
        yield Status.FAIL, f"it should call itself a draft: {due[0]}"
    else:
        yield Status.PASS, "a submission proper, CONFORMANT"


CHECKS: Mapping[str, Check] = {
    "digests": check_digests,
    "signature": check_signature,
    "suite": check_suite,
    "tables": check_tables,
    "unmodified": check_unmodified,
    "options": check_options,
    "operators": check_operators,
    "level": check_level,
    "device": check_device,
    "clock": check_clock,
    "challenge": check_challenge,
    "shards": check_shards,
    "waivers": check_waivers,
    "draft": check_draft,
}
