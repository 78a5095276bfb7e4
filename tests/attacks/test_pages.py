"""Pages and words that would promise more than is kept, or carry a name where it does harm."""

import csv
import io
import os
import re
import subprocess
from contextlib import chdir, redirect_stdout
from decimal import Decimal
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss, power
from gedp.accounting.semantics import existence_mu
from gedp.csvfiles import unguarded
from gedp.explain.facts import existence_rows, protection_groups, warnings
from gedp.explain.page import explain_page
from gedp.explain.wording import existence_sentences
from gedp.numbers import bound
from gedp.policy import Spec, parse_spec, price
from gedp.policy.examples import example_names, find_spec
from tests.helpers.runs import gedp as command
from tests.helpers.runs import small_table, write_case
from tests.helpers.strategies import gammas
from tests.policy.test_spec import changed


def with_attribute(settings: str) -> Spec:
    return parse_spec(changed(('wage = { psi = "sqrt", gamma = 50 }', f"wage = {{ {settings} }}")))


def likelihood_power(spec: Spec, record: dict[str, float], loss: PrivacyLoss) -> float:
    """What the best test achieves at 5% false alarms if every attribute is answered by ψ with the noise of the spec.

    Between the record and nothing, each query of each attribute adds (distance of ψ / γ · its μ)² to the squared
    distance of the two normal distributions. The promise must cover it.
    """
    squared = 0.0
    for query in spec.queries:
        for name, mu in query.mu.items():
            protection = spec.policy.attributes[name].protection
            steps = abs(float(protection.psi.distance(record[name], 0.0))) / protection.gamma
            squared += (steps * float(mu)) ** 2
    assert loss.mu > 0
    return float(power(squared**0.5, 0.05))


def test_existence_is_promised_for_all_attributes_at_once() -> None:
    """An attacker who tells one job and its wage from nothing sees them all move: the promise must allow for that."""
    for spec in (find_spec("paper-equal"), find_spec("paper-baseline"), parse_spec(changed())):
        loss, groups = price(spec).total, protection_groups(spec.policy)
        rows = existence_rows(groups, loss)
        assert len(rows) >= 3
        for row in rows:
            record = {name: most for group, most in zip(groups, row.most, strict=True) for name in group.names}
            assert row.power >= likelihood_power(spec, record, loss) - 1e-12
        protections = {name: attribute.protection for name, attribute in spec.policy.attributes.items()}
        small = {name: 1000.0 if name == "wage" else 1.0 for name in protections}  # by its wage alone: one step
        assert existence_mu(protections, loss, small) == pytest.approx(2 * loss.mu)
        said = existence_sentences(groups, rows)
        one_job = next(text for text in said if re.search(r"emp of at most 1( each)?, and ", text))
        assert bound(float(power(2 * loss.mu, 0.05))) in one_job
        assert all(name in one_job for name in spec.policy.attributes)  # never attribute by attribute


def test_existence_takes_one_attribute_without_a_value_at_zero_to_fail() -> None:
    spec = with_attribute('psi = "log", gamma = 0.5')
    groups = protection_groups(spec.policy)
    assert existence_rows(groups, price(spec).total) == ()
    page = explain_page(spec, "x")
    assert "not protected: at 0, ψ has no value for wage." in page
    assert "nothing at all with a chance" not in page


NOTHING = [
    'psi = "linear", gamma = 0.01',
    'psi = "linear", gamma = 0.99',
    'psi = "linear", gamma = 5, unit = 10',
    'psi = "log", gamma = 0.004',
    'psi = "log", gamma = 1e-12',
    'psi = "sqrt", gamma = 0.001',
    'psi = "sqrt", gamma = 1e-9',
    'psi = "sqrt", gamma = 0.03',  # one more or less from 278 on, which is 0.7%
    'psi = "log", gamma = 0.001, shift = 1, unit = 0.01',  # wide below 0.1 alone, where no other value is possible
    'psi = "sqrt", gamma = 0.01, unit = 100',
    'psi = "linear", gamma = 1e-3, at_least = { psi = "linear", gamma = 0.5 }',
    'psi = "linear", gamma = 1e-3, typical = 1',
]
ONE_UNIT = {  # and what is missing, or to be said
    'psi = "linear", gamma = 1': "if values are 0 and 1 alone, say so with typical = 1.",
    'psi = "linear", gamma = 1, typical = 900': "larger values are hardly hidden",
    'psi = "linear", gamma = 0.01, unit = 0.01': "So 0 and 0.01 count as close",
    'psi = "linear", gamma = 2, person = 12500, unit = 2': "at any size, and a person contributes 12,500.",
}
SENSIBLE = [
    'psi = "sqrt", gamma = 0.5',
    'psi = "sqrt", gamma = 50',
    'psi = "log", gamma = 0.1',
    'psi = "log", gamma = 0.1, shift = 3',
    'psi = "linear", gamma = 10',
    'psi = "linear", gamma = 1, person = 1',  # hides a person, as it says
    'psi = "linear", gamma = 1, typical = 1',  # hides a yes or no
    'psi = "linear", gamma = 1000, unit = 0.01',
    'psi = "sqrt", gamma = 0.5, signed = true',
    'psi = "log", gamma = 0.1, at_least = { psi = "linear", gamma = 3 }',
]


@pytest.mark.parametrize("settings", NOTHING)
def test_a_policy_that_protects_nothing_is_remarked_everywhere(settings: str) -> None:
    spec = with_attribute(settings)
    (said,) = warnings(spec, price(spec).total)
    assert said.startswith("wage is all but unprotected")
    assert 'role="alert"' in explain_page(spec, "x")


@pytest.mark.parametrize(("settings", "told"), ONE_UNIT.items())
def test_what_one_unit_hides_is_said_and_not_called_nothing(settings: str, told: str) -> None:
    (said,) = warnings(spec := with_attribute(settings), price(spec).total)
    assert told in said
    assert "unprotected" not in said


@pytest.mark.parametrize("settings", SENSIBLE)
def test_a_sensible_policy_is_not(settings: str) -> None:
    spec = parse_spec(
        changed(
            ('wage = { psi = "sqrt", gamma = 50 }', f"wage = {{ {settings} }}"),
            *([('by = ["cnty"]', 'by = ["cnty"]\nmechanism = "pnc"')] if "signed" in settings else []),
        )
    )
    assert warnings(spec, price(spec).total) == []
    assert 'role="alert"' not in explain_page(spec, "x")


@pytest.mark.usefixtures("no_disk_waits")
@pytest.mark.parametrize("gamma", ["0.001", "0.1"])
def test_the_terminal_and_the_report_remark_it_too(gamma: str, tmp_path: Path) -> None:
    """And only then; the report also says how well having anything hides, over all attributes."""
    write_case(tmp_path, ('psi = "log", gamma = 0.1', f'psi = "log", gamma = {gamma}'), table=small_table(60))
    ended = command("explain", "spec.toml", folder=tmp_path)
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    said = "wage is all but unprotected: at every size, intervals are narrower than 1%"
    terminal = " ".join(ended.out.split())
    assert [said in text for text in (terminal, page)] == [gamma == "0.001"] * 2
    assert ("Warning:" in terminal, 'role="alert"' in page) == (gamma == "0.001", gamma == "0.001")
    told = re.findall(
        r"An establishment with emp of at most ([\d.,]+), and wage of at most ([\d.,]+) can be told from", page
    )
    assert len(told) == 1
    assert all(float(most.replace(",", "")) > 0 for most in told[0])


def test_neither_are_the_specs_that_come_with_gedp() -> None:
    found = {name: warnings(find_spec(name), price(find_spec(name)).total) for name in example_names()}
    assert found == {"individual": [], "paper-baseline": [], "paper-confidential": [], "paper-equal": []}


@given(
    st.sampled_from(["sqrt", "log", "linear"]),
    gammas,
    st.floats(0.0001, 1),
    st.sampled_from(["0.01", "1", "1000"]),
    st.sampled_from(["", ", person = 1"]),
    st.booleans(),
)
def test_a_narrower_gamma_never_silences_a_warning(
    psi: str, gamma: float, share: float, unit: str, person: str, widened: bool
) -> None:
    wide = round(Decimal(gamma / 100), 12)
    widening = ", at_least = { psi = 'linear', gamma = 0.003 }" if widened else ""
    policies = [
        with_attribute(f'psi = "{psi}", gamma = {g:f}, unit = {unit}{person}{widening}')
        for g in (wide, max(round(wide * Decimal(share), 12), Decimal("1e-12")))
    ]
    said = [warnings(policy, PrivacyLoss.of(1)) for policy in policies]
    assert len(said[0]) <= len(said[1])


@given(st.floats(0, 50), st.floats(1, 10))
def test_a_larger_mu_never_silences_a_warning(mu: float, factor: float) -> None:
    spec = parse_spec(changed())
    weaker, stronger = (warnings(spec, PrivacyLoss.of(m)) for m in (mu, mu * factor))
    assert len(weaker) <= len(stronger)
    assert bool(weaker) == (float(power(mu, 0.05)) >= 0.99)


def test_a_mu_at_which_the_attacker_all_but_succeeds_is_remarked() -> None:
    spec = parse_spec(changed())
    assert warnings(spec, PrivacyLoss.of("3.9")) == []
    (said,) = warnings(spec, PrivacyLoss.of(4))
    assert re.search(r"next to nothing.* at most 99\.\d%", said)
    (said,) = warnings(spec, PrivacyLoss.of(40))
    assert "more than 99.9%" in said


NASTY = [
    "$(touch harm)`touch harm`",
    "'; touch harm; '",
    'a" && touch harm && "',
    "<script>document.title='harm'</script>",
    "&lt;b&gt; & 'quoted\\' \"twice\"",
    "-o /harm",
    "a,b Gemeinde 雪 ñ",
    " edge ",
]


def code_of(html: str, kind: str) -> str:
    return unescape(re.findall(f'<code class="{kind}">(.*?)</code>', html, re.DOTALL)[0])


def toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.usefixtures("no_disk_waits")
@pytest.mark.parametrize("name", NASTY)
def test_names_of_columns_do_no_harm_in_the_report(name: str, tmp_path: Path) -> None:
    """The commands on the page run as they are, for any name, and run nothing else; no name is markup."""
    attribute = f"{name.strip()} too"
    table = small_table(60)
    table = table.rename_columns(
        [{"cnty": name, "emp": attribute}.get(column, column) for column in table.column_names]
    )
    spec_file = write_case(tmp_path, table=table)
    text = spec_file.read_text(encoding="utf-8")
    text = text.replace('"cnty"', toml(name)).replace("emp =", f"{toml(attribute)} =")
    spec_file.write_text(text, encoding="utf-8")
    ended = command("run", "spec.toml", folder=tmp_path)
    assert ended.code == 0, ended.err
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<b>", html)

    programs, out = tmp_path / "programs", tmp_path / "out"
    programs.mkdir()
    (programs / "gedp").write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {programs}/given\n", encoding="utf-8")
    (programs / "gedp").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", code_of(html, "shell")], cwd=out, env=environment, check=True)
    given = (programs / "given").read_text(encoding="utf-8").split("\0")[:-1]
    shell = command(*given, folder=out)
    assert shell.code == 0, shell.err
    printed = io.StringIO()
    with chdir(out), redirect_stdout(printed):
        exec(code_of(html, "python"), {})
    assert unguarded(next(csv.DictReader(io.StringIO(shell.out)))["attribute"]) == attribute
    assert attribute in printed.getvalue()
    assert not list(tmp_path.rglob("*harm*"))
