"""What a table holds, in one pass over its rows: sums of hashes that no order, type, name or division changes.

The hashes are fast ones, without a key. They find the same rows again and need not withstand somebody who makes up
rows: whoever has the table need only change a value to get another sum. Nothing of them is stored: see
`gedp.ledger.contents`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gedp.accounting.composition import exact
from gedp.arrays import FloatArray, IntArray
from gedp.confidential.engines import Engine
from gedp.ledger.contents import PLACES, TELLING, TableContent
from gedp.passes import Batch, Key, PartialResults, Reads
from gedp.policy import Spec

Hashes = npt.NDArray[np.uint64]

_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_LANES = tuple(np.uint64(n) for n in (0x243F6A8885A308D3, 0x13198A2E03707344))  # sums of 128 bits
_AMOUNT = np.uint64(0xA4093822299F31D0)  # tells a number from a text
_WORD = 8  # bytes of a text that are hashed at a time

_found: WeakKeyDictionary[Engine, dict["RowHashes", TableContent]] = WeakKeyDictionary()


def content_of(engine: Engine, spec: Spec) -> TableContent:
    """What a sound table holds in the columns of a spec. An engine goes over its rows for that once."""
    known_by = (spec.data.id,) if spec.data.id else tuple(spec.data.public)
    amounts = sorted({(a.column, exact(a.unit)) for a in spec.policy.attributes.values()})
    run = RowHashes(known_by, tuple(sorted({*spec.data.public, *known_by})), tuple(dict(amounts).items()))
    found = _found.setdefault(engine, {})
    if run not in found:
        found[run] = _content(engine.reduce(run), run, has_ids=bool(spec.data.id))
    own = _of_its_period(spec)
    return replace(found[run], columns={name: sum_ for name, sum_ in found[run].columns.items() if name in own})


def _of_its_period(spec: Spec) -> set[str]:
    """The columns of attributes that do not only repeat values of other periods: these tell no table from another."""
    period, attributes = spec.data.period, spec.policy.attributes.values()
    return {a.column for a in attributes if period is None or period in a.periods(period)}


@dataclass(frozen=True, repr=False)
class RowHashes:
    """The pass: sums of hashes over rows and over columns of amounts, and the smallest hashes of establishments."""

    known_by: tuple[str, ...]  # what tells establishments apart
    texts: tuple[str, ...]  # these, and all other public columns
    amounts: tuple[tuple[str, Fraction], ...]

    @property
    def reads(self) -> Reads:
        """Amounts in their units, and texts as they are."""
        return Reads(dict(self.amounts), self.texts)

    def __call__(self, batch: Batch) -> PartialResults:
        """The sums of these rows."""
        texts = {name: _mixed(_hashed(batch.plain.column(name))) for name in self.texts}
        amounts = {name: _mixed(_numbers(batch.amounts[name], unit) ^ _AMOUNT) for name, unit in self.amounts}
        rows = np.zeros(PLACES, dtype=np.int64)
        rows[0] = batch.rows
        whole = _added(batch.rows, [*texts.values(), *amounts.values()])
        added: dict[Key, IntArray] = {"rows": rows, "whole": _sums(whole)}
        for name, hashes in amounts.items():
            added["sum", name] = _sums(hashes)
            added["held", name] = np.bincount(hashes.astype(np.int64) & (PLACES - 1), minlength=PLACES)
        who = _mixed(_added(batch.rows, [texts[name] for name in self.known_by]))
        return PartialResults(added, lowest={"who": _least(who)})


def _content(found: PartialResults, run: RowHashes, *, has_ids: bool) -> TableContent:
    rows = int(found.added["rows"][0])
    enough = max(2, min(TELLING, rows))

    def column(name: str) -> bytes:
        telling = np.count_nonzero(found.added["held", name]) >= enough
        return _bytes(found.added["sum", name]) if telling else b""

    sketch = [int(least) if np.isfinite(least) else None for least in found.lowest["who"]]
    columns = {name: column(name) for name, _ in run.amounts}
    return TableContent(rows, _bytes(found.added["whole"]), columns, sketch, has_ids)


def _bytes(sums: IntArray) -> bytes:
    return sums[: len(_LANES)].astype("<i8").tobytes()


def _added(rows: int, columns: Sequence[Hashes]) -> Hashes:
    """Hashes of rows, whatever the order of their columns."""
    total = np.zeros(rows, dtype=np.uint64)
    for hashes in columns:
        total += hashes
    return total


def _sums(hashes: Hashes) -> IntArray:
    """Sums over the rows, modulo 2^64 each."""
    sums = np.zeros(PLACES, dtype=np.uint64)
    for place, lane in enumerate(_LANES):
        sums[place] = np.add.reduce(_mixed(hashes ^ lane))
    return sums.view(np.int64)


def _least(hashes: Hashes) -> FloatArray:
    """The smallest hash of every class, to 53 bits."""
    least = np.full(PLACES, np.inf)
    np.minimum.at(least, (hashes & np.uint64(PLACES - 1)).astype(np.int64), (hashes >> np.uint64(11)).astype(float))
    return least


def _mixed(hashes: Hashes) -> Hashes:
    """Hashes of hashes: the finalizer of SplitMix64."""
    mixed = hashes + _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _numbers(units: IntArray, unit: Fraction) -> Hashes:
    """The bits of the number that so many units are, the same whatever the unit: it is rounded once at most."""
    values = units * float(unit.numerator) / float(unit.denominator)
    return np.asarray(values, dtype=np.float64).view(np.uint64)


def _hashed(column: pa.Array) -> Hashes:
    """Hashes of texts, taken a word at a time."""
    texts = _texts(column)
    _, places, content = (buffer.to_pybytes() if buffer else b"" for buffer in texts.buffers())
    ends = np.frombuffer(places, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    starts, lengths = ends[:-1], np.diff(ends)
    padded = np.frombuffer(content + bytes(_WORD), dtype=np.uint8)
    words = np.ndarray((len(content) + 1,), "<u8", padded, strides=(1,))  # one that begins at every byte
    hashes = _mixed(lengths.astype(np.uint64))
    rows = np.flatnonzero(lengths)
    for begin in range(0, int(lengths.max(initial=0)), _WORD):
        rows = rows[lengths[rows] > begin]
        unused = np.uint64(8) * np.maximum(begin + _WORD - lengths[rows], 0).astype(np.uint64)
        word = (words[starts[rows] + begin] << unused) >> unused
        hashes[rows] = _mixed(hashes[rows] ^ word)
    return hashes


def _texts(column: pa.Array) -> pa.Array:
    """A public column as texts, the same for every type that holds the same codes."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = _whole(column)
    return pc.utf8_ltrim(pc.utf8_trim_whitespace(column.cast(pa.large_string())), "0")


def _whole(column: pa.Array) -> pa.Array:
    """Floats as whole numbers, if all of them are."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
