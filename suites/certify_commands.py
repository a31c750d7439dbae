"""``dmlcts certify``, ``dmlcts verify`` and ``dmlcts keygen``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from dmlcts.suites.ending import NO_VERDICT
from dmlcts.suites.saying import say

_EXIT_CODES = "Exit codes: 0 PASS, 1 FAIL, 2 usage error, 4 a draft, or something is left open. " + NO_VERDICT


_CERTIFY_EXIT_CODES = (
    "Exit codes: 0 a submission that passes, 1 something is wrong, 2 usage error, 3 backend unavailable, "
    "4 a draft, or incomplete."
)


# the paths are plain text here: a verifier parses a stranger's command and must not touch the files that it names
@click.command(epilog=_CERTIFY_EXIT_CODES)
@click.option("--backend", required=True, metavar="BACKEND", help="The implementation, as `dmlcts run` takes it.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the backend; repeatable.")
@click.option("--feature-level", metavar="LEVEL", help="The level to certify (default: the one claimed).")
@click.option("--product", required=True, metavar="TEXT", help="What is submitted: name and version.")
@click.option("--vendor", required=True, metavar="TEXT", help="Who submits it.")
@click.option("--contact", default="", metavar="TEXT", help="How to reach them.")
@click.option("-o", "--output", required=True, metavar="FILE.zip", help="The submission.")
@click.option("--key", metavar="FILE",
              help="The private key that signs it; `dmlcts keygen` makes one.")  # fmt: skip
@click.option("--waivers", metavar="FILE", help="Failures that somebody answers for.")
@click.option("--seed", default="0", show_default=True, metavar="N", help="Seed of everything that is drawn.")
@click.option("--challenge", metavar="DIGITS",
              help="What whoever verifies handed out (`dmlcts challenge`); the evidence is drawn from it.")  # fmt: skip
@click.option("--results", default="results", show_default=True, metavar="DIR",
              help="Where the run's own records go.")  # fmt: skip
@click.option("--from", "parts", multiple=True, metavar="DIR",
              help="Certify what `dmlcts run --profile certification` left in this folder, instead of running now; "
              "repeatable, one for each --shard.")  # fmt: skip
@click.option("-n", "workers", default="", metavar="N", help="Run in N processes (or `auto`); needs pytest-xdist.")
@click.option("--isolation", type=click.Choice(["process", "none"]), default="process", show_default=True,
              help="Without a process of its own, the implementation gets a draft.")  # fmt: skip
@click.option("--timeout", default="30", show_default=True, metavar="SECONDS",
              help="How long one call of the implementation may take.")  # fmt: skip
@click.option("--draft", is_flag=True, help="Make a draft of what cannot be certified; it says why it is one.")
@click.option("--profile", type=click.Choice(["quick", "full", "certification"]), default="certification",
              show_default=True, help="Anything but certification gives a draft.")  # fmt: skip
def certify(**given: Any) -> None:
    r"""Run the certification profile and make a submission of it.

    Refused from a modified checkout, from a version that is no release, without a key, and where the verdict is
    not CONFORMANT; --draft makes a marked draft instead, which certifies nothing. The steps are in
    reports/CERTIFYING.md.

    \b
    dmlcts keygen vendor
    dmlcts certify --backend mine --feature-level 5.0 --product "Driver 1.2" --vendor ACME \
      --key vendor.key -o submission.zip
    """
    from dmlcts.reports.outcomes import exit_code
    from dmlcts.suites import certifying

    made = certifying.certify(certifying.Order.of(given, sys.argv[1:]), say)
    sys.exit(exit_code(made))


@click.command(epilog=_EXIT_CODES)
@click.argument("submission", type=click.Path(), metavar="SUBMISSION.zip")
@click.option("--trust", "trusted", multiple=True, type=click.Path(), metavar="FILE.pub",
              help="A public key whose signature counts; repeatable.")  # fmt: skip
@click.option("--markdown", "page", type=click.Path(), metavar="FILE", help="Also write the verification as a page.")
@click.option("--challenge", metavar="DIGITS",
              help="The challenge that you handed out: the evidence must be drawn from it.")  # fmt: skip
@click.option("--waivers-on", "day", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY",
              help="Say whether its waivers held on this day, as 2027-01-31 (default: today).")  # fmt: skip
def verify(submission: str, trusted: tuple[str, ...], page: str | None, challenge: str | None,
           day: datetime | None) -> None:
    """Verify a submission, on any machine and without a device; nothing in it is believed.

    The verdict is derived again from the records and this installation's tables, and the outputs that the
    submission carries are judged again on inputs that are made here.
    """
    from dmlcts.reports.certification.identity import Reference
    from dmlcts.reports.certification.signing import load_public
    from dmlcts.reports.writing import write_text
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites import evidence, reverifying

    keys = [load_public(path) for path in trusted]
    drawn = evidence.read_challenge(challenge)
    ours, on = Reference.here(load_tables()), day and day.date()
    found = reverifying.verify(submission, ours, trusted=keys, day=on, challenge=drawn)
    for line in found.text():
        say(line)
    if page is not None:
        write_text(Path(page), found.markdown(Path(submission).name))
        say(f"written: {page}")
    sys.exit(found.exit_code)


@click.command()
def challenge() -> None:
    """Print a challenge to hand out before a certification.

    Whoever certifies gives it to `dmlcts certify --challenge`, and you give it to `dmlcts verify --challenge`: then
    the sampled part of the evidence cannot have been prepared before you handed it out. Use each one once.
    """
    from dmlcts.suites.evidence import new_challenge

    say(new_challenge())


@click.command()
@click.argument("name", type=click.Path(), metavar="NAME")
def keygen(name: str) -> None:
    """Make a pair of keys: NAME.key signs and stays secret, NAME.pub goes to whoever verifies."""
    from dmlcts.reports.certification.signing import generate

    private, public = Path(f"{name}.key"), Path(f"{name}.pub")
    print_of_key = generate(private, public)
    say(f"written: {private} (keep it secret), {public} (hand it out)")
    say(f"fingerprint: {print_of_key}")


def certify_words(words: Sequence[str]) -> dict[str, Any]:
    """What the words of a `dmlcts certify` command ask for, by the closed list of its options.

    Returns:
        ``product``, ``vendor``, ``backend``, ``options``, ``seed``, ``challenge``, ``feature_level``, ``profile``, and
        as booleans ``waived``, ``draft`` and ``signed``.

    Raises:
        UsageError: they are no such command.
    """
    from dmlcts.backends.registry import parse_options
    from dmlcts.specs import UsageError
    from dmlcts.suites import evidence

    mend = "a certification takes the options of `dmlcts certify --help` and no others"
    if not words or words[0] != "certify" or {"-h", "--help"} & set(words):
        raise UsageError("the command is not `dmlcts certify`", mend)
    try:
        with certify.make_context("certify", list(words[1:])) as context:
            given = dict(context.params)
    except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise UsageError(f"the command cannot be read: {said.rstrip('.')}", mend) from None
    if not given["seed"].isdecimal() or len(given["seed"]) > 10:
        raise UsageError(f"the command's seed is {given['seed']!r}", mend)
    named = {name: given[name] for name in ("product", "vendor", "backend", "feature_level", "profile", "isolation")}
    return named | {
        "options": dict(parse_options(given["options"])),
        "seed": int(given["seed"]),
        "challenge": evidence.read_challenge(given["challenge"]),
        "waived": given["waivers"] is not None,
        "draft": given["draft"],
        "signed": given["key"] is not None,
    }
