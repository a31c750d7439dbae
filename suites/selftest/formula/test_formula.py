"""The formula language: what it is parsed to, and that everything else is refused at its place, with a mend."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.errors import FormulaError
from dmlcts.specs.formula import ARITIES, Call, Cast, Choice, Expression, Limit, Name, Number, choose, parse
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.suites.selftest.looped_cases import looped

NAMES = ("x", "Min", "Max", "ä")
MODES = {"Mode": ("UP", "DOWN"), "Other": ("UP", "LEFT")}
X, MIN, MAX = Name("x"), Name("Min"), Name("Max")


def parsed(text: str) -> Expression:
    return parse(text, NAMES, MODES, ("T", "U"))


def refusal(text: str) -> FormulaError:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FormulaError) as caught:
            parsed(text)
    return caught.value


# --------------------------------------------------------------------------------------- what is accepted


@looped(
    "text, expected",
    [
        ("x", X),
        ("  x ", X),
        ("(x)", X),
        ("x # a comment", X),
        ("Min", MIN),
        ("1", Number(1.0)),
        ("0.5", Number(0.5)),
        ("1e-3", Number(0.001)),
        ("0x10", Number(16.0)),
        ("9007199254740993", Number(2.0**53)),
        ("1e999", Number(math.inf)),
        ("-x", Call("neg", (X,))),
        ("-1", Call("neg", (Number(1.0),))),
        ("--x", Call("neg", (Call("neg", (X,)),))),
        ("x + 1", Call("add", (X, Number(1.0)))),
        ("x - Min", Call("subtract", (X, MIN))),
        ("x * Max", Call("multiply", (X, MAX))),
        ("x + Min * Max", Call("add", (X, Call("multiply", (MIN, MAX))))),
        ("(x + Min) * Max", Call("multiply", (Call("add", (X, MIN)), MAX))),
        ("x - Min - Max", Call("subtract", (Call("subtract", (X, MIN)), MAX))),
        ("-x * Min", Call("multiply", (Call("neg", (X,)), MIN))),
        ("max(Min, min(x, Max))", Call("max", (MIN, Call("min", (X, MAX))))),
        ("max(\n  Min,\tx\n)", Call("max", (MIN, X))),
        ("floor(x) if Mode == UP else x", Choice("Mode", "UP", Call("floor", (X,)), X)),
        (
            "x if Mode == UP else Min if Other == LEFT else Max",
            Choice("Mode", "UP", X, Choice("Other", "LEFT", MIN, MAX)),
        ),
        ("-(x if Mode == DOWN else 1)", Call("neg", (Choice("Mode", "DOWN", X, Number(1.0)),))),
        ("abs(x) * 2", Call("multiply", (Call("abs", (X,)), Number(2.0)))),
        ("x / Min", Call("divide", (X, MIN))),
        ("x if x >= Min else Max", Call("select", (Call("greater_equal", (X, MIN)), X, MAX))),
        ("x if not x == Min else Max", Call("select", (Call("logical_not", (Call("equal", (X, MIN)),)), X, MAX))),
        (
            "select(x < 1 and x != Min, x, Max)",
            Call(
                "select",
                (
                    Call("logical_and", (Call("less", (X, Number(1.0))), Call("not_equal", (X, MIN)))),
                    X,
                    MAX,
                ),
            ),
        ),
        (
            "cast(U, x > Min or x < Max)",
            Cast(
                "U",
                Call(
                    "logical_or",
                    (
                        Call("greater", (X, MIN)),
                        Call("less", (X, MAX)),
                    ),
                ),
            ),
        ),
        ("min(x, highest(U))", Call("min", (X, Limit("highest", "U")))),
    ],
)
def test_what_belongs_to_the_language(text: str, expected: Expression) -> None:
    assert parsed(text) == expected


def test_nested_choices_are_read_in_one_pass() -> None:
    text = "x"
    for _ in range(30):
        text = f"({text} if x < 1 else Min)"
    assert "select" in str(parsed(text))


@looped("function", list(ARITIES))
def test_every_function_of_an_oracle(function: str) -> None:
    if function == "select":
        assert parsed("select(x < Min, x, Max)") == Call("select", (Call("less", (X, MIN)), X, MAX))
        return
    takes = FUNCTIONS[function].takes
    value = ("x", "Min") if takes[0] == "T" else ("x < Min", "x > Max")
    values = (X, MIN) if takes[0] == "T" else (Call("less", (X, MIN)), Call("greater", (X, MAX)))
    text = f"{function}({', '.join(value[: len(takes)])})"
    assert parsed(text) == Call(function, values[: len(takes)])


@pytest.mark.parametrize("levels", [1, 32])
def test_nesting_up_to_the_limit(levels: int) -> None:
    expression = parsed("-" * levels + "x")
    for _ in range(levels):
        assert isinstance(expression, Call)
        (expression,) = expression.arguments
    assert expression == X


def test_the_longest_formula() -> None:
    assert parsed("x" + " " * 1999) == X
    assert refusal("x" + " " * 2000).cause == "the formula is longer than 2000 characters"


# ---------------------------------------------------------------------------------------- what is refused

OUTSIDE = "is not part of the formula language"
NO_NUMBER = "is not a number"
UNPARSED = "the formula cannot be parsed"


@looped(
    "text, offset, cause, mend",
    [
        # beyond the language
        ("1 + x.real", 4, f"'x.real' {OUTSIDE}", "use inputs, attributes"),
        ("1 + x[0]", 4, f"'x[0]' {OUTSIDE}", "use inputs"),
        ("max(x, lambda: x)", 7, f"'lambda: x' {OUTSIDE}", "use inputs"),
        ("abs([x for x in x])", 4, OUTSIDE, "use inputs"),
        ("abs({x for x in x})", 4, OUTSIDE, "use inputs"),
        ("abs({x: x for x in x})", 4, OUTSIDE, "use inputs"),
        ("abs(x for x in x)", 3, OUTSIDE, "use inputs"),
        ("abs([x])", 4, OUTSIDE, "use inputs"),
        ("abs((x, x))", 4, OUTSIDE, "use inputs"),
        ("abs({x: 1})", 4, OUTSIDE, "use inputs"),
        ("1 + f'{x}'", 4, OUTSIDE, "use inputs"),
        ("1 + (y := x)", 5, f"'y := x' {OUTSIDE}", "use inputs"),
        ("x + ...", 4, OUTSIDE, "use inputs"),
        ("x + (await x)", 5, OUTSIDE, "use inputs"),
        ("1 - +x", 4, f"'+x' {OUTSIDE}", "use inputs"),
        ("1 - ~x", 4, f"'~x' {OUTSIDE}", "use inputs"),
        ("max(x, not x)", 11, "'x' is a number", "compare it"),
        ("max(1, x > 2)", 7, "'x > 2' is a truth value", "cast it"),
        ("max(1, x // 2)", 7, OUTSIDE, "use inputs"),
        ("max(1, x % 2)", 7, OUTSIDE, "use inputs"),
        ("max(1, x ** 2)", 7, OUTSIDE, "use inputs"),
        ("max(1, x @ x)", 7, OUTSIDE, "use inputs"),
        ("max(1, x << 2)", 7, OUTSIDE, "use inputs"),
        ("max(1, x and x)", 7, "'x' is a number", "compare it"),
        ("max(1, x < 2)", 7, "'x < 2' is a truth value", "cast it"),
        ("max(1, 1 < x < 2)", 7, f"'1 < x < 2' {OUTSIDE}", "use inputs"),
        ("max(1, x.a(x))", 7, OUTSIDE, "use inputs"),
        ("max(1, abs(x)(x))", 7, OUTSIDE, "use inputs"),
        # what is no number
        ("1 + 'x'", 4, f"'x' {NO_NUMBER}", "use a decimal number"),
        ("1 + b'x'", 4, NO_NUMBER, "use a decimal number"),
        ("1 + True", 4, f"True {NO_NUMBER}", "use a decimal number"),
        ("1 + None", 4, f"None {NO_NUMBER}", "use a decimal number"),
        ("1 + 2j", 4, f"2j {NO_NUMBER}", "use a decimal number"),
        ("1 + 1" + "0" * 400, 4, "the number is too large", "use a number within FLOAT64"),
        # names, functions and their arguments
        ("1 + y", 4, "undefined name 'y'", "use one of x, Min, Max"),
        ("1 + Mode", 4, "undefined name 'Mode'", "use one of x"),
        ("1 + max", 4, "undefined name 'max'", "use one of x"),
        ("1 + root(x)", 4, "undefined function 'root'", "use one of min, max"),
        ("1 + x(x)", 4, "undefined function 'x'", "use one of min, max"),
        ("1 + max(x)", 4, "max is given 1 arguments", "give it 2"),
        ("1 + abs()", 4, "abs is given 0 arguments", "give it 1"),
        ("1 + min(x, x, x)", 4, "min is given 3 arguments", "give it 2"),
        ("1 + max(x, b=x)", 4, OUTSIDE, "use inputs"),
        ("1 + max(x, x, key=x)", 4, OUTSIDE, "use inputs"),
        ("1 + max(**x)", 4, OUTSIDE, "use inputs"),
        ("1 + max(*x, x)", 8, f"'*x' {OUTSIDE}", "use inputs"),
        ("1 + abs(*x)", 8, f"'*x' {OUTSIDE}", "use inputs"),
        # choices
        ("x if y else x", 5, "undefined name 'y'", "use one of x"),
        ("x if Mode != UP else x", 5, "undefined name 'Mode'", "use one of x"),
        ("x if Mode == UP == UP else x", 5, OUTSIDE, "use inputs"),
        ("x if Mode == 'UP' else x", 5, "undefined name 'Mode'", "use one of x"),
        ("x if Mode == UP and Mode == DOWN else x", 5, "undefined name 'Mode'", "use one of x"),
        ("1if x else 2", 4, "'x' is a number", "compare it, as in x != 0"),
        ("x if Min == UP else x", 12, "undefined name 'UP'", "use one of x"),
        ("x if UP == Mode else x", 5, "undefined enumeration 'UP'", "use one of Mode, Other"),
        ("x if Mode == LEFT else x", 5, "Mode has no enumerator 'LEFT'", "use one of UP, DOWN"),
        ("x if Mode == UP else y", 21, "undefined name 'y'", "use one of x"),
        # too deep
        ("-" * 33 + "x", 33, "nested too deeply", "keep it within 32 levels"),
        ("-" * 1999 + "x", 33, "nested too deeply", "keep it within 32 levels"),
        ("x" + " + x" * 33, 0, "nested too deeply", "keep it within 32 levels"),
        ("abs(" * 33 + "x" + ")" * 33, 132, "nested too deeply", "keep it within 32 levels"),
        # offsets count characters, of the text as it is written
        ("  y", 2, "undefined name 'y'", "use one of x"),
        ("x  +\n\t y", 7, "undefined name 'y'", "use one of x"),
        ("ä + ä * y", 8, "undefined name 'y'", "use one of x"),
        ("max(ä,  ö)", 8, "undefined name 'ö'", "use one of x"),
        ("'\N{GRINNING FACE}' + y", 0, NO_NUMBER, "use a decimal number"),
        ("ä +  \N{SNOWMAN}", 5, UNPARSED, "write an expression"),
        ("min(x, \N{SNOWMAN})", 7, UNPARSED, "write an expression"),
    ],
)
def test_what_is_refused_at_its_place(text: str, offset: int, cause: str, mend: str) -> None:
    error = refusal(text)
    assert error.offset == offset
    assert cause in error.cause
    assert mend in error.mend
    assert str(error) == f"{error.cause}; {error.mend}"


@looped(
    "text",
    [
        "",
        " \n ",
        "x +",
        "x y",
        "x = 1",
        "import os",
        "max(x, yield x)",
        "1 + 012",
        "1x",
        "x $ x",
        "x\0",
        "x + \ud800",
        "(" * 2000,
        "'x",
        "x; x",
        "x if x",
        "max(x",
        "x)",
        "max(x=1, x)",
        "\ufeffx",
    ],
    ids=range(20),
)
def test_what_python_cannot_parse_is_refused(text: str) -> None:
    error = refusal(text)
    assert error.cause.startswith(UNPARSED)
    assert error.mend == "write an expression such as max(Min, min(x, Max))"
    assert 0 <= error.offset <= max(len(text) - 1, 0)


@pytest.mark.parametrize(
    "text, offset",
    [
        ("~" * 1999 + "x", 0),
        ("not " * 499 + "x", 132),
        ("x" + ".a" * 999, 0),
        ("x" + "[0]" * 666, 0),
        ("x" + "()" * 999, 0),
        ("x" + "**x" * 600, 0),
        ("x" + " if x else x" * 166, 5),
        ("lambda: " * 249 + "x", 0),
        ("[" * 190 + "x" + "]" * 190, 0),
    ],
)
def test_what_is_long_and_deep_is_refused_shortly(text: str, offset: int) -> None:
    error = refusal(text)
    assert error.offset == offset or error.cause.startswith(UNPARSED)
    assert len(error.cause) < 120


@pytest.mark.parametrize("text", ["1if x else 2", "'\\d'", "1or x", "0x1for x in x", "x is 1", "1()", "'x'[x]"])
def test_python_warns_of_nothing(text: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(FormulaError):
            parsed(text)
    assert caught == []


def test_an_operator_without_enumerations_has_no_choice() -> None:
    with pytest.raises(FormulaError, match=r"undefined enumeration 'Mode'.* none: the operator has no enumeration"):
        parse("x if Mode == UP else x", ("x",))


PIECES = st.sampled_from(
    [
        "x",
        "Min",
        "Mode",
        "UP",
        "y",
        "ä",
        "\N{SNOWMAN}",
        "1",
        "0.5",
        "1e9",
        "0x",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        ":",
        ":=",
        "=",
        "==",
        "<",
        "+",
        "-",
        "*",
        "**",
        "/",
        "~",
        "@",
        "not ",
        " if ",
        " else ",
        " for ",
        " in ",
        "*x",
        "lambda ",
        "max(",
        "abs(",
        "'",
        '"',
        "f'",
        "b'",
        "\\",
        "#",
        " ",
        "\n",
        "\t",
        "\0",
        "\f",
        "\u2028",
        "\ud800",
        "...",
        "await ",
        "yield ",
        "None",
        "1_",
        "1if ",
    ]
)


def assert_clear(error: FormulaError, text: str) -> None:
    assert 0 <= error.offset <= max(len(text) - 1, 0)
    assert error.cause
    assert error.mend
    assert len(str(error).splitlines()) == 1


@given(
    st.text(max_size=40)
    | st.lists(PIECES, max_size=60).map("".join)
    | st.builds(
        lambda piece, count, end: (piece * count + end)[:2000],
        st.lists(PIECES, max_size=3).map("".join),
        st.integers(0, 2000),
        st.text(max_size=5),
    )
)
@settings(max_examples=400, deadline=None)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        expression = parsed(text)
    except FormulaError as error:
        assert_clear(error, text)
    else:
        assert isinstance(expression, Name | Number | Call | Choice)


# ---------------------------------------------------------------------------------------------- branches


@pytest.mark.parametrize(
    "mode, other, expected",
    [("UP", "UP", "floor(x)"), ("UP", "LEFT", "floor(x)"), ("DOWN", "UP", "Max - Min"), ("DOWN", "LEFT", "Max - 1")],
)
def test_choose_takes_the_selected_branches(mode: str, other: str, expected: str) -> None:
    inner = "Max - (1 if Other == LEFT else Min)"
    expression = parsed(f"abs(floor(x) if Mode == UP else {inner})")
    assert choose(expression, {"Mode": mode, "Other": other}) == parsed(f"abs({expected})")


def test_choose_keeps_what_has_no_choice() -> None:
    for text in ("x", "1.5", "max(Min, min(x, Max))"):
        assert choose(parsed(text), {}) == parsed(text)
