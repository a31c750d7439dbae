"""What goes wrong in a trial, grouped: one cause with every operator and type that it was seen on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.suites.running.options import Settings
from dmlcts.suites.trial.trial import Trial, Tried

_VARYING = re.compile(
    rf"\b(?:DML_)?(?:ELEMENT_WISE_|OPERATOR_)+\w+|\b(?:{'|'.join(DataType.__members__)})\b|[-+]?\b\d(?:[\w.]|(?<=e)[-+])*|\bnan\b|\binf\b",
    re.IGNORECASE,
)
"""What the messages of one cause differ in: operators, types and numbers."""


@dataclass(frozen=True)
class TrialCause:
    """Attempts that went wrong in the same way.

    Attributes:
        attempts: in the order in which they were tried; the first one's message stands for all.
    """

    attempts: tuple[Tried, ...]

    @property
    def first(self) -> Tried:
        """The attempt whose message is shown."""
        return self.attempts[0]

    @property
    def operators(self) -> dict[str, list[DataType]]:
        """The operators that it was seen on, by short name, each with its types."""
        return types_by_operator(self.attempts)


def types_by_operator(attempts: Iterable[Tried]) -> dict[str, list[DataType]]:
    """The operators of some attempts, by short name, each with its types, in their order."""
    types: dict[str, list[DataType]] = {}
    for attempt in attempts:
        types.setdefault(attempt.operator, []).append(attempt.data_type)
    return types


def operators_by_types(types_of: Mapping[str, Sequence[DataType]]) -> dict[tuple[DataType, ...], list[str]]:
    """The operators by their types, so that those of the same types share a line."""
    operators: dict[tuple[DataType, ...], list[str]] = {}
    for operator, types in types_of.items():
        operators.setdefault(tuple(types), []).append(operator)
    return operators


def trial_causes(attempts: Iterable[Tried]) -> list[TrialCause]:
    """The causes of the attempts that are not right, the one seen most often first.

    Two attempts have one cause if they end alike and their messages differ in operators, types and numbers only.
    """
    groups: dict[tuple[str, str], list[Tried]] = {}
    for attempt in attempts:
        if not attempt.right:
            message = re.sub(rf"\b{attempt.operator}\b", "*", attempt.message)
            groups.setdefault((attempt.outcome, _VARYING.sub("*", message)), []).append(attempt)
    return sorted((TrialCause(tuple(group)) for group in groups.values()), key=lambda cause: -len(cause.attempts))


@dataclass(frozen=True)
class NextCommand:
    """A command that judges what works.

    Attributes:
        line: the command as it is typed.
        lacking: clauses that it cannot try, each with the operators, by short name, that the clause runs too and that
            the device does not claim. With one of them the run is INCOMPLETE.
    """

    line: str
    lacking: Mapping[str, tuple[str, ...]]


def _lacking(
    settings: Settings, trial: Trial, operators: Iterable[str], types: Sequence[DataType]
) -> dict[str, tuple[str, ...]]:
    """The clauses that a run of some operators on some types cannot try, with the operators that it lacks."""
    lacking: dict[str, tuple[str, ...]] = {}
    level = settings.level or FeatureLevel.parse(str(trial.info.feature_level))
    claims = trial.info.data_types or {}

    def is_claimed(name: str, data_type: DataType) -> bool:
        claimed = claims.get(settings.tables.operator(name).operator)
        return claimed is None or data_type in claimed

    for operator in operators:
        table = settings.tables.operator(operator)
        for clause in table.clauses:
            others = [name for name in settings.tables.applied_operators(clause.id) if name != table.short_name]
            tried = [
                data_type
                for data_type in (settings.tables.obliged(clause, table, level) if others else ())
                if not types or data_type in types
            ]
            missing = tuple(name for name in others if not all(is_claimed(name, data_type) for data_type in tried))
            if missing and clause.obligation != "unspecified":
                lacking[clause.id] = missing
    return lacking


def next_commands(settings: Settings, trial: Trial) -> list[NextCommand]:
    """The `dmlcts run` commands that judge what works, the one with the most operators and types first.

    One command that selects nothing if all that the level obliges works. Otherwise they name the operators on which
    nothing went wrong; if there are none, those that work on some types. Where operators work on some types only,
    those of the same types share a command, because a run judges each selected operator on each selected type. Each of
    several commands has a results folder of its own.
    """
    words = ["dmlcts", "run", "--backend", settings.backend]
    words += [word for key, value in settings.options for word in ("-o", f"{key}={value}")]
    right = types_by_operator(attempt for attempt in trial.tried if attempt.right)
    types = [DataType[name] for name in settings.data_types]
    whole = not trial.unclaimed and all(attempt.right for attempt in trial.tried)
    if whole and not settings.operators:
        return [NextCommand(shlex.join([*words, *_selected_types(types)]), {})]
    wrong = {attempt.operator for attempt in trial.wrong}
    operators = [operator for operator in right if operator not in wrong]
    if operators and not any(operator in trial.unclaimed for operator in operators):
        line = shlex.join([*words, "--operator", ",".join(operators), *_selected_types(types)])
        return [NextCommand(line, _lacking(settings, trial, operators, types))]
    groups = operators_by_types({operator: right[operator] for operator in operators or right})
    largest_first = sorted(groups.items(), key=lambda group: -len(group[0]) * len(group[1]))
    commands = []
    for number, (of_these, names) in enumerate(largest_first, 1):
        folder = ["--results", f"results-{number}"] if len(largest_first) > 1 else []
        line = shlex.join([*words, "--operator", ",".join(names), *_selected_types(of_these), *folder])
        commands.append(NextCommand(line, _lacking(settings, trial, names, of_these)))
    return commands


def _selected_types(types: Sequence[DataType]) -> list[str]:
    return ["--data-type", ",".join(data_type.name for data_type in types)] if types else []
