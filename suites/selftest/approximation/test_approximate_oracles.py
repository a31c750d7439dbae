"""The two oracles of approximate results: they agree, to the pattern, and what is expected first is acceptable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures
from dmlcts.suites.selftest.approximation.probing import approximate, disagreements, elements_of
from dmlcts.suites.selftest.family.family_tables import family

Array = NDArray[Any]
TABLES = family()
CASES = approximate(TABLES)
on_every_approximate_signature = pytest.mark.parametrize(
    ("table", "signature"), CASES, ids=[f"{table.short_name}-{signature}" for table, signature in CASES]
)


@pytest.mark.sampled(5)
@on_every_approximate_signature
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.size("thorough", brief=6)
def test_the_oracles_agree(table: OperatorTable, signature: Signature, strict: bool) -> None:
    for operator, inputs in elements_of(table, signature, 30, seed=4 if strict else 3):
        assert disagreements(TABLES, operator, inputs, strict=strict) == []


SCALED = [(table, signature) for table, signature in CASES if table.has_scale_bias]
on_every_signature_with_scale_bias = pytest.mark.parametrize(
    ("table", "signature"), SCALED, ids=[f"{table.short_name}-{signature}" for table, signature in SCALED]
)


def scaled(operator: OperatorDesc) -> Iterator[OperatorDesc]:
    """The description with factors that round in FLOAT16 and in FLOAT32, and with such that cancel."""
    for pair in ((0.1, 0.7), (2.0, -3.0), (-1.5, 0.25), (1.0, float("inf"))):
        yield OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "ScaleBias": ScaleBias(*pair)})


@pytest.mark.sampled(5)
@on_every_signature_with_scale_bias
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.size("thorough", brief=5)
def test_the_oracles_agree_after_a_scale_bias(table: OperatorTable, signature: Signature, strict: bool) -> None:
    operator, inputs = next(elements_of(table, signature, 16, seed=3))
    for described in scaled(operator):
        assert disagreements(TABLES, described, inputs, strict=strict) == []


@pytest.mark.parametrize(
    ("pair", "overflows"), [((2.0**-120, 2.0**76), True), ((2.0**-120, 8.0), False), (None, False)]
)
def test_where_a_formula_is_permitted_counts_after_the_scale_bias(
    pair: tuple[float, float] | None, overflows: bool
) -> None:
    """ASINH's ln(x + sqrt(x * x + 1)) is permitted of x from 0 on, and overflows at 2^76, which -3 has become."""
    table = TABLES.operator("ASINH")
    signature = next(item for item in signatures(table) if item.data_type is DataType.FLOAT32)
    operator, inputs = next(elements_of(table, signature, 1, seed=3))
    attributes = {"ScaleBias": None if pair is None else ScaleBias(*pair)}
    described = OperatorDesc(operator.name, operator.tensors, attributes)
    inputs = {name: np.array([-3.0], np.float32) for name in inputs}
    infinite = np.array([np.inf], np.float32)
    assert ApproximateVectorOracle(TABLES.law(table), described).acceptance(inputs).admits(infinite).all() == overflows
    assert disagreements(TABLES, described, inputs, strict=False) == []


POW = TABLES.operator("POW")
WHOLE = [signature for signature in signatures(POW) if not is_approximate(POW, signature)]


@pytest.mark.parametrize("signature", WHOLE[::5], ids=str)
@pytest.mark.parametrize("pair", [None, (1.0, 0.0), (2.0, -3.0), (0.4, 1.5), (1.0, float("nan"))], ids=str)
@pytest.mark.parametrize("strict", [False, True])
def test_the_oracles_agree_on_integer_powers(
    signature: Signature, pair: tuple[float, float] | None, strict: bool
) -> None:
    """Also after a ScaleBias; what is exact holds exactly, so that the two sets are equal."""
    for operator, inputs in elements_of(POW, signature, 120, seed=3):
        attributes = {**operator.attributes, "ScaleBias": None if pair is None else ScaleBias(*pair)}
        described = OperatorDesc(operator.name, operator.tensors, attributes)
        exactly = TypedOracle(TABLES.law(POW), described, strict=strict)
        answers = TypedVectorOracle(TABLES.law(POW), described, strict=strict).acceptance(inputs).elements()
        patterns = {name: array.view(f"u{array.dtype.itemsize}").tolist() for name, array in inputs.items()}
        seen = set()
        for index, answer in enumerate(answers):
            exact = exactly.acceptable({name: bits[index] for name, bits in patterns.items()})
            seen.add(exact.any_value)
            assert (exact.any_value, exact.any_value or exact.patterns) == (
                answer.any_value,
                answer.any_value or answer.patterns,
            ), {name: array[index] for name, array in inputs.items()}
        assert pair is not None or seen == {True, False}


def refused(operator: OperatorDesc, values: Mapping[str, Array]) -> list[Any]:
    """The first elements whose expected output is not acceptable: an output that equals it would be taken."""
    oracle = ApproximateVectorOracle(TABLES.law(TABLES.operator(operator.name)), operator)
    wanted = oracle.expected(values)
    places = np.flatnonzero(~oracle.acceptance(values).admits(wanted))[:3]
    return [({name: array[place] for name, array in values.items()}, wanted[place]) for place in places]


@pytest.mark.sampled(5)
@on_every_approximate_signature
def test_what_is_expected_first_is_acceptable(table: OperatorTable, signature: Signature) -> None:
    for operator, inputs in elements_of(table, signature, 4000, seed=5):
        assert refused(operator, inputs) == []


@pytest.mark.sampled(5)
@on_every_signature_with_scale_bias
@pytest.mark.size("thorough", brief=2)
def test_what_is_expected_first_is_acceptable_after_a_scale_bias(table: OperatorTable, signature: Signature) -> None:
    operator, inputs = next(elements_of(table, signature, 1000, seed=5))
    for described in scaled(operator):
        assert refused(described, inputs) == [], described


def test_a_disagreement_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectorised oracle without its flush of subnormals."""
    table, signature = next(
        (operator_table, two) for operator_table, two in CASES if operator_table.short_name == "ADD"
    )
    operator, inputs = next(elements_of(table, signature, 400, seed=3))
    assert disagreements(TABLES, operator, inputs, strict=False) == []
    first = ApproximateVectorOracle.__init__

    def keeping(self: ApproximateVectorOracle, *arguments: object, **more: bool) -> None:
        first(self, *arguments, **more)  # type: ignore[arg-type]
        self.latitudes = self.latitudes - {"subnormals"}

    monkeypatch.setattr(ApproximateVectorOracle, "__init__", keeping)
    assert disagreements(TABLES, operator, inputs, strict=False)


def test_an_element_that_is_not_given_is_refused() -> None:
    table, signature = CASES[0]
    operator, _ = next(elements_of(table, signature, 4, seed=3))
    with pytest.raises(Exception, match="no element of"):
        ApproximateOracle(TABLES.law(table), operator).acceptable({})


def test_an_interval_of_signed_integers_may_pass_through_zero() -> None:
    around_zero = Acceptable(frozenset(), intervals=frozenset({(0xFE, 0x02)}))
    admitted = [around_zero.admits(index % 256, DataType.INT8) for index in range(-4, 5)]
    assert admitted == [False, False, True, True, True, True, True, False, False]
