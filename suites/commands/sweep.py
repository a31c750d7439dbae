"""The commands ``dmlcts sweep`` and ``dmlcts bench``."""

from __future__ import annotations

import sys
from typing import Any

import click

from dmlcts.suites.commands import reports
from dmlcts.suites.commands.options import EXIT_CODES
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.options.command_line import options_of


@click.command(epilog=EXIT_CODES)
@options_of("sweep")
def sweep(
    profile: str,
    results: str,
    resume: str | None,
    workers: int,
    lanes: int,
    tensor_elements: int,
    block_timeout: float,
    scheduler: str | None,
    no_compiled: bool,
    digest: bool,
    **options: Any,
) -> None:
    r"""Judge every input: all 2^32 of a 32-bit type, for a list of bounds, in every mode.

    With several inputs, the sweep takes every combination of up to 32 bits, such as all pairs of 16-bit values. For
    wider inputs it takes the boundary lattice and a seeded sample. FLOAT16 bounds: all 63,488 finite ones.
    Ctrl-C stops; --resume DIR continues, with the same options, device, tables and version. The implementation runs
    beside each judging process in its own process; --isolation none uses one, and sweep.json says so.

    \b
    dmlcts sweep --backend cpu --operator ROUND --data-type FLOAT32
    dmlcts sweep --backend path/to/mine.py:Backend --results out
    dmlcts sweep --backend cpu --scheduler tcp://192.0.2.1:8786
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.sweeping import showing
    from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
    from dmlcts.suites.sweeping.record import publish
    from dmlcts.suites.sweeping.worker_pools.processes import Processes
    from dmlcts.suites.sweeping.worker_pools.workers import Orders, WorkerPool

    folder = results if resume is None else resume
    settings = Settings.read(results=folder, **options)
    orders = Orders(
        settings.backend,
        tuple(options["options"]),
        folder,
        options["feature_level"] or "",
        settings.strict,
        settings.extra_tables,
        lanes,
        tensor_elements,
        not no_compiled,
        settings.isolation,
        block_timeout,
    )
    worker_pool: WorkerPool
    if scheduler is None:
        worker_pool = Processes(orders, workers)
    else:
        from dmlcts.suites.sweeping.worker_pools.cluster import Cluster

        worker_pool = Cluster(orders, scheduler)
    try:
        swept = Sweep.planned(settings, worker_pool.describe(), profile)
        with held(swept, resume=resume is not None, print_line=print_line) as journal:
            with showing.progress(swept, worker_pool.size) as report:
                conduct(swept, worker_pool, report, journal)
            size = worker_pool.size
            worker_pool.close()  # nothing of the implementation runs any more when the record is written
            record, written = publish(swept, size)
    finally:
        worker_pool.close()
    showing.summary(record, written)
    if digest:
        reports.print_digest(settings.results / "sweep.json")
    assert swept.verdict is not None  # noqa: S101  # publish sets it
    sys.exit(exit_code(swept.verdict))


@click.command()
@options_of("bench")
@judges_nothing
def bench(
    backend: str,
    options: tuple[str, ...],
    rounds: int,
    share: int,
    workers: int,
    isolation: str,
    ordinary: bool,
    engine: str,
    against: str | None,
    json_path: str | None,
    markdown: bool,
) -> None:
    r"""Measure the cost of judging on this machine, relative to simple operations measured at the same time.

    The simple operations are a memory copy, bare np.rint and a bit compare. The
    benchmark times commands and a quick run, judging alone, and full sweeps; and
    the engine's processor time for a case, and for quick runs relative to their
    dispatches on bare numpy.
    Takes three to four minutes with the cpu backend on two cores.

    \b
    dmlcts bench --json bench.json
    dmlcts bench --backend wgpu --no-run
    dmlcts bench --no-run --engine none --against bench.json
    """
    from pathlib import Path

    from dmlcts.reports.documents.writing import write_json
    from dmlcts.suites.benchmarks.bench_document import document, load_reference
    from dmlcts.suites.benchmarks.bench_figures import Measured, again_where_dearer, again_where_slower, figures_of
    from dmlcts.suites.benchmarks.command_times import QUICK_OPERATORS, command_times
    from dmlcts.suites.benchmarks.engine_cost import chosen_operators, engine_cost
    from dmlcts.suites.benchmarks.ordinary_run import ordinary_run_apart
    from dmlcts.suites.benchmarks.printing import print_benchmark, print_dearer, print_slower

    def report_progress(text: str) -> None:
        complain(f"dmlcts: {text}")

    operators = chosen_operators(engine)
    reference = None if against is None else load_reference(against, backend)
    commands = command_times(backend, options, report_progress) if ordinary else None
    timed = None
    if ordinary:
        report_progress("where the time of a quick run goes")
        timed = ordinary_run_apart(backend, options, QUICK_OPERATORS)
    cost = None if operators is None else engine_cost(operators, report_progress)
    asked = Measured(backend, options, rounds, workers, share, isolation)
    result = document(figures_of(asked, report_progress), backend, commands, timed, cost)
    if json_path is not None:
        write_json(Path(json_path), result)
    print_benchmark(result, markdown=markdown)
    if reference is not None and against is not None:
        compared = again_where_slower(asked, result, reference, report_progress)
        dear = again_where_dearer(result, reference, report_progress)
        sys.exit(max(print_slower(compared, against), print_dearer(dear, against)))
