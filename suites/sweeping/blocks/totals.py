"""The totals of blocks, and how they add up: associative, commutative, every block counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.records import AccuracySeen, RecordError
from dmlcts.specs import DataType
from dmlcts.suites.cases.values import simplicity
from dmlcts.suites.measuring.measurement import Measurement
from dmlcts.suites.sweeping.blocks.classes import CLASSES, FRACTIONS, classes_of, exponents_of, fractions_of

Array = NDArray[Any]

MOST_SUSPECTS = 6
MOST_TROUBLES = 4
STAGES = ("generate", "wait", "device", "judge")
OUTCOMES = ("fail", "crash", "device_lost", "resource_error", "timeout")
_PREFERRED = 512
_MOST_COUNT = 1 << 64
_MOST_PATTERNS = 1 << 512
_MOST_REAL = 1e300


class MalformedTotals(ValueError):  # noqa: N818  # it says what was read
    """What was read are no totals; the text says in which way."""


@dataclass(frozen=True, order=True)
class Suspect:
    """An input whose output is wrong: the simplest ones of a target are kept.

    Attributes:
        rank: how hard the input is to grasp; the order of suspects.
        bits: the input's bit pattern; of several inputs their patterns side by side, the first the most significant.
        got: the output's.
        start: where its tensor begins in the target; for targets that vary a bound, which one it was.
        count: the elements of that tensor.
    """

    rank: float
    bits: int
    got: int
    start: int = 0
    count: int = 0


@dataclass(frozen=True, order=True)
class Trouble:
    """A tensor that did not come back, or came back with something amiss other than a wrong value.

    Attributes:
        start: where the tensor begins in its target.
        count: its elements, samples or bounds.
        outcome: one of :data:`OUTCOMES`.
        text: what was said or seen.
    """

    start: int
    count: int
    outcome: str
    text: str


@dataclass
class Totals:
    """Sums over any number of blocks of one target.

    Attributes:
        blocks: how many blocks.
        elements: how many elements were judged.
        dispatches: how many tensors were dispatched.
        exact: elements with the bits that were computed first.
        equal: elements of that value, with another sign of zero or NaN payload.
        other: elements that are acceptable otherwise.
        wrong: elements that are not acceptable.
        unwritten: elements that still held the poison after two dispatches.
        strays: tensors around which memory changed.
        altered: tensors whose input changed.
        stopped: tensors that did not come back.
        unjudged: elements of tensors that did not come back, or were not tried since one before them was lost.
        failing: blocks in which something was wrong.
        exponents: of wrong elements, how many by the (first) input's biased exponent (integers: bit length).
        fractions: of wrong elements, how many by the class of the (first) input's fraction.
        classes: of judged elements, how many by the class of the (first) input, and of wrong ones likewise.
        suspects: the simplest wrong inputs.
        troubles: the first tensors that did not come back.
        seconds: time spent by stage, summed over threads.
        accuracy: how far results are from the real numbers, where they may be inexact.
    """

    blocks: int = 0
    elements: int = 0
    dispatches: int = 0
    exact: int = 0
    equal: int = 0
    other: int = 0
    wrong: int = 0
    unwritten: int = 0
    failing: int = 0
    strays: int = 0
    altered: int = 0
    stopped: int = 0
    unjudged: int = 0
    exponents: dict[int, int] = field(default_factory=dict)
    fractions: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    wrong_classes: dict[str, int] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    accuracy: Measurement | None = None

    def add(self, other: Totals) -> None:
        """Add the totals of other blocks of the same target."""
        for name in (
            "blocks",
            "elements",
            "dispatches",
            "exact",
            "equal",
            "other",
            "wrong",
            "unwritten",
            "failing",
            "strays",
            "altered",
            "stopped",
            "unjudged",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("exponents", "fractions", "classes", "wrong_classes", "seconds"):
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine[key] = mine.get(key, 0) + value
        self.suspects = tuple(sorted({*self.suspects, *other.suspects})[:MOST_SUSPECTS])
        self.troubles = tuple(sorted({*self.troubles, *other.troubles})[:MOST_TROUBLES])
        if other.accuracy is not None:
            self.measured(other.accuracy)

    def measured(self, measurement: Measurement) -> None:
        """Add what was measured of errors."""
        if self.accuracy is None:
            self.accuracy = Measurement(measurement.tensors, measurement.types)
        self.accuracy.merge(measurement)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.wrong or self.unwritten or self.strays or self.altered or self.stopped or self.unjudged)

    def to_json(self) -> dict[str, Any]:
        """The totals as plain data, for the journal."""
        plain = {name: value for name, value in vars(self).items() if name != "accuracy"}
        written = {name: value for name, value in plain.items() if value not in (0, {}, ())}
        if self.accuracy is not None:
            written["accuracy"] = self.accuracy.record("", "").to_json()
        written["exponents"] = {str(key): value for key, value in self.exponents.items()}
        written["suspects"] = [
            [suspect.rank, suspect.bits, suspect.got, suspect.start, suspect.count] for suspect in self.suspects
        ]
        written["troubles"] = [
            [trouble.start, trouble.count, trouble.outcome, trouble.text] for trouble in self.troubles
        ]
        written["seconds"] = {key: round(value, 6) for key, value in self.seconds.items()}
        return {name: value for name, value in written.items() if value not in ({}, [])}

    @classmethod
    def from_json(cls, written: object) -> Totals:
        """What :meth:`to_json` wrote.

        Args:
            written: plain data from a stranger.

        Raises:
            MalformedTotals: it is nothing that :meth:`to_json` writes.
        """
        if not isinstance(written, dict):
            raise MalformedTotals("they are no object")
        readers: dict[str, Callable[[object], Any]] = {
            "exponents": lambda value: {_number(key): count for key, count in _counts(value).items()},
            "fractions": lambda value: _known(_counts(value), FRACTIONS),
            "classes": lambda value: _known(_counts(value), CLASSES),
            "wrong_classes": lambda value: _known(_counts(value), CLASSES),
            "suspects": lambda value: tuple(_suspect(entry) for entry in _list(value, MOST_SUSPECTS)),
            "troubles": lambda value: tuple(_trouble(entry) for entry in _list(value, MOST_TROUBLES)),
            "seconds": _seconds,
            "accuracy": _accuracy,
        }
        arguments: dict[str, Any] = {}
        for name, value in written.items():
            if name not in cls.__dataclass_fields__:
                raise MalformedTotals(f"there is no {name[:40]!r}")
            try:
                arguments[name] = readers.get(name, _count)(value)
            except MalformedTotals as error:
                raise MalformedTotals(f"{name}: {error}") from None
        return cls(**arguments)

    def blame(self, x: Array, got: Array, data_type: DataType, start: int = 0, count: int = 0) -> None:
        """Count wrong elements: their inputs ``x`` and outputs ``got``, 1-D; the tensor's place in the target."""
        self._count_wrong(x, data_type)
        bits = x.view(data_type.bits_dtype)
        chosen = _preferred(bits, data_type)
        ranks = simplicity(x[chosen])
        best = np.argsort(ranks, kind="stable")[:MOST_SUSPECTS]
        outputs = got.view(data_type.bits_dtype)
        self._suspect(
            Suspect(float(ranks[index]), int(bits[chosen[index]]), int(outputs[chosen[index]]), start, count)
            for index in best
        )

    def blame_together(
        self,
        types: Mapping[str, DataType],
        inputs: Mapping[str, Array],
        got: Array,
        numbered: Callable[[dict[str, Array]], list[int]],
        start: int = 0,
        count: int = 0,
    ) -> None:
        """Count wrong elements of several inputs.

        Args:
            types: the inputs' data types by name.
            inputs: their elements, 1-D, likewise.
            got: the outputs as bit patterns, 1-D.
            numbered: gives the number of each combination of inputs.
            start: where the tensor begins in the target.
            count: its elements.
        """
        name, data_type = next(iter(types.items()))
        self._count_wrong(inputs[name], data_type)
        ranks = np.sum([simplicity(inputs[tensor]) for tensor in types], axis=0)
        best = np.argsort(ranks, kind="stable")[:MOST_SUSPECTS]
        numbers = numbered({tensor: inputs[tensor][best] for tensor in types})
        self._suspect(
            Suspect(float(ranks[index]), number, int(got[index]), start, count)
            for index, number in zip(best, numbers, strict=True)
        )

    def _suspect(self, suspects: Iterable[Suspect]) -> None:
        self.suspects = tuple(sorted({*self.suspects, *suspects})[:MOST_SUSPECTS])

    def _count_wrong(self, x: Array, data_type: DataType) -> None:
        """Count wrong elements by what their (first) inputs ``x`` are."""
        self.wrong += x.size
        for key, number in zip(*np.unique(exponents_of(x, data_type), return_counts=True), strict=True):
            self.exponents[int(key)] = self.exponents.get(int(key), 0) + int(number)
        for names, codes, counts in (
            (FRACTIONS, fractions_of(x), self.fractions),
            (CLASSES, classes_of(x), self.wrong_classes),
        ):
            for code, number in enumerate(np.bincount(codes, minlength=len(names))):
                if number:
                    counts[names[code]] = counts.get(names[code], 0) + int(number)

    def note(self, start: int, count: int, outcome: str, text: str) -> None:
        """Remember a tensor with something amiss, if it is among the first."""
        self.troubles = tuple(sorted({*self.troubles, Trouble(start, count, outcome, text)})[:MOST_TROUBLES])

    def count_classes(self, counts: dict[str, int]) -> None:
        """Add to the judged elements' classes."""
        for name, number in counts.items():
            if number:
                self.classes[name] = self.classes.get(name, 0) + number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST_COUNT:
        raise MalformedTotals(f"{str(value)[:40]!r} is no count")
    return value


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 4:
        raise MalformedTotals(f"{text[:40]!r} is no exponent")
    return int(text)


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        raise MalformedTotals("no object")
    return {key: _count(number) for key, number in value.items()}


def _known(counts: dict[str, int], names: tuple[str, ...]) -> dict[str, int]:
    for name in counts:
        if name not in names:
            raise MalformedTotals(f"there is no {name[:40]!r}")
    return counts


def _list(value: object, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise MalformedTotals(f"no list of at most {most}")
    return value


def _real(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST_REAL:
        raise MalformedTotals(f"{str(value)[:40]!r} is no number from 0 on")
    return float(value)


def _seconds(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        raise MalformedTotals("no object")
    return {key: _real(number) for key, number in _known(value, STAGES).items()}


def _accuracy(value: object) -> Measurement:
    try:
        return Measurement.of(AccuracySeen.from_json(value))
    except RecordError as error:
        raise MalformedTotals(error.cause) from None


def _suspect(value: object) -> Suspect:
    if not isinstance(value, list) or len(value) != 5:
        raise MalformedTotals("an example is no list of 5")
    rank, bits, *places = value
    if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits < _MOST_PATTERNS:
        raise MalformedTotals(f"{str(bits)[:40]!r} is no bit pattern")
    return Suspect(_real(rank), bits, *(_count(number) for number in places))


def _trouble(value: object) -> Trouble:
    if not isinstance(value, list) or len(value) != 4:
        raise MalformedTotals("a tensor is no list of 4")
    start, count, outcome, text = value
    if outcome not in OUTCOMES or not isinstance(text, str):
        raise MalformedTotals(f"{str(outcome)[:40]!r} is nothing that becomes of a tensor")
    return Trouble(_count(start), _count(count), outcome, text)


def lost(count: int, elements: int, start: int, outcome: str, text: str) -> Totals:
    """The totals of a block that was not judged at all.

    Args:
        count: its patterns, samples or bounds.
        elements: its elements.
        start: where it begins in its target.
        outcome: what became of it.
        text: the same in words.
    """
    totals = Totals(blocks=1, stopped=1, failing=1, unjudged=elements)
    totals.note(start, count, outcome, text)
    return totals


def added(everything: Iterable[Totals]) -> Totals:
    """The sum of all."""
    whole = Totals()
    for part in everything:
        whole.add(part)
    return whole


def _preferred(bits: Array, data_type: DataType) -> Array:
    """Indices of at most some hundred elements, the simplest among them: a cheap part of :func:`simplicity`."""
    if bits.size <= _PREFERRED:
        return np.arange(bits.size)
    if not data_type.is_floating:
        magnitude = np.abs(bits.view(data_type.numpy).astype(np.float64))
        return np.argpartition(magnitude, _PREFERRED)[:_PREFERRED]
    information = np.finfo(data_type.numpy)
    unit = data_type.bits_dtype.type(1)
    # The lowest bit that is set says how short the significand is; a power of two is the shortest.
    lowest = np.minimum(bits & (~bits + unit), unit << data_type.bits_dtype.type(information.nmant))
    lowest[bits & data_type.bits_dtype.type((1 << information.nmant) - 1) == 0] = unit << information.nmant
    enough = np.partition(lowest, bits.size - MOST_SUSPECTS)[bits.size - MOST_SUSPECTS]
    candidates = np.flatnonzero(lowest >= enough)
    exponents = exponents_of(bits[candidates].view(data_type.numpy), data_type).astype(np.int64)
    distance = np.abs(exponents - ((1 << (information.nexp - 1)) - 2))
    order = np.lexsort((distance, -lowest[candidates].astype(np.int64)))
    return candidates[order[:_PREFERRED]]
