"""Which reader a source has, and what is rejected before anything of it is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gedp.confidential.engines.sources import TableSource, kinds
from gedp.confidential.engines.sources.arrow_files import ArrowFiles, ParquetFiles
from gedp.confidential.engines.sources.databases import FileDatabase
from gedp.confidential.engines.sources.files import Stamp, stamps_of, unread
from gedp.confidential.engines.sources.statistical import StatisticalFile
from gedp.confidential.engines.sources.texts import text_source
from gedp.confidential.engines.sources.workbooks import Workbook
from gedp.errors import Fault, FaultsError
from gedp.policy.reading import AS_WRITTEN, Reading

#: The kinds of files that keys of `[data]` are for.
_FOR = {
    "encoding": (kinds.TEXT,),
    "delimiter": (kinds.TEXT,),
    "sheet": (kinds.WORKBOOK,),
    "table": (kinds.DUCKDB, kinds.SQLITE),
    "query": (kinds.DUCKDB, kinds.SQLITE),
}


def open_files(name: str, reading: Reading = AS_WRITTEN, wanted: Sequence[str] = ()) -> TableSource:
    """The table in a file, or in several that a glob matches; of some kinds only the `wanted` columns are read."""
    stamps = stamps_of(name)
    if not stamps:
        raise FaultsError(name, [unread(name)])
    files = list(stamps)
    kinds.require_readable(name, files)
    kind = kinds.kind_of(files[0])
    _require_fitting(name, kind, files, reading)
    return _opened(name, kind, stamps, reading, wanted)


def fitting(reading: Reading, path: Path | None) -> Reading:
    """What of it can be said about a file like this one, or about a table in memory."""
    kind = None if path is None else kinds.kind_by_name(path)
    given = {key: value for key, value in reading.given().items() if kind in _FOR.get(key, (kind,))}
    return Reading(**given, joined=reading.joined, parts=reading.parts)


def _opened(
    name: str, kind: kinds.Kind, stamps: Mapping[Path, Stamp], reading: Reading, wanted: Sequence[str]
) -> TableSource:
    if kind is kinds.TEXT:
        return text_source(name, dict(stamps), reading)
    if kind is kinds.ARROW:
        return ArrowFiles(name, stamps, wanted)
    if kind is kinds.WORKBOOK:
        return Workbook(name, stamps, reading.sheet)
    if kind in kinds.STATISTICAL:
        return StatisticalFile(name, stamps, kind, wanted)
    if kind in (kinds.DUCKDB, kinds.SQLITE):
        return FileDatabase(name, stamps, kind, reading, wanted)
    return ParquetFiles(name, stamps)


def _require_fitting(name: str, kind: kinds.Kind, files: Sequence[Path], reading: Reading) -> None:
    """Rejects keys that would change nothing, and several files where one is meant."""
    given = reading.given()
    faults = [
        Fault(f"data.{key}", f"it is for {meant[0]}, and this is {kind}", "Remove it, or check the source")
        for key, meant in _FOR.items()
        if key in given and kind not in meant
    ]
    if len(files) > 1 and kind not in (kinds.PARQUET, kinds.TEXT, kinds.ARROW):
        faults.append(Fault("the table", f"{len(files):,} files match, and one can be read", "Name one file"))
    if faults:
        raise FaultsError(name, faults)
