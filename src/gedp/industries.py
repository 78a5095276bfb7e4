"""The industry tree of the QCEW: NAICS codes, sectors, supersectors and domains, and who is whose parent.

A node of the tree is named by its code alone, since codes of different levels never coincide: "10" is the
total, three and four digits beginning with 10 are domains and supersectors (no NAICS code begins with 10),
two digits or a span such as "31-33" a sector, three to six digits NAICS.
"""

# The BLS supersector of every sector (high-level industry crosswalk).
SUPERSECTOR_OF_SECTOR = {
    "11": "1011",
    "21": "1011",
    "23": "1012",
    "31-33": "1013",
    "22": "1021",
    "42": "1021",
    "44-45": "1021",
    "48-49": "1021",
    "51": "1022",
    "52": "1023",
    "53": "1023",
    "54": "1024",
    "55": "1024",
    "56": "1024",
    "61": "1025",
    "62": "1025",
    "71": "1026",
    "72": "1026",
    "81": "1027",
    "92": "1028",
    "99": "1029",
}

# Sectors that span several two-digit codes.
_SPANS = {
    "31": "31-33",
    "32": "31-33",
    "33": "31-33",
    "44": "44-45",
    "45": "44-45",
    "48": "48-49",
    "49": "48-49",
}

NAICS = "naics"  # a public column of this name can be grouped by these without a map file
INDUSTRY_LEVELS = {"domain": 1, "supersector": 2, "sector": 3}  # their depths

TOTAL = "10"
DEPTHS = 8  # total, domain, supersector, sector, 3, 4, 5, 6 digits


def sector_of(naics: str) -> str | None:
    """The sector of a NAICS code of two digits or more, spans written as the BLS does; None if unknown."""
    sector = _SPANS.get(naics[:2], naics[:2])
    return sector if sector in SUPERSECTOR_OF_SECTOR else None


def supersector_of(naics: str) -> str | None:
    """The supersector of a NAICS code."""
    return SUPERSECTOR_OF_SECTOR.get(sector_of(naics) or "")


def depth_of(code: str) -> int | None:
    """0 for the total down to 7 for six digits (aggregation levels 71 to 78); None for what is not a code."""
    if code in SUPERSECTOR_OF_SECTOR:
        return 3
    if not (code.isascii() and code.isdigit()):
        return None
    if code.startswith("10"):
        if code in ("10", "101", "102"):
            return len(code) - 2
        return 2 if code in SUPERSECTOR_OF_SECTOR.values() else None
    if 3 <= len(code) <= 6 and sector_of(code) is not None:
        return len(code) + 1
    return None


def parent_of(code: str) -> str | None:
    """The code one level up; None for the total and for what is not a code."""
    depth = depth_of(code)
    if depth is None or depth == 0:
        return None
    if depth <= 2:
        return code[:-1]
    if depth == 3:
        return SUPERSECTOR_OF_SECTOR[code]
    return sector_of(code) if depth == 4 else code[:-1]


def ancestor_of(code: str, depth: int) -> str | None:
    """The code at that depth that a code belongs to, itself included; None if there is none.

    Of what only begins like a NAICS code (longer ones, 31 of 31-33), the sector and what is above it.
    """
    found: str | None = code if depth_of(code) is not None else sector_of(code)
    while found is not None and (depth_of(found) or 0) > depth:
        found = parent_of(found)
    return found if found is not None and depth_of(found) == depth else None
