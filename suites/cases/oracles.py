"""The oracle of a description, whichever of the two kinds its table asks for, over the elements of every input.

A formula of one input of the output's own type is answered by :class:`VectorOracle`, which knows ScaleBias and the
casts of attributes; every other by :class:`TypedVectorOracle`. A test judges through :class:`Oracle` and does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.arithmetic.lookups import Lookup, distinct_elements
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vector_typed import PlainVectorOracle, TypedVectorOracle
from dmlcts.specs.oracle.vectorised import Acceptance, VectorOracle, equal
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate
from dmlcts.suites.cases.values import Array

Inputs = Mapping[str, Array]
"""The logical elements of every input tensor by its name, 1-D and of one length."""

_PIECE = 1 << 15  # elements judged at once: what they may become takes many arrays
_MOST_KEPT = 256
_EXPECTED = 1 << 15  # elements whose outputs are found at once: what a step leaves is still in the cache


def _in_pieces(expected: Callable[[Inputs], Array], inputs: Inputs, data_type: DataType) -> Array:
    """What ``expected`` gives for the inputs, asked for some elements after others where there are many."""
    count = max(array.size for array in inputs.values())
    if count <= _EXPECTED:
        return expected(inputs)
    outputs = np.empty(count, data_type.numpy)
    for start in range(0, count, _EXPECTED):
        place = slice(start, start + _EXPECTED)
        outputs[place] = expected(
            {name: array[place] if array.size == count else array for name, array in inputs.items()}
        )
    return outputs


def _types(operator: OperatorDesc) -> dict[str, DataType]:
    return {name: tensor.data_type for name, tensor in operator.inputs.items()}


class Oracle(Protocol):
    """What is right for the elements of a description's output."""

    operator: OperatorDesc
    data_type: DataType
    """The output's element type."""

    @property
    def expected_suffices(self) -> bool:
        """Whether an output that equals the expected one is right."""

    def expected(self, inputs: Inputs) -> Array:
        """One acceptable output for each element, 1-D, of the output's type."""

    def acceptance(self, inputs: Inputs) -> Acceptance:
        """All that is acceptable for each element; of bit patterns as unsigned integers of their width."""

    def admits(self, inputs: Inputs, output: Array) -> NDArray[np.bool_]:
        """Which elements of ``output``, of the output's type, are acceptable."""

    def differing(self, output: Array, expected: Array) -> NDArray[np.intp]:
        """The indices of elements that have to be looked at closely, ascending: others are as good as expected."""

    def judge(self, inputs: Inputs, output: Array, expected: Array | None = None) -> NDArray[np.intp]:
        """The indices at which ``output`` is not acceptable, ascending; ``expected`` saves the work of finding it."""


def of_one_type(table: OperatorTable) -> bool:
    """Whether a formula has one input, called x, of the output's type, and no numbers but bounds and a ScaleBias."""
    bounds = (table.lower, table.upper)
    return table.of_x_alone and all(
        item.type in ("ENUM", "DML_SCALE_BIAS") or (item.type == "FLOAT" and item.name in bounds)
        for item in table.attributes
    )


def oracle_of(tables: Tables, operator: OperatorDesc, *, strict: bool) -> Oracle:
    """The oracle of a description.

    Raises:
        UsageError: no table describes the operator, or an activation that is fused to it.
    """
    law, described = tables.fused(operator)
    if law.of_one_input:
        return OneInput(VectorOracle(law, described, strict=strict))
    if is_approximate(law.table, Signature.of(operator, law.table)):
        return ApproximateResults(law, described, strict=strict)
    return SeveralInputs(law, described, strict=strict)


class Oracles:
    """The oracles of a run: one for all descriptions that differ in sizes and layouts alone.

    Args:
        tables: the spec tables.
        strict: leave no latitude.
    """

    def __init__(self, tables: Tables, *, strict: bool) -> None:
        self._tables = tables
        self._strict = strict
        self._known: dict[Hashable, Oracle] = {}

    def of(self, operator: OperatorDesc) -> Oracle:
        """The oracle of a description.

        Raises:
            UsageError: no table describes the operator, or an activation that is fused to it.
        """
        if not operator.output.element_count:
            return oracle_of(self._tables, operator, strict=self._strict)
        key = operator.kind
        oracle = self._known.pop(key, None) or oracle_of(self._tables, operator, strict=self._strict)
        self._known[key] = oracle  # the one that was asked for last stands last
        if len(self._known) > _MOST_KEPT:
            del self._known[next(iter(self._known))]
        return oracle


class OneInput:
    """The oracle of a formula with one input of the output's type.

    It stands beside the others for what its formulas may have and theirs may not, ScaleBias and FLOAT attributes that
    are cast, and for "one value", which asks for what those became. Few elements it judges faster: 64 of ABS, FLOOR
    and NEGATE in 0.03 ms where the other takes 0.1 ms; a million right ones it judges up to 1.7 times slower.

    Attributes:
        vector: the oracle that answers for that input's elements.
    """

    expected_suffices = True

    def __init__(self, vector: VectorOracle) -> None:
        self.vector = vector
        self.operator = vector.operator
        self.data_type = vector.data_type
        self._name = vector.operator.input_name
        self._looked_up = Lookup(_types(vector.operator), lambda some: vector.expected(some[self._name]))

    def expected(self, inputs: Inputs) -> Array:
        """As :meth:`Oracle.expected`."""
        return _in_pieces(self._looked_up, inputs, self.data_type)

    def acceptance(self, inputs: Inputs) -> Acceptance:
        """As :meth:`Oracle.acceptance`."""
        return self.vector.acceptance(inputs[self._name])

    def admits(self, inputs: Inputs, output: Array) -> NDArray[np.bool_]:
        """As :meth:`Oracle.admits`."""
        return self.acceptance(inputs).admits(output)

    def differing(self, output: Array, expected: Array) -> NDArray[np.intp]:
        """As :meth:`Oracle.differing`."""
        return self.vector.differing(output, expected)

    def judge(self, inputs: Inputs, output: Array, expected: Array | None = None) -> NDArray[np.intp]:
        """As :meth:`Oracle.judge`."""
        return self.vector.judge(inputs[self._name], output, expected)


class _NamedInputs:
    """What the oracles share whose formulas call their inputs by name.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        read: the type that outputs are compared in: the output's, or unsigned integers of its width.
    """

    expected_suffices = True

    def __init__(self, law: Law, operator: OperatorDesc, read: DataType) -> None:
        self.operator = operator
        self.data_type = operator.output.data_type
        self._read = read
        self._names = {member: name for name, member in law.table.formula_names.items() if member in operator.tensors}
        self._looked_up = Lookup(_types(operator), self._expected)

    def _named(self, inputs: Inputs) -> dict[str, Array]:
        return {name: inputs[member] for member, name in self._names.items()}

    def expected(self, inputs: Inputs) -> Array:
        """As :meth:`Oracle.expected`."""
        return _in_pieces(self._looked_up, inputs, self.data_type)

    def _expected(self, inputs: Inputs) -> Array:
        raise NotImplementedError

    def acceptance(self, inputs: Inputs) -> Acceptance:
        """As :meth:`Oracle.acceptance`."""
        raise NotImplementedError

    def admits(self, inputs: Inputs, output: Array) -> NDArray[np.bool_]:
        """As :meth:`Oracle.admits`."""
        return self.acceptance(inputs).admits(output.view(self._read.numpy))

    def judge(self, inputs: Inputs, output: Array, expected: Array | None = None) -> NDArray[np.intp]:
        """As :meth:`Oracle.judge`: the elements that are not as expected are looked at closely, in pieces."""
        if expected is None:
            expected = self.expected(inputs)
        differing = self.differing(output, expected)
        wrong = [differing[:0]]
        for start in range(0, differing.size, _PIECE):
            piece = differing[start : start + _PIECE]
            few, got = {name: array[piece] for name, array in inputs.items()}, output[piece]
            uniques = distinct_elements([*few.values(), got])
            if uniques is None:
                wrong.append(piece[~self.admits(few, got)])
                continue
            first, inverse = uniques
            admitted = self.admits({name: array[first] for name, array in few.items()}, got[first])
            wrong.append(piece[~admitted[inverse]])
        return np.concatenate(wrong)

    def differing(self, output: Array, expected: Array) -> NDArray[np.intp]:
        """As :meth:`Oracle.differing`: all elements where an expected one may be wrong."""
        if not self.expected_suffices:
            return np.arange(output.size)
        output, expected = output.view(self._read.numpy), expected.view(self._read.numpy)
        differences = []
        for start in range(0, max(output.size, 1), _PIECE):
            same = equal(output[start : start + _PIECE], expected[start : start + _PIECE], self._read, strict=True)
            if not same.all():
                differences.append(np.flatnonzero(~same) + start)
        return np.concatenate(differences) if differences else np.zeros(0, np.intp)


class ApproximateResults(_NamedInputs):
    """The oracle of a formula whose functions have accuracy rules.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        strict: the strict tolerances count, and only the latitudes that ``--strict-ieee`` keeps.
    """

    def __init__(self, law: Law, operator: OperatorDesc, *, strict: bool = False) -> None:
        super().__init__(law, operator, operator.output.data_type)
        self._vector = ApproximateVectorOracle(law, operator, strict=strict)
        self.expected_suffices = not strict  # which may ask for more roundings than one

    def real(self, inputs: Inputs) -> Array:
        """The formula's real results in FLOAT64, with the errors that the table of functions states."""
        return self._vector.real(self._named(inputs))

    def _expected(self, inputs: Inputs) -> Array:
        """The real results, rounded once."""
        return self._vector.expected(self._named(inputs))

    def acceptance(self, inputs: Inputs) -> Acceptance:
        """As :meth:`Oracle.acceptance`."""
        return self._vector.acceptance(self._named(inputs))


class SeveralInputs(_NamedInputs):
    """The oracle of an exact formula with several inputs or types, or of bit patterns.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        strict: leave only the latitudes and tolerances that ``--strict-ieee`` keeps.
    """

    def __init__(self, law: Law, operator: OperatorDesc, *, strict: bool = False) -> None:
        self._law = law
        self._strict = strict
        self._typed = TypedVectorOracle(law, operator, strict=strict)
        super().__init__(law, operator, self._typed.output)

    @cached_property
    def _plain(self) -> PlainVectorOracle:
        return PlainVectorOracle(self._law, self.operator, strict=self._strict)

    def _expected(self, inputs: Inputs) -> Array:
        if not self.operator.output.element_count:
            return np.zeros(0, self.data_type.numpy)
        return np.ascontiguousarray(self._plain.usual(self._named(inputs))).view(self.data_type.numpy)

    def acceptance(self, inputs: Inputs) -> Acceptance:
        """As :meth:`Oracle.acceptance`."""
        return self._typed.acceptance(self._named(inputs))
