"""``dmlcts baseline`` and ``dmlcts findings``: what is known of an implementation, checked and reported."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import Commands, complain, print_line, print_text
from dmlcts.suites.options.command_line import options_of

_RESULTS = click.argument("results", type=click.Path(), metavar="DIR|results.json")


@click.group(cls=Commands)
def baseline() -> None:
    r"""Keep an implementation's known departures in a file, and compare runs with it.

    A baseline lists the departures of an implementation with their reasons. Continuous integration can then fail when
    a departure is new or gone. The verdict of the run stays NOT_CONFORMANT.

    \b
    dmlcts baseline write results known.yaml
    dmlcts baseline check results known.yaml
    dmlcts baseline triage results known.yaml
    """


@baseline.command()
@_RESULTS
@click.argument("path", type=click.Path(), metavar="FILE")
@judges_nothing
def write(results: str, path: str) -> None:
    r"""Write the departures of a run to FILE; reasons that FILE already contains are kept.

    \b
    dmlcts baseline write results known.yaml
    """
    from dmlcts.reports.comparing import baseline as baselines
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.specs.number_text import many

    target = Path(path)
    known = baselines.load(target) if target.exists() else None
    made = baselines.baseline_of(load_results(results), known)
    baselines.write(made, target)
    unexplained = sum(not entry.because for entry in made.entries)
    entries = many(len(made.entries), "entry", "entries")
    print_line(f"written: {path}: {many(len(made.departures), 'departure')} in {entries}")
    if unexplained:
        text = "1 entry has" if unexplained == 1 else f"{unexplained} entries have"
        print_line(f"{text} no reason yet: say it under `because`")


@baseline.command()
@_RESULTS
@click.argument("path", type=click.Path(), metavar="FILE")
def check(results: str, path: str) -> None:
    r"""Compare a run with FILE; exit code 1 if a departure is new or gone.

    \b
    dmlcts baseline check results known.yaml
    """
    from dmlcts.reports.comparing import baseline as baselines
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.specs.number_text import many

    known = baselines.load(Path(path))
    comparison = baselines.compare(load_results(results), known)
    for note in comparison.notes:
        print_line(f"note: {note}")
    for departure in comparison.new:
        print_line(f"new:  {departure}")
    for departure in comparison.gone:
        print_line(f"gone: {departure}")
    if comparison.agrees:
        print_line(f"as known: {many(len(known.departures), 'departure')}, none new, none gone")
        return
    print_line(
        f"{len(comparison.new)} new, {len(comparison.gone)} gone; `dmlcts baseline write {results} {path}` accepts that"
    )
    sys.exit(1)


@baseline.command()
@_RESULTS
@click.argument("path", type=click.Path(), metavar="FILE")
@options_of("baseline triage")
@judges_nothing
def triage(results: str, path: str, json_path: str | None, extra_tables: tuple[str, ...]) -> None:
    r"""Show each cause of failures in a run, its reason in FILE, and the reports upstream with their state.

    FILE is a baseline. Its reasons may name reports: `upstream: [{report: my-report.md, state: drafted}]`. The state is
    drafted, filed, confirmed, fixed or declined; `address` names the thread upstream, `fixed_in` the release.

    \b
    dmlcts baseline triage results backends/baselines/directml.yaml --json directml.triage.json
    """
    from dmlcts.reports.comparing import baseline as baselines
    from dmlcts.reports.comparing import triage as triages
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.reports.documents.writing import write_json
    from dmlcts.specs.loading import load_tables
    from dmlcts.specs.number_text import many

    document = triages.triage_of(
        load_results(results), load_tables(*map(Path, extra_tables)), baselines.load(Path(path))
    )
    for line in triages.lines(document):
        print_line(line)
    print_line(f"{many(len(document['causes']), 'cause')}, {triages.unexplained(document)} without a reason")
    if json_path is not None:
        write_json(Path(json_path), document)
        print_line(f"written: {json_path}")


@click.command()
@_RESULTS
@options_of("findings")
@judges_nothing
def findings(
    results: str,
    baseline_path: str | None,
    markdown_path: str | None,
    models: str | None,
    extra_tables: tuple[str, ...],
) -> None:
    r"""Write the departures of a run as a Markdown page: one heading a reason, with its smallest case.

    The page names the run it is made from: suite, tables, commit, date. With --models it links to each case as a
    model for DxDispatch and as a file that `dmlcts replay` runs.

    \b
    dmlcts findings results
    dmlcts findings results --baseline known.yaml --markdown FINDINGS.md --models models
    """
    from dmlcts.reports.comparing import baseline as baselines
    from dmlcts.reports.comparing.findings import case_files, findings_of, page
    from dmlcts.reports.documents.validation import load_results
    from dmlcts.reports.documents.writing import write_text
    from dmlcts.specs.loading import load_tables

    loaded = None if baseline_path is None else baselines.load(Path(baseline_path))
    words = ["dmlcts", "findings", results, *(() if baseline_path is None else ("--baseline", baseline_path))]
    words += () if markdown_path is None else ("--markdown", markdown_path)
    words += () if models is None else ("--models", models)
    document, law = load_results(results), load_tables(*map(Path, extra_tables))
    link = ""
    if models is not None:
        link = Path(os.path.relpath(models, Path(markdown_path or "page.md").parent)).as_posix()
        _write_cases(Path(models), case_files(findings_of(document, law, loaded)))
    text = page(document, law, loaded, shlex.join(words), Path(models or "").as_posix() if models else "", link)
    if markdown_path is None:
        print_text(text)
    else:
        write_text(Path(markdown_path), text)
        print_line(f"written: {markdown_path}")


def _write_cases(folder: Path, files: dict[str, str]) -> None:
    """Write the cases, and name the files there that belong to none.

    Raises:
        UsageError: a file cannot be written.
    """
    from dmlcts.reports.documents.writing import reason, write_text
    from dmlcts.specs import UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir() if path.suffix in (".json", ".yaml"))
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {reason(error)}", "choose another folder") from error
    for name, text in files.items():
        write_text(folder / name, text)
    complain(f"written: {folder}: {len(files)} files")
    for name in others:
        if name not in files:
            complain(f"note: {folder / name} belongs to no finding of this run: delete it")
