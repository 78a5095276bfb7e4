"""What is changed, what notices it, and which changes are known: `make mutants` runs these first."""

import dataclasses
from pathlib import Path

import pytest

from tools.mutants.__main__ import sampled
from tools.mutants.changes import SOURCE, Mutant, of_module
from tools.mutants.covering import Covering
from tools.mutants.equivalent import Equivalent, read
from tools.mutants.trial import in_a_child, noticed, swapped

CODE = '''
"""Words that stay 1."""
from dataclasses import dataclass

LIMIT = 2 * 3
@dataclass(frozen=True)
class Box:
    size: int = 4
    @property
    def half(self) -> "int | None":
        return self.size // 2
def put(box: Box, *, twice: bool = False) -> None:
    if box.size:
        raise ValueError(f"too large by {box.size - 1}")
    store(box, len([box, box]), strict=True)
'''

FILE = "accounting/composition.py"
TESTS = ["tests/accounting/test_composition.py"]


def changed(code: str) -> Mutant:
    return Mutant(FILE, "", "", "", (1, 1), (1, 1), code)


def test_constants_properties_conditions_and_calls_are_changed_and_words_and_types_are_not() -> None:
    keys = {mutant.key.removeprefix("box.py ") for mutant in of_module("box.py", CODE)}
    assert keys == {
        "module: LIMIT = 2 * 3 → LIMIT = 2 / 3",
        "module: LIMIT = 2 * 3 → LIMIT = 3 * 3",
        "module: LIMIT = 2 * 3 → LIMIT = 2 * 4",
        "Box: size: int = 4 → size: int = 5",
        "Box.half: return self.size // 2 → return self.size / 2",
        "Box.half: return self.size // 2 → return self.size // 3",
        "put: def put(box: Box, *, twice: bool = False) -> None: → def put(box: Box, *, twice: bool = True) -> None:",
        "put: if box.size: → if not (box.size):",
        'put: raise ValueError(f"too large by {box.size - 1}") → pass',
        'put: raise ValueError(f"too large by {box.size - 1}") → raise ValueError(f"too large by {box.size + 1}")',
        'put: raise ValueError(f"too large by {box.size - 1}") → raise ValueError(f"too large by {box.size - 2}")',
        "put: store(box, len([box, box]), strict=True) → pass",
        "put: store(box, len([box, box]), strict=True) → store(len([box, box]), strict=True)",
        "put: store(box, len([box, box]), strict=True) → store(box, strict=True)",
    }


def test_a_change_is_found_again_wherever_its_function_moves() -> None:
    moved = {mutant.key for mutant in of_module("box.py", CODE.replace("LIMIT", "\n\n\nLIMIT"))}
    assert moved == {mutant.key for mutant in of_module("box.py", CODE)}


@pytest.mark.parametrize(
    ("addition", "outcome"),
    [("\n# nothing", "no"), ("\nraise ValueError", "test"), ("\nwhile True: pass", "time")],
)
def test_a_trial_tells_what_is_noticed_from_what_is_not(addition: str, outcome: str, tmp_path: Path) -> None:
    code = (SOURCE / FILE).read_text(encoding="utf-8")
    assert noticed(changed(code + addition), TESTS, 4, tmp_path / "log") == outcome, (tmp_path / "log").read_text()


def test_a_property_in_use_gets_its_changed_code_and_a_constant_a_module_of_its_own(tmp_path: Path) -> None:
    code = (SOURCE / FILE).read_text(encoding="utf-8")
    mutants = {mutant.key: mutant for mutant in of_module(FILE, code)}
    rho = mutants[f"{FILE} PrivacyLoss.rho: return self.mu_squared / 2 → return self.mu_squared * 2"]
    nothing = mutants[f"{FILE} module: NOTHING = PrivacyLoss(Fraction(0)) → NOTHING = PrivacyLoss(Fraction(1))"]

    def run() -> int:
        from gedp.accounting.composition import PrivacyLoss

        loss = PrivacyLoss.of(2)
        assert loss.rho == 2
        assert swapped(rho)
        assert loss.rho == 8
        assert not swapped(nothing)
        return 0

    assert in_a_child(run, tmp_path / "log") == 0, (tmp_path / "log").read_text()
    assert noticed(nothing, TESTS, 4, tmp_path / "log") == "test"


def test_what_no_test_runs_is_not_noticed(tmp_path: Path) -> None:
    assert noticed(changed("raise ValueError"), [], 4, tmp_path / "log") == "no"


def test_tests_are_chosen_by_line_then_by_function_then_by_file_the_rooms_own_and_quick_ones_first() -> None:
    own, quick, other = "tests/accounting/test_a.py::test", "tests/noise/test_b.py::test", "tests/noise/test_c.py::test"
    covering = Covering({own: 4.0, quick: 1.0, other: 2.0}, {FILE: {5: [quick, own], 7: [other]}})
    here = dataclasses.replace(changed(""), lines=(5, 5), around=(4, 7))
    assert covering.tests(here, 20) == [own, quick]
    assert covering.tests(here, 4) == [own]
    assert covering.tests(dataclasses.replace(here, lines=(6, 6)), 20) == [own, quick, other]
    assert covering.tests(dataclasses.replace(here, lines=(1, 1), around=(1, 1)), 20) == [own, quick, other]
    assert covering.tests(dataclasses.replace(here, file="accounting/series.py"), 20) == []


def test_a_sample_stays_what_it_was_when_other_code_changes() -> None:
    before = of_module("box.py", CODE)
    after = of_module("box.py", CODE.replace("LIMIT = 2 * 3", "LIMIT = 7"))
    common = {mutant.key for mutant in before} & {mutant.key for mutant in after}
    chosen = {mutant.key for mutant in sampled(before, 8, 1)}
    assert len(chosen) == 8
    assert chosen & common <= {mutant.key for mutant in sampled(after, 8, 1)}
    assert chosen != {mutant.key for mutant in sampled(before, 8, 2)}
    assert len(sampled(before, 0, 1)) == len(before)


def test_a_reason_without_its_change_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.toml"
    file.write_text('[[reason]]\nwhy = "so"\nchanges = ["a/box.py put: if x: → if not (x):", "b/c.py d: e → f"]\n')
    known = read(file)
    assert "b/c.py d: e → f" in known
    assert known.unmatched("a", []) == ["a/box.py put: if x: → if not (x):"]
    assert Equivalent(frozenset()).unmatched("a", []) == []
