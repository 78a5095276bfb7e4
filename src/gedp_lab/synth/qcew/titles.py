"""Names of states, counties and industries from the title files of the BLS, as code lists for a spec.

The files are those that the BLS publishes beside the QCEW: area titles (area_fips, area_title) and industry titles
(industry_code, industry_title).
"""

import calendar
import csv
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from gedp.csvfiles import write_rows
from gedp.errors import Fault, FaultsError
from gedp.files import write_text, writing
from gedp.folders import make_folder
from gedp.industries import sector_of
from gedp.policy.codelists import CodeList, CodeName, Codes

STATEWIDE = "000"
_ATTRIBUTES = """m{month}emp = {{ title = "Jobs in {name} {year}", unit = "jobs" }}"""
_WAGE = """wage = {{ title = "Wages paid in quarter {quarter} of {year}", unit = "US dollars" }}"""


def read_titles(path: Path, code: str, title: str) -> dict[str, str]:
    """The titles in a file of the BLS, by code."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return {row[code]: row[title].strip() for row in csv.DictReader(file, strict=True) if row[title].strip()}
    except (OSError, ValueError, KeyError, AttributeError, csv.Error):
        hint = f"Name the file of the BLS with the columns {code} and {title}"
        raise FaultsError(str(path), [Fault("the titles", "they cannot be read", hint)]) from None


def area_lists(titles: Mapping[str, str]) -> dict[str, CodeList]:
    """The code lists of states, and of counties in their state, from area titles."""
    areas = {code: title for code, title in titles.items() if re.fullmatch(r"\d{5}", code)}
    states = {code[:2]: title.partition(" -- ")[0] for code, title in areas.items() if code.endswith(STATEWIDE)}
    counties: dict[Codes, CodeName] = {
        (code[:2], code[2:]): CodeName(title.removesuffix(f", {states.get(code[:2], '')}"))
        for code, title in areas.items()
        if not code.endswith(STATEWIDE)
    }
    of_states: dict[Codes, CodeName] = {(code,): CodeName(title) for code, title in states.items()}
    return {"state": CodeList("state", (), of_states), "cnty": CodeList("cnty", ("state",), counties)}


def industry_list(titles: Mapping[str, str]) -> CodeList:
    """The code list of industries, from industry titles. Each code of a span such as 31-33 has the name of the span."""
    named = {code: re.sub(rf"^NAICS {re.escape(code)} ", "", title) for code, title in titles.items()}
    two_digits = [str(number) for number in range(11, 100)]
    single = {code: named[sector] for code in two_digits if (sector := sector_of(code)) in named and code not in named}
    return CodeList("naics", (), {(code,): CodeName(title) for code, title in sorted({**named, **single}.items())})


def read_lists(areas: Path | None, industries: Path | None, states: Collection[str] = ()) -> dict[str, CodeList]:
    """The code lists of all columns that these files have names for, of all states or some."""
    lists = {}
    if areas is not None:
        titles = read_titles(areas, "area_fips", "area_title")
        lists = area_lists({code: title for code, title in titles.items() if not states or code[:2] in states})
    if industries is not None:
        lists["naics"] = industry_list(read_titles(industries, "industry_code", "industry_title"))
    return lists


def write_labels(folder: Path, lists: Mapping[str, CodeList], year: int, quarter: int) -> Path:
    """Writes code lists and the lines of a spec that name them into a folder, and returns the file of these lines."""
    make_folder(folder)
    titles, lines = {"state": "State", "cnty": "County", "naics": "Industry"}, ["[labels]"]
    for column, title in titles.items():
        codes = f', codes = "{folder.name}/{column}.csv"' if column in lists else ""
        lines.append(f'{column} = {{ title = "{title}"{codes} }}')
    for month in (1, 2, 3):
        name = calendar.month_name[3 * quarter - 3 + month]
        lines.append(_ATTRIBUTES.format(month=month, name=name, year=year))
    lines.append(_WAGE.format(quarter=quarter, year=year))
    for column, each in lists.items():
        path = folder / f"{column}.csv"
        with writing(path), path.open("w", encoding="utf-8", newline="") as file:
            write_rows(each.rows(), file)
    write_text(folder / "labels.toml", "\n".join(lines) + "\n")
    return folder / "labels.toml"
