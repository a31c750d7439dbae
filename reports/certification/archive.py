"""The submission's ZIP file: written deterministically, read as what it is, the work of a stranger.

Nothing is ever extracted to disk. Names come from a closed list, sizes are bounded before anything is read, and
members are stored as they are, not compressed: every library compresses otherwise, and a small file can unpack to
a large one. So equal members have one file and no other: whatever else a ZIP file can say is refused, and the
file is written anew from its members and compared with what was given.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from dmlcts.reports.documents.writing import write_bytes
from dmlcts.specs import DmlctsError, UsageError
from dmlcts.specs.files import read_bounded

STATEMENT, SIGNATURE, RESULTS, LOG = "statement.json", "statement.sig", "results.json", "log.txt"
ENVIRONMENT, WAIVERS, SWEEP = "environment.json", "waivers.yaml", "sweep.json"
EVIDENCE, OUTPUTS = "evidence.json", "evidence.bin"
RECORDS = re.compile(r"records-([1-9][0-9]?)-of-([1-9][0-9]?)\.jsonl")
MOST_SHARDS = 64

_MEBIBYTE = 1 << 20
_MOST_BYTES = {
    STATEMENT: _MEBIBYTE,
    SIGNATURE: 1024,
    RESULTS: 32 * _MEBIBYTE,
    LOG: 32 * _MEBIBYTE,
    ENVIRONMENT: _MEBIBYTE,
    WAIVERS: _MEBIBYTE,
    SWEEP: 16 * _MEBIBYTE,
    EVIDENCE: 4 * _MEBIBYTE,
    OUTPUTS: 48 * _MEBIBYTE,
}
_MOST_RECORDS = 32 * _MEBIBYTE
_MOST_PACKED = 64 * _MEBIBYTE
_MOST_MEMBERS = 16 + MOST_SHARDS
_MOST_DIRECTORY = 128 * _MOST_MEMBERS  # bytes of the central directory: an entry of ours has less than 80
_MODE = (stat.S_IFREG | 0o644) << 16
_END = struct.Struct("<4s4H2LH")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArchiveError(DmlctsError):
    """A file that is no submission.

    Args:
        cause: what is wrong with it.
        mend: what to do about it.
    """

    def __init__(self, cause: str, mend: str = "have it made again with `dmlcts certify`") -> None:
        super().__init__(f"{cause}; {mend}")
        self.cause, self.mend = cause, mend


def records_name(index: int, count: int) -> str:
    """The name of a shard's records."""
    return f"records-{index}-of-{count}.jsonl"


def most_bytes(name: str) -> int | None:
    """How large the member called ``name`` may be; ``None`` where a submission has no such member."""
    return _MOST_RECORDS if RECORDS.fullmatch(name) else _MOST_BYTES.get(name)


def pack(members: Mapping[str, bytes]) -> bytes:
    """The members as a ZIP file; equal members give equal bytes, whenever and wherever they are packed.

    Raises:
        ArchiveError: a member is not one of a submission's, or is too large for one.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            most = most_bytes(name)
            if most is None:
                raise ArchiveError(f"a submission has no member {name!r}", "leave it out")
            if len(members[name]) > most:
                raise ArchiveError(f"{name} is larger than {most >> 20} MiB", "report this as a fault of dmlcts")
            information = zipfile.ZipInfo(name, _EPOCH)
            information.create_system = 3
            information.external_attr = _MODE
            archive.writestr(information, members[name])
    packed = stream.getvalue()
    if len(packed) > _MOST_PACKED:
        most = _MOST_PACKED >> 20
        raise ArchiveError(f"the submission is larger than {most} MiB", "report this as a fault of dmlcts")
    return packed


def write(path: Path, members: Mapping[str, bytes]) -> None:
    """Write the ZIP file, whole or not at all.

    Raises:
        ArchiveError: as :func:`pack`.
        UsageError: the file cannot be written.
    """
    write_bytes(path, pack(members))


def read(path: str | Path) -> dict[str, bytes]:
    """The members of the ZIP file at ``path``.

    Raises:
        UsageError: there is no such file, or the system does not let us read it.
        ArchiveError: it is no submission.
    """
    try:
        packed = read_bounded(path, _MOST_PACKED)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist", "give the file that `dmlcts certify` wrote") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})", "give a file that can be") from None
    except ValueError as error:
        raise ArchiveError(f"{path} cannot be read ({error})", "give a file that can be") from None
    if len(packed) > _MOST_PACKED:
        raise ArchiveError(f"{path} is larger than {_MOST_PACKED >> 20} MiB")
    return unpack(packed)


def unpack(packed: bytes) -> dict[str, bytes]:
    """The members of a ZIP file.

    Raises:
        ArchiveError: it is no ZIP file, or holds anything that a submission does not.
    """
    _check_end(packed)
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            members = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ArchiveError(f"is no ZIP file that can be read ({error})") from None
    if pack(members) != packed:
        raise ArchiveError("is not written as `dmlcts certify` writes it: it holds something beside its members")
    return members


def _check_end(packed: bytes) -> None:
    """Refuse, before anything is read, a file that does not end as a ZIP file of ours, or has too many entries."""
    if len(packed) < _END.size or packed[-_END.size :][:4] != b"PK\x05\x06":
        raise ArchiveError("is no ZIP file that can be read, or has something after its end")
    _, _, _, _, count, directory, start, _ = _END.unpack(packed[-_END.size :])
    if count > _MOST_MEMBERS or directory > _MOST_DIRECTORY:
        raise ArchiveError(f"holds {count} members; a submission has at most {_MOST_MEMBERS}")
    if start + directory + _END.size != len(packed) or packed[:4] != b"PK\x03\x04":
        raise ArchiveError("is no ZIP file that can be read, or has something before its beginning")


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > _MOST_MEMBERS:
        raise ArchiveError(f"holds {len(entries)} members; a submission has at most {_MOST_MEMBERS}")
    seen = set()
    for entry in entries:
        name = entry.orig_filename
        most = most_bytes(name)
        if name != entry.filename or "/" in name or "\\" in name or name.startswith("."):
            raise ArchiveError(f"holds the path {name!r}, where a submission has plain names only")
        if most is None:
            raise ArchiveError(f"holds {name!r}, which is no part of a submission")
        if name in seen:
            raise ArchiveError(f"holds {name!r} twice")
        seen.add(name)
        mode = entry.external_attr >> 16
        if entry.create_system == 3 and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise ArchiveError(f"holds {name!r} as something else than a plain file")
        if entry.flag_bits & 0x1:
            raise ArchiveError(f"holds {name!r} encrypted")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ArchiveError(f"holds {name!r} compressed; a submission's members are stored as they are")
        if entry.file_size > most:
            raise ArchiveError(f"holds {name!r} of {entry.file_size:,} bytes; it may have {most:,}")
    if sum(entry.file_size for entry in entries) > _MOST_PACKED:
        raise ArchiveError("holds members that lie over one another")
