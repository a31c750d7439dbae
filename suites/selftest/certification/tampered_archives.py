"""Archives tampered with after they were signed: other members, other bytes, other ZIP files."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dmlcts.reports.certification import archive, signing
from dmlcts.suites.selftest.certification.submissions import Parts, entry, rezipped
from dmlcts.suites.selftest.certification.tampered_documents import waivers_file

Tampering = Callable[[Parts], bytes]
ARCHIVES: dict[str, tuple[Tampering, str, str]] = {}


def altered(check: str, text: str) -> Callable[[Tampering], Tampering]:
    def add(change: Tampering) -> Tampering:
        ARCHIVES[change.__name__.replace("_", " ")] = (change, check, text)
        return change

    return add


def with_member(name: str, data: bytes = b"evil", **information: Any) -> Tampering:
    """The archive with one more member, of any name and kind."""

    def tamper(parts: Parts) -> bytes:
        def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
            members.pop(name, None)
            made.writestr(entry(name, **information), data)

        return rezipped(parts.packed(), add)

    return tamper


def changed_member(name: str, **information: Any) -> Tampering:
    """The archive with one member's own bytes under an entry that says something else of it."""

    def tamper(parts: Parts) -> bytes:
        def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
            made.writestr(entry(name, **information), members.pop(name))

        return rezipped(parts.packed(), add)

    return tamper


ARCHIVES |= {
    "an extra file": (with_member("notes.txt"), "archive", "holds 'notes.txt', which is no part of a submission"),
    "a path traversal": (with_member("../evil.txt"), "archive", r"holds the path '\.\./evil\.txt'"),
    "an absolute path": (with_member("/etc/evil"), "archive", "holds the path '/etc/evil'"),
    "a path of Windows": (with_member("..\\evil.txt"), "archive", "holds the path"),
    "a folder": (with_member("more/", b""), "archive", "holds the path 'more/'"),
    "a hidden file": (with_member(".results.json"), "archive", r"holds the path '\.results\.json'"),
    "a symbolic link": (
        with_member("log.txt", b"/etc/passwd", create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16),
        "archive",
        "holds 'log.txt' as something else than a plain file",
    ),
    "a zip bomb": (
        with_member("log.txt", bytes(60 << 20), compress_type=zipfile.ZIP_DEFLATED),
        "archive",
        "holds 'log.txt' compressed",
    ),
    "a member that is too large": (
        with_member("environment.json", bytes(2 << 20)),
        "archive",
        r"holds 'environment\.json' of 2,097,152 bytes",
    ),
    "another compression": (
        with_member("log.txt", compress_type=zipfile.ZIP_BZIP2),
        "archive",
        "holds 'log.txt' compressed",
    ),
    "a shard without a number": (with_member("records-0-of-0.jsonl"), "archive", "is no part of a submission"),
}


@altered("archive", "holds 'results.json' twice")
def a_member_twice(parts: Parts) -> bytes:
    def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        made.writestr(archive.RESULTS, members[archive.RESULTS])

    with pytest.warns(UserWarning, match="Duplicate name"):
        return rezipped(parts.packed(), add)


@altered("archive", "holds 120 members")
def too_many_members(parts: Parts) -> bytes:
    def add(made: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        for index in range(120 - len(members)):
            made.writestr(f"{index}", b"")

    return rezipped(parts.packed(), add)


@altered("archive", "has something after its end")
def a_comment(parts: Parts) -> bytes:
    return rezipped(parts.packed(), lambda made, _: setattr(made, "comment", b"hello"))


@altered("archive", "something before its beginning")
def something_before_it(parts: Parts) -> bytes:
    return b"#!/bin/sh\nexit\n" + parts.packed()


@altered("archive", "has something after its end")
def something_after_it(parts: Parts) -> bytes:
    return parts.packed() + b"more"


@altered("archive", "is no ZIP file that can be read")
def half_an_archive(parts: Parts) -> bytes:
    packed = parts.packed()
    return packed[: len(packed) // 2]


@altered("archive", "encrypted")
def an_encrypted_member(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    start = packed.index(b"PK\x01\x02")
    packed[start + 8] |= 1
    return bytes(packed)


@altered("archive", "is no ZIP file that can be read")
def a_member_that_lies_about_its_size(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    start = packed.index(b"PK\x01\x02")
    packed[start + 24 : start + 28] = (3).to_bytes(4, "little")
    return bytes(packed)


@altered("archive", "is no ZIP file that can be read")
def a_damaged_member(parts: Parts) -> bytes:
    packed = bytearray(parts.packed())
    packed[packed.index(b"PK\x01\x02") // 2] ^= 0xFF
    return bytes(packed)


def swapped(parts: Parts, **members: bytes | None) -> bytes:
    """The signed archive with members exchanged, ``None`` for removed."""
    sealed = parts.sealed()
    for name, data in members.items():
        real = name.replace("__", ".")
        sealed.pop(real, None)
        if data is not None:
            sealed[real] = data
    return archive.pack(sealed)


@altered("digests", "log.txt is not the file that the statement lists")
def an_edited_log(parts: Parts) -> bytes:
    return swapped(parts, log__txt=b"edited")


@altered("digests", "waivers.yaml is in the archive and not in the statement")
def an_unlisted_file(parts: Parts) -> bytes:
    return swapped(parts, waivers__yaml=waivers_file())


@altered("signature", "the signature is not the named key's over this statement")
def a_statement_edited_after_signing(parts: Parts) -> bytes:
    edited = parts.sealed()[archive.STATEMENT].replace(b"Driver 1.2", b"Driver 1.3")
    return swapped(parts, statement__json=edited)


@altered("signature", "the signature is not the named key's over this statement")
def a_swapped_signature(parts: Parts) -> bytes:
    other = parts.copy()
    other.statement["product"] = "Driver 1.3"
    return swapped(parts, statement__sig=other.sealed()[archive.SIGNATURE])


@altered("signature", "the signature is not the named key's over this statement")
def a_signature_that_is_none(parts: Parts) -> bytes:
    return swapped(parts, statement__sig=b"ed25519 trust me\n")


@altered("signature", "a key without a signature")
def a_removed_signature(parts: Parts) -> bytes:
    return swapped(parts, statement__sig=None)


@altered("signature", "the signature is not the named key's over this statement")
def the_trusted_key_named_and_another_used(parts: Parts) -> bytes:
    forged = parts.sealed()[archive.STATEMENT]
    return swapped(parts, statement__sig=signing.sign(Ed25519PrivateKey.generate(), forged))


@altered("statement", "is no JSON")
def a_statement_that_is_none(parts: Parts) -> bytes:
    return swapped(parts, statement__json=b"CONFORMANT")


@altered("statement", "is no JSON")
def a_statement_nested_without_end(parts: Parts) -> bytes:
    return swapped(parts, statement__json=b"[" * 500_000)
