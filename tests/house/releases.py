"""Seeded releases of every kind of query, under either accounting, and what is made of them.

Each is a folder: `release`, `ledger.jsonl`, and where the local engine makes it also `tabulated` and `package`. Public
functions and commands make all of it, so that only a change of what they do shows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import gedp
from gedp.confidential.table import open_table_of
from gedp.noise.entropy import SeededEntropy
from gedp.policy.examples import example_text
from tests.helpers.builder import ACCOUNTING, KINDS, spec_of, table_of
from tests.helpers.passes import DividedThroughout
from tests.helpers.runs import gedp as command
from tests.house.frozen import frozen
from tests.house.lasting import table_text

SEED = 1
TOGETHER = {"together": ("classes", "combinations", "signed")}
#: Every kind under either accounting. gedp rejects classes and combinations of a split column, so none are here.
CASES = {
    f"{name}, {accounting}": (kinds, accounting)
    for name, kinds in {**{kind: (kind,) for kind in KINDS}, **TOGETHER}.items()
    for accounting in ACCOUNTING
}
#: What engines that divide the rows make as well. They take long for every pass, so all kinds are together; but for
#: split columns, which workers of Spark cannot read, so that gedp rejects them there.
DIVIDED = [case for case in CASES if case.startswith(("sums", *TOGETHER))]
#: What is tabulated of every release, and of some kinds besides.
TABLES: Mapping[str, Mapping[str, Any]] = {
    "county": {"by": ["cnty"]},
    "pay": {"by": ["naics2"], "ratios": ["pay = wage / emp"], "where": {"cnty": ["001", "003"]}},
}
TABLES_OF: Mapping[str, Mapping[str, Any]] = {
    "classes": {"by": ["size"]},
    "combinations": {"by": ["naics2"], "attributes": ["cost", "third", "emp"]},
}


def make_local(case: str, folder: Path) -> None:
    """A release by the local engine, and all that is made of it."""
    with _making(folder):
        release = gedp.run(_spec(case), table_of(), **_seeded(folder))
        _derive(release, folder, CASES[case][0])


def make_divided(case: str, folder: Path) -> None:
    """The same release by the divided engine. What is made of a release does not depend on the engine."""
    spec = _spec(case)
    with _making(folder):
        table = open_table_of(spec, DividedThroughout(table_of(), [31], lambda places: places[::-1]))
        ledger = gedp.Ledger.open(folder / "ledger")
        gedp.measure(table, spec, out=folder / "release", ledger=ledger, entropy=SeededEntropy(SEED))


def make_spark(case: str, folder: Path, session: Any) -> None:
    """A release by Spark. Its workers draw from sources of their own, so it has other noise than the local one."""
    frame = session.createDataFrame(table_of()).repartitionByRange(3, "key").sortWithinPartitions("key")
    with _making(folder):
        gedp.run(_spec(case), frame, **_seeded(folder))


def make_series(folder: Path) -> None:
    """Releases of two quarters with one ledger, and what changed between them."""
    spec = spec_of(data={"period": "2016Q1"}, budget={"mu": 5, "year": 9, "series": 20})
    later = table_of(emp=[value + place for place, value in enumerate(table_of()["emp"].to_pylist())])
    with _making(folder):
        earlier = gedp.run(spec, table_of(), **{**_seeded(folder), "out": folder / "earlier"})
        release = gedp.run(spec, later, period="2016Q2", **{**_seeded(folder), "seed": SEED + 1})
        _derive(release, folder, against=earlier)
        _commanded("ledger", "export", "ledger", "--series", "--out", "statement.csv", folder=folder)


def make_demonstration(demonstration: Path, folder: Path) -> None:
    """The paper's policy for the demonstration state, by the command line and from a file."""
    source = 'source = "establishments.parquet"\n'
    text = example_text("paper-equal").replace(source, source + "synthetic = true\n")
    (demonstration / "paper.toml").write_text(text, encoding="utf-8")
    with _making(folder):
        _commanded("run", "paper.toml", "--seed", str(SEED), "--out", str(folder / "release"), folder=demonstration)


LOCAL: Mapping[str, Callable[[Path], None]] = {
    **{case: partial(make_local, case) for case in CASES},
    "series": make_series,
}


def _spec(case: str) -> gedp.Spec:
    kinds, accounting = CASES[case]
    return spec_of(*kinds, accounting=accounting)


def _seeded(folder: Path) -> dict[str, Any]:
    """How a release is made in a folder. Its report would be prose, so there is none."""
    return {"out": folder / "release", "ledger": folder / "ledger", "seed": SEED, "answers_only": True}


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Makes something in a new folder, with the program frozen, and leaves a ledger as text, and no report."""
    folder.mkdir(parents=True)
    with frozen():
        yield
    if (folder / "ledger").exists():
        _commanded("ledger", "export", "ledger", "--out", "ledger.jsonl", folder=folder)
        (folder / "ledger").unlink()
    (folder / "release" / "report.html").unlink(missing_ok=True)


def _derive(
    release: gedp.Release, folder: Path, kinds: Sequence[str] = (), against: gedp.Release | None = None
) -> None:
    """Microdata, tables as `tabulate` makes them, of what was asked for and of more, and the package."""
    microdata = release.microdata()
    microdata.write()
    (folder / "tabulated").mkdir()
    for name, options in {**TABLES, **{kind: TABLES_OF[kind] for kind in kinds if kind in TABLES_OF}}.items():
        text = table_text(microdata.tabulate(**options).arrow)
        (folder / "tabulated" / f"{name}.txt").write_text(text, encoding="utf-8")
    gedp.publish(release, folder / "package", tables=["naics2"], rows="random", against=against)


def _commanded(*arguments: str, folder: Path) -> None:
    ended = command(*arguments, folder=folder)
    assert ended.code == 0, ended.err
