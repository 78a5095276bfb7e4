"""The published QCEW: reading the files of the BLS, and filling what they suppress.

Small publications are made from known establishments, rolled up to every level by a plain loop, and
suppressed at random; the reader and the filler must find their way back.
"""

import csv
import io
import zipfile
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.errors import FaultsError
from gedp.industries import SUPERSECTOR_OF_SECTOR, depth_of, parent_of, sector_of
from gedp_lab.synth.qcew.fill import fill, fill_attribute, find_bounds
from gedp_lab.synth.qcew.read import read_qcew
from gedp_lab.synth.qcew.sources import WHOLE
from gedp_lab.synth.qcew.tree import Tree, build_tree
from gedp_lab.synth.qcew.typical import typical_sizes
from gedp_lab.synth.states import find_states
from tests.helpers.publications import Cells, Key, Publication, Values, ancestors, roll_up, to_rows

LEAVES = ("238111", "238112", "311811", "311991", "325412", "722511", "722513", "721110", "523930", "999999")


@st.composite
def cell_values(draw: st.DrawFn) -> Values:
    return (
        draw(st.integers(1, 4)),
        *(draw(st.integers(0, 30)) for _ in range(3)),
        draw(st.integers(0, 2000)),
    )


@st.composite
def publications(draw: st.DrawFn) -> Publication:
    """Establishments of up to three counties in two states, suppressed anywhere at all."""
    keys = st.sampled_from(list(product(["34001", "34003", "44007"], LEAVES)))
    cells = draw(st.dictionaries(keys, cell_values(), min_size=1, max_size=14))
    everything = roll_up(cells)
    density, random = draw(st.sampled_from([0.1, 0.4, 0.7])), draw(st.randoms(use_true_random=True))
    hidden = {key for key in sorted(everything) if random.random() < density}
    for state in ("34000", "44000"):  # something must tell how large establishments are
        hidden.discard((state, "10"))
    return {key: (key not in hidden, values) for key, values in everything.items()}


def filled(tree: Tree) -> Cells:
    cells = fill(tree).cells.to_pylist()
    names = ("estabs", "m1emp", "m2emp", "m3emp", "wage")
    return {(row["state"] + row["cnty"], row["naics"]): tuple(row[name] for name in names) for row in cells}


@settings(max_examples=150)
@given(publications())
def test_every_disclosed_figure_comes_back(publication: Publication) -> None:
    cells = filled(build_tree(to_rows(publication)))
    assert all(value >= 0 for values in cells.values() for value in values)
    again = roll_up(cells)
    assert again.keys() == publication.keys()
    for key, (disclosed, values) in publication.items():
        assert again[key][0] == values[0]
        if disclosed and (not key[0].endswith("000") or key[1] == "10"):
            assert again[key] == values


def exact_division(total: int, weights: list[Fraction]) -> list[int]:
    quotas = [total * weight / sum(weights) for weight in weights]
    parts = [int(quota) for quota in quotas]
    order = sorted(range(len(parts)), key=lambda place: (parts[place] - quotas[place], place))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    return parts


def fill_slowly(publication: Publication, which: int, weight: Callable[[Key], int]) -> dict[Key, int]:
    """The filling node by node, with exact fractions, where the state's total is disclosed."""
    children: dict[Key, list[Key]] = defaultdict(list)
    for area, code in sorted(publication):
        if not area.endswith("000"):
            above = parent_of(code)
            children[(area, above) if above else (area[:2] + "000", "10")].append((area, code))

    def disclosed(node: Key) -> bool:
        return publication[node][0]

    def least(node: Key) -> int:
        return publication[node][1][which] if disclosed(node) else sum(map(least, children[node]))

    def open_cells(node: Key) -> list[Key]:
        if disclosed(node) and not node[0].endswith("000"):
            return []
        return [leaf for child in children[node] for leaf in open_cells(child)] if children[node] else [node]

    result: dict[Key, int] = {}

    def settle(node: Key, value: int) -> None:
        if not children[node]:
            result[node] = value
            return
        parts = {child: least(child) for child in children[node]}
        takers = [child for child in children[node] if open_cells(child)]
        if takers:
            weights = [Fraction(sum(map(weight, open_cells(child)))) for child in takers]
            if not any(weights):
                weights = [Fraction(sum(publication[leaf][1][0] for leaf in open_cells(child))) for child in takers]
            shares = exact_division(value - sum(parts.values()), weights)
            for child, share in zip(takers, shares, strict=True):
                parts[child] += share
        for child, part in parts.items():
            settle(child, part)

    for area, code in list(publication):
        if area.endswith("000") and code == "10":
            settle((area, code), publication[area, code][1][which])
    return result


@settings(max_examples=150)
@given(publications(), st.integers(0, 3), st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=30, max_size=30))
def test_filling_equals_the_slow_one(publication: Publication, which: int, numbers: list[int]) -> None:
    tree = build_tree(to_rows(publication))
    keys = [(tree.areas[area][0], tree.industries[code]) for area, code in _leaf_codes(tree)]
    weights = dict(zip(keys, numbers, strict=False))
    fast = fill_attribute(tree, find_bounds(tree), which, np.array([float(weights[key]) for key in keys]))
    slow = fill_slowly(publication, which + 1, weights.__getitem__)
    assert dict(zip(keys, fast.tolist(), strict=True)) == slow


@settings(max_examples=50)
@given(publications(), st.randoms())
def test_the_order_of_rows_does_not_matter(publication: Publication, random: Random) -> None:
    shuffled = list(publication.items())
    random.shuffle(shuffled)
    assert filled(build_tree(to_rows(dict(shuffled)))) == filled(build_tree(to_rows(publication)))


def _leaf_codes(tree: Tree) -> list[tuple[int, int]]:
    return list(zip(tree.levels[-1].area.tolist(), tree.levels[-1].industry.tolist(), strict=True))


HAND: Cells = {
    ("44001", "722511"): (4, 60, 60, 60, 600_000),
    ("44001", "722513"): (2, 10, 10, 10, 90_000),
    ("44003", "722511"): (3, 22, 20, 18, 150_000),
    ("44005", "722511"): (3, 18, 20, 22, 250_000),
}


def hand_publication(hidden: set[Key]) -> Publication:
    return {key: (key not in hidden, values) for key, values in roll_up(HAND).items()}


def test_typical_size_is_what_the_state_leaves_after_the_disclosed_counties() -> None:
    hidden = {("44003", "722511"), ("44005", "722511")}
    tree = build_tree(to_rows(hand_publication(hidden)))
    typical = typical_sizes(tree)
    industry = tree.industries.index("722511")
    assert typical.jobs[:, 0, industry].tolist() == pytest.approx([40 / 6] * 3)
    assert typical.pay[0, industry] == pytest.approx(400_000 / 120)


def test_typical_size_falls_back_on_counties_then_on_the_industry_above() -> None:
    hidden = {("44000", "722511"), ("44000", "722513"), ("44003", "722511"), ("44001", "722513")}
    tree = build_tree(to_rows(hand_publication(hidden)))
    typical = typical_sizes(tree)
    # 722511: the disclosed counties, 60 + 18 jobs over 7 establishments in month 1
    assert typical.jobs[0, 0, tree.industries.index("722511")] == pytest.approx(78 / 7)
    # 722513 has no disclosed county: the industry above, 72251, where everything is disclosed
    assert typical.jobs[0, 0, tree.industries.index("722513")] == pytest.approx(110 / 12)


def test_zeros_under_a_suppression_code_are_unknown() -> None:
    hidden = {("44001", "722511"), ("44001", "722513")}
    cells = filled(build_tree(to_rows(hand_publication(hidden))))
    assert cells["44001", "722511"][1] + cells["44001", "722513"][1] == 70
    assert cells["44001", "722511"][1:] == (60, 60, 60, 600_000)  # the state's rows determine them
    assert cells["44001", "722513"][1:] == (10, 10, 10, 90_000)


def test_suppressed_county_totals_come_from_the_state() -> None:
    hidden = {key for key in roll_up(HAND) if key[0] in ("44003", "44005")}
    filling = fill(build_tree(to_rows(hand_publication(hidden))))
    assert (filling.counties_from_state, filling.counties_estimated) == (("44003", "44005"), ())
    assert roll_up(filled(build_tree(to_rows(hand_publication(hidden)))))["44000", "10"] == (
        12,
        110,
        110,
        110,
        1_090_000,
    )


def test_suppressed_county_totals_without_a_state_are_estimated() -> None:
    hidden = {key for key in roll_up(HAND) if key[0] == "44003"}
    counties = {key: row for key, row in hand_publication(hidden).items() if not key[0].endswith("000")}
    filling = fill(build_tree(to_rows(counties)))
    assert (filling.counties_from_state, filling.counties_estimated) == ((), ("44003",))
    assert filling.states_without_rows == ("44",)
    made = {row["cnty"]: row["m1emp"] for row in filling.cells.to_pylist() if row["naics"] == "722511"}
    assert made["003"] == round(3 * 78 / 7)  # three establishments of the disclosed counties' size


def test_a_state_row_of_more_counties_than_given_is_not_used() -> None:
    hidden = {key for key in roll_up(HAND) if key[0] == "44003"}
    some = {key: row for key, row in hand_publication(hidden).items() if key[0] != "44005"}
    filling = fill(build_tree(to_rows(some)))
    assert filling.counties_estimated == ("44003",)
    made = {(row["cnty"], row["naics"]): row["m1emp"] for row in filling.cells.to_pylist()}
    assert made["003", "722511"] == 3 * 60 / 4  # of the size of the one disclosed county


def test_ties_do_not_depend_on_the_order_of_rows() -> None:
    cells: Cells = {("44001", "722511"): (2, 36, 36, 36, 900), ("44001", "722513"): (2, 35, 35, 35, 900)}
    publication = {key: (len(key[1]) < 6, values) for key, values in roll_up(cells).items()}
    backwards = dict(reversed(publication.items()))
    assert filled(build_tree(to_rows(publication))) == filled(build_tree(to_rows(backwards)))
    assert filled(build_tree(to_rows(backwards)))["44001", "722511"][1] == 36  # the earlier code wins


def test_a_state_row_below_its_disclosed_counties_tells_nothing() -> None:
    publication = hand_publication({("44003", "722511"), ("44005", "722511")})
    publication["44000", "722511"] = (True, (10, 50, 50, 50, 500_000))
    tree = build_tree(to_rows(publication))
    assert typical_sizes(tree).jobs[0, 0, tree.industries.index("722511")] == pytest.approx(60 / 4)


def test_nothing_disclosed_is_a_fault() -> None:
    hidden = {key: (False, values) for key, values in roll_up(HAND).items()}
    with pytest.raises(FaultsError, match="state 44: nothing is disclosed"):
        fill(build_tree(to_rows(hidden)))


def test_ownerships_are_filled_side_by_side() -> None:
    rows = pa.concat_tables([to_rows(hand_publication(set()), "5"), to_rows(hand_publication(set()), "3")])
    cells = fill(build_tree(rows)).cells
    assert cells.num_rows == 2 * len(HAND)
    assert set(cells["own"].to_pylist()) == {"3", "5"}


# What does not nest


def broken(change: Callable[[dict[str, list[object]]], None]) -> pa.Table:
    columns = to_rows(hand_publication(set())).to_pydict()
    change(columns)
    return pa.table(columns)


def put(column: str, area: str, code: str, value: object) -> Callable[[dict[str, list[object]]], None]:
    def change(columns: dict[str, list[object]]) -> None:
        keys = list(zip(columns["area_fips"], columns["industry_code"], strict=True))
        columns[column][keys.index((area, code))] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            put("industry_code", "44003", "72251", "72311"),
            "level 77: 1 rows without the row they are part of",
        ),
        (put("industry_code", "44003", "722511", "982511"), "unknown codes, such as '982511'"),
        (put("agglvl_code", "44003", "722511", 77), "rows at the wrong level, such as 722511 at level 77"),
        (put("qtrly_estabs", "44003", "722511", 9), "establishments of 1 rows are not those of their parts"),
        (put("month2_emplvl", "44003", "722511", 21), "level 77: 1 rows that their disclosed parts exceed"),
        (put("total_qtrly_wages", "44003", "7225", 3), "level 75: 1 rows that their disclosed parts"),
        (put("total_qtrly_wages", "44003", "7225", -3), "1 rows with negative numbers"),
        (put("qtrly_estabs", "44003", "722511", None), "column qtrly_estabs: 1 empty values"),
        (put("qtrly_estabs", "44003", "722511", 0), "1 rows with jobs or wages but no establishment"),
        (put("area_fips", "44003", "722511", "C4400"), "unknown areas such as 'C4400'"),
        (put("area_fips", "44003", "722511", "44005"), "1 rows repeat an area and industry"),
    ],
)
def test_rows_that_do_not_nest(change: Callable[[dict[str, list[object]]], None], message: str) -> None:
    with pytest.raises(FaultsError) as caught:
        fill(build_tree(broken(change)))
    assert message in str(caught.value)


@pytest.mark.parametrize("code", [*LEAVES, *SUPERSECTOR_OF_SECTOR, "10", "101", "1023"])
def test_industry_tree(code: str) -> None:
    depth = depth_of(code)
    assert depth is not None
    assert len(list(ancestors(code))) == depth + 1
    assert [depth_of(step) for step in ancestors(code)] == list(range(depth, -1, -1))


def test_no_industry() -> None:
    assert [depth_of(code) for code in ("", "103", "1030", "45-49", "9", "34", "7225111", "SIC_01", "27")] == [None] * 9
    assert sector_of("332710") == "31-33"


# Files


def csv_text(rows: pa.Table, *, year: int = 2016, quarter: str = "1", count_name: str = "qtrly_estabs") -> str:
    """Rows as the BLS writes them: quoted text, more columns than we need, titles in the by-area files."""
    out = io.StringIO()
    titles = ["area_title"] if count_name == "qtrly_estabs_count" else []
    header = ["area_fips", "own_code", "industry_code", "agglvl_code", "size_code", "year", "qtr"]
    header += ["disclosure_code", *titles, count_name, *WHOLE[2:], "avg_wkly_wage"]
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(header)
    for row in rows.to_pylist():
        start = [row[name] for name in ("area_fips", "own_code", "industry_code")]
        title = [f"Somewhere, {row['area_fips']}"] if titles else []
        middle = [str(row["agglvl_code"]), "0", str(year), quarter, row["disclosure_code"], *title]
        writer.writerow([*start, *middle, *(row[name] for name in WHOLE[1:]), 700])
    return out.getvalue()


PUBLISHED = to_rows(hand_publication({("44003", "722511"), ("44005", "722511"), ("44005", "10")}))
ORDER = [(name, "ascending") for name in ("area_fips", "industry_code")]


def same_rows(path: Path, **options: int) -> bool:
    published = read_qcew([path], year=options.get("year"), quarter=options.get("quarter"))
    assert (published.year, published.quarter) == (2016, 1)
    return bool(published.rows.sort_by(ORDER).equals(PUBLISHED.sort_by(ORDER)))


def test_the_single_file(tmp_path: Path) -> None:
    path = tmp_path / "2016_q1.csv"
    path.write_text(csv_text(PUBLISHED))
    assert same_rows(path)
    assert same_rows(path, year=2016, quarter=1)


def test_other_levels_ownerships_and_states_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "2016_q1.csv"
    others = pa.concat_tables([to_rows(hand_publication(set()), "3"), PUBLISHED])
    text = csv_text(others) + '"C3540","5","10","41","0","2016","1","",5,6,7,8,9,700\r\n'
    text += '"34001","5","10","71","0","2016","1","",5,6,7,8,9,700\r\n'
    path.write_text(text)
    found = read_qcew([path], states=["44"]).rows
    assert found.sort_by(ORDER).equals(PUBLISHED.sort_by(ORDER))


def by_area(text: str) -> dict[str, str]:
    lines = text.splitlines(keepends=True)
    areas: dict[str, list[str]] = defaultdict(lambda: [lines[0]])
    for line in lines[1:]:
        areas[line[1:6]].append(line)
    return {f"2016.q1-q4 {area} Somewhere.csv": "".join(rows) for area, rows in areas.items()}


def test_by_area_files_in_a_folder_and_in_a_zip(tmp_path: Path) -> None:
    files = by_area(csv_text(PUBLISHED, count_name="qtrly_estabs_count"))
    folder = tmp_path / "2016.q1-q4.by_area"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    assert same_rows(folder)
    with zipfile.ZipFile(tmp_path / "by_area.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"2016.q1-q4.by_area/{name}", text)
    assert same_rows(tmp_path / "by_area.zip")


def test_parquet_takes_its_quarter_from_its_name_or_the_options(tmp_path: Path) -> None:
    rows = PUBLISHED.set_column(1, "own_code", PUBLISHED["own_code"].cast(pa.int8()))
    pq.write_table(rows, tmp_path / "qcew_2016q1.parquet")
    assert same_rows(tmp_path / "qcew_2016q1.parquet")
    pq.write_table(rows, tmp_path / "extract.parquet")
    assert same_rows(tmp_path / "extract.parquet", year=2016, quarter=1)
    with pytest.raises(FaultsError, match="Add --year and --quarter"):
        read_qcew([tmp_path / "extract.parquet"])
    with pytest.raises(FaultsError, match="year 2015 is not there: the input holds 2016 quarter 1"):
        read_qcew([tmp_path / "qcew_2016q1.parquet"], year=2015)


def test_a_file_of_several_quarters(tmp_path: Path) -> None:
    path = tmp_path / "2016.q1-q4.singlefile.csv"
    second = csv_text(to_rows(hand_publication(set())), quarter="2").split("\n", 1)[1]
    path.write_text(csv_text(PUBLISHED) + second)
    assert same_rows(path, quarter=1)
    with pytest.raises(FaultsError, match=r"2016 quarter 1, 2016 quarter 2.*Pick one"):
        read_qcew([path])
    with pytest.raises(FaultsError, match="quarter 3 is not there"):
        read_qcew([path], quarter=3)
    path.write_text(csv_text(PUBLISHED, quarter="A"))
    with pytest.raises(FaultsError, match="a quarter is not there: the input holds 2016 quarter A"):
        read_qcew([path])


def test_every_unknown_state_is_named() -> None:
    codes, faults = find_states(["nj", "44", "1", "NJ", "ZZ", "03"])
    assert codes == ("01", "34", "44")
    assert [fault.place for fault in faults] == ["state 'ZZ'", "state '03'"]
