"""The command line, ``dmlcts``. Heavy modules are imported by the commands that need them: ``--help`` is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from dmlcts.suites import certify_commands, departure_commands, ending, report_commands, sweep_commands
from dmlcts.suites.compare_commands import compare as compare_backends
from dmlcts.suites.directml_commands import directml
from dmlcts.suites.saying import Commands, complain, say, tell

USAGE, UNAVAILABLE, NOT_CONFORMANT, INCOMPLETE = 2, 3, 1, 4
EXIT_CODES = (
    "Exit codes: 0 conformant, 1 not conformant, 2 usage or table error, 3 backend unavailable, 4 incomplete. "
    + ending.NO_VERDICT
)
_BACKEND_HELP = (
    "The implementation: a name from `dmlcts backends`, package.module:attribute, or path/to/file.py:attribute."
)

_MOST_FAULTS = 100

Command = TypeVar("Command", bound=Callable[..., Any])


class _Group(Commands):
    """Turns the project's own errors into one line and an exit code, whichever command raises them."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        # click keeps a paragraph's lines where a backspace stands above it; in a raw docstring that is two characters
        if cmd.help is not None:
            cmd.help = cmd.help.replace("\\b\n", "\b\n")
        super().add_command(cmd, name)

    def invoke(self, context: click.Context) -> Any:
        from dmlcts.specs.errors import DmlctsError

        try:
            return super().invoke(context)
        except DmlctsError as error:
            _stop(error)
        except BrokenPipeError as error:
            raise ending.Unsaid(error) from None  # click would end with 1, which is a verdict

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **more)
        except BrokenPipeError as error:  # `--help` prints here
            raise ending.Unsaid(error) from None

    def main(self, *arguments: Any, **more: Any) -> NoReturn:
        """Run the command line, and end with an exit code that says what happened, see :mod:`.ending`."""
        run = super().main

        def command() -> None:
            try:
                code = run(*arguments, **{**more, "standalone_mode": False})
            except click.Abort:
                raise KeyboardInterrupt from None
            except click.ClickException as error:
                complain_of(error)
                sys.exit(error.exit_code)
            sys.exit(code if isinstance(code, int) else 0)

        sys.exit(ending.exit_code_of(command))


def complain_of(error: click.ClickException) -> None:
    """Say what is wrong with a command's words, and where its help is."""
    context = getattr(error, "ctx", None)
    if context is not None:
        tell(context.get_usage(), err=True)
        say(f"Try '{context.command_path} --help' for help.", err=True)
        say("", err=True)
    say(f"Error: {error.format_message()}", err=True)


def _stop(error: Exception) -> NoReturn:
    from dmlcts.specs.errors import TableError

    unavailable = type(error).__name__ == "BackendUnavailable"
    lines = [str(fault) for fault in error.faults] if isinstance(error, TableError) else [str(error)]
    for line in lines[:_MOST_FAULTS]:
        complain(f"dmlcts: {line}")
    if len(lines) > _MOST_FAULTS:
        complain(f"dmlcts: and {len(lines) - _MOST_FAULTS:,} more faults; mend these first")
    sys.exit(UNAVAILABLE if unavailable else USAGE)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `dmlcts run --backend cpu`. " + EXIT_CODES,
)
@click.version_option(package_name="dmlcts", prog_name="dmlcts")
def main() -> None:
    """Judge an implementation of the DirectML element-wise operators by Microsoft's pages."""


main.add_command(departure_commands.baseline)
main.add_command(departure_commands.findings)
main.add_command(report_commands.report)
main.add_command(report_commands.diff)
main.add_command(directml)
for _command in (
    certify_commands.certify, certify_commands.verify, certify_commands.keygen, certify_commands.challenge,
):  # fmt: skip
    main.add_command(_command)


def _backend_options(command: Command) -> Command:
    resumable = command.__name__ == "run"  # a resumed run knows its backend
    for option in (
        click.option("--backend", required=not resumable, metavar="BACKEND", help=_BACKEND_HELP),
        click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
                     help="An option of the backend; repeatable."),
        click.option("--feature-level", metavar="LEVEL", help="Judge at this level (default: the one claimed)."),
        click.option("--strict", "--strict-ieee", is_flag=True, help="Leave no latitude: IEEE 754 behaviour only."),
        click.option("--tables", multiple=True, type=click.Path(), metavar="PATH",
                     help="A file or folder of further operator tables; repeatable."),
    ):  # fmt: skip
        command = option(command)
    return command


def _process_options(command: Command) -> Command:
    for option in (
        click.option("--isolation", type=click.Choice(["process", "none"]),
                     help="Run the implementation in a process of its own, or in this one for debugging "
                     "(default: process for every backend but cpu)."),
        click.option("--timeout", default="30", show_default=True, metavar="SECONDS",
                     help="How long one call of an isolated implementation may take."),
    ):  # fmt: skip
        command = option(command)
    return command


def _selection_options(command: Command) -> Command:
    for option in (
        click.option("--operator", "operators", multiple=True, metavar="NAME",
                     help="Only these (CLIP,ROUND); repeatable."),
        click.option("--data-type", "data_types", multiple=True, metavar="TYPE",
                     help="Only these (FLOAT16,INT8); repeatable."),
        click.option("--clause", "clauses", multiple=True, metavar="GLOB",
                     help="Only these ('clip.cast.*,clip.nan.*'); repeatable."),
    ):  # fmt: skip
        command = option(command)
    return command


@main.command(epilog=EXIT_CODES)
@_selection_options
@_process_options
@_backend_options
@click.option(
    "--profile",
    type=click.Choice(["quick", "full", "certification"]),
    default="quick",
    show_default=True,
    help="How much to generate: quick runs every clause in one or two minutes, full takes longer.",
)
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of everything that is drawn.")
@click.option(
    "--results",
    default="results",
    show_default=True,
    type=click.Path(),
    metavar="DIR",
    help="Where results.json, results.html, junit.xml, records.jsonl and failures/*.yaml go.",
)
@click.option("-n", "workers", default="", metavar="N", help="Run in N processes (or `auto`); needs pytest-xdist.")
@click.option("--shard", metavar="I/N", help="Only the Ith of N parts of the run; `dmlcts merge` joins them.")
@click.option("--resume", type=click.Path(), metavar="DIR",
              help="Continue the run that stopped in this results folder, with its options.")
@click.option("--waivers", type=click.Path(), metavar="FILE",
              help="Failures that somebody answers for, as reports/CERTIFYING.md shows.")  # fmt: skip
@click.option("-x", "stop_at_first", is_flag=True, help="Stop after the first failing test.")
@click.option("--maxfail", type=click.IntRange(1), metavar="N", help="Stop after N failing tests.")
@click.option("-v", "--verbose", is_flag=True, help="A line for every test, and each failure whole where it happens.")
@click.option("-q", "--quiet", is_flag=True, help="Say only which clauses fail, and the verdict.")
@click.pass_context
def run(
    context: click.Context,
    backend: str | None,
    options: tuple[str, ...],
    feature_level: str | None,
    strict: bool,
    tables: tuple[str, ...],
    isolation: str | None,
    timeout: str,
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    clauses: tuple[str, ...],
    profile: str,
    seed: str,
    results: str,
    workers: str,
    shard: str | None,
    resume: str | None,
    waivers: str | None,
    stop_at_first: bool,
    maxfail: int | None,
    verbose: bool,
    quiet: bool,
) -> None:
    r"""Judge a backend and write the records.

    The verdict is CONFORMANT where every clause that the feature level obliges held, NOT_CONFORMANT where one
    did not, INCOMPLETE where one could not be checked. With a selection it is the verdict on the selection alone;
    what its cases show of other clauses is told beside it.

    \b
    dmlcts run --backend cpu
    dmlcts run --backend path/to/mine.py:Backend --operator CLIP --data-type FLOAT16
    dmlcts run --backend cpu -o feature_level=3.0 --profile full --results out
    dmlcts run --resume out

    A run that was stopped, by whatever, continues with --resume: it takes the options from the folder, runs the
    backend that is named there, and refuses where an option given here, a table or the suite differs. Where others
    than you may have written the folder, name the backend again. A shard's own verdict is on its part alone: INCOMPLETE
    unless something failed.
    """
    from dmlcts.reports.outcomes import exit_code
    from dmlcts.specs import UsageError
    from dmlcts.suites import running
    from dmlcts.suites.settings import Settings

    if workers and workers not in ("auto", "logical") and not (workers.isdigit() and int(workers) > 0):
        raise UsageError(f"-n {workers!r} is not a number of processes", "give a whole number above 0, or `auto`")
    if workers:
        _need_xdist()
    given: dict[str, Any] = {
        "options": options, "results": results, "operators": operators, "data_types": data_types,
        "clauses": clauses, "feature_level": feature_level, "profile": profile, "seed": seed, "strict": strict,
        "extra_tables": tables, "isolation": isolation, "timeout": timeout, "shard": shard, "waivers": waivers,
    }  # fmt: skip
    if resume is not None:
        from dmlcts.suites.resuming import resumed_settings

        named = {name for name in context.params if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
        settings = resumed_settings(resume, {"backend": backend, **given}, named)
        if "backend" not in named:
            say(f"dmlcts: {resume} is of a run of {settings.backend}, which is run now")
    elif backend is None:
        raise click.MissingParameter(ctx=context, param_hint="'--backend'", param_type="option")
    else:
        settings = Settings.read(backend=backend, **given)
    if not quiet:
        say(f"dmlcts: seed {settings.seed}, profile {settings.profile}; the same with pytest:")
        say(f"  {running.shown_command(settings)}")
    finished = running.execute(
        settings, workers=workers, verbose=verbose, quiet=quiet, resume=resume is not None,
        most_failures=1 if stop_at_first else maxfail or 0,
    )  # fmt: skip
    assert finished.verdict is not None  # noqa: S101  # execute raises where there is none
    if quiet:
        report_commands.tell_briefly(settings.results, settings.tables)
    report_commands.tell_github(settings.results, settings.tables)
    if finished.complaint is not None:
        sys.exit(USAGE)  # the plugin has said it, below the summary
    sys.exit(exit_code(finished.verdict))


def _need_xdist() -> None:
    import importlib.util

    from dmlcts.specs import UsageError

    if importlib.util.find_spec("xdist") is None:
        raise UsageError("-n needs pytest-xdist, which is not installed", "install it: pip install pytest-xdist")


@main.command()
@click.option("-v", "--verbose", is_flag=True, help="Also say where each is installed from and what its device is.")
def backends(verbose: bool) -> None:
    """List the backends: which are available here, and why the others are not."""
    from dmlcts.suites.consoles import PlainConsole
    from dmlcts.suites.listing import print_backends

    print_backends(PlainConsole(), verbose=verbose)


@main.command(epilog=EXIT_CODES)
@click.argument("parts", nargs=-1, required=True, type=click.Path(), metavar="DIR…")
@click.option("-o", "--results", "results", required=True, type=click.Path(), metavar="DIR",
              help="Where the joined results.json, results.html, junit.xml, records.jsonl and failures/*.yaml go.")
@click.option("--waivers", type=click.Path(), metavar="FILE", help="Failures that somebody answers for.")
def merge(parts: tuple[str, ...], results: str, waivers: str | None) -> None:
    r"""Join the results folders of all shards of a run into what the whole run would have written.

    \b
    dmlcts run --backend cpu --shard 1/2 --results s1
    dmlcts run --backend cpu --shard 2/2 --results s2
    dmlcts merge s1 s2 -o results

    It says what the whole run would have said, and ends with its exit code. Refused where a shard is missing,
    stands twice, did not end, or is of another run: other options, tables, seed, device or version of the suite.
    """
    from dmlcts.reports.outcomes import exit_code
    from dmlcts.reports.terminal import summary
    from dmlcts.suites.consoles import PlainConsole
    from dmlcts.suites.merging import merge as join
    from dmlcts.suites.merging import tables_of
    from dmlcts.suites.settings import valid_waivers

    joined = join(parts, results, say, valid_waivers(waivers))
    tables = tables_of(parts[0])
    say("")
    summary(joined, tables, PlainConsole(file=sys.stdout), folder=results)
    report_commands.tell_github(Path(results), tables)
    sys.exit(exit_code(joined["verdict"]))


@main.command()
@click.argument("failures", nargs=-1, required=True, type=click.Path(), metavar="FILE|DIR…")
@click.option("--repeat", type=click.IntRange(1, 1_000_000), default=1, show_default=True, metavar="N",
              help="Judge each N times: for what does not go wrong every time.")  # fmt: skip
@click.option("--dump", type=click.Path(file_okay=False), metavar="DIR",
              help="Write input, output and acceptable values as .npy, each case in a folder of its own.")
@_process_options
@_backend_options
def replay(
    failures: tuple[str, ...],
    repeat: int,
    dump: str | None,
    backend: str,
    options: tuple[str, ...],
    feature_level: str | None,
    strict: bool,
    tables: tuple[str, ...],
    isolation: str | None,
    timeout: str,
) -> None:
    r"""Judge failing cases again, from files under failures/ or whole results folders, on this or another backend.

    \b
    dmlcts replay results --backend path/to/mine.py:Backend
    dmlcts replay results/failures/clip.*.yaml --backend cpu --dump cases
    dmlcts replay results/failures/execution.*.yaml --backend path/to/mine.py:Backend --repeat 100

    Each is judged on a device that has run nothing yet. Exit code 1 where one fails (with --repeat at least once), else
    4 where the backend has no way to express one, 0 where all pass.
    """
    from dmlcts.suites.replaying import failure_files
    from dmlcts.suites.replaying import replay_all as judge_again
    from dmlcts.suites.settings import Settings

    settings = Settings.read(
        backend=backend, options=options, feature_level=feature_level, strict=strict, extra_tables=tables,
        isolation=isolation, timeout=timeout,
    )  # fmt: skip
    where = None if dump is None else Path(dump)
    found = judge_again(settings, failure_files(failures), tell, where, repeat)
    failed = any(one.failed for one in found)
    sys.exit(NOT_CONFORMANT if failed else 0 if all(one.supported for one in found) else INCOMPLETE)


@main.command()
@_selection_options
@_process_options
@_backend_options
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of everything that is drawn.")
@click.option("--json", "json_path", type=click.Path(), metavar="FILE", help="Also write the fingerprint as JSON.")
def probe(
    backend: str,
    options: tuple[str, ...],
    feature_level: str | None,
    strict: bool,
    tables: tuple[str, ...],
    isolation: str | None,
    timeout: str,
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    clauses: tuple[str, ...],
    seed: str,
    json_path: str | None,
) -> None:
    """Print the fingerprint of a backend: what it does where the pages are silent.

    Nothing here is right or wrong; exit code 1 only where something unsafe or outside every permitted outcome
    was seen.
    """
    from dmlcts.suites.consoles import PlainConsole
    from dmlcts.suites.probing import fingerprint, print_fingerprint, write_fingerprint
    from dmlcts.suites.settings import Settings

    settings = Settings.read(
        backend=backend, options=options, operators=operators, data_types=data_types, clauses=clauses,
        feature_level=feature_level, seed=seed, strict=strict, extra_tables=tables,
        isolation=isolation, timeout=timeout,
    )  # fmt: skip
    found = fingerprint(settings)
    print_fingerprint(found, PlainConsole())
    if json_path is not None:
        write_fingerprint(found, Path(json_path))
        say(f"written: {json_path}")
    sys.exit(NOT_CONFORMANT if found.unsafe else 0)


@main.command()
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    type=click.IntRange(0, (1 << 32) - 1),
    metavar="N",
    help="Seed of all that is drawn; repeatable, the verdicts must not depend on it (default: 0).",
)
@click.option("-n", "workers", type=click.IntRange(1), metavar="N", help="Processes (default: one a core).")
@click.option("--part", type=click.Choice(["all", "mutants", "permitted"]), default="all", show_default=True)
@click.option("--name", "names", multiple=True, metavar="NAME", help="Only this implementation; repeatable.")
@click.option("--pairs", "most_pairs", type=click.IntRange(0), metavar="N",
              help="At most N pairs of permitted implementations, drawn from the seed (default: all).")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List the catalogues and stop.")
@click.option("--json", "json_path", type=click.Path(), metavar="FILE", help="Also write the proof as JSON.")
@click.option("--html", "html_path", type=click.Path(), metavar="FILE", help="Also write the kill matrix as a page.")
def selftest(
    seeds: tuple[int, ...],
    workers: int | None,
    part: str,
    names: tuple[str, ...],
    most_pairs: int | None,
    listing: bool,
    json_path: str | None,
    html_path: str | None,
) -> None:
    """Prove the suite: every broken implementation is caught, under the clause it breaks, and no permitted one is.

    Needs a checkout. Exit code 1 where a mutant survives that the quick profile should kill, where it is killed
    under another clause than the one it breaks, or where a permitted implementation fails.
    """
    import os

    from dmlcts.reports import killmatrix, writing
    from dmlcts.suites import proving
    from dmlcts.suites.consoles import PlainConsole

    if listing:
        mutants, singles, pairs = proving.catalogues()
        for mutant in mutants:
            say(f"{mutant.__name__}  {mutant.clause}  {(mutant.__doc__ or '').splitlines()[0]}")
        say(
            f"{len(mutants)} mutants; {len(singles)} permitted: {', '.join(singles)}; {len(pairs)} pairs of them"
        )
        return
    proof = proving.prove(seeds or (0,), workers or os.cpu_count() or 1, complain,
                          part=part, names=names, most_pairs=most_pairs)  # fmt: skip
    killmatrix.print_proof(proof, PlainConsole())
    if json_path is not None:
        writing.write_json(Path(json_path), proof)
    if html_path is not None:
        writing.write_text(Path(html_path), killmatrix.html(proof))
    sys.exit(NOT_CONFORMANT if killmatrix.unexpected(proof) else 0)


@main.group(cls=Commands)
def spec() -> None:
    """Read, check, trace and compare the spec tables."""


_tables_option = click.option("--tables", multiple=True, type=click.Path(), metavar="PATH",
                              help="A file or folder of further operator tables; repeatable.")  # fmt: skip


@spec.command()
@click.argument("name", required=False, metavar="[OPERATOR|CLAUSE]")
@_tables_option
def show(name: str | None, tables: tuple[str, ...]) -> None:
    """Print the operators, an operator's table, or clauses, for a person.

    Such as `dmlcts spec show CLIP`, `dmlcts spec show tensor.strides.output`, `dmlcts spec show 'clip.cast.*'`.
    """
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.consoles import PlainConsole
    from dmlcts.suites.listing import print_clauses, print_operator, print_operators

    loaded = load_tables(*map(Path, tables))
    if name is None:
        print_operators(PlainConsole(), loaded)
    elif "." in name:
        print_clauses(PlainConsole(), loaded, name)
    else:
        print_operator(PlainConsole(), loaded, loaded.operator(name))


@spec.command()
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]…")
def lint(paths: tuple[str, ...]) -> None:
    """Check the built-in tables, together with the files and folders given.

    Every fault is told with file, line, column, cause and mend; exit code 2 where there is one.
    """
    from dmlcts.reports.wording import many
    from dmlcts.specs.loading import load_tables

    loaded = load_tables(*map(Path, paths))
    counted = (("table", loaded.digests), ("clause", loaded.clauses), ("operator", loaded.operators))
    say(f"{', '.join(many(len(members), noun) for noun, members in counted)}: no fault")


@spec.command()
@_tables_option
@click.option("--proof", type=click.Path(), metavar="FILE",
              help="What `dmlcts selftest --json` wrote: also say how many mutants each clause alone caught.")
def coverage(tables: tuple[str, ...], proof: str | None) -> None:
    """List clause by clause which tests check it and how many mutants break it, and which combinations are tried.

    For each operator and data type: the pairs of levels (see specs/shared/factors.yaml), those that the quick
    profile asks for, and those that are left out, with the constraint or the cost that is the reason. Exit code 1
    where no test checks a clause, or a pair that is asked for is missing.
    """
    from collections import Counter

    from dmlcts.reports.killmatrix import load_proof, powers
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.combinations.listing import print_combinations
    from dmlcts.suites.listing import print_coverage
    from dmlcts.suites.proving import NoCatalogue, catalogues
    from dmlcts.suites.running import collected_clauses

    try:
        declared: Counter[str] | None = Counter(mutant.clause for mutant in catalogues()[0])
    except NoCatalogue:
        declared = None  # an installed copy has no mutants to count
    alone = None if proof is None else powers(load_proof(proof))
    loaded = load_tables(*map(Path, tables))
    unchecked = print_coverage(loaded, collected_clauses(tables), say, declared, alone)
    missed = print_combinations(loaded, say)
    sys.exit(NOT_CONFORMANT if unchecked or missed else 0)


@spec.command()
@click.argument("pages", nargs=-1, required=True, type=click.Path(), metavar="PAGE.txt…")
@_tables_option
def compare(pages: tuple[str, ...], tables: tuple[str, ...]) -> None:
    """Compare operator pages' texts, in any language, with the tables; exit code 1 where something differs."""
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.listing import compare_pages

    sys.exit(NOT_CONFORMANT if compare_pages(pages, load_tables(*map(Path, tables)), say) else 0)


main.add_command(compare_backends)
sweep_commands.register(main, _backend_options, EXIT_CODES)


if __name__ == "__main__":
    main()
