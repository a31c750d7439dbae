"""Making a submission: the certification run, its evidence, and the archive that carries both."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.identity import Reference
from dmlcts.reports.certification.structure import draft_reasons, owes_sweep
from dmlcts.reports.certification.submission import (
    ENVIRONMENT_FORMAT,
    EVIDENCE_FORMAT,
    FORMAT,
    seal,
    timestamp,
    written,
    written_records,
)
from dmlcts.reports.outcomes import Verdict
from dmlcts.reports.records import ItemRecord
from dmlcts.reports.validation import load_results
from dmlcts.specs import DmlctsError, FeatureLevel
from dmlcts.specs.tables import Tables
from dmlcts.suites import evidence, reverifying, running
from dmlcts.suites.bench import Bench
from dmlcts.suites.settings import Settings

_MOST_LOG = 32 << 20


class NotCertifiable(DmlctsError):  # noqa: N818  # it says what is so
    """A submission that could only be a draft, and was not asked for as one.

    Args:
        reasons: why.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(f"this cannot be certified: {'; '.join(reasons)}; mend that, or make a draft with --draft")
        self.reasons = tuple(reasons)


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

    @classmethod
    def of(cls, given: Mapping[str, Any], command: Sequence[str]) -> Order:
        """The order that the options of the command line make.

        Raises:
            UsageError, DocumentError, WaiverError: as :meth:`Settings.read`.
        """
        settings = Settings.read(
            backend=given["backend"], options=given["options"], results=given["results"],
            feature_level=given["feature_level"], profile=given["profile"], seed=given["seed"],
            waivers=given["waivers"],
        )  # fmt: skip
        return cls(
            settings, given["product"], given["vendor"], given["contact"], Path(given["output"]), given["key"],
            given["waivers"], given["draft"], tuple(command),
        )  # fmt: skip


def isolation_of(settings: Settings) -> str:
    """Whether the run's implementation has a process of its own: "process" or "none"."""
    return str(getattr(settings, "isolation", "none"))


def certify(order: Order, say: Callable[[str], None]) -> Verdict:
    """Run the suite, gather the evidence, write the archive.

    Args:
        order: what was asked for.
        say: is told what happens, line by line.

    Returns:
        The run's verdict; where it is not CONFORMANT and no draft was asked for, nothing was written.

    Raises:
        NotCertifiable: it is known before the run that this can only be a draft.
        KeyProblem: the key cannot be used.
        BackendUnavailable, UsageError, RunStopped: as :func:`~dmlcts.suites.running.execute`.
    """
    settings = order.settings
    reference = Reference.here(settings.tables)
    key = None if order.key is None else signing.load_private(order.key)

    def reasons(verdict: str | None, swept: bool) -> list[str]:
        return draft_reasons(
            suite=reference.to_json(), profile=settings.profile, isolation=isolation_of(settings), verdict=verdict,
            signed=key is not None, swept=swept,
        )  # fmt: skip

    _allow(reasons(None, swept=True), order)
    log = io.StringIO()
    with _copied(log):
        run = running.execute(settings)
    if run.complaint is not None:
        raise run.complaint
    verdict = run.verdict
    assert verdict is not None  # noqa: S101  # execute raises where there is none
    results = load_results(settings.results)
    if verdict is not Verdict.CONFORMANT and not order.draft:
        say(f"dmlcts: nothing to certify: the verdict is {verdict}; --draft makes a draft of it")
        return verdict
    bench = settings.open()
    try:
        members = run_members(run.records, results, log.getvalue())
        say("dmlcts: gathering evidence")
        carried, told = evidence_members(bench, settings.tables, settings.seed)
        sweep = sweep_member(settings, bench.level, say)
    finally:
        bench.close()
    members |= carried | sweep
    if order.waivers is not None:
        members[archive.WAIVERS] = Path(order.waivers).read_bytes()
    swept = archive.SWEEP in members or not owes_sweep(settings.tables, results["feature_level"])
    due = reasons(verdict.value, swept)
    _allow(due, order)
    statement = {
        **statement_of(order, results, reference), "evidence": told, "draft": due or _wanted(order),
        "shards": [{"file": archive.records_name(1, 1), "index": 1, "count": 1, "records": len(run.records)}],
    }  # fmt: skip
    sealed = seal(members, statement, key)
    archive.write(order.output, sealed)
    say(f"written: {order.output} ({order.output.stat().st_size / 2**20:.1f} MiB)")
    trusted = () if key is None else (signing.raw(key),)
    for line in reverifying.verify(order.output, reference, trusted=trusted).text():
        say(line)
    return verdict


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


def run_members(records: Sequence[ItemRecord], results: Mapping[str, Any], log: str) -> dict[str, bytes]:
    """The members of a submission that tell the run."""
    environment = {
        "format": ENVIRONMENT_FORMAT, "environment": results["environment"], "device": results["device"],
    }  # fmt: skip
    return {
        archive.RESULTS: written(results),
        archive.ENVIRONMENT: written(environment),
        archive.LOG: log.encode("utf-8", "replace"),
        archive.records_name(1, 1): written_records(records),
    }


def evidence_members(bench: Bench, tables: Tables, seed: int) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The members of a submission that hold its evidence, and what its statement says of them."""
    planned = evidence.plan(tables, bench.level, seed)
    outputs, absent = evidence.gather(bench, planned)
    told = {"cases": len(planned), "bytes": len(outputs), "plan": evidence.digest(planned)}
    named = [{"case": item.case, "outcome": item.outcome, "said": item.said} for item in absent]
    document = {"format": EVIDENCE_FORMAT, **told, "absent": named}
    return {archive.EVIDENCE: written(document), archive.OUTPUTS: outputs}, told


def sweep_member(settings: Settings, level: FeatureLevel, say: Callable[[str], None]) -> dict[str, bytes]:
    """The sweep of FLOAT32 ROUND, where the level owes it."""
    return {}


def statement_of(order: Order, results: Mapping[str, Any], reference: Reference) -> dict[str, Any]:
    """What a submission states of itself, without its files."""
    settings = order.settings
    contact = {"contact": order.contact} if order.contact else {}
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
        "isolation": isolation_of(settings),
        "verdict": results["verdict"],
        "started": results["timings"]["started"],
        "finished": results["timings"]["finished"],
        "made": timestamp(datetime.now(UTC)),
        "command": list(order.command),
    }
