"""What a submission is signed with and packed into: keys, and the archive."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.certification.archive import ArchiveError
from dmlcts.reports.certification.signing import KeyProblem
from dmlcts.specs import UsageError
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.certification.submissions import Parts, build


@pytest.fixture(scope="module")
def parts() -> Parts:
    return build()


# Keys.


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    private, public = tmp_path / "a.key", tmp_path / "a.pub"
    signing.generate(private, public)
    return private, public


def test_a_pair_of_keys_belongs_together(keys: tuple[Path, Path]) -> None:
    key, public = signing.load_private(keys[0]), signing.load_public(keys[1])
    assert signing.raw(key) == public
    assert signing.holds(public, b"this", signing.sign(key, b"this"))
    assert not signing.holds(public, b"that", signing.sign(key, b"this"))
    assert not signing.holds(bytes(32), b"this", signing.sign(key, b"this"))
    assert not signing.holds(public, b"this", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_private_key_is_its_owners_only(keys: tuple[Path, Path]) -> None:
    assert keys[0].stat().st_mode & 0o777 == 0o600


def test_no_key_is_ever_overwritten(keys: tuple[Path, Path], tmp_path: Path) -> None:
    before = keys[0].read_bytes()
    with pytest.raises(KeyProblem, match=r"a\.key exists; keep it, or name another"):
        signing.generate(keys[0], tmp_path / "b.pub")
    assert keys[0].read_bytes() == before


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "holds no private key"),
        (b"-----BEGIN PRIVATE KEY-----\n", "holds no private key"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_key_is_refused_in_one_line(tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "x.key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KeyProblem, match=text):
        signing.load_private(path)
    with pytest.raises(KeyProblem):
        signing.load_public(path)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "x").write_bytes(private)
    (tmp_path / "y").write_bytes(public)
    with pytest.raises(KeyProblem, match="of another kind than Ed25519"):
        signing.load_private(tmp_path / "x")
    with pytest.raises(KeyProblem, match="of another kind than Ed25519"):
        signing.load_public(tmp_path / "y")


# The archive.


def test_what_is_packed_comes_back(parts: Parts) -> None:
    sealed = parts.sealed()
    assert archive.unpack(archive.pack(sealed)) == sealed


def test_only_a_submissions_members_are_packed() -> None:
    with pytest.raises(ArchiveError, match="a submission has no member"):
        archive.pack({"notes.txt": b""})
    with pytest.raises(ArchiveError, match="larger than 1 MiB"):
        archive.pack({archive.STATEMENT: bytes(2 << 20)})


@pytest.mark.parametrize("missing", [True, False])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, missing: bool) -> None:
    path = tmp_path / "s.zip"
    if not missing:
        path.mkdir()
    with pytest.raises(UsageError, match="does not exist" if missing else "cannot be read"):
        archive.read(path)


@pytest.mark.parametrize("name, code", [("missing", 2), ("folder", 2), ("no archive", 1), ("empty", 1)])
def test_a_submission_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str, code: int) -> None:
    """One that is there and is none stays a FAIL."""
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif name != "missing":
        path.write_bytes(b"" if name == "empty" else b"hello")
    ran = CliRunner().invoke(main, ["verify", str(path)])
    assert ran.exit_code == code, ran.output
    assert ran.output.startswith("dmlcts: " if code == 2 else "FAIL  archive"), ran.output


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_no_archive_however_damaged_ends_in_anything_but_a_verdict(parts: Parts, data: st.DataObject) -> None:
    packed = bytearray(_small(parts))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(packed) - 1))
        packed[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArchiveError):
        assert set(archive.unpack(bytes(packed))) <= set(parts.sealed())


def _small(parts: Parts) -> bytes:
    sealed = parts.sealed()
    return archive.pack({name: data[:200] for name, data in sealed.items()})
