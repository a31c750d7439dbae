"""Small tables whose clauses state silent points and relations; some are what the pages say, some are made up."""

from __future__ import annotations

from functools import cache

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import tables_of_files
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.tables import Tables

HEAD = """\
format: dmlcts/operator/2
operator: ELEMENT_WISE_{name}
code: {code}
introduced: "1.0"
summary: {name}.
sources: [{{id: page, title: A page, revision: today}}, {{id: silence, title: the pages are silent, revision: n/a}}]
struct:
{struct}
tensors:
{tensors}
support: [{{level: "1.0", dimension_counts: [1, 8], types: {{{types}}}}}]
formula: {formula}
clauses:
  - {{id: {prefix}.formula, check: values, text: So., obligation: required, subject: formula, sources: [page],
     latitude: [{latitude}]}}
"""
SILENT = """\
  - id: {prefix}.point
    check: silent
    text: The page is silent.
    obligation: unspecified
    subject: special values
    sources: [silence]
    permitted: [anything]
"""
RELATION = """\
  - id: {prefix}.relation
    check: relation
    text: It holds.
    obligation: implied
    subject: properties
    sources: [page]
"""
A_B = ("ATensor: {name: a, kind: input, type: T}", "BTensor: {name: b, kind: input, type: T}")
ONE = ("InputTensor: {name: x, kind: input, type: T}",)
TO_T, TO_U = "OutputTensor: {kind: output, type: T}", "OutputTensor: {kind: output, type: U}"
INTEGERS = "INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8"


def text(
    name: str, tensors: tuple[str, ...], types: str, formula: str, *clauses: str, code: int = 2000, latitude: str = ""
) -> str:
    """A table's text; ``{prefix}`` in its clauses is filled in."""
    prefix = name.lower().replace("_", "-")
    struct = "\n".join(f"  - {{name: {row.partition(':')[0]}, type: const DML_TENSOR_DESC*}}" for row in tensors)
    head = HEAD.format(
        name=name,
        code=code,
        struct=struct,
        tensors="\n".join(f"  {row}" for row in tensors),
        types=types,
        formula=formula,
        prefix=prefix,
        latitude=latitude,
    )
    return head + "".join(clause.replace("{prefix}", prefix) for clause in clauses)


ADD = text(
    "PLUS",
    (*A_B, TO_T),
    f"T: [{INTEGERS}]",
    "a + b",
    SILENT
    + """\
    where: outside(T, a + b)
    behaviours: {wraps: "wrap(T, a + b)", saturates: "saturate(T, a + b)"}
""",
    RELATION
    + """\
    holds: PLUS(a, b) == PLUS(b, a)
""",
    code=2001,
    latitude="integer-overflow",
)
SHIFT = text(
    "SHIFT",
    (*A_B, TO_T),
    "T: [UINT64, UINT32, UINT16, UINT8]",
    "shift_left(a, b)",
    SILENT
    + """\
    where: b >= width(T)
    behaviours:
      gives 0: "0"
      counts modulo the width: wrap(T, shift_left(a, modulus_floor(b, width(T))))
      counts modulo 32: wrap(T, shift_left(a, bit_and(b, 31)))
""",
    RELATION
    + """\
    where: b < width(T)
    holds: SHIFT(a, b) == PLUS(SHIFT(a, b), SHIFT(a, b) - SHIFT(a, b))
    data_types: [UINT8]
""".replace("SHIFT(a, b) - SHIFT(a, b)", "wrap(T, SHIFT(a, b) - SHIFT(a, b))"),
    code=2002,
)
MEAN = text(
    "HALF",
    (*A_B, TO_T),
    "T: [INT32, UINT32, INT8, UINT8]",
    "(a + b) / 2",
    SILENT
    + """\
    where: outside(T, a + b) or modulus_floor(a + b, 2) != 0
    behaviours:
      truncated: (a + b) / 2
      floored: (a + b - modulus_floor(a + b, 2)) / 2
      truncated after wrapping: wrap(T, a + b) / 2
    accepted: [truncated, floored, truncated after wrapping]
    strict: [truncated, floored]
""",
    code=2003,
)
SIGN = text(
    "SIGN_OF",
    (*ONE, TO_T),
    "T: [FLOAT32, FLOAT16, INT8]",
    "cast(T, 1 if x > 0 else -1 if x < 0 else 0)",
    SILENT
    + """\
    data_types: floating
    where: is_nan(x)
    behaviours: {gives 0: "0", gives NaN: x}
    accepted: [gives 0, gives NaN]
    strict: [gives 0]
""",
    code=2004,
    latitude="zero-sign",
)
MAX = text(
    "LARGER",
    (*A_B, TO_T),
    "T: [FLOAT32, FLOAT16, INT8]",
    "max(a, b)",
    SILENT
    + """\
    data_types: floating
    where: is_nan(a) != is_nan(b)
    behaviours: {gives NaN: a + b, gives the other operand: b if is_nan(a) else a}
""".replace("is_nan(a) != is_nan(b)", "(is_nan(a) or is_nan(b)) and not (is_nan(a) and is_nan(b))"),
    code=2005,
    latitude='"nan", zero-sign',
)
LESS = text(
    "BELOW",
    (*A_B, TO_U),
    "T: [FLOAT32, INT64, UINT64], U: [UINT32, UINT8]",
    "cast(U, a < b)",
    RELATION
    + """\
    holds: not (BELOW(a, b) == 1 and BELOW(b, a) == 1)
""",
    code=2006,
)
ALL = {"plus": ADD, "shift": SHIFT, "half": MEAN, "sign_of": SIGN, "larger": MAX, "below": LESS}


@cache
def stated_tables(**changed: str) -> Tables:
    """The built-in tables with those here; ``changed`` replaces some."""
    files = [TableFile(f"{name}.yaml", f"{name}.yaml", body.encode()) for name, body in {**ALL, **changed}.items()]
    return tables_of_files([*builtin_files(), *files], runnable=False)


def without_attributes(tables: Tables, name: str, **types: DataType) -> OperatorDesc:
    """A description of one of the tables, without attributes."""
    table = tables.operator(name)
    tensors = {member: TensorDesc(types[row.type], (1,)) for member, row in table.tensors.items()}
    return OperatorDesc(table.operator, tensors, {})


def edges(data_type: DataType) -> np.ndarray:
    """Numbers at which a type changes what it does, as its own values."""
    if data_type.is_floating:
        info = np.finfo(data_type.numpy)
        ones = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float(info.max), float(info.smallest_normal), np.inf, np.nan]
        ones.append(float(info.smallest_subnormal))
        return np.array([*ones, *(-item for item in ones)], data_type.numpy)
    limits = np.iinfo(data_type.numpy)
    width = 8 * data_type.itemsize
    near = {int(limits.min) + step for step in range(3)} | {int(limits.max) - step for step in range(3)}
    near |= set(range(12)) | {31, 32, 33, width - 1, width, width + 1, 2 * width}
    near |= {1 << place for place in range(width)} | {(1 << place) - 1 for place in range(width)}
    near |= {-number for number in near}
    return np.array(sorted(number for number in near if limits.min <= number <= limits.max), data_type.numpy)


def pairs(data_type: DataType, most: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of :func:`edges`, as two arrays: all, or so many of them spread evenly."""
    a, b = np.meshgrid(edges(data_type), edges(data_type), indexing="ij")
    step = 1 + a.size // most
    return a.ravel()[::step].copy(), b.ravel()[::step].copy()
