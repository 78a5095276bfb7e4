"""Desks of other releases than the demonstration's: what they offer, and what they cannot."""

from pathlib import Path

from gedp import run
from gedp.desk.app import Desk
from gedp.desk.catalogue import Catalogue
from gedp.microdata import fit_microdata
from tests.helpers.builder import KINDS, spec_of, table_of
from tests.helpers.desks import serving
from tests.microdata.test_fit import EVERYTHING, query, release_of, some_rows


def test_groupings_are_listed_with_their_columns_from_coarse_to_fine(tmp_path: Path) -> None:
    """Three digits of these industries are as many as four, and no level of its own."""
    desk = Desk(Catalogue(fit_microdata(release_of(some_rows(60), EVERYTHING, tmp_path)), "out"))
    assert dict(desk.source.dimensions) == {
        "industry": ("domain", "supersector", "sector", "naics"),
        "cnty": ("cnty",),
        "naics2": ("naics2",),
        "floor": ("floor",),
    }
    assert desk.source.ratios == {}


def test_a_release_without_rows_has_tables_of_what_was_measured(tmp_path: Path) -> None:
    crossing = [query("county", ["cnty"], "emp"), query("industry", ["naics"], "emp"), query("total", [], "emp")]
    microdata = fit_microdata(release_of(some_rows(60), crossing, tmp_path))
    assert not microdata.fits
    with serving(Desk(Catalogue(microdata, "out"))) as served:
        shown = served.get("/api/table?rows=cnty&attribute=emp").json
        assert [line["establishments"] for line in shown["lines"]] == [None] * 3
        assert [line["cells"][0]["estimate"] for line in shown["lines"]] == microdata.tabulate("cnty")["estimate"]
        refusal = served.get("/api/table?rows=cnty&columns=naics&attribute=emp")
        assert refusal.status == 400
        assert "no answers determine emp by cnty x naics" in refusal.json["error"]
        some = served.get("/api/table?rows=cnty&attribute=emp&where=cnty=001").json
        assert len(some["lines"]) == 1
        assert served.get("/").status == 200


def test_a_release_whose_noise_was_seeded_says_that_it_protects_nobody(tmp_path: Path) -> None:
    with serving(Desk(Catalogue(fit_microdata(release_of(some_rows(60), EVERYTHING, tmp_path)), "out"))) as served:
        assert b"NOT PROTECTED" in served.get("/").body
        assert served.get("/api/release").json["is_seeded"]


def test_an_attribute_that_was_split_is_offered_after_its_gain_and_its_loss(tmp_path: Path) -> None:
    labels = {"profit": {"title": "Profit", "unit": "US dollars", "scale": 1000}}
    spec = spec_of(attributes=KINDS["split"]["attributes"], queries=["identity", "county"], labels=labels)
    microdata = fit_microdata(run(spec, table_of(), out=tmp_path / "out", seed=1, answers_only=True))
    with serving(Desk(Catalogue(microdata, "out"))) as served:
        offered = served.get("/api/release").json["attributes"]
        assert [each["name"] for each in offered] == ["profit_gain", "profit_loss", "profit"]
        assert offered[-1]["title"] == "Profit (thousand US dollars)"
        shown = served.get("/api/table?rows=cnty&" + "&".join(f"attribute={each['name']}" for each in offered)).json
        for line in shown["lines"]:
            gain, loss, whole = line["cells"]
            assert whole["estimate"] == gain["estimate"] - loss["estimate"]
            assert (gain["quality"] != "", whole["quality"]) == (True, "")
        levels = served.get("/api/levels?dimension=cnty&attribute=profit").json["levels"]
        assert levels[0]["median"] > 0
