"""``dmlcts offline``: cases as files for a device that nothing can be connected to, and its outputs judged."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.saying import Commands, say


@click.group(cls=Commands)
def offline() -> None:
    """For devices that nothing can be connected to: write cases as files, judge the outputs that come back."""


@offline.command()
@click.option("--feature-level", required=True, metavar="LEVEL", help="The level that the cases are for: 5.0.")
@click.option("-o", "--output", required=True, type=click.Path(), metavar="DIR", help="An empty folder, or a new one.")
@click.option("--operator", "operators", multiple=True, metavar="NAME", help="Only these (CLIP,ROUND); repeatable.")
@click.option("--data-type", "data_types", multiple=True, metavar="TYPE", help="Only these (FLOAT16); repeatable.")
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of the sample.")
@click.option("--strict", "--strict-ieee", is_flag=True, help="Leave no latitude: IEEE 754 behaviour only.")
@judges_nothing
def export(
    feature_level: str, output: str, operators: tuple[str, ...], data_types: tuple[str, ...], seed: str, strict: bool
) -> None:
    r"""Write the cases that do not depend on answers: descriptions and memories, with a manifest and digests.

    They are recorded conversations of the runners' protocol: every runner of the C kit executes such a folder.
    backends/RUNNERS.md tells the format.

    \b
    dmlcts offline export --feature-level 5.0 -o cases
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
        write(planned_cases(settings, level), bench, Path(output), say)
    finally:
        bench.close()


@offline.command(epilog="Exit codes as of `dmlcts run`.")
@click.argument("cases", type=click.Path(), metavar="CASES")
@click.argument("outputs", type=click.Path(), metavar="OUTPUTS")
@click.option("--results", default="results", show_default=True, type=click.Path(), metavar="DIR",
              help="Where results.json, results.html, junit.xml and failures/*.yaml go.")  # fmt: skip
def judge(cases: str, outputs: str, results: str) -> None:
    """Judge what a runner made of a folder of cases, and write ordinary results.

    What has to ask again, depending on an answer, cannot be asked: such clauses did not run, and the verdict is
    INCOMPLETE where nothing failed. A case whose outputs end early is one that the runner did not survive.
    """
    from dmlcts.reports.documents.outcomes import Verdict, exit_code
    from dmlcts.reports.documents.wording import many
    from dmlcts.reports.views.terminal import summary
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.offline.judging import judge_folder

    found = judge_folder(cases, outputs, results)
    summary(found.results, load_tables(), PlainConsole(file=sys.stdout), folder=results, written=found.written)
    without = f", {found.missing:,} without outputs" if found.missing else ""
    say(f"offline: {many(found.cases, 'case')} judged{without}")
    if found.unreached:
        rows = many(found.unreached, "clause row")
        say(f"offline: {rows} can only be judged on a device that answers, and did not run")
    sys.exit(exit_code(Verdict(found.results["verdict"])))
