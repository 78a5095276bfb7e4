"""The spec file: all faults at once with their lines, exact prices, and back to TOML without loss."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, FaultsError
from gedp.neighbors import Linear, Protection, Signed, Sqrt, widen
from gedp.policy import (
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Policy,
    Query,
    Spec,
    parse_spec,
    price,
    read_spec,
    require_within_budget,
    write_spec,
)
from gedp.policy.examples import example_names, example_text, find_spec

GOOD = """\
[data]
source = "ri.parquet"
id = "key"
public = ["cnty", "naics"]

[groupers]
naics5 = { column = "naics", prefix = 5 }

[attributes]
emp = { psi = "sqrt", gamma = 0.5 }
wage = { psi = "sqrt", gamma = 50 }

[budget]
mu = 1.4

[[queries]]
name = "identity"
by = "establishment"
mu = 0.7

[[queries]]
name = "county"
by = ["cnty"]
mu = { emp = 0.7, wage = 0.7 }
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(FaultsError) as raised:
        parse_spec(text)
    return [str(fault) for fault in raised.value.faults]


def changed(*replacements: tuple[str, str]) -> str:
    text = GOOD
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_reads_what_is_written() -> None:
    spec = parse_spec(GOOD)
    assert spec.data == Data("ri.parquet", ("cnty", "naics"), "key")
    assert spec.groupers == {"naics5": Grouper("naics5", "naics", prefix=5)}
    assert spec.policy.attributes["emp"].protection == Protection(Sqrt(), 0.5)
    assert spec.queries[0].is_identity
    assert spec.queries[0].mu == {"emp": Decimal("0.7"), "wage": Decimal("0.7")}
    assert spec.queries[1] == Query("county", ("cnty",), spec.queries[0].mu)
    assert spec.output == Output("out", Decimal("0.95"))
    assert spec.microdata == MicrodataOptions("quasi")


def test_five_mistakes_are_five_faults_in_the_order_of_the_file() -> None:
    faults = faults_of(
        changed(
            ('"naics", prefix', '"naic", prefix'),
            ('emp = { psi = "sqrt"', 'emp = { psi = "sqroot"'),
            ("gamma = 50", "gamma = -50"),
            ('by = ["cnty"]', 'by = ["county"]'),
            ("{ emp = 0.7, wage", "{ emp = 0.7, wages"),
        )
    )
    assert len(faults) == 5
    for fault, (line, place, hint) in zip(
        faults,
        [
            (7, "groupers.naics5.column", "Did you mean 'naics'?"),
            (10, "attributes.emp.psi", "Did you mean 'sqrt'?"),
            (11, "attributes.wage.gamma", "a number above 0"),
            (23, "queries[2].by", "Did you mean 'cnty'?"),
            (24, "queries[2].mu.wages", "Did you mean 'wage'?"),
        ],
        strict=True,
    ):
        assert fault.startswith(f"line {line}, {place}: ")
        assert hint in fault


@pytest.mark.parametrize(
    ("old", "new", "place", "hint"),
    [
        ("[data]", "[date]", "line 1, date", "Did you mean 'data'?"),
        ('source = "ri.parquet"\n', "", "line 1, data.source", "Give a text"),
        ('public = ["cnty", "naics"]', 'public = ["cnty", "cnty", "naics"]', "data.public", "different names"),
        ('public = ["cnty", "naics"]', 'public = ["cnty", "naics", "establishment"]', "data.public", "Rename"),
        ('id = "key"', 'id = "cnty"', "data.id", "Remove it from public"),
        ("prefix = 5", "prefix = 0", "groupers.naics5.prefix", "at least 1"),
        ("prefix = 5", "prefix = true", "groupers.naics5.prefix", "whole number"),
        ("prefix = 5", 'prefix = 5, map = "a.csv"', "groupers.naics5", "Give one of"),
        ("naics5 = {", "cnty = {", "groupers.cnty", "another name"),
        (
            'naics5 = { column = "naics", prefix = 5',
            '"a/b" = { column = "naics", map = "a.csv"',
            "groupers.a/b",
            "letters",
        ),
        (
            "prefix = 5 }",
            'map = "a.csv" }\nNAICS5 = { column = "naics", map = "b.csv" }',
            "groupers.NAICS5",
            "two files can have",
        ),
        ('psi = "sqrt", gamma = 0.5', "gamma = 0.5", "attributes.emp.psi", "Give a text"),
        ("gamma = 0.5", "gamma = 0", "attributes.emp.gamma", "above 0"),
        ("gamma = 0.5", "gamma = nan", "attributes.emp.gamma", "above 0"),
        ("gamma = 0.5", "gamma = inf", "attributes.emp.gamma", "above 0"),
        ("gamma = 0.5", 'gamma = "0.5"', "attributes.emp.gamma", "above 0"),
        ("gamma = 0.5", "gamma = 0.5, shift = -1", "attributes.emp.shift", "0 or more"),
        ("gamma = 0.5", "gamma = 0.5, unit = 0", "attributes.emp.unit", "above 0"),
        ("gamma = 0.5", "gamma = 0.5, gama = 1", "attributes.emp.gama", "'gamma'"),
        ('emp = { psi = "sqrt", gamma = 0.5', 'emp = { psi = "linear", gamma = 0.5, shift = 1', "shift", "Remove it"),
        ('emp = { psi = "sqrt"', 'emp = { signed = true, psi = "log"', "attributes.emp.signed", "shift"),
        ("emp = {", "cnty = {", "attributes.cnty", "List each column once"),
        ("gamma = 50 }", "gamma = 50, at_least = { psi = 'linear' } }", "at_least.gamma", "above 0"),
        ("gamma = 50 }", "gamma = 50, at_least = 3 }", "attributes.wage.at_least", "list of tables"),
        ("mu = 1.4\n", "", "line 13, budget.mu", "above 0"),
        ("[budget]\nmu = 1.4\n", "", "budget", "a table"),
        ("mu = 1.4", "mu = 0", "line 14, budget.mu", "above 0"),
        ('name = "county"', 'name = "Identity"', "queries[2].name", "its own name"),
        ('name = "county"', 'name = "a/b"', "queries[2].name", "letters"),
        ('name = "county"\n', "", "queries[2].name", "Give a text"),
        ('by = ["cnty"]', 'by = ["establishment"]', "queries[2].by", 'by = "establishment"'),
        ('by = ["cnty"]', 'by = "cnty"', "queries[2].by", 'by = ["cnty"]'),
        ("mu = { emp = 0.7, wage = 0.7 }", "mu = {}", "queries[2].mu", "each attribute"),
        ("mu = { emp = 0.7, wage = 0.7 }", "mu = -1", "queries[2].mu", "above 0"),
        ("mu = { emp = 0.7, wage = 0.7 }", "mu = 1\nmechanism = 'pcn'", "queries[2].mechanism", "'pnc'"),
        ("mu = 0.7\n", "mu = 0.7\nmechanism = 'pnc'\n", "queries[1].mechanism", "psi or auto"),
        ("mu = 0.7\n", "mu = { emp = 0.7 }\n[microdata]\nweights = 'quasy'\n", "microdata.weights", "'quasi'"),
    ],
)
def test_each_fault_has_its_place_and_a_suggestion(old: str, new: str, place: str, hint: str) -> None:
    faults = faults_of(changed((old, new)))
    assert any(place in fault and hint in fault for fault in faults), faults


def test_a_misspelt_key_is_one_fault() -> None:
    assert len(faults_of(changed(("source =", "sourse =")))) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('public = ["cnty", "naics"]', 'publik = ["cnty", "naics"]'),
        ('public = ["cnty", "naics"]', "public = 3"),
        ("[data]", "[date]"),
        ("[attributes]", "[atributes]"),
        ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = "sqrt"'),
        ("naics5 = {", "naics5 = 5 # {"),
        ('name = "county"', "name = 3"),
        ('{ column = "naics"', "{ column = 3"),
        ("gamma = 0.5 }", "gamma = 0.5, at_least = { psi = 'linear', gamma = 1, extra = 2 } }"),
        ("mu = { emp", "extra = 1\nmu = { emp"),
        ("gamma = 0.5", "gamma = true"),
        ("emp = {", "key = {"),
        ("naics5 = {", "establishment = {"),
        ('name = "county"', 'name = "con"'),
        ('name = "county"', 'name = "a."'),
        ('name = "county"', 'name = "a\\tb"'),
    ],
)
def test_one_mistake_is_one_fault(old: str, new: str) -> None:
    text = changed((old, new))
    if "key = {" in new:
        text = text.replace("emp = 0.7", "key = 0.7")
    assert len(faults_of(text)) == 1, faults_of(text)


@pytest.mark.parametrize("section", ["output", "microdata"])
def test_unknown_keys_are_found_everywhere(section: str) -> None:
    (fault,) = faults_of(GOOD + f"\n[{section}]\nnonsense = 1\n")
    assert f"{section}.nonsense: this key is not known" in fault


def test_words_are_recognised_in_any_case() -> None:
    (fault,) = faults_of(changed(('emp = { psi = "sqrt"', 'emp = { psi = "SQRT"')))
    assert "Did you mean 'sqrt'?" in fault


def test_shift_and_sign_survive_the_way_to_the_file_and_into_the_protection() -> None:
    spec = parse_spec(changed(("gamma = 0.5 }", "gamma = 0.5, shift = 2.5, signed = true }")))
    assert spec.policy.attributes["emp"].protection == Protection(Signed(Sqrt(2.5)), 0.5)
    assert parse_spec(write_spec(spec)) == spec


@pytest.mark.parametrize("confidence", ["1", "0", "95"])
def test_confidence_is_a_probability(confidence: str) -> None:
    (fault,) = faults_of(GOOD + f"\n[output]\nconfidence = {confidence}\n")
    assert "below 1" in fault


def test_pnc_needs_the_identity_query_of_that_attribute() -> None:
    text = changed(("mu = 0.7\n", "mu = { emp = 0.7 }\n"), ("wage = 0.7 }", 'wage = 0.7 }\nmechanism = "pnc"'))
    (fault,) = faults_of(text)
    assert "sums of wage need the identity query" in fault


def test_the_identity_of_an_attribute_is_asked_once() -> None:
    faults = faults_of(changed(('by = ["cnty"]', 'by = "establishment"')))
    assert len(faults) == 2
    assert "another identity query asks for emp, wage too" in faults[0]


def test_sums_of_signed_values_are_never_left_to_psi() -> None:
    signed = changed(('emp = { psi = "sqrt"', 'emp = { signed = true, psi = "sqrt"'))
    assert parse_spec(signed).policy.attributes["emp"].protection == Protection(Signed(Sqrt()), 0.5)
    (fault,) = faults_of(signed.replace("wage = 0.7 }", 'wage = 0.7 }\nmechanism = "psi"'))
    assert "both signs" in fault
    faults = faults_of(signed.replace("mu = 0.7\n", "mu = { wage = 0.7 }\n"))
    assert any("sums of emp need the identity query" in fault for fault in faults)


def test_at_least_widens_the_protection() -> None:
    text = changed(("gamma = 0.5 }", "gamma = 0.5, at_least = { psi = 'linear', gamma = 3 } }"))
    protection = parse_spec(text).policy.attributes["emp"].protection
    assert protection == widen(Protection(Sqrt(), 0.5), Protection(Linear(), 3))
    assert parse_spec(write_spec(parse_spec(text))) == parse_spec(text)


def test_syntax_error_names_the_line() -> None:
    (fault,) = faults_of("[data\n")
    assert "line 1" in fault


def test_unreadable_files_are_one_fault(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes("# caf\xe9\n".encode("latin-1"))
    for path, problem in ((tmp_path / "absent.toml", "no such file"), (tmp_path, "directory"), (latin, "UTF-8")):
        with pytest.raises(FaultsError, match=problem):
            read_spec(path)
    empty = tmp_path / "empty.toml"
    empty.touch()
    with pytest.raises(FaultsError, match="4 faults"):
        read_spec(empty)


def test_price_is_the_same_by_query_and_by_attribute() -> None:
    prices = price(parse_spec(GOOD))
    assert prices.total == PrivacyLoss.of("1.4")
    assert prices.of_query("county") == prices.of_attribute("emp") == PrivacyLoss(prices.total.mu_squared / 2)
    assert sum(prices.share(prices.of_query(name)) for name in ("identity", "county")) == 1


@pytest.mark.parametrize(("emp", "wage", "budget"), [("0.42", "0.56", "0.7"), ("0.9", "2.16", "2.34")])
def test_a_price_exactly_equal_to_the_budget_passes(emp: str, wage: str, budget: str) -> None:
    assert float(emp) ** 2 + float(wage) ** 2 > float(budget) ** 2  # floats would refuse it
    single_query = GOOD[: GOOD.rindex("[[queries]]")]
    text = single_query.replace("mu = 0.7", f"mu = {{ emp = {emp}, wage = {wage} }}").replace("1.4", budget)
    require_within_budget(price(parse_spec(text)))
    with pytest.raises(BudgetExceededError):
        require_within_budget(
            price(parse_spec(text.replace(f"mu = {budget}", f"mu = {Decimal(budget) - Decimal('1e-20')}")))
        )


def test_over_budget_is_refused_with_a_way_out() -> None:
    prices = price(parse_spec(changed(("mu = 1.4", "mu = 1.3999"))))
    assert not prices.within_budget
    with pytest.raises(
        BudgetExceededError, match=r"Multiply every query's mu by 0\.9999, or its rho by 0\.9998,"
    ) as raised:
        require_within_budget(prices)
    assert raised.value.exit_code == 1


@pytest.mark.parametrize(
    ("name", "total", "by_query"),
    [
        ("paper-confidential", 2.28, [0.7 * 3**0.5, 0.2 * 3**0.5, 0.6 * 3**0.5, 0.6 * 3**0.5, 0.7 * 3**0.5]),
        ("paper-equal", 2.31, [1.222, 0.358, 1.05, 1.05, 1.222]),
        ("paper-baseline", 2.31, [1.22, 0.36, 1.05, 1.05, 1.22]),  # as the paper's table prints them
    ],
)
def test_the_papers_budget_tables_cost_what_it_says(name: str, total: float, by_query: list[float]) -> None:
    spec = find_spec(name)
    prices = price(spec)
    assert prices.within_budget
    assert prices.total.mu == pytest.approx(total, abs=0.005)
    assert [prices.of_query(query.name).mu for query in spec.queries] == pytest.approx(by_query, abs=0.005)


def test_examples_are_found_by_name_and_files_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert example_names() == ["individual", "paper-baseline", "paper-confidential", "paper-equal"]
    monkeypatch.chdir(tmp_path)
    Path("paper-equal").write_text(GOOD, encoding="utf-8")
    assert find_spec("paper-equal") == parse_spec(GOOD)
    with pytest.raises(FaultsError, match="individual, paper-baseline, paper-confidential, paper-equal"):
        example_text("paper")


# Back and forth without loss.

names = st.text("abcdefgh0123456789_-. é\"'\\#[]{}=", min_size=1, max_size=12).filter(str.strip)
plain_names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name != "establishment")
amounts = st.decimals("0.0001", 1000, places=4)
shifts = st.sampled_from([Decimal(0), Decimal("1.5")])
closenesses = (
    st.builds(Closeness, st.just("sqrt"), amounts, shifts)
    | st.builds(Closeness, st.just("log"), st.decimals("0.0001", 50, places=4), shifts)
    | st.builds(Closeness, st.just("linear"), amounts)
)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    columns = draw(st.lists(names, min_size=5, max_size=9, unique=True))
    id_column, grouper, *rest = columns
    public, confidential = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    attributes = {
        name: Attribute(
            name,
            draw(closenesses),
            draw(amounts),
            at_least=tuple(draw(st.lists(closenesses, max_size=2))),
            person=draw(st.none() | amounts),
        )
        for name in confidential
    }
    prefix = draw(st.integers(1, 9) | st.none())
    lookup = None if prefix else draw(names)
    if lookup:  # the release will have a file of the grouping's name
        grouper = draw(plain_names.filter(lambda name: name not in columns))
    queries = [Query("all of them", ("establishment",), dict.fromkeys(attributes, draw(amounts)))]
    for name in draw(st.lists(plain_names, max_size=4, unique=True)):
        by = draw(st.lists(st.sampled_from([grouper, *public]), unique=True))
        asked = draw(st.lists(st.sampled_from(confidential), min_size=1, unique=True))
        mechanism = draw(st.sampled_from(["auto", "psi", "pnc"]))
        queries.append(Query(name, tuple(by), {a: draw(amounts) for a in asked}, mechanism))
    return Spec(
        Data(draw(names), tuple(public), draw(st.none() | st.just(id_column)), draw(st.booleans())),
        Policy(attributes, draw(amounts)),
        tuple(queries),
        {grouper: Grouper(grouper, public[0], prefix, lookup)},
        MicrodataOptions(draw(st.sampled_from(["quasi", "plug-in"]))),
        Output(draw(names), draw(st.decimals("0.01", "0.99", places=2))),
    )


@given(specs())
def test_writing_and_reading_gives_the_same_spec(spec: Spec) -> None:
    assert parse_spec(write_spec(spec)) == spec


@given(specs())
def test_the_price_is_the_sum_of_squares(spec: Spec) -> None:
    total = price(spec).total
    assert total.mu_squared * 10**8 == sum(int(mu * 10**4) ** 2 for query in spec.queries for mu in query.mu.values())
    exactly = replace(spec, policy=replace(spec.policy, mu=Decimal(1000)))
    assert price(exactly).within_budget == (total.mu_squared <= 10**6)


def test_a_misspelt_public_column_is_one_fault_where_it_is_written() -> None:
    twice = ('by = ["cnty"]', 'by = ["cnty"]\nmu = 0.1\n\n[[queries]]\nname = "more"\nby = ["cnty", "naics5"]')
    assert faults_of(changed(('public = ["cnty"', 'public = ["cntyy"'), twice)) == [
        "line 4, data.public: nothing asks for 'cntyy', but 2 keys of this file ask for 'cnty'. Did you mean 'cnty'?"
    ]
    (once,) = faults_of(changed(('public = ["cnty"', 'public = ["cntyy"')))
    assert once.startswith("line 23, queries[2].by: 'cnty' is neither a public column nor a grouping")
    (other,) = faults_of(changed(('by = ["cnty"]', 'by = ["cntyy"]')))
    assert other.startswith("line 23, queries[2].by: 'cntyy' is neither")
