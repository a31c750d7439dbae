"""The tables are the law: a word that is taken out of one changes what both oracles accept, and nothing else does."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TableError
from dmlcts.specs.latitudes import LATITUDES
from dmlcts.specs.loading import load_tables, tables_of_files
from dmlcts.specs.oracle.blocks import BlockJudge
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.tables import Tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.one_value import wider_maximum
from dmlcts.suites.selftest.descriptions import described

F32, F16, INT8, UINT8 = DataType.FLOAT32, DataType.FLOAT16, DataType.INT8, DataType.UINT8
NAN, INF = float("nan"), float("inf")


FIRST_THREE = ("operators/clip.yaml", "operators/round.yaml", "operators/threshold.yaml")


def changed(file: str, old: str, new: str) -> Tables:
    """The shared tables and those of the first three operators, with one of them changed."""
    files = []
    for builtin_file in builtin_files():
        if builtin_file.digest_name.startswith("operators/") and builtin_file.digest_name not in FIRST_THREE:
            continue
        text = builtin_file.data.decode()
        if builtin_file.digest_name == file:
            assert re.search(old, text), f"{file} does not hold {old}"
            text = re.sub(old, new, text)
        files.append(TableFile(builtin_file.name, builtin_file.digest_name, text.encode()))
    return tables_of_files(files)


def without(operator: str, latitude: str) -> Tables:
    """The built-in tables, in which no clause of the operator lists the latitude."""
    word = rf'"?{latitude}"?'
    file = f"operators/{operator.lower()}.yaml"
    pattern = rf"(latitude: \[)((?:[^\]]*, )?){word}(?:, ([^\]]*))?\]"

    def left(match: re.Match[str]) -> str:
        names = [name for name in (match[2].removesuffix(", "), match[3] or "") if name]
        return f"{match[1]}{', '.join(names)}]"

    files = []
    for builtin_file in builtin_files():
        text = builtin_file.data.decode()
        if builtin_file.digest_name == file:
            text, count = re.subn(pattern, left, text)
            assert count, f"{file} does not list {latitude}"
        files.append(TableFile(builtin_file.name, builtin_file.digest_name, text.encode()))
    return tables_of_files(files)


def accepts(tables: Tables, operator: OperatorDesc, x: Any, output: Any, *, strict: bool = False) -> bool:
    """Whether both oracles accept an output; they have to agree."""
    law = tables.law(tables.operator(operator.name))
    data_type = operator.input.data_type
    inputs, outputs = (
        np.asarray([value]).astype(data_type.numpy) if not isinstance(value, np.ndarray) else value
        for value in (x, output)
    )
    bits = [int(array.view(data_type.bits_dtype)[0]) for array in (inputs, outputs)]
    exact = ExactOracle(law, operator, strict).acceptable(bits[0])
    vectorised = VectorOracle(law, operator, strict=strict)
    acceptance = vectorised.acceptance(inputs)
    assert acceptance.element(0) == exact
    accepted = exact.admits(bits[1], data_type)
    assert bool(acceptance.admits(outputs)[0]) == accepted
    assert (vectorised.judge(inputs, outputs).size == 0) == accepted
    for compiled in (False, True):
        assert (BlockJudge(vectorised, compiled=compiled).judge(inputs, outputs).wrong.size == 0) == accepted
    return accepted


def f16(bits: float) -> np.ndarray:
    return np.array([bits], np.float16)


def nan(bits: int) -> np.ndarray:
    return np.array([bits], np.uint32).view(np.float32)


EDGE = 1 + 3 * 2.0**-10
CASES: dict[str, tuple[OperatorDesc, Any, Any, Any]] = {
    # what it is, an input, what only the latitude permits, what is right without it
    "zero-sign": (described("CLIP", F32, Min=-1.0, Max=1.0), -0.0, 0.0, -0.0),
    "subnormals": (described("CLIP", F32, Min=-1.0, Max=1.0), 1e-40, 0.0, 1e-40),
    "nan": (described("CLIP", F32, Min=NAN, Max=10.0), -5.0, -5.0, NAN),
    "nan-input": (described("CLIP", F32, Min=3.0, Max=1.0), NAN, 1.0, NAN),
    "nan-bound-zero": (described("THRESHOLD", F32, Min=NAN), -5.0, 0.0, NAN),
    "nan-payload": (
        described("ROUND", F32, RoundingMode="TOWARD_ZERO"),
        nan(0x7FC00001),
        nan(0x7FC00002),
        nan(0xFF800001),
    ),
    "contraction": (
        described("CLIP", F32, Min=-9.0, Max=9.0, ScaleBias=ScaleBias(1 + 2.0**-12, -1)),
        1 + 2.0**-12,
        2.0**-11 + 2.0**-24,
        2.0**-11,
    ),
    "float16-intermediate": (
        described("CLIP", F16, Min=-9.0, Max=9.0, ScaleBias=ScaleBias(EDGE, -1)),
        f16(EDGE),
        f16(6 * 2.0**-10),
        f16(6 * 2.0**-10 + 2 * 2.0**-18),
    ),
    "float16-conversion": (
        described("CLIP", F16, Min=-9.0, Max=9.0, ScaleBias=ScaleBias(1, 3 * 2.0**-12)),
        f16(1),
        f16(1),
        f16(1 + 2.0**-10),
    ),
    "float16-overflow": (described("CLIP", F16, Min=-9.0, Max=70000.0), f16(INF), f16(65504), f16(INF)),
    "inexact-threshold": (described("THRESHOLD", INT8, Min=2.5), 0, 3, 2),
    "integer-scale-bias": (described("CLIP", INT8, Min=-128.0, Max=127.0, ScaleBias=ScaleBias(0.5, 0)), 3, 2, 1),
}


@pytest.mark.parametrize("latitude", CASES)
@pytest.mark.size("thorough", brief=3)
def test_a_latitude_acts_where_a_clause_lists_it_and_nowhere_else(latitude: str) -> None:
    operator, x, permitted, right = CASES[latitude]
    tables = load_tables()
    assert accepts(tables, operator, x, permitted)
    assert accepts(tables, operator, x, right)
    less = without(tables.operator(operator.name).short_name, latitude)
    assert not accepts(less, operator, x, permitted)
    assert accepts(less, operator, x, right)


@pytest.mark.parametrize("latitude", CASES)
def test_the_table_states_what_strict_keeps(latitude: str) -> None:
    operator, x, permitted, right = CASES[latitude]
    tables = load_tables()
    kept = tables.latitudes[latitude].kept_when_strict
    assert accepts(tables, operator, x, permitted, strict=True) == kept
    assert accepts(tables, operator, x, right, strict=True)
    row = rf'(  - name: "?{latitude}"?\n(?:    .*\n)*?    kept_when_strict: ){str(kept).lower()}'
    other = changed("shared/latitude.yaml", row, rf"\g<1>{str(not kept).lower()}")
    assert accepts(other, operator, x, permitted, strict=True) != kept


@pytest.mark.parametrize("output, permitted, right", [(-5.0, True, True), (0.0, True, False), (3.0, False, False)])
@pytest.mark.size("thorough")
def test_a_nan_in_a_union_may_count_as_zero_only_where_a_clause_permits_it(
    output: float, permitted: bool, right: bool
) -> None:
    least, greatest = ScalarUnion.of(F32, NAN), ScalarUnion.of(F32, 10.0)
    operator = described("CLIP1", F32, MinMaxDataType="FLOAT32", Min=least, Max=greatest)
    assert accepts(load_tables(), operator, -5.0, output) is permitted
    assert accepts(without("CLIP1", "nan-bound-zero"), operator, -5.0, output) is right


@pytest.mark.size("thorough")
def test_a_bound_outside_the_type_is_open_only_where_a_clause_permits_it() -> None:
    for bound in (300.0, INF, NAN):
        operator = described("CLIP", UINT8, Min=0.0, Max=bound)
        with pytest.raises(Unconstrained):
            accepts(load_tables(), operator, 7, 7)
        less = without("CLIP", "integer-cast-range")
        right, wrong = (0, 7) if np.isnan(bound) else (7, 0)  # clamped like Direct3D's ftoi, which makes 0 of NaN
        assert accepts(less, operator, 7, right)
        assert not accepts(less, operator, 7, wrong)


def test_a_maximum_is_taken_in_a_wider_type_only_where_a_clause_permits_it() -> None:
    operator = described("THRESHOLD", UINT8, Min=300.0)
    case = Case(operator, Values.of([0, 255], UINT8), "threshold.cast.out-of-range")
    run: Any = SimpleNamespace(output=np.array([44, 44], np.uint8))  # 300 modulo 256
    for tables, stored in ((load_tables(), 44), (without("THRESHOLD", "wider-maximum"), None)):
        bench: Any = SimpleNamespace(tables=tables, strict=False)
        assert wider_maximum(bench, case, run) == stored


def test_every_latitude_of_a_built_in_table_is_tried() -> None:
    elsewhere = {"integer-cast-range", "wider-maximum", "wider-activation"}  # that one in selftest/activations
    listed = {name for clause in load_tables().clauses for name in clause.latitude}
    by_the_typed = {"any-value", "integer-overflow", "nan-comparison"}  # oracles; selftest/oracles and selftest/family
    assert listed - by_the_typed == {*CASES, *elsewhere}
    assert listed <= set(LATITUDES)


@pytest.mark.parametrize("data_type", [F32, F16, DataType.FLOAT64, INT8, DataType.UINT64])
def test_the_formula_of_scale_bias_is_evaluated(data_type: DataType) -> None:
    scaled = ScaleBias(3, 2)
    operator = described("CLIP", data_type, Min=0.0, Max=100.0, ScaleBias=scaled)
    other = changed("operators/clip.yaml", r"formula: x \* scale \+ bias", "formula: x + scale * bias")
    turned = changed("operators/clip.yaml", r"formula: x \* scale \+ bias", "formula: scale + x * bias")
    for tables, right in ((load_tables(), 17), (other, 11), (turned, 13)):
        for output in (17, 11, 13):
            assert accepts(tables, operator, 5, output) == (output == right)


@pytest.mark.parametrize("data_type", [F32, F16, DataType.FLOAT64, INT8, DataType.INT64, DataType.UINT16])
@pytest.mark.parametrize("formula", ["x + scale * bias", "bias * x + scale", "bias + scale * x"])
@pytest.mark.size("thorough", brief=5)
def test_both_oracles_read_the_formula_of_scale_bias_alike(data_type: DataType, formula: str) -> None:
    tables = changed("operators/clip.yaml", r"formula: x \* scale \+ bias", f"formula: {formula}")
    law = tables.law(tables.operator("CLIP"))
    generator = np.random.Generator(np.random.PCG64(5))
    bits = (
        generator.integers(0, 1 << 8 * data_type.itemsize, 60, np.uint64, endpoint=False).astype(data_type.bits_dtype)
        if data_type.itemsize < 8
        else generator.integers(0, 1 << 63, 60, np.uint64)
    )
    x = bits.view(data_type.numpy)
    for scale, bias in ((1.5, -2.25), (3.0, 100.0), (1e-3, 7.0), (-0.1, 1e6)):
        operator = described(
            "CLIP", data_type, Min=-100.0 if data_type.is_signed else 0.0, Max=100.0, ScaleBias=ScaleBias(scale, bias)
        )
        for strict in (False, True):
            exact, vectorised = ExactOracle(law, operator, strict), VectorOracle(law, operator, strict=strict)
            acceptance = vectorised.acceptance(x)
            for pattern, element in zip(bits.tolist(), acceptance.elements(), strict=True):
                assert element == exact.acceptable(pattern)
            assert acceptance.admits(vectorised.expected(x)).all()


def test_what_cannot_be_computed_of_scale_and_bias_is_refused() -> None:
    with pytest.raises(TableError, match="is not what the suite can compute of x, scale and bias"):
        changed("operators/clip.yaml", r"formula: x \* scale \+ bias", "formula: (x + bias) * scale")


def test_the_casts_act() -> None:
    half = described("CLIP", F16, Min=-9.0, Max=1 + 3 * 2.0**-12)
    assert accepts(load_tables(), half, f16(5), f16(1 + 2.0**-10))
    row = r"(target: FLOAT16\n    rounding: )to nearest, ties to even"
    toward_zero = changed("shared/casts.yaml", row, r"\1toward zero")
    assert not accepts(toward_zero, half, f16(5), f16(1 + 2.0**-10))
    assert accepts(toward_zero, half, f16(5), f16(1))
    whole = described("CLIP", INT8, Min=-9.0, Max=2.9)
    assert accepts(load_tables(), whole, 5, 2)
    row = r"(target: integer\n    rounding: )toward zero"
    nearest = changed("shared/casts.yaml", row, r"\1to nearest, ties to even")
    assert not accepts(nearest, whole, 5, 2)
    assert accepts(nearest, whole, 5, 3)


def test_the_table_of_types_acts() -> None:
    fewer = changed("shared/data_types.yaml", r"  - \{name: FLOAT64.*\n", "")
    for tables, there in ((load_tables(), True), (fewer, False)):
        clause, clip = tables.clause("clip.support.unlisted"), tables.operator("CLIP")
        assert (DataType.FLOAT64 in tables.data_types(clause, clip)) == there
    with pytest.raises(TableError, match=r"operators/clip.yaml:\d+:\d+: no table of data types lists INT64"):
        changed("shared/data_types.yaml", r"  - \{name: INT64.*\n", "")


def test_the_table_of_levels_acts() -> None:
    with pytest.raises(TableError, match=r"operators/clip.yaml:\d+:\d+: no table of feature levels lists 5.0"):
        changed("shared/feature_levels.yaml", r'  - \{level: "5.0".*\n', "")
