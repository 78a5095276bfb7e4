"""What the microdata of a release are, and how to use them: sentences and code that runs."""

import shlex
from html import escape

from gedp.microdata import Microdata
from gedp.release.derived import MICRODATA

IN_WORDS = {"nonnegative": "no value is below 0", "whole": "all values are whole"}


def texts(microdata: Microdata) -> dict[str, str]:
    """The parts of the page about the microdata, as HTML."""
    public_rows, attributes = microdata.public_rows, ", ".join(microdata.fits)
    what = (
        "establishment" if public_rows.lists_establishments else "combination of groups (no establishments are listed)"
    )
    rows = (
        f"{MICRODATA} has {public_rows.listed:,} rows, one for each {what}, with the public columns and a protected "
        f"value of {attributes}. The values are those that fit all tables of this release best, so any sum of rows is "
        "an estimate of the true sum, even for groups that have no table."
    )
    parted: dict[str, list[str]] = {}
    for name in microdata.attributes:
        if name in microdata.measured or microdata.fits[name].detail != "identity":
            parted.setdefault(microdata.meaning(name), []).append(name)
    detail = "".join(f"<p>{escape(', '.join(names))}: {escape(meaning)}.</p>" for meaning, names in parted.items())
    return {
        "rows": escape(rows),
        "detail": detail,
        "negatives": _negatives(microdata),
        "shell": escape(shell(microdata)),
        "python": escape(python(microdata)),
    }


def constrained(microdata: Microdata) -> list[str]:
    """What was asked of the microdata besides fitting the tables, and what it means for its readers."""
    constraints, said = microdata.constraints, []
    if constraints.fixed:
        groupings = sorted({held.fixed.by for each in constraints.fixed.values() for held in each})
        where = ", ".join(f"by {' x '.join(by)}" if by else "in all" for by in groupings)
        said.append(
            f"Totals of {', '.join(constraints.fixed)} {where} were public before and are held at "
            "their public values: they carry no noise, and margins account for that."
        )
    if constraints.named:
        how = [IN_WORDS[name] for name in constraints.named]
        said.append(
            f"For plausibility, {' and '.join(how)} in the microdata. This changes sums a little, but the margins are "
            "those from before, so slightly fewer intervals than stated may contain the true value."
        )
    return said


def _negatives(microdata: Microdata) -> str:
    if microdata.constraints.nonnegative:
        return (
            "<strong>Do not take a 0 for a true 0.</strong> Values that noise had lowered below 0 were raised to 0, "
            "and others lowered in turn."
        )
    return (
        "<strong>Do not cut off negative values or round them up.</strong> They belong there: noise that lowers some "
        "rows raises others, and sums are right only if both stay."
    )


def shell(microdata: Microdata) -> str:
    """A custom table of the microdata on file, on the command line in the folder of the release, quoted."""
    by, attribute = _example(microdata)
    listed = ",".join(name for name in by if "," not in name and name == name.strip())  # --by takes no others
    return shlex.join(["gedp", "tabulate", ".", *(["--by", listed] if listed else []), "--attribute", attribute])


def python(microdata: Microdata) -> str:
    """The same from Python, and the plain table."""
    by, attribute = _example(microdata)
    return "\n".join(
        [
            "import gedp",
            "import pyarrow.parquet as pq",
            "",
            'release = gedp.read_release(".")  # checks every file',
            f"print(release.microdata().tabulate({by!r}, [{attribute!r}]))",
            "",
            f'rows = pq.read_table("{MICRODATA}")',
            f"print(rows.group_by({by!r}).aggregate([({attribute!r}, 'sum')]))" if by else "print(rows.num_rows)",
        ]
    )


def _example(microdata: Microdata) -> tuple[list[str], str]:
    """Up to two public columns, and an attribute."""
    public_rows = microdata.public_rows
    columns = [name for name in public_rows.table.column_names if name != public_rows.spec.data.id and name != "cell"]
    several = [name for name in columns if len(public_rows.key(name)[1]) > 1] or columns
    return several[:2], next(iter(microdata.fits))
