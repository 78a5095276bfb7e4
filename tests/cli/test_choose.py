"""`gedp choose`: the closest ψ and γ first, and the rule of today beside them."""

from pathlib import Path

from tests.helpers.runs import gedp as command


def test_the_closest_comes_first(tmp_path: Path) -> None:
    done = command("choose", "--protect", "10:2", "--protect", "1000:10%", "--p", "15", folder=tmp_path)
    assert done.code == 0
    assert 'NAME = { psi = "log", gamma = 0.106, shift = 10 }' in done.out
    assert "15% rule" in done.out
    assert "850.0 to 1,150.0" in done.out
    assert done.out.index("x + 10") < done.out.index("sqrt(x)")


def test_every_fault_is_named(tmp_path: Path) -> None:
    done = command("choose", "--protect", "ten:2", "--protect", "10:2", "--protect", "5", folder=tmp_path)
    assert done.code == 2
    assert "2 faults" in done.err
    assert "'ten:2'" in done.err
    assert "'5'" in done.err


def test_where_log_cannot_serve(tmp_path: Path) -> None:
    done = command("choose", "--protect", "0:3", "--protect", "100:10%", folder=tmp_path)
    assert "no gamma makes 0 and another value close" in done.out


def test_what_the_rule_demands_is_not_claimed_of_intervals(tmp_path: Path) -> None:
    """At mu = 2, whoever knows everything else comes within 10% nearly always, and the command says so."""
    done = command("choose", "--protect", "50000:10%", "--protect", "5e7:10%", "--p", "10", folder=tmp_path)
    said = " ".join(done.out.split())
    assert "holds against everybody" not in said
    assert "does not rule out an estimate within 10%" in said
    assert " 2 94.2% 94.2% " in said
    assert "at most 0.71 for 50%, at most 0.13 for 10%" in said


def test_nothing_is_within_a_percentage_of_0(tmp_path: Path) -> None:
    done = command("choose", "--protect", "0:3", "--p", "10", folder=tmp_path)
    assert done.code == 0
    assert "rule demands" not in done.out
