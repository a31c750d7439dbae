"""Programs that Hypothesis draws and shrinks: which kernels are made, dispatched and closed, in which order.

They are lists of steps, and no state machine of ``hypothesis.stateful``: such a machine does its steps while they are
drawn, one program at a time. A list is there before it runs, so that one drawing serves all operators, programs run
together in batches, a program that was judged is answered from memory, and a failure file holds one as plain data.
Lists shrink as well: the simplest step is none at all.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import hypothesis
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from dmlcts.suites.generation.drawn.seeding import draw_from_the_seed_alone

_LEAST_STEPS, _MOST_STEPS = 8, 32
_MOST_ALIVE = 5
_CHOICES = 16

Act = Literal["rest", "create", "dispatch", "close"]


@dataclass(frozen=True)
class DrawnStep:
    """A step of a program, of whatever operator.

    Attributes:
        act: what is done.
        kernel: the number of the kernel; kernels are numbered as they are made, from 0.
        choice: which description one is made of, or which values it is dispatched on; 0 is the simplest.
        place: where the tensors of a dispatch stand; 0 is the usual place.
    """

    act: Act
    kernel: int
    choice: int = 0
    place: int = 0


Drawn = tuple[DrawnStep, ...]

_acts: st.SearchStrategy[Act] = st.sampled_from(
    ("rest", "create", "create", "create", "dispatch", "dispatch", "dispatch", "close")
)
_small = st.integers(0, _MOST_ALIVE - 1)
_choices = st.integers(0, _CHOICES - 1)


@st.composite
def _steps(draw: st.DrawFn) -> DrawnStep:
    act = draw(_acts)
    kernel = draw(_small) if act in ("dispatch", "close") else 0
    choice = draw(_choices) if act == "create" else draw(_small) if act == "dispatch" else 0
    return DrawnStep(act, kernel, choice, draw(_small) if act == "dispatch" else 0)


def _possible(steps: list[DrawnStep]) -> Drawn:
    """The steps that can be done, each on a kernel that is alive; a drawn number counts those, beginning again."""
    possible_steps: list[DrawnStep] = []
    alive: list[int] = []
    made = 0
    for step in steps:
        if step.act == "create" and len(alive) < _MOST_ALIVE:
            alive.append(made)
            possible_steps.append(DrawnStep("create", made, step.choice))
            made += 1
        elif step.act in ("dispatch", "close") and alive:
            kernel = alive[step.kernel % len(alive)]
            possible_steps.append(DrawnStep(step.act, kernel, step.choice, step.place))
            if step.act == "close":
                alive.remove(kernel)
    return tuple(possible_steps)


_programs = st.lists(_steps(), min_size=_LEAST_STEPS, max_size=_MOST_STEPS).map(_possible)


@lru_cache(maxsize=4)  # all operators share them
def drawn_programs(seed: int, count: int) -> tuple[Drawn, ...]:
    """As many programs as that, which follow from the seed."""
    programs: list[Drawn] = []

    def kept(program: Drawn) -> bool:
        programs.append(program)
        return False

    shortest(kept, seed, count)
    return tuple(programs)


def shortest(shows: Callable[[Drawn], bool], seed: int, count: int) -> Drawn | None:
    """A shortest program that shows something; the search begins at the first of :func:`drawn_programs` that does.

    Args:
        shows: whether a program shows it; the answer for a program stays the same.
        seed: that of the drawn programs.
        count: how many of those there are.

    Returns:
        The program; ``None`` where none of them shows it.
    """
    draw_from_the_seed_alone()
    phases = [hypothesis.Phase.generate, hypothesis.Phase.shrink]
    settings = hypothesis.settings(max_examples=count, database=None, deadline=None, phases=phases)
    with contextlib.suppress(NoSuchExample):
        return hypothesis.find(_programs, shows, settings=settings, random=random.Random(seed))  # noqa: S311
    return None
