"""``dmlcts publish``: all that this machine can judge, and the site of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.options.command_line import options_of

if TYPE_CHECKING:
    from dmlcts.suites.publishing.publication import Judged

UNAVAILABLE, INCOMPLETE = 3, 4
_EXIT_CODES = (
    "Exit codes: 0 everything that this machine can judge has a result, whatever the verdicts; 2 usage or table error; "
    "3 nothing could be judged; 4 a run ended without results."
)


@click.command(epilog=_EXIT_CODES)
@options_of("publish")
@judges_nothing
def publish(
    output: str,
    names: tuple[str, ...],
    implementations_path: str | None,
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    profile: str,
    workers: str,
    keep: bool,
    draft: bool,
    listing: bool,
) -> None:
    r"""Judge every implementation that this machine can judge, and make the site of the results.

    One runs after the other: the backends, wgpu on each Vulkan adapter, and the runtimes that `dmlcts providers fetch`
    has fetched. DIR holds NAME.results.json.gz, a page for each pair from DirectML, the site, and the runs with
    their logs. Results of the same commit and tables are not judged again, also those that you copy from another
    machine. The same command goes on where it was interrupted. The end of the output says what was not judged, and
    what to do about it.

    \b
    dmlcts publish --output published -n auto
    dmlcts publish --only cpu --only torch --operator CLIP --data-type INT8 --output trial
    dmlcts publish --list
    """
    from dmlcts.reports.documents.results import suite_identity
    from dmlcts.reports.site.folder import check_place
    from dmlcts.specs import UsageError
    from dmlcts.specs.cache import cache_folder
    from dmlcts.suites.checkout import checkout
    from dmlcts.suites.publishing import implementation as table
    from dmlcts.suites.publishing.adapters import vulkan_adapters, with_adapters
    from dmlcts.suites.publishing.pages import SITE
    from dmlcts.suites.publishing.publication import ModifiedSuiteError, Publication, environment_of
    from dmlcts.suites.running.options import Settings

    path = Path(implementations_path) if implementations_path else table.FILE
    every = table.load_implementations(path)
    chosen = every
    if not set(names) <= {each.name for each in every} or not names:  # listing adapters loads drivers
        chosen = with_adapters(every, vulkan_adapters())
    chosen = table.selected(chosen, names)
    if listing:
        for each in chosen:
            environment, reason = environment_of(each, cache_folder())
            program = "dmlcts" if environment is None else str(environment.python.with_name("dmlcts"))
            print_line(f"{each.name:26} {each.title}")
            print_line(f"    {each.lacking() or reason or shlex.join([program, 'run', *each.arguments])}")
        return
    settings = Settings.read(operators=operators, data_types=data_types, profile=profile)
    home = checkout()
    if keep and (draft or settings.selection or home is None):
        raise UsageError(
            "--keep replaces the checkout's kept results, which are of all operators and of a commit",
            "leave out --draft, --operator and --data-type, or --keep",
        )
    suite = suite_identity()
    if suite["modified"] and not draft:
        raise ModifiedSuiteError
    folder = Path(output)
    check_place(folder / SITE)
    publication = Publication(folder, suite, settings, cache_folder(), workers, complain)
    judged = publication.judge_all(chosen)
    _print_all(judged)
    shown = [each.implementation.name for each in judged if each.results is not None]
    if not shown:
        sys.exit(UNAVAILABLE)
    _write(folder, shown, settings, draft, home / "reports/examples" if home and keep else None)
    if any(each.state.name == "FAILED" for each in judged):
        sys.exit(INCOMPLETE)


def _print_all(judged: Sequence[Judged]) -> None:
    """Print what has a result and what has none, with the reason."""
    from dmlcts.suites.publishing.publication import State

    for state in State:
        rows = [each for each in judged if each.state is state]
        if rows:
            print_line(f"{state.value}:")
        for each in rows:
            print_line(f"  {each.implementation.name:26} {_verdict(each.results) or each.reason}")


def _verdict(results: Mapping[str, Any] | None) -> str:
    return "" if results is None else str(results["verdict"]).replace("_", " ")


def _write(folder: Path, names: Sequence[str], settings: Any, draft: bool, examples: Path | None) -> None:
    """Write the pages of pairs, the site and, where that was asked for, the checkout's kept results."""
    from dmlcts.specs.number_text import many
    from dmlcts.suites.publishing.pages import SITE, keep_in_checkout, write_pairs, write_site_of

    pairs = write_pairs(folder, names, settings.tables)
    if not pairs:
        print_line("note: no pages of pairs: they need a result of directml and of another implementation")
    files, size = write_site_of(folder, names, settings.tables, draft)
    site = folder / SITE
    print_line(f"written: {site}: {many(files, 'file')}, {size / 1e6:.1f} MB; open {site / 'index.html'}")
    if examples is not None:
        kept = keep_in_checkout(folder, names, examples)
        print_line(f"written: {many(len(kept), 'file')} in {examples}; its README has the commands of the other pages")
