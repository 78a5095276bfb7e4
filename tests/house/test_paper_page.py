"""The table of everything in the paper: complete both ways, against the items and against the paper's own source."""

import re
from pathlib import Path

import pytest

from gedp_lab.reproduce.registry import item_names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper.md"
SOURCE = ROOT.parent / "shared" / "paper" / "paper.tex"
TITLE = "## Everything in the paper"
#: Kinds of labels that are a table, figure, theorem, algorithm, remark, example or definition; sections are not.
KINDS = ("algo", "def", "ex", "example", "fig", "remark", "tab", "thm")
#: Equations that something here computes. The others are steps of proofs.
EQUATIONS = {"eq:modelEmpN4", "eq:modelqp1N4", "eqn:microdata"}


def rows() -> list[list[str]]:
    """The cells of the table, without its heading."""
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index(TITLE) + len(TITLE) :].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[1:]]


def items_of(text: str) -> set[str]:
    return set(re.findall(r"`reproduce ([a-z_]+)`", text))


def labels_of(text: str) -> list[str]:
    return re.findall(r"`((?:algo|def|ex|example|fig|remark|tab|thm|eqn?):[^`]+)`", text)


def test_every_row_says_where_it_is_and_what_came_of_it() -> None:
    assert len(rows()) > 50
    for cells in rows():
        assert len(cells) == 3, cells
        what, here, outcome = cells
        assert what, cells
        assert outcome, cells
        assert here or "below" in outcome, cells


def test_every_item_is_in_the_table_and_every_item_of_the_table_exists() -> None:
    assert set().union(*(items_of(here) for _, here, _ in rows())) == set(item_names())
    assert items_of(PAGE.read_text(encoding="utf-8")) <= set(item_names())


def test_no_label_is_in_the_table_twice() -> None:
    labels = [label for what, _, _ in rows() for label in labels_of(what)]
    assert len(labels) == len(set(labels))


@pytest.mark.skipif(not SOURCE.exists(), reason="needs the source of the paper")
def test_everything_that_the_paper_labels_is_in_the_table_and_nothing_else() -> None:
    found = re.findall(r"\\label\{([^}]+)\}", SOURCE.read_text(encoding="utf-8"))
    wanted = {label for label in found if label.count(":") == 1 and label.split(":")[0] in KINDS} | EQUATIONS
    assert {label for what, _, _ in rows() for label in labels_of(what)} == wanted


def test_nothing_claims_to_be_every_table_and_figure() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in pages:
        assert not re.search(r"every\s+table\s+and\s+figure", path.read_text(encoding="utf-8"), re.IGNORECASE), path
