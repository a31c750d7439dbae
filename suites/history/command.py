"""``dmlcts history`` and ``dmlcts bisect``: since which release of a package a departure exists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.options.command_line import options_of
from dmlcts.suites.options.table import OPTIONS

if TYPE_CHECKING:
    from dmlcts.suites.history.judging import Judging

UNAVAILABLE = 3
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
    chosen = {"operators": operators, "data_types": data_types, "clauses": clauses}
    arguments = [f"{OPTIONS[name].spelling}={value}" for name, values in chosen.items() for value in values]
    return Judging(
        packages.package(package, accepted, index), cache_folder(), arguments, settings.tables, keep, complain
    )


@click.command()
@click.argument("package", required=False, default="", metavar=f"[{_NAMES}]")
@options_of("history")
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
    libraries; instead, compiled substitutes (by cc, gcc, clang or CC) register kernels, compute nothing, and end the
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
        judged = {"versions": versions, "operators": operators, "data_types": data_types, "clauses": clauses}
        for name, value in (judged | {"index_url": index_url}).items():
            if value:
                mend = f"leave out {OPTIONS[name].spelling}"
                raise UsageError("what is read from a file is not judged again", mend)
        document = histories.load_history(written)
    elif not package:
        raise UsageError("there is no package to judge", f"write {_NAMES.replace('|', ', ', 1).replace('|', ' or ')}")
    else:
        judging = _judging(package, accept_terms, keep, operators, data_types, clauses, index_url)
        releases = [judging.judge(item) for item in packages.chosen(judging.package.versions(), versions)]
        document = histories.history_of(package, releases)
    histories.print_history(document, PlainConsole())
    for path, text in ((html_path, histories.html), (markdown_path, histories.markdown)):
        if path is not None:
            write_text(Path(path), text(document))
    if json_path is not None:
        write_json(Path(json_path), document)
    for path in (json_path, html_path, markdown_path):
        if path is not None:
            print_line(f"written: {path}")
    if not any(item["verdict"] for item in document["releases"]):
        sys.exit(UNAVAILABLE)


@click.command()
@click.argument("package", metavar=_NAMES)
@options_of("bisect")
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
        print_line(f"{package} {result.right}, the newest, passes the clause ({text})")
    elif result.right is None:
        print_line(
            f"{package} {result.wrong}, the oldest that could be judged, departs from the clause already ({text})"
        )
    else:
        print_line(f"{package} {result.wrong} is the first that departs; {result.right} holds the clause ({text})")
