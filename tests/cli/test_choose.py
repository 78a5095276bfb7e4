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
