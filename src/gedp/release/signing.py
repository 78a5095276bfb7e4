"""A detached signature of a release: whoever has the publisher's public key can tell that nobody has changed a file.

`SHA256SUMS` lists the checksum of every file, the microdata and the report among them, and `SHA256SUMS.sig` is an
Ed25519 signature of that list. Both can be checked without this program, by sha256sum and openssl.
"""

import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gedp.errors import Fault, FaultsError
from gedp.files import WriteError, regular, replacing, sha256, write_text, writing
from gedp.release.derived import SIGNATURE, SUMS, derived_names
from gedp.release.manifest import MANIFEST, Manifest
from gedp.release.reader import ReleaseFolder, TamperedReleaseError, foreign_files, read_release

PUBLIC = ".pub"


def make_key(path: Path, passphrase: str | None = None) -> Path:
    """Writes a new private key, readable by its owner alone, and its public key beside it; returns the latter."""
    public = path.with_name(path.name + PUBLIC)
    taken = [each for each in (path, public) if os.path.lexists(each)]
    if taken:
        raise WriteError(f"cannot write {taken[0]}: it already exists, and keys are never replaced")
    key = Ed25519PrivateKey.generate()
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    )
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    with writing(path), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
    write_text(public, _public_text(key.public_key()))
    return public


def sign(release: ReleaseFolder, key: Path, passphrase: str | None = None) -> list[str]:
    """Signs everything in the folder of a release that belongs to it; returns the names of the files."""
    private = _private_key(key, passphrase)
    names = _names(release.folder, release.manifest)
    text = "".join(f"{sha256(release.folder / name)}  {name}\n" for name in names)
    with replacing(release.folder / SIGNATURE) as temporary:
        temporary.write_bytes(private.sign(text.encode()))
        write_text(release.folder / SUMS, text)
    return names


def sign_sums(folder: Path, key: Path, passphrase: str | None = None) -> None:
    """Signs the list of checksums that is in a folder already."""
    with replacing(folder / SIGNATURE) as temporary:
        temporary.write_bytes(_private_key(key, passphrase).sign((folder / SUMS).read_bytes()))


def verify(folder: Path, key: Path | None = None) -> ReleaseFolder:
    """The release in a folder, if its files are as the manifest says, and nothing else is there.

    With a public `key`, its owner must have signed every file as it is.
    """
    listed = None if key is None else signed_sums(folder, key)
    release = read_release(folder)
    wrong = foreign_files(folder, release.manifest)
    if listed is not None:
        expected = _names(folder, release.manifest)
        wrong += [name for name in expected if name not in listed]
        wrong += [name for name in listed if name not in expected or sha256(folder / name) != listed[name]]
    if wrong:
        what = "not part of the release" if listed is None else "not as signed"
        raise TamperedReleaseError(f"{folder}: {what}: {', '.join(wrong)}")
    return release


def signed_sums(folder: Path, key: Path, what: str = "release") -> dict[str, str]:
    """The checksums of files that are listed in a folder, if the owner of this public key has signed the list."""
    public = _public_key(key)
    try:
        text, signature = regular(folder / SUMS).read_bytes(), regular(folder / SIGNATURE).read_bytes()
    except OSError:
        missing = Fault(SUMS, f"it or {SIGNATURE} is missing", f"The {what} is not signed, or not all of it was copied")
        raise FaultsError(str(folder), [missing]) from None
    try:
        public.verify(signature, text)
    except InvalidSignature:
        raise TamperedReleaseError(f"{folder}: {SUMS} was not signed with the key of {key}, or was changed") from None
    return listed_sums(text)


def listed_sums(text: bytes) -> dict[str, str]:
    """The checksum of each file in a list of them, as sha256sum writes it."""
    return {name: digest for digest, name in (line.split("  ", 1) for line in text.decode().splitlines())}


def read_passphrase(path: Path) -> str:
    """The passphrase of a private key: the first line of a file."""
    try:
        lines = _read(path, "the passphrase").decode().splitlines()
    except UnicodeDecodeError:
        lines = []
    if not lines or not lines[0]:
        raise FaultsError(str(path), [Fault("the passphrase", "the first line is empty or not text", "Write it there")])
    return lines[0]


def _names(folder: Path, manifest: Manifest) -> list[str]:
    """The files of a release, and those that were made from it."""
    made = [name for name in derived_names(folder) if name not in (SUMS, SIGNATURE)]
    return sorted([MANIFEST, *manifest.files, *made])


def _private_key(path: Path, passphrase: str | None) -> Ed25519PrivateKey:
    text = _read(path)
    password = passphrase.encode() if passphrase else None
    for load in (serialization.load_pem_private_key, serialization.load_ssh_private_key):
        try:
            key = load(text, password)
        except TypeError:  # a passphrase is missing, or there is none
            problem, advice = "it has a passphrase", "Give it with --passphrase-file"
            if passphrase:
                problem, advice = "it has no passphrase", "Leave out --passphrase-file"
            raise FaultsError(str(path), [Fault("the key", problem, advice)]) from None
        except (ValueError, UnsupportedAlgorithm):
            continue
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise _no_key(path, "private")


def _public_key(path: Path) -> Ed25519PublicKey:
    text = _read(path)
    for load in (serialization.load_pem_public_key, serialization.load_ssh_public_key):
        try:
            key = load(text)
        except (ValueError, UnsupportedAlgorithm):
            continue
        if isinstance(key, Ed25519PublicKey):
            return key
    raise _no_key(path, "public")


def _read(path: Path, what: str = "the key") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise FaultsError(str(path), [Fault(what, reason, "Check the path")]) from None


def _no_key(path: Path, kind: str) -> FaultsError:
    if kind == "public":
        problem, advice = "it is not a public Ed25519 key", "Name the publisher's public key, such as publisher.key.pub"
    else:
        problem = "it is not a private Ed25519 key, or the passphrase is wrong"
        advice = "Make a pair of keys: gedp sign --new-key publisher.key"
    return FaultsError(str(path), [Fault("the key", problem, advice)])


def _public_text(key: Ed25519PublicKey) -> str:
    encoded = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded.decode()
