"""The one door to randomness: 64-bit words of keystream.

`SystemEntropy` is what protects: AES-256 in counter mode, keyed by the operating system. `SeededEntropy` repeats itself
and protects nothing; it is for tests and for experiments on synthetic data. It is never a default and no setting leads
to it: only code that names it gets it, and what it touched is marked by its `kind`.
"""

import hashlib
import itertools
import operator
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Literal, NoReturn

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from gedp.errors import DomainError, GedpError

Words = npt.NDArray[np.uint64]

#: Bytes drawn under one key before the next. The 2**26 blocks of one key differ from random blocks only in never
#: repeating, which an observer of all of them notices with probability below 2**-76.
BYTES_PER_KEY = 2**30

_WORD = np.dtype("<u8")
_ZEROS = bytes(2**18)  # what is encrypted; a piece of this size stays in the cache


class EntropyError(GedpError):
    """The source of randomness was used in a way that would repeat or bias it."""


class _Keystream:
    """AES-256-CTR over zeros. No key serves for more than `bytes_per_key` and no counter value is used twice."""

    def __init__(self, next_key: Callable[[], bytes], bytes_per_key: int) -> None:
        self._next_key = next_key
        self._bytes_per_key = bytes_per_key
        self._left = 0

    def words(self, n: int) -> Words:
        """The next n words, read as little-endian on every machine."""
        words = np.empty(n, dtype=_WORD)
        rest = words.data.cast("B") if n else memoryview(b"")
        while rest:
            if not self._left:
                self._cipher = Cipher(algorithms.AES(self._next_key()), modes.CTR(bytes(16))).encryptor()
                self._left = self._bytes_per_key
            size = min(len(rest), len(_ZEROS), self._left)
            self._cipher.update_into(memoryview(_ZEROS)[:size], rest[:size])
            self._left -= size
            rest = rest[size:]
        return words.astype(np.uint64, copy=False)


class Entropy(ABC):
    """A source of independent uniform 64-bit words, in two streams.

    `words` gives every draw its first word; `spare` gives the few draws that need further bits theirs. With a stream of
    its own for the latter, cutting the same draws into other calls or pieces changes none of them.
    """

    #: What a release records about the noise in it.
    kind: Literal["system", "seeded"]

    @abstractmethod
    def words(self, n: int) -> Words:
        """The next n words, never given out before."""

    @abstractmethod
    def spare(self) -> int:
        """The next word of the second stream, from 0 to 2**64 - 1."""

    def for_worker(self) -> "Callable[[], Entropy]":
        """What another process makes a source of its own with, which never repeats this one."""
        raise EntropyError(f"{type(self).__name__} serves one process")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise EntropyError(f"{type(self).__name__} cannot be copied or pickled: two copies would draw the same noise")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class SystemEntropy(Entropy):
    """Keystream under keys from the operating system, which nothing outside holds or can ask for.

    Threads may share it; each word goes to one of them. A forked child takes keys of its own, so it never repeats what
    the parent draws; the process number is compared on each call as well, where fork hooks do not run. A virtual
    machine resumed twice from one snapshot is beyond what a process can notice.
    """

    kind = "system"

    def __init__(self) -> None:
        self._renew()
        _LIVE.add(self)

    def words(self, n: int) -> Words:
        """The next n words, never given out before."""
        self._own()
        with self._lock:
            return self._first.words(n)

    def spare(self) -> int:
        """The next word of the second stream, from 0 to 2**64 - 1."""
        self._own()
        with self._lock:
            return int(self._second.words(1)[0])

    def for_worker(self) -> Callable[[], Entropy]:
        """Keys of its own for every process."""
        return SystemEntropy

    def _own(self) -> None:
        if self._process != os.getpid():
            self._renew()

    def _renew(self) -> None:
        """Starts afresh. The lock too: another thread may have held it at the moment of the fork."""
        self._lock = threading.Lock()
        self._first = _Keystream(lambda: os.urandom(32), BYTES_PER_KEY)
        self._second = _Keystream(lambda: os.urandom(32), BYTES_PER_KEY)
        self._process = os.getpid()


class SeededEntropy(Entropy):
    """The same words for the same seed on every machine. NOT PROTECTED: whoever knows the seed can subtract the noise.

    For tests and synthetic data. Not for sharing between threads, whose order would decide who gets which word.
    """

    kind = "seeded"

    def __init__(self, seed: int) -> None:
        if not hasattr(seed, "__index__") or operator.index(seed) < 0:
            raise DomainError("a seed is a whole number of 0 or more")
        self._others = _keys_from(seed, "elsewhere")
        self._first = _Keystream(_keys_from(seed, "words"), BYTES_PER_KEY)
        self._second = _Keystream(_keys_from(seed, "spare"), BYTES_PER_KEY)

    def words(self, n: int) -> Words:
        """The next n words of the seed's first stream."""
        return self._first.words(n)

    def spare(self) -> int:
        """The next word of the seed's second stream."""
        return int(self._second.words(1)[0])

    def for_worker(self) -> Callable[[], Entropy]:
        """The words of another seed, which follows from this one; each time the next, for one process alone."""
        return partial(SeededEntropy, int.from_bytes(self._others()))


class PaidEntropy(Entropy):
    """The words of another source, none of which is given out before `pay` has returned: the price is then on disk.

    It is asked each time, also before words are drawn elsewhere, so it must know that it has paid.
    """

    def __init__(self, source: Entropy, pay: Callable[[], object]) -> None:
        self.kind, self._source, self._pay = source.kind, source, pay

    def words(self, n: int) -> Words:
        """The next n words of the source."""
        self._pay()
        return self._source.words(n)

    def spare(self) -> int:
        """The next word of the source's second stream."""
        self._pay()
        return self._source.spare()

    def for_worker(self) -> Callable[[], Entropy]:
        """As the source has it."""
        self._pay()
        return self._source.for_worker()


def _keys_from(seed: int, stream: str) -> Callable[[], bytes]:
    keys = (hashlib.sha256(f"gedp seeded {stream} {seed} {number}".encode()).digest() for number in itertools.count())
    return lambda: next(keys)


_LIVE: "weakref.WeakSet[SystemEntropy]" = weakref.WeakSet()


def _renew_all() -> None:
    for entropy in list(_LIVE):
        entropy._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
