"""A document says the same on a terminal and on a page, and loses nothing where there is little room."""

import io
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from gedp.documents import Block, Chart, Charts, Document, Heading, Lines, OnPage, Paragraph, PrintedTable, to_html
from gedp.documents.terminal import to_terminal

TABLE = PrintedTable(
    "Price of each query",
    ["query", "number of establishments", "wage in the quarter", "asked for", "share"],
    [
        ["county and industry", "1,000,000 (3%)", "2.5", "often and by everybody", "30%"],
        ["all", "1", "<2", "never", "70%"],
    ],
    note="Shares are of the whole.",
    texts=["asked for"],
    footer=["all queries", "1,000,001", "4.5", "", "100%"],
)


def printed(*blocks: Block, width: int = 80, is_terminal: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=is_terminal, no_color=True, markup=False, highlight=False
    )
    to_terminal(console, Document("The title", blocks))
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[\d*m", "", console.file.getvalue()).removeprefix("The title\n")


def words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in text.split()}


@pytest.mark.parametrize("width", [200, 80, 50, 36])
def test_no_word_of_a_heading_and_no_number_is_broken_or_lost(width: int) -> None:
    shown = printed(TABLE, width=width, is_terminal=True)
    assert max(map(len, shown.splitlines())) <= width
    numbers = {cell for row in [*TABLE.rows, TABLE.footer] for cell in (*row[1:3], row[4])}
    assert all(number in shown for number in numbers)
    assert words(TABLE.headings) <= words([shown])
    assert words(TABLE.rows[0]) <= words([shown])
    assert words([TABLE.caption, TABLE.note]) <= words([shown])


def test_a_table_that_is_too_wide_goes_on_below_with_the_names_of_its_rows() -> None:
    narrow = printed(TABLE, width=36)
    assert printed(TABLE, width=80).count("all queries") == 1
    assert narrow.count("all queries") == 2
    assert narrow.count(TABLE.caption) == narrow.count(TABLE.note) == 1


def test_short_cells_are_whole_before_long_ones() -> None:
    row = ["2026-11-18 11:52", "anna", "identity, county and a few others, with long names", "1.7"]
    table = PrintedTable("", ["when", "who", "queries", "mu"], [row, row], texts=["who", "queries"])
    assert printed(table, width=50).splitlines()[2].startswith("2026-11-18 11:52  anna  identity, county and ")


def test_a_line_of_a_heading_may_end_after_an_underscore() -> None:
    table = PrintedTable("", ["area", "total_qtrly_wages"], [["001", "12"]])
    assert printed(table, width=12).splitlines()[:3] == ["      total_", "      qtrly_", "area   wages"]


def test_headings_have_as_few_lines_as_there_is_room_for() -> None:
    def lines(width: int) -> int:
        return printed(TABLE, width=width).splitlines().index("─" * width_of(width)) - 1

    def width_of(width: int) -> int:
        return max(len(line) for line in printed(TABLE, width=width).splitlines()[1:] if set(line) == {"─"})

    assert [lines(120), lines(80)] == [1, 2]


def test_sentences_are_whole_in_a_file_and_broken_between_words_on_a_terminal() -> None:
    sentence = "Nobody can tell the true values from others. " * 5
    assert sentence.strip() in printed(Paragraph(sentence), width=40)
    shown = printed(Paragraph(sentence), width=40, is_terminal=True)
    assert max(map(len, shown.splitlines())) <= 40
    assert shown.split() == sentence.split()


def test_what_a_terminal_cannot_show_is_left_out_or_replaced() -> None:
    charts = [Chart("<svg></svg>", "a chart")]
    assert printed(Charts(charts)) == ""
    assert printed(Charts(charts, "Errors fall.")) == "Errors fall.\n"
    assert printed(OnPage("<nav></nav>")) == ""
    assert printed(OnPage("<nav></nav>", [Heading("Instead"), Lines(["a", "b"])])) == "Instead\n  a\n  b\n"


def test_an_empty_line_parts_what_does_not_belong_together() -> None:
    blocks = Heading("One"), Paragraph("a"), Paragraph("b"), Paragraph("c", "warning"), Heading("Two"), Lines(["d"])
    assert printed(*blocks) == "One\na\nb\n\nWarning: c\n\nTwo\n  d\n"


def test_a_terminal_leaves_out_headings_that_nothing_follows() -> None:
    drawn = Charts([Chart("<svg></svg>")])
    blocks = Heading("A"), drawn, Heading("B"), Heading("C", 3), drawn, Heading("D"), Heading("E", 3), Lines(["e"])
    assert printed(*blocks, Heading("F")) == "D\nE\n  e\n"


def test_a_page_shows_everything_as_text() -> None:
    blocks: list[Block] = [
        Heading("A & B", anchor="a"),
        Paragraph("<promise>", "promise"),
        Paragraph("<warned>", "warning"),
        Lines(["<line>"]),
        TABLE,
        Charts([Chart("<svg></svg>", "<drawn>", "boxes")]),
        OnPage("<nav>links</nav>", [Paragraph("instead")]),
    ]
    page = to_html(Document("<title>", blocks), banner="<div>banner</div>")
    assert "<title>gedp: &lt;title&gt;</title>" in page
    assert page.index("<div>banner</div>") < page.index("<main>\n<h1>&lt;title&gt;</h1>")
    assert '<h2 id="a">A &amp; B</h2>' in page
    for text in ("promise", "warned", "line", "drawn"):
        assert f"&lt;{text}&gt;" in page
    assert '<td class="text">never</td>' in page
    assert '<p class="soft">Shares are of the whole.</p>' in page
    assert '<figure class="boxes"><svg></svg>' in page
    assert "<nav>links</nav>" in page
    assert "instead" not in page


def test_a_table_without_rows_has_its_headings() -> None:
    assert printed(PrintedTable("", ["", "a"], [])).split()[0] == "a"
