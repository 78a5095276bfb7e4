"""What the microdata of a release are, and how to use them: sentences and code that runs."""

from html import escape

from gedp.microdata import Microdata
from gedp.microdata.fit import DETAIL, MICRODATA


def texts(microdata: Microdata) -> dict[str, str]:
    """The parts of the page about the microdata, as HTML."""
    frame, attributes = microdata.frame, ", ".join(microdata.fits)
    what = "establishment" if frame.lists_establishments else "combination of groups (no establishments are listed)"
    rows = (
        f"{MICRODATA} has {frame.rows:,} rows, one for each {what}, with the public columns and a protected value of "
        f"{attributes}. The values are those that fit all tables of this release best, so any sum of rows is an "
        "estimate of the true sum, also for groups that have no table."
    )
    parted = {
        DETAIL[fit.detail]: [n for n, f in microdata.fits.items() if f.detail == fit.detail]
        for fit in microdata.fits.values()
        if fit.detail != "identity"
    }
    detail = "".join(f"<p>{escape(', '.join(names))}: {escape(meaning)}.</p>" for meaning, names in parted.items())
    return {
        "rows": escape(rows),
        "detail": detail,
        "shell": escape(shell(microdata)),
        "python": escape(python(microdata)),
    }


def shell(microdata: Microdata) -> str:
    """A custom table on the command line, in the folder of the release."""
    by, attribute = _example(microdata)
    return f"gedp tabulate . --by {','.join(by)} --attribute {attribute}"


def python(microdata: Microdata) -> str:
    """The same from Python, and the plain table."""
    by, attribute = _example(microdata)
    options = "" if microdata.weights == microdata.frame.spec.microdata.weights else f", weights={microdata.weights!r}"
    options += f", share_by={microdata.share_by!r}" if microdata.share_by else ""
    options += "".join(f", {name}=True" for name in ("nonnegative", "whole") if getattr(microdata.constraints, name))
    return "\n".join(
        [
            "import pyarrow.parquet as pq",
            "from gedp import fit_microdata, read_release",
            "",
            'release = read_release(".")  # checks every file',
            f"microdata = fit_microdata(release{options})",
            f"table = microdata.tabulate({by!r}, [{attribute!r}])",
            "print(table.to_pylist()[0])",
            "",
            f'rows = pq.read_table("{MICRODATA}")',
            f"print(rows.group_by({by!r}).aggregate([({attribute!r}, 'sum')]))" if by else "print(rows.num_rows)",
        ]
    )


def _example(microdata: Microdata) -> tuple[list[str], str]:
    """Up to two public columns, and an attribute."""
    frame = microdata.frame
    columns = [name for name in frame.public.column_names if name != frame.spec.data.id and name != "cell"]
    several = [name for name in columns if frame.cells([name]).count > 1] or columns
    return several[:2], next(iter(microdata.fits))
