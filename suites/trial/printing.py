"""What ``dmlcts backends --check`` prints: what works, what is not claimed, and each cause once, with its mend."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from dmlcts.specs import DataType
from dmlcts.specs.number_text import many
from dmlcts.suites.running.options import Settings
from dmlcts.suites.trial.causes import TrialCause, next_commands, operators_by_types, trial_causes, types_by_operator
from dmlcts.suites.trial.trial import Trial

_FEW = 3
"""Operators that are named; of more there is a count."""
_DETAILS = ("protocol", "runner", "shared_memory", "refusals", "secret")
_MOST_CAUSES = 8
_MOST_COMMANDS = 3


def print_trial(
    settings: Settings, trial: Trial, print_line: Callable[[str], object], *, verbose: bool = False
) -> None:
    """What a trial of a backend shows, and for each cause what to mend.

    Args:
        settings: with which the backend was tried.
        trial: what is printed.
        print_line: is called with each line.
        verbose: whether every operator and type is listed, not only counted.
    """
    info = trial.info
    name = settings.backend
    parts = [info.adapter, info.driver, " ".join(part for part in (info.library, info.version) if part)]
    print_line(f"{name}: reached in {trial.opening:.1f} s")
    print_line(
        f"  device     {info.name}, feature level {info.feature_level}{''.join(f', {part}' for part in parts if part)}"
    )
    for key, value in info.details.items():
        if key in _DETAILS:
            words = ("no", "yes")[value] if isinstance(value, bool) else value
            print_line(f"  {key.replace('_', ' '):<10} {words}")
    further = sorted(key for key in info.details if key not in _DETAILS)
    if further:
        print_line(f"  details    {', '.join(further)}")
    if trial.dispatch is not None:
        print_line(f"  dispatch   {1000 * trial.dispatch:.3f} ms for a few elements, the process boundary included")
    _print_unclaimed(trial, print_line, verbose)
    works = operators_by_types(types_by_operator(attempt for attempt in trial.tried if attempt.right))
    for types, operators in works.items():
        print_line(f"  works      {', '.join(operators)} on {_names(types)}")
    if trial.accepts:
        print_line(
            f"  accepted   {trial.accepts} of tensors of nine dimensions, though no page permits more than eight"
        )
        print_line(
            "             mend: raise InvalidArgument for what the pages forbid; a run fails where it is accepted"
        )
    causes = trial_causes(trial.tried)
    shown = causes if verbose else causes[:_MOST_CAUSES]
    for cause in shown:
        _print_cause(cause, print_line, verbose)
    if len(shown) < len(causes):
        print_line(f"  and {many(len(causes) - len(shown), 'other cause')} (-v lists them)")
    right = sum(attempt.right for attempt in trial.tried)
    if not trial.tried:
        level = f"feature level {settings.level or info.feature_level}"
        print_line(
            f"nothing was tried: the device claims none of what {level} obliges"
            if trial.unclaimed
            else f"nothing was tried: {level} obliges none of the selected operators on these types"
        )
    print_line(
        f"{right} of {many(len(trial.tried), 'operator and type', 'operators and types')} work; this is no verdict"
    )
    if right:
        commands = next_commands(settings, trial)
        listed = commands if verbose else commands[:_MOST_COMMANDS]
        for command in listed:
            print_line(f"next: {command.line}")
            _print_lacking(command.lacking, print_line, verbose)
        if len(listed) < len(commands):
            print_line(f"and {many(len(commands) - len(listed), 'other command')} (-v lists them)")


def _print_lacking(lacking: Mapping[str, Sequence[str]], print_line: Callable[[str], object], verbose: bool) -> None:
    """Why a run ends INCOMPLETE although all that it selects works, and how to leave out what it cannot try."""
    if not lacking:
        return
    shown = list(lacking) if verbose else list(lacking)[:_FEW]
    needs = ", ".join(f"{' and '.join(lacking[clause])} (for {clause})" for clause in shown)
    left = len(lacking) - len(shown)
    more = f" and what {many(left, 'other clause')} {'needs' if left == 1 else 'need'} (-v lists them)" if left else ""
    print_line(f"      INCOMPLETE (exit code 4) because the device does not claim {needs}{more}")
    if not left:
        leave_out = shlex.join(["--clause", ",".join(f"!{clause}" for clause in lacking)])
        print_line(f"      to leave {'it' if len(lacking) == 1 else 'them'} out, add {leave_out}")


def _names(types: Iterable[DataType]) -> str:
    return ", ".join(data_type.name for data_type in types)


def _print_unclaimed(trial: Trial, print_line: Callable[[str], object], verbose: bool) -> None:
    """What the level obliges and the device does not claim: whole operators counted, or each if they are few."""
    claimed = {attempt.operator for attempt in trial.tried}
    lines = [f"{', '.join(names)} on {_names(types)}" for types, names in operators_by_types(trial.unclaimed).items()]
    if verbose or len(trial.unclaimed) <= _FEW:
        for line in lines:
            print_line(f"  unclaimed  {line}")
        return
    parts = sum(operator in claimed for operator in trial.unclaimed)
    counts = []
    if len(trial.unclaimed) > parts:
        counts.append(many(len(trial.unclaimed) - parts, "operator"))
    if parts:
        counts.append(f"some types of {many(parts, 'other operator' if counts else 'operator')}")
    print_line(
        f"  unclaimed  {' and '.join(counts)} that feature level {trial.info.feature_level} obliges (-v lists them)"
    )


def _print_cause(cause: TrialCause, print_line: Callable[[str], object], verbose: bool) -> None:
    """A cause: what it was seen on, the message of the first of them, and the mend."""
    operators, first = cause.operators, cause.first
    heads = [f"{', '.join(names)} on {_names(types)}" for types, names in operators_by_types(operators).items()]
    if not verbose and len(operators) > _FEW:
        named = ", ".join(list(operators)[:_FEW])
        more = f"{named} and {many(len(operators) - _FEW, 'other operator')}"
        heads = [f"{more}, {len(cause.attempts)} operators and types (-v lists them)"]
    for head in heads:
        print_line(f"  {first.outcome.replace('_', ' '):<10} {head}")
    for number, line in enumerate(first.message.splitlines()):
        example = (
            f"for example {first.operator} on {first.data_type.name}: "
            if not number and len(cause.attempts) > 1
            else ""
        )
        print_line(f"             {example}{line}")
    if first.mend:
        print_line(f"             mend: {first.mend}")
