"""Industry codes as CBP, QWI and the imputed CBP write them.

CBP pads a NAICS prefix to six characters (`------`, `23----`, `236///`, `2361//`, `23611/`, `236116`) and
names a sector that spans several prefixes by its first one (`31----`). QWI writes `00`, `31-33` and `2361`.
Inside this package an industry is its digits alone: "" (all industries), "31", "236", "2361", "23611",
"236116".
"""

from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

SECTOR_OF_PREFIX = {"32": "31", "33": "31", "45": "44", "49": "48"}
LEVELS = (0, 2, 3, 4, 5, 6)

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)


def sector_of(code: str) -> str:
    """The sector of an industry by CBP's names: "311" and "336" are both in "31"."""
    prefix = code[:2]
    return SECTOR_OF_PREFIX.get(prefix, prefix)


def parent_of(code: str) -> str:
    """The industry one level up; a sector's parent is "" (all industries)."""
    if len(code) == 3:
        return sector_of(code)
    return "" if len(code) <= 2 else code[:-1]


def padded(code: str) -> str:
    """Digits as CBP prints them: "" -> "------", "31" -> "31----", "2361" -> "2361//"."""
    return code.ljust(6, "-" if len(code) <= 2 else "/")


def qwi_code(code: str) -> str:
    """Digits as QWI prints them: "" -> "00", "31" -> "31-33"."""
    return {"": "00", "31": "31-33", "44": "44-45", "48": "48-49"}.get(code, code)


def industry_digits(codes: Column) -> Column:
    """Digits of CBP's, QWI's or bare codes; null where a code is none of those."""
    well_formed = pc.match_substring_regex(codes, r"^(-{6}|00|\d{2}(-{4}|-\d{2})?|\d{3,5}/*|\d{6})$")
    digits = pc.replace_substring_regex(codes, r"[-/].*$", "")
    digits = pc.if_else(pc.equal(digits, "00"), "", digits)
    return pc.if_else(well_formed, digits, pa.scalar(None, pa.string()))


def sector_sql(column: str) -> str:
    """SQL for the sector of the digits in `column`."""
    cases = " ".join(f"WHEN '{prefix}' THEN '{sector}'" for prefix, sector in SECTOR_OF_PREFIX.items())
    return f"CASE substr({column}, 1, 2) {cases} ELSE substr({column}, 1, 2) END"


def parent_sql(column: str) -> str:
    """SQL for the parent industry of the digits in `column`."""
    return (
        f"CASE length({column}) WHEN 2 THEN '' WHEN 3 THEN {sector_sql(column)} "
        f"ELSE substr({column}, 1, length({column}) - 1) END"
    )
