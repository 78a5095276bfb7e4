"""Whether a package is as it was made and, with the publisher's public key, as its publisher signed it."""

import json
from dataclasses import dataclass
from pathlib import Path

from gedp.errors import Fault, FaultsError, Refused
from gedp.files import regular, sha256
from gedp.publication.package import DESCRIPTION
from gedp.release.derived import SIGNATURE, SUMS
from gedp.release.signing import listed_sums, signed_sums


def is_package(folder: Path) -> bool:
    """Whether a folder says that it is a package."""
    return (folder / DESCRIPTION).is_file()


@dataclass(frozen=True)
class VerifiedPackage:
    """A package that is as it was made."""

    folder: Path
    is_seeded: bool


def verify_package(folder: Path, key: Path | None = None) -> VerifiedPackage:
    """The package in a folder, if it holds the files that it lists, as they are listed, and no others.

    With a public `key`, its owner must have signed the list.
    """
    listed = _unsigned(folder) if key is None else signed_sums(folder, key, "package")
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if _counts(path)}
    wrong = there.keys() - listed.keys() - {SUMS, SIGNATURE}
    wrong |= {name for name, digest in listed.items() if not _is_as(there.get(name), digest)}
    if wrong:
        raise Refused(f"{folder}: not as {'listed' if key is None else 'signed'}: {', '.join(sorted(wrong))}")
    return VerifiedPackage(folder, _is_seeded(folder))


def _unsigned(folder: Path) -> dict[str, str]:
    try:
        return listed_sums(regular(folder / SUMS).read_bytes())
    except (OSError, ValueError):
        fault = Fault(SUMS, "it is missing or cannot be read", "Get a complete copy of the package")
        raise FaultsError(str(folder), [fault]) from None


def _counts(path: Path) -> bool:
    return path.is_symlink() or not path.is_dir()


def _is_as(path: Path | None, digest: str) -> bool:
    return path is not None and path.is_file() and not path.is_symlink() and sha256(path) == digest


def _is_seeded(folder: Path) -> bool:
    try:
        said = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        return bool(said["release"]["is_seeded"])
    except (ValueError, KeyError, TypeError):
        fault = Fault(DESCRIPTION, "it cannot be read", "Get a package that `gedp publish` made")
        raise FaultsError(str(folder), [fault]) from None
