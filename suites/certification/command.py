"""The command `dmlcts certify`: its closed list of options, for whoever types it and for whoever verifies it.

A submission names the command that made it. A verifier reads that command by the same list, runs nothing of it and
touches none of the files that it names: their paths are plain text here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--backend", required=True, metavar="BACKEND", help="The implementation, as `dmlcts run` takes it."),
    click.option(
        "--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the backend; repeatable."
    ),
    click.option("--feature-level", metavar="LEVEL", help="The level to certify (default: the one the device claims)."),
    click.option(
        "--operators",
        default="all",
        show_default=True,
        metavar="NAMES",
        help="The operators to certify, such as clip,round, or groups; all: every operator for which the "
        "level requires something. The statement names them, and verification covers them.",
    ),
    click.option("--product", required=True, metavar="TEXT", help="The product that is submitted: name and version."),
    click.option("--vendor", required=True, metavar="TEXT", help="The vendor who submits it."),
    click.option("--contact", default="", metavar="TEXT", help="How to reach the vendor."),
    click.option("-o", "--output", required=True, metavar="FILE.zip", help="Where to write the submission."),
    click.option("--key", metavar="FILE", help="The private key that signs it; `dmlcts keygen` makes one."),
    click.option("--waivers", metavar="FILE", help="Failures that you accept, with reasons."),
    click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of all random values."),
    click.option(
        "--challenge", metavar="DIGITS", help="The verifier's challenge (`dmlcts challenge`); it seeds the evidence."
    ),
    click.option(
        "--results", default="results", show_default=True, metavar="DIR", help="Folder for the run's own records."
    ),
    click.option(
        "--from",
        "parts",
        multiple=True,
        metavar="DIR",
        help="Certify the results of `dmlcts run --profile certification` in this folder instead of "
        "running now; repeatable, once for each --shard.",
    ),
    click.option("-n", "workers", default="", metavar="N", help="Run in N processes (or `auto`); needs pytest-xdist."),
    click.option(
        "--isolation",
        type=click.Choice(["process", "none"]),
        default="process",
        show_default=True,
        help="`none` makes a draft.",
    ),
    click.option(
        "--timeout",
        default="30",
        show_default=True,
        metavar="SECONDS",
        help="Time limit for one call of the implementation.",
    ),
    click.option("--draft", is_flag=True, help="Write a draft of what cannot be certified; it states the reasons."),
    click.option(
        "--profile",
        type=click.Choice(["quick", "full", "certification"]),
        default="certification",
        show_default=True,
        help="Any other profile makes a draft.",
    ),
)


def certify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `dmlcts certify`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def _nothing(**options: Any) -> None:
    """What the command does where it is only read."""


def certify_words(words: Sequence[str]) -> dict[str, Any]:
    """What the words of a `dmlcts certify` command ask for, by the closed list of its options.

    Returns:
        ``product``, ``vendor``, ``backend``, ``operators``, ``options``, ``seed``, ``challenge``, ``feature_level``,
        ``profile``, and as booleans ``waived``, ``draft`` and ``signed``.

    Raises:
        UsageError: they are no such command.
    """
    from dmlcts.backends.registry import parse_options
    from dmlcts.specs import UsageError
    from dmlcts.suites.certification import evidence

    mend = "a certification takes the options of `dmlcts certify --help` and no others"
    if not words or words[0] != "certify" or {"-h", "--help"} & set(words):
        raise UsageError("the command is not `dmlcts certify`", mend)
    try:
        with click.command("certify")(certify_options(_nothing)).make_context("certify", list(words[1:])) as context:
            options = dict(context.params)
    except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise UsageError(f"the command cannot be read: {message.rstrip('.')}", mend) from None
    if not options["seed"].isdecimal() or len(options["seed"]) > 10:
        raise UsageError(f"the command's seed is {options['seed']!r}", mend)
    plain = ("product", "vendor", "backend", "operators", "feature_level", "profile", "isolation")
    named = {name: options[name] for name in plain}
    return named | {
        "options": dict(parse_options(options["options"])),
        "seed": int(options["seed"]),
        "challenge": evidence.read_challenge(options["challenge"]),
        "waived": options["waivers"] is not None,
        "draft": options["draft"],
        "signed": options["key"] is not None,
    }
