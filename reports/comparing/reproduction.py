"""A failing case as two files beside a page of findings: one that ``dmlcts replay`` runs, one for DxDispatch.

Both are made from a results document alone.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.documents.validation import FAILURE_FORMAT
from dmlcts.reports.documents.wording import short, type_order
from dmlcts.reports.documents.writing import dump_yaml
from dmlcts.reports.views.dxdispatch import dxdispatch_model
from dmlcts.specs.tables import Tables

_NUMBERS = re.compile(r"(?<=\[)\s+(?:-?\d+,\s+)*-?\d+\s+(?=\])")  # a list of integers: one line, not one each
_LARGEST = 1 << 62
_OBLIGATIONS = ("required", "implied", "unspecified")


@dataclass(frozen=True)
class Reproduction:
    """One failing case.

    Args:
        failure: an entry of ``failures`` in a results document.
        suite_version: the version of the suite that found it.
    """

    failure: Mapping[str, Any]
    suite_version: str

    @property
    def name(self) -> str:
        """What its files are called, without their endings: operator, type and clause."""
        words = (short(self.failure["operator"]), self.failure["data_type"], self.failure["clause"])
        return "-".join(re.sub(r"[^a-z0-9.-]+", "-", word.lower()) for word in words)

    @property
    def is_whole(self) -> bool:
        """Whether the results hold the case's values: a case of many is in its failure file alone."""
        case = self.failure["case"]
        return isinstance(case, Mapping) and ("values" in case or "steps" in case)

    @property
    def model(self) -> tuple[dict[str, Any] | None, str]:
        """The DxDispatch model, or ``None`` and why there is none."""
        return dxdispatch_model(self.failure["case"], f"{self.failure['clause']}: {self.failure['title']}")

    @property
    def document(self) -> dict[str, Any]:
        """The case as the document that ``dmlcts replay`` reads; its text is in its details too."""
        members = ("title", "clause", "operator", "data_type", "outcome", "test")
        details = dict(self.failure["details"])
        account = [self.failure["title"], *(f"  {label:<12} {detail}" for label, detail in details.items())]
        return {
            "format": FAILURE_FORMAT,
            **{name: self.failure[name] for name in members},
            "suite_version": self.suite_version,
            "text": "\n".join(account),
            "details": details,
            "case": self.failure["case"],
        }

    @property
    def files(self) -> dict[str, str]:
        """The text of each file by its name: the case, and its model if it has one; none for a case without values."""
        if not self.is_whole:
            return {}
        made = {f"{self.name}.yaml": dump_yaml(self.document)}
        model, _ = self.model
        if model is not None:
            written = json.dumps(model, indent=2, ensure_ascii=False, allow_nan=False)
            made[f"{self.name}.json"] = _NUMBERS.sub(lambda match: " ".join(match[0].split()), written) + "\n"
        return made

    def replay(self, folder: str = "") -> str:
        """The command that judges the case again.

        Args:
            folder: where :attr:`files` are; "" names the file that the run itself wrote.
        """
        written = str(self.failure["replay"])
        try:
            words = shlex.split(written)
        except ValueError:
            return written
        if not folder or not self.is_whole or words[:2] != ["dmlcts", "replay"] or len(words) < 3:
            return written
        words[2] = f"{folder}/{self.name}.yaml"
        return shlex.join(words)

    def order(self, tables: Tables) -> tuple[tuple[int, ...], int, str]:
        """The place of the case among others of one reason: the smallest comes first."""
        return self.size(tables), type_order(self.failure["data_type"]), self.name

    def size(self, tables: Tables) -> tuple[int, ...]:
        """How much a reader has to look at; the least is the smallest case. What can be replayed comes first.

        Of those, what the pages require comes first.
        """
        case, obligation = self.failure["case"], tables.clause(self.failure["clause"]).obligation
        ranked = (int(not self.is_whole), _OBLIGATIONS.index(obligation), int(self.model[0] is None))
        try:
            steps = len(case.get("steps", ())) + len(case.get("earlier", ()))
            elements = sum(math.prod(tensor["sizes"]) for tensor in case["tensors"].values())
        except (AttributeError, LookupError, TypeError):  # results may come from anyone, and leave the case open
            steps, elements = _LARGEST, _LARGEST
        return (*ranked, steps, elements, len(json.dumps(case)))
