"""ζ, the chance of any clipping: from the spec or the command line into the manifest, and never into the price."""

from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gedp
from tests.helpers.runs import SYNTHETIC, small_table, write_spec
from tests.helpers.runs import gedp as command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(small_table(200), tmp_path / "t.parquet")
    pnc = ("wage = 0.1 }", 'wage = 0.1 }\nmechanism = "pnc"')
    write_spec(tmp_path, SYNTHETIC, pnc, ("[budget]\n", "[clipping]\nzeta = 0.2\n\n[budget]\n"))
    return tmp_path


def test_zeta_of_the_spec_is_used_and_the_command_replaces_it(folder: Path) -> None:
    releases = {}
    for zeta in (None, "0.5", "0.000001"):
        option = [] if zeta is None else ["--zeta", zeta]
        out = f"out {zeta}"
        ended = command("run", "spec.toml", "--answers-only", "--out", out, *option, folder=folder)
        assert ended.code == 0, ended.err
        releases[zeta] = gedp.read_release(folder / out).manifest
    assert [m.zeta for m in releases.values()] == [Fraction(1, 5), Fraction(1, 2), Fraction(1, 10**6)]
    assert all(m.spec.zeta is not None and m.zeta == Fraction(m.spec.zeta) for m in releases.values())
    assert len({m.prices.total for m in releases.values()}) == 1


def test_a_larger_zeta_means_less_noise(folder: Path) -> None:
    errors = {}
    spec = gedp.read_spec(folder / "spec.toml")
    for zeta in (0.5, 1e-9):
        release = gedp.run(spec, out=folder / f"{zeta}", zeta=zeta, answers_only=True, seed=1)
        errors[zeta] = sum(release.table("county")["std_error"])
    assert errors[0.5] < errors[1e-9]


@pytest.mark.parametrize("zeta", ["0", "1", "-0.1", "x", "nan", "1e-13"])
def test_what_is_no_chance_is_refused(folder: Path, zeta: str) -> None:
    ended = command("run", "spec.toml", "--zeta", zeta, folder=folder)
    assert ended.code == 2
    assert "give a chance" in ended.err
    assert not (folder / "out").exists()


def test_two_different_ones_are_refused(folder: Path) -> None:
    spec = gedp.read_spec(folder / "spec.toml")
    table = gedp.open_table(spec)
    with pytest.raises(gedp.GedpError, match="the spec gives another zeta"):
        gedp.measure(table, spec, out=folder / "out", zeta=Fraction(1, 100))
    with pytest.raises(gedp.FaultsError, match=r"clipping\.zeta: 2.* does not fit"):
        gedp.run(spec, out=folder / "out", zeta=2)
    assert not (folder / "out").exists()
