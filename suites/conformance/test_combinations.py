"""Combinations: nothing goes wrong only where two or three things come together.

Each row of a covering array (see ``combinations/``) is one case: quick covers every pair of levels of the factors in
``specs/shared/factors.yaml``, full and certification every triple. The rows are shared out by the clause that their
values speak about.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.specs.checks import SharedCheck
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.combinations.rows import cheap_cases, planned_cases
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

LAYOUTS: tuple[SharedCheck, ...] = (
    "tensor.strides.packed",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.broadcast",
    "tensor.strides.output",
    "tensor.position",
    "tensor.total-size.larger",
    "binding.offset",
    "binding.same-resource",
    "execution.repeatable",
    "execution.independent",
)


def _cases(subject: Subject, judge: Judge, *, scaled: bool) -> Iterator[Case]:
    """The rows with a ScaleBias, or those without; an operator of several types has all of them in the latter's test.

    POW takes 64 pairs of types: what all of them are tried with is in ``test_scale_bias``.
    """

    def mine(recipe: Recipe) -> bool:
        return (subject.of_one_type and recipe.level("scale-bias") not in (None, "none")) == scaled

    return planned_cases(subject, judge.bench.tables, mine)


@checks("tensor.position", *LAYOUTS)
def test_every_combination(subject: Subject, judge: Judge) -> None:
    """Attributes, sizes, strides, placements, values and histories together; of one type without a ScaleBias."""
    judge.all(_cases(subject, judge, scaled=False))


@checks("scale-bias", *LAYOUTS)
def test_every_combination_with_scale_bias(subject: Subject, judge: Judge) -> None:
    """The same with every kind of ScaleBias, on floating-point types."""
    judge.all(_cases(subject, judge, scaled=True))


@checks("scale-bias.integer", *LAYOUTS)
def test_every_combination_with_scale_bias_on_integers(subject: Subject, judge: Judge) -> None:
    """The same with every kind of ScaleBias, on integer types."""
    judge.all(_cases(subject, judge, scaled=True))


@checks("values", *LAYOUTS, remaining=True)
def test_combinations_on_the_remaining_signatures(subject: Subject, judge: Judge) -> None:
    """The same on signatures that other tests of layouts leave out in quick, but for levels that take time.

    A kernel of one type may be wrong in place at one rank alone, or with strides of two tensors alone. Operators with
    many signatures share the rows out among them.
    """
    judge.all(cheap_cases(subject, judge.bench.tables))
