"""What an execution provider takes: which parts of the operators, on which types, made a model in which way."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dmlcts.backends.contract import ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.ways import ALL_SHAPES, BOUNDS, Way
from dmlcts.backends.runtimes import parts, sample
from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.cache import cache_folder
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables

Try = Callable[[OperatorDesc, OperatorTable], Way]
_LONGEST = 300  # of a message that is kept


@dataclass(frozen=True)
class Taken:
    """What was seen when a model of each part was loaded on each type.

    Attributes:
        ways: part to the types that are taken, with the way of the first model that was loaded.
        refusals: the provider's message to the parts and types that it was given for ("ROUND … FLOAT32"); what ONNX
            has no model for, or what is left to the CPU, is not among them.
        complaint: the last message of all; "" where nothing was refused.
    """

    ways: Mapping[str, Mapping[DataType, Way]] = field(default_factory=dict)
    refusals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    complaint: str = ""

    def types(self, part: str) -> frozenset[DataType]:
        """The types on which a part is taken."""
        return frozenset(self.ways.get(part, ()))

    def __bool__(self) -> bool:
        return any(self.ways.values())


def see(tables: Tables, tried: Try) -> Taken:
    """Load a model of each part of each operator on each type.

    Args:
        tables: the spec tables.
        tried: loads a model, and says in which way.
    """
    ways: dict[str, dict[DataType, Way]] = {}
    refusals: dict[str, list[str]] = {}
    complaint = ""
    for table in tables.operators.values():
        for part in parts(table):
            types = ways.setdefault(part, {})
            for data_type in table.data_types:
                try:
                    types[data_type] = tried(sample(table, part, data_type), table)
                except NotSupported as error:
                    complaint = str(error)
                except (InvalidArgument, ExecutionFailed) as error:
                    complaint = str(error)
                    refusals.setdefault(complaint[:_LONGEST], []).append(f"{part} on {data_type.name}")
    return Taken(ways, {message: tuple(what) for message, what in refusals.items()}, complaint)


class Seen:
    """What was seen of a provider before, kept in the user's cache: some compile for minutes until all is seen.

    Args:
        identity: all that what is seen depends on beside this code: versions, options, tables.
    """

    def __init__(self, identity: Mapping[str, Any]) -> None:
        text = json.dumps([identity, platform.node(), list(_code())], sort_keys=True, default=str)
        self._path = cache_folder() / "onnxruntime" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def read(self) -> Taken | None:
        """What was kept; None where nothing is, or nothing that can be read."""
        try:
            kept = json.loads(self._path.read_text("utf-8"))
            ways = {
                part: {DataType[name]: _way(*words) for name, words in types.items()}
                for part, types in kept["ways"].items()
            }
            refusals = {str(message): tuple(map(str, what)) for message, what in kept["refusals"].items()}
            return Taken(ways, refusals, str(kept["complaint"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def keep(self, taken: Taken) -> None:
        """Keep it; a cache that cannot be written is no loss."""
        ways = {
            part: {data_type.name: [way.shapes, way.bounds] for data_type, way in types.items()}
            for part, types in taken.ways.items()
        }
        document = {"ways": ways, "refusals": taken.refusals, "complaint": taken.complaint}
        written = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(json.dumps(document), "utf-8")
            written.replace(self._path)
        except OSError:
            written.unlink(missing_ok=True)


def _way(shapes: str, bounds: str) -> Way:
    known = {f"{sizes} {values}": Way(sizes, values) for sizes in ALL_SHAPES for values in BOUNDS}
    return known[f"{shapes} {bounds}"]


def _code() -> Iterator[str]:
    """The digests of the modules that make the models."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        yield hashlib.sha256(path.read_bytes()).hexdigest()
