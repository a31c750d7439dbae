"""The command line, ``dmlcts``. Heavy modules are imported by the commands that need them: ``--help`` is quick."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dmlcts.suites.checkout import proof_of_the_suite
from dmlcts.suites.commands import certify, compare, departures, migrate, reports, run, site, spec, sweep
from dmlcts.suites.commands.group import Group
from dmlcts.suites.commands.options import EXIT_CODES, NOT_CONFORMANT
from dmlcts.suites.console.listeners import begin, judges_nothing
from dmlcts.suites.console.printing import Commands, complain, print_line
from dmlcts.suites.history.command import bisect, history
from dmlcts.suites.offline.command import offline
from dmlcts.suites.options.command_line import options_of
from dmlcts.suites.publishing.command import publish
from dmlcts.suites.targets.command import providers

SECTIONS = {
    "Judge": ("backends", "run", "replay", "merge", "probe", "sweep", "offline"),
    "Look": (
        "report",
        "diff",
        "compare",
        "migrate",
        "accuracy",
        "history",
        "bisect",
        "findings",
        "site",
        "publish",
        "spec",
    ),
    "Certify": ("keygen", "certify", "challenge", "verify"),
    "Maintain": ("baseline", "directml", "providers", "runners", "bench", "selftest"),
}
"""The commands by what they are for, as the help lists them."""


@click.group(
    cls=Group,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with `dmlcts run --backend cpu`. " + EXIT_CODES,
)
@click.version_option(package_name="dmlcts", prog_name="dmlcts")
def main() -> None:
    """Judge an implementation of the DirectML element-wise operators by Microsoft's pages."""
    from dmlcts.backends.interpreter import keep_children_safe

    keep_children_safe()


@main.command()
@options_of("backends")
@judges_nothing
def backends(
    verbose: bool,
    check: str | None,
    options: tuple[str, ...],
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    feature_level: str | None,
    timeout: str,
) -> None:
    r"""List the backends and whether each is available here, or try one.

    --check opens the backend in its own process, prints what it claims and how long a dispatch takes, and runs one
    trivial case for each operator and type. It takes seconds and gives no verdict. What fails alike is printed once,
    with the mend; -v lists every operator and type. Exit code 0 if everything works, 1 if something does not, 2 if
    there is no such backend or it refuses an option or the secret, 3 if it cannot be reached. A runner has 4 s to say
    hello (-o patience=SECONDS).

    \b
    dmlcts backends
    dmlcts backends --check path/to/mine.py:Backend
    dmlcts backends --check exec:./my_runner -o adapter=1
    """
    from dmlcts.suites.commands import listing
    from dmlcts.suites.console.plain import PlainConsole

    if check is None:
        listing.print_backends(PlainConsole(), verbose=verbose)
        return
    begin(judging=True)
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.trial.printing import print_trial
    from dmlcts.suites.trial.trial import try_backend

    settings = Settings.read(
        backend=check,
        options=options,
        operators=operators,
        data_types=data_types,
        feature_level=feature_level,
        timeout=timeout,
        isolation="process",
    )
    trial = try_backend(settings)
    print_trial(settings, trial, print_line, verbose=verbose)
    sys.exit(0 if trial.works else NOT_CONFORMANT)


@main.command()
@options_of("selftest")
def selftest(
    seeds: tuple[int, ...],
    workers: int | None,
    part: str,
    names: tuple[str, ...],
    most_mutants: int | None,
    most_permitted: int | None,
    most_pairs: int | None,
    listing: bool,
    json_path: str | None,
    html_path: str | None,
    record_path: str | None,
    kills_path: str | None,
) -> None:
    r"""Prove the suite: it catches every broken implementation under the right clause, and accuses no permitted one.

    Needs a checkout. Exit code 1 if a mutant that the quick profile should kill survives, if a mutant is killed under
    another clause than the one it breaks, or if a permitted implementation fails.

    \b
    dmlcts selftest --part mutants --name BitNotIsNegate
    dmlcts selftest --part permitted --name ZerosAreNegative
    dmlcts selftest --mutants 20 --permitted 2 --pairs 2 --json proof.json
    """
    from dmlcts.backends.processors import usable_processors
    from dmlcts.reports.documents import killmatrix, writing
    from dmlcts.specs import UsageError
    from dmlcts.suites.console.plain import PlainConsole

    proving = proof_of_the_suite()
    if proving is None:
        raise UsageError("the selftest needs the catalogues of a checkout", "run it in one, installed with pip -e")
    if listing:
        mutants, singles, pairs = proving.catalogues()
        for mutant in mutants:
            print_line(f"{mutant.__name__}  {mutant.clause}  {(mutant.__doc__ or '').splitlines()[0]}")
        print_line(
            f"{len(mutants)} mutants; {len(singles)} permitted: {', '.join(singles)}; {len(pairs)} pairs of them"
        )
        return
    if kills_path is not None:
        _print_kills(Path(kills_path))
        return
    workers = workers or usable_processors()
    if record_path is not None:
        from dmlcts.suites.proof.record import record

        record((seeds or (0,))[0], workers, complain, names, Path(record_path))
        _print_kills(Path(record_path))
        return
    proof = proving.prove(
        seeds or (0,),
        workers,
        complain,
        part=part,
        names=names,
        most_mutants=most_mutants,
        most_permitted=most_permitted,
        most_pairs=most_pairs,
    )
    killmatrix.print_proof(proof, PlainConsole())
    if json_path is not None:
        writing.write_json(Path(json_path), proof)
    if html_path is not None:
        writing.write_text(Path(html_path), killmatrix.html(proof))
    sys.exit(NOT_CONFORMANT if killmatrix.unexpected(proof) else 0)


@click.group(cls=Commands)
def directml() -> None:
    r"""Download Microsoft's DirectML library, to judge it.

    \b
    dmlcts directml fetch
    dmlcts run --backend directml --operator CLIP
    """


@directml.command()
@options_of("directml fetch")
@judges_nothing
def fetch(windows: str | None, accept_terms: bool) -> None:
    r"""Download Microsoft's DirectML for Linux, from the torch-directml wheel on PyPI, into the cache.

    pip downloads the wheel (25 MB) without its dependencies. The command checks the library's SHA-256, keeps it with
    its licence (MIT) and deletes the rest. A library that is already in the cache is not downloaded again. The cache is
    DMLCTS_CACHE, else dmlcts in XDG_CACHE_HOME or ~/.cache.

    --windows downloads the DirectML.dll that runs on Windows, from a wheel of onnxruntime-directml or torch-directml.
    Linux judges it unchanged: `dmlcts run --backend directml -o library=windows`, or `-o library=1.13.1`.

    \b
    dmlcts directml fetch
    dmlcts directml fetch --windows --accept-terms
    dmlcts directml fetch --windows 1.13.1 --accept-terms
    """
    from dmlcts.backends.directml.loading import fetching, windows_releases
    from dmlcts.specs.cache import cache_folder

    if windows is None:
        fetching.fetch(cache_folder(), print_line)
        return
    windows_releases.fetch(windows_releases.release(windows), cache_folder(), print_line, accept_terms)


@directml.command("list")
@judges_nothing
def list_libraries() -> None:
    r"""List the DirectML libraries that can be fetched, and the paths of those in the cache.

    \b
    dmlcts directml list
    """
    from dmlcts.backends.directml.loading import fetching, windows_releases
    from dmlcts.specs.cache import cache_folder

    cache = cache_folder()
    rows = [("linux", f"{fetching.DISTRIBUTION} {fetching.VERSION}", fetching.fetched_library(cache))]
    rows += [
        (release.version, f"{release.distribution} {release.wheel}", release.library(cache))
        for release in windows_releases.RELEASES
    ]
    for name, wheel, path in rows:
        print_line(f"{name:8} {wheel:32} {path if path.is_file() else 'not fetched'}")
    print_line("-o library=NAME takes one of them; windows is the newest that was fetched")


@click.group(cls=Commands)
def runners() -> None:
    r"""Prepare runners on other machines.

    \b
    dmlcts runners secret secret.txt
    """


@runners.command()
@click.argument("path", type=click.Path(), metavar="FILE")
@judges_nothing
def secret(path: str) -> None:
    r"""Make the secret that a runner and the suite share: 32 random bytes in a new file that only you can read.

    Copy the file to both machines and give it to nobody else. An existing file is not replaced.

    \b
    dmlcts runners secret secret.txt
    dmlcts run --backend tcp:192.0.2.7:47800 -o secret=secret.txt
    """
    from dmlcts.backends.runners.authentication import write_secret

    write_secret(path)
    print_line(f"written: {path}; copy it to both machines, and give it to nobody else")


for _command in (
    run.run,
    run.merge,
    run.replay,
    run.probe,
    compare.compare,
    migrate.migrate,
    reports.report,
    reports.diff,
    reports.accuracy,
    departures.baseline,
    departures.findings,
    site.site,
    publish,
    certify.certify,
    certify.verify,
    certify.keygen,
    certify.challenge,
    spec.spec,
    directml,
    providers,
    runners,
    history,
    bisect,
    offline,
    sweep.sweep,
    sweep.bench,
):
    main.add_command(_command)


if __name__ == "__main__":
    main()


def _print_kills(path: Path) -> None:
    """Print what a record of kills says."""
    from dmlcts.suites.proof.record import load_record, summary

    for line in summary(load_record(path)):
        print_line(line)
