"""Files that commands write where they are told: never over what they read, nor over a table with a ledger."""

from pathlib import Path

import pytest

from gedp.csvfiles import write_csv
from tests.helpers.runs import gedp, small_table, write_case

MAP = ("[groupers]\n", '[groupers]\nhalf = { column = "naics", map = "halves.csv" }\n')
DRAFT = ("init", "t.csv", "--public", "cnty", "--force", "--out")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table in t.csv, with its spec and an earlier release."""
    write_case(tmp_path, ("t.parquet", "t.csv"), ('by = ["cnty"]', 'by = ["cnty", "half"]'), MAP)
    write_csv(small_table(), tmp_path / "t.csv")
    (tmp_path / "halves.csv").write_text("naics,half\n1111,1\n1122,1\n2222,2\n2361,2\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "target"),
    [
        (DRAFT, "t.csv"),
        (DRAFT, "./../{}/t.csv"),
        (("plan", "spec.toml", "--html"), "spec.toml"),
        (("plan", "spec.toml", "--html"), "t.csv"),
        (("plan", "spec.toml", "--html"), "halves.csv"),
        (("explain", "spec.toml", "--html"), "spec.toml"),
        (("explain", "spec.toml", "--html"), "t.csv"),
        (("explain", "paper-equal", "--with", "spec.toml", "--html"), "spec.toml"),
    ],
)
def test_what_a_command_reads_is_never_replaced(folder: Path, command: tuple[str, ...], target: str) -> None:
    target = target.format(folder.name)
    before = (folder / target).read_bytes()
    ended = gedp(*command, target, folder=folder)
    assert ended.code == 2, ended
    assert "the output would overwrite the input" in ended.err
    assert (folder / target).read_bytes() == before


def test_a_table_with_a_ledger_is_never_replaced(folder: Path) -> None:
    assert gedp("run", "spec.toml", folder=folder).code == 0
    before = (folder / "t.csv").read_bytes()
    commands = [
        ("ledger", "export", "t.csv.ledger", "--out"),
        ("tabulate", "out", "--by", "cnty", "--out"),
        ("report", "out", "--out"),
        ("explain", "out", "--html"),
        ("plan", "paper-equal", "--like", "out", "--html"),
    ]
    for command in commands:
        ended = gedp(*command, "t.csv", folder=folder)
        assert ended.code == 2, command
        assert "name another file" in ended.err
    assert (folder / "t.csv").read_bytes() == before
    manifest = (folder / "out" / "manifest.json").read_bytes()
    assert gedp("explain", "out", "--html", "out/manifest.json", folder=folder).code != 0
    assert (folder / "out" / "manifest.json").read_bytes() == manifest
