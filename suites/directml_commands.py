"""The commands of ``dmlcts directml``: getting Microsoft's library."""

from __future__ import annotations

import click

from dmlcts.suites.saying import Commands, say


@click.group(cls=Commands)
def directml() -> None:
    """Microsoft's DirectML library: get it, to judge it."""


@directml.command()
def fetch() -> None:
    """Download Microsoft's DirectML for Linux into the cache, out of the wheel torch-directml on PyPI.

    pip downloads the wheel, 25 MB, without its dependencies. The library is checked by its SHA-256 and kept with its
    licence (MIT); the rest is thrown away. Where it is there already, nothing is downloaded. The cache is
    DMLCTS_CACHE, else dmlcts in XDG_CACHE_HOME or ~/.cache.
    """
    from dmlcts.backends.directml.cache import cache_folder
    from dmlcts.backends.directml.fetching import fetch as fetch_library

    fetch_library(cache_folder(), say)
