"""What of shader model 5 a shader has is found by name; the newest release sends nothing that is not supported."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.backend import DirectMLBackend
from dmlcts.backends.directml.loading import windows_releases
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.selftest.bytecode.assembling import (
    RETURN,
    Tokens,
    U,
    declared,
    instruction,
    literal,
    of,
    operand,
    part,
    structured,
    to,
)
from dmlcts.suites.selftest.directml.directml_here import why_not
from dmlcts.suites.selftest.windows.sent_shaders import asked, features, sent_by

INDEXABLE, CONSTANTS = 3, 9


def made(*code: Tokens) -> bytes:
    return part([*declared([structured(0)]), *itertools.chain(*code), *RETURN])


def test_a_shader_without_any_of_it_has_nothing_to_be_named() -> None:
    assert features(made(instruction(54, to(0), literal(1)))) == frozenset()


@pytest.mark.parametrize(
    "code, name",
    [
        (instruction(173, operand(U, 0, mask="x"), literal(0), literal(1)), "an atomic (atomic_iadd)"),
        (instruction(180, to(0), operand(U, 0, mask="x"), literal(0), literal(1)), "an atomic (imm_atomic_iadd)"),
        (instruction(191, to(0, "xy"), of(0, "xyxy"), of(1, "xyxy")), "double precision (dadd)"),
        (instruction(202, to(0, "xy"), of(0)), "double precision (ftod)"),
        (instruction(105, words=[0, 4, 4]), "indexable registers (x#)"),
        (instruction(54, to(0), operand(INDEXABLE, 0, text="x", row=0)), "indexable registers (x#) of shader model 5"),
        ([53 | 3 << 11, 6, 1, 2, 3, 4], "an immediate constant buffer (icb)"),
    ],
)
def test_what_is_not_supported_is_named(code: Tokens, name: str) -> None:
    assert features(made(code)) == {name}


@pytest.mark.skipif(windows_releases.fetched(cache_folder()) is None, reason="needs dmlcts directml fetch --windows")
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "nothing")
def test_the_newest_release_sends_shader_model_5_and_nothing_of_it_that_is_not_supported() -> None:
    with DirectMLBackend().open(library="windows") as device:
        sent = sent_by(device, itertools.islice(asked(), 0, None, 7))  # the command compiles them all
    assert sent.compiled > 500
    assert len(sent.older) > 100
    assert len(sent.operators) > 60
    assert {name for shader in sent.older for name in features(shader)} == set()
