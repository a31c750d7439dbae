"""What was measured of one operator on one signature: counts and worst elements, which merge in any order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.records import MOST_BINS, AccuracySeen
from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.accuracy.array_reference import ArrayReference, units_in
from dmlcts.specs.accuracy.bounds import accepted
from dmlcts.specs.accuracy.places import BUCKETS, buckets_of
from dmlcts.specs.arithmetic.vector_arithmetic import Rounding
from dmlcts.specs.description_data import write_attributes
from dmlcts.specs.latitudes import Latitudes
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature

Array = NDArray[Any]

MOST_UNSURE = 2.0**-10
"""Units of the last place that FLOAT64 may be wrong by; elements of which it is less sure are counted apart."""

_BINS = MOST_BINS
_TRIED, _MOST_TRIED = 256, 4096
"""How many results without a correct digit are asked at once, and of one dispatch, whether they are acceptable."""
_FLUSHING: Latitudes = frozenset({"subnormals"})
_APART = ("special", "lost", "subnormal", "tiny", "unsure")


@dataclass(frozen=True, order=True)
class Worst:
    """The element with the largest error so far: ordered so that the smaller one is worse, then the one of less bits.

    Attributes:
        rank: the error as FLOAT64 found it, negated.
        inputs: the patterns of the inputs' elements, in the order of the operator's tensors.
        got: the pattern of the result.
        attributes: the attributes that are not absent, as JSON.
    """

    rank: float
    inputs: tuple[int, ...]
    got: int
    attributes: str = "{}"


@dataclass
class Measurement:
    """What was measured so far, mutable.

    Attributes:
        tensors: the data types' names by tensor.
        types: the signature in words.
        elements: how many results have an error in units of the last place.
        bins: how many of them by error: 0, at most 1/2, 1, 2, 4 … units.
        apart: how many other elements there were, by why.
        ulp: the largest error in units of the last place.
        absolute: the largest absolute one.
        buckets: by bucket of the first input, how many and the worst.
        digitless: of the acceptable results without a correct digit the one whose real number is the largest; its
            ``rank`` is that magnitude, negated.
    """

    tensors: Mapping[str, str]
    types: str
    elements: int = 0
    bins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    apart: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_APART, 0))
    ulp: Worst | None = None
    absolute: Worst | None = None
    buckets: dict[int, tuple[int, Worst]] = field(default_factory=dict)
    digitless: Worst | None = None

    @classmethod
    def of(cls, seen: AccuracySeen) -> Measurement:
        """A measurement from what :meth:`record` gave."""
        bins = np.zeros(_BINS, np.int64)
        bins[: len(seen.bins)] = seen.bins[:_BINS]
        buckets = {
            bucket["bucket"]: (bucket["count"], worst)
            for bucket in seen.buckets
            if (worst := _read(bucket)) is not None
        }
        return cls(
            dict(seen.tensors),
            seen.types,
            seen.elements,
            bins,
            dict.fromkeys(_APART, 0) | dict(seen.apart),
            _read(seen.ulp),
            _read(seen.absolute),
            buckets,
            _read(seen.digitless),
        )

    def merge(self, other: Measurement) -> None:
        """Add what was measured elsewhere, in whichever order."""
        self.elements += other.elements
        self.bins = self.bins + other.bins
        for why, count in other.apart.items():
            self.apart[why] = self.apart.get(why, 0) + count
        self.ulp, self.absolute = _worse(self.ulp, other.ulp), _worse(self.absolute, other.absolute)
        self.digitless = _worse(self.digitless, other.digitless)
        for place, (count, worst) in other.buckets.items():
            known = self.buckets.get(place)
            self.buckets[place] = (count, worst) if known is None else (known[0] + count, min(known[1], worst))

    def record(self, operator: str, data_type: str) -> AccuracySeen:
        """The measurement as it travels between processes."""
        return AccuracySeen(
            operator,
            data_type,
            self.types,
            dict(self.tensors),
            self.elements,
            tuple(np.trim_zeros(self.bins, "b").tolist()),
            {name: count for name, count in self.apart.items() if count},
            _reported(self.ulp),
            _reported(self.absolute),
            tuple(
                {"bucket": place, "count": count, **_reported(worst)}
                for place, (count, worst) in sorted(self.buckets.items())
            ),
            _reported(self.digitless),
        )


def _worse(first: Worst | None, other: Worst | None) -> Worst | None:
    return other if first is None else first if other is None else min(first, other)


def _read(record: Mapping[str, Any]) -> Worst | None:
    if not record:
        return None
    attributes = json.dumps(record.get("attributes", {}), sort_keys=True)
    return Worst(-record["error"], tuple(record["inputs"]), record["got"], attributes)


def _reported(worst: Worst | None) -> dict[str, Any]:
    if worst is None:
        return {}
    attributes = json.loads(worst.attributes)
    return {"error": -worst.rank, "inputs": list(worst.inputs), "got": worst.got} | (
        {"attributes": attributes} if attributes else {}
    )


class Gauge:
    """Measures results of one description, adding them to a measurement.

    Args:
        law: what the tables say of the operator.
        operator: the description; its types and attributes count.
        strict: whether flushed subnormals are errors.
    """

    def __init__(self, law: Law, operator: OperatorDesc, *, strict: bool) -> None:
        self.law, self.operator = law, operator
        self.reference = ArrayReference(law, operator)
        self.output = operator.output.data_type
        self.tensors = {name: tensor.data_type.name for name, tensor in operator.tensors.items()}
        self.types = str(Signature.of(operator, law.table))
        self.kinds = [tensor.data_type for tensor in operator.inputs.values()]
        latitudes = law.latitudes(operator.data_type, strict=strict)
        unsaid = "any-value" in latitudes  # nothing is said of the operator's accuracy anywhere
        permitted: Latitudes = latitudes | _FLUSHING if unsaid else latitudes
        self.flushes = any(
            kind.is_floating and Rounding(kind, permitted).flushes for kind in (*self.kinds, self.output)
        )
        attributes = {name: value for name, value in write_attributes(operator).items() if value is not None}
        self.attributes = json.dumps(attributes, sort_keys=True)
        if self.output.is_floating:
            information = np.finfo(self.output.numpy)
            self.smallest = float(information.smallest_normal)
            self.beyond = float(information.max) * (1 + 2.0 ** -(int(information.nmant) + 2))

    def begun(self) -> Measurement:
        """A measurement of the description's signature with nothing in it yet."""
        return Measurement(self.tensors, self.types)

    def add(self, into: Measurement, inputs: Mapping[str, Array], output: Array) -> None:
        """Measure a dispatch's results.

        Args:
            into: what they are added to.
            inputs: the logical elements of each input by tensor name, 1-D and of one length.
            output: the results, 1-D, of the output's type.
        """
        if output.size:
            sizes = self.add_together(into, inputs, output, np.array([output.size]))
            if sizes is not None:
                self.add_digitless(into, sizes, inputs, output)

    def add_together(
        self, into: Measurement, inputs: Mapping[str, Array], output: Array, ends: NDArray[np.intp]
    ) -> Array | None:
        """Measure the results of some dispatches, one behind the other, as if each was measured by itself.

        Args:
            into: what they are added to.
            inputs: as :meth:`add` takes them, of all dispatches.
            output: the results of all.
            ends: where each dispatch's elements end; none has no elements.

        Returns:
            What :meth:`add_digitless` takes, for all elements; ``None`` where none is to be added so.
        """
        digitless = None
        real, unsure = self.reference.result(inputs)
        got = output.astype(np.float64)
        with np.errstate(all="ignore"):
            left = self._measured(into, inputs, real, got)
            distance = np.abs(got - real)
            known = left & np.isfinite(unsure)  # of the others the exact reference does not give the error either
            self._worst(into, "absolute", np.where(known, distance, -1.0), inputs, output, ends)
            if self.output.is_floating:
                sizes = np.where(known & (distance >= np.abs(real)), np.abs(real), -1.0)
                digitless = sizes if (sizes > self.smallest).any() else None
                per_unit = units_in(self.output, real)
                units, vague = distance * per_unit, unsure * per_unit > MOST_UNSURE
            else:
                units, vague = distance, unsure > MOST_UNSURE
            left = self._apart(into, "unsure", left, vague)
            if self.flushes and self.output.is_floating:
                left = self._apart(into, "tiny", left, np.abs(real) < self.smallest)
        if not left.any():
            return digitless
        into.elements += int(np.count_nonzero(left))
        into.bins += np.bincount(_bins(units[left]), minlength=_BINS)
        ranked = np.where(left, units, -1.0)
        self._worst(into, "ulp", ranked, inputs, output, ends)
        self._spread(into, ranked, left, inputs, output, ends)
        return digitless

    def _measured(self, into: Measurement, inputs: Mapping[str, Array], real: Array, got: Array) -> NDArray[np.bool_]:
        """Which elements have an error at all; the others are counted by why."""
        left = np.ones(got.shape, bool)
        if self.output.is_floating:
            left = self._apart(into, "special", left, ~(np.abs(real) < self.beyond))
            if self.flushes:
                for array in inputs.values():
                    if np.issubdtype(array.dtype, np.floating):
                        tiny = (array != 0) & (np.abs(array) < np.finfo(array.dtype).smallest_normal)
                        left = self._apart(into, "subnormal", left, tiny)
        else:
            left = self._apart(into, "special", left, ~np.isfinite(real))
        return self._apart(into, "lost", left, ~np.isfinite(got))

    @staticmethod
    def _apart(into: Measurement, why: str, left: NDArray[np.bool_], held: Array) -> NDArray[np.bool_]:
        taken = left & held
        if taken.any():
            into.apart[why] += int(np.count_nonzero(taken))
            return left & ~taken
        return left

    def _worst(
        self,
        into: Measurement,
        name: str,
        ranked: Array,
        inputs: Mapping[str, Array],
        output: Array,
        ends: NDArray[np.intp],
    ) -> None:
        index = int(np.argmax(ranked))
        if ranked[index] < 0:
            return
        known: Worst | None = getattr(into, name)
        if known is not None and -known.rank > ranked[index]:
            return
        if ends.size > 1:
            index = self._least(np.flatnonzero(ranked == ranked[index]), inputs, output, ends)
        worst = self._element(ranked, index, inputs, output)
        setattr(into, name, worst if known is None else min(known, worst))

    def _least(
        self, places: NDArray[np.intp], inputs: Mapping[str, Array], output: Array, ends: NDArray[np.intp]
    ) -> int:
        """Of elements with one error the one that is reported: the first of each dispatch, and of these the least bits.

        Args:
            places: theirs, ascending.
            inputs: the elements.
            output: the results.
            ends: where each dispatch's elements end.
        """
        if places.size > 1:
            dispatches = np.searchsorted(ends, places, "right")
            places = places[np.concatenate([[True], dispatches[1:] != dispatches[:-1]])]
        if places.size == 1:
            return int(places[0])
        keys = [array[places].view(kind.bits_dtype) for array, kind in zip(inputs.values(), self.kinds, strict=True)]
        return int(places[np.lexsort([output[places].view(self.output.bits_dtype), *keys[::-1]])[0]])

    def add_digitless(self, into: Measurement, sizes: Array, inputs: Mapping[str, Array], output: Array) -> None:
        """The largest of real numbers of which no digit came out, though what did is acceptable by a bound.

        Args:
            into: what it is added to.
            sizes: the magnitudes of the real numbers, -1 where a digit is right.
            inputs: the elements.
            output: the results.
        """
        least = self.smallest if into.digitless is None else -into.digitless.rank
        places = np.flatnonzero(sizes > least)
        places = places[np.argsort(-sizes[places], kind="stable")]
        for start in range(0, min(places.size, _MOST_TRIED), _TRIED):
            some = places[start : start + _TRIED]
            sample = {
                name: np.ascontiguousarray(array[some if array.size > 1 else np.zeros_like(some)])
                for name, array in inputs.items()
            }
            acceptance = accepted(self.law, self.operator, sample, strict=False)
            right = acceptance.admits(np.ascontiguousarray(output[some]))
            if acceptance.any_value is not None:
                right = right & ~acceptance.any_value
            if right.any():
                worst = self._element(sizes, int(some[np.argmax(right)]), inputs, output)
                into.digitless = _worse(into.digitless, worst)
                return

    def _spread(
        self,
        into: Measurement,
        ranked: Array,
        left: NDArray[np.bool_],
        inputs: Mapping[str, Array],
        output: Array,
        ends: NDArray[np.intp],
    ) -> None:
        """Where in the range of the first input errors lie: in each bucket the count and the worst element."""
        first = np.broadcast_to(next(iter(inputs.values())), output.shape)
        places = np.where(left, buckets_of(first), BUCKETS)
        counts = np.bincount(places, minlength=BUCKETS + 1)
        order = np.argsort(places.astype(np.uint8), kind="stable")  # numpy sorts so narrow numbers by counting
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        for place in np.flatnonzero(counts[:BUCKETS]).tolist():
            members = order[starts[place] : starts[place] + counts[place]]
            worst = int(members[np.argmax(ranked[members])])
            count, known = into.buckets.get(place, (0, None))
            if known is None or ranked[worst] >= -known.rank:
                if ends.size > 1:
                    worst = self._least(members[ranked[members] == ranked[worst]], inputs, output, ends)
                element = self._element(ranked, worst, inputs, output)
                known = element if known is None else min(known, element)
            into.buckets[place] = (count + int(counts[place]), known)

    def _element(self, ranked: Array, index: int, inputs: Mapping[str, Array], output: Array) -> Worst:
        patterns = tuple(
            _bits(array, min(index, array.size - 1), kind)
            for array, kind in zip(inputs.values(), self.kinds, strict=True)
        )
        return Worst(-float(ranked[index]), patterns, _bits(output, index, self.output), self.attributes)


def _bins(units: Array) -> Array:
    """The bin of each error: 0 of none, 1 up to 1/2, 2 up to 1, and so on, each twice as wide."""
    fields = (units.view(np.uint64) >> np.uint64(52)).astype(np.int64)
    whole = units.view(np.uint64) & np.uint64((1 << 52) - 1) == 0  # a power of two is the last of its bin
    return np.asarray(np.where(units == 0, 0, np.clip(fields - 1023 - whole + 3, 1, _BINS - 1)))


def _bits(array: Array, index: int, kind: DataType) -> int:
    return int(array[index : index + 1].view(kind.bits_dtype).item())
