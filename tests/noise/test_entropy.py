"""The one door to randomness: no word twice, not after a fork, not in two threads, and no seed by accident."""

import ast
import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import gedp.noise
from gedp.errors import DomainError
from gedp.noise import EntropyError, SeededEntropy, SystemEntropy
from gedp.noise import entropy as entropy_module
from gedp.noise.entropy import BYTES_PER_KEY, _keys_from, _Keystream
from tests.helpers.forking import in_a_child
from tests.noise.exact import ScriptedEntropy

SOURCE = Path(gedp.noise.__file__).parent
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def by_hand(keys: list[bytes], bytes_per_key: int) -> bytes:
    """Counter mode written out: each block is the encrypted number of the block."""
    stream = b""
    for key in keys:
        block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        blocks = [block.update(i.to_bytes(16, "big")) for i in range(-(-bytes_per_key // 16))]
        stream += b"".join(blocks)[:bytes_per_key]
    return stream


@pytest.mark.parametrize("bytes_per_key", [16, 24, 72, 4096])
def test_keystream_is_counter_mode_with_a_new_key_in_time(bytes_per_key: int) -> None:
    keys = [os.urandom(32) for _ in range(300)]
    stream = _Keystream(iter(keys).__next__, bytes_per_key)
    words = np.concatenate([stream.words(n) for n in (1, 0, 2, 7, 100, 30)])
    expected = np.frombuffer(by_hand(keys, bytes_per_key)[: words.nbytes], dtype="<u8")
    assert words.dtype == np.uint64
    assert (words == expected).all()


def test_long_output_does_not_repeat() -> None:
    words = SystemEntropy().words(300_000)  # over several pieces
    assert len(np.unique(words)) == words.size


def test_words_are_balanced_in_every_bit() -> None:
    words = SystemEntropy().words(200_000)
    ones = [int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert np.abs(np.array(ones) - 100_000).max() < 7 * np.sqrt(50_000)


def test_two_sources_and_two_streams_differ() -> None:
    a, b = SystemEntropy(), SystemEntropy()
    drawn = np.concatenate([a.words(1000), b.words(1000), np.array([s.spare() for s in (a, b) for _ in range(500)])])
    assert len(np.unique(drawn)) == 3000
    seeded = SeededEntropy(1)
    assert seeded.spare() != int(seeded.words(1)[0])


def test_threads_never_share_a_word() -> None:
    source = SystemEntropy()
    found: list[np.ndarray] = []

    def draw() -> None:
        for n in (1, 33, 5000, 40_000):
            found.append(source.words(n))
            found.append(np.array([source.spare()], dtype=np.uint64))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = np.concatenate(found)
    assert drawn.size == 8 * (45_034 + 4)
    assert len(np.unique(drawn)) == drawn.size


FORK = """
import os, sys
from gedp.noise import SystemEntropy, entropy, rounded_gaussian
source = SystemEntropy()
source.words(3), source.spare()
{before}
def drawn():
    return [*rounded_gaussian(50, 40, source).tolist(), *source.words(20).tolist(), source.spare()]
ends = []
for _ in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(drawn()).encode())
        os._exit(0)
    ends.append(read)
lists = [drawn(), *[eval(os.read(end, 10**6)) for end in ends]]
everything = sum(lists, [])
assert len(everything) == 4 * 71 and len(set(everything)) == 4 * 71, "a child repeats its parent or its sibling"
"""


@needs_fork
@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", id="as it is"),
        pytest.param("source._own = lambda: None", id="hook alone"),
        pytest.param("entropy._LIVE.clear()", id="process number alone"),
        pytest.param("held = source._lock; held.acquire(); os.register_at_fork(after_in_parent=lambda: "
                     "held.locked() and held.release())", id="lock held while forking"),
    ],
)  # fmt: skip
def test_a_forked_child_draws_noise_of_its_own(before: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parents[1])}
    script = FORK.format(before=before)
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of threads, which the child does without
def test_a_fork_renews_both_streams_before_anything_is_drawn() -> None:
    source = SystemEntropy()
    first, second = source._first, source._second

    def is_renewed() -> None:
        assert source._first is not first
        assert source._second is not second

    in_a_child(is_renewed)
    entropy_module._renew_all()  # what the child called
    is_renewed()


@pytest.mark.parametrize("draw", [lambda source: source.words(1), lambda source: source.spare()])
def test_another_process_number_renews_both_streams(
    draw: Callable[[SystemEntropy], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SystemEntropy()
    first, second = source._first, source._second
    draw(source)
    assert (source._first, source._second) == (first, second)
    monkeypatch.setattr("os.getpid", lambda: source._process + 1)
    draw(source)
    assert source._first is not first
    assert source._second is not second


def test_a_spare_word_is_the_next_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda size: bytes(range(size)))
    expected = _Keystream(lambda: bytes(range(32)), BYTES_PER_KEY).words(3).tolist()
    system = SystemEntropy()
    assert [system.spare() for _ in range(3)] == expected
    assert system.words(3).tolist() == expected
    seeded = SeededEntropy(0)
    assert [seeded.spare() for _ in range(3)] == _Keystream(_keys_from(0, "spare"), BYTES_PER_KEY).words(3).tolist()


def test_blocks_of_one_key_are_too_few_to_be_missed_for_not_repeating() -> None:
    blocks = BYTES_PER_KEY // 16
    assert blocks * (blocks - 1) / 2 / 2.0**128 < 2.0**-76


def test_a_source_of_one_process_says_so() -> None:
    with pytest.raises(EntropyError, match="one process"):
        ScriptedEntropy([]).for_worker()
    assert isinstance(SystemEntropy().for_worker()(), SystemEntropy)


def test_seeded_words_depend_on_nothing_but_the_seed() -> None:
    whole = SeededEntropy(7).words(1000)
    parts = SeededEntropy(7)
    parts.spare()
    assert (np.concatenate([parts.words(n) for n in (1, 2, 500, 497)]) == whole).all()
    assert not np.isin(SeededEntropy(8).words(1000), whole).any()
    assert [SeededEntropy(7).spare() for _ in range(2)] == [SeededEntropy(7).spare()] * 2


def test_a_seed_gives_every_process_elsewhere_words_of_its_own() -> None:
    source, again = SeededEntropy(7), SeededEntropy(7)
    drawn = [made.for_worker()().words(100) for made in (source, source, again, again)]
    assert not np.isin(drawn[0], [*drawn[1], *SeededEntropy(7).words(100)]).any()
    assert np.array_equal(drawn[0], drawn[2])
    assert np.array_equal(drawn[1], drawn[3])


def test_seeded_words_change_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy_module, "BYTES_PER_KEY", 80)
    words = SeededEntropy(7).words(1000)
    assert len(np.unique(words)) == 1000
    assert (words[:10] == SeededEntropy(7).words(10)).all()


@pytest.mark.parametrize("source", [SystemEntropy(), SeededEntropy(123456789)])
def test_no_copies_and_no_secrets_on_show(source: SystemEntropy | SeededEntropy) -> None:
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(EntropyError, match="same noise"):
            attempt(source)
    assert repr(source) == str(source) == f"<{type(source).__name__}>"
    kept = [value for value in vars(source).values() if isinstance(value, bytes | int | str)]
    assert kept in ([], [os.getpid()])


def test_a_seed_is_never_a_default() -> None:
    """Only code that names the seeded source gets it: no default, no variable, an option for it."""
    users = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SeededEntropy"
    }
    # `--seed` and `seed=` for synthetic data; simulations
    assert users <= {"api.py", "cli/run.py", "lab/compare/rehearsals.py", "lab/reproduce/items/coverage.py"}
    for path in SOURCE.glob("*.py"):
        assert "environ" not in path.read_text(encoding="utf-8")
    for function in (gedp.noise.rounded_gaussian, gedp.noise.Grid.noisy, gedp.noise.SumGrid.noisy):
        assert inspect.signature(function).parameters["entropy"].default is inspect.Parameter.empty
    with pytest.raises(TypeError):
        SeededEntropy()  # type: ignore[call-arg]
    for seed in ("1", 1.5, -1):
        with pytest.raises(DomainError, match="a whole number of 0 or more"):
            SeededEntropy(seed)  # type: ignore[arg-type]
    assert (SystemEntropy.kind, SeededEntropy.kind) == ("system", "seeded")
