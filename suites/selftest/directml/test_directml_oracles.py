"""What Microsoft's library computes on every signature of the exact operators, judged by the oracles.

Where it departs from the pages is named here with its reason, and must be seen to depart; everything else is right.
Nothing is named that the software adapter could be the cause of: the reasons are read from the shaders.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dmlcts.backends.contract import ExecutionFailed
from dmlcts.backends.directml.backend import DirectMLBackend, DirectMLDevice
from dmlcts.suites.selftest.backends.family_dispatches import Task, tasks, wrong
from dmlcts.suites.selftest.directml.directml_here import needs_directml
from dmlcts.suites.selftest.family.family_tables import exact_descriptions, exact_operators
from dmlcts.suites.selftest.looped_cases import check_all

pytestmark = needs_directml

_LOW_WORDS = "of equal high words the low words are compared as signed numbers (icmp slt on i32)"
_INFINITE_BOUNDS = "infinite bounds become 65504 on the host, which clips the elements 65504 and -65504"
_ORDERED = ("GREATER_THAN", "LESS_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL")
DEPARTURES = {
    **dict.fromkeys((f"{name}-INT64" for name in ("MAX", "MIN", "CLIP1", "CLIP_GRAD", "CLIP_GRAD1")), _LOW_WORDS),
    **{f"LOGICAL_{name}-INT64-{truth}": _LOW_WORDS for name in _ORDERED for truth in ("UINT32", "UINT8")},
    "CLIP_GRAD-FLOAT16": _INFINITE_BOUNDS,
}
_OVERFLOW = "a FLOAT32 sum above 65504 is made infinite (fcmp ogt, select), though below 65520 it rounds to 65504"
OF_SINGLE_OPERATORS = dict.fromkeys((f"{name}-FLOAT16" for name in ("IDENTITY", "ABS", "CEIL", "FLOOR")), _OVERFLOW)
# Typed views are declared and structured ones bound, which Direct3D leaves undefined.
UNDEFINED = ("IS_NAN-FLOAT32-UINT32", "IS_NAN-FLOAT16-UINT32")
# The pages do not restrict ScaleBias by type; the library refuses one that changes anything on these.
_UNSCALED = ("FLOAT64", "INT64", "UINT64")

_EXPONENTS = "ScaleBias is applied to the exponents too"


def _departures() -> dict[str, str]:
    return DEPARTURES | dict.fromkeys(exact_descriptions("POW"), _EXPONENTS)


def _taken(name: str, value: list[Task]) -> list[Task]:
    """The tasks without those whose ScaleBias the library refuses."""
    if name.rsplit("-", 1)[-1] not in _UNSCALED:
        return value
    return [task for task in value if task.operator.attributes.get("ScaleBias") is None]


@pytest.fixture(scope="module", params=["operator", "graph"])
def device(request: pytest.FixtureRequest) -> Iterator[DirectMLDevice]:
    with DirectMLBackend().open(path=request.param) as opened:
        yield opened


@pytest.mark.parametrize("operator", exact_operators())
def test_every_signature(operator: str, device: DirectMLDevice) -> None:
    check_all(tasks(operator), lambda name: _check(name, tasks(operator)[name], device))


def _check(name: str, made: list[Task], device: DirectMLDevice) -> None:
    taken = _taken(name, made)
    if name in UNDEFINED:
        for task in taken:
            with pytest.raises(ExecutionFailed, match="declared typed, but a structured view is bound"):
                wrong(device.create, task)
        return
    result = [(task.operator, wrong(device.create, task)) for task in taken]
    known = _departures() | (OF_SINGLE_OPERATORS if device.options.path == "operator" else {})
    if name in known:
        assert any(item for _, item in result), f"no longer so: {known[name]}"
    else:
        wrongly = [f"{operator}: {item}" for operator, item in result if item]
        assert not wrongly, "; ".join(wrongly)


def test_departures_are_of_signatures_that_there_are() -> None:
    names = {name for operator in exact_operators() for name in exact_descriptions(operator)}
    assert _departures().keys() | OF_SINGLE_OPERATORS.keys() <= names
    assert set(UNDEFINED) <= names
