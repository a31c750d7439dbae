"""``dmlcts certify``, ``dmlcts verify`` and ``dmlcts keygen``."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from dmlcts.suites.console.exit_codes import NO_VERDICT
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.options.command_line import options_of

_EXIT_CODES = "Exit codes: 0 PASS, 1 FAIL, 2 usage error, 4 a draft, or something could not be decided. " + NO_VERDICT


_CERTIFY_EXIT_CODES = (
    "Exit codes: 0 a submission that passes, 1 something is wrong, 2 usage error, 3 backend unavailable, "
    "4 a draft, or incomplete."
)


@click.command(epilog=_CERTIFY_EXIT_CODES)
@options_of("certify")
def certify(**options: Any) -> None:
    r"""Run the certification profile and write a signed submission.

    It is an error if a file of the suite was modified, if no key is given, or if the verdict is not CONFORMANT.
    --draft writes a marked draft instead, which certifies nothing, and exits 4. Steps: reports/CERTIFYING.md.

    \b
    dmlcts keygen vendor
    dmlcts certify --backend mine.py:Backend --feature-level 5.0 --product "Driver 1.2" --vendor ACME \
      --key vendor.key --output submission.zip
    """
    from dmlcts.reports.documents.outcomes import exit_code
    from dmlcts.suites.certification import submit

    made = submit.certify(submit.Order.of(options, sys.argv[1:]), print_line)
    sys.exit(exit_code(made))


@click.command(epilog=_EXIT_CODES)
@click.argument("submission", type=click.Path(), metavar="SUBMISSION.zip")
@options_of("verify")
def verify(
    submission: str, trusted: tuple[str, ...], markdown_path: str | None, challenge: str | None, day: datetime | None
) -> None:
    r"""Verify a submission on any machine, without a device and without trusting its contents.

    The command derives the verdict again from the records and this installation's tables, and judges the submitted
    outputs again on inputs that it generates itself.

    \b
    dmlcts verify submission.zip --trust vendor.pub
    dmlcts verify submission.zip --trust vendor.pub --markdown verification.md
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
    verification = reverifying.verify(submission, ours, trusted=keys, day=on, challenge=drawn)
    for line in verification.text():
        print_line(line)
    if markdown_path is not None:
        write_text(Path(markdown_path), verification.markdown(Path(submission).name))
        print_line(f"written: {markdown_path}")
    sys.exit(verification.exit_code)


@click.command()
@judges_nothing
def challenge() -> None:
    r"""Print a challenge to give to a vendor before a certification.

    The vendor passes it to `dmlcts certify --challenge`, you pass it to `dmlcts verify --challenge`. The sampled part
    of the evidence then cannot have been prepared before you gave it out. Use each challenge once.

    \b
    dmlcts challenge
    """
    from dmlcts.suites.certification.evidence import new_challenge

    print_line(new_challenge())


@click.command()
@click.argument("name", type=click.Path(), metavar="NAME")
@judges_nothing
def keygen(name: str) -> None:
    r"""Make a key pair: NAME.key signs and stays secret, NAME.pub goes to the verifiers.

    \b
    dmlcts keygen vendor
    """
    from dmlcts.reports.certification.signing import generate

    private, public = Path(f"{name}.key"), Path(f"{name}.pub")
    print_of_key = generate(private, public)
    print_line(f"written: {private} (keep it secret), {public} (hand it out)")
    print_line(f"fingerprint: {print_of_key}")
