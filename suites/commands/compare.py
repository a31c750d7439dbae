"""``dmlcts compare``: several implementations side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dmlcts.suites.commands.options import UNAVAILABLE
from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.options.command_line import options_of


@click.command()
@click.argument("backends", nargs=-1, metavar="[BACKEND]…")
@options_of("compare")
def compare(
    backends: tuple[str, ...],
    parts: tuple[str, ...],
    results: str,
    json_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
    mixed: bool,
    verbose: bool,
    workers: str,
    **options: Any,
) -> None:
    r"""Judge several backends, and show where they differ from the pages and from each other.

    Write a backend's options in brackets after its name, and quote them for the shell. Each backend runs in its own
    process. The column of a backend that cannot run here says why. Each column names the digest of its tables and the
    suite's commit. The command refuses runs of different tables; --mixed compares and marks them. Exit code 0 whatever
    the verdicts, 2 for a mistake in the command or different tables, 3 if no backend can run.

    The command prints the operators on which the columns differ, and the worst departures. -v prints everything.

    \b
    dmlcts compare cpu onnxruntime torch directml wgpu
    dmlcts compare 'onnxruntime[opset=6]' onnxruntime --operator CLIP --html compare.html
    dmlcts compare --from comparison/cpu --from results cpu
    """
    from dmlcts.reports.comparing.comparison import compare as document_of
    from dmlcts.reports.comparing.comparison_views import html, markdown, print_comparison
    from dmlcts.reports.documents.writing import write_json, write_text
    from dmlcts.reports.summaries.provenance import Provenance, refuse_mixture, tables_digest
    from dmlcts.specs import UsageError
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.running.side_by_side import Contender, judge_all, read_all

    if not backends and not parts:
        raise UsageError("nothing to compare", "name backends, as in `dmlcts compare cpu onnxruntime`")
    settings = Settings.read(**options)
    arguments = [*settings.shared_arguments(), *(["-n", workers] if workers else [])]
    columns = read_all(parts)
    contenders = [Contender.parse(written) for written in backends]
    if not mixed:  # before anything is judged
        made = [
            Provenance.of(finished_column.label, finished_column.results)
            for finished_column in columns
            if finished_column.results is not None
        ]
        here = Provenance(", ".join(backends), tables_digest(settings.tables.digests))
        refuse_mixture([*made, here] if backends else made)
    columns += judge_all(contenders, Path(results), arguments, complain)
    document = document_of(columns, settings.tables, mixed)
    for path, text in ((html_path, html), (markdown_path, markdown)):
        if path is not None:
            write_text(Path(path), text(document))
    if json_path is not None:
        write_json(Path(json_path), document)
    print_comparison(document, PlainConsole(), brief=not verbose)
    for written in (json_path, html_path, markdown_path):
        if written is not None:
            print_line(f"written: {written}")
    if not any(column.results is not None for column in columns):
        sys.exit(UNAVAILABLE)
