"""The pytest plugin: options, fixtures, parametrisation over the spec tables, records and the verdict.

``conftest.py`` loads it in a checkout; elsewhere ``pytest -p dmlcts.suites.plugin --pyargs dmlcts.suites``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from dmlcts.backends import BackendUnavailable, DeviceInfo
from dmlcts.reports.outcomes import Verdict
from dmlcts.reports.records import ItemRecord
from dmlcts.reports.writing import prepare_folder
from dmlcts.specs import DataType, DmlctsError
from dmlcts.suites.bench import Bench, DeviceGone
from dmlcts.suites.checks import Checked
from dmlcts.suites.judge import ConformanceFailure, Judge
from dmlcts.suites.recording import item_record, publish
from dmlcts.suites.settings import DEFAULT_BACKEND, DEFAULT_RESULTS, DEFAULT_SEED, PROFILES, Settings
from dmlcts.suites.subjects import Subject

_SETTINGS = pytest.StashKey[Settings]()
_RUN = pytest.StashKey["Run"]()
_JUDGE = pytest.StashKey[Judge]()
_RECORD = "dmlcts-record"
_EXAMPLES = {"quick": 12, "full": 150, "certification": 300}
_EXIT_UNAVAILABLE = 3
_SELFTEST = Path(__file__).resolve().parent / "selftest"


class Run:
    """The run's state: the bench, opened when it is first needed, and the records that have come in."""

    def __init__(self, settings: Settings, bench: Bench | None = None) -> None:
        self.settings = settings
        self.started = datetime.now(UTC)
        self.records: list[ItemRecord] = []
        self.interrupted = False
        self.verdict: Verdict | None = None
        self.info: DeviceInfo | None = None
        self._bench = bench
        self._prepared = False

    @property
    def bench(self) -> Bench:
        """The open bench."""
        if self._bench is None:
            self._bench = self.settings.open()
            self.info = self._bench.info
        return self._bench

    def prepare(self) -> None:
        """Make sure that the results can be written, before anything is judged."""
        if not self._prepared:
            prepare_folder(self.settings.results)
            self._prepared = True

    def close(self) -> None:
        """Close the bench where it was opened."""
        if self._bench is not None:
            self._bench.close()
            self._bench = None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that ``dmlcts run`` has as well."""
    group = parser.getgroup("dmlcts", "conformance of DirectML element-wise operators (dmlcts)")
    group.addoption("--backend", help="the implementation: a registered name (see `dmlcts backends`), "
                    "package.module:attribute, or path/to/file.py:attribute "
                    f"(default: {DEFAULT_BACKEND}, together with the suite's own tests)")  # fmt: skip
    group.addoption("--option", action="append", default=[], metavar="KEY=VALUE",
                    help="an option of the backend; repeatable (`dmlcts run` calls it -o)")  # fmt: skip
    group.addoption("--results", default=DEFAULT_RESULTS, metavar="DIR", help="where the records go (default: results)")
    group.addoption("--operator", action="append", default=[], help="only these operators, e.g. CLIP; repeatable")
    group.addoption("--data-type", action="append", default=[], help="only these element types; repeatable")
    group.addoption("--clause", action="append", default=[], metavar="GLOB", help="only these clauses; repeatable")
    group.addoption("--feature-level", metavar="LEVEL", help="judge at this level (default: the one the device claims)")
    group.addoption("--profile", choices=PROFILES, default="quick", help="how much to generate (default: quick)")
    group.addoption("--seed", default=str(DEFAULT_SEED), help=f"seed of all that is drawn (default: {DEFAULT_SEED})")
    group.addoption("--strict-ieee", dest="dmlcts_strict", action="store_true",
                    help="leave no latitude: IEEE 754 behaviour only (`dmlcts run` calls it --strict)")  # fmt: skip
    group.addoption("--tables", action="append", default=[], metavar="PATH",
                    help="a folder or file of further operator tables; repeatable")  # fmt: skip


def _read(config: pytest.Config) -> Settings:
    option = config.getoption
    return Settings.read(
        backend=option("--backend") or DEFAULT_BACKEND,
        options=option("--option"),
        results=option("--results"),
        operators=option("--operator"),
        data_types=option("--data-type"),
        clauses=option("--clause"),
        feature_level=option("--feature-level"),
        profile=option("--profile"),
        seed=option("--seed"),
        strict=option("dmlcts_strict"),
        extra_tables=option("--tables"),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and open the backend early where one was named."""
    config.addinivalue_line("markers", "checks(*clauses, data_types=()): the clauses that a test checks")
    profile = config.getoption("--profile")
    hypothesis.settings.register_profile(
        "dmlcts",
        max_examples=_EXAMPLES[profile],
        deadline=None,  # a device under test may stall; hangs are the isolation's business
        database=None,  # a run must depend on its seed alone
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,  # the judge is made to be shared by examples
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.data_too_large,
        ],
    )
    hypothesis.settings.load_profile("dmlcts")
    run = config.pluginmanager.get_plugin("dmlcts-run")
    try:
        config.stash[_SETTINGS] = run.settings if isinstance(run, Run) else _read(config)
        config.stash[_RUN] = run if isinstance(run, Run) else Run(config.stash[_SETTINGS])
        if config.getoption("--backend") and not hasattr(config, "workerinput") and not config.option.collectonly:
            config.stash[_RUN].prepare()
            _ = config.stash[_RUN].bench
    except BackendUnavailable as error:
        pytest.exit(str(error), returncode=_EXIT_UNAVAILABLE)
    except DmlctsError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is judged, so that a typo shows."""
    settings = config.stash[_SETTINGS]
    chosen = "; ".join(f"{name}: {', '.join(values)}" for name, values in settings.selection.items())
    return [
        f"dmlcts: backend {settings.backend}, level {settings.level or 'as claimed'}, profile {settings.profile}, "
        f"seed {settings.seed}{', strict' if settings.strict else ''}{'; ' + chosen if chosen else ''}"
    ]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A vendor's backend is judged by the conformance modules only."""
    if config.getoption("--backend") and collection_path.resolve() == _SELFTEST:
        return True
    return None


def _checked(item: pytest.Function | pytest.Metafunc) -> Checked | None:
    definition = item.definition if isinstance(item, pytest.Metafunc) else item
    marker = definition.get_closest_marker("checks")
    return None if marker is None else Checked.of(marker)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise ``subject`` over the operators and element types that the test's clauses are about."""
    if "subject" not in metafunc.fixturenames:
        return
    checked = _checked(metafunc)
    if checked is None:
        raise pytest.UsageError(f"{metafunc.definition.nodeid} has a subject and no `checks` marker")
    settings = metafunc.config.stash[_SETTINGS]
    chosen = [
        (table, data_type)
        for table, data_type in checked.subjects(settings.tables)
        if settings.selects_operator(table) and settings.selects_data_type(data_type)
        and any(settings.selects_clause(clause) for clause in checked.clauses(table))
    ]  # fmt: skip
    ids = [f"{table.short_name}-{data_type.name}" for table, data_type in chosen]
    metafunc.parametrize("subject", chosen, ids=ids, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every property-based test the run's seed; drop parameter sets that the selection left empty."""
    seed = config.stash[_SETTINGS].seed
    kept, dropped = [], []
    for item in items:
        function = getattr(item, "obj", None)
        if hasattr(function, "hypothesis"):
            hypothesis.seed(seed)(function)
        empty = isinstance(item, pytest.Function) and "NOTSET" in item.name and "subject" in item.fixturenames
        (dropped if empty else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The implementation under test."""
    run = request.config.stash[_RUN]
    try:
        yield run.bench
    except BackendUnavailable as error:
        pytest.exit(str(error), returncode=_EXIT_UNAVAILABLE)
    except DmlctsError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    run.close()


@pytest.fixture
def subject(request: pytest.FixtureRequest, bench: Bench) -> Subject:
    """One operator on one element type, as the test's clauses call for."""
    table, data_type = request.param
    assert isinstance(data_type, DataType)  # noqa: S101  # what pytest_generate_tests put there
    settings = request.config.stash[_SETTINGS]
    return Subject(table, data_type, bench.level, settings.seed, settings.thorough)


@pytest.fixture
def judge(request: pytest.FixtureRequest, bench: Bench) -> Judge:
    """Judges cases, and fails the test where one is wrong."""
    made = Judge(bench)
    request.node.stash[_JUDGE] = made
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test none of whose cases ran, refused rightly or beyond what the backend can express, is skipped."""
    result = yield
    made = item.stash.get(_JUDGE, None)
    if made is not None and made.ledger.is_empty:
        if made.ledger.unsupported:
            pytest.skip(f"the backend cannot express it: {made.ledger.unsupported}")
        if made.ledger.refused and not made.ledger.tallies:
            pytest.skip(f"not supported, and not obliged at feature level {made.bench.level}")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a conformance test found into its report, and tell failures the way people read them."""
    report = yield
    if item.get_closest_marker("checks") is None:
        return report
    failed = report.when in ("setup", "teardown") and report.failed
    if report.when != "call" and not failed:
        return report
    made = item.stash.get(_JUDGE, None)
    error = None if call.excinfo is None else call.excinfo.value
    settings = item.config.stash[_SETTINGS]
    record = item_record(item.nodeid, made, error, report, settings)
    report.user_properties.append((_RECORD, json.dumps(record.to_json())))
    if isinstance(error, ConformanceFailure):
        report.longrepr = "\n\n".join(failure.text for failure in record.failures)
    if isinstance(error, DeviceGone):
        item.session.shouldstop = str(error)
    return report


class _Collector:
    """Gathers records where the run is controlled: with pytest-xdist, not in its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.run = config.stash[_RUN]
        self.show: Callable[[], None] | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _RECORD:
                self.run.records.append(ItemRecord.from_json(json.loads(str(value))))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if not self.run.records:
            return
        stopped = bool(session.shouldstop) or exitstatus in (
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
        )
        self.run.interrupted = stopped
        self.show = publish(self.run)
        self.run.close()

    def pytest_unconfigure(self) -> None:
        if self.show is not None:
            self.show()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the collector, except in a pytest-xdist worker."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Collector(session.config), "dmlcts-collector")
