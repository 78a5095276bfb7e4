"""Whether a release fits the series that a ledger holds: with a period or without, of one kind, each table for one."""

from collections.abc import Iterable
from pathlib import Path

from gedp.errors import Refused
from gedp.files import is_same
from gedp.ledger.contents import ContentMark, same_period
from gedp.ledger.entries import FileMark, InSeries
from gedp.ledger.state import LedgerState


def require_fitting(series: InSeries | None, state: LedgerState) -> None:
    """Rejects a release without a period in a series, one with a period outside of it, and one of another kind."""
    held = state.series
    if series is None:
        if held is not None:
            raise Refused(
                f"the ledger holds a series ({held.all.name}), and nothing says which period this table is. Give "
                "--period, or data.period in the spec"
            )
        return
    if any(reserve.series is None for reserve in state.counted):
        raise Refused(
            f"the ledger holds releases without a period, so {series.period} cannot be told from them. These data stay "
            "without periods; a series needs a ledger of its own"
        )
    if held is not None and held.kind != series.period.kind:
        raise Refused(
            f"the ledger holds a series of {held.kind}s ({held.all.name}), and {series.period} is a "
            f"{series.period.kind}. All periods of a series are of one kind"
        )


def require_one_period(
    series: InSeries, marks: Iterable[FileMark], content: ContentMark | None, state: LedgerState, folder: Path
) -> None:
    """Rejects data that were released as another period, and data that could not be known again.

    They are the same if their path is, if they are one file under two names, or if they hold the same: the bytes, or
    the rows. `folder` is that of the ledger, from which paths are seen.
    """
    marks = list(marks)
    if not marks and content is None:
        raise Refused(
            f"nothing tells the table of {series.period} from those of other periods: it has neither a file nor a "
            "name. Write it to a file and release that"
        )
    for reserve in state.counted:
        if reserve.series is None or reserve.series.period == series.period:
            continue
        known = state.content_of(reserve)
        same = [mark.path for mark in marks for before in reserve.files if _same_data(mark, before, folder)]
        if content and known and same_period(content, known):
            same.append("a table with these rows")
        if same:
            raise Refused(
                f"{same[0]} was released as {reserve.series.period}, and would now count as {series.period}. Name the "
                f"table of {series.period} with --source (source in Python); every period has one of its own"
            )


def _same_data(mark: FileMark, before: FileMark, folder: Path) -> bool:
    if mark.digest == before.digest or mark.path == before.path:
        return True
    return is_same(folder / mark.path, folder / before.path)
