"""A test that loops over cases tries all of them, names all that fail, and samples them in sizes below all."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest

from dmlcts.suites.selftest.looped_cases import check_all, looped


def test_all_that_fail_are_named_and_what_is_right_is_not() -> None:
    tried: list[int] = []

    @looped("number", [1, 2, 3, 4], ids=lambda number: f"case {number}")
    def whole(number: int) -> None:
        tried.append(number)
        if number == 2:
            raise ValueError("two")
        if number == 4:
            pytest.fail("four")

    with pytest.raises(AssertionError) as failed:
        whole()
    assert tried == [1, 2, 3, 4]
    assert str(failed.value) == "2 of 4 cases fail\ncase 2: ValueError: two\ncase 4: Failed: four"
    check_all([1, 3], lambda number: None)


def test_a_test_without_cases_fails() -> None:
    with pytest.raises(AssertionError, match="no case"):
        check_all([], lambda case: None)


def test_a_test_is_skipped_where_all_of_its_cases_are() -> None:
    def check(case: str) -> None:
        if case != "right":
            pytest.skip(f"no {case}")

    check_all(["this", "right"], check)
    with pytest.raises(pytest.skip.Exception, match="this: no this; that: no that"):
        check_all(["this", "that"], check)


@pytest.mark.parametrize(("size", "tried"), [("brief", ["0-a", "3-d", "6-g"]), ("all", [*"abcdefg"])])
def test_a_share_of_the_cases_is_tried_by_sizes_below_all(size: str, tried: list[str]) -> None:
    seen: list[str] = []

    @looped("place, letter", lambda: enumerate("abcdefg"), share=3)
    def whole(folder: str, place: int, letter: str) -> None:
        assert folder == "here"
        seen.append(f"{place}-{letter}" if size == "brief" else letter)

    assert list(inspect.signature(whole).parameters) == ["folder", "pytestconfig"]
    whole(folder="here", pytestconfig=SimpleNamespace(getoption={"--selftests": size}.__getitem__))
    assert seen == tried


def test_cases_are_made_of_further_parameters_when_the_test_runs() -> None:
    seen: list[object] = []

    @looped("number", lambda word: {f"{word} {number}": number for number in (1, 2)}, share=2)
    @looped("other", [5, 6])
    def whole(fixed: str, number: int, other: int) -> None:
        seen.append((fixed, number, other))
        assert (number, other) != (2, 6), "wrong"

    assert list(inspect.signature(whole).parameters) == ["fixed", "word", "pytestconfig"]
    arguments = {"fixed": "a", "word": "few", "pytestconfig": SimpleNamespace(getoption=lambda name: "all")}
    with pytest.raises(AssertionError, match=r"1 of 2 cases fail\nfew 2: AssertionError: 1 of 2 .*\n6: .*wrong"):
        whole(**arguments)
    assert seen == [("a", 1, 5), ("a", 1, 6), ("a", 2, 5), ("a", 2, 6)]


def test_a_parameter_that_the_test_does_not_take_is_refused() -> None:
    with pytest.raises(AssertionError, match="does not take all of a, b"):
        looped("a, b", [])(lambda a: None)
