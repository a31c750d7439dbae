"""``dmlcts site``: kept results as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.options.command_line import options_of


@click.command()
@click.argument("results", nargs=-1, type=click.Path(), metavar="[RESULTS]…")
@options_of("site")
@judges_nothing
def site(
    results: tuple[str, ...],
    output: str,
    baselines: tuple[str, ...],
    histories: tuple[str, ...],
    pairs: str | None,
    strict_tables: bool,
    extra_tables: tuple[str, ...],
) -> None:
    r"""Make a static site of results: operators by implementations, with the evidence of every cell.

    RESULTS are results.json[.gz] files or folders of runs (default: those kept in the repository). The site needs no
    server, no network and no script. It is written whole or not at all. It replaces an earlier site, and no other
    folder. Results of different tables or of a modified suite are marked on every page.

    \b
    dmlcts site --output site
    dmlcts site kept/*.results.json.gz --baseline mine.yaml --output site
    dmlcts site results --strict-tables --output site
    """
    from dmlcts.reports.site.folder import check_place, write_site
    from dmlcts.reports.site.kept import collected, read_kept
    from dmlcts.reports.site.pages import site_files
    from dmlcts.reports.site.sources import Sources, read_baselines, read_histories, read_pairs
    from dmlcts.specs.loading import load_tables
    from dmlcts.specs.number_text import many
    from dmlcts.suites.checkout import kept_histories, kept_pairs, kept_results
    from dmlcts.suites.running.results_page import kept_baselines

    place = Path(output)
    check_place(place)
    shipped = not results
    ready = pairs or (kept_pairs() if shipped else None)
    collection = collected(read_kept(results or kept_results()), strict_tables)
    sources = Sources(
        collection,
        read_baselines(baselines or (kept_baselines() if shipped else ())),
        read_histories(histories or (kept_histories() if shipped else ())),
        read_pairs(ready) if ready is not None else {},
        load_tables(*map(Path, extra_tables)),
    )
    files = site_files(sources)
    write_site(place, files)
    if collection.mixture:
        print_line(f"note: {collection.mixture}")
    size = sum(map(len, files.values()))
    print_line(f"written: {output}: {many(len(files), 'file')}, {size / 1e6:.1f} MB; open {place / 'index.html'}")
