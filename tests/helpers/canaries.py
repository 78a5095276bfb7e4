"""Unmistakable values, how to find them wherever they turn up, and tables with them that are broken in many ways."""

import datetime
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.helpers.runs import small_table, write_spec

CANARY = 918_273_645_546
DIGITS = str(CANARY)[:9]
ROWS = 40
#: In memory: whole numbers and floats of 64 bits, as they are.
PACKED = (struct.pack("<q", CANARY), struct.pack("<d", float(CANARY)))


def sings(text: object) -> bool:
    """Whether a text, whatever separates its digits, or bytes hold the first 9 digits of a canary."""
    if isinstance(text, bytes):
        return any(packed in text for packed in PACKED) or sings(text.decode("latin-1"))
    plain = str(text)
    for separator in (",", ".", "_", "\u2009", "'"):
        plain = plain.replace(separator, "")
    return DIGITS in plain


def column(name: str, values: pa.Array | None) -> pa.Table:
    """The table with a canary in each county, alone in its county and cell, so that sums sing like records.

    One of its columns is put in the place of another.
    """
    table = small_table(ROWS)
    values_of = [CANARY + i if i < 3 else 0 for i in range(ROWS)]
    table = table.set_column(3, "emp", pa.array(values_of))
    table = table.set_column(4, "wage", pa.array([float(value) for value in values_of]))
    return table.set_column(table.column_names.index(name), name, values if values is not None else table[name])


def with_canaries() -> pa.Table:
    return column("emp", None)


def emp(*first: object, kind: pa.DataType | None = None) -> Callable[[Path], None]:
    """A column emp that starts with these values and goes on with canaries of their type."""

    def write(folder: Path) -> None:
        rest: list[object] = [CANARY] * (ROWS - len(first))
        if isinstance(next((value for value in first if value is not None), None), str):
            rest = [str(value) for value in rest]
        pq.write_table(column("emp", pa.array([*first, *rest], kind)), folder / "t.parquet")

    return write


def typed(value: object) -> Callable[[Path], None]:
    return lambda folder: pq.write_table(column("emp", pa.array([value] * ROWS)), folder / "t.parquet")


def other(name: str, values: list[object]) -> Callable[[Path], None]:
    return lambda folder: pq.write_table(column(name, pa.array(values)), folder / "t.parquet")


def damaged(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        pq.write_table(with_canaries(), folder / "t.parquet", compression="none", use_dictionary=False)
        content = (folder / "t.parquet").read_bytes()
        assert sings(content)
        (folder / "t.parquet").write_bytes(change(content))

    return write


def csv(text: str | bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        content = text if isinstance(text, bytes) else text.encode()
        (folder / "t.csv").write_bytes(content)
        path = folder / "spec.toml"
        path.write_text(path.read_text(encoding="utf-8").replace("t.parquet", "t.csv"), encoding="utf-8")

    return write


def spec(*changes: tuple[str, str]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        pq.write_table(with_canaries(), folder / "t.parquet")
        write_spec(folder, *changes)

    return write


def unmapped(folder: Path) -> None:
    codes = ["1111", str(CANARY)] * (ROWS // 2)
    pq.write_table(column("naics", pa.array(codes)), folder / "t.parquet")
    (folder / "map.csv").write_text("1111,A\n", encoding="utf-8")
    write_spec(folder, ("prefix = 2", 'map = "map.csv"'))


def mixed_glob(folder: Path) -> None:
    pq.write_table(with_canaries(), folder / "part-0.parquet")
    pq.write_table(column("emp", pa.array([f"{CANARY}x"] * ROWS)), folder / "part-1.parquet")
    write_spec(folder, ("t.parquet", "part-*.parquet"))


def csv_glob(folder: Path) -> None:
    (folder / "part-0.csv").write_text(HEADER + LINE, encoding="utf-8")
    (folder / "part-1.csv").write_text(f"k9,001,1111,{CANARY + 1},{CANARY}\n" + LINE, encoding="utf-8")
    write_spec(folder, ("t.parquet", "part-*.csv"))


HEADER = "key,cnty,naics,emp,wage\n"
LINE = f"k0,001,1111,{CANARY},{CANARY}\n"
LINES = "".join(f"k{i},001,1111,{CANARY + i},{CANARY}\n" for i in range(30))

#: What is wrong with the table, and how to make it so in a folder that has a sound spec.
BROKEN: Mapping[str, Callable[[Path], None]] = {
    "nulls": emp(None, None),
    "negatives": emp(-CANARY),
    "text in numbers": emp(f"{CANARY}x", "5"),
    "NaN": emp(float("nan"), float(CANARY), kind=pa.float64()),
    "infinities": emp(float("inf"), float("-inf"), float(CANARY), kind=pa.float64()),
    "no whole number": emp(CANARY + 0.5, kind=pa.float64()),
    "wage in thirds of cents": other("wage", [CANARY / 700.0] * ROWS),
    "sums beyond the range": emp(CANARY * 9000, CANARY * 9000),
    "beyond 64 bits": emp(str(CANARY) * 3),
    "beyond all digits": emp(str(CANARY) * 40),
    "ids repeated": other("key", [str(CANARY)] * ROWS),
    "ids null": other("key", [None, *map(str, range(ROWS - 1))]),
    "codes null": other("cnty", [None, *["001"] * (ROWS - 1)]),
    "codes not in the map": unmapped,
    "a column of dates": typed(datetime.date(2024, 1, 1)),
    "a column of structures": typed({"value": CANARY}),
    "a column of lists": typed([CANARY, CANARY]),
    "a column of bytes": typed(str(CANARY).encode()),
    "a column of nothing": typed(None),
    "a column that is absent": spec(('public = ["cnty", "naics"]', 'public = ["cnty", "naics", "zip"]')),
    "zeros under a logarithm": lambda folder: (emp(0, CANARY)(folder), write_spec(folder, ("sqrt", "log")))[0],
    "no grid for so little noise": spec(("gamma = 0.5", "gamma = 0.0000001")),
    "no rows": lambda folder: pq.write_table(with_canaries().slice(0, 0), folder / "t.parquet"),
    "Parquet cut off": damaged(lambda content: content[: len(content) // 2]),
    "Parquet with a page gone": damaged(lambda content: content.replace(PACKED[0], b"\xff" * 8)[:900] + content[908:]),
    "Parquet with a byte lost": damaged(lambda content: content[:60] + content[61:]),
    "Parquet with another end": damaged(lambda content: content[:-68] + b"\x07" * 60 + content[-8:]),
    "no Parquet at all": damaged(lambda _: f"PAR1 {CANARY} PAR1".encode()),
    "an empty file": damaged(lambda _: b""),
    "files of a glob that differ": mixed_glob,
    "CSV without header": csv(LINES),
    "CSV with one long line": csv(HEADER + LINES + f"k,001,1111,{CANARY},{CANARY},{CANARY}\n"),
    "CSV with long lines": csv(HEADER + LINES.replace("\n", f",{CANARY}\n")),
    "CSV with one short line": csv(HEADER + LINES + f"{CANARY},001\n"),
    "CSV with a title": csv(f"Establishments {CANARY}\n" + HEADER + LINES),
    "CSV with an open quote": csv(HEADER + LINES + f'k,"001,1111,{CANARY},{CANARY}\n'),
    "CSV that is not UTF-8": csv((HEADER + LINES).encode() + f"k\xe9,001,1111,{CANARY},5\n".encode("latin-1")),
    "CSV with zero bytes": csv((HEADER + LINES).encode() + f"k,001,1111,\0{CANARY}\0,5\n".encode()),
    "CSV with other separators": csv((HEADER + LINES).replace(",", ":")),
    "CSV with thousands separated": csv(HEADER + f'k,001,1111,"{CANARY:,}",5\n'),
    "CSV with a header twice": csv(HEADER + LINES + HEADER),
    "CSV of a glob without header": csv_glob,
    "CSV of nothing": csv(""),
}
