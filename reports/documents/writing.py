"""Files on disk: whole or not at all.

Every file is written beside its place under a temporary name and then moved there, so a full disk or a
Ctrl-C never leaves half a document.

:func:`failure_document` is the content of a replay file, :func:`dmlcts.reports.documents.validation.load_failure` reads
it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.validation import FAILURE_FORMAT
from dmlcts.specs import UsageError

SWEEP_JOURNAL = "sweep-journal.jsonl"
SWEEP_TEST = "sweep::"
"""What the test of a failure begins with that a sweep found."""
SWEEP_PREFIX = "sweep-"
TEMPORARY = ".dmlcts-tmp"
_ONLY_QUOTED = re.compile("[\r\x85\u2028\u2029\ufeff]")  # YAML reads these as line breaks or not at all
# YAML versions differ on some of these, and the project's own reader refuses them without quotes.
_LIKE_A_NUMBER = re.compile(r"[-+.]*(\d[\w.:+-]*|inf\w*|nan)|[yn]", re.IGNORECASE)


def reason(error: OSError | ValueError) -> str:
    """The system's words for what went wrong with a file."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        mend = "free some space or choose another folder with --results"
        raise UsageError(f"cannot write {path}: {reason(error)}", mend) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all; lone surrogates are written as their escapes.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document, indented, keys in the order given.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


class _Dumper(yaml.SafeDumper):
    """Block style; texts of several lines as they are, lists of plain values on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    exact = not _ONLY_QUOTED.search(text)
    style = ("|" if "\n" in text else None) if exact else '"'
    if _LIKE_A_NUMBER.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, members: list[Any]) -> yaml.Node:
    flat = not any(isinstance(member, list | dict) for member in members)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", members, flow_style=flat)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)


def dump_yaml(document: Mapping[str, Any], brief: bool = False) -> str:
    """The document as readable YAML; ``yaml.safe_load`` gives it back.

    Args:
        document: the document.
        brief: whether mappings of plain values stand on one line too.
    """
    layout: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 110}
    text: str = yaml.dump(dict(document), Dumper=_Dumper, default_flow_style=None if brief else False, **layout)
    return text


def named(failure: FailureRecord) -> FailureRecord:
    """The failure with the name of its file: readable, and the same in every run, or sweep, that finds it."""
    digest = hashlib.sha256(json.dumps([failure.title, failure.case], sort_keys=True).encode())
    short = failure.operator.removeprefix("ELEMENT_WISE_").lower().replace("_", "-")
    subject = failure.clause or failure.outcome.value
    words = (subject, short, failure.data_type.lower(), digest.hexdigest()[:8])
    prefix = SWEEP_PREFIX if failure.test.startswith(SWEEP_TEST) else ""
    return dataclasses.replace(failure, file=prefix + "-".join(word for word in words if word) + ".yaml")


def failure_document(failure: FailureRecord, suite_version: str) -> dict[str, Any]:
    """The failure as the document that ``failures/*.yaml`` holds (``dmlcts/failure/1``)."""
    whole = failure.to_json()
    members = ("title", "clause", "operator", "data_type", "outcome", "test")
    return {
        "format": FAILURE_FORMAT,
        **{name: whole[name] for name in members},
        "suite_version": suite_version,
        "text": whole["text"],
        "details": whole["details"],
        "case": whole["case"],
    }
