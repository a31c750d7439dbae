"""``dmlcts certify``, ``dmlcts verify`` and ``dmlcts keygen``."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from dmlcts.suites.certification.command import certify_options
from dmlcts.suites.console.exit_codes import NO_VERDICT
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.saying import say

_EXIT_CODES = "Exit codes: 0 PASS, 1 FAIL, 2 usage error, 4 a draft, or something is left open. " + NO_VERDICT


_CERTIFY_EXIT_CODES = (
    "Exit codes: 0 a submission that passes, 1 something is wrong, 2 usage error, 3 backend unavailable, "
    "4 a draft, or incomplete."
)


@click.command(epilog=_CERTIFY_EXIT_CODES)
@certify_options
def certify(**given: Any) -> None:
    r"""Run the certification profile and make a submission of it.

    Refused where a file of the suite was modified, without a key, and where the verdict is not CONFORMANT; --draft
    makes a marked draft instead, which certifies nothing and ends with 4. The steps are in reports/CERTIFYING.md.

    \b
    dmlcts keygen vendor
    dmlcts certify --backend mine --feature-level 5.0 --product "Driver 1.2" --vendor ACME \
      --key vendor.key -o submission.zip
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.suites.certification import submit

    made = submit.certify(submit.Order.of(given, sys.argv[1:]), say)
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
def verify(
    submission: str, trusted: tuple[str, ...], page: str | None, challenge: str | None, day: datetime | None
) -> None:
    """Verify a submission, on any machine and without a device; nothing in it is believed.

    The verdict is derived again from the records and this installation's tables, and the outputs that the
    submission carries are judged again on inputs that are made here.
    """
    from dmlcts.reports.certification.identity import Reference
    from dmlcts.reports.certification.signing import load_public
    from dmlcts.reports.documents.writing import write_text
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.certification import evidence
    from dmlcts.suites.certification import verify as reverifying

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
@judges_nothing
def challenge() -> None:
    """Print a challenge to hand out before a certification.

    Whoever certifies gives it to `dmlcts certify --challenge`, and you give it to `dmlcts verify --challenge`: then
    the sampled part of the evidence cannot have been prepared before you handed it out. Use each one once.
    """
    from dmlcts.suites.certification.evidence import new_challenge

    say(new_challenge())


@click.command()
@click.argument("name", type=click.Path(), metavar="NAME")
@judges_nothing
def keygen(name: str) -> None:
    """Make a pair of keys: NAME.key signs and stays secret, NAME.pub goes to whoever verifies."""
    from dmlcts.reports.certification.signing import generate

    private, public = Path(f"{name}.key"), Path(f"{name}.pub")
    print_of_key = generate(private, public)
    say(f"written: {private} (keep it secret), {public} (hand it out)")
    say(f"fingerprint: {print_of_key}")
