"""What a plan is made from: public columns, and an earlier release or a public table; never confidential values."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray
from gedp.confidential.engines import ArrowStream, in_order
from gedp.confidential.engines.choice import engine_like
from gedp.confidential.engines.sources.files import files_at
from gedp.confidential.public import keys_of, read_keys
from gedp.confidential.sealing import sealed
from gedp.errors import Fault, FaultsError, Refused
from gedp.ledger import Ledger, ledgers_of
from gedp.passes import Reads
from gedp.planning.earlier import from_release
from gedp.planning.establishments import Establishments, Sizes, SizesFrom, assumed, resembling
from gedp.policy import Spec
from gedp.release import ReleaseFolder, read_release


def establishments_for(
    spec: Spec, like: str | Path | ArrowStream | ReleaseFolder | None, table: ArrowStream | None
) -> Establishments:
    """The establishments that a plan is about, by the public columns of their table, and as large as those of `like`.

    Without a table they are those of `like`; without `like`, sizes are assumed as the spec says.
    """
    alike = None if like is None else _alike(spec, like)
    has_table = spec.data.is_database or bool(spec.data.source is not None and files_at(spec.source_path()))
    if table is None and not has_table and alike is not None:
        return alike
    keys, groups_from = read_keys(spec, table), "the public columns of the table"
    return assumed(keys, spec, groups_from) if alike is None else resembling(keys, groups_from, alike)


def _alike(spec: Spec, like: str | Path | ArrowStream | ReleaseFolder) -> Establishments:
    if isinstance(like, ReleaseFolder):
        return from_release(spec, like)
    if not isinstance(like, str | Path):
        return read_like(spec, like)
    return from_release(spec, read_release(like)) if Path(like).is_dir() else read_like(spec, Path(like))


@sealed
def read_like(spec: Spec, source: Path | ArrowStream) -> Establishments:
    """The establishments of a table that is not confidential, with their values."""
    if isinstance(source, Path):
        _require_not_confidential(spec, source)
    engine = engine_like(spec, source)
    missing = [name for name in spec.asked if name not in engine.columns()]
    if missing:
        hint = "Give a table with the public columns and the attributes of the spec"
        raise FaultsError(engine.name, [Fault(f"column {name}", "there is no such column", hint) for name in missing])
    keys = keys_of(spec, engine)
    batches = [batch.plain for batch in in_order(engine).batches(Reads(plain=spec.asked))]
    table = pa.Table.from_batches(batches)
    sizes, faults = {}, []
    for name in spec.asked:
        values = _numbers(table[name])
        if values is None:
            faults.append(Fault(f"column {name}", "some of its values are no numbers", "Give a number in every row"))
        else:
            sizes[name] = Sizes(values)
    if faults:
        raise FaultsError(engine.name, faults)
    said = f"those of {engine.name}"
    return Establishments(keys, sizes, said, SizesFrom(said))


def _numbers(column: pa.ChunkedArray) -> FloatArray | None:
    """The values as floats; None where one is missing, is not finite, or is no number."""
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowException:
        return None
    return values if np.isfinite(values).all() else None


def _require_not_confidential(spec: Spec, path: Path) -> None:
    """Rejects the table of the spec, unless it is synthetic, and any table that a ledger knows as confidential."""
    files = files_at(path)
    own = files_at(spec.source_path()) if spec.data.source else []
    is_own = any(file.samefile(other) for file in files for other in own)
    is_declared = is_own and spec.data.synthetic
    if (is_own and not is_declared) or any(_knows_as_confidential(each, is_declared) for each in ledgers_of(files)):
        raise Refused(
            f"{path} is confidential: a plan is made from what is public. Name an earlier release or a public or "
            "synthetic table, or none, and public columns are counted"
        )


def _knows_as_confidential(ledger: Path, is_declared: bool) -> bool:
    """Whether there is a release from these data that does not call them synthetic; or none, and nobody else does."""
    releases = Ledger.open(ledger, create=False).state().releases
    return any(not release.reserve.synthetic for release in releases) or not (releases or is_declared)
