"""What one test found: frozen values that travel as JSON between processes.

Every value checks itself when it is made, whether from Python or from JSON, so that a record that exists is
one that can be written, merged and validated. ``from_json`` refuses missing, unknown and malformed members
with a :class:`RecordError` that says where they stand. One reader goes by the annotations of all records; pydantic
would refuse numpy's counts or else take True and "3" for some, and its errors would still need a mend each.
"""

from __future__ import annotations

import functools
import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast, get_args, get_origin, get_type_hints

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.specs import DataType, DmlctsError
from dmlcts.specs.accuracy.places import BUCKETS
from dmlcts.specs.deviations import Deviation, Origin

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.yaml")


MOST_BINS = 400
"""Bins of errors that a record may have: more than all powers of two between two numbers."""

_WORDS = (Outcome, Deviation, Origin)
_DATA_TYPES = dict.fromkeys(DataType.__members__)


class RecordError(DmlctsError):
    """A malformed record.

    Args:
        record: the record's class ("ItemRecord").
        pointer: JSON pointer to the member that is wrong, "" for the record itself.
        cause: what is wrong with it.
        mend: what to write instead.
    """

    def __init__(self, record: str, pointer: str, cause: str, mend: str) -> None:
        super().__init__(f"{record}{' ' + pointer if pointer else ''}: {cause}; {mend}")
        self.record = record
        self.pointer = pointer
        self.cause = cause
        self.mend = mend

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.record, self.pointer, self.cause, self.mend)


class _MemberError(Exception):
    """Inside this module: what is wrong with a value or below it, before it is known where that stands."""

    def __init__(self, pointer: str, cause: str, mend: str) -> None:
        super().__init__(cause)
        self.pointer, self.cause, self.mend = pointer, cause, mend

    def below(self, name: object) -> _MemberError:
        """The same, seen from the value whose member of this name is wrong."""
        return _MemberError(f"/{name}{self.pointer}", self.cause, self.mend)


_Reader = Callable[[Any], Any]
"""Gives a member as the record keeps it, or raises a :class:`_MemberError`."""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: Any) -> Any:
    """A copy of ``value`` made of JSON's own types only."""
    if value is None or type(value) in (str, int, bool):  # most are, and the questions below take long
        return value
    match value:
        case str():
            return value
        case float() if math.isfinite(value):
            return float(value)
        case list() | tuple():
            return list(_each(_plain, value))
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise _MemberError("", f"has the key {_shown(key)}", "keys are strings")
            return {key: _member(_plain, value, key) for key in value}
        case numbers.Integral():
            return int(value)
        case numbers.Real() if math.isfinite(value):
            return float(value)
    raise _MemberError("", f"{_shown(value)} is no JSON value", "write non-finite numbers as their bits")


def _member(read: _Reader, values: Mapping[str, Any], name: str) -> Any:
    try:
        return read(values.get(name))
    except _MemberError as error:
        raise error.below(name) from None


def _each(read: _Reader, values: Iterable[Any]) -> Iterator[Any]:
    for index, value in enumerate(values):
        try:
            yield read(value)
        except _MemberError as error:
            raise error.below(index) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _MemberError("", f"{_shown(value)} is no string", "write a string")
    return value


def _count(value: Any) -> int:
    if type(value) is int and value >= 0:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise _MemberError("", f"{_shown(value)} is no count", "write an integer, 0 or more")
    return int(value)


def _duration(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
        raise _MemberError("", f"{_shown(value)} is no duration", "write a number, 0 or more")
    return float(value)


def _object(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _MemberError("", f"{_shown(value)} is no object", "write an object")
    return _plain(value)


def _counts(values: Mapping[str, Any]) -> None:
    for name in values:
        _member(_count, values, name)


def _list_of(read: _Reader) -> _Reader:
    def list_of(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise _MemberError("", f"{_shown(value)} is no list", "write a list")
        if read is _text and all(type(member) is str for member in value):  # thousands of short ones
            return tuple(value)
        return tuple(_each(read, value))

    return list_of


def _word_of(words: type[Outcome] | type[Deviation] | type[Origin]) -> _Reader:
    def word(value: Any) -> Any:
        if isinstance(value, words):
            return value
        try:
            return words(value)
        except ValueError:
            known = ", ".join(word.value or '""' for word in words)
            cause = f"{_shown(value)} is no {words.__name__.lower()}"
            raise _MemberError("", cause, f"write one of {known}") from None

    return word


def _record_of(kind: type[_Record]) -> _Reader:
    def record(value: Any) -> _Record:
        if isinstance(value, kind):
            return value
        try:
            return kind.from_json(value)
        except RecordError as error:
            raise _MemberError(error.pointer, error.cause, error.mend) from None

    return record


def _reader(annotation: Any) -> _Reader:
    """What reads members that are annotated so."""
    if get_origin(annotation) is tuple:
        return _list_of(_reader(get_args(annotation)[0]))
    if isinstance(annotation, type) and issubclass(annotation, _Record):
        return _record_of(annotation)
    if annotation in _WORDS:
        return _word_of(annotation)
    return {str: _text, int: _count, float: _duration}.get(annotation, _object)


@functools.cache
def _readers(record: Hashable) -> dict[str, _Reader]:
    """What reads each member of a class of records, in their order."""
    return {name: _reader(annotation) for name, annotation in get_type_hints(record).items()}


@functools.cache
def _members(record: Hashable) -> tuple[tuple[str, object, _Reader], ...]:
    """The name of each member of a class of records, the one type that needs no reading, and what reads others."""
    annotations = get_type_hints(record)
    settled = (str, int, *_WORDS)
    return tuple(
        (name, annotations[name] if annotations[name] in settled else None, read)
        for name, read in _readers(record).items()
    )


@functools.cache
def _optional(record: Hashable) -> frozenset[str]:
    """The members of a class of records that JSON may lack."""
    return frozenset(member.name for member in fields(cast(Any, record)) if member.metadata.get("optional"))


def _write(value: Any) -> Any:
    if type(value) in (str, int, float):  # as they were read
        return value
    if isinstance(value, tuple):
        return [_write(member) for member in value]
    if isinstance(value, _Record):
        return value.to_json()
    return value.value if isinstance(value, _WORDS) else _plain(value)


@dataclass(frozen=True)
class _Record:
    """Checking and JSON, for all records alike."""

    def __post_init__(self) -> None:
        try:
            members = self.__dict__
            for name, settled, read in _members(cast(Any, type(self))):
                value = members[name]
                if type(value) is not settled or (settled is int and value < 0):
                    members[name] = _member(read, members, name)
            self._check()
        except _MemberError as error:
            raise RecordError(type(self).__name__, error.pointer, error.cause, error.mend) from None

    def _check(self) -> None:
        name = getattr(self, "data_type", "")
        if name and name not in _DATA_TYPES:
            known = ", ".join(_DATA_TYPES)
            raise _MemberError("/data_type", f"{_shown(name)} is no data type", f"write one of {known}")

    def to_json(self) -> dict[str, Any]:
        """The record as JSON's own types; :meth:`from_json` gives it back."""
        return {name: _write(getattr(self, name)) for name in _readers(cast(Any, type(self)))}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """The record that ``value`` describes.

        Raises:
            RecordError: ``value`` is no such record; the message says where and why.
        """
        if not isinstance(value, Mapping):
            raise RecordError(cls.__name__, "", f"{_shown(value)} is no object", "write an object")
        names, optional = _readers(cast(Any, cls)), _optional(cast(Any, cls))
        for name in names:
            if name not in value and name not in optional:
                raise RecordError(cls.__name__, "", f"lacks {name!r}", f"its members are {', '.join(names)}")
        for name in value:
            if name not in names:
                cause = f"has the unknown member {_shown(name)}"
                raise RecordError(cls.__name__, "", cause, f"its members are {', '.join(names)}")
        return cls(**value)


@dataclass(frozen=True)
class ClauseTally(_Record):
    """How often a test checked one clause, on one operator and data type, and how that ended.

    Attributes:
        clause: the clause's id.
        operator: the ``OperatorDesc`` name.
        data_type: the :class:`DataType`'s name.
        outcome: the worst outcome of its cases.
        cases: how many cases were executed.
        elements: how many output elements were judged.
        failures: how many of the cases failed.
        unsupported: how many further cases the backend could not express, for this clause's sake.
        types: the signatures that the cases were of, in words, where the operator has more than one data type;
            records of earlier versions say nothing of them.
    """

    clause: str
    operator: str
    data_type: str
    outcome: Outcome
    cases: int
    elements: int
    failures: int
    unsupported: int = 0
    types: tuple[str, ...] = field(default=(), metadata={"optional": True})

    def _check(self) -> None:
        super()._check()
        for name in ("clause", "operator", "data_type"):
            if not getattr(self, name):
                raise _MemberError(f"/{name}", "is empty", "a tally names its clause, operator and data type")


@dataclass(frozen=True)
class Behaviour(_Record):
    """What the implementation does where the pages are silent.

    Attributes:
        clause: the clause's id.
        operator: the ``OperatorDesc`` name.
        data_type: the :class:`DataType`'s name.
        behaviour: what was seen, in words ("NaN input gives Max").
        example: one case that shows it.
    """

    clause: str
    operator: str
    data_type: str
    behaviour: str
    example: str


@dataclass(frozen=True)
class FailureRecord(_Record):
    """One failing case, readable by a person and replayable by a machine.

    Attributes:
        clause: the clause's id, "" where no single clause is at fault.
        operator: the ``OperatorDesc`` name, or "".
        data_type: the :class:`DataType`'s name, or "".
        outcome: how the case ended.
        test: the pytest node id.
        title: one short line.
        text: the whole account.
        case: what replays the case.
        file: the name of its file in ``failures/``, "" where it has none.
        details: label and text of each part of the account, in its order ("input": "0.5 (0x3f000000) at …").
        replay: the command that executes the case again; "" where there is no case. It is typed in the results folder
            if it names ``failures/FILE``, else where the run was started.
        deviation: in which way the case deviates, a :class:`Deviation`.
        needs: the factors that the fault needs, by name, as "input strides" and "count".
        origin: what a wrong value changes with, an :class:`Origin`.
        because: the clause of the fault that explains this one, "" where it stands for itself.
    """

    clause: str
    operator: str
    data_type: str
    outcome: Outcome
    test: str
    title: str
    text: str
    case: dict[str, Any]
    file: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    replay: str = ""
    deviation: Deviation = field(default=Deviation.UNKNOWN, metadata={"optional": True})
    needs: tuple[str, ...] = field(default=(), metadata={"optional": True})
    origin: Origin = field(default=Origin.UNKNOWN, metadata={"optional": True})
    because: str = field(default="", metadata={"optional": True})

    def _check(self) -> None:
        super()._check()
        if self.file and not _FILE.fullmatch(self.file):
            mend = "write letters, digits, '.', '_' and '-' only, ending in .yaml"
            raise _MemberError("/file", f"{_shown(self.file)} is no plain file name", mend)
        for label, detail in self.details.items():
            if not isinstance(detail, str):
                raise _MemberError(f"/details/{label}", f"{_shown(detail)} is no string", "write a string")


@dataclass(frozen=True)
class LevelsSeen(_Record):
    """The levels that a test's cases of one operator and data type had, see ``suites/combinations``.

    Attributes:
        operator: the ``OperatorDesc`` name.
        data_type: the :class:`DataType`'s name.
        rows: each kind of case once, as the positions of its levels, one digit a factor.
    """

    operator: str
    data_type: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class AccuracySeen(_Record):
    """How far results of one operator on one signature are from the real numbers, see ``suites/measuring``.

    Attributes:
        operator: the ``OperatorDesc`` name.
        data_type: the :class:`DataType`'s name.
        types: the signature in words.
        tensors: the data types' names by tensor.
        elements: how many results have an error in units of the last place.
        bins: how many of them by error: 0, at most 1/2, 1, 2, 4 … units; the empty ones at the end left out.
        apart: how many other elements there were, by why.
        ulp: the element with the largest error in such units: ``error``, ``inputs`` and ``got`` as patterns,
            ``attributes`` where there are any; empty where there is none.
        absolute: the element with the largest absolute error.
        buckets: the same for each bucket of the first input, with the bucket's number and its ``count``.
        digitless: of the acceptable results without a correct digit the one of the largest real number, whose magnitude
            is its ``error``; records of earlier versions lack it.
    """

    operator: str
    data_type: str
    types: str
    tensors: dict[str, Any]
    elements: int
    bins: tuple[int, ...]
    apart: dict[str, Any]
    ulp: dict[str, Any]
    absolute: dict[str, Any]
    buckets: tuple[dict[str, Any], ...]
    digitless: dict[str, Any] = field(default_factory=dict, metadata={"optional": True})

    def _check(self) -> None:
        super()._check()
        for name, kind in self.tensors.items():
            if kind not in _DATA_TYPES:
                raise _MemberError(f"/tensors/{name}", f"{_shown(kind)} is no data type", "write a DataType's name")
        members = self.__dict__
        _member(_counts, members, "apart")
        for name in ("ulp", "absolute", "digitless"):
            if members[name]:
                _member(self._check_element, members, name)
        _member(_list_of(self._check_bucket), members, "buckets")
        if len(self.bins) > MOST_BINS:
            raise _MemberError("/bins", f"has {len(self.bins)} members", f"write at most {MOST_BINS}")

    def _check_bucket(self, bucket: Mapping[str, Any]) -> None:
        self._check_element(bucket)
        for name in ("bucket", "count"):
            _member(_count, bucket, name)
        if bucket["bucket"] >= BUCKETS:
            raise _MemberError("/bucket", f"there are {BUCKETS} buckets", "write a smaller number")

    def _check_element(self, element: Mapping[str, Any]) -> None:
        _member(_duration, element, "error")
        _member(_count, element, "got")
        inputs = _member(_list_of(_count), element, "inputs")
        if len(inputs) + 1 != len(self.tensors):
            raise _MemberError("/inputs", f"has {len(inputs)} elements", "give one of each input tensor")
        if not isinstance(element.get("attributes", {}), Mapping):
            raise _MemberError("/attributes", "is no object", "write an object")


@dataclass(frozen=True)
class ItemRecord(_Record):
    """Everything that one item found: a test on a subject, or all tests of a family on an operator.

    Attributes:
        test: the pytest node id.
        outcome: how the test ended as a whole.
        seconds: how long it took.
        tallies: what it checked.
        behaviours: what it saw where the pages are silent.
        failures: what it found wrong.
        left_out: how many of its cases were not tried, because the implementation does not survive their kind.
        combinations: the levels of what it dispatched and judged; records of earlier versions say nothing of them.
        reason: why it did not run, where it did not; records of earlier versions lack it.
        accuracy: how far its results are from the real numbers; records of earlier versions say nothing of it.
        idle: which of an item's tests judged nothing, each with its reason; records of earlier versions, of one test
            each, lack it.
    """

    test: str
    outcome: Outcome
    seconds: float
    tallies: tuple[ClauseTally, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    failures: tuple[FailureRecord, ...] = ()
    left_out: int = 0
    combinations: tuple[LevelsSeen, ...] = field(default=(), metadata={"optional": True})
    reason: str = field(default="", metadata={"optional": True})
    accuracy: tuple[AccuracySeen, ...] = field(default=(), metadata={"optional": True})
    idle: dict[str, Any] = field(default_factory=dict, metadata={"optional": True})

    def _check(self) -> None:
        super()._check()
        for name, reason in self.idle.items():
            if not isinstance(reason, str):
                raise _MemberError(f"/idle/{name}", f"{_shown(reason)} is no string", "write the reason")
