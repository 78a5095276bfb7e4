"""The report as a file in the folder of its release."""

import re
from html import unescape
from pathlib import Path

from gedp.files import real, regular, write_text, writing
from gedp.microdata import Microdata
from gedp.microdata.on_file import read_description
from gedp.release.derived import MICRODATA, MICRODATA_JSON, REPORT, drop_signature
from gedp.report.page import report_page
from gedp.report.totals import ReportedTotals


def write_report(
    microdata: Microdata,
    path: str | Path | None = None,
    *,
    title: str | None = None,
    totals: ReportedTotals | None = None,
) -> Path:
    """Writes the report of microdata that are on file, into the folder of their release unless told otherwise.

    Where the answers determine no microdata it is about the tables alone. `totals` are its main totals, where they are
    worked out already.
    """
    release = microdata.release
    path = release.folder / REPORT if path is None else Path(path)
    described = read_description(release) if microdata.fits else None
    release.require_not_part(path, made=(MICRODATA_JSON, MICRODATA))
    links = real(path).parent == real(release.folder)
    if real(path) == real(release.folder / REPORT):
        with writing(path):
            drop_signature(release.folder)
    write_text(path, report_page(microdata, described, title=title, links=links, totals=totals))
    return path


def title_of(path: Path) -> str | None:
    """The heading that a report was given; None if there is no such file."""
    try:
        found = re.search("<title>(.*?)</title>", regular(path).read_text(encoding="utf-8"), re.DOTALL)
    except (OSError, ValueError):
        return None
    return unescape(found[1]) if found else None
