import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gedp.errors import FaultsError
from gedp_lab.synth.cbp import Sources, read_sources
from gedp_lab.synth.cbp.county_patterns import cbp_year, efsy_year
from gedp_lab.synth.sizes import CBP_CLASSES
from tests.helpers.synth_cbp_files import publish_world, read_rows, write_rows


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    publish_world(folder)
    return folder / "published"


@pytest.fixture
def files(world: Path, tmp_path: Path) -> Path:
    """A copy of the published files, to be damaged."""
    return Path(shutil.copytree(world, tmp_path / "files"))


def read(files: Path, **options: object) -> Sources:
    return read_sources(files / "cbp16co.txt", files / "qwi", files / "efsy_cbp_2016.csv", **options)  # type: ignore[arg-type]


def faults_of(files: Path, **options: object) -> list[str]:
    with pytest.raises(FaultsError) as caught:
        read(files, **options)
    return [str(fault) for fault in caught.value.faults]


def cut(path: Path, characters: int) -> None:
    path.write_text(path.read_text()[:-characters])


def drop_column(path: Path, column: str) -> None:
    write_rows(path, [{name: text for name, text in row.items() if name != column} for row in read_rows(path)])


def change(path: Path, edit: Callable[[dict[str, str]], dict[str, str] | None]) -> None:
    write_rows(path, [new for row in read_rows(path) if (new := edit(row)) is not None])


def test_reads_payroll_in_dollars_and_withheld_figures_as_null(files: Path) -> None:
    sources = read(files)
    rows = {
        (row["fipstate"], row["fipscty"], row["naics"].rstrip("-/")): row for row in read_rows(files / "cbp16co.txt")
    }
    assert sources.cbp.num_rows == len(rows)
    assert (sources.year, sources.quarter) == (2016, 1)
    seen_null = seen_figure = False
    for cell in sources.cbp.to_pylist():
        row = rows[cell["state"], cell["cnty"], cell["code"]]
        withheld = row["qp1_nf"] == "D"
        assert cell["qp1"] == (None if withheld else 1000 * int(row["qp1"]))
        assert cell["emp"] == (None if row["emp_nf"] == "D" else int(row["emp"]))
        assert cell["est"] == int(row["est"])
        seen_null |= withheld
        seen_figure |= not withheld
    assert seen_null
    assert seen_figure


def test_reads_qwi_by_its_status_flags(files: Path) -> None:
    path = files / "qwi" / "qwi_ri_sa_f_gc_n4_op_u.csv"
    rows = {(row["geography"], row["industry"]): row for row in read_rows(path)}
    cells = [row for row in read(files).qwi.cells.to_pylist() if row["state"] == "44"]
    assert len(cells) == len(rows)
    flags = set()
    for cell in cells:
        row = rows[cell["state"] + cell["cnty"], cell["code"]]
        for name in ("Emp", "EmpEnd", "EmpS", "EarnBeg"):
            flags.add(row[f"s{name}"])
            assert cell[name] == (int(row[name]) if row[f"s{name}"] in ("1", "9") else None)
    assert flags >= {"1", "5", "9"}


def test_a_suppressed_figure_printed_as_zero_is_unknown(files: Path) -> None:
    path = files / "qwi" / "qwi_ri_sa_f_gc_n4_op_u.csv"
    before = read(files).qwi.cells
    change(path, lambda row: row | {"Emp": row["Emp"] or "0"})
    assert read(files).qwi.cells.equals(before)


def test_full_qwi_files_are_reduced_to_totals_of_private_employers(files: Path) -> None:
    before = read(files).qwi.cells
    for path in (files / "qwi").glob("*.csv"):
        rows = []
        for row in read_rows(path):
            total = row | {"sex": "0", "agegrp": "A00", "ownercode": "A05"}
            rows += [total, total | {"sex": "1"}, total | {"agegrp": "A03"}, total | {"ownercode": "A00"}]
            rows.append(total | {"quarter": "2"})
        write_rows(path, rows)
    assert read(files).qwi.cells.equals(before)


def test_gzipped_extracts_read_the_same(files: Path) -> None:
    before = read(files).qwi
    for path in list((files / "qwi").glob("*.csv")):
        path.with_suffix(".csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read(files).qwi.cells.equals(before.cells)
    assert read(files).qwi.counties.equals(before.counties)


def test_states_are_chosen_by_either_code(files: Path) -> None:
    assert read(files, states=["ri"]).states == read(files, states=["44"]).states == ("44",)


def test_all_states_are_read_whichever_are_wanted(files: Path) -> None:
    sources = read(files, states=["RI"])
    for table in (sources.cbp, sources.efsy, sources.qwi.cells):
        assert set(table["state"].to_pylist()) == {"34", "44"}


def test_unpadded_fips_codes_are_padded(files: Path) -> None:
    before = read(files).efsy
    change(files / "efsy_cbp_2016.csv", lambda row: row | {"fipscty": str(int(row["fipscty"]))})
    assert read(files).efsy.equals(before)


@pytest.mark.parametrize(("name", "year"), [("cbp16co.txt", 2016), ("CBP98CO.TXT", 1998), ("county.txt", None)])
def test_the_year_is_in_the_name_of_cbp(name: str, year: int | None) -> None:
    assert cbp_year(Path(name)) == year


@pytest.mark.parametrize(("name", "year"), [("efsy_cbp_2016.csv", 2016), ("efsy_1998.csv", 1998), ("e.csv", None)])
def test_the_year_is_in_the_name_of_the_imputed_cbp(name: str, year: int | None) -> None:
    assert efsy_year(Path(name)) == year


def test_a_nameless_year_must_be_given(files: Path) -> None:
    (files / "cbp16co.txt").rename(files / "county.txt")
    arguments = (files / "county.txt", files / "qwi", files / "efsy_cbp_2016.csv")
    with pytest.raises(FaultsError, match="does not tell its year"):
        read_sources(*arguments)
    assert read_sources(*arguments, year=2016).year == 2016


def test_every_truncated_file_is_named(files: Path) -> None:
    cut(files / "cbp16co.txt", 60)
    cut(files / "efsy_cbp_2016.csv", 12)
    cut(files / "qwi" / "qwi_nj_sa_f_gc_n4_op_u.csv", 25)
    faults = faults_of(files)
    for name in ("cbp16co.txt", "efsy_cbp_2016.csv", "qwi_nj_sa_f_gc_n4_op_u.csv"):
        assert any(name in fault and "wrong number of fields" in fault for fault in faults)


def test_a_truncated_gzip_file_is_one_fault(files: Path) -> None:
    path = files / "qwi" / "qwi_nj_sa_f_gc_n4_op_u.csv"
    packed = gzip.compress(path.read_bytes())
    path.with_suffix(".csv.gz").write_bytes(packed[: len(packed) // 2])
    path.unlink()
    (fault,) = faults_of(files)
    assert "qwi_nj_sa_f_gc_n4_op_u.csv.gz: cannot be read" in fault


def test_a_figure_cut_in_the_middle_is_noticed(files: Path) -> None:
    cut(files / "efsy_cbp_2016.csv", 2)
    (fault,) = faults_of(files)
    assert "efsy_cbp_2016.csv: its last line has no end" in fault


def test_missing_columns_are_all_named(files: Path) -> None:
    drop_column(files / "cbp16co.txt", "qp1")
    drop_column(files / "cbp16co.txt", "est")
    drop_column(files / "efsy_cbp_2016.csv", "emp")
    drop_column(files / "qwi" / "qwi_ri_sa_f_gc_ns_op_u.csv", "sEmpS")
    faults = faults_of(files)
    assert any("cbp16co.txt: lacks the columns qp1, est" in fault for fault in faults)
    assert any("efsy_cbp_2016.csv: lacks the column emp" in fault for fault in faults)
    assert any("qwi_ri_sa_f_gc_ns_op_u.csv: lacks the column sEmpS" in fault for fault in faults)


def test_qwi_of_another_year(files: Path) -> None:
    for path in (files / "qwi").glob("*.csv"):
        change(path, lambda row: row | {"year": "2015"})
    assert faults_of(files) == [
        f"{files / 'qwi'}: holds 2015Q1, but the CBP file is of 2016 and quarter 1 is needed. Extract 2016 quarter 1"
    ]


def test_an_imputed_cbp_of_another_year(files: Path) -> None:
    (files / "efsy_cbp_2016.csv").rename(files / "efsy_cbp_2015.csv")
    with pytest.raises(FaultsError, match="is of 2015, but CBP is of 2016"):
        read_sources(files / "cbp16co.txt", files / "qwi", files / "efsy_cbp_2015.csv")


def test_unknown_states_and_states_that_are_not_there(files: Path) -> None:
    assert faults_of(files, states=["ZZ", "99"]) == [
        "state 'ZZ': no such state. Use a postal code (NJ) or a FIPS code (34)",
        "state '99': no such state. Use a postal code (NJ) or a FIPS code (34)",
    ]
    faults = faults_of(files, states=["RI", "CA"])
    assert sum("has no row of state 06" in fault for fault in faults) == 3


def test_codes_that_do_not_nest(files: Path) -> None:
    change(files / "cbp16co.txt", lambda row: None if row["naics"] == "236///" else row)
    change(files / "efsy_cbp_2016.csv", lambda row: None if row["naics"] == "54----" else row)
    faults = faults_of(files)
    assert any("cbp16co.txt: 10 industry codes do not nest" in fault and "34001 2361" in fault for fault in faults)
    assert any("efsy_cbp_2016.csv: 5 industry codes do not nest" in fault for fault in faults)


def test_more_establishments_inside_than_in_the_parent(files: Path) -> None:
    change(
        files / "cbp16co.txt",
        lambda row: row | {"est": "0"} if (row["fipscty"], row["naics"]) == ("007", "2361//") else row,
    )
    assert any("1 industries have fewer establishments" in fault for fault in faults_of(files))


def test_repeated_cells(files: Path) -> None:
    path = files / "cbp16co.txt"
    write_rows(path, read_rows(path) + read_rows(path)[:7])
    shutil.copy(files / "qwi" / "qwi_ri_sa_f_gc_n4_op_u.csv", files / "qwi" / "again.csv")
    faults = faults_of(files)
    assert any("cbp16co.txt: 7 county x industry cells occur more than once" in fault for fault in faults)
    assert any("qwi: " in fault and "occur more than once" in fault for fault in faults)


def test_figures_that_are_no_numbers_and_codes_that_are_none(files: Path) -> None:
    change(files / "cbp16co.txt", lambda row: row | {"qp1": "-5"} if row["naics"] == "------" else row)
    change(files / "efsy_cbp_2016.csv", lambda row: row | {"naics": row["naics"].replace("6116", "61x6")})
    faults = faults_of(files)
    assert any("column qp1: 5 values are not a whole number" in fault for fault in faults)
    assert any("column naics" in fault and "malformed" in fault for fault in faults)


def test_files_of_different_vintages(files: Path) -> None:
    def renumber(row: dict[str, str]) -> dict[str, str]:
        return row | {"naics": row["naics"].replace("10", "30")} if row["naics"][4:] == "10" else row

    path = files / "efsy_cbp_2016.csv"
    rows = [renumber(row) for row in read_rows(path)]
    fives = [row | {"naics": row["naics"][:5] + "/"} for row in rows if row["naics"].endswith("30")]
    write_rows(path, rows + fives)
    assert any("are not in cbp16co.txt" in fault for fault in faults_of(files))


def test_files_that_are_not_there(files: Path) -> None:
    shutil.rmtree(files / "qwi")
    (files / "cbp16co.txt").unlink()
    (files / "efsy_cbp_2016.csv").write_text("")
    faults = faults_of(files)
    assert any("cbp16co.txt: cannot be read" in fault for fault in faults)
    assert any("qwi: is not a folder" in fault for fault in faults)
    assert any("efsy_cbp_2016.csv: lacks the columns" in fault for fault in faults)


def test_size_classes_are_read_when_asked_for(files: Path) -> None:
    assert not read(files).size_classes
    sources = read(files, size_classes=True)
    assert sources.size_classes
    rows = {
        (row["fipstate"], row["fipscty"], row["naics"].rstrip("-/")): row for row in read_rows(files / "cbp16co.txt")
    }
    for cell in sources.cbp.to_pylist():
        row = rows[cell["state"], cell["cnty"], cell["code"]]
        assert [cell[name] for name in CBP_CLASSES] == [int(row[name]) for name in CBP_CLASSES]


def test_a_file_without_size_classes_will_do_unless_they_are_asked_for(files: Path) -> None:
    drop_column(files / "cbp16co.txt", "n50_99")
    assert read(files).cbp.num_rows
    (fault,) = faults_of(files, size_classes=True)
    assert "lacks the column n50_99" in fault


def test_size_classes_must_add_up_to_the_establishments(files: Path) -> None:
    def one_more(row: dict[str, str]) -> dict[str, str]:
        if row["naics"] == "------" and row["fipstate"] == "44":
            row["n5_9"] = str(int(row["n5_9"]) + 1)
        return row

    change(files / "cbp16co.txt", one_more)
    (fault,) = faults_of(files, size_classes=True)
    assert "3 rows have size classes that do not add up to est" in fault
    assert "another spread" in fault
    assert read(files).cbp.num_rows
