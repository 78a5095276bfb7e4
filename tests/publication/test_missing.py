"""Where nulls count as a number, everybody who reads a figure is told so."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import gedp
from gedp.explain.page import explain_page
from tests.helpers.builder import spec_of, table_of
from tests.helpers.desks import catalogue_of
from tests.helpers.runs import gedp as command

ROWS, NULLS = 60, 17
COUNTED = (
    "Missing values of profit, Pay are counted as 0, before figures are protected. How many there are is confidential "
    "and not published"
)


def released(folder: Path, **data: object) -> gedp.Release:
    """Of a table whose profit and wage are null in some rows, or in none where nothing is said about nulls."""
    profit = [None if data and place < NULLS else place for place in range(ROWS)]
    wage = [None if data and place < NULLS else 100.0 + place for place in range(ROWS)]
    spec = spec_of("split", data=data, labels={"wage": {"title": "Pay"}})
    table = table_of(ROWS, profit=pa.array(profit, pa.int64()), wage=pa.array(wage, pa.float64()))
    return gedp.run(spec, table=table, out=folder / "out")


@pytest.mark.usefixtures("no_disk_waits")
@pytest.mark.parametrize("missing", [None, {"profit": 0, "wage": 0}])
def test_everybody_is_told_what_missing_values_count_as(missing: dict[str, int] | None, tmp_path: Path) -> None:
    release = released(tmp_path, **({"missing": missing} if missing else {}))
    gedp.publish(release, tmp_path / "package")
    described = json.loads((tmp_path / "package" / "publication.json").read_text(encoding="utf-8"))
    assert described.get("missing") == missing
    texts = {
        "report": (tmp_path / "out" / "report.html").read_text(encoding="utf-8"),
        "README": (tmp_path / "package" / "README.md").read_text(encoding="utf-8"),
        "publication.json": "\n".join(described["notes"]),
        "page": explain_page(release.manifest.spec, "x"),
        "desk": "\n".join(catalogue_of(tmp_path / "out").facts.protection),
        "terminal": " ".join(command("explain", "out", folder=tmp_path).out.split()),
    }
    assert {place: COUNTED in text for place, text in texts.items()} == dict.fromkeys(texts, bool(missing))


def test_nothing_is_said_of_columns_that_no_answer_depends_on() -> None:
    queries = [{"name": "county", "by": ["cnty"], "mu": {"emp": 1}}]
    spec = spec_of(data={"missing": {"wage": 3, "emp": 2}}, queries=queries)
    assert "Missing values of emp are counted as 2," in explain_page(spec, "x")
    assert "wage are counted" not in explain_page(spec, "x")
