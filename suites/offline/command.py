"""``dmlcts offline``: cases as files for a device that nothing can be connected to, and its outputs judged."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import Commands, print_line
from dmlcts.suites.options.command_line import options_of


@click.group(cls=Commands)
def offline() -> None:
    r"""Write cases as files for a device that cannot be connected, and judge its outputs.

    \b
    dmlcts offline export --feature-level 5.0 --operator CLIP --output cases
    dmlcts offline judge cases outputs
    """


@offline.command()
@options_of("offline export")
@judges_nothing
def export(
    feature_level: str, output: str, operators: tuple[str, ...], data_types: tuple[str, ...], seed: str, strict: bool
) -> None:
    r"""Write the cases that do not depend on answers: descriptions and memory, with a manifest and digests.

    The files are recorded conversations in the runners' protocol, and every runner of the C kit executes them.
    backends/RUNNERS.md describes the format.

    \b
    dmlcts offline export --feature-level 5.0 --output cases
    ./my_runner --offline cases outputs
    dmlcts offline judge cases outputs
    """
    from dmlcts.specs import FeatureLevel
    from dmlcts.suites.offline.cases import export as write
    from dmlcts.suites.offline.cases import planned_cases
    from dmlcts.suites.running.options import Settings

    level = FeatureLevel.parse(feature_level)
    settings = Settings.read(operators=operators, data_types=data_types, seed=seed, strict=strict)
    bench = settings.open()
    try:
        write(planned_cases(settings, level), bench, Path(output), print_line)
    finally:
        bench.close()


@offline.command(epilog="Exit codes are those of `dmlcts run`.")
@click.argument("cases", type=click.Path(), metavar="CASES")
@click.argument("outputs", type=click.Path(), metavar="OUTPUTS")
@options_of("offline judge")
def judge(cases: str, outputs: str, results: str) -> None:
    r"""Judge the outputs of a runner for a folder of cases, and write ordinary results.

    Clauses whose cases depend on earlier answers do not run, so the verdict is INCOMPLETE if nothing fails. If the
    outputs of a case end early, the runner crashed on it.

    \b
    dmlcts offline judge cases outputs --results results
    """
    from dmlcts.reports.documents.outcomes import Verdict, exit_code
    from dmlcts.reports.views.terminal import summary
    from dmlcts.specs.loading import load_tables
    from dmlcts.specs.number_text import many
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.offline.judging import judge_folder

    judgement = judge_folder(cases, outputs, results)
    summary(judgement.results, load_tables(), PlainConsole(file=sys.stdout), folder=results, written=judgement.written)
    without = f", {judgement.missing:,} without outputs" if judgement.missing else ""
    print_line(f"offline: {many(judgement.cases, 'case')} judged{without}")
    if judgement.unreached:
        rows = many(judgement.unreached, "clause row")
        print_line(f"offline: {rows} need a device that answers, and did not run")
    sys.exit(exit_code(Verdict(judgement.results["verdict"])))
