"""Digests that tie an entry to its data and its spec."""

import hmac
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from gedp.ledger.store import LedgerError
from gedp.policy.model import Spec
from gedp.policy.writer import write_spec

_CHUNK = 1 << 20


def fingerprint(paths: Iterable[Path], key: bytes) -> str:
    """HMAC-SHA256 over the bytes of the files, whatever their names and order.

    Keyed, because a plain hash of confidential data could confirm a guess: whoever thinks to know all of a small file
    but one value could try each value. The key is random and stays in the ledger; neither it nor the fingerprint goes
    into a public file.
    """
    return combined_digest([file_digest(path, key) for path in paths], key)


def combined_digest(digests: Iterable[str], key: bytes) -> str:
    """One keyed digest for those of several files, whatever their order."""
    return hmac.new(key, b"".join(sorted(map(bytes.fromhex, digests))), sha256).hexdigest()


def spec_digest(spec: Spec) -> str:
    """SHA-256 of the spec as `write_spec` writes it, so that comments and spacing do not matter."""
    return sha256(write_spec(spec).encode()).hexdigest()


def text_digest(text: str, key: bytes) -> str:
    """HMAC-SHA256 over a text."""
    return hmac.new(key, text.encode(), sha256).hexdigest()


def file_digest(path: Path, key: bytes) -> str:
    """HMAC-SHA256 over the bytes of one file."""
    digest = hmac.new(key, digestmod=sha256)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise LedgerError(f"cannot read {path}: {(error.strerror or 'the file system refused').lower()}") from None
    return digest.hexdigest()
