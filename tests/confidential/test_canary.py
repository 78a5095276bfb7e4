"""No record's value in any message, log, traceback, repr or public file, however broken the table is."""

import gc
import io
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.pretty import pretty_repr
from rich.traceback import Traceback

from gedp.confidential.drawings import SecondDrawing
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.run import plan_run, run
from gedp.confidential.sealing import UnexpectedError
from gedp.errors import GedpError, TableChangedError
from gedp.ledger import Ledger
from gedp.policy import read_spec
from gedp.release import ReleaseWriter, read_release
from tests.helpers.canaries import BROKEN, CANARY, PACKED, ROWS, emp, sings, with_canaries
from tests.helpers.runs import all_files, gedp, write_case, write_spec

pytestmark = pytest.mark.usefixtures("no_disk_waits")

CONFIDENTIAL = {"t.parquet", "t.csv", "part-0.parquet", "part-1.parquet", "part-0.csv", "part-1.csv"}
#: Noise so large that no answer about a canary begins like it, from both mechanisms.
NOISY = (
    ("gamma = 0.5", "gamma = 9000"),
    ("gamma = 0.1,", "gamma = 0.7,"),
    ("wage = 0.1 }", 'wage = 0.1 }\nmechanism = "pnc"'),
)


def individual(folder: Path) -> None:
    """The spec in this folder without prices, so that accounting is individual."""
    path = folder / "spec.toml"
    head, *queries = path.read_text(encoding="utf-8").split("[[queries]]")
    unpriced = [
        "".join(line for line in query.splitlines(keepends=True) if not line.startswith(("mu =", "mechanism")))
        for query in queries
    ]
    path.write_text("[[queries]]".join([head, *unpriced]), encoding="utf-8")


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    """Everything that anybody logs."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def everything_about(error: BaseException) -> str:
    """What the tools that people use would show of an error: with the variables of each frame, and every link."""
    rich = Traceback.extract(type(error), error, error.__traceback__, show_locals=True, locals_max_string=10_000)
    found = pytest.ExceptionInfo.from_exception(error)
    parts = [
        str(error),
        repr(error),
        repr(vars(error)),
        "".join(traceback.format_exception(error)),
        "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format()),
        str(found.getrepr(showlocals=True, style="long", chain=True)),
        *(stack.exc_value for stack in rich.stacks),
        *(str(shown) for stack in rich.stacks for frame in stack.frames for shown in (frame.locals or {}).values()),
    ]
    parts += [everything_about(link) for link in (error.__cause__, error.__context__) if link is not None]
    return "\n".join(parts)


def attempt(folder: Path, **options: Any) -> str:
    """A run from Python: everything about the error that it ends with. No canary among the variables here."""
    try:
        run(plan_run(read_spec(folder / "spec.toml")), **options)
    except (GedpError, KeyboardInterrupt) as error:
        return everything_about(error)
    raise AssertionError("it was not refused")


def public_files(folder: Path) -> list[Path]:
    return [path for path in all_files(folder) if path.name not in CONFIDENTIAL]


def silent(folder: Path, *texts: str) -> None:
    for text in texts:
        assert not sings(text), text
    for path in public_files(folder):
        assert not sings(path.read_bytes()), path
        assert not sings(path), path


def test_canaries_are_found_wherever_they_are() -> None:
    shown = [f"{CANARY:,}", f"{float(CANARY):.11e}", f"{CANARY:_}", repr([CANARY]), str(CANARY).encode()]
    assert all(map(sings, [*shown, *PACKED, f"{CANARY / 1000:.3f}"]))
    assert not any(map(sings, [f"{CANARY:.3g}", CANARY // 10_000, b"", CANARY + 10_000]))
    assert sings(raised_with(CANARY))
    assert not sings(raised_with(CANARY + 10_000))


def raised_with(value: int) -> str:
    """Everything about an error that says nothing, in whose frame there is a value."""
    try:
        raise ValueError
    except ValueError as error:
        return everything_about(error)


@pytest.mark.parametrize("how", BROKEN)
def test_nothing_sings_about_a_broken_table(how: str, tmp_path: Path, logs: io.StringIO) -> None:
    write_spec(tmp_path)
    BROKEN[how](tmp_path)
    said = []
    for arguments in ((), ("--dry-run",)):
        ended = gedp("run", "spec.toml", *arguments, folder=tmp_path)
        assert ended.code == 2, ended
        assert ended.err.startswith("gedp: ")
        assert "unexpected" not in ended.err
        said += [ended.out, ended.err]
    silent(tmp_path, *said, attempt(tmp_path), logs.getvalue())
    assert not (tmp_path / "out").exists()
    for ledger in tmp_path.glob("*.ledger"):
        assert Ledger.open(ledger).total().mu_squared == 0


def test_a_release_about_canaries_has_none(tmp_path: Path, logs: io.StringIO) -> None:
    write_case(tmp_path, *NOISY, table=with_canaries())
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 0, ended.err
    shown = [gedp("ledger", *what, "t.parquet.ledger", folder=tmp_path).out for what in (["show"], ["verify"])]
    silent(tmp_path, ended.out, ended.err, *shown, logs.getvalue())
    release = read_release(tmp_path / "out")
    tables = [release.identity(), *(release.answers(name) for name in ("county", "naics2 x county"))]
    silent(tmp_path, *(str(table.to_pylist()) for table in tables))
    assert tables[0].num_rows == ROWS


def test_a_release_by_individual_accounting_has_none(tmp_path: Path, logs: io.StringIO) -> None:
    write_case(tmp_path, *NOISY, table=with_canaries())
    individual(tmp_path)
    for arguments in (("--dry-run",), ()):
        ended = gedp("run", "spec.toml", *arguments, folder=tmp_path)
        assert ended.code == 0, ended.err
        silent(tmp_path, ended.out, ended.err, logs.getvalue())
    release = read_release(tmp_path / "out")
    assert release.manifest.individual
    tables = [release.identity(), *(release.answers(name) for name in ("county", "naics2 x county"))]
    silent(tmp_path, *(str(table.to_pylist()) for table in tables))


def test_no_object_of_individual_accounting_shows_a_value(tmp_path: Path) -> None:
    spec_path = write_case(tmp_path, *NOISY, table=with_canaries())
    individual(tmp_path)
    plan = plan_run(read_spec(spec_path))
    seen: set[str] = set()

    def look(*at: object) -> None:
        for thing in ours():
            seen.add(type(thing).__name__)
            for shown in (repr, str, format, pretty_repr):
                assert not sings(shown(thing)), type(thing)

    run(plan, progress=look)
    assert {"IndividualJob", "_Seen", "PlannedRows", "FinestCells", "AttributePool"} <= seen


def test_an_unforeseen_error_in_individual_accounting_quotes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the second pass, with sums, values and bounds in the frames."""
    write_case(tmp_path, *NOISY, table=with_canaries())
    individual(tmp_path)

    def quoting(drawing: object, batch: Any, entropy: object) -> None:
        raise ValueError(f"cannot do {batch.amounts}")

    monkeypatch.setattr(SecondDrawing, "__call__", quoting)
    about = attempt(tmp_path)
    assert "withheld" in about
    silent(tmp_path, about)


def test_microdata_and_report_about_canaries_have_none(tmp_path: Path, logs: io.StringIO) -> None:
    """With noise that a fit can cope with."""
    write_case(tmp_path, ("gamma = 0.5", "gamma = 9000"), ("gamma = 0.1,", "gamma = 0.2,"), table=with_canaries())
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert {"microdata.parquet", "report.html"} <= {path.name for path in public_files(tmp_path)}
    silent(tmp_path, ended.out, ended.err, logs.getvalue())


def ours() -> list[object]:
    """Every object of gedp that is alive."""
    return [thing for thing in gc.get_objects() if str(type(thing).__module__).startswith("gedp")]


def test_no_object_of_ours_shows_a_value(tmp_path: Path) -> None:
    """All that exist in the middle of a run, whatever they are, the way Python, rich and pytest show them."""
    spec = read_spec(write_case(tmp_path, *NOISY, table=with_canaries()))
    plan = plan_run(spec)
    seen: set[str] = set()

    def look(*at: object) -> None:
        for thing in ours():
            seen.add(type(thing).__name__)
            for shown in (repr, str, format, pretty_repr):
                assert not sings(shown(thing)), type(thing)

    look()
    found = find_objects(look)
    with found:
        release = run(plan, progress=look)
    look(release)
    expected = {
        "ConfidentialTable",
        "LocalEngine",
        "FinestCells",
        "Groups",
        "CellTally",
        "Batch",
        "PsiAnswers",
        "Answers",
    }
    expected |= {
        "ClippingBounds",
        "Clipping",
        "RunPlan",
        "_Plan",
        "PricedJob",
        "ReleaseFolder",
        "PsiMechanism",
        "Reservation",
    }
    assert expected <= seen, expected - seen


class find_objects:  # noqa: N801 - a context manager
    """Looks whenever a function of measuring is called or returns, so that short-lived objects are seen too."""

    WATCHED = (
        "answer_table",
        "clipped_excess",
        "write_sums",
        "interval",
        "_excess",
        "count_faults",
        "draw",
        "sums_of_whole",
    )

    def __init__(self, look: Callable[[], None]) -> None:
        self.look = look

    def __enter__(self) -> None:
        sys.setprofile(self.watch)

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)

    def watch(self, frame: Any, event: str, argument: object) -> None:
        if event == "return" and frame.f_code.co_name in self.WATCHED and "gedp" in frame.f_code.co_filename:
            sys.setprofile(None)
            self.look()
            sys.setprofile(self.watch)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "place",
    [
        "gedp.passes.lookup._combined",
        "gedp.confidential.tally.sums_of_whole",
        "gedp.confidential.tally.DrawnCells.__call__",
        "gedp.confidential.tally.CellTally.of",
        "gedp.confidential.priced.clipping_bounds",
        "gedp.confidential.priced.clipped_excess",
        "gedp.confidential.priced.pnc_grid",
        "gedp.confidential.job.answer_table",
        "gedp.release.ReleaseWriter.write_identity",
        "gedp.confidential.engines.part.Batch",
        "gedp.confidential.table._attribute_faults",
    ],
)
def test_what_nobody_foresaw_says_where_and_not_what(
    place: str, kind: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: io.StringIO
) -> None:
    """Errors that quote values, raised where values are at hand, with one more error behind each."""
    write_case(tmp_path, *NOISY, table=with_canaries())

    def fail(*arguments: object, **options: object) -> None:
        quoted = {"truth": CANARY, "arguments": arguments}
        try:
            raise LookupError(f"no {quoted['truth']}")
        except LookupError as error:
            raise kind(f"bad {quoted['truth']}") if kind is not KeyboardInterrupt else kind from error

    monkeypatch.setattr(place, fail)
    about = attempt(tmp_path)
    ended = gedp("run", "spec.toml", folder=tmp_path)
    silent(tmp_path, about, ended.out, ended.err, logs.getvalue())
    assert "Traceback" not in ended.err
    if kind is KeyboardInterrupt:
        assert ended.code == 130
    else:
        assert ended.code == 2
        assert f"unexpected {kind.__name__} at " in ended.err
        assert "test_canary.py:" in ended.err


def test_a_table_that_changes_into_nonsense_is_not_quoted(tmp_path: Path) -> None:
    write_case(tmp_path, *NOISY, table=with_canaries())

    def change(what: str, done: int, of: int) -> None:
        emp(f"{CANARY}x", "5")(tmp_path)

    about = attempt(tmp_path, progress=change)
    assert TableChangedError.__name__ in about
    silent(tmp_path, about)


def test_an_error_in_the_middle_of_a_scan_is_not_quoted(tmp_path: Path) -> None:
    """DuckDB says what it could not convert, and Arrow passes it on."""
    pq.write_table(with_canaries(), tmp_path / "t.parquet")
    engine = LocalEngine(tmp_path / "t.parquet")

    def read() -> str:
        try:
            list(engine._records("SELECT emp::TINYINT FROM source"))
        except GedpError as error:
            return everything_about(error)
        raise AssertionError

    about = read()
    assert "it cannot be read (" in about
    silent(tmp_path, about)


def test_a_failing_writer_shows_no_answers_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn and not published is not shown either: its frames are gone with the rest."""
    write_case(tmp_path, *NOISY, table=with_canaries())

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ReleaseWriter, "write_answers", full)
    about = attempt_any(tmp_path)
    assert "measure.py" not in about or "answer_groups" not in about
    silent(tmp_path, about)


def attempt_any(folder: Path) -> str:
    try:
        run(plan_run(read_spec(folder / "spec.toml")))
    except Exception as error:
        return everything_about(error)
    raise AssertionError


def test_unexpected_errors_are_errors_of_ours() -> None:
    assert issubclass(UnexpectedError, GedpError)
