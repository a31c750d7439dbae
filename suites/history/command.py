"""``dmlcts history`` and ``dmlcts bisect``: since which release of a package a departure exists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.suites.console.saying import complain, say

if TYPE_CHECKING:
    from dmlcts.suites.history.judging import Judging

UNAVAILABLE = 3
_VERSIONS = click.option(
    "--versions",
    default="",
    metavar="LIST",
    help="Releases and ranges, such as 1.19.2,1.22.0..1.24.4, or all (default: the last of each minor release).",
)
_TERMS = click.option("--accept-terms", is_flag=True, help="directml only: accept the library's terms, shown first.")
_KEEP = click.option("--keep", is_flag=True, help="Keep the installed releases after judging them.")
_INDEX = click.option(
    "--index-url",
    default="",
    metavar="URL",
    help="onnxruntime and torch only: the index, such as PyTorch's index of CPU builds.",
)
_OPERATOR = click.option("--operator", "operators", multiple=True, metavar="NAME", help="Only these; repeatable.")
_TYPE = click.option("--data-type", "data_types", multiple=True, metavar="TYPE", help="Only these types; repeatable.")
_NAMES = "directml|onnxruntime|torch"


def _judging(
    package: str,
    accepted: bool,
    keep: bool,
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    clauses: tuple[str, ...],
    index: str,
) -> Judging:
    from dmlcts.specs.cache import cache_folder
    from dmlcts.suites.history import packages
    from dmlcts.suites.history.judging import Judging
    from dmlcts.suites.running.options import Settings

    settings = Settings.read(operators=operators, data_types=data_types, clauses=clauses)
    chosen = (("--operator", operators), ("--data-type", data_types), ("--clause", clauses))
    arguments = [f"{option}={value}" for option, values in chosen for value in values]
    return Judging(
        packages.package(package, accepted, index), cache_folder(), arguments, settings.tables, keep, complain
    )


@click.command()
@click.argument("package", required=False, default="", metavar=f"[{_NAMES}]")
@_VERSIONS
@_OPERATOR
@_TYPE
@click.option("--clause", "clauses", multiple=True, metavar="GLOB", help="Only these clauses; repeatable.")
@_TERMS
@_INDEX
@_KEEP
@click.option(
    "--from",
    "written",
    type=click.Path(),
    metavar="FILE",
    help="Judge nothing; print the history in this file, which --json wrote.",
)
@click.option("--json", "json_path", type=click.Path(), metavar="FILE", help="Also write the history as JSON.")
@click.option("--html", "html_path", type=click.Path(), metavar="FILE", help="Also write it as one page.")
@click.option("--markdown", "markdown_path", type=click.Path(), metavar="FILE", help="Also write it as Markdown.")
def history(
    package: str,
    versions: str,
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    clauses: tuple[str, ...],
    accept_terms: bool,
    index_url: str,
    keep: bool,
    written: str | None,
    json_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
) -> None:
    r"""Judge the releases of a package with this suite, and list which release has which departure.

    pip fetches each release into the cache, and its own processes judge it. Results with the same selection and tables
    come from the cache, so an interrupted history continues. A release that cannot be fetched or loaded is listed with
    the reason, and the history goes on. Exit code 0 whatever the result, 3 if no release could be judged.

    torch is judged on the CPU only. PyPI's wheels for Linux are CUDA builds. They are installed without CUDA's
    libraries; instead, compiled stand-ins (by cc, gcc, clang or CC) register kernels, compute nothing, and end the
    process if anything else calls them. A release takes about 2 GB of disk until it is judged. --index-url with
    PyTorch's index of CPU builds needs none of that.

    \b
    dmlcts history directml --accept-terms --operator CLIP,ROUND,THRESHOLD
    dmlcts history onnxruntime --versions 1.19.2..1.24.4 --operator CLIP --json history.json
    dmlcts history torch --versions 2.6.0,2.15.0 --operator CLIP --data-type FLOAT16
    dmlcts history --from history.json --markdown history.md --html history.html
    """
    from dmlcts.reports.comparing import history as histories
    from dmlcts.reports.documents.writing import write_json, write_text
    from dmlcts.specs import UsageError
    from dmlcts.suites.console.plain import PlainConsole
    from dmlcts.suites.history import packages

    document: dict[str, Any]
    if written is not None:
        if package:
            raise UsageError("a history that is read again is of its own package", f"leave out {package}")
        for option, value in (
            ("--versions", versions),
            ("--operator", operators),
            ("--data-type", data_types),
            ("--clause", clauses),
            ("--index-url", index_url),
        ):
            if value:
                raise UsageError("what is read from a file is not judged again", f"leave out {option}")
        document = histories.load_history(written)
    elif not package:
        raise UsageError("there is no package to judge", f"write {_NAMES.replace('|', ', ', 1).replace('|', ' or ')}")
    else:
        judging = _judging(package, accept_terms, keep, operators, data_types, clauses, index_url)
        releases = [judging.judge(version) for version in packages.chosen(judging.package.versions(), versions)]
        document = histories.history_of(package, releases)
    histories.print_history(document, PlainConsole())
    for path, text in ((html_path, histories.html), (markdown_path, histories.markdown)):
        if path is not None:
            write_text(Path(path), text(document))
    if json_path is not None:
        write_json(Path(json_path), document)
    for path in (json_path, html_path, markdown_path):
        if path is not None:
            say(f"written: {path}")
    if not any(release["verdict"] for release in document["releases"]):
        sys.exit(UNAVAILABLE)


@click.command()
@click.argument("package", metavar=_NAMES)
@click.option(
    "--clause",
    "clauses",
    multiple=True,
    required=True,
    metavar="GLOB",
    help="The clause that the release breaks; repeatable.",
)
@_OPERATOR
@_TYPE
@_VERSIONS
@_TERMS
@_INDEX
@_KEEP
def bisect(
    package: str,
    clauses: tuple[str, ...],
    operators: tuple[str, ...],
    data_types: tuple[str, ...],
    versions: str,
    accept_terms: bool,
    index_url: str,
    keep: bool,
) -> None:
    r"""Find the release of a package that introduced a departure, by bisection.

    The newest release must break the clause and the oldest must pass it. A release that cannot be judged is skipped.

    \b
    dmlcts bisect onnxruntime --clause clip.monotone --data-type INT64
    dmlcts bisect directml --clause clip.bounds.infinite --data-type FLOAT16 --accept-terms --versions all
    """
    from dmlcts.suites.history import packages
    from dmlcts.suites.history.judging import bisect as search

    judging = _judging(package, accept_terms, keep, operators, data_types, clauses, index_url)
    wanted = packages.chosen(judging.package.versions(), versions)
    result = search(judging, wanted)
    text = f"{result.judged} of {len(wanted)} releases judged"
    if result.wrong is None:
        say(f"{package} {result.right}, the newest, passes the clause ({text})")
    elif result.right is None:
        say(f"{package} {result.wrong}, the oldest that could be judged, departs from the clause already ({text})")
    else:
        say(f"{package} {result.wrong} is the first that departs; {result.right} holds the clause ({text})")
