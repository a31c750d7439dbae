"""What the wgpu backend computes on every signature of the exact operators, judged by the oracles.

Layouts, broadcast, aliases, guards and bounds are those of ``family_dispatches``; the adapter is chosen as in
``test_wgpu_family``.
"""

from __future__ import annotations

import pytest

from dmlcts.backends.wgpu.shaders import Shader
from dmlcts.suites.selftest.backends.family_dispatches import tasks, wrong
from dmlcts.suites.selftest.family.family_tables import exact_operators
from dmlcts.suites.selftest.looped_cases import check_all
from dmlcts.suites.selftest.wgpu.test_wgpu_family import Bare, device

__all__ = ["device"]  # the fixture


@pytest.mark.parametrize("operator", exact_operators())
def test_every_signature(operator: str, device: Bare) -> None:
    """By the strict reading, but with a ScaleBias, which alone leaves something to the adapter."""

    def check(name: str) -> None:
        for task in tasks(operator)[name]:
            strict = task.operator.attributes.get("ScaleBias") is None
            assert (difference := wrong(device.create, task, strict=strict)) is None, f"{task.operator}: {difference}"

    check_all(tasks(operator), check)


@pytest.mark.parametrize(
    "name, right, wrongly",
    [
        ("SIGN-FLOAT32", "0u, magnitude(a) == 0u || is_nan(a)", "a, magnitude(a) == 0u || is_nan(a)"),
        ("MAX-FLOAT16", "select(size, ~size, is_negative(a))", "size"),
        ("IF-UINT8-INT16", "condition != 0u", "condition == 1u"),
        ("CLIP_GRAD1-INT32", "a <= b", "a < b"),
        ("BIT_COUNT-INT8-UINT32", "& 0xffu;", "& 0x7fu;"),
    ],
)
def test_a_planted_fault_is_seen(
    name: str, right: str, wrongly: str, device: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Shader.source
    changed: list[bool] = []

    def planted(self: Shader) -> str:
        text = source(self)
        changed.append(right in text)
        return text.replace(right, wrongly)

    monkeypatch.setattr(Shader, "source", planted)
    monkeypatch.setattr(device.device, "_compiled", {})
    differences = [wrong(device.create, task, strict=True) for task in tasks(name.split("-")[0])[name]]
    assert all(changed)
    assert any(differences)
