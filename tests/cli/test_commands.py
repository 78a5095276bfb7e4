"""The command line: exit codes, messages, quick help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import gedp_lab.cli
from gedp import __version__
from gedp.cli import COMMANDS, LABORATORY, SUMMARIES, cli
from gedp.explain.facts import all_publishers
from gedp.policy import parse_spec
from tests.helpers.runs import gedp
from tests.policy.test_spec import GOOD, changed


def process(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command as people start it. What it prints and how it ends is the same in this process, in less time."""
    command = [sys.executable, "-m", "gedp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_version_and_help(tmp_path: Path) -> None:
    assert process("--version", folder=tmp_path).stdout == f"gedp {__version__}\n"
    result = process("--help", folder=tmp_path)
    assert result.returncode == 0
    assert all(name in result.stdout for name in SUMMARIES)


def test_the_laboratory_adds_its_commands_and_without_it_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(SUMMARIES) == {*COMMANDS, *LABORATORY}
    assert set(gedp_lab.cli.COMMANDS) == LABORATORY
    monkeypatch.setattr(cli, "summaries", COMMANDS)
    result = gedp("demo", folder=tmp_path)
    assert result.code == 2
    assert "'demo' is a command of the laboratory, which is not installed" in result.err


@pytest.mark.parametrize("arguments", [("explain", "paper-equal"), ("explain", "nothing"), ("examples",)])
def test_a_process_of_its_own_ends_as_the_command_does_here(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ended, here = process(*arguments, folder=tmp_path), gedp(*arguments, folder=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (here.code, here.out, here.err)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['gedp', '--help']\nfrom gedp.cli import cli\ntry: cli()\nexcept SystemExit: pass\n"
    heavy = "print(sorted({'numpy', 'scipy', 'rich', 'matplotlib', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code + heavy], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("given", "expected"), [(None, str(max(1, (os.cpu_count() or 1) // 2))), ("7", "7")])
def test_linear_algebra_gets_half_of_the_cores_unless_told_otherwise(given: str | None, expected: str) -> None:
    program = "from gedp.cli import main; import os, sys; sys.argv = ['gedp', '--version']\n"
    program += "try: main()\nexcept SystemExit: print(os.environ['OPENBLAS_NUM_THREADS'])"
    environment = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    said = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == expected


@pytest.mark.parametrize("command", SUMMARIES)
def test_every_command_has_help_with_examples(command: str, tmp_path: Path) -> None:
    result = gedp(command, "--help", folder=tmp_path)
    assert result.code == 0
    assert "Examples:" in result.out


def test_explain_shows_intervals_power_prices_and_other_accounting(tmp_path: Path) -> None:
    result = gedp("explain", "paper-baseline", "--sizes", "3,36,360,36000", folder=tmp_path)
    assert result.code == 0, result.err
    for expected in ("1.5", "42.2", "35,810.5", "49.3%", "74.6%", "84.8%", "0.3606", "2.30651", "zCDP", "a firm's 10"):
        assert expected in result.out, expected


def test_explain_reports_all_five_mistakes_with_exit_code_2(tmp_path: Path) -> None:
    text = changed(
        ('"naics", prefix', '"naic", prefix'),
        ('emp = { psi = "sqrt"', 'emp = { psi = "sqroot"'),
        ("gamma = 50", "gamma = -50"),
        ('by = ["cnty"]', 'by = ["county"]'),
        ("{ emp = 0.7, wage", "{ emp = 0.7, wages"),
    )
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    result = gedp("explain", "bad.toml", folder=tmp_path)
    assert result.code == 2
    assert result.err.startswith("gedp: bad.toml: 5 faults\n  line 7")
    assert result.err.count("\n  line ") == 5
    assert "Traceback" not in result.err


def test_over_budget_ends_with_exit_code_1_and_the_price_list(tmp_path: Path) -> None:
    (tmp_path / "dear.toml").write_text(changed(("mu = 1.4", "mu = 1.2")), encoding="utf-8")
    result = gedp("explain", "dear.toml", folder=tmp_path)
    assert result.code == 1
    assert "identity" in result.out
    assert "over the budget of 1.2" in result.out
    assert "Multiply every query's mu by 0.8571" in result.err


def test_two_publishers(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(changed(("gamma = 0.5", "gamma = 0.2")), encoding="utf-8")
    (tmp_path / "ours.toml").write_text(GOOD, encoding="utf-8")
    public = changed(
        ("gamma = 50", "gamma = 5"),
        ("emp = {", "jobs = {"),
        ("emp = 0.7", "jobs = 0.7"),
        ('"naics"]', '"naics", "emp"]'),
    )
    (tmp_path / "open.toml").write_text(public, encoding="utf-8")
    refused = gedp("explain", "ours.toml", "--with", "open.toml", folder=tmp_path)
    assert (refused.code, "emp: confidential in one spec and public in another" in refused.err) == (1, True)
    (tmp_path / "dear.toml").write_text(changed(("mu = 1.4", "mu = 1.2")), encoding="utf-8")
    assert gedp("explain", "ours.toml", "--with", "dear.toml", folder=tmp_path).code == 1
    result = gedp("explain", "ours.toml", "--with", "other.toml", folder=tmp_path)
    assert result.code == 0, result.err
    said = result.out[result.out.index("Together with other.toml") :]
    assert "μ = 1.9799" in said
    assert "emp: psi = narrowed from (sqrt(x))/0.5 and (sqrt(x))/0.2" in " ".join(said.split())
    assert "wage: psi = sqrt(x), gamma = 50" in said
    refused = gedp("explain", "ours.toml", "--with", "other.toml", "--with", "open.toml", folder=tmp_path)
    assert (refused.code, "emp: confidential in one spec" in refused.err) == (1, True)
    three = gedp("explain", "ours.toml", "--with", "other.toml", "--with", "ours.toml", folder=tmp_path)
    assert "All 3 releases together promise μ = 2.4249" in three.out[three.out.index("Together with") :]


def test_three_publishers_that_differ_promise_the_narrowest_intervals(tmp_path: Path) -> None:
    for name, gamma, mu in (("a", "0.5", "0.7"), ("b", "0.25", "0.3"), ("c", "2", "0.1")):
        text = changed(("gamma = 0.5", f"gamma = {gamma}"), ("mu = 0.7\n", f"mu = {mu}\n"))
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    result = gedp("explain", "a.toml", "--with", "b.toml", "--with", "c.toml", folder=tmp_path)
    said = result.out[result.out.index("Together with b.toml, c.toml") :]
    assert "All 3 releases together promise μ = 2.0" in said  # √(2·(0.7² + 0.3² + 0.1²) + 6·0.7²) is 2.0298
    specs = [parse_spec((tmp_path / f"{name}.toml").read_text(encoding="utf-8")) for name in "abc"]
    low, high = all_publishers(specs).protections["emp"].interval(36)
    assert (low, high) == pytest.approx((33.0625, 39.0625))  # those of gamma = 0.25


def test_one_record_is_explained_against_another(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(changed(("gamma = 50", "gamma = 50, person = 12000")), encoding="utf-8")
    pair = ["--record", "emp=36,wage=500000", "--against", "emp=40, wage=620000"]
    result = gedp("explain", "p.toml", *pair, "--html", "p.html", folder=tmp_path)
    assert result.code == 0, result.err
    said = " ".join(result.out.split())
    assert "wage 500,000 620,000 2" in said
    assert "They are not close: 2 steps apart, by wage." in said
    assert "One record against another" in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "μ = 4.2" in said  # a person within 3 steps
    assert "100% of the region's people if they may be asked twice, and 50% if not" in said
    assert "Rényi" in said
    for wrong in ("emp", "emp=x,wage=1", "emp=1,emp=2", ""):
        assert gedp("explain", "p.toml", "--record", wrong, "--against", wrong, folder=tmp_path).code == 2
    missing = gedp("explain", "p.toml", "--record", "emp=1", "--against", "emp=1,pay=2", folder=tmp_path)
    assert missing.code == 2
    assert "wage has no value; pay is not an attribute" in missing.err
    assert gedp("explain", "p.toml", "--record", "emp=1,wage=1", folder=tmp_path).code == 2


def test_bad_usage_ends_with_exit_code_2(tmp_path: Path) -> None:
    assert gedp("explain", "absent.toml", folder=tmp_path).code == 2
    assert gedp("explain", folder=tmp_path).code == 2
    assert gedp("nonsense", folder=tmp_path).code == 2
    assert gedp("explain", "paper-equal", "--sizes", "3,x", folder=tmp_path).code == 2
    unwritable = gedp("explain", "paper-equal", "--html", str(tmp_path / "no" / "such" / "page.html"), folder=tmp_path)
    assert unwritable.code == 2
    assert "cannot write" in unwritable.err
    assert "Traceback" not in unwritable.err


def test_examples_are_listed_and_printed(tmp_path: Path) -> None:
    assert gedp("examples", folder=tmp_path).out.startswith("individual")
    (tmp_path / "mine.toml").write_text(gedp("examples", "paper-equal", folder=tmp_path).out, encoding="utf-8")
    assert gedp("explain", "mine.toml", folder=tmp_path).code == 0
    assert gedp("examples", "nothing", folder=tmp_path).code == 2


def test_a_policy_with_everything_in_it_is_explained(tmp_path: Path) -> None:
    text = changed(
        ('emp = { psi = "sqrt", gamma = 0.5 }', "'[/red] emp' = { psi = 'log', gamma = 0.2, shift = 4, person = 2 }"),
        ("emp = 0.7", "'[/red] emp' = 0.7"),
        ("gamma = 50 }", "gamma = 2, signed = true, at_least = { psi = 'linear', gamma = 7 } }"),
    )
    (tmp_path / "rich.toml").write_text(text, encoding="utf-8")
    result = gedp("explain", "rich.toml", "--sizes", "10,1", "--html", "rich.html", folder=tmp_path)
    assert result.code == 0, result.err
    said = " ".join(result.out.split())
    assert "[/red] emp" in said
    assert "log(x + 4), gamma = 0.2" in said
    assert "8.1 16.7" not in said  # the log without its shift
    assert "7.5 13.1" in said  # 14 e^-0.2 - 4 and 14 e^0.2 - 4
    assert "1 −6.7 10.0" in said  # x/7 below 3.0625, then (√x)/2, on both sides of 0
    assert "A person who contributes 2 to [/red] emp" in said
    assert "a firm's 2 establishments at once 2.8 " in said
    assert (
        "An establishment with [/red] emp of at most 3, and wage of −47 to 47 can be told from one with nothing" in said
    )


def test_existence_without_protection_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "log.toml").write_text(changed(('emp = { psi = "sqrt"', 'emp = { psi = "log"')), encoding="utf-8")
    said = " ".join(gedp("explain", "log.toml", folder=tmp_path).out.split())
    assert "Whether it has anything at all is not protected: at 0, ψ has no value for emp." in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mu = 1.4", "mu = 1e400"),
        ("mu = 1.4", "mu = 1e9999999"),
        ("mu = 1.4", "mu = 1e99999999999999999999"),
        ("mu = 1.4", f"mu = {'9' * 5000}"),
        ("mu = 1.4", f"mu = {'[' * 3000}"),
        ("gamma = 0.5", "gamma = 1e-300"),
        ("gamma = 0.5", "gamma = 1e300"),
        ("gamma = 0.5", "gamma = 0.5, person = 1e400"),
        ("gamma = 0.5", "gamma = 0.5, shift = 1e400"),
        ('emp = { psi = "sqrt", gamma = 0.5', 'emp = { psi = "log", gamma = 800'),
        ("mu = 0.7", "mu = 1e-200"),
    ],
)
def test_numbers_beyond_all_use_are_faults(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(changed((old, new)), encoding="utf-8")
    result = gedp("explain", "odd.toml", "--html", "odd.html", folder=tmp_path)
    assert result.code == 2
    assert result.err.startswith("gedp: odd.toml: 1 fault")


def test_a_large_budget_is_explained_without_nonsense(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(changed(("mu = 1.4", "mu = 40"), ("mu = 0.7", "mu = 20")), encoding="utf-8")
    result = gedp("explain", "large.toml", "--html", "large.html", folder=tmp_path)
    assert result.code == 0, result.err
    assert "nan" not in result.out
    assert "an attacker all but succeeds" in result.out
    assert result.err == ""


def test_many_queries_and_attributes_are_shown_quickly_and_whole(tmp_path: Path) -> None:
    attributes = "".join(f"a{i} = {{ psi = 'sqrt', gamma = 0.5 }}\n" for i in range(20))
    mu = ", ".join(f"a{i} = {0.001 + i / 10_000:.4f}" for i in range(20))
    queries = "".join(f"[[queries]]\nname = 'q{i}'\nby = ['cnty']\nmu = {{ {mu} }}\n" for i in range(100))
    text = f"[data]\nsource = 'x'\npublic = ['cnty']\n[attributes]\n{attributes}[budget]\nmu = 1\n{queries}"
    (tmp_path / "many.toml").write_text(text, encoding="utf-8")
    result = gedp("explain", "many.toml", folder=tmp_path)
    assert result.code == 0, result.err
    assert re.search(r"^query .*a19", result.out, re.MULTILINE)
    assert re.search(r"^q99 .*0\.0029", result.out, re.MULTILINE)


def test_a_spec_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_text(GOOD, encoding="utf-8-sig")
    assert gedp("explain", "bom.toml", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("publish out --to package --passphrase-file p", "--passphrase-file is of the key that signs"),
        ("publish out --to package --rounding whole --no-whole", "contradict each other"),
        ("tabulate out --by cnty --name foo=bar", "--name is for the attributes of --ratio and --agglvl"),
        ("evaluate out --truth t.parquet --within naics3", "--within goes with --with-earlier"),
    ],
)
def test_options_that_would_do_nothing_are_refused(typed: str, problem: str, tmp_path: Path) -> None:
    ended = gedp(*typed.split(), folder=tmp_path)
    assert ended.code == 2
    assert problem in ended.err


def test_paths_are_printed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    assert "Wrote :100:.html" in gedp("explain", "my.toml", "--html", ":100:.html", folder=tmp_path).out


def test_pages_never_replace_the_spec_or_a_device(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    assert gedp("explain", "my.toml", "--html", "my.toml", folder=tmp_path).code == 2
    assert (tmp_path / "my.toml").read_text(encoding="utf-8") == GOOD
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in gedp("explain", "my.toml", "--html", "pipe", folder=tmp_path).err


@pytest.mark.parametrize(("typed", "meant"), [("tabluate", "tabulate"), ("RUN", "run"), ("micordata", "microdata")])
def test_a_misspelt_command_is_told_its_neighbour(typed: str, meant: str) -> None:
    said = CliRunner().invoke(cli, [typed])
    assert said.exit_code == 2
    assert f"there is no command {typed!r}. Did you mean {meant!r}?" in said.output


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("gedp mic", ["microdata"]),
        ("gedp microdata --eng", ["--engine"]),
        ("gedp microdata --engine ", ["local", "spark"]),
    ],
)
def test_bash_completes_what_was_typed(typed: str, completed: list[str]) -> None:
    """As bash does it: the function of the script is called with the words so far."""
    words = typed.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    script = f'''eval "$(_GEDP_COMPLETE=bash_source gedp)"
        COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
        _gedp_completion gedp; printf '%s\\n' "${{COMPREPLY[@]}}"'''
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert said.stdout.split() == completed


def many_attributes(tmp_path: Path) -> None:
    """A spec with 24 attributes that are alike and one that is not, at `many.toml`."""
    names = [f"m{place}" for place in range(24)]
    alike = "\n".join(f'{name} = {{ psi = "sqrt", gamma = 0.5 }}' for name in names)
    mu = ", ".join(f"{name} = 0.3" for name in names)
    (tmp_path / "many.toml").write_text(
        f'[data]\nsource = "t.csv"\npublic = ["cnty"]\n[attributes]\n{alike}\nwage = {{ psi = "sqrt", gamma = 50 }}\n'
        f'[budget]\nmu = 9\n[[queries]]\nname = "county"\nby = ["cnty"]\nmu = {{ {mu}, wage = 0.7 }}\n'
    )


def test_prices_of_many_attributes_fold(tmp_path: Path) -> None:
    many_attributes(tmp_path)
    said = gedp("explain", "many.toml", folder=tmp_path).out.partition("μ of each query")[2]
    listed = said.partition("Errors to expect")[0]
    assert "each of m0, m1 and 22" in listed
    assert "m7" not in listed
    assert re.search(r"county +0\.3 +0\.7 +1\.628", listed)
    few = gedp("explain", "paper-equal", folder=tmp_path).out
    assert "each of" not in few


def test_sizes_can_be_of_one_attribute(tmp_path: Path) -> None:
    many_attributes(tmp_path)
    said = gedp("explain", "many.toml", "--sizes", "m1=3,36,wage=50000", "--sizes", "7", folder=tmp_path).out
    tables = said.partition("The attacker's power")[0].split("Uncertainty intervals of ")[1:]
    shown = [re.findall(r"^([\d,]+) ", table, re.MULTILINE) for table in tables]
    assert [table.split(" ")[0].rstrip(",") for table in tables] == ["m0", "m1", "wage"]
    assert shown == [["7"], ["3", "36"], ["50,000"]]
    wrong = gedp("explain", "many.toml", "--sizes", "WAGES=3", folder=tmp_path)
    assert (wrong.code, "Did you mean 'wage'?" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["EXPLAIN", "paper-equal"], "explain"),
        (["ledger", "SHWO", "x.ledger"], "show"),
        (["explain", "paper-equal", "--HTML", "x"], "--html"),
        (["run", "x.toml", "--dryrun"], "--dry-run"),
        (["synth", "qcw"], "qcew"),
    ],
)
def test_misspelt_commands_and_options_are_told_what_was_meant(typed: list[str], meant: str, tmp_path: Path) -> None:
    ended = gedp(*typed, folder=tmp_path)
    assert (ended.code, f"Did you mean '{meant}'?" in ended.err) == (2, True), ended.err
