"""The commands ``dmlcts sweep`` and ``dmlcts bench``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from dmlcts.suites.commands import reports
from dmlcts.suites.commands.options import digest_option, operator_options
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.saying import complain, say


@operator_options
@click.option(
    "--profile", type=click.Choice(["quick", "full"]), default="quick", show_default=True,
    help="Pairs of bounds: a few of each kind, or all of the boundary lattice. Inputs are all of them, either way.",
)  # fmt: skip
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of the samples of 64-bit types.")
@click.option("--results", default="results", show_default=True, type=click.Path(), metavar="DIR",
              help="Where sweep.json, sweep.html, the journal and failures/sweep-*.yaml go.")  # fmt: skip
@click.option(
    "--resume", type=click.Path(), metavar="DIR", help="Go on with the sweep that was stopped in this folder."
)
@click.option("-n", "workers", type=click.IntRange(0), default=0, metavar="N",
              help="Judging processes, each with its device (default: up to four for cpu, else one).")  # fmt: skip
@click.option("--lanes", type=click.IntRange(0), default=0, metavar="N",
              help="Tensors in flight on a device (default: two for cpu, else up to four).")  # fmt: skip
@click.option("--tensor-elements", type=click.IntRange(0, 1 << 24), default=0, metavar="N",
              help="Elements of a tensor (default: whichever of some sizes is quickest).")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(1, 86400), default=600.0, show_default=True, metavar="S",
              help="Seconds that a block may take before its process is ended.")  # fmt: skip
@click.option("--isolation", type=click.Choice(["process", "none"]), default="process", show_default=True,
              help="Judge in a process in which no code of the implementation runs, or in one with it.")  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS", help="Spread the blocks over the workers of a Dask scheduler (tcp://…)."
)
@click.option("--no-compiled", is_flag=True, help="Judge with numpy alone, also where numba is installed.")
@digest_option
def sweep(
    profile: str,
    results: str,
    resume: str | None,
    workers: int,
    lanes: int,
    tensor_elements: int,
    timeout: float,
    scheduler: str | None,
    no_compiled: bool,
    digest: bool,
    **given: Any,
) -> None:
    r"""Judge every input: all 2^32 of a 32-bit type, for a list of bounds, in every mode.

    Of several inputs every combination of up to 32 bits, as all pairs of 16-bit values. Wider ones and 64-bit types:
    the boundary lattice and a seeded sample. FLOAT16 bounds: all 63,488 finite ones.
    Ctrl-C stops; --resume DIR goes on, with the same options, device, tables and version. Each judging process has the
    implementation in a further one beside it; with --isolation none they share one, and sweep.json says so.

    \b
    dmlcts sweep --backend cpu --operator ROUND --data-type FLOAT32
    dmlcts sweep --backend path/to/mine.py:Backend --results out
    dmlcts sweep --backend cpu --scheduler tcp://192.0.2.1:8786
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.sweeping import showing
    from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
    from dmlcts.suites.sweeping.crews.processes import Processes
    from dmlcts.suites.sweeping.crews.workers import Crew, Orders
    from dmlcts.suites.sweeping.record import publish

    folder = results if resume is None else resume
    settings = Settings.read(results=folder, **given)
    orders = Orders(
        settings.backend, tuple(given["options"]), folder, given["feature_level"] or "", settings.strict,
        settings.extra_tables, lanes, tensor_elements, not no_compiled, settings.isolation, timeout,
    )  # fmt: skip
    crew: Crew
    if scheduler is None:
        crew = Processes(orders, workers)
    else:
        from dmlcts.suites.sweeping.crews.cluster import Cluster

        crew = Cluster(orders, scheduler)
    try:
        swept = Sweep.planned(settings, crew.describe(), profile)
        with held(swept, resume=resume is not None, say=say) as journal:
            with showing.progress(swept, crew.size) as told:
                conduct(swept, crew, told, journal)
            size = crew.size
            crew.close()  # nothing of the implementation runs any more when the record is written
            record, written = publish(swept, size)
    finally:
        crew.close()
    showing.summary(record, written)
    if digest:
        reports.tell_digest(settings.results / "sweep.json")
    assert swept.verdict is not None  # noqa: S101  # publish sets it
    sys.exit(exit_code(swept.verdict))


@click.option("--backend", default="cpu", show_default=True, metavar="BACKEND", help="The implementation to sweep.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
              help="An option of the backend; repeatable.")  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1), default=7, show_default=True, help="How often yardsticks are measured."
)
@click.option("--share", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Sweep only one in N of the inputs: quicker, and less to be trusted.")  # fmt: skip
@click.option(
    "-n",
    "workers",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Processes of the sweeps (default: as `sweep`).",
)
@click.option("--isolation", type=click.Choice(["process", "none"]), default="process", show_default=True,
              help="As `sweep`: what is swept in a process of its own, or in one with the judge.")  # fmt: skip
@click.option(
    "--run/--no-run", "ordinary", default=True, show_default=True,
    help="Also time --help, `run` to its first case, and a quick run of CLIP, ROUND and THRESHOLD.",
)  # fmt: skip
@click.option(
    "--engine", default="ROUND,LOGICAL_NOT,ERF", show_default=True, metavar="OPERATORS",
    help="Measure the engine's time for a case, and quick runs of these operators on cpu beside their dispatches "
    "alone; `all` takes every operator, `none` leaves it out.",
)  # fmt: skip
@click.option(
    "--against", type=click.Path(), metavar="FILE",
    help="End with 1 where a figure's share of np.rint is 20 % less than in this file of --json, or what the engine "
    "costs beside bare numpy 25 % more.",
)  # fmt: skip
@click.option("--json", "json_path", type=click.Path(), metavar="FILE", help="Also write the figures as JSON.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown, for a README.")
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
    r"""Measure what judging costs here, beside yardsticks of the same minutes.

    The yardsticks are memory copy, bare np.rint and a bit compare; beside them
    stand commands and a quick run, judging alone, and full sweeps end to end;
    and what the engine takes for a case, and for whole quick runs beside their
    dispatches on bare numpy, in processor time.
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

    def told(text: str) -> None:
        complain(f"dmlcts: {text}")

    operators = chosen_operators(engine)
    reference = None if against is None else load_reference(against, backend)
    commands = command_times(backend, options, told) if ordinary else None
    timed = None
    if ordinary:
        told("where the time of a quick run goes")
        timed = ordinary_run_apart(backend, options, QUICK_OPERATORS)
    cost = None if operators is None else engine_cost(operators, told)
    asked = Measured(backend, options, rounds, workers, share, isolation)
    found = document(figures_of(asked, told), backend, commands, timed, cost)
    if json_path is not None:
        write_json(Path(json_path), found)
    print_benchmark(found, markdown=markdown)
    if reference is not None and against is not None:
        compared = again_where_slower(asked, found, reference, told)
        dear = again_where_dearer(found, reference, told)
        sys.exit(max(print_slower(compared, against), print_dearer(dear, against)))


def register(
    group: click.Group, backend_options: Callable[[Callable[..., None]], Callable[..., None]], epilog: str
) -> None:
    """Add the commands to ``dmlcts``; ``backend_options`` are those by which every command names a backend."""
    group.command(epilog=epilog)(backend_options(sweep))
    group.command()(bench)
