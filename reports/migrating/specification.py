"""What a runtime's own documentation says where DirectML's page says something else, nothing, or the same.

``specifications.yaml`` holds the sentences, each with its document. A departure from DirectML's page that a runtime's
own document asks for is a difference of specifications. One that its document forbids as well is a fault there too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.reports.documents.validation import DocumentError, load_yaml
from dmlcts.specs import DataType

FILE = Path(__file__).with_name("specifications.yaml")
DIFFERS, SAME, SETTLES, OPEN = "differs", "same", "settles", "open"
RELATIONS = {
    DIFFERS: "difference of specifications",
    SAME: "its own documentation asks for the same",
    SETTLES: "its own documentation settles what DirectML's page leaves open",
    OPEN: "its own documentation leaves it open too",
}
"""How a sentence stands to DirectML's page, in words."""

_HINT = "reinstall dmlcts"


@dataclass(frozen=True)
class Inversion:
    """What a failing case shows where one attribute lies above another and every result is the latter.

    Attributes:
        greater: the attribute that lies above.
        gives: the attribute whose value comes out.
    """

    greater: str
    gives: str

    def shown_by(self, failure: Mapping[str, Any]) -> bool:
        """Whether a failing case of a results document shows it; not where the case holds too little."""
        data_type = DataType.__members__.get(str(failure["data_type"]))
        try:
            attributes = failure["case"]["attributes"]
            above, result = (str(attributes[name]["value"]) for name in (self.greater, self.gives))
            got = str(failure["details"]["got"]).partition(" (")[0]
        except (LookupError, TypeError):  # results may come from anyone, and leave the case open
            return False
        if data_type is None:
            return False
        greater, gives, actual = (_as_type(text, data_type) for text in (above, result, got))
        if greater is None or gives is None or actual is None:
            return False
        return bool(greater > gives and actual == gives)


@dataclass(frozen=True)
class Message:
    """What a failing case shows where the implementation stopped with a message.

    Attributes:
        words: a part of the message.
    """

    words: str

    def shown_by(self, failure: Mapping[str, Any]) -> bool:
        """Whether a failing case of a results document shows it."""
        details = failure["details"]
        return any(self.words in str(text) for text in (failure["title"], *details.values()))


@dataclass(frozen=True)
class Specification:
    """One sentence of a runtime's documentation.

    Attributes:
        operator: the ``OperatorDesc`` name.
        clause: the clause of DirectML's page that it stands beside.
        runtime: the backend's name.
        relation: one of :data:`RELATIONS`.
        quotation: the sentence, word by word.
        means: what it means for whoever moves.
        title: the document, its version among it.
        address: where the document can be read.
        shows: what a failing case shows that follows from the sentence; ``None`` where the relation is not "differs".
        agrees: the behaviours that follow the sentence, in the words of results; for "settles".
        package: the Python package that holds the document.
        name: what the package calls it.
    """

    operator: str
    clause: str
    runtime: str
    relation: str
    quotation: str
    means: str
    title: str
    address: str
    shows: Inversion | Message | None = None
    agrees: tuple[str, ...] = ()
    package: str = ""
    name: str = ""

    def explains(self, failure: Mapping[str, Any]) -> bool:
        """Whether a failing case is what the sentence asks for.

        A value that shows it does so under any clause of the operator, a message under its own clause alone.
        """
        if self.relation != DIFFERS or self.shows is None or failure["operator"] != self.operator:
            return False
        if isinstance(self.shows, Message) and failure["clause"] != self.clause:
            return False
        return self.shows.shown_by(failure)

    def to_json(self) -> dict[str, str]:
        """The members of a document that show it."""
        shown = ("clause", "runtime", "relation", "quotation", "means", "title", "address")
        return {name: str(getattr(self, name)) for name in shown}


def _as_type(text: str, data_type: DataType) -> float | int | None:
    """A number as an element of a type, as DirectML's page casts bounds; ``None`` where it is none of its values."""
    try:
        if not data_type.is_floating:
            return int(text) if text.lstrip("-").isdigit() else math.trunc(float(text))
        value = float(text)
    except (OverflowError, ValueError):  # an infinity or a NaN, or no number at all
        return None
    with np.errstate(over="ignore"):
        return None if math.isnan(value) else float(np.array(value).astype(data_type.numpy))


def _shows(written: Mapping[str, str] | None) -> Inversion | Message | None:
    if written is None:
        return None
    return Message(written["message"]) if "message" in written else Inversion(written["greater"], written["gives"])


def load_specifications(path: Path = FILE) -> tuple[Specification, ...]:
    """Read a table of specifications.

    Raises:
        DocumentError: it cannot be read, does not fit its schema, names a document that it does not have, or says one
            thing twice.
    """
    table = load_yaml(path, "specifications-1", _HINT)
    documents = table["documents"]
    rows: dict[tuple[str, str, str], Specification] = {}
    for number, row in enumerate(table["specifications"]):
        pointer = f"/specifications/{number}"
        document = documents.get(row["document"])
        if document is None:
            known = ", ".join(documents)
            cause = f"{row['document']!r} is none of the documents"
            raise DocumentError(str(path), f"{pointer}/document", cause, f"write one of {known}")
        key = row["runtime"], row["operator"], row["clause"]
        if key in rows:
            raise DocumentError(str(path), pointer, f"{' '.join(key)} stands twice", "keep one of them")
        rows[key] = Specification(
            row["operator"],
            row["clause"],
            row["runtime"],
            row["relation"],
            row["quotation"].strip(),
            row["means"].strip(),
            document["title"],
            document["address"],
            _shows(row.get("shows")),
            tuple(row.get("agrees", ())),
            document["package"],
            document["name"],
        )
    return tuple(rows.values())


@functools.cache
def shipped() -> tuple[Specification, ...]:
    """The sentences that are part of the suite, read and checked at the first call."""
    return load_specifications()
