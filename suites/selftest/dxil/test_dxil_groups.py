"""Threads of a group that share memory and meet at a barrier."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.codegen import shader as shader_module
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.suites.selftest.dxil.dxil_shaders import THREAD, compiled, load, module, store, structured, view

ARRAY = "@shared = internal addrspace(3) global [8 x i32] undef, align 4"
LOCAL = "  %t = call i32 @dx.op.threadIdInGroup.i32(i32 95, i32 0)\n"
BARRIER = "  call void @dx.op.barrier(i32 80, i32 9)\n"


def address(name: str, index: str) -> str:
    return f"  %{name} = getelementptr [8 x i32], ptr addrspace(3) @shared, i32 0, i32 {index}\n"


KEEP = THREAD + LOCAL + load("a", "i32", 0) + address("p", "%t") + "  store i32 %a, ptr addrspace(3) %p, align 4\n"
MIRROR = "  %m = sub i32 7, %t\n" + address("q", "%m") + "  %v = load i32, ptr addrspace(3) %q, align 4\n"
KEPT_LOCALLY = "  %l = alloca i32\n  store i32 %a, ptr %l\n"
REVERSE = KEEP + BARRIER + MIRROR + store("i32", 1, "%v")


def text(body: str, **more: object) -> str:
    return module(body, [structured(4)] * 2, threads=(8, 1, 1), top=ARRAY, **more)  # type: ignore[arg-type]


def ran(body: str, groups: int = 4) -> np.ndarray:
    source, target = np.arange(8 * groups, dtype="u4"), np.zeros(8 * groups, "u4")
    compiled(text(body)).dispatch((groups, 1, 1), b"", [view(source, 4), view(target, 4)])
    return target


def reversed_groups(groups: int) -> list[int]:
    return np.arange(8 * groups).reshape(groups, 8)[:, ::-1].reshape(-1).tolist()


@pytest.mark.parametrize("groups", [1, 2, 9])
def test_every_thread_sees_what_the_others_stored_before_the_barrier(groups: int) -> None:
    assert ran(REVERSE, groups).tolist() == reversed_groups(groups)


def test_without_the_barrier_it_would_be_seen_too_late() -> None:
    # What the barrier is for: in plain order, the first half of a group would read what nobody has stored yet.
    assert reversed_groups(2) != list(range(16))
    with pytest.raises(UnsupportedShader, match="a load from shared memory before a barrier"):
        ran(KEEP + MIRROR + store("i32", 1, "%v"))


def test_a_barrier_alone_changes_nothing() -> None:
    source, target = np.arange(16, dtype="u4"), np.zeros(16, "u4")
    body = THREAD + BARRIER + load("a", "i32", 0) + store("i32", 1, "%a")
    alone = module(body, [structured(4)] * 2, threads=(8, 1, 1))
    compiled(alone).dispatch((2, 1, 1), b"", [view(source, 4), view(target, 4)])
    assert target.tolist() == source.tolist()


def test_groups_of_three_dimensions_share_by_group() -> None:
    body = (
        """
  %x = call i32 @dx.op.threadId.i32(i32 93, i32 0)
  %y = call i32 @dx.op.threadId.i32(i32 93, i32 1)
  %z = call i32 @dx.op.threadId.i32(i32 93, i32 2)
  %f = call i32 @dx.op.flattenedThreadIdInGroup.i32(i32 96)
  %zy = mul i32 %z, 4
  %zyy = add i32 %zy, %y
  %zyx = mul i32 %zyy, 4
  %i = add i32 %zyx, %x
"""
        + address("p", "%f")
        + """
  store i32 %i, ptr addrspace(3) %p, align 4
"""
        + BARRIER
        + "  %m = sub i32 7, %f\n"
        + address("q", "%m")
        + """
  %v = load i32, ptr addrspace(3) %q, align 4
"""
        + store("i32", 0, "%v")
    )
    target = np.zeros(64, "u4")
    whole = module(body, [structured(4)], threads=(2, 2, 2), top=ARRAY)
    compiled(whole).dispatch((2, 2, 2), b"", [view(target, 4)])
    # The mirror image of a thread in its group of 2 x 2 x 2.
    places = np.arange(64).reshape(2, 2, 2, 2, 2, 2)
    assert target.reshape(places.shape).tolist() == places[:, ::-1, :, ::-1, :, ::-1].tolist()


def test_several_threads_of_the_processor_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shader_module, "SPLIT_THREADS", 1)
    monkeypatch.setattr(shader_module, "_workers", lambda: 3)
    assert ran(REVERSE, 3000).tolist() == reversed_groups(3000)


def test_an_index_beyond_the_array_reaches_no_other_memory() -> None:
    far = KEEP.replace(address("p", "%t"), "  %far = mul i32 %t, 100000000\n" + address("p", "%far"))
    assert ran(far + BARRIER + MIRROR + store("i32", 1, "%v"), 1)[-1] == 0  # thread 0 alone stores where it should
    assert len(ran(REVERSE, 1)) == 8


def test_a_value_computed_before_the_barrier_is_the_same_after_it() -> None:
    body = REVERSE.replace(
        store("i32", 1, "%v"), "  %w = mul i32 %t, 1000\n  %s = add i32 %v, %w\n" + store("i32", 1, "%s")
    )
    expected = [value + 1000 * (place % 8) for place, value in enumerate(reversed_groups(2))]
    assert ran(body, 2).tolist() == expected


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (REVERSE + BARRIER, "more than one barrier"),
        (THREAD + "  br label %on\non:\n" + BARRIER, "one that not every thread reaches"),
        (KEEP + store("i32", 1, "%a") + BARRIER + MIRROR, "a store to a view before a barrier"),
        (KEEP + BARRIER + MIRROR + store("i32", 1, "%a"), "a value loaded before a barrier and used after it"),
        (KEEP + "  %b2 = add i32 %a, 1\n" + BARRIER + store("i32", 1, "%b2"), "a value loaded before a barrier"),
        (
            KEEP + KEPT_LOCALLY + BARRIER + "  %k = load i32, ptr %l\n" + store("i32", 1, "%k"),
            "a loaded value in local memory before a barrier",
        ),
        (KEEP + BARRIER + "  store i32 %t, ptr addrspace(3) %p, align 4\n", "a store to shared memory after a barrier"),
        (KEEP, "shared memory without a barrier"),
        (
            KEEP + BARRIER + "  %x = atomicrmw add ptr addrspace(3) @shared, i32 1 seq_cst\n",
            "the instruction 'atomicrmw'",
        ),
        (
            KEEP.replace("[8 x i32], ptr addrspace(3) @shared, i32 0", "i32, ptr addrspace(3) @shared"),
            "the address",
        ),
    ],
)
def test_what_two_phases_cannot_run_is_refused(body: str, named: str) -> None:
    with pytest.raises(UnsupportedShader) as caught:
        compiled(text(body))
    assert named in str(caught.value)


def test_shared_memory_that_is_no_array_of_numbers_is_refused() -> None:
    with pytest.raises(UnsupportedShader, match=r"the global variable @shared \(no array of numbers\)"):
        compiled(module("", top="@shared = internal addrspace(3) global { i32, i32 } undef, align 4"))
