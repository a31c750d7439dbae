"""Draws: the cases that a test draws for a subject, as many as the profile says."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.drawn import values
from dmlcts.suites.generation.drawn.layouts import Form, Kinds, Layout, drawn_layouts
from dmlcts.suites.generation.drawn.values import Generator
from dmlcts.suites.generation.signature_tensors import named
from dmlcts.suites.generation.subject import Subject


def generators(subject: Subject, test: str) -> Iterator[Generator]:
    """A generator for each case that a test draws; it follows from the seed, the test and the subject.

    Args:
        subject: the subject.
        test: a word that no other test of the subject's has.
    """
    for number in range(subject.profile.examples):
        yield generator(subject, test, number)


def generator(subject: Subject, test: str, number: int) -> Generator:
    """The generator of one of the cases that a test draws."""
    about = f"{test} {subject.table.short_name} {named(subject.signature)}"
    return np.random.Generator(np.random.PCG64([subject.seed, zlib.crc32(about.encode()), number]))


def drawn_cases(
    subject: Subject, layout_clause: str | None, kinds: Kinds, expectation: str = "oracle"
) -> Iterator[Case]:
    """Cases with layouts, attributes, values and places drawn."""
    layouts = drawn_layouts(Form.of(subject), kinds, subject.seed, subject.profile.examples)
    for number, layout in enumerate(layouts):
        yield case_of(subject, layout, layout_clause, expectation, number)


def case_of(subject: Subject, layout: Layout, layout_clause: str | None, expectation: str, number: int) -> Case:
    """The case of a layout that was drawn, with the attributes and values of its number."""
    source = generator(subject, f"{layout_clause} {expectation}", number)
    chosen = values.attributes(subject, source)
    stream = values.values(subject, source)
    operator = layout.describe(subject, chosen)
    return Case(operator, stream, subject.values_clause(chosen), layout_clause, expectation, layout.placement)
