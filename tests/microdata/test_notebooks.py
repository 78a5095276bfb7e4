"""Tables with errors as a notebook shows them, and their figures."""

import io
import re

import pytest

import gedp
from gedp.errors import DomainError
from tests.publication.conftest import COUNTIES, small_spec, small_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> gedp.Table:
    folder = tmp_path_factory.mktemp("notebook")
    release = gedp.run(small_spec(folder), small_table(), out=folder / "out", seed=3, answers_only=True)
    return release.microdata().tabulate(["cnty", "naics3"])


def test_a_table_shows_names_and_figures_with_their_margins(table: gedp.Table) -> None:
    html = table._repr_html_()
    headings = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", html)
    assert headings == ["County", "Industry (3 digits)", "attribute", "estimate ± margin", "relative standard error"]
    assert "Harbor" in html
    assert "Restaurants" in html
    assert "Jobs (jobs)" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert table.columns[:2] == ["cnty", "naics3"]  # what programs use stays as it is
    assert "001" in repr(table)


def test_a_table_is_drawn_with_one_call(table: gedp.Table) -> None:
    figure = table.plot("wage", most=5)  # type: ignore[attr-defined]
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    rows = sorted((row for row in table if row["attribute"] == "wage"), key=lambda row: -row["estimate"])[:5]
    assert [name.split(" · ")[0] for name in names] == [COUNTIES[row["cnty"]] for row in rows]
    assert [bar.get_width() for bar in axes.patches] == [row["estimate"] for row in rows]
    assert axes.get_xlabel() == "Wages (US dollars), with confidence intervals"
    figure.savefig(io.BytesIO(), format="png")
    with pytest.raises(DomainError, match="there are: jobs, wage"):
        table.plot("pay")  # type: ignore[attr-defined]


def test_a_total_is_drawn_too(table: gedp.Table) -> None:
    from gedp.release.estimated import EstimatesTable

    total = EstimatesTable(table.arrow.slice(0, 1).drop_columns(["cnty", "naics3"]), ())
    assert [label.get_text() for label in total.plot().axes[0].get_yticklabels()] == ["all together"]
    assert "estimate ± margin" in total._repr_html_()
