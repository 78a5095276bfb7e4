"""`gedp ledger`: what it prints, what it exits with, and that the commands in its help and in the docs run."""

import csv
import json
import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from gedp.cli import ledger as ledger_cli
from gedp.cli import main
from gedp.ledger import DecidedBy, KnownBy, Ledger, Request
from gedp.ledger import ledger as ledger_module
from gedp.policy import Attribute, Closeness
from tests.helpers.ledgers import EMP, SPEC, bodies, edit, history, price_list, rewrite, sealed, spend

pytestmark = pytest.mark.usefixtures("no_disk_waits")
DOCS = Path(__file__).parents[2] / "docs" / "ledger.md"


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return " ".join(self.out.split())


Run = Callable[..., Result]


@pytest.fixture
def gedp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_disk_waits: None
) -> Run:
    """Runs the program in a folder with a ledger; every error must end in a message, never a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    history(Path("ri.parquet.ledger"))

    def run(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["gedp", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        assert "Traceback" not in captured.err
        return Result(code, captured.out, captured.err)

    return run


LEDGER = "ri.parquet.ledger"


def test_show_lists_releases_total_promise_and_head(gedp: Run) -> None:
    result = gedp("ledger", "show", LEDGER)
    assert result.code == 0, result.err
    for expected in ("finished", "unspent", "abandoned", "reserved", "identity, county", "0.7159"):
        assert expected in result.out, expected
    assert "Spent: mu = 0.955249 of 2.31, the latest release's budget; mu = 2.103235 remains." in result.said
    assert "Over the 3 releases that count, taken together, nobody can tell" in result.said
    assert Ledger.open(LEDGER).verify().head in result.out
    assert "versions" not in result.out


def test_show_says_what_holds_when_releases_differ(gedp: Run) -> None:
    ledger = Ledger.open(LEDGER)
    other = Attribute("emp", Closeness("linear", Decimal(20)))
    prices = price_list("2.31", "0.1")
    decision = DecidedBy("the registrar", "memo 12")
    ledger.prepare(Request(prices, {"emp": other}), spec_digest=SPEC, decided_by=decision).reserve()
    rewritten = gedp("ledger", "show", LEDGER)
    assert "emp within psi = narrowed from (sqrt(x))/0.5 and (x)/20" in rewritten.said
    assert rewritten.said.count("the registrar") == 1  # a decision is shown once, with its reason
    assert "memo 12" in rewritten.said
    assert "the registrar decided to promise less" in ledger.promise().statement


def test_show_counts_the_versions_of_the_data(gedp: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"another version")
    Ledger.open(LEDGER).prepare(
        Request(price_list("2.31", "0.1"), {"emp": EMP}), KnownBy([data]), spec_digest=SPEC
    ).reserve()
    assert (
        "The data changed between releases (2 versions); all of them count together."
        in gedp("ledger", "show", LEDGER).said
    )


def test_an_empty_ledger_can_be_shown(gedp: Run) -> None:
    Ledger.open("new.ledger")
    result = gedp("ledger", "show", "new.ledger")
    assert result.code == 0
    assert "Nothing counts as released, so nothing is spent." in result.said
    assert gedp("ledger", "verify", "new.ledger").code == 0
    assert gedp("ledger", "remaining", "new.ledger", "--budget", "2").code == 0
    refused = gedp("ledger", "remaining", "new.ledger")
    assert refused.code == 2
    assert "give the budget" in refused.err


def test_verify_passes_and_knows_a_noted_head(gedp: Run) -> None:
    result = gedp("ledger", "verify", LEDGER)
    assert result.code == 0
    assert "The ledger is intact: 7 entries" in result.out
    noted = Ledger.open(LEDGER).verify().head
    spend(Ledger.open(LEDGER), "2.31", "0.1")
    grown = gedp("ledger", "verify", LEDGER, "--head", f"{noted.upper()}\n")
    assert grown.code == 0
    assert "8 entries; 1 since the noted head" in grown.out
    unknown = gedp("ledger", "verify", LEDGER, "--head", "0" * 64)
    assert unknown.code == 1
    assert "rewritten or put back to an older state" in unknown.err


def test_a_broken_ledger_ends_every_command_with_1_until_somebody_decides(gedp: Run) -> None:
    content = bodies(Path(LEDGER))[4]
    content["prices"][0]["mu_squared"] = "1/100"
    rewrite(Path(LEDGER), 5, content, hash_too=False)
    for arguments in (["verify"], ["show"], ["remaining"], ["export", "--out", "x.csv"]):
        result = gedp("ledger", arguments[0], LEDGER, *arguments[1:])
        assert result.code == 1, arguments
        assert "entry 5: its content does not match its hash" in result.err
        assert "nobody can tell" not in result.out
    decided = gedp("ledger", "decide", LEDGER, "--note", "the registrar: memo 12", "--add-mu", "0.1")
    assert decided.code == 0, decided.err
    assert "counting mu = 0.1 more: the registrar: memo 12" in decided.said
    verified = gedp("ledger", "verify", LEDGER)
    assert verified.code == 0
    assert "decided: entry 5: its content does not match its hash" in verified.out
    assert "the registrar: memo 12" in gedp("ledger", "show", LEDGER).out
    again = gedp("ledger", "decide", LEDGER, "--note", "once more")
    assert again.code == 1
    assert "nothing to decide" in again.err


def test_remaining_is_exact(gedp: Run) -> None:
    result = gedp("ledger", "remaining", LEDGER, "--budget", "1")
    assert result.code == 0
    assert "spent mu = 0.955249 (mu squared = 73/80)" in result.said
    assert "remaining mu = 0.295803 (mu squared = 7/80)" in result.said
    assert "budget mu = 2.31" in gedp("ledger", "remaining", LEDGER).said
    assert gedp("ledger", "remaining", LEDGER, "--budget", "much").code == 2
    assert gedp("ledger", "remaining", LEDGER, "--budget", "-1").code == 2


def test_export_as_json_lines_can_be_checked_by_anybody(gedp: Run) -> None:
    assert gedp("ledger", "export", LEDGER, "--out", "out.jsonl").code == 0
    lines = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["sequence"] for line in lines] == list(range(1, 8))
    for line, following in pairwise(lines):
        assert following["previous"] == line["hash"]
    for line in lines:
        digest = line.pop("hash")
        assert sealed(line)[1] == digest
    with closing(sqlite3.connect(LEDGER)) as connection:
        (key,) = connection.execute("SELECT fingerprint_key FROM identity").fetchone()
    assert key.hex() not in Path("out.jsonl").read_text(encoding="utf-8")


def test_export_as_csv_adds_up(gedp: Run) -> None:
    assert gedp("ledger", "export", LEDGER, "--out", "out.csv").code == 0
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    unspent = {row["release"] for row in rows if row["before_noise"] == "true"}
    total = sum(Fraction(r["mu_squared"]) for r in rows if r["kind"] == "reserve" and r["release"] not in unspent)
    assert total == Fraction(rows[-1]["total"]) == Ledger.open(LEDGER).total().mu_squared


def test_bad_usage_ends_with_2(gedp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (
        ["show", "absent.ledger"],
        ["show"],
        ["verify", "."],
        ["export", LEDGER],
        ["export", LEDGER, "--out", "x.xlsx"],
        ["export", LEDGER, "--out", "no/such/folder.csv"],
        ["decide", LEDGER],
        ["decide", LEDGER, "--note", " ", "--add-mu", "1"],
        ["decide", LEDGER, "--note", "x", "--add-mu", "nan"],
        ["nonsense", LEDGER],
    ):
        result = gedp("ledger", *arguments)
        assert result.code == 2, arguments
        assert result.err
    assert not Path("absent.ledger").exists(), "looking makes no ledger"
    Path("text").write_text("not a database" * 100, encoding="utf-8")
    assert gedp("ledger", "verify", "text").err == "gedp: text is not a ledger\n"


def test_damage_and_locks_end_with_1(gedp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_cli, "_open", lambda path: Ledger.open(path, create=False, wait=0.1))
    assert ledger_module.WAIT == 30
    with closing(sqlite3.connect(LEDGER, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        locked = gedp("ledger", "show", LEDGER)
        other.execute("ROLLBACK")
    assert locked.code == 1
    assert "in use by another process and did not become free within 0.1 s" in locked.err
    edit(Path(LEDGER), lambda connection: connection.execute("DROP TABLE entries"), restore_triggers=False)
    damaged = gedp("ledger", "verify", LEDGER)
    assert damaged.code == 1
    assert "Restore it from a backup" in damaged.err


def commands_in(text: str) -> list[str]:
    return [
        re.split(r" {3,}", line.strip())[0] for line in re.findall(r"^\s*(?:\$ )?gedp ledger .*", text, re.MULTILINE)
    ]


def help_texts() -> list[str]:
    group = ledger_cli.command
    commands = list(group.commands.values())
    assert all("Examples:" in (command.help or "") for command in (group, *commands))
    return [command.help or "" for command in (group, *commands)]


def needs_no_release(command: str) -> bool:
    """Commands about a release on disk run in test_run_failures."""
    return "--release" not in command and " finish " not in command


def test_the_commands_in_help_and_docs_run(gedp: Run) -> None:
    head = Ledger.open(LEDGER).verify().head
    pages = [
        *help_texts(),
        *re.findall(r"^ *```sh\n(.*?)^ *```", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE),
    ]
    commands = [command for page in pages for command in commands_in(page) if needs_no_release(command)]
    assert sum(" decide " in command for command in commands) == 4
    for command in commands:
        if " decide " in command and "--add-mu" not in command:
            edit(Path(LEDGER), lambda connection: connection.execute("UPDATE head SET total = '99/1'"))
        filled = command.replace('"$(cat noted-head.txt)"', head)
        result = gedp(*shlex.split(filled)[1:])
        assert result.code == 0, (command, result.err)
