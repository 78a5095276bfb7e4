import pyarrow as pa
import pytest

from gedp_lab.synth.cbp.codes import industry_digits, padded, parent_of, qwi_code, sector_of


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("------", ""),
        ("00", ""),
        ("23----", "23"),
        ("31-33", "31"),
        ("236///", "236"),
        ("2361//", "2361"),
        ("23611/", "23611"),
        ("236116", "236116"),
        ("2361", "2361"),
        ("236x//", None),
        ("", None),
        ("2361161", None),
    ],
)
def test_digits_of_every_way_to_write_an_industry(written: str, digits: str | None) -> None:
    assert industry_digits(pa.array([written])).to_pylist() == [digits]


@pytest.mark.parametrize("code", ["", "31", "336", "3361", "33611", "336111"])
def test_padding_is_undone_by_reading(code: str) -> None:
    assert industry_digits(pa.array([padded(code)])).to_pylist() == [code]
    assert industry_digits(pa.array([qwi_code(code)])).to_pylist() == [code]


def test_parents_follow_the_sectors_that_span_prefixes() -> None:
    assert [parent_of(code) for code in ("336111", "33611", "3361", "336", "31", "452", "493")] == [
        "33611",
        "3361",
        "336",
        "31",
        "",
        "44",
        "48",
    ]
    assert sector_of("4931") == "48"
