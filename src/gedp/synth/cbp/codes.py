"""Industry and state codes as CBP, QWI and the imputed CBP write them.

CBP pads a NAICS prefix to six characters (`------`, `23----`, `236///`, `2361//`, `23611/`, `236116`) and
names a sector that spans several prefixes by its first one (`31----`). QWI writes `00`, `31-33` and `2361`.
Inside this package an industry is its digits alone: "" (all industries), "31", "236", "2361", "23611",
"236116".
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gedp.errors import Fault

SECTOR_OF_PREFIX = {"32": "31", "33": "31", "45": "44", "49": "48"}
LEVELS = (0, 2, 3, 4, 5, 6)

# fmt: off
POSTAL_TO_FIPS = {
    "AL": "01", "AK": "02", "AZ": "04", "AR": "05", "CA": "06", "CO": "08", "CT": "09", "DE": "10",
    "DC": "11", "FL": "12", "GA": "13", "HI": "15", "ID": "16", "IL": "17", "IN": "18", "IA": "19",
    "KS": "20", "KY": "21", "LA": "22", "ME": "23", "MD": "24", "MA": "25", "MI": "26", "MN": "27",
    "MS": "28", "MO": "29", "MT": "30", "NE": "31", "NV": "32", "NH": "33", "NJ": "34", "NM": "35",
    "NY": "36", "NC": "37", "ND": "38", "OH": "39", "OK": "40", "OR": "41", "PA": "42", "RI": "44",
    "SC": "45", "SD": "46", "TN": "47", "TX": "48", "UT": "49", "VT": "50", "VA": "51", "WA": "53",
    "WV": "54", "WI": "55", "WY": "56", "PR": "72", "VI": "78",
}
# fmt: on
FIPS_TO_POSTAL = {fips: postal for postal, fips in POSTAL_TO_FIPS.items()}


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


def industry_digits(codes: pa.Array | pa.ChunkedArray) -> Any:
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


def fips_states(names: Sequence[str], faults: list[Fault]) -> tuple[str, ...]:
    """States given by postal or FIPS code, as FIPS codes; what is neither goes to `faults`."""
    found: list[str] = []
    for name in names:
        upper = name.strip().upper()
        fips = POSTAL_TO_FIPS.get(upper, upper.zfill(2))
        if fips in FIPS_TO_POSTAL:
            found.append(fips)
        else:
            faults.append(
                Fault(f"state {name!r}", "is not a state", "Give a postal or FIPS code, such as NJ or 34")
            )
    return tuple(sorted(set(found)))
