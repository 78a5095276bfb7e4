"""Every kind of query under either accounting, before everything that reads a release: it works, or says what does not.

`docs/kinds.md` has what is expected, as two tables. Both are read here, so that neither page nor program can drift.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential.engines.choice import engine_of
from gedp.errors import GedpError
from gedp.microdata import Microdata
from gedp.planning.plan import Plan
from gedp.policy import COUNT
from gedp_lab.compare.plan import ComparisonPlan, make_plan
from gedp_lab.compare.replicates import compare_plan
from gedp_lab.evaluate import evaluate
from gedp_lab.evaluate.groups import ANSWERS, MICRODATA
from tests.helpers.builder import CASES, KINDS, SECTIONS, rehearsed, spec_of, table_of
from tests.helpers.desks import desk_of, serving
from tests.helpers.passes import DividedEngine

By = tuple[str, ...]
TABLE = table_of(24)
EDGES = KINDS["classes"]["classes"]["size"]["edges"]
SIZES = ["0", "1-99", "100-999", "1000-4999", "5000+"]
CELLS = ("naics2", "cnty")
#: What each kind of query is for: figures by their groupings.
OWN: dict[str, dict[By, list[str]]] = {
    "sums": {CELLS: ["emp", "wage"]},
    "classes": {("cnty", "size"): [COUNT], ("size", "naics2"): [COUNT, "wage", "emp"]},
    "combinations": {CELLS: ["cost"]},
    "split": {CELLS: ["profit_gain", "profit_loss", "profit"]},
    "signed": {CELLS: ["profit"]},
}
#: The queries by classes and for combinations, which have sums beside them.
QUERIES = {"classes": ["sizes", "wages"], "combinations": ["costs"]}
BESIDE = {kind: OWN["sums"] if kind in QUERIES else {} for kind in OWN}
FAR = 6  # standard errors from the truth


class Found(NamedTuple):
    """What something shows of one figure: groups, estimates and standard errors."""

    by: By
    figure: str
    groups: Sequence[By]
    estimates: Sequence[float]
    errors: Sequence[float]


@dataclass(frozen=True)
class Case:
    """A release of one kind under one accounting, and what several readers need of it; each is made once."""

    kind: str
    accounting: str
    folder: Path

    @cached_property
    def spec(self) -> gedp.Spec:
        """Of few attributes and tables, as each of them takes its time."""
        attributes = KINDS[self.kind].get("attributes", SECTIONS["attributes"])
        queries = ["identity", "cells", *QUERIES.get(self.kind, [])]
        return spec_of(self.kind, accounting=self.accounting, attributes=attributes, queries=queries)

    @cached_property
    def release(self) -> gedp.Release:
        return gedp.run(self.spec, TABLE, out=self.folder / "out", seed=1)

    @cached_property
    def microdata(self) -> Microdata:
        return self.release.microdata()

    @cached_property
    def plan(self) -> Plan:
        return gedp.plan(self.spec, self.release, table=TABLE, mu=[1])

    @cached_property
    def package(self) -> gedp.Package:
        return gedp.publish(self.release, self.folder / "package", formats=["csv"])

    def comparison(self, **options: Any) -> ComparisonPlan:
        if not (path := self.folder / "t.parquet").exists():
            pq.write_table(TABLE, path)
        workflow = "individual" if self.accounting == "individual" else "auto"
        return make_plan(self.spec, str(path), **{"workflows": [workflow], "seed": 1, "by": self.groupings, **options})

    @property
    def groupings(self) -> list[By]:
        """What to ask for tables by."""
        return list(dict.fromkeys([CELLS, *OWN[self.kind]]))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Case]:
    return {each: Case(*each, tmp_path_factory.mktemp("-".join(each))) for each in CASES}


def of_lines(by: Sequence[str], lines: Iterable[dict[str, Any]]) -> Iterator[Found]:
    """What a table says of which every line is one figure of one group."""
    figures: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        figures.setdefault(line["attribute"], []).append(line)
    for figure, own in figures.items():
        groups = [tuple(line[key] for key in by) for line in own]
        yield Found(tuple(by), figure, groups, *([line[part] for line in own] for part in ("estimate", "std_error")))


def released(case: Case) -> Iterator[Found]:
    assert len(case.release.table("identity")) == TABLE.num_rows
    for query in case.spec.tables:
        yield from of_lines(query.by, case.release.table(query.name))


def tabulated(case: Case) -> Iterator[Found]:
    for by in case.groupings:
        yield from of_lines(by, case.microdata.tabulate(by))


def planned(case: Case) -> Iterator[Found]:
    by = {query.name: query.by for query in case.spec.tables}
    for each in (each for each in case.plan.tables if each.query in by):
        groups = list(truths(by[each.query], each.attribute))
        yield Found(by[each.query], each.attribute, groups, each.totals.tolist(), each.errors.tolist())


def published(case: Case) -> Iterator[Found]:
    for table in case.package.tables:
        yield from of_lines(table.chosen.by, table.arrow.to_pylist())


def served(case: Case) -> Iterator[Found]:
    with serving(desk_of(case.release.folder)) as desk:
        listed = {each["name"] for each in desk.get("/api/release").json["attributes"]}
        for by in case.groupings:
            shown = desk.get(f"/api/table?{urlencode([('rows', key) for key in by])}").json
            groups = [tuple(line["codes"]) for line in shown["lines"]]
            for place, head in enumerate(shown["heads"]):
                assert head["figure"] in listed
                cells = [line["cells"][place] for line in shown["lines"]]
                numbers = ([cell[part] for cell in cells] for part in ("estimate", "std_error"))
                yield Found(by, head["figure"], groups, *numbers)


def compared(case: Case) -> Iterator[Found]:
    """One replicate, beside the largest standard error of the release, which has the same prices."""
    found = compare_plan(case.comparison(), case.folder / "comparison", 1, 1)
    for by, figure in product(case.groupings, found.order.attributes):
        level = " x ".join(by)
        if own := [row for row in found.per_group.to_pylist() if (row["attribute"], row["level"]) == (figure, level)]:
            error = max(case.microdata.tabulate(by, figure)["std_error"])
            groups = [tuple(row["keys"].split(",")) for row in own]
            yield Found(by, figure, groups, [row["truth"] + row["bias"] for row in own], [error] * len(own))


def evaluated(case: Case) -> Iterator[Found]:
    compared = evaluate(case.release, TABLE, by=case.groupings).comparisons
    answers = {(each.level.by, each.attribute) for each in compared if each.source == ANSWERS}
    assert answers == {(each.by, each.figure) for each in released(case)}
    for each in (each for each in compared if each.source == MICRODATA):
        groups = list(zip(*(keys.to_pylist() for keys in each.keys.values()), strict=True))
        assert dict(zip(groups, each.truth, strict=True)) == pytest.approx(truths(each.level.by, each.attribute))
        errors = (each.high - each.low) / (2 * 1.96)
        yield Found(each.level.by, each.attribute, groups, each.protected.tolist(), errors.tolist())


#: What reads a release, under the names of the page.
READERS: dict[str, Callable[[Case], Iterator[Found]]] = {
    "Release.table": released,
    "gedp tabulate": tabulated,
    "gedp plan": planned,
    "gedp publish": published,
    "gedp desk": served,
    "gedp compare": compared,
    "gedp evaluate": evaluated,
}
EVERYTHING = (*READERS, "gedp report", "Spark")


def truths(by: Sequence[str], figure: str) -> dict[By, float]:
    """The true figure of every group that there can be, in the order of their codes; classes in their own."""
    found: dict[By, float] = {}
    if "size" in by:
        other = sorted({tuple(known(row)[key] for key in by if key != "size") for row in TABLE.to_pylist()})
        for (rest,), size in product(other, SIZES):
            found[(size, rest) if by[0] == "size" else (rest, size)] = 0
    for row in sorted(map(known, TABLE.to_pylist()), key=lambda row: [row[key] for key in by]):
        group = tuple(row[key] for key in by)
        found[group] = found.get(group, 0) + row[figure]
    return found


def known(row: dict[str, Any]) -> dict[str, Any]:
    """An establishment with everything that follows from its columns."""
    emp, wage, profit = row["emp"], row["wage"], row["profit"]
    size = SIZES[sum(emp >= edge for edge in EDGES) - 1]
    more = {"naics2": row["naics"][:2], "size": size, COUNT: 1, "cost": wage + 500 * emp}
    return {**row, **more, "profit_gain": max(profit, 0), "profit_loss": max(-profit, 0)}


def tables_of_page() -> list[list[list[str]]]:
    """The tables of the page, line by line and cell by cell, without headings and marks of code."""
    text = (Path(__file__).parents[2] / "docs/kinds.md").read_text(encoding="utf-8")
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()]
        found.append([lines[0], *lines[2:]])
    return found


(KINDS_OF_PAGE, *LINES), (_, *SAID) = tables_of_page()
ENTRIES = {(line[0], kind): entry for line in LINES for kind, entry in zip(KINDS_OF_PAGE[1:], line[1:], strict=True)}


def expected(kind: str, entry: str) -> dict[By, set[str]]:
    """The figures of every grouping that an entry of the page promises to whoever names none."""
    found = {by: set(figures) for by, figures in BESIDE[kind].items()}
    for by, figures in OWN[kind].items() if entry != "no" else ():
        found[by] = found.get(by, set()) | set(figures) - ({"profit"} if entry == "parts" else set())
    return found


def agrees(found: Sequence[Found], wanted: dict[By, set[str]]) -> None:
    """Whether these figures are there and no others, each of every group and near the truth."""
    shown: dict[By, set[str]] = {}
    for each in found:
        shown.setdefault(each.by, set()).add(each.figure)
        truth = truths(each.by, each.figure)
        assert sorted(each.groups) == sorted(truth)
        true = np.array([truth[group] for group in each.groups])
        assert (np.abs(each.estimates - true) <= FAR * np.array(each.errors) + 1e-6 * np.abs(true)).all(), each
    assert shown == wanted


def test_the_page_has_an_entry_for_everything() -> None:
    assert set(ENTRIES) == set(product(EVERYTHING, KINDS))
    assert set(ENTRIES.values()) == {"yes", "parts", "noise", "no"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("kind", "accounting"), CASES)
def test_what_reads_a_release_shows_what_the_page_says(
    kind: str, accounting: str, reader: str, cases: dict[tuple[str, str], Case]
) -> None:
    case, entry = cases[kind, accounting], ENTRIES[reader, kind]
    agrees(list(READERS[reader](case)), expected(kind, entry))


@pytest.mark.parametrize(("kind", "accounting"), CASES)
def test_the_report_has_every_table_and_every_total(
    kind: str, accounting: str, cases: dict[tuple[str, str], Case]
) -> None:
    case, page = cases[kind, accounting], (cases[kind, accounting].release.folder / "report.html").read_text()
    assert ENTRIES["gedp report", kind] == "yes"
    tables = re.findall(r"<td>([\d,]+)</td>(?:<td>[^<]*</td>)+<td><a href=\"tables/(\w+)\.csv\">", page)
    queries = [query for query in case.spec.queries if query.name != "identity"]
    groups = {by: len(truths(by, "emp")) for by in {query.by for query in queries}}
    assert tables == [(str(groups[query.by]), query.name) for query in queries]
    totals = page[page.index("<caption>All establishments together") :].partition("</table>")[0]
    figures = [*BESIDE[kind].get(CELLS, []), *OWN[kind].get(CELLS, [])]
    assert re.findall(r"<tr><td>(\w+)</td>", totals) == figures


@pytest.mark.parametrize(("kind", "accounting"), [case for case in CASES if ENTRIES["Spark", case[0]] == "yes"])
def test_a_table_in_parts_is_released_as_a_whole_one(
    kind: str, accounting: str, cases: dict[tuple[str, str], Case]
) -> None:
    """Parts are read as workers of Spark read them, so that everything above holds for what they release."""
    case = cases[kind, accounting]
    parts = rehearsed(case.spec, DividedEngine(TABLE, [12], lambda places: places[::-1]))
    assert parts.establishments is not None
    assert parts.establishments.equals(case.release.identity())
    assert len(parts.tables) == len(case.spec.queries) - 1
    for name, table in parts.tables.items():
        assert table.equals(case.release.answers(name))


#: What the second table of the page says in words, by reader, kind and what is asked.
REFUSED: dict[tuple[str, str, str], Callable[[Case], object]] = {
    ("gedp plan", "split", "the errors of profit, in Python"): lambda case: case.plan.of("cells", "profit"),
    ("gedp compare", "classes", "--workflow ezs"): lambda case: case.comparison(workflows=["auto", "ezs"]).left_out[0],
    ("gedp compare", "combinations", "--workflow ezs"): lambda case: case.comparison(
        workflows=["auto", "ezs"]
    ).left_out[0],
    ("gedp evaluate", "classes", "--by cnty --attribute establishments"): lambda case: evaluate(
        case.release, TABLE, by=[["cnty"]], attributes=[COUNT]
    ),
    ("gedp evaluate", "combinations", "--by size"): lambda case: evaluate(case.release, TABLE, by=[["size"]]),
    ("Spark", "split", "--engine spark"): lambda case: engine_of(case.spec, TABLE, session=object()),
}


def test_whatever_does_not_work_is_among_what_is_said() -> None:
    assert [tuple(line[:3]) for line in SAID] == list(REFUSED)
    without = {pair for pair, entry in ENTRIES.items() if entry == "no"}
    assert without <= {asked[:2] for asked in REFUSED}


@pytest.mark.parametrize("line", SAID, ids=lambda line: ", ".join(line[:3]))
@pytest.mark.parametrize("accounting", ["prices", "individual"])
def test_what_is_said_is_on_the_page(line: list[str], accounting: str, cases: dict[tuple[str, str], Case]) -> None:
    reader, kind, asked, words = line
    try:
        said = str(REFUSED[reader, kind, asked](cases[kind, accounting]))
    except GedpError as refused:
        said = str(refused)
    assert words in said.replace("`", "")
