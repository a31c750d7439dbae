"""Plain scalars of YAML 1.2's core schema, and refusals of what YAML versions read differently."""

from __future__ import annotations

import math
import re

# Control characters, surrogates, byte order marks, and the line breaks that only YAML knows.
STRANGE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}\ufeff]"
)


class Refused(Exception):  # noqa: N818  # it never leaves these two modules
    """A scalar that is refused: cause and mend."""

    def __init__(self, cause: str, mend: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.mend = mend


_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")

_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F]+")

_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]*([eE][-+][0-9]+)?|\.[0-9]+([eE][-+][0-9]+)?")

_SPECIAL = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{"-" + word: -math.inf for word in (".inf", ".Inf", ".INF")},
}

_WORDS = {"true": True, "false": False, "null": None}

_NOT_A_NUMBER = re.compile(r"[-+]?\.?nan", re.IGNORECASE)

_INFINITY = re.compile(r"([-+]?)\.?inf(inity)?", re.IGNORECASE)

_LEADING_ZERO = re.compile(r"([-+]?)0+([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?)")

_OTHER_BASE = re.compile(r"([-+]?)(0[oO][0-7]+|0[bB][01]+|0X[0-9a-fA-F]+)")

_EXPONENT = re.compile(r"([-+]?)([0-9]*)(\.[0-9]*)?[eE]([-+]?)([0-9]+)")

_SIGNED_DOT = re.compile(r"([-+])(\.[0-9]+([eE][-+][0-9]+)?)")

_UNDERSCORE = re.compile(r"[-+]?(0x[0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?)")

_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?")

_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t]+[0-9][-+0-9:. TtZz\t]*)?")


def plain_value(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar means; :class:`Refused` where YAML versions or readers differ."""
    if text in _WORDS:
        return _WORDS[text]
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _INTEGER.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    _refuse_look_alikes(text)
    return text


def _integer(text: str) -> int:
    # Its length is looked at first: converting a very long literal is slow, and Python limits it.
    value = int(text, 0) if len(text) <= 24 else 1 << 64
    if abs(value) >= 1 << 64:
        raise Refused(f"the integer {cut(text)} has more than 64 bits", "write it with a decimal point, or in quotes")
    if value == 0 and text[0] in "+-":
        raise Refused(f"YAML reads {text} as an integer and drops its sign", f"write {text[0]}0.0 for the signed zero")
    return value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise Refused(f"the number {cut(text)} is beyond FLOAT64", f"write {'-' * (value < 0)}.inf if that is meant")
    if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise Refused(f"the number {cut(text)} is too small for FLOAT64", "write 0.0 if that is meant")
    return value


def _refuse_look_alikes(text: str) -> None:
    quoted = f'"{cut(text)}"'
    lowered = text.lower()
    if not text:
        raise Refused("there is no value here", "write one, write null, or remove the key")
    if text == "~" or lowered == "null":
        raise Refused(f"{text} is another spelling of null", f"write null, or {quoted} for the text")
    if lowered in ("true", "false"):
        raise Refused(f"{text} is another spelling of {lowered}", f"write {lowered}, or {quoted} for the text")
    if lowered in ("yes", "no", "on", "off", "y", "n"):
        meant = "true" if lowered in ("yes", "on", "y") else "false"
        raise Refused(f"YAML 1.1 reads {text} as {meant}", f"write {meant}, or {quoted} for the text")
    if text in ("<<", "="):
        raise Refused(f"{text} has a special meaning in YAML 1.1", f"write {quoted} for the text")
    if _TIMESTAMP.fullmatch(text):
        raise Refused(f"YAML 1.1 reads {cut(text)} as a date", f"write {quoted} in quotes")
    _refuse_numbers(text, quoted)


def _refuse_numbers(text: str, quoted: str) -> None:
    match = _INFINITY.fullmatch(text)
    if match:
        raise Refused(
            f"YAML reads {text} as a text", f"write {match[1].replace('+', '')}.inf, or {quoted} for the text"
        )
    if _NOT_A_NUMBER.fullmatch(text):
        raise Refused(f"YAML reads {text} as a text", f"write .nan, or {quoted} for the text")
    if "_" in text and _UNDERSCORE.fullmatch(text):
        without = cut(text.replace("_", ""))
        raise Refused(f"YAML versions differ on the underscore in {cut(text)}", f"write {without}, or {quoted}")
    if _SEXAGESIMAL.fullmatch(text):
        cause = f"YAML 1.1 may read {cut(text)} as a number to base 60"
        raise Refused(cause, f"write the number it stands for, or {quoted} for the text")
    match = _OTHER_BASE.fullmatch(text)
    if match:
        cause = f"YAML versions differ on {cut(text)}"
        raise Refused(cause, f"write {cut(hex(int(text.lower(), 0)))} in hexadecimal, or {quoted} for the text")
    match = _EXPONENT.fullmatch(text)
    if match and (match[2] or len(match[3] or "") > 1):
        sign, digits, fraction, exponent_sign, exponent = match.groups()
        tail = fraction if fraction and len(fraction) > 1 else ".0"
        mended = f"{sign}{digits.lstrip('0') or '0'}{tail}e{exponent_sign or '+'}{exponent}"
        cause = f"YAML 1.1 reads {cut(text)} as a text, YAML 1.2 as a number"
        raise Refused(cause, f"write {cut(mended)}, or {quoted} for the text")
    match = _LEADING_ZERO.fullmatch(text)
    if match:
        cause = f"YAML versions differ on {cut(text)}: a leading zero may mean octal"
        raise Refused(cause, f"write {cut(match[1] + match[2])}, or {quoted} for the text")
    match = _SIGNED_DOT.fullmatch(text)
    if match:
        cause = f"YAML 1.1 reads {cut(text)} as a text, YAML 1.2 as a number"
        raise Refused(cause, f"write {cut(match[1] + '0' + match[2])}, or {quoted} for the text")


def cut(text: str) -> str:
    """The text on one line, and short."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}\N{HORIZONTAL ELLIPSIS}"
