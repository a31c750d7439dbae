"""What goes wrong in a trial, grouped: one cause with every operator and type that it was seen on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmlcts.specs import DataType
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


def next_command(settings: Settings, trial: Trial) -> str:
    """The `dmlcts run` that judges what works.

    It selects nothing if all that the level obliges works. Otherwise it names the operators on which nothing went
    wrong; if there are none, those that work on some types. It names types where the operators work on some only.
    """
    words = ["dmlcts", "run", "--backend", settings.backend]
    words += [word for key, value in settings.options for word in ("-o", f"{key}={value}")]
    right = types_by_operator(attempt for attempt in trial.tried if attempt.right)
    types = [DataType[name] for name in settings.data_types]
    whole = not trial.unclaimed and all(attempt.right for attempt in trial.tried)
    if settings.operators or not whole:
        wrong = {attempt.operator for attempt in trial.wrong}
        operators = [operator for operator in right if operator not in wrong]
        if not operators or (not types and any(operator in trial.unclaimed for operator in operators)):
            operators = operators or list(right)
            types = [data_type for data_type in DataType if all(data_type in right[name] for name in operators)]
            operators = operators if types else operators[:1]
            types = types or right[operators[0]]
        words += ["--operator", ",".join(operators)]
    if types:
        words += ["--data-type", ",".join(data_type.name for data_type in types)]
    return shlex.join(words)
