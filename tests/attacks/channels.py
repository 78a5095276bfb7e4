"""Other channels than the noise: may an attacker who looks at everything in a release tell two close worlds apart?

Many releases of two close worlds are made at a tiny μ, with which the noise alone hides the difference. Everything that
can be seen in them becomes a feature: names, sizes and modes of files, row groups, encodings and order of Parquet
columns, every entry of the JSON files, the words of the report and of the program's messages, and every number at its
place. If chance does not explain how a feature is distributed over the worlds, it is a channel.
"""

import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
from scipy.stats import hypergeom

from tests.helpers.runs import all_files, gedp

Features = Mapping[str, str | float]
Rearrangement = Callable[[pa.Table, int], pa.Table]  # of the rows of a published table of a world

#: A correct program raises an alarm in one of two million audits of all layouts.
FALSE_ALARM = 5e-7
#: No layout takes more tests than this, which is checked.
MOST_TESTS = 20_000

SPEC = """
[data]
source = "{source}"
{id}
public = ["county", "industry"]
synthetic = true

[attributes]
emp = {{ psi = "sqrt", gamma = 1 }}
wage = {{ psi = "sqrt", gamma = 0.1 }}

[budget]
mu = 0.01

[[queries]]
name = "identity"
by = "establishment"
mu = 0.005

[[queries]]
name = "cells"
by = ["county", "industry"]
mu = 0.004

[[queries]]
name = "total"
by = []
mu = 0.003
"""


@dataclass(frozen=True)
class Layout:
    """How the confidential table happens to be stored."""

    name: str
    order: tuple[str, ...]
    falling: bool = False
    has_ids: bool = True
    suffix: str = "parquet"
    files: int = 1
    releases: int = 24  # of each world: a feature that has one value in each is then found with p = 6e-14


WITHIN = ("county", "industry", "emp")

LAYOUTS = (
    Layout("ordered by id", ("id",), releases=60),
    Layout("rising values", ("emp",)),
    Layout("falling values", ("emp",), falling=True),
    Layout("rising values within public columns", WITHIN),
    Layout("rising values, no ids", ("emp",), has_ids=False),
    Layout("rising values within public columns, no ids", WITHIN, has_ids=False),
    Layout("rising values, CSV", ("emp",), suffix="csv"),
    Layout("falling values, CSV, no ids", ("emp",), falling=True, has_ids=False, suffix="csv"),
    Layout("a file for each size class", ("emp",), files=3),
    Layout("a file for each size class, CSV, no ids", ("emp",), has_ids=False, suffix="csv", files=3),
)


@dataclass(frozen=True)
class Channel:
    """A feature whose distribution differs between the worlds."""

    feature: str
    p_value: float


def world(number: int) -> pa.Table:
    """The first establishment has 100 or 121 employees, which puts it before or after the next three.

    Every other wage is far from the next, so that rows which change places show it even through the noise.
    """
    rows, chance = 24, np.random.default_rng(3)
    wages = (10 ** chance.permutation(np.linspace(4, 14, rows))).astype(np.int64)
    wages[0] = 1_000_200 if number else 1_000_000
    return pa.table(
        {
            "id": [f"e{place:02}" for place in chance.permutation(rows)],
            "county": [("001", "003")[place // 4 % 2] for place in range(rows)],
            "industry": [("22", "22", "33", "22")[place % 4] for place in range(rows)],
            "emp": [121 if number else 100, 105, 110, 115, *range(1_000, 1_000 * (rows - 3), 1_000)],
            "wage": wages,
        }
    )


def stored(layout: Layout, number: int) -> pa.Table:
    """A world in the order of its file."""
    return world(number).sort_by([(key, "descending" if layout.falling else "ascending") for key in layout.order])


def write_world(layout: Layout, number: int, folder: Path) -> None:
    """The table and its spec. With several files, an establishment is in the one of its size class."""
    table = stored(layout, number)
    classes = np.searchsorted([112, 10_000], table["emp"].to_numpy()) if layout.files > 1 else np.zeros(len(table))
    folder.mkdir()
    for size_class in np.unique(classes):
        path = folder / f"t{size_class:.0f}.{layout.suffix}"
        part = table.take(np.flatnonzero(classes == size_class))
        (pq.write_table if layout.suffix == "parquet" else pa.csv.write_csv)(part, path)
    spec = SPEC.format(source=f"t*.{layout.suffix}", id='id = "id"' if layout.has_ids else "")
    (folder / "spec.toml").write_text(spec, encoding="utf-8")


def features_of(folder: Path) -> Iterator[tuple[str, str | float]]:
    """Everything that can be seen in a release."""
    files = sorted(all_files(folder))
    yield "names of files", " ".join(path.relative_to(folder).as_posix() for path in files)
    for path in files:
        name = path.relative_to(folder).as_posix()
        yield f"{name}: size", float(path.stat().st_size)
        yield f"{name}: mode", oct(path.stat().st_mode)
        match path.suffix:
            case ".parquet":
                yield from _of_parquet(name, path)
            case ".csv":
                yield from _of_table(name, pa.csv.read_csv(path))
            case ".json":
                yield from _of_json(name, json.loads(path.read_text(encoding="utf-8")))
            case _:
                yield f"{name}: words", _words(path.read_text(encoding="utf-8"))


def _of_parquet(name: str, path: Path) -> Iterator[tuple[str, str | float]]:
    file = pq.ParquetFile(path)
    yield f"{name}: schema", str(file.schema_arrow)
    yield f"{name}: row groups", str([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
    for column in range(file.metadata.num_columns):
        chunk = file.metadata.row_group(0).column(column)
        place = f"{name}: column {chunk.path_in_schema}"
        yield f"{place}: encodings", f"{chunk.encodings} {chunk.has_dictionary_page} {chunk.compression}"
        yield f"{place}: bytes", float(chunk.total_uncompressed_size)
        yield f"{place}: compressed", float(chunk.total_compressed_size)
    yield from _of_table(name, file.read())


def _of_table(name: str, table: pa.Table) -> Iterator[tuple[str, str | float]]:
    """The order of its texts, and what is in each row of each column."""
    yield f"{name}: columns", " ".join(table.column_names)
    texts = [column for column in table.schema.names if not pa.types.is_floating(table.schema.field(column).type)]
    yield f"{name}: order", _digest(str(table.select(texts).to_pylist()))
    for column in table.column_names:
        for row, value in enumerate(table[column].to_pylist()):
            yield f"{name}: {column} in row {row}", value if isinstance(value, float) else str(value)


def _of_json(name: str, value: Any) -> Iterator[tuple[str, str | float]]:
    """Every entry under its path."""
    if isinstance(value, dict):
        yield f"{name}: keys", " ".join(value)
        value = value.items()
    elif isinstance(value, list):
        yield f"{name}: length", str(len(value))
        value = enumerate(value)
    else:
        yield name, value if isinstance(value, float) else str(value)
        return
    for key, part in value:
        yield from _of_json(f"{name}/{key}", part)


def _words(text: str) -> str:
    """The text without its numbers, which are noisy."""
    return _digest(re.sub(r"[-−+]?[0-9][0-9.,]*(e[-+]?[0-9]+)?", "#", text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def channels(seen: Sequence[tuple[int, Features]]) -> list[Channel]:
    """The features by which the worlds differ, beyond chance. `seen` has for each release its world and its features.

    For each value of a feature, and for numbers each of three thresholds, Fisher's exact test of the releases that have
    it against those that have not.
    """
    of_world = np.array([number for number, _ in seen])
    tests: list[tuple[str, int, int]] = []  # feature, releases that have it, of which in the second world
    for feature in sorted({name for _, features in seen for name in features}):
        values = [features.get(feature, "absent") for _, features in seen]
        tests += [(feature, int(has.sum()), int(of_world[has].sum())) for has in _splits(values)]
    assert len(tests) <= MOST_TESTS, len(tests)
    having, of_second = (np.array([test[place] for test in tests]) for place in (1, 2))
    chance = hypergeom(len(seen), of_world.sum(), having)
    p_values = 2 * np.minimum(chance.cdf(of_second), chance.sf(of_second - 1))
    limit = FALSE_ALARM / len(LAYOUTS) / MOST_TESTS
    least: dict[str, float] = {}
    for (feature, *_), p_value in zip(tests, p_values, strict=True):
        if p_value < limit:
            least[feature] = min(float(p_value), least.get(feature, 1.0))
    return [Channel(feature, p_value) for feature, p_value in least.items()]


def _splits(values: Sequence[str | float]) -> Iterator[npt.NDArray[np.bool_]]:
    """Which releases have which value, for values that some but not all have; or are above the quartiles."""
    if all(isinstance(value, float) for value in values):
        numbers = np.nan_to_num(np.array(values, dtype=np.float64), nan=np.inf)
        ranked = np.sort(numbers)
        splits = [numbers > ranked[len(ranked) * quarter // 4 - 1] for quarter in (1, 2, 3)]
    else:
        counted = Counter(map(str, values))
        splits = [np.array([str(value) == one for value in values]) for one, times in counted.items() if times > 1]
    yield from (has for has in splits if has.any() and not has.all())


def audit_layout(
    layout: Layout, rearranged: Rearrangement | None = None, *, answers_only: bool = False
) -> list[Channel]:
    """Releases of both worlds in a random sequence, and what tells them apart.

    `rearranged` changes the order of the published establishments before the attacker sees them. With `answers_only`
    there are no microdata and no report, which see nothing but the answers and take most of the time.
    """
    options = ["--answers-only"] if answers_only else []
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "first", Path(name) / "second"]
        for number, folder in enumerate(folders):
            write_world(layout, number, folder)
        sequence = np.random.default_rng().permutation(np.repeat([0, 1], layout.releases)).tolist()
        return channels([(number, _release(folders[number], number, rearranged, options)) for number in sequence])


def _release(folder: Path, number: int, rearranged: Rearrangement | None, options: Sequence[str]) -> Features:
    ended = gedp("run", "spec.toml", *options, folder=folder)
    assert ended.code == 0, ended.err
    out = folder / "out"
    if rearranged:
        for path in (out / "identity.parquet", out / "microdata.parquet"):
            pq.write_table(rearranged(pq.read_table(path), number), path)
    features = {"messages": _words(ended.out + ended.err), **dict(features_of(out))}
    shutil.rmtree(out)
    return features


def in_public_order(table: pa.Table, number: int) -> pa.Table:
    """Rows by their ids, or by public columns with ties in random order: nothing confidential is in it."""
    shuffled = table.take(np.random.default_rng().permutation(len(table)))
    return shuffled.sort_by([(key, "ascending") for key in ("id", "county", "industry") if key in table.column_names])


def in_order_of_values(table: pa.Table, number: int) -> pa.Table:
    """Rows with ids in the order of the confidential values."""
    ids = world(number).sort_by("emp")["id"]
    return table.take(pa.compute.index_in(ids, table["id"].combine_chunks()))
