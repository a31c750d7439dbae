"""Cases that one test loops over: all are tried, and all that fail are named in one assertion."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")


def check_all(cases: Iterable[Case], check: Callable[[Case], None], name: Callable[[Case], str] = str) -> None:
    """Check every case and name all that fail.

    Cases that skip are left out; where all do, the test is skipped for their reasons.

    Args:
        cases: what to check; at least one.
        check: raises, fails or skips for a case, as a test would.
        name: what a case is called in the message.

    Raises:
        AssertionError: a case fails, or there is none. Its cause is the first case's error.
    """
    failures: list[tuple[str, BaseException]] = []
    skipped: list[str] = []
    tried = 0
    for case in cases:
        tried += 1
        try:
            check(case)
        except pytest.skip.Exception as skip:
            skipped.append(f"{name(case)}: {skip}")
        except (Exception, pytest.fail.Exception) as error:
            failures.append((name(case), error))
    assert tried, "there is no case to check"
    if failures:
        lines = "\n".join(f"{case_name}: {type(error).__name__}: {error}" for case_name, error in failures)
        raise AssertionError(f"{len(failures)} of {tried} cases fail\n{lines}") from failures[0][1]
    if len(skipped) == tried:
        pytest.skip("; ".join(skipped))


def looped(
    names: str | Sequence[str],
    cases: Iterable[Any] | Callable[..., Iterable[Any]],
    *,
    ids: Callable[[Any], object] | Iterable[str] | None = None,
    share: int = 1,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, but one test that tries every case and names all that fail.

    A fixture that a test takes beside is the same one for all of its cases.

    Args:
        names: the parameters, parted by commas.
        cases: their values, by their names in a mapping, or what makes them when the test runs. That may take
            parameters: the test's own or further ones, which ``parametrize`` then gives.
        ids: what a value is called in the message, or what each case is; otherwise the values' own words.
        share: sizes below all try one of so many, as the marker ``sampled`` does of parameters.
    """
    parameters = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    takes = list(inspect.signature(cases).parameters) if callable(cases) else []

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(*itself: Any, **fixtures: Any) -> None:
            sampled = share > 1 and fixtures.pop("pytestconfig").getoption("--selftests") != "all"
            case_values = cases(**{name: fixtures[name] for name in takes}) if callable(cases) else cases
            made = list(_named(case_values, len(parameters), ids))
            own = {name: value for name, value in fixtures.items() if name in expected}

            def check(case: tuple[str, Sequence[Any]]) -> None:
                test(*itself, **own, **dict(zip(parameters, case[1], strict=True)))

            check_all(made[:: share if sampled else 1], check, lambda case: case[0])

        signature = inspect.signature(test)
        expected = set(signature.parameters)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        assert len(kept) == len(signature.parameters) - len(parameters), f"{test.__name__} does not take all of {names}"
        further = [name for name in takes if name not in expected] + ["pytestconfig"] * (share > 1)
        kept += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in further]
        whole.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return whole

    return decorated


def _named(cases: Iterable[Any], number: int, ids: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Each case's name and its values."""
    if isinstance(cases, Mapping):
        ids, cases = list(cases), cases.values()
    elif ids is not None and not callable(ids):
        ids = list(ids)
    for place, case in enumerate(cases):
        known = getattr(case, "id", None) if isinstance(case, type(pytest.param())) else None
        values = case.values if isinstance(case, type(pytest.param())) else (case,) if number == 1 else tuple(case)
        if known is None and ids is not None:
            known = "-".join(str(ids(value)) for value in values) if callable(ids) else ids[place]
        yield str(known if known is not None else "-".join(_words(value) for value in values)), values


def _words(value: Any) -> str:
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or repr(value))
