"""Replicates against a release made step by step; stopped, repeated, and refused."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp._version import __version__
from gedp.api import measure
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import DomainError, FaultsError, GedpError, Refused
from gedp.microdata import fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import MicrodataOptions, Spec, read_spec, write_spec
from gedp.progress import Progress
from gedp_lab.compare import Comparison, compare
from gedp_lab.compare import replicates as module
from gedp_lab.compare.rehearsals import Preparation
from gedp_lab.compare.workflows import spec_for
from gedp_lab.evaluate.folder import FolderTakenError
from tests.helpers.runs import SYNTHETIC, names, small_table, write_case
from tests.helpers.specs import measured

MAPPED = ('naics2 = { column = "naics", prefix = 2 }', 'naics2 = { column = "naics", map = "naics2.csv" }')


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return read_spec(write_case(tmp_path, SYNTHETIC))


def errors_of(path: Path) -> pa.Table:
    return pq.read_table(path).drop_columns(["seconds"])


def test_deleted_files_are_made_again(spec: Spec, tmp_path: Path) -> None:
    def run() -> Comparison:
        options = {"replicates": 2, "workflows": ["psi"], "by": [("cnty",)], "seed": 1, "workers": 1}
        return compare(spec, tmp_path / "t.parquet", out=tmp_path / "out", **options)  # type: ignore[arg-type]

    def without_time(found: Comparison) -> list[object]:
        return [replace(line, seconds=0) for line in found.lines]

    before = run()
    for name in ("groups.parquet", "0001.parquet"):
        path = tmp_path / "out" / "replicates" / name
        path.write_bytes(b"")
        with pytest.raises(GedpError, match=f"damaged: {name}"):
            run()
        path.unlink()
        again = run()
        assert without_time(again) == without_time(before)
        assert again.per_group.equals(before.per_group)


@pytest.mark.parametrize(
    ("by", "constraints"),
    [
        (("naics2", "cnty"), MicrodataOptions()),
        ((), MicrodataOptions()),
        (("naics2", "cnty"), MicrodataOptions(nonnegative=True)),
        (("cnty",), MicrodataOptions(nonnegative=True, whole=True)),
    ],
    ids=str,
)
def test_a_replicate_is_a_release_fitted_and_compared(
    spec: Spec, tmp_path: Path, by: tuple[str, ...], constraints: MicrodataOptions
) -> None:
    """Step by step through files, where the comparison stays in memory."""
    spec, out = replace(spec, microdata=constraints), tmp_path / "out"
    flows = ["psi", "pnc", "psi+quasi", "auto", "gdp"]
    compare(spec, tmp_path / "t.parquet", out=out, replicates=2, workflows=flows, by=[by], seed=5, workers=1)
    found = pq.read_table(out / "replicates" / "0001.parquet").to_pylist()
    keys = pq.read_table(out / "replicates" / "groups.parquet").to_pylist()
    rows = small_table().to_pylist()
    largest = {name: Fraction(round(100 * max(r[name] for r in rows)), 100) for name in ("emp", "wage")}
    table = open_table(LocalEngine(tmp_path / "t.parquet"), spec.data, spec.policy.attributes, spec.groupers)
    for flow in flows:
        mechanism, _, weights = flow.partition("+")
        made = spec_for(spec, mechanism, largest)
        folder, entropy = tmp_path / flow, SeededEntropy(5 * 1_000_003 + 1)
        release = measured(table, made.policy, made.queries, out=folder, entropy=entropy, microdata=constraints)
        usual = "quasi" if mechanism == "auto" else "plug-in"
        tabulated = fit_microdata(release, weights=weights or usual).tabulate(by).arrow.to_pylist()
        for attribute in ("emp", "wage"):
            lines = [line for line in found if (line["workflow"], line["attribute"]) == (flow, attribute)]
            wanted = [line for line in tabulated if line["attribute"] == attribute]
            assert len(lines) == len(wanted)
            for line, named, want in zip(lines, _of(keys, attribute), wanted, strict=True):
                codes = tuple(want[key] for key in by)
                members = [r for r in rows if tuple(r["naics"][:2] if k == "naics2" else r[k] for k in by) == codes]
                truth = sum(round(100 * r[attribute]) for r in members) / 100
                assert named["keys"] == ",".join(codes)
                assert named["truth"] == pytest.approx(truth)
                assert line["error"] == pytest.approx(want["estimate"] - truth, rel=1e-6, abs=1e-6)
                assert line["covered"] == (want["ci_low"] <= truth <= want["ci_high"])


def _of(rows: list[dict[str, object]], attribute: str) -> list[dict[str, object]]:
    return [row for row in rows if row["attribute"] == attribute]


def test_gaussian_dp_is_off_by_its_noise_and_the_oracle_is_possible(spec: Spec, tmp_path: Path) -> None:
    found = compare(
        spec,
        tmp_path / "t.parquet",
        out=tmp_path / "out",
        replicates=3,
        workflows=["gdp", "auto", "auto+oracle"],
        attributes=["emp"],
        by=[()],
        seed=2,
        workers=1,
    )
    assert (
        found.line("gdp", "emp", "state total").mean_absolute
        > 10 * found.line("auto", "emp", "state total").mean_absolute
    )
    assert found.line("auto+oracle", "emp", "state total").mean_absolute > 0
    assert [winner.workflow for winner in found.winners] == ["auto"]
    assert repr(found) == f"Comparison({tmp_path / 'out'}, 3 replicates, synthetic data)"


def test_map_files_and_specs_without_establishments_are_fine(tmp_path: Path) -> None:
    codes = sorted(set(small_table()["naics"].to_pylist()))
    (tmp_path / "naics2.csv").write_text("".join(f"{code},N{code[:2]}\n" for code in codes))
    spec = read_spec(write_case(tmp_path, SYNTHETIC, MAPPED, ('by = "establishment"', 'by = ["naics2", "cnty"]')))
    options = {"out": tmp_path / "out", "replicates": 1, "workflows": ["psi"], "maps": tmp_path, "workers": 1}
    found = compare(spec, tmp_path / "t.parquet", **options)  # type: ignore[arg-type]
    assert list(found.order.levels) == ["naics2 x cnty", "cnty"]
    (tmp_path / "naics2.csv").write_text("".join(f"{code},other\n" for code in codes))
    with pytest.raises(Refused, match="another table, spec or choice"):
        compare(spec, tmp_path / "t.parquet", **options)  # type: ignore[arg-type]


def test_it_goes_on_where_it_stopped_and_says_the_same(
    spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(out: str, count: int = 4, workers: int = 1, progress: Progress | None = None) -> Comparison:
        return compare(
            spec,
            tmp_path / "t.parquet",
            out=tmp_path / out,
            replicates=count,
            workflows=["psi", "auto"],
            by=[("cnty",)],
            seed=3,
            workers=workers,
            progress=progress,
        )

    def stop(_: str, done: int, count: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    whole = run("whole", workers=2)
    with pytest.raises(KeyboardInterrupt) as raised:
        run("parts", progress=stop)
    assert raised.value.__notes__ == ["2 of 4 replicates are finished and kept; the same command goes on from there"]
    files = tmp_path / "parts" / "replicates"
    assert names(files) == ["0000.parquet", "0001.parquet", "groups.parquet"]
    before = {path.name: path.stat().st_mtime_ns for path in files.glob("0*")}
    parts = run("parts")
    assert {name: (files / name).stat().st_mtime_ns for name in before} == before
    for number in range(4):  # the same noise, whatever the number of workers and wherever it stopped
        path = Path("replicates") / f"{number:04d}.parquet"
        assert errors_of(tmp_path / "parts" / path).equals(errors_of(tmp_path / "whole" / path))
    assert not errors_of(files / "0000.parquet").equals(errors_of(files / "0001.parquet"))
    without_time = [[replace(line, seconds=0) for line in found.lines] for found in (whole, parts)]
    assert without_time[0] == without_time[1]

    def draw(*_: object) -> Preparation:
        raise AssertionError("drew again")

    monkeypatch.setattr(module, "prepare_replicates", draw)
    assert run("parts").lines == parts.lines  # finished: summarised again without drawing
    assert run("parts", count=2).replicates == 2


def test_two_at_once_in_one_folder_are_refused(spec: Spec, tmp_path: Path) -> None:
    def run(progress: Progress | None = None) -> Comparison:
        options = {"replicates": 2, "workflows": ["psi"], "by": [("cnty",)], "workers": 1}
        return compare(spec, tmp_path / "t.parquet", out=tmp_path / "out", progress=progress, **options)  # type: ignore[arg-type]

    def again(_: str, done: int, count: int) -> None:
        if done < count:
            with pytest.raises(Refused, match="another process is writing to"):
                run()
            refused.append(done)

    refused: list[int] = []
    assert run(again).replicates == 2
    assert refused == [0, 1]
    assert run().replicates == 2


def test_another_plan_or_table_is_refused(spec: Spec, tmp_path: Path) -> None:
    def run(spec: Spec = spec, seed: int = 1, name: str = "t.parquet", out: str = "out") -> Comparison:
        options = {"replicates": 1, "workflows": ["psi"], "by": [("cnty",)], "workers": 1}
        return compare(spec, tmp_path / name, out=tmp_path / out, seed=seed, **options)  # type: ignore[arg-type]

    run()
    (tmp_path / "copy.parquet").write_bytes((tmp_path / "t.parquet").read_bytes())
    run(name="copy.parquet")  # it is the content that counts
    run(replace(spec, output=replace(spec.output, dir="elsewhere")))
    for change in ({"seed": 2}, {"spec": replace(spec, output=replace(spec.output, confidence=spec.policy.mu / 2))}):
        with pytest.raises(Refused, match="replicates of another table, spec or choice"):
            run(**change)
    pq.write_table(small_table(41), tmp_path / "t.parquet")
    with pytest.raises(Refused, match="replicates of another table"):
        run()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("x")
    with pytest.raises(Refused, match="holds something else"):
        run(out="mine")
    (tmp_path / "out" / "plan.json").write_text("[]")
    with pytest.raises(Refused, match="holds something else"):
        run()


def test_bad_input_is_one_error_and_leaves_nothing(spec: Spec, tmp_path: Path) -> None:
    def run(truth: str = "t.parquet", **options: object) -> Comparison:
        return compare(spec, tmp_path / truth, out=tmp_path / "out", **{"workers": 1, **options})  # type: ignore[arg-type]

    with pytest.raises(FaultsError, match="there is no such file"):
        run("nowhere.parquet")
    with pytest.raises(FaultsError, match=r"t\.parquet: 1 fault\n  by: 'nonsense' is not a public column"):
        run(by=[("nonsense",)])
    pq.write_table(small_table().drop_columns(["emp"]), tmp_path / "other.parquet")
    with pytest.raises(FaultsError, match="column emp: there is no such column"):
        run("other.parquet")
    with pytest.raises(DomainError, match="at least one replicate"):
        run(replicates=0)
    with pytest.raises(DomainError, match="at least one worker"):
        run(workers=0)
    assert not (tmp_path / "out").exists()
    release = measure(
        open_table(LocalEngine(tmp_path / "t.parquet"), spec.data, spec.policy.attributes, spec.groupers),
        spec,
        out=tmp_path / "out",
    )
    with pytest.raises(FolderTakenError, match="inside the release"):
        run()
    assert release.folder == tmp_path / "out"


def test_a_sweep_has_a_line_for_every_value(spec: Spec, tmp_path: Path) -> None:
    options = {"replicates": 2, "workflows": ["psi", "gdp"], "attributes": ["emp"], "by": [()], "workers": 1}
    found = compare(spec, tmp_path / "t.parquet", out=tmp_path / "out", sweep="mu=0.01,10", seed=1, **options)  # type: ignore[arg-type]
    low, high = (found.line("psi", "emp", "state total", f"mu={mu}").mean_absolute for mu in ("0.01", "10"))
    assert low > 10 * high
    assert {winner.setting for winner in found.winners} == {"mu=0.01", "mu=10"}
    noted = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert (noted["classification"], noted["levels"]) == ("synthetic data", ["state total"])


def test_a_comparison_says_what_it_is_of(spec: Spec, tmp_path: Path) -> None:
    out = tmp_path / "out"
    page = compare(
        spec,
        tmp_path / "t.parquet",
        out=out,
        replicates=2,
        workflows=["psi", "auto"],
        attributes=["emp"],
        by=[("cnty",)],
        sweep="mu=1,2",
        seed=7,
        workers=1,
    ).write()
    said = {
        "gedp": __version__,
        "table": "t.parquet",
        "budget_mu": "1",
        "settings": ["mu=1", "mu=2"],
        "workflows": ["psi", "auto"],
        "attributes": ["emp"],
        "levels": ["county total"],
        "seed": 7,
        "spec": write_spec(spec),
    }
    for name in ("plan.json", "results.json"):
        noted = json.loads((out / name).read_text(encoding="utf-8"))
        assert {key: noted[key] for key in said} == said
        assert datetime.fromisoformat(noted["created"]).tzinfo is not None
        assert str(tmp_path) not in json.dumps(noted)
    assert json.loads((out / "plan.json").read_text())["keys"] == {"county total": ["cnty"]}
    assert noted["replicates"] == 2
    foot = page.read_text(encoding="utf-8").partition('id="about"')[2]
    for text in ("t.parquet", "mu=1, mu=2", "psi, auto", "emp", "county total", "7", __version__, noted["created"]):
        assert f"<dd>{text}</dd>" in foot
    assert escape(write_spec(spec)) in foot


def test_what_is_kept_of_the_table_confirms_no_guess(spec: Spec, tmp_path: Path) -> None:
    """Whoever guesses the whole table and sees all but the key cannot tell whether the guess is right."""
    table, noted = tmp_path / "t.parquet", []
    for name in ("one", "other"):
        compare(spec, table, out=tmp_path / name, replicates=2, by=[()], attributes=["emp"], workers=1).write()
        noted.append(json.loads((tmp_path / name / "plan.json").read_text())["fingerprint"])
    assert noted[0] != noted[1]
    key = tmp_path / "one" / "fingerprint.key"
    assert key.stat().st_mode & 0o777 == 0o600
    guess = hashlib.sha256(table.read_bytes()).hexdigest()
    for path in (tmp_path / "one").rglob("*"):
        if path.is_file() and path != key:
            content = path.read_bytes()
            assert key.read_bytes() not in content
            assert bytes.fromhex(key.read_text()) not in content
            assert guess.encode() not in content
    compare(spec, table, out=tmp_path / "one", replicates=3, by=[()], attributes=["emp"], workers=1)  # it goes on
    key.unlink()
    with pytest.raises(Refused, match="replicates of another table"):
        compare(spec, table, out=tmp_path / "one", replicates=3, by=[()], attributes=["emp"], workers=1)
