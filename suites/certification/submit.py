"""Making a submission: the certification run, its evidence, and the archive that carries both."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.drafts import draft_reasons, requires_sweep, waived_verdict
from dmlcts.reports.certification.identity import Reference
from dmlcts.reports.certification.operators import named_operators, wanted_operators
from dmlcts.reports.certification.submission import (
    ENVIRONMENT_FORMAT,
    EVIDENCE_FORMAT,
    FORMAT,
    seal,
    timestamp,
    written,
    written_records,
)
from dmlcts.reports.certification.verdict import Standing
from dmlcts.reports.documents.journal import read_journal
from dmlcts.reports.documents.outcomes import Verdict, exit_code
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.validation import load_results
from dmlcts.specs import DmlctsError, FeatureLevel, UsageError
from dmlcts.specs.files import read_bounded
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification import evidence, evidence_failures, verify
from dmlcts.suites.certification import sweep as certified_sweep
from dmlcts.suites.certification.expected import expected
from dmlcts.suites.running import merge as merging
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import all_differences

_MOST_LOG = 32 << 20
_REFUSED = 2  # the exit code of whatever is raised here


class NotCertifiable(DmlctsError):  # noqa: N818  # it says what is so
    """A submission that could only be a draft, and was not asked for as one.

    Args:
        reasons: why.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(f"this cannot be certified: {'; '.join(reasons)}; mend that, or make a draft with --draft")
        self.reasons = tuple(reasons)


class NotVerifiable(DmlctsError):  # noqa: N818  # it says what is so
    """A submission that its own verification does not accept.

    Args:
        because: what it says.
    """

    def __init__(self, because: str) -> None:
        mend = "certify what a run left as it was, or run it again"
        super().__init__(f"nothing was written: the submission would not verify: {because}; {mend}")
        self.because = because


@dataclass(frozen=True)
class Order:
    """What `dmlcts certify` was asked for.

    Attributes:
        settings: the settings of the run.
        product: what is submitted.
        vendor: who submits it.
        contact: how to reach them; may be empty.
        output: where the archive goes.
        key: the private key's file, or ``None``.
        waivers: the waivers' file, or ``None``.
        draft: whether a draft was asked for.
        command: the words of the command.
        parts: the results folders of the run, where it has been run already.
        workers: how many processes pytest-xdist starts, "" for none.
        challenge: what the verifier handed out, from which the evidence is drawn; "" for nothing.
    """

    settings: Settings
    product: str
    vendor: str
    contact: str
    output: Path
    key: str | None
    waivers: str | None
    draft: bool
    command: tuple[str, ...]
    parts: tuple[str, ...] = ()
    workers: str = ""
    challenge: str = ""

    @classmethod
    def of(cls, options: Mapping[str, Any], command: Sequence[str]) -> Order:
        """The order that the options of the command line make.

        Raises:
            UsageError, DocumentError, WaiverError: as :meth:`Settings.read`.
        """
        settings = Settings.read(
            backend=options["backend"],
            options=options["options"],
            results=options["results"],
            feature_level=options["feature_level"],
            profile=options["profile"],
            seed=options["seed"],
            waivers=options["waivers"],
            isolation=options["isolation"],
            timeout=options["timeout"],
            operators=wanted_operators(",".join(options["operators"]), load_tables()),
        )
        return cls(
            settings,
            options["product"],
            options["vendor"],
            options["contact"],
            Path(options["output"]),
            options["key"],
            options["waivers"],
            options["draft"],
            tuple(command),
            tuple(options["parts"]),
            options["workers"],
            evidence.read_challenge(options.get("challenge")),
        )


@dataclass(frozen=True)
class Ran:
    """A finished run.

    Attributes:
        results: its results document.
        shards: the records of its parts, in their order; of a run in one piece, one.
        log: what it said.
        interrupted: whether somebody pressed Ctrl-C.
    """

    results: dict[str, Any]
    shards: tuple[tuple[ItemRecord, ...], ...]
    log: str
    interrupted: bool = False


def _run_now(order: Order) -> Ran:
    log = io.StringIO()
    with _copied(log):
        run = pytest_run.execute(order.settings, workers=order.workers)
    if run.complaint is not None:
        raise run.complaint
    return Ran(load_results(order.settings.results), (tuple(run.records),), log.getvalue(), run.interrupted_by_user)


def _run_before(order: Order, print_line: Callable[[str], None]) -> Ran:
    """What the results folders of an earlier run hold; shards are joined into the order's own folder."""
    settings = order.settings
    journals = [read_journal(part) for part in order.parts]
    wanted = settings.described() | {"feature_level": journals[0].header.get("feature_level")}
    problems = []
    for journal in journals:
        named = {name: journal.header.get(name) for name in wanted}
        named["operators"] = sorted(named["operators"] or ())
        if differs := all_differences(named, wanted, ignored=("shard",)):
            problems.append(f"{journal.path} is of a run that differs in {differs}")
    if problems:
        raise UsageError("; ".join(problems), "certify it with its own options")
    log = io.StringIO()

    def report_line(line: str) -> None:
        log.write(f"{line}\n")
        print_line(line)

    if len(journals) == 1 and journals[0].header.get("shard") is None:
        report_line(f"the run in {order.parts[0]}, ended: {journals[0].ended}")
        return Ran(load_results(order.parts[0]), (journals[0].records,), log.getvalue())
    results = merging.merge(order.parts, str(settings.results), report_line, settings.waivers)
    journals.sort(key=lambda journal: int(str(journal.header["shard"]).partition("/")[0]))
    return Ran(results, tuple(journal.records for journal in journals), log.getvalue())


def certify(order: Order, print_line: Callable[[str], None]) -> Verdict:
    """Run the suite, gather the evidence, write the archive.

    Args:
        order: what was asked for.
        print_line: is called with each line about what happens.

    Returns:
        The verdict of run, evidence and sweep together, for the command's exit code: a draft is INCOMPLETE at best.
        Where one of them is not CONFORMANT and no draft was asked for, nothing was written.

    Raises:
        NotCertifiable: it is known before the run that this can only be a draft.
        KeyProblem: the key cannot be used.
        NotVerifiable: what was made would not verify, as where the records of an earlier run were altered.
        BackendUnavailable, UsageError, RunStopped: as :func:`~dmlcts.suites.running.pytest_run.execute`.
    """
    settings = order.settings
    reference = Reference.here(settings.tables)
    key = None if order.key is None else signing.load_private(order.key)

    def reasons(verdict: str | None, sweep: str) -> list[str]:
        return draft_reasons(
            suite=reference.to_json(),
            profile=settings.profile,
            isolation=settings.isolation,
            verdict=verdict,
            signed=key is not None,
            sweep=sweep,
        )

    _allow(reasons(None, ""), order)
    _check_output(order.output)
    _check_operators(settings)
    if not order.parts:
        print_line(expected(settings, order.workers))
    ran = _run_before(order, print_line) if order.parts else _run_now(order)
    results = ran.results
    verdict = Verdict(results["verdict"])
    if ran.interrupted and not order.draft:
        command = shlex.join(["dmlcts", *order.command, "--from", str(settings.results)])
        print_line(f"dmlcts: no submission yet; when the run has ended, make it with: {command}")
        return verdict
    if verdict is not Verdict.CONFORMANT and not order.draft:
        print_line(f"dmlcts: nothing to certify: the verdict is {verdict}; --draft makes a draft of it")
        return verdict
    bench = settings.open()
    try:
        members = run_members(ran)
        print_line("dmlcts: gathering evidence")
        level = bench.level
        named = named_operators(settings.operators, settings.tables, level)
        planned = evidence.plan(settings.tables, level, settings.seed, order.challenge, named)
        outputs, absent = evidence.gather(bench, planned)
        wrong = evidence_failures.broken(planned, outputs, absent, settings.tables, settings.waivers.covering)
        if wrong:
            evidence_failures.print_failures(bench, wrong, settings, print_line)
            if not order.draft:
                print_line("dmlcts: nothing to certify, and nothing was written; --draft makes a draft of it")
                return Verdict.NOT_CONFORMANT
        carried, evidence_document = evidence_members(planned, outputs, absent)
    finally:
        bench.close()
    members |= carried
    standing = ""
    if requires_sweep(settings.tables, level, named):
        standing = _swept(order, level, members, print_line)
    if order.waivers is not None:
        members[archive.WAIVERS] = read_bounded(order.waivers, 1 << 20)
    due = reasons(verdict.value, standing)
    if due and not order.draft:
        print_line(f"dmlcts: nothing to certify: {'; '.join(due)}; --draft makes a draft of it")
        return _worse(verdict, standing)
    statement = {
        **statement_of(order, results, reference),
        "operators": list(named),
        "evidence": evidence_document,
        "draft": due or _wanted(order),
        "shards": [
            {
                "file": archive.records_name(index, len(ran.shards)),
                "index": index,
                "count": len(ran.shards),
                "records": len(records),
            }
            for index, records in enumerate(ran.shards, 1)
        ],
    }
    sealed = seal(members, statement, key)
    trusted = () if key is None else (signing.raw(key),)
    verification = verify.verify_members(sealed, reference, None, trusted=trusted, challenge=order.challenge)
    draft = bool(statement["draft"])
    accepted = verification.standing is (Standing.DRAFT if draft else Standing.PASS)
    made = _worse(verdict, standing, "NOT_CONFORMANT" if wrong else "", "INCOMPLETE" if draft else "")
    for line in verification.text(exit_code(made) if accepted else _REFUSED):
        print_line(line)
    if not accepted:
        raise NotVerifiable(verification.summary())
    archive.write(order.output, sealed)
    print_line(f"written: {order.output} ({order.output.stat().st_size / 2**20:.1f} MiB)")
    return made


def _worse(verdict: Verdict, *standings: str) -> Verdict:
    """The verdict of a run and of what else was found, its sweep, say, in one word where that is not CONFORMANT."""
    verdicts = {verdict.value, *standings}
    known = (Verdict.NOT_CONFORMANT, Verdict.INCOMPLETE)
    return next((worst for worst in known if worst.value in verdicts), Verdict.CONFORMANT)


def _swept(order: Order, level: FeatureLevel, members: dict[str, bytes], print_line: Callable[[str], None]) -> str:
    """Add the sweep to the members; what is wrong with it, in one word."""
    if order.settings.profile != "certification":
        return "missing"
    record = certified_sweep.sweep(order.settings, level, print_line)
    members[archive.SWEEP] = written(record)
    verdict = waived_verdict(record, order.settings.waivers)
    return "" if verdict is Verdict.CONFORMANT else verdict.value


def _check_output(path: Path) -> None:
    """Find out before a long run, not after it, that its submission cannot be written."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(
            f"cannot write {path}", "give a file in a folder that exists and can be written, with --output"
        )


def _check_operators(settings: Settings) -> None:
    """Find out before a long run that the level obliges nothing of an operator that was asked for."""
    if not settings.operators:
        return
    level = settings.level
    if level is None:
        bench = settings.open()
        level = bench.level
        bench.close()
    named_operators(settings.operators, settings.tables, level)


def _allow(reasons: Sequence[str], order: Order) -> None:
    if reasons and not order.draft:
        raise NotCertifiable(reasons)


def _wanted(order: Order) -> list[str]:
    return ["a draft was asked for"] if order.draft else []


class _Copy(io.TextIOBase):
    """Standard output, with everything written to it kept as well."""

    def __init__(self, out: TextIO, kept: TextIO) -> None:
        self._out, self._kept, self._left = out, kept, _MOST_LOG

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._out.encoding

    def write(self, text: str) -> int:
        self._kept.write(text[: self._left])
        self._left = max(0, self._left - len(text))
        return self._out.write(text)

    def flush(self) -> None:
        self._out.flush()


@contextlib.contextmanager
def _copied(kept: TextIO) -> Iterator[None]:
    with contextlib.redirect_stdout(_Copy(sys.stdout, kept)):
        yield


def run_members(ran: Ran) -> dict[str, bytes]:
    """The members of a submission that describe the run."""
    results, count = ran.results, len(ran.shards)
    environment = {
        "format": ENVIRONMENT_FORMAT,
        "environment": results["environment"],
        "device": results["device"],
    }
    return {
        archive.RESULTS: written(results),
        archive.ENVIRONMENT: written(environment),
        archive.LOG: ran.log.encode("utf-8", "replace"),
    } | {archive.records_name(index, count): written_records(records) for index, records in enumerate(ran.shards, 1)}


def evidence_members(
    planned: Sequence[evidence.Planned], outputs: bytes, absent: Sequence[evidence.Absent]
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The members of a submission that hold its evidence, and what its statement says of them."""
    summary = {"cases": len(planned), "bytes": len(outputs), "plan": evidence.digest(planned)}
    named = [{"case": item.case, "outcome": item.outcome, "said": item.wording} for item in absent]
    document = {"format": EVIDENCE_FORMAT, **summary, "absent": named}
    return {archive.EVIDENCE: written(document), archive.OUTPUTS: outputs}, summary


def statement_of(order: Order, results: Mapping[str, Any], reference: Reference) -> dict[str, Any]:
    """What a submission states of itself, without its files."""
    settings = order.settings
    contact = {"contact": order.contact} if order.contact else {}
    challenge = {"challenge": order.challenge} if order.challenge else {}
    return {
        "format": FORMAT,
        "draft": [],
        "product": order.product,
        "vendor": order.vendor,
        **contact,
        "suite": reference.to_json(),
        "tables": dict(reference.tables.digests),
        "backend": settings.backend,
        "options": dict(settings.options),
        "device": results["device"],
        "feature_level": results["feature_level"],
        "profile": settings.profile,
        "seed": settings.seed,
        **challenge,
        "isolation": settings.isolation,
        "verdict": results["verdict"],
        "started": results["timings"]["started"],
        "finished": results["timings"]["finished"],
        "made": timestamp(datetime.now(UTC)),
        "command": list(order.command),
    }
