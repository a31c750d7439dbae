"""Small inputs that ask for much, and the doors that they are handed to: ``python -m …bombs DOOR FOLDER``.

Each door is one process, so that its memory can be measured. What a door is given has to be read or refused, with
one of the project's own errors, within the time and memory that are promised for any document.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dmlcts.reports.certification import archive
from dmlcts.reports.comparing import baseline, findings
from dmlcts.reports.comparing.comparison import compare, finished
from dmlcts.reports.comparing.comparison_views import html as comparison_page
from dmlcts.reports.comparing.difference import difference
from dmlcts.reports.comparing.difference import text as difference_text
from dmlcts.reports.documents import waivers
from dmlcts.reports.documents.journal import read_journal
from dmlcts.reports.documents.validation import MOST_BYTES, MOST_VALUES, load_results
from dmlcts.reports.documents.writing import dump_yaml, failure_document
from dmlcts.reports.views import html, markdown
from dmlcts.reports.views.junit import items_of, junit_xml
from dmlcts.specs import DmlctsError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.running.replay import load_case
from dmlcts.suites.selftest.reports.report_samples import failing
from dmlcts.suites.selftest.strangers.fuzzing import failing_item, shard_lines

MOST_SECONDS, MOST_YARDSTICKS, MOST_MEBIBYTES = 10.0, 30.0, 500.0
"""What an input may take. Machines differ, and one differs from hour to hour: only what takes more than the seconds
and more yardsticks, measured beside it, is slow."""
_MOST_CHARACTERS = 20_000
_ROOM = MOST_BYTES - (1 << 20)
_FEW = MOST_VALUES - 20_000


def _filled(unit: bytes, before: bytes = b"[", behind: bytes = b"0]", values: int = 1) -> bytes:
    """As many copies of a unit as a document may hold, by its bytes and by its values."""
    count = min(_ROOM // len(unit), _FEW // values)
    return before + unit * count + behind


def _numbered(shape: str, most: int = _FEW // 2) -> bytes:
    """Keys that all differ."""
    parts, size = [], 0
    for number in range(most):
        part = shape.format(number)
        size += len(part)
        if size > _ROOM:
            break
        parts.append(part)
    return ("{" + ",".join(parts) + "}").encode()


def _inside(document: dict[str, Any], name: str, data: bytes) -> bytes:
    """The document with raw JSON in place of one of its members."""
    text = json.dumps({**document, name: "@@"}).encode()
    return text.replace(b'"@@"', data)


def json_bombs() -> Iterator[tuple[str, bytes]]:
    """Documents that are small to send and large to read."""
    results = failing()
    row = json.dumps(results["clauses"][0]).encode()
    failure = json.dumps({**results["failures"][0], "case": {}}).encode()
    yield "lists of nothing", _filled(b"[],", values=2)
    yield "objects of nothing", _filled(b"{},", values=2)
    yield "objects of one", _filled(b'{"a":1},', values=2)
    yield "numbers", _filled(b"-9,")
    yield "texts", _filled(b'"ab",')
    yield "one text", b'"' + b"a" * _ROOM + b'"'
    yield "escapes", b'"' + b"\\u0001" * (_ROOM // 6) + b'"'
    yield "half pairs", b'"' + b"\\ud800" * (_ROOM // 6) + b'"'
    yield "wide text", b'"' + "\U0001f600".encode() * (_ROOM // 4) + b'"'
    yield "keys", _numbered('"{}":-7')
    yield "keys of lists", _numbered('"{}":[{{}}]', _FEW // 4)
    yield "a key a million times", b"{" + b'"a":1,' * 1_000_000 + b'"a":1}'
    yield "levels", b"[" * 1_000_000
    yield "levels of objects", b'{"a":' * 1_000_000
    yield "digits", b"[" + b"9" * _ROOM + b"]"
    yield "digits behind a point", b"[0." + b"9" * 10_000_000 + b"]"
    yield "an exponent", b"[1e" + b"9" * 1_000_000 + b"]"
    yield "blanks", b" " * _ROOM
    yield "commas", b"[" + b"," * _ROOM
    yield "too large", b"[" + b" " * (MOST_BYTES + 10) + b"]"
    yield "rows of nothing", _inside(results, "clauses", _filled(b"{},", behind=b"{}]", values=2))
    yield "rows", _inside(results, "clauses", _filled(row + b",", behind=row + b"]", values=row.count(b",") + 2))
    yield (
        "failures",
        _inside(results, "failures", _filled(failure + b",", behind=failure + b"]", values=failure.count(b",") + 3)),
    )
    yield "behaviours of numbers", _inside(results, "behaviours", _filled(b"0,"))
    yield "a device of keys", _inside(results, "device", _numbered('"{}":"x"'))
    yield "specs of keys", _inside(results, "specs", _numbered('"{}":0'))
    yield "an environment of keys", _inside(results, "environment", _numbered('"{}":"x"'))
    yield (
        "a case of numbers",
        _inside(
            results,
            "failures",
            b"[" + failure.replace(b'"case": {}', b'"case": {"a": ' + _filled(b"-9,") + b"}") + b"]",
        ),
    )
    yield (
        "a case of levels",
        _inside(
            results,
            "failures",
            b"[" + failure.replace(b'"case": {}', b'"case": {"a": ' + b"[" * 900 + b"]" * 900 + b"}") + b"]",
        ),
    )
    yield "a seed of digits", _inside(results, "seed", b"9" * 4000)
    yield "a seed of levels", _inside(results, "seed", b"[" * 900 + b"]" * 900)
    yield (
        "a title without end",
        _inside(
            results, "failures", b"[" + failure.replace(b'"title": "', b'"title": "' + b"\\u202e" * 5_000_000) + b"]"
        ),
    )


_MOST_YAML = (1 << 20) - 100


def yaml_bombs(document: str) -> Iterator[tuple[str, bytes]]:
    """The same in YAML; ``document`` is one that is read."""
    yield "items", b"- a\n" * (_MOST_YAML // 4)
    yield "lists", b"[" + b"[]," * (_MOST_YAML // 3) + b"0]"
    yield "keys", "".join(f"k{number}: v\n" for number in range(80_000)).encode()
    yield "levels", b"[" * _MOST_YAML
    yield "levels of keys", b"".join(b" " * level + b"a:\n" for level in range(1000))
    yield "levels of items", b"- " * 400_000
    yield "escapes", b'"' + b"\\u0041" * (_MOST_YAML // 6) + b'"'
    yield "anchors", b"a: &a [x]\nb: [" + b"*a," * 300_000 + b"]\n"
    yield "laughs", b"a: &a [x,x]\n" + b"".join(b"b%d: &b%d [*a,*a]\n" % (n, n) for n in range(1000))
    yield "digits", b"a: " + b"9" * _MOST_YAML
    yield "quotes", b'"' * _MOST_YAML
    yield "faults", b"a: 0x\n" + b"".join(b"k%d: yes\n" % n for n in range(70_000))
    yield "comments", b"#\n" * (_MOST_YAML // 2)
    yield "documents", b"---\na\n" * 150_000
    yield "tags", b"- !!x y\n" * 100_000
    yield "unknown keys", document.encode() + "".join(f"k{number}: v\n" for number in range(60_000)).encode()
    yield "too large", b"#" * (3 << 20)


def results_door(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Results, as `report`, `diff`, `compare`, `baseline` and `findings` take them; whatever is read is shown."""
    tables = load_tables()
    ours = folder / "ours.json"
    ours.write_text(json.dumps(failing()), encoding="utf-8")
    for name, data in json_bombs():
        path = folder / "results.json"
        path.write_bytes(data)
        read: list[dict[str, Any]] = []  # once: reading is most of what this door takes
        yield f"results of {name}", lambda path=path, read=read: read.append(load_results(path))
        if not read:
            continue
        document = read[0]
        views: dict[str, Callable[[], object]] = {
            "page": lambda document=document: html.page(document, tables),
            "summary": lambda document=document: markdown.summary(document, tables),
            "junit": lambda document=document: junit_xml(items_of(document), document),
            "difference": lambda document=document: difference_text(difference(load_results(ours), document), tables),
            "comparison": lambda path=path: comparison_page(compare([finished("a", path.parent)], tables)),
            "baseline": lambda document=document: baseline.baseline_of(document),
            "findings": lambda document=document: findings.page(document, tables, None, "findings"),
        }
        for view, reader in views.items():
            yield f"{view} of {name}", reader


def journal_door(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Journals, as `merge`, `certify --from` and `run --resume` take them."""
    lines = shard_lines(folder, "1/2")
    head = json.dumps(lines[0]).encode() + b"\n"
    path = folder / "records.jsonl"
    item = json.dumps({"item": failing_item().to_json()}).encode()
    for name, data in json_bombs():
        path.write_bytes(head + data + b"\n")
        yield f"a journal with a line of {name}", lambda: read_journal(path)
    for name, line in {
        "short lines": b'{"item":{}}',
        "lines of nothing": b"{}",
        "empty lines": b"",
        "ends": b'{"end":{"items":1}}',
        "runs": json.dumps(lines[0]).encode(),
        "items of one name": item,
    }.items():
        path.write_bytes(head + (line + b"\n") * min(1_000_000, (40 << 20) // (len(line) + 1)))
        yield f"a journal of {name}", lambda: read_journal(path)
    with path.open("wb") as stream:
        stream.write(head)
        for number in range(150_000):
            stream.write(item.replace(b"test_y", b"test_%d" % number) + b"\n")
            if stream.tell() > 80 << 20:
                break
    yield "a journal of items", lambda: read_journal(path)


def yaml_door(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Failure files, waivers, baselines and tables."""
    tables = load_tables()
    item = failing_item()
    good = dump_yaml(failure_document(item.failures[0], "1"))
    for name, data in yaml_bombs(good):
        path = folder / "x.yaml"
        path.write_bytes(data)
        yield f"a failure of {name}", lambda path=path: load_case(path, tables)
        yield f"waivers of {name}", lambda path=path: waivers.load(path)
        yield f"a baseline of {name}", lambda path=path: baseline.load(path)
        yield f"a table of {name}", lambda path=path: load_tables(path)
    for name, change in {
        "overlapping strides": {"sizes": [1, 1, 60000, 60000], "strides": [0, 0, 1, 1]},
        "strides of nothing": {"sizes": [1, 1, 60000, 60000], "strides": [0, 0, 0, 0]},
        "huge sizes": {"sizes": [1 << 32] * 4, "strides": None},
        "sixteen sizes": {"sizes": [1 << 32] * 16, "strides": [1] * 16},
    }.items():
        document = failure_document(item.failures[0], "1")
        for tensor in document["case"]["tensors"].values():
            tensor.update(change, total_size_in_bytes=480_000)
        path = folder / "case.yaml"
        path.write_text(dump_yaml(document), encoding="utf-8")
        yield f"a case of {name}", lambda path=path: load_case(path, tables)


def archive_door(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Submissions, rightly signed, by someone who wants to exhaust whoever verifies."""
    from dmlcts.suites.selftest.certification.submissions import build

    genuine = build()
    yield "a genuine submission", lambda: _accepted(genuine.verifier.verify(genuine.packed()).exit_code == 0)
    members = {
        archive.RESULTS: 30 << 20,
        archive.ENVIRONMENT: 1 << 20,
        archive.EVIDENCE: 4 << 20,
        archive.WAIVERS: 1 << 20,
        "records-1-of-1.jsonl": 30 << 20,
        archive.LOG: 30 << 20,
    }
    for name, data in json_bombs():
        for member, most in members.items():
            parts = genuine.copy()
            parts.members[member] = data[: most - 1] + b"\n"
            packed = parts.packed()
            yield f"{member} of {name}", lambda packed=packed, parts=parts: _refused(parts.verifier.verify(packed))
    for count in (10_000, 400_000):
        stream = b"PK\x01\x02" + bytes(42)
        end = b"PK\x05\x06" + bytes(4) + count.to_bytes(4, "little")[:2] * 2 + (46 * count).to_bytes(4, "little")
        packed = stream * count + end + bytes(6)
        yield f"{count} entries", lambda packed=packed: archive.unpack(packed)


def _accepted(accepted: bool) -> None:
    if not accepted:
        raise AssertionError("the control is refused")


def _refused(verification: Any) -> None:
    list(verification.text())
    verification.markdown("s.zip")


DOORS = {"results": results_door, "journal": journal_door, "yaml": yaml_door, "archive": archive_door}


def _forget() -> None:
    """Give back what the input before left, and begin to measure anew: each input is a document of its own."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    """The most memory since then, in mebibytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024


def _yardstick() -> float:
    """The seconds that a million small objects take Python to read, now and here."""
    began = time.process_time()
    json.loads(b"[" + b'{"a":1},' * 1_000_000 + b"0]", object_pairs_hook=dict)
    return time.process_time() - began


def main(door: str, folder: str) -> None:
    """Hand every bomb to a door; what took too long, too much or ended otherwise is a line on standard output."""
    count, slowest, largest = 0, (0.0, ""), (0.0, "")
    for name, read in DOORS[door](Path(folder)):
        count += 1
        _forget()
        began = time.process_time()
        try:
            read()
        except DmlctsError as error:
            if len(str(error)) > _MOST_CHARACTERS:
                sys.stdout.write(f"{name}: refused in {len(str(error)):,} characters\n")
        except BaseException as error:  # this is what is looked for
            sys.stdout.write(f"{name}: {type(error).__name__}: {str(error)[:200]}\n")
        spent, peak = time.process_time() - began, _peak()
        slowest, largest = max(slowest, (spent, name)), max(largest, (peak, name))
        slow = spent > MOST_SECONDS and spent > MOST_YARDSTICKS * _yardstick()
        if slow or peak > MOST_MEBIBYTES:
            sys.stdout.write(f"{name}: took {spent:.1f} s and {peak:.0f} MiB\n")
    sys.stderr.write(
        f"{door}: {count} inputs, at most {slowest[0]:.1f} s ({slowest[1]}) and {largest[0]:.0f} MiB ({largest[1]})\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
