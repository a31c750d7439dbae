"""``dmlcts run``, and what is made of runs afterwards: ``merge``, ``replay``, ``probe``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dmlcts.suites.commands import reports
from dmlcts.suites.commands.options import EXIT_CODES, INCOMPLETE, NOT_CONFORMANT, USAGE
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import print_line, print_text
from dmlcts.suites.options.command_line import options_of


@click.command(epilog=EXIT_CODES)
@options_of("run")
def run(
    backend: str | None,
    results: str,
    workers: str,
    resume: str | None,
    stop_at_first: bool,
    maxfail: int | None,
    verbose: bool,
    quiet: bool,
    digest: bool,
    listing: bool,
    **options: Any,
) -> None:
    r"""Judge a backend and write the records.

    The verdict is CONFORMANT if every clause that the feature level requires passes, NOT_CONFORMANT if one fails,
    and INCOMPLETE if one could not be checked. With a selection, the verdict covers the selection only; failures of
    other clauses that its cases reveal are listed separately.

    \b
    dmlcts run --backend cpu
    dmlcts run --backend path/to/mine.py:Backend --operator CLIP --data-type FLOAT16
    dmlcts run --backend cpu -o feature_level=3.0 --profile full --results out
    dmlcts run --resume out
    dmlcts run --operator rounding --data-type FLOAT16 --list

    While it runs, standard error shows the operator, the tests that are done, the failing clauses and the time left: a
    line on a terminal, a line every 30 s elsewhere, and the first failure in full. Ctrl-C stops it; --resume continues.

    The run ignores other pytest plugins and PYTEST_ADDOPTS; the pytest command that -v prints uses both.

    --resume continues an interrupted run. It reads the options from the folder, runs the backend that is named there,
    and stops with an error if an option given here, a table or the suite differs. If somebody else may have written
    the folder, name the backend again. A shard alone is INCOMPLETE unless something fails.
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.specs import UsageError
    from dmlcts.suites.running import pytest_run as running
    from dmlcts.suites.running.options import Settings

    if quiet and verbose:
        raise UsageError("-q prints less than usual, and -v prints more", "give one of the two")
    if workers and workers not in ("auto", "logical") and not (workers.isdigit() and int(workers) > 0):
        raise UsageError(f"-n {workers!r} is not a number of processes", "give a whole number above 0, or `auto`")
    if running.in_several_processes(workers):
        _need_xdist()
    options |= {"results": results}
    if listing:
        _list_selected(backend, resume, verbose, options)
        return
    context = click.get_current_context()
    if resume is not None:
        from dmlcts.suites.running.resume import resumed_settings

        named = {name for name in context.params if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
        settings = resumed_settings(resume, {"backend": backend, **options}, named)
        if "backend" not in named:
            print_line(f"dmlcts: {resume} is of a run of {settings.backend}, which is run now")
    elif backend is None:
        raise click.MissingParameter(ctx=context, param_hint="'--backend'", param_type="option")
    else:
        settings = Settings.read(backend=backend, **options)
    if verbose:
        print_line("dmlcts: the same with pytest:")
        print_line(f"  {running.shown_command(settings)}")
    if not workers and (processes := running.usual_processes(settings)) > 1:
        workers = str(processes)
        if not quiet:
            print_line(f"dmlcts: in {workers} processes; -n 1 for one")
    finished = running.execute(
        settings,
        workers=workers,
        verbose=verbose,
        quiet=quiet,
        resume=resume is not None,
        most_failures=1 if stop_at_first else maxfail or 0,
    )
    assert finished.verdict is not None  # noqa: S101  # execute raises where there is none
    if quiet:
        reports.print_briefly(settings.results, settings.tables)
    reports.write_github_summary(settings.results, settings.tables)
    if digest:
        reports.print_digest(settings.results / "results.json")
    if finished.complaint is not None:
        sys.exit(USAGE)  # the plugin has said it, below the summary
    sys.exit(exit_code(finished.verdict))


def _list_selected(backend: str | None, resume: str | None, verbose: bool, options: dict[str, Any]) -> None:
    from dmlcts.specs import UsageError
    from dmlcts.suites.commands.selected import print_selected
    from dmlcts.suites.families.selected import selected_by
    from dmlcts.suites.options.table import DEFAULT_BACKEND
    from dmlcts.suites.running.options import Settings

    if resume is not None:
        raise UsageError("--list lists a new run, and --resume continues one", "give one of the two")
    settings = Settings.read(backend=backend or DEFAULT_BACKEND, **options)
    print_selected(selected_by(settings), settings, print_text, verbose=verbose)


def _need_xdist() -> None:
    import importlib.util

    from dmlcts.specs import UsageError

    if importlib.util.find_spec("xdist") is None:
        raise UsageError("-n needs pytest-xdist, which is not installed", "install it: pip install pytest-xdist")


@click.command(epilog=EXIT_CODES)
@click.argument("parts", nargs=-1, required=True, type=click.Path(), metavar="DIR…")
@options_of("merge")
def merge(parts: tuple[str, ...], results: str, waivers: str | None) -> None:
    r"""Join the results folders of all shards of a run into the results of the whole run.

    \b
    dmlcts run --backend cpu --shard 1/2 --results s1
    dmlcts run --backend cpu --shard 2/2 --results s2
    dmlcts merge s1 s2 --results results

    The output and the exit code are those of the whole run. It is an error if a shard is missing, given twice,
    unfinished, or from another run: other options, tables, seed, device or suite version.
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.reports.views.terminal import summary
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.running.merge import merge as join
    from dmlcts.suites.running.merge import tables_of
    from dmlcts.suites.running.options import valid_waivers

    joined = join(parts, results, print_line, valid_waivers(waivers))
    tables = tables_of(parts[0])
    print_line("")
    summary(joined, tables, PlainConsole(file=sys.stdout), folder=results)
    reports.write_github_summary(Path(results), tables)
    sys.exit(exit_code(joined["verdict"]))


@click.command()
@click.argument("failures", nargs=-1, required=True, type=click.Path(), metavar="FILE|DIR…")
@options_of("replay")
def replay(
    failures: tuple[str, ...],
    repeat: int,
    dump: str | None,
    **options: Any,
) -> None:
    r"""Judge failing cases again, from files under failures/ or whole results folders, on this or another backend.

    "-" reads one case from the standard input, such as the case that results.html shows.

    \b
    dmlcts replay results --backend path/to/mine.py:Backend
    dmlcts replay results/failures/clip.*.yaml --backend cpu --dump cases
    dmlcts replay results/failures/execution.*.yaml --backend path/to/mine.py:Backend --repeat 100

    Each case runs on a fresh device. Exit code 0 if all pass, 1 if one fails (with --repeat at least once), 4 if none
    fails but the backend cannot express one.
    """
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.running.replay import failure_files
    from dmlcts.suites.running.replay import replay_all as judge_again

    settings = Settings.read(**options)
    where = None if dump is None else Path(dump)
    replays = judge_again(settings, failure_files(failures), print_text, where, repeat)
    failed = any(outcome.failed for outcome in replays)
    sys.exit(NOT_CONFORMANT if failed else 0 if all(outcome.supported for outcome in replays) else INCOMPLETE)


@click.command()
@options_of("probe")
@judges_nothing
def probe(json_path: str | None, **options: Any) -> None:
    r"""Print the fingerprint of a backend: what it does where the pages are silent.

    This is no verdict. Exit code 1 only if something unsafe happens, or a result is outside every permitted outcome.

    \b
    dmlcts probe --backend cpu --operator CLIP
    dmlcts probe --backend cpu --clause clip.nan.input --json fingerprint.json
    """
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.running.fingerprint import fingerprint, print_fingerprint, write_fingerprint
    from dmlcts.suites.running.options import Settings

    settings = Settings.read(**options)
    behaviours = fingerprint(settings)
    print_fingerprint(behaviours, settings.tables, PlainConsole())
    if json_path is not None:
        write_fingerprint(behaviours, Path(json_path))
        print_line(f"written: {json_path}")
    sys.exit(NOT_CONFORMANT if behaviours.unsafe else 0)
