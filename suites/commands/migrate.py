"""``dmlcts migrate``: what changes for whoever leaves one implementation for another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dmlcts.suites.commands.options import INCOMPLETE, NOT_CONFORMANT
from dmlcts.suites.console.exit_codes import NO_VERDICT
from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.options.command_line import options_of

_CHANGES = NOT_CONFORMANT
_CHOOSING = (
    ("operators", "--operator"),
    ("data_types", "--data-type"),
    ("clauses", "--clause"),
    ("feature_level", "--feature-level"),
    ("strict", "--strict-ieee"),
)
_EXIT_CODES = (
    "Exit codes: 0 nothing changes, 1 something changes (a row or a behaviour; larger errors within the bounds do not "
    "count), 2 usage or table error, or runs of different tables, 3 a backend is unavailable, 4 nothing changes in "
    "what was judged for both, and some rows were judged for one of them only. " + NO_VERDICT
)


@click.command(epilog=_EXIT_CODES)
@options_of("migrate")
def migrate(
    first: str,
    second: str,
    verbose: bool,
    markdown_path: str | None,
    html_path: str | None,
    json_path: str | None,
    folder: str | None,
    results: str,
    mixed: bool,
    workers: str,
    **settled: Any,
) -> None:
    r"""Show what changes from one implementation to another, operator by operator.

    SIDE is a finished run (its folder or its results.json[.gz]), or a backend, its options in brackets, which is judged
    first. The page says what stays, what changes and which of both departs from DirectML's page, what is no longer
    there, and what stays a fault of both. Where a runtime's own documentation asks for the departure, it is a
    difference of specifications, with both quotations. The command refuses runs of different tables; --mixed compares
    and marks them.

    \b
    dmlcts migrate --from directml --to 'onnxruntime[provider=OpenVINOExecutionProvider]' --output moving
    dmlcts migrate --from before/results.json.gz --to torch --operator CLIP,ROUND -v
    """
    from dmlcts.reports.documents.writing import write_json, write_text
    from dmlcts.reports.migrating.markdown import markdown
    from dmlcts.reports.migrating.migration import is_incomplete, migration
    from dmlcts.reports.migrating.page import page
    from dmlcts.reports.migrating.specification import shipped
    from dmlcts.reports.migrating.terminal import print_operators, print_summary
    from dmlcts.reports.summaries.provenance import Provenance, refuse_mixture, tables_digest
    from dmlcts.reports.views.terminal_page import Page
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.running.migration_side import MigrationSide, NothingJudgedError, columns_of, finished_columns
    from dmlcts.suites.running.options import Settings

    sides = MigrationSide.parse(first), MigrationSide.parse(second)
    backends = [side.written for side in sides if side.contender is not None]
    if not backends:
        for name, option in _CHOOSING:
            if settled[name]:
                raise NothingJudgedError(option)
    settings = Settings.read(**settled)
    if not mixed:  # before anything is judged
        made = [Provenance.of(column.label, column.results) for column in finished_columns(sides) if column.results]
        here = Provenance(", ".join(backends), tables_digest(settings.tables.digests))
        refuse_mixture([*made, here] if backends else made)
    arguments = [*settings.shared_arguments(), *(["-n", workers] if workers else [])]
    before, after = columns_of(sides, Path(results), arguments, complain)
    document = migration(before, after, settings.tables, shipped(), mixed)
    if folder is not None:
        _make(Path(folder))
        names = (Path(folder) / f"migration.{ending}" for ending in ("html", "md", "json"))
        html_path, markdown_path, json_path = (
            chosen or str(name) for chosen, name in zip((html_path, markdown_path, json_path), names, strict=True)
        )
    for path, text in ((html_path, page), (markdown_path, markdown)):
        if path is not None:
            write_text(Path(path), text(document))
    if json_path is not None:
        write_json(Path(json_path), document)
    shown = Page(PlainConsole())
    print_summary(document, shown)
    if verbose:
        print_operators(document, shown)
    written = [path for path in (html_path, markdown_path, json_path) if path is not None]
    if written:
        print_line(f"written: {', '.join(written)}")
    if not (verbose or html_path or markdown_path):
        print_line("-v prints each row; --output DIR writes the page")
    sys.exit(_CHANGES if document["changes"] else INCOMPLETE if is_incomplete(document) else 0)


def _make(folder: Path) -> None:
    """Make the folder of the pages.

    Raises:
        UsageError: it cannot be made.
    """
    from dmlcts.reports.documents.writing import reason
    from dmlcts.specs import UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {reason(error)}", "choose another folder") from error
