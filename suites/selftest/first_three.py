"""CLIP, ROUND and THRESHOLD alone: tables of the size that most selftests need.

What a selftest shows of the judge on three operators it would show on all of them, in ten times the time; the family
has selftests of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.mutants.first_three import FIRST_THREE

SELECTED = "CLIP,ROUND,THRESHOLD"
"""The operators, as ``--operator`` takes them."""


@cache
def first_three() -> Tables:
    """The tables without those of other operators, read once."""
    whole = load_tables()
    return replace(whole, operators={name: whole.operators[name] for name in FIRST_THREE})
