"""The submission's ZIP file: written deterministically, read as what it is, the work of a stranger.

Nothing is ever extracted to disk. Names come from a closed list, sizes are bounded before and while a member
is unpacked, and whatever a ZIP file can say that a submission has no use for is refused.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from dmlcts.reports.writing import write_bytes
from dmlcts.specs import DmlctsError

STATEMENT, SIGNATURE, RESULTS, LOG = "statement.json", "statement.sig", "results.json", "log.txt"
ENVIRONMENT, WAIVERS, SWEEP = "environment.json", "waivers.yaml", "sweep.json"
EVIDENCE, OUTPUTS = "evidence.json", "evidence.bin"
RECORDS = re.compile(r"records-([1-9][0-9]?)-of-([1-9][0-9]?)\.jsonl")
MOST_SHARDS = 64

_MEBIBYTE = 1 << 20
_MOST_BYTES = {
    STATEMENT: _MEBIBYTE, SIGNATURE: 1024, RESULTS: 64 * _MEBIBYTE, LOG: 64 * _MEBIBYTE, ENVIRONMENT: _MEBIBYTE,
    WAIVERS: _MEBIBYTE, SWEEP: 16 * _MEBIBYTE, EVIDENCE: 4 * _MEBIBYTE, OUTPUTS: 64 * _MEBIBYTE,
}  # fmt: skip
_MOST_RECORDS = 128 * _MEBIBYTE
_MOST_PACKED = 30 * _MEBIBYTE
_MOST_UNPACKED = 256 * _MEBIBYTE
_MOST_RATIO, _ANY_RATIO_BELOW = 400, 4 * _MEBIBYTE
_MOST_MEMBERS = 16 + MOST_SHARDS
_CHUNK = 1 << 16
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
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            most = most_bytes(name)
            if most is None:
                raise ArchiveError(f"a submission has no member {name!r}", "leave it out")
            if len(members[name]) > most:
                raise ArchiveError(f"{name} is larger than {most >> 20} MiB", "report this as a fault of dmlcts")
            information = zipfile.ZipInfo(name, _EPOCH)
            information.compress_type = zipfile.ZIP_DEFLATED
            information.create_system = 3
            information.external_attr = (stat.S_IFREG | 0o644) << 16
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
        ArchiveError: it cannot be read, or is no submission.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _MOST_PACKED:
            raise ArchiveError(f"{path} is larger than {_MOST_PACKED >> 20} MiB")
        packed = path.read_bytes()
    except FileNotFoundError:
        raise ArchiveError(f"{path} does not exist", "give the file that `dmlcts certify` wrote") from None
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read ({error.strerror})", "give a file that can be") from None
    return unpack(packed)


def unpack(packed: bytes) -> dict[str, bytes]:
    """The members of a ZIP file.

    Raises:
        ArchiveError: it is no ZIP file, or holds anything that a submission does not.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = archive.infolist()
            _check_entries(entries, archive.comment)
            if packed[-22:-18] != b"PK\x05\x06" or min((entry.header_offset for entry in entries), default=0):
                raise ArchiveError("has something before or after the ZIP file")
            return {entry.filename: _member(archive, entry) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ArchiveError(f"is no ZIP file that can be read ({error})") from None


def _check_entries(entries: list[zipfile.ZipInfo], comment: bytes) -> None:
    if len(entries) > _MOST_MEMBERS:
        raise ArchiveError(f"holds {len(entries)} members; a submission has at most {_MOST_MEMBERS}")
    if comment:
        raise ArchiveError("carries a comment, which a submission has no use for")
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
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"holds {name!r} compressed with method {entry.compress_type}")
        if entry.file_size > most:
            raise ArchiveError(f"holds {name!r} of {entry.file_size:,} bytes; it may have {most:,}")
        if entry.file_size > _ANY_RATIO_BELOW and entry.file_size > _MOST_RATIO * max(entry.compress_size, 1):
            raise ArchiveError(f"holds {name!r} compressed more than {_MOST_RATIO}:1, which no record is")
    if sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise ArchiveError(f"holds more than {_MOST_UNPACKED >> 20} MiB unpacked")


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Unpack one member, never more of it than its directory entry says, which was checked."""
    parts, size = [], 0
    with archive.open(entry) as stream:
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > entry.file_size:
                raise ArchiveError(f"holds {entry.filename!r} with more bytes than it says")
            parts.append(part)
    return b"".join(parts)
