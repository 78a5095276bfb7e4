"""What a spec without prices promises and costs, on the terminal and on the page."""

from decimal import Decimal
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gedp.documents.terminal import to_terminal
from gedp.explain.document import explain_document
from gedp.explain.expected import error_lines, typical_error
from gedp.explain.facts import warnings
from gedp.explain.page import explain_page
from gedp.explain.tables import importance_table, price_table
from gedp.neighbors.estimates import PsiAnswers
from gedp.policy import Attribute, Closeness, parse_spec, price
from gedp.release.words import AS_WRITTEN
from tests.helpers.runs import SPEC, gedp, write_case
from tests.policy.test_classes import INDIVIDUAL as CLASSES
from tests.policy.test_combinations import INDIVIDUAL as COMBINATIONS
from tests.policy.test_individual import GOOD


def test_explain_shows_importance_and_pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spec.toml").write_text(GOOD, encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "100")
    explained = gedp("explain", "spec.toml", folder=tmp_path)
    assert explained.code == 0, explained
    shown = " ".join(explained.out.split())
    assert "Importance of each query and attribute" in shown
    assert "county 0.5 3 Each establishment pays" in shown
    assert "for all answers about an attribute together: emp μ = 0.3, wage μ = 0.424265, profit μ = 0.3." in shown
    assert "Total μ = 0.6, within the budget of 1.4." in shown


def test_the_page_says_the_same() -> None:
    page = explain_page(parse_spec(GOOD), "policy")
    assert "Importance of each query and attribute" in page
    assert "μ of all answers about each attribute" in page
    assert "Total μ = 0.6, within the budget of 1.4." in page
    assert "wage μ = 0.424265" in page


def test_tables_of_texts() -> None:
    spec = parse_spec(GOOD)
    layout = price_table(price(spec))
    assert layout.rows[1] == ("wage", "0.424265", "50.0%")
    assert layout.footer == ("all attributes", "0.6", "100.0%")
    rows = [("identity", "0", "0", "0"), ("total", "1", "1", "1"), ("county", "0.5", "3", "")]
    assert importance_table(spec).rows == rows


def test_a_release_that_spends_far_too_much_is_told_to_spend_less() -> None:
    spec = parse_spec(GOOD.replace("mu = 1.4\nspend = 0.6", "mu = 9"))
    (warning,) = warnings(spec, price(spec).total)
    assert warning.endswith("Spend less.")


def test_a_dry_run_says_what_is_settled_and_where_to_see_errors(tmp_path: Path) -> None:
    write_case(tmp_path)
    lines = [line for line in SPEC.splitlines() if not line.startswith(("mu = 0", "mu = {", "mechanism"))]
    (tmp_path / "spec.toml").write_text("\n".join(lines), encoding="utf-8")
    checked = gedp("run", "spec.toml", "--dry-run", folder=tmp_path)
    assert checked.code == 0, checked
    assert "first answers about establishments would cost: emp mu = 0." in checked.out
    assert "gedp plan spec.toml" in checked.out


def test_explain_has_a_line_of_expected_error_for_every_query() -> None:
    spec = parse_spec(GOOD)
    lines = error_lines(spec)
    assert [line.partition(":")[0] for line in lines] == [query.name for query in spec.queries]
    assert all("±" in line for line in lines)


def test_the_expected_error_of_a_typical_cell_is_that_of_one_noisy_answer() -> None:
    attribute = parse_spec(GOOD).policy.attributes["emp"]
    protection, chance = attribute.protection, np.random.default_rng(1)
    expected = typical_error(attribute, mu=0.3)
    omega = protection.psi(np.full(200_000, expected.total)) + chance.normal(0, protection.gamma / 0.3, 200_000)
    drawn = PsiAnswers(protection.psi, omega, protection.gamma / 0.3).estimate()
    assert expected.error == pytest.approx(float(np.std(drawn)), rel=0.01)


def test_noise_without_end_is_said_in_words() -> None:
    wide = Attribute("x", Closeness("log", Decimal("0.2"), Decimal(1)))
    assert typical_error(wide, mu=0.001).said(AS_WRITTEN).endswith("noise that is too large to be useful")


def test_queries_by_classes_and_for_combinations_count_in_the_table_of_importance() -> None:
    for text in (CLASSES, COMBINATIONS):
        spec = parse_spec(text)
        table = importance_table(spec)
        shown = {row[0]: dict(zip(table.headings[1:], row[1:], strict=True)) for row in table.rows}
        others = [query for query in spec.queries if not query.is_plain]
        assert others
        for query in others:
            asked = {name: number for name, number in shown[query.name].items() if number}
            assert asked == {name: str(number) for name, number in query.importance.items()}


def test_many_names_are_listed_once() -> None:
    names = [f"a{place:02d}" for place in range(30)]
    wide = "\n".join(f'{name} = {{ psi = "sqrt", gamma = 0.5, person = 1 }}' for name in names)
    spec = parse_spec(
        f'[data]\nsource = "t.parquet"\npublic = ["cnty"]\n[attributes]\n{wide}\n[budget]\nmu = 1\n'
        '[[queries]]\nname = "county"\nby = ["cnty"]\n'
    )
    console = Console(width=400, record=True, file=StringIO())
    to_terminal(console, explain_document(spec, "many"))
    said = console.export_text()
    assert "An establishment with a00, a01 and 28 more of at most 1 each" in said
    assert all(said.count(name) == 1 for name in names[2:])
