"""The options of the ``directml`` backend, as the strings of ``-o key=value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from dmlcts.backends.directml.abi.dml import DML_EXECUTION_FLAGS
from dmlcts.specs import UsageError

_PREFIX = "DML_EXECUTION_FLAG_"
_FLAGS = {flag.name.removeprefix(_PREFIX): flag for flag in DML_EXECUTION_FLAGS if flag.name and flag.value}
_PATHS = ("operator", "graph")
_ANSWERS = {"yes": True, "no": False}
SOFTWARE = "software"


@dataclass(frozen=True)
class Options:
    """What the user chose.

    Args:
        library: the path of the library or of its folder; "" to look for one.
        fetch: whether to fetch the library first, where it is not there.
        path: "operator" (CompileOperator) or "graph" (IDMLDevice1::CompileGraph).
        flags: how operators are compiled.
        adapter: "software", the index of an adapter or a part of its name; "" for the usual one.
        arithmetic: the settings of the software adapter's arithmetic that were given.
    """

    library: str
    fetch: bool
    path: str
    flags: DML_EXECUTION_FLAGS
    adapter: str
    arithmetic: Mapping[str, str]

    @classmethod
    def parse(cls, options: Mapping[str, str], arithmetic: Mapping[str, str]) -> Self:
        """Read the options.

        Raises:
            UsageError: a value makes no sense; the message lists those that do.
        """
        path = options["path"]
        if path not in _PATHS:
            raise UsageError(f"path={path} is no way into DirectML", f"write one of {', '.join(_PATHS)}")
        if options["fetch"] not in _ANSWERS:
            raise UsageError(f"fetch={options['fetch']} is no answer", f"write {' or '.join(_ANSWERS)}")
        return cls(
            library=options["library"],
            fetch=_ANSWERS[options["fetch"]],
            path=path,
            flags=_flags(options["flags"]),
            adapter=options["adapter"],
            arithmetic=dict(arithmetic),
        )


def _flags(written: str) -> DML_EXECUTION_FLAGS:
    flags = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE
    for word in filter(None, (part.strip().upper().removeprefix(_PREFIX) for part in written.split(","))):
        if word == "NONE":
            continue
        if word not in _FLAGS:
            raise UsageError(
                f"flags={written} has {word}, which is no execution flag", f"choose from {', '.join(_FLAGS)}"
            )
        flags |= _FLAGS[word]
    return flags


def flag_names(flags: DML_EXECUTION_FLAGS) -> list[str]:
    """The names of ``flags`` without their prefix, as the option takes them."""
    return [name for name, flag in _FLAGS.items() if flag in flags]
