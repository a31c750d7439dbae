"""What pytest collects of the conformance tests: an item for a family and an operator, ``strides[ADD]``.

A failure in one probe does not keep the others of the item from running, and an item's record is one for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.memory_increase import Trimmer
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.summaries.characters import one_line
from dmlcts.specs import DmlctsError
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.allocation import collect_now
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.families.family import CONFORMANCE, Family, Probe, family_of
from dmlcts.suites.families.joining import joined
from dmlcts.suites.running.item_record import probe_record
from dmlcts.suites.running.pytest_run import ONLY, UNAVAILABLE
from dmlcts.suites.running.run import Run

RUN = pytest.StashKey[Run]()
TRIMMER = pytest.StashKey[Trimmer]()
ALONE = pytest.StashKey[bool]()
"""Whether a session has nothing but items of this suite."""
_EXIT_UNAVAILABLE = 3


class Broken(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """Some probes of an item ended as no probe should; its record says which and how."""

    def __init__(self, record: ItemRecord) -> None:
        super().__init__(f"{record.test}: {record.outcome.value}")
        self.record = record


class FamilyItem(pytest.Item):
    """The probes of a family on one operator.

    Attributes:
        family: the family.
        table: the operator's table.
        record: what they found, once they have run.
    """

    family: Family
    table: OperatorTable
    record: ItemRecord | None = None

    @property
    def probes(self) -> Iterator[Probe]:
        """What it runs, in order."""
        only = self.stash.get(ONLY, None)
        all_probes = self.family.selected(self.config.stash[RUN].settings, self.table)
        return (probe for probe in all_probes if only is None or probe.name in only)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands."""
        return self.path, None, self.name

    def setup(self) -> None:
        """Open the implementation, where no item did so before."""
        try:
            _ = self.config.stash[RUN].bench
        except BackendUnavailable as error:
            if hasattr(self.config, "workeroutput"):  # the controlling process goes on with the other processes
                self.config.workeroutput[UNAVAILABLE] = one_line(error)
            pytest.exit(one_line(error), returncode=_EXIT_UNAVAILABLE)
        except DmlctsError as error:
            pytest.exit(one_line(error), returncode=pytest.ExitCode.USAGE_ERROR)

    def runtest(self) -> None:
        """Run the probes, whatever became of those before; but for a device that is gone.

        Raises:
            Broken: the record breaks conformance.
            pytest.skip.Exception: none of them judged anything.
        """
        run = self.config.stash[RUN]
        begun = time.perf_counter()
        records: list[ItemRecord] = []
        gone = ""
        for probe in self.probes:
            if gone:
                records.append(ItemRecord(self._named(probe), Outcome.SKIPPED, 0.0, reason=f"not tried: {gone}"))
                continue
            record, gone = self._found(probe, run.bench)
            records.append(record)
            if self.config.stash[ALONE] and record.failures:
                collect_now()
            if gone:
                self.session.shouldstop = gone
        self.config.stash[TRIMMER].look()  # tests with large tensors have freed them by now
        self.record = joined(self.nodeid, time.perf_counter() - begun, records)
        if self.record.outcome.breaks_conformance:
            raise Broken(self.record)
        if self.record.outcome.did_not_run:
            pytest.skip(self.record.reason)

    def _found(self, probe: Probe, bench: Bench) -> tuple[ItemRecord, str]:
        """What a probe found, and how the device was lost for good, "" where it was not; its cases end with it."""
        settings = self.config.stash[RUN].settings
        attempt = probe.attempt(bench, settings.subject(probe.table, probe.signature, bench.level))
        test = self._named(probe)
        record = probe_record(test, attempt.judge, attempt.error, attempt.seconds, settings, self._account)
        return record, one_line(attempt.error) if isinstance(attempt.error, DeviceGone) else ""

    def _named(self, probe: Probe) -> str:
        """A probe's name, as that of a test function of the module."""
        module = self.nodeid.partition("::")[0]
        return f"{module}::{probe.name}"

    def _account(self, error: BaseException) -> str:
        """An error that is no verdict, as pytest shows errors of the tests themselves."""
        exception_info = pytest.ExceptionInfo.from_exception(error)
        style = self.config.getoption("tbstyle", "auto")
        shown = exception_info.getrepr(
            style="long" if style == "auto" else style, tbfilter=lambda info: info.traceback.cut(path=self.path)
        )
        return str(shown)


class FamilyFile(pytest.File):
    """A module of conformance tests: an item for each operator of which the selection leaves it something to try."""

    def collect(self) -> Iterator[FamilyItem]:
        """The items: those of operators of many signatures first, otherwise in the order of the operators.

        An item that takes seconds and begins last would leave the other processes of a run with nothing to do.
        """
        family = family_of(PurePosixPath(self.path.resolve().relative_to(CONFORMANCE).as_posix()))
        operators = family.operators(self.config.stash[RUN].settings)
        for table in sorted(operators, key=lambda table: len(signatures(table)), reverse=True):
            item: FamilyItem = FamilyItem.from_parent(self, name=family.item_name(table))
            item.family, item.table = family, table
            yield item


def is_conformance(path: Path) -> bool:
    """Whether a module's tests judge an implementation."""
    return path.resolve().is_relative_to(CONFORMANCE)
