"""States and territories of the United States by postal and FIPS code."""

from collections.abc import Iterable

from gedp.errors import Fault, FaultsError

# fmt: off
FIPS_OF_POSTAL = {
    "AL": "01", "AK": "02", "AZ": "04", "AR": "05", "CA": "06", "CO": "08", "CT": "09", "DE": "10",
    "DC": "11", "FL": "12", "GA": "13", "HI": "15", "ID": "16", "IL": "17", "IN": "18", "IA": "19",
    "KS": "20", "KY": "21", "LA": "22", "ME": "23", "MD": "24", "MA": "25", "MI": "26", "MN": "27",
    "MS": "28", "MO": "29", "MT": "30", "NE": "31", "NV": "32", "NH": "33", "NJ": "34", "NM": "35",
    "NY": "36", "NC": "37", "ND": "38", "OH": "39", "OK": "40", "OR": "41", "PA": "42", "RI": "44",
    "SC": "45", "SD": "46", "TN": "47", "TX": "48", "UT": "49", "VT": "50", "VA": "51", "WA": "53",
    "WV": "54", "WI": "55", "WY": "56", "PR": "72", "VI": "78",
}
# fmt: on
POSTAL_OF_FIPS = {fips: postal for postal, fips in FIPS_OF_POSTAL.items()}


def state_fips(names: Iterable[str]) -> tuple[str, ...]:
    """FIPS codes, ordered and each once, of states named by postal code (any case) or FIPS code."""
    codes, faults = find_states(names)
    if faults:
        raise FaultsError("states", faults)
    return codes


def find_states(names: Iterable[str]) -> tuple[tuple[str, ...], list[Fault]]:
    """The same, with a fault for every name that is neither instead of an error."""
    codes: set[str] = set()
    faults = []
    for name in names:
        key = name.strip().upper()
        fips = FIPS_OF_POSTAL.get(key, key.zfill(2))
        if fips in POSTAL_OF_FIPS:
            codes.add(fips)
        else:
            faults.append(Fault(f"state {name!r}", "no such state", "Use a postal code (NJ) or a FIPS code (34)"))
    return tuple(sorted(codes)), faults
