"""``dmlcts report``, ``diff`` and ``accuracy``: the results of runs in other formats, and compared."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.suites.commands.options import INCOMPLETE, UNAVAILABLE
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import complain, print_line, print_text
from dmlcts.suites.options.command_line import options_of

if TYPE_CHECKING:
    from dmlcts.specs.tables import Tables

_RESULTS = "DIR|results.json"


@click.command()
@click.argument("results", type=click.Path(), metavar=_RESULTS)
@options_of("report")
@judges_nothing
def report(
    results: str,
    html_path: str | None,
    markdown_path: str | None,
    junit_path: str | None,
    badge_path: str | None,
    baseline_path: str | None,
    extra_tables: tuple[str, ...],
) -> None:
    r"""Write a run's results as a page, a summary, JUnit XML or a badge, from its results.json alone.

    Without an option, the command writes results.html beside results.json. It needs no device. Exit code 0 whatever
    the verdict, 2 if the results cannot be used.

    \b
    dmlcts report results
    dmlcts report results --markdown -
    dmlcts report results/results.json --html page.html --junit junit.xml --badge badge.json
    """
    from dmlcts.reports.documents import writing
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.reports.views import badge as badges
    from dmlcts.reports.views import markdown as summaries
    from dmlcts.reports.views.junit import items_of, junit_xml
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.running.results_page import results_page

    document = load_results(results)
    loaded = load_tables(*map(Path, extra_tables))
    if not (html_path or markdown_path or junit_path or badge_path):
        path = Path(results)
        html_path = str((path if path.is_dir() else path.parent) / "results.html")
    if html_path:
        writing.write_text(
            Path(html_path), results_page(document, loaded, Path(baseline_path) if baseline_path else None)
        )
    if markdown_path:
        summary = summaries.summary(document, loaded)
        if markdown_path == "-":
            print_text(summary)
        else:
            writing.write_text(Path(markdown_path), summary)
    if junit_path:
        writing.write_bytes(Path(junit_path), junit_xml(items_of(document), document))
    if badge_path:
        writing.write_json(Path(badge_path), badges.badge(document))
    for written in (html_path, markdown_path, junit_path, badge_path):
        if written and written != "-":
            print_line(f"written: {written}")


@click.command()
@click.argument("first", type=click.Path(), metavar="A")
@click.argument("second", type=click.Path(), metavar="B")
@options_of("diff")
def diff(
    first: str, second: str, json_path: str | None, markdown_path: str | None, extra_tables: tuple[str, ...]
) -> None:
    r"""Show what changed from run A to run B, each a results folder or results.json.

    Exit code 0 if B has no regression, 1 if it has one, 2 if one of the two cannot be used.

    \b
    dmlcts diff before after
    dmlcts diff before/results.json results --markdown -
    """
    from dmlcts.reports.comparing import difference as differences
    from dmlcts.reports.documents import writing
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.specs.loading import load_tables

    result = differences.difference(load_results(first), load_results(second))
    loaded = load_tables(*map(Path, extra_tables))
    printed = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    if json_path and json_path != "-":
        writing.write_text(Path(json_path), printed)
    if markdown_path and markdown_path != "-":
        writing.write_text(Path(markdown_path), differences.markdown(result, loaded))
    if json_path == "-":
        print_text(json.dumps(result, indent=2))
    elif markdown_path == "-":
        print_text(differences.markdown(result, loaded))
    else:
        print_text(differences.text(result, loaded))
    sys.exit(1 if result["regression"] else 0)


@click.command(epilog="Exit codes: 0 measured, 2 usage or table error, 3 backend unavailable, 4 nothing was measured.")
@click.argument("runs", nargs=-1, type=click.Path(), metavar="[RESULTS]…")
@options_of("accuracy")
@judges_nothing
def accuracy(
    runs: tuple[str, ...],
    backends: tuple[str, ...],
    results: str,
    workers: str,
    markdown_path: str | None,
    **options: Any,
) -> None:
    r"""Show how far results are from the exact numbers, for each operator whose results may be inexact.

    The figures come from finished runs, or from running the value tests on a backend. For one run, the command prints
    the largest errors with their operands and the judged and strict bounds there. It prints several runs side by side.
    Accuracy is no verdict.

    \b
    dmlcts accuracy --backend cpu --operator SQRT
    dmlcts accuracy results
    dmlcts accuracy --backend cpu --backend 'wgpu[adapter=1]' other/results --markdown accuracy.md
    """
    from dmlcts.reports.documents import writing
    from dmlcts.reports.summaries.characters import one_line
    from dmlcts.reports.summaries.measured import chosen, measured
    from dmlcts.reports.views import accuracy as views
    from dmlcts.specs import UsageError
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.measuring.choosing import value_clauses_measured
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.running.side_by_side import Contender, judge_all, read_all

    if not runs and not backends:
        raise UsageError("nothing to measure", "name a backend with --backend, or the folder of a finished run")
    settings = Settings.read(**options)
    columns = read_all(runs)
    if backends:
        taken = [table for table in settings.tables.operators.values() if settings.selects_operator(table)]
        clauses = value_clauses_measured(taken, settings.tables, settings.selects_data_type)
        arguments = replace(settings, operators=(), clauses=tuple(clauses)).shared_arguments()
        arguments += ["-n", workers] if workers else []
        contenders = [Contender.parse(written) for written in backends]
        columns += judge_all(contenders, Path(results), arguments, complain)
    for column in columns:
        if column.results is None:
            complain(f"dmlcts: {one_line(f'{column.label}: {column.reason}')}")
    record = [
        (column.label, chosen(column.results, settings.operators, settings.data_types))
        for column in columns
        if column.results is not None
    ]
    if not record:
        sys.exit(UNAVAILABLE)
    if not measured(results for _, results in record):
        print_line("nothing was measured: no results here may be inexact, or the runs are of an earlier version")
        sys.exit(INCOMPLETE)
    if markdown_path == "-":
        print_text(views.markdown(record))
        return
    views.print_accuracy(record, PlainConsole())
    if markdown_path is not None:
        writing.write_text(Path(markdown_path), views.markdown(record))
        print_line(f"written: {markdown_path}")


def print_briefly(folder: Path, tables: Tables) -> None:
    """Print which clauses a run found to fail, and its verdict, and nothing else."""
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.reports.views.terminal import summary
    from dmlcts.suites.console.plain import PlainConsole

    summary(load_results(folder), tables, PlainConsole(file=sys.stdout), folder=folder, brief=True)


def print_digest(path: Path) -> None:
    """Print the SHA-256 of a file of results, which nothing that was judged can write any more."""
    print_line(f"{path.name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")


def write_github_summary(folder: Path, tables: Tables) -> None:
    """Append a run's summary to the file that GitHub Actions shows on its page, where there is one.

    Raises:
        UsageError: the file that the environment variable names cannot be written.
    """
    from dmlcts.reports.views import markdown

    if not os.environ.get(markdown.STEP_SUMMARY):
        return
    from dmlcts.reports.documents.validation import load_results

    path = markdown.append_to_step(markdown.summary(load_results(folder), tables))
    print_line(f"summary appended: {path}")
