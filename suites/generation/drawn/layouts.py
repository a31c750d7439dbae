"""Layouts that Hypothesis draws: sizes, strides, places; they shrink to something readable.

Layouts that are not drawn: those of covering arrays are chosen in :mod:`dmlcts.suites.combinations.sizes`, fixed ones
by the tests of ``suites/conformance/tensors`` (``test_strides``, ``test_sizes``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import hypothesis
from hypothesis import strategies as st

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation.drawn.seeding import draw_from_the_seed_alone
from dmlcts.suites.generation.subject import Subject

_MOST_ELEMENTS = 512


@cache  # as below: a strategy that is made anew for every draw is also checked anew
def _between(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


@cache
def _one_of(choices: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


_either = st.booleans()
_sixteens = st.integers(1, 40).map(lambda count: 16 * count)


@st.composite
def sizes(draw: st.DrawFn, ranks: tuple[int, ...], most: int = _MOST_ELEMENTS) -> tuple[int, ...]:
    """Sizes of a tensor of one of the ranks, of at most ``most`` elements."""
    rank = draw(_one_of(ranks), label="rank")
    chosen: list[int] = []
    for _ in range(rank):
        room = most // math.prod(chosen)
        chosen.append(draw(_between(1, min(room, 67)), label="size"))
    return tuple(draw(st.permutations(chosen), label="sizes"))


@st.composite
def strides(
    draw: st.DrawFn, shape: tuple[int, ...], *, padded: bool = False, permuted: bool = False, broadcast: bool = False
) -> tuple[int, ...]:
    """Strides without overlap: in any order, with gaps, with zeros, as asked for."""
    order = list(range(len(shape)))[::-1]
    if permuted:
        order = draw(st.permutations(order), label="order")
    element_strides = [0] * len(shape)
    step = 1
    for axis in order:
        if broadcast and draw(_either, label=f"broadcast axis {axis}"):
            continue
        if padded:
            step += draw(_between(0, 3), label=f"gap at axis {axis}")
        element_strides[axis] = step
        step *= shape[axis]
    return tuple(element_strides)


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Offsets, order and guards of any kind, out of place."""
    return Placement(
        front=draw(_sixteens, label="front"),
        gap=draw(_sixteens, label="gap"),
        tail=draw(_sixteens, label="tail"),
        output_first=draw(_either, label="output first"),
        slack=draw(_one_of((0, 4, 16, 60)), label="slack"),
    )


@dataclass(frozen=True)
class Form:
    """What the layouts of an operator's tensors depend on.

    Attributes:
        ranks: those that are obliged.
        inputs: the names of the inputs that have as many elements as the output.
        aliases: the inputs whose memory the output may be.
        shared: whether all inputs together may be the output's.
    """

    ranks: tuple[int, ...]
    inputs: tuple[str, ...]
    aliases: tuple[str, ...]
    shared: bool

    @classmethod
    def of(cls, subject: Subject) -> Form:
        """The form of a subject."""
        aliases = subject.table.tensors[subject.table.output].may_alias
        return cls(subject.ranks, tuple(subject.inputs), tuple(aliases), bool(subject.inputs_may_be_the_output))


@dataclass(frozen=True)
class Kinds:
    """Which layouts are drawn.

    Attributes:
        padded: inputs with gaps.
        permuted: inputs in another order.
        broadcast: inputs with strides of zero.
        output: an output with gaps, in another order.
        in_place: the output in the place of an input.
        larger: tensors of a larger total size.
    """

    padded: bool = False
    permuted: bool = False
    broadcast: bool = False
    output: bool = False
    in_place: bool = False
    larger: bool = False

    @property
    def strided(self) -> bool:
        """Whether inputs have strides."""
        return self.padded or self.permuted or self.broadcast


@dataclass(frozen=True)
class Layout:
    """The tensors of a case without their types.

    Attributes:
        sizes: of all.
        inputs: the strides of each input that is not laid out as the first, by name; ``None`` for packed.
        source: the strides of the first input.
        target: those of the output.
        extra: bytes by which total sizes are larger.
        placement: where the tensors stand.
    """

    sizes: tuple[int, ...]
    inputs: tuple[tuple[str, tuple[int, ...] | None], ...]
    source: tuple[int, ...] | None
    target: tuple[int, ...] | None
    extra: int
    placement: Placement

    def describe(self, subject: Subject, attributes: Mapping[str, Attribute]) -> OperatorDesc:
        """A description of the subject on tensors that are laid out so."""
        total = None
        if self.extra:
            total = TensorDesc(subject.data_type, self.sizes, self.source).total_size_in_bytes + self.extra
        return subject.describe(self.sizes, attributes, self.source, self.target, total, layouts=dict(self.inputs))


@st.composite
def layouts(draw: st.DrawFn, form: Form, kinds: Kinds) -> Layout:
    """A layout of the form, with strides of the kinds asked for."""
    shape = draw(sizes(form.ranks), label="shape")
    own = strides(shape, padded=kinds.padded, permuted=kinds.permuted, broadcast=kinds.broadcast)
    source = draw(own, label="strides") if kinds.strided else None
    target = source if kinds.in_place else None
    if kinds.output:
        target = draw(strides(shape, padded=True, permuted=True), label="output strides")
    extra = 4 * draw(_between(1, 64), label="extra") if kinds.larger else 0
    placement = draw(placements(), label="placement")
    first = laid = form.inputs[0]  # the input whose strides are drawn already
    if kinds.in_place:
        laid = draw(_one_of(form.aliases), label="alias") if len(form.aliases) > 1 else "".join(form.aliases)
        shared = form.shared and draw(_either, label="one region")
        placement = Placement(
            front=placement.front,
            tail=placement.tail,
            slack=placement.slack,
            in_place=True,
            alias="" if laid == first else laid,
            one_region=shared,
        )
    others = form.inputs if kinds.strided and not placement.one_region else ()
    inputs = tuple((name, draw(own, label=f"strides of {name}")) for name in others if name != laid)
    return Layout(shape, inputs, source, target, extra, placement)


@lru_cache(maxsize=1 << 10)  # all operators of a form share them: Hypothesis takes longer than judging does
def drawn_layouts(form: Form, kinds: Kinds, seed: int, count: int) -> tuple[Layout, ...]:
    """As many layouts as that, which follow from the seed."""
    draw_from_the_seed_alone()
    examples: list[Layout] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(layouts(form, kinds))
    def collect(layout: Layout) -> None:
        examples.append(layout)

    collect()
    return tuple(examples)
