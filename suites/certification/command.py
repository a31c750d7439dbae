"""The command `dmlcts certify` as a verifier reads it, by the closed list of its options in the table of options.

A submission names the command that made it. A verifier reads that command by the same list, runs nothing of it and
touches none of the files that it names: their paths are plain text here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from dmlcts.suites.options.command_line import options_of


def _nothing(**options: Any) -> None:
    """What the command does where it is only read."""


_READ = click.command("certify")(options_of("certify")(_nothing))


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
        with _READ.make_context("certify", list(words[1:])) as context:
            mapping = dict(context.params)
    except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise UsageError(f"the command cannot be read: {text.rstrip('.')}", mend) from None
    if not mapping["seed"].isdecimal() or len(mapping["seed"]) > 10:
        raise UsageError(f"the command's seed is {mapping['seed']!r}", mend)
    plain = ("product", "vendor", "backend", "feature_level", "profile", "isolation")
    named = {name: mapping[name] for name in plain} | {"operators": ",".join(mapping["operators"])}
    return named | {
        "options": dict(parse_options(mapping["options"])),
        "seed": int(mapping["seed"]),
        "challenge": evidence.read_challenge(mapping["challenge"]),
        "waived": mapping["waivers"] is not None,
        "draft": mapping["draft"],
        "signed": mapping["key"] is not None,
    }
