"""The same table, spec and seed give the same release, whatever moves inside the program."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.demonstration import Demonstration
from tests.house.lasting import Pin
from tests.house.releases import DIVIDED, LOCAL, make_demonstration, make_divided
from tests.house.same_release import (
    DEMONSTRATION,
    DERIVED,
    HOW,
    by_spark,
    differing,
    lines_that_differ,
    pins_of,
    read_pins,
)

PINS = read_pins()
pytestmark = pytest.mark.usefixtures("no_disk_waits")


def require_pinned(folder: Path, case: str, leave_out: Callable[[str], object] = lambda _: False) -> None:
    """Fails where files of a case are not what they were, and names them."""
    found = differing({name: pin for name, pin in PINS[case].items() if not leave_out(name)}, pins_of(folder))
    assert not found, f"{case}: {found}. {HOW}"


def test_every_case_is_pinned_and_nothing_else() -> None:
    assert sorted(PINS) == sorted([*LOCAL, DEMONSTRATION, *map(by_spark, DIVIDED)])


@pytest.mark.parametrize("case", LOCAL)
def test_a_seeded_release_and_all_that_is_made_of_it_are_what_they_were(case: str, tmp_path: Path) -> None:
    LOCAL[case](tmp_path / "made")
    require_pinned(tmp_path / "made", case)


@pytest.mark.parametrize("case", DIVIDED)
def test_a_table_in_parts_gives_the_same_release_and_ledger(case: str, tmp_path: Path) -> None:
    make_divided(case, tmp_path / "made")
    require_pinned(tmp_path / "made", case, DERIVED.match)


def test_a_seeded_release_by_the_command_line_is_what_it_was(demonstration: Demonstration, tmp_path: Path) -> None:
    make_demonstration(demonstration.copied_to(tmp_path / "demo"), tmp_path / "made")
    require_pinned(tmp_path / "made", DEMONSTRATION)


LINE = '{"by": "001", "estimate": 1234.5, "error": -0.25, "chance": 1e-05}'


@pytest.mark.parametrize(
    "changed",
    [
        LINE.replace("001", "003"),
        LINE.replace("1234.5", "1234.50001"),
        LINE.replace("-0.25", "0.25"),
        LINE.replace("-0.25", "-0.250000001"),
        LINE.replace("1e-05", "1.00001e-05"),
        '{"by": "001", "estimate": -0.25, "error": 1234.5, "chance": 1e-05}',
        LINE.replace("1234.5", "1235"),
    ],
)
def test_a_pin_of_rounded_numbers_notices_all_but_last_digits(changed: str) -> None:
    pin = Pin.rounded(LINE)
    assert not pin.agrees(Pin.rounded(changed))
    assert pin.agrees(Pin.rounded(LINE.replace("1234.5", "1234.5000000000002")))
    assert Pin.read(str(pin)) == pin


def test_a_pin_of_exact_numbers_notices_last_digits() -> None:
    assert not Pin.exact(LINE).agrees(Pin.exact(LINE.replace("1234.5", "1234.5000000000002")))
    assert not Pin.exact(LINE).agrees(Pin.rounded(LINE))


def test_files_that_differ_are_named_and_their_lines_are_shown() -> None:
    before, now = ({name: Pin.exact(name + end) for name in names} for names, end in (("ab", ""), ("bc", "!")))
    assert differing(before, now) == {"a": "missing", "b": "different", "c": "new"}
    assert differing(before, before) == {}
    shown = list(lines_that_differ("same\nold,same\n", "same\nnew,same\n"))
    assert [line for line in shown if line[0] in "+-"] == ["-old,", "+new,"]
