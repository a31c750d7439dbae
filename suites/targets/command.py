"""``dmlcts providers``: the runtimes that users of DirectML move to, each in an environment of its own."""

from __future__ import annotations

import sys

import click

from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import Commands, complain, print_line
from dmlcts.suites.options.command_line import options_of

UNAVAILABLE = 3


@click.group(cls=Commands)
def providers() -> None:
    r"""Fetch the runtimes that users of DirectML move to, each into an environment of its own.

    \b
    dmlcts providers list
    dmlcts providers fetch onnxruntime-openvino
    """


@providers.command("list")
@judges_nothing
def list_targets() -> None:
    r"""List the runtimes, what judges each, whether it is fetched, and why it cannot run here.

    \b
    dmlcts providers list
    """
    from dmlcts.specs.cache import cache_folder
    from dmlcts.suites.targets.environment import Environment
    from dmlcts.suites.targets.target import shipped_targets

    for target in shipped_targets():
        environment = Environment(target, cache_folder())
        opened = environment.opened()
        if opened is not None:
            state = "fetched" if opened.startswith("opened") else f"fetched; {opened}"
        else:
            state = target.lacking() or "not fetched"
        print_line(f"{target.name:26} {state}")
        print_line(f"    {target.title}: {', '.join(target.packages)}")
        for text in (target.note, f"terms of {target.terms.holder}" if target.terms else ""):
            if text:
                print_line(f"    {text}")
        print_line(f"    {environment.command if opened else 'dmlcts providers fetch ' + target.name}")


@providers.command()
@click.argument("name", metavar="NAME")
@options_of("providers fetch")
@judges_nothing
def fetch(name: str, accept_terms: bool, index_url: str, suite: str) -> None:
    r"""Install a runtime with pip into an environment of its own, and print the command that judges it.

    NAME is one of `dmlcts providers list`. The environment is in the cache (DMLCTS_CACHE), with this suite in it.
    A fetch that was cut off goes on where it stopped. The runtime is opened once, which may take minutes: some compile
    a model for each operator and type. Exit code 0 if it opens, 3 if it does not or cannot be fetched.

    \b
    dmlcts providers fetch onnxruntime-openvino
    dmlcts providers fetch onnxruntime-qnn --accept-terms
    """
    from dmlcts.specs.cache import cache_folder
    from dmlcts.suites.targets.environment import Environment
    from dmlcts.suites.targets.target import target_of

    environment = Environment(target_of(name), cache_folder())
    opened = environment.fetch(complain, accept_terms, index_url, suite)
    print_line(opened)
    if not opened.startswith("opened"):
        sys.exit(UNAVAILABLE)
    print_line(f"judge it: {environment.command}")
