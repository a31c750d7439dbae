"""The files of ``dmlcts offline export``: a recorded conversation for each case, a list of them, and a manifest.

Which cases they are follows from the tables, the feature level, the seed and the selection alone: the plan of evidence
(:mod:`dmlcts.suites.certification.evidence`), the boundary lattice and a sample with layouts, ScaleBias and bulk
values. ``offline judge`` makes the same plan again and takes nothing from the manifest but how it was made, and the key
that what stands in the outputs was drawn with: it is another in every export, and nothing in a case reveals it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.messages import encode_create, encode_dispatch, encode_hello
from dmlcts.reports.documents.results import suite_version
from dmlcts.reports.documents.writing import write_bytes, write_text
from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Masks
from dmlcts.suites.certification.evidence import Planned, digest, plan
from dmlcts.suites.judging.outputs import expected_outputs, poison
from dmlcts.suites.running.options import Settings

FORMAT = "dmlcts-offline/1"
MANIFEST = "manifest.json"
LIST = "cases.txt"
KERNEL = 1
_MOST_MANIFEST = 16 << 20
_KEY_BYTES = 16
_MEND = "give the folder that `dmlcts offline export` wrote, with the same version and tables"


@dataclass(frozen=True)
class Exported:
    """The cases that a folder holds.

    Attributes:
        level: the feature level that they are for.
        settings: the tables, the seed and the selection.
        planned: the cases, in the order of their files.
        left_out: the operators of the selection whose cases the plan does not fill whole.
        key: what is in the outputs before is drawn with it, by case.
    """

    level: FeatureLevel
    settings: Settings
    planned: tuple[Planned, ...]
    left_out: tuple[str, ...] = ()
    key: str = field(default_factory=lambda: secrets.token_hex(_KEY_BYTES))

    def masks(self, item: Planned) -> Masks:
        """What draws the poison of a case: the same when it is judged."""
        drawn = hashlib.sha256(f"{self.key} {item.identity}".encode()).digest()
        return Masks(int.from_bytes(drawn, "little"))

    def files(self) -> Iterator[tuple[str, Planned]]:
        """The name of each case's file, in both folders."""
        for number, item in enumerate(self.planned, 1):
            yield f"{number:06}.dmlr", item


def planned_cases(settings: Settings, level: FeatureLevel) -> Exported:
    """The cases of a selection at a level.

    Raises:
        UsageError: the selection holds no case.
    """
    chosen, left_out = [], {}
    for item in plan(settings.tables, level, settings.seed, operators=settings.operators or None):
        case, table = item.case, settings.tables.operator(item.case.operator.name)
        if not settings.selects_data_type(case.data_type):
            continue
        if {name for name, _ in case.values.items()} == set(case.operator.tensors) - {table.output}:
            chosen.append(item)
        else:
            left_out[table.short_name] = True
    if not chosen:
        raise UsageError("the selection holds no case", "choose operators and types that the feature level lists")
    return Exported(level, settings, tuple(chosen), tuple(left_out))


def prepared(bench: Bench, exported: Exported, item: Planned) -> Arena:
    """The memory of a case, its output poisoned as it will be for the judge."""
    case, bench.masks = item.case, exported.masks(item)
    arena = bench.prepare(case)
    poison(bench, case, arena, expected_outputs(bench.oracle(case.operator), case, arena.inputs))
    return arena


def conversation(case: Case, arena: Arena) -> bytes:
    """All that the suite says in a conversation of one case: hello, create, dispatch, close, bye."""
    known = definition()
    members = known.operators[case.operator.name]
    dispatch = encode_dispatch(KERNEL, members, arena.bindings, arena.memory.size, 0) + arena.memory.tobytes()
    messages = (
        ("hello", encode_hello({}, shared_memory=False)),
        ("create", encode_create(KERNEL, case.operator)),
        ("dispatch", dispatch),
        ("close", known.layouts["close"].pack(kernel=KERNEL)),
        ("bye", b""),
    )
    header = known.layouts["header"]
    return b"".join(
        header.pack(mark=known.mark, kind=known.kinds[kind], number=number, length=len(payload)) + payload
        for number, (kind, payload) in enumerate(messages, 1)
    )


def export(exported: Exported, bench: Bench, folder: Path, print_line: Callable[[str], object]) -> None:
    """Write the folder.

    Args:
        exported: what to write.
        bench: prepares the memories; its device is asked for nothing.
        folder: an empty one, or none yet.
        print_line: is given the lines that a user reads.

    Raises:
        UsageError: the folder cannot be written, or is not empty.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}", "choose another folder with --output"
        ) from None
    if taken:
        raise UsageError(f"{folder} is not empty", "choose another folder with --output")
    rows, total = [], 0
    for name, item in exported.files():
        with np.errstate(all="ignore"):  # infinities and NaNs are values like any other here
            data = conversation(item.case, prepared(bench, exported, item))
        write_bytes(folder / name, data)
        whole = hashlib.sha256(data).hexdigest()
        rows.append({"file": name, "case": item.identity, "bytes": len(data), "sha256": whole})
        total += len(data)
    settings = exported.settings
    manifest = {
        "format": FORMAT,
        "protocol": definition().protocol,
        "suite": suite_version(),
        "feature_level": str(exported.level),
        "seed": settings.seed,
        "operators": list(settings.operators),
        "data_types": list(settings.data_types),
        "strict": settings.strict,
        "plan": digest(exported.planned),
        "poison": exported.key,
        "cases": rows,
    }
    write_text(folder / LIST, "".join(f"{name}\n" for name, _ in exported.files()))
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    if exported.left_out:
        print_line(f"left out, to be judged on a device that answers: {', '.join(exported.left_out)}")
    print_line(f"written: {len(rows):,} cases, {total / (1 << 20):.1f} MiB, in {folder}")
    print_line(f"on the device: RUNNER --offline {folder} OUTPUTS; then here: dmlcts offline judge {folder} OUTPUTS")


def read_export(folder: str, extra_tables: tuple[str, ...] = (), results: str = "results") -> Exported:
    """The cases that a folder was written for, made again from what its manifest says of them.

    Raises:
        UsageError: it is no such folder, or was written by another version or with other tables.
    """
    path = Path(folder) / MANIFEST
    try:
        if path.stat().st_size > _MOST_MANIFEST:
            raise UsageError(f"{path} is no manifest: it is too large", _MEND)
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {type(error).__name__}", _MEND) from None
    if not isinstance(read, Mapping) or read.get("format") != FORMAT:
        raise UsageError(f"{path} is no manifest of {FORMAT}", _MEND)
    settings = Settings.read(
        operators=_texts(read, "operators"),
        data_types=_texts(read, "data_types"),
        seed=_number(read, "seed"),
        strict=read.get("strict") is True,
        extra_tables=extra_tables,
        results=results,
    )
    exported = planned_cases(settings, FeatureLevel.parse(str(read.get("feature_level"))[:40]))
    if read.get("plan") != digest(exported.planned):
        raise UsageError(f"{path} is of other cases than those made here (suite {str(read.get('suite'))[:40]})", _MEND)
    key = read.get("poison")
    if not isinstance(key, str) or len(key) != 2 * _KEY_BYTES:
        raise UsageError(f"{path} does not hold the key that its outputs were filled with", _MEND)
    return replace(exported, key=key)


def _texts(read: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = read.get(key)
    if not isinstance(names, list) or len(names) > 1000 or not all(isinstance(name, str) for name in names):
        raise UsageError(f"the manifest's {key} are no list of names", _MEND)
    return tuple(name[:80] for name in names)


def _number(read: Mapping[str, Any], key: str) -> int:
    number = read.get(key)
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageError(f"the manifest's {key} is no number", _MEND)
    return number
